//! What agents printed in earlier runs, as far as it is kept.
//!
//! Each run has a directory below `logs`, named by its id, which begins with the
//! time of its start. [`prune`] removes the oldest of them once there are too
//! many, or once they hold too much. The agent writes there what it wants, so
//! nothing in it is followed, and only so much of it is looked at.

use std::{
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
};

use super::{RunDir, StateError};
use samuel_fs::{Entry, FileError, PathKind, Root, found};
use samuel_model::text::counted;

/// How many directories of runs are looked at.
const MAX_RUNS: usize = 10_000;
/// How many files and directories of one run are.
const MAX_FILES: usize = 100_000;
/// How deep directories are entered.
const MAX_DEPTH: usize = 16;

/// Limits on the logs of earlier runs. The oldest runs beyond either limit are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptLogs {
    /// How many runs keep their logs, the run that starts included; 0 for any number.
    pub runs: u32,
    /// How many bytes all logs together may have; 0 for any number.
    pub bytes: u64,
}

/// The result of removing old logs. It is displayed as one line: runs and size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many runs lost their logs.
    pub runs: usize,
    /// How many bytes these logs had.
    pub bytes: u64,
    /// What could not be removed: the first directory, and why.
    pub failure: Option<String>,
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "removed the logs of {} ({})", counted(self.runs, "run"), Size(self.bytes))
    }
}

/// A size as people read it, in powers of 1000.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ 0..1_000 => write!(f, "{bytes} bytes"),
            bytes @ 1_000..1_000_000 => write!(f, "{} kB", bytes / 1_000),
            bytes @ 1_000_000..1_000_000_000 => write!(f, "{} MB", bytes / 1_000_000),
            bytes => write!(f, "{} GB", bytes / 1_000_000_000),
        }
    }
}

/// Removes the logs of the oldest runs beyond either limit, before a new run
/// makes its own. The logs of `resumed` stay: that run goes on. Blocks.
///
/// # Errors
/// Returns [`StateError::Io`] where the directory cannot be looked at.
pub fn prune(dir: &RunDir, keep: KeptLogs, resumed: Option<&str>) -> Result<Pruned, StateError> {
    let logs = dir.all_logs();
    let listed = found(dir.root().list(&logs, MAX_RUNS)).map_err(StateError::file("read", &logs))?;
    let mut found = listed.unwrap_or_default();
    found.retain(|entry| entry.kind == PathKind::Directory && is_run_id(&entry.name));
    // The time comes first in an id, so the latest run comes first.
    found.sort_by(|left, right| right.name.cmp(&left.name));
    let mut pruned = Pruned::default();
    let (mut runs, mut bytes) = (1_u64, 0_u64);
    for entry in found {
        let directory = logs.join(&entry.name);
        let size = size_of(dir.root(), &directory);
        runs += 1;
        bytes = bytes.saturating_add(size);
        let is_beyond =
            (keep.runs > 0 && runs > u64::from(keep.runs)) || (keep.bytes > 0 && bytes > keep.bytes);
        if !is_beyond || resumed.is_some_and(|id| entry.name == id) {
            continue;
        }
        match remove(dir.root(), &directory) {
            Ok(()) => {
                pruned.runs += 1;
                pruned.bytes = pruned.bytes.saturating_add(size);
            }
            Err(error) if pruned.failure.is_none() => {
                pruned.failure = Some(format!("cannot remove {}: {error}", directory.display()));
            }
            Err(_) => {}
        }
    }
    Ok(pruned)
}

/// How many files of one iteration are listed.
const MAX_LISTED: usize = 100;

/// Returns the paths of the logs of one iteration, sorted by name, at most 100: prompts, the output of agents and of
/// checks. Returns none if the logs were removed or cannot be listed. Blocks.
pub fn of_iteration(dir: &RunDir, run_id: &str, iteration: u32) -> Vec<PathBuf> {
    // The id comes from a journal that anybody may have written.
    if !is_run_id(OsStr::new(run_id)) {
        return Vec::new();
    }
    let (logs, begins) = (dir.logs(run_id), format!("{iteration}-"));
    let is_its = |entry: &Entry| {
        let name = entry.name.to_str().is_some_and(|name| name.starts_with(&begins));
        name && entry.kind == PathKind::File
    };
    // What cannot be looked at is not there for whoever asks.
    let mut found = dir.root().list(&logs, MAX_FILES).unwrap_or_default();
    found.retain(is_its);
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found.truncate(MAX_LISTED);
    found.into_iter().map(|entry| logs.join(entry.name)).collect()
}

/// Says whether a name is that of a run; what else lies there is not Samuel's.
pub(super) fn is_run_id(name: &OsStr) -> bool {
    name.to_str().is_some_and(samuel_model::is_run_id)
}

/// Returns what the files below a directory take on the disk, as far as they are
/// looked at.
fn size_of(root: &Root, directory: &Path) -> u64 {
    let mut bytes = 0_u64;
    // What cannot be looked at counts for nothing, and is told once it is to go.
    let _ = below(root, directory, &mut |_, entry| {
        // A file of holes takes less than it says.
        let [length, blocks] =
            [entry.stat.st_size, entry.stat.st_blocks].map(|n| u64::try_from(n).unwrap_or(0));
        if entry.kind == PathKind::File {
            bytes = bytes.saturating_add(length.min(blocks.saturating_mul(512)));
        }
        Ok(())
    });
    bytes
}

fn remove(root: &Root, directory: &Path) -> Result<(), FileError> {
    below(root, directory, &mut |path, entry| match entry.kind {
        PathKind::Directory => root.remove_directory(path),
        _ => root.remove_own(path),
    })?;
    root.remove_directory(directory)
}

/// Visits all that lies below a directory, what is in a directory before it.
pub(super) fn below(
    root: &Root,
    directory: &Path,
    visit: &mut impl FnMut(&Path, &Entry) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let mut left = MAX_FILES;
    visit_below(root, directory, MAX_DEPTH, &mut left, visit)
}

fn visit_below(
    root: &Root,
    directory: &Path,
    depth: usize,
    left: &mut usize,
    visit: &mut impl FnMut(&Path, &Entry) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let too_many = || FileError::Io(std::io::Error::other("it holds too many files or directories"));
    let Some(depth) = depth.checked_sub(1) else { return Err(too_many()) };
    for entry in root.list(directory, left.saturating_add(1))? {
        *left = left.checked_sub(1).ok_or_else(too_many)?;
        let path = directory.join(&entry.name);
        if entry.kind == PathKind::Directory {
            visit_below(root, &path, depth, left, visit)?;
        }
        visit(&path, &entry)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Makes the logs of runs of 1 kB each, the oldest first.
    fn logs(days: &[u32]) -> (tempfile::TempDir, RunDir) {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = RunDir::new(dir.path());
        for day in days {
            let directory = run_dir.logs(&id(*day));
            fs::create_dir_all(directory.join("deep")).unwrap();
            fs::write(directory.join("1-1.out"), vec![b'x'; 500]).unwrap();
            fs::write(directory.join("deep/file"), vec![b'x'; 500]).unwrap();
        }
        (dir, run_dir)
    }

    fn id(day: u32) -> String {
        format!("202611{day:02}T100000Z-0a1b2c3d")
    }

    fn left(run_dir: &RunDir) -> Vec<String> {
        let entries = fs::read_dir(run_dir.all_logs()).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_go_and_what_goes_is_told() {
        let (_dir, run_dir) = logs(&[1, 2, 3, 4]);
        let pruned = prune(&run_dir, KeptLogs { runs: 3, bytes: 0 }, None).unwrap();
        assert_eq!(left(&run_dir), [id(3), id(4)]);
        assert_eq!(pruned.to_string(), "removed the logs of 2 runs (2 kB)");
        let pruned = prune(&run_dir, KeptLogs { runs: 0, bytes: 1_500 }, None).unwrap();
        assert_eq!(
            (left(&run_dir), pruned.to_string()),
            (vec![id(4)], "removed the logs of 1 run (1 kB)".to_owned())
        );
    }

    #[test]
    fn without_limits_and_of_a_run_that_goes_on_all_is_kept() {
        let (_dir, run_dir) = logs(&[1, 2, 3]);
        let all = prune(&run_dir, KeptLogs { runs: 0, bytes: 0 }, None).unwrap();
        assert_eq!((all, left(&run_dir).len()), (Pruned::default(), 3));
        prune(&run_dir, KeptLogs { runs: 1, bytes: 1 }, Some(&id(1))).unwrap();
        assert_eq!(left(&run_dir), [id(1)]);
    }

    #[test]
    fn nothing_is_followed_and_nothing_else_is_touched() {
        let (dir, run_dir) = logs(&[1]);
        let precious = dir.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "mine").unwrap();
        symlink(&precious, run_dir.logs(&id(1)).join("link")).unwrap();
        symlink(&precious, run_dir.logs(&id(2))).unwrap();
        fs::create_dir(run_dir.logs("notes")).unwrap();
        prune(&run_dir, KeptLogs { runs: 1, bytes: 0 }, None).unwrap();
        assert_eq!(left(&run_dir), [id(2), "notes".to_owned()]);
        assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    }

    #[test]
    fn the_files_of_an_iteration_are_its_own_and_a_run_is_no_path() {
        let (dir, run_dir) = logs(&[1]);
        let logs = run_dir.logs(&id(1));
        for name in ["1-1.err", "1-check-1.out", "11-1.out", "2-1.out"] {
            fs::write(logs.join(name), "x").unwrap();
        }
        symlink("1-1.out", logs.join("1-2.out")).unwrap();
        let found = |run: &str, iteration| of_iteration(&run_dir, run, iteration);
        assert_eq!(found(&id(1), 1), ["1-1.err", "1-1.out", "1-check-1.out"].map(|name| logs.join(name)));
        assert_eq!(found(&id(2), 1), [""; 0].map(PathBuf::from));
        fs::write(dir.path().join("1-secret"), "x").unwrap();
        assert_eq!(found("../../..", 1), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn what_cannot_be_removed_is_told_once() {
        let (_dir, run_dir) = logs(&[1, 2]);
        for day in [1, 2] {
            let deep = ["d"; MAX_DEPTH + 1].join("/");
            fs::create_dir_all(run_dir.logs(&id(day)).join(deep)).unwrap();
        }
        let pruned = prune(&run_dir, KeptLogs { runs: 1, bytes: 0 }, None).unwrap();
        assert_eq!(pruned.runs, 0);
        assert!(pruned.failure.unwrap().ends_with(": it holds too many files or directories"));
    }
}
