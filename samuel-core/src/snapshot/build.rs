//! Taking a snapshot: from the list of files to the record.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{
    budget::{Candidates, fit},
    cache::CountCache,
    findings::Findings,
    inventory::Inventory,
    tally::tally,
};
use crate::{
    git::{Caller, Commit, GitError, Repository},
    state::{CommitLine, ProjectSnapshot},
    text::counted,
};

/// How many commits a snapshot lists.
const LOG_ENTRIES: usize = 10;
/// The longest subject of a commit, in characters.
const SUBJECT_CHARS: usize = 100;
/// How a snapshot is taken.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// Who looks, which decides whose repositories are read and what is ignored
    /// everywhere. Default the user of this process.
    pub caller: Caller,
    /// The directory counts are kept in between snapshots, `cache/` of the run
    /// directory. Default none: everything is counted each time.
    pub cache_dir: Option<PathBuf>,
    /// The time the snapshot carries.
    pub now: jiff::Timestamp,
    /// How long the text may be, in tokens of four characters. Default 4000.
    pub max_tokens: usize,
    /// From how many lines on a code file is large. Default 300.
    pub max_file_lines: u32,
    /// How long counting may take; what was not reached is left out, and the
    /// summary says so. Default 2 s.
    pub time_box: Duration,
    /// How long reading the repository may take. Default 2 s.
    pub git_timeout: Duration,
}

impl SnapshotOptions {
    /// Creates the defaults.
    pub fn new(now: jiff::Timestamp) -> Self {
        Self {
            caller: Caller::of_process(),
            cache_dir: None,
            now,
            max_tokens: 4_000,
            max_file_lines: 300,
            time_box: Duration::from_secs(2),
            git_timeout: Duration::from_secs(2),
        }
    }
}

/// A snapshot that could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The project's root is not a directory that can be read.
    #[error("cannot read the project directory \"{}\"", root.display())]
    Root {
        /// The directory.
        root: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Takes a snapshot of the project in a directory.
///
/// Blocks for as long as the disk takes; asynchronous callers move it to a
/// blocking thread. Starts no process. A repository that cannot be read is no
/// error: the directories are walked then, and `summary.notes` says why.
///
/// # Errors
/// [`SnapshotError::Root`] if the directory cannot be read.
pub fn take_snapshot(root: &Path, options: &SnapshotOptions) -> Result<ProjectSnapshot, SnapshotError> {
    let root_error = |source| SnapshotError::Root { root: root.to_owned(), source };
    fs::read_dir(root).map_err(root_error)?;
    let opened = Repository::open(root, &options.caller);
    let repository = opened.as_ref().ok().and_then(Option::as_ref);
    let (mut inventory, mut cache, log) = gather(root, repository, options);
    if let Err(error) = &opened {
        inventory.notes.push(walked_because(error));
    }

    let deadline = Instant::now() + options.time_box;
    let left_out = tally(&mut inventory, &mut cache, root, repository, deadline);
    if left_out > 0 {
        let limit = options.time_box;
        inventory.notes.push(format!(
            "{} could not be counted within {limit:?}; the next snapshot goes on",
            counted(left_out, "file")
        ));
    }
    let findings = Findings::of(&inventory, options.max_file_lines, |path| {
        super::tally::count_on_disk(&root.join(path), &mut cache)
    });
    if options.cache_dir.is_some() {
        // A cache that cannot be written makes the next snapshot slower, no more.
        drop(cache.save(inventory.files.len(), || inventory.blobs()));
    }
    let candidates = Candidates { inventory: &inventory, findings, log, root, now: options.now };
    Ok(fit(candidates, options.max_tokens))
}

/// Reads the list of files, the log and the cache, side by side.
fn gather(
    root: &Path,
    repository: Option<&Repository>,
    options: &SnapshotOptions,
) -> (Inventory, CountCache, Vec<CommitLine>) {
    let walk = || Inventory::from_walk(root, Instant::now() + options.time_box);
    let load = || options.cache_dir.as_deref().map(CountCache::load).unwrap_or_default();
    let Some(repository) = repository else { return (walk(), load(), Vec::new()) };
    let limit = options.git_timeout;
    let (listed, cache, log) = thread::scope(|scope| {
        let log = scope.spawn(|| repository.log(LOG_ENTRIES, limit));
        let cache = scope.spawn(load);
        let listed = Inventory::from_repository(repository, limit);
        let caught = "the threads read bytes and have nothing to panic about";
        (listed, cache.join().expect(caught), log.join().expect(caught))
    });
    let mut inventory = listed.unwrap_or_else(|error| {
        let mut inventory = walk();
        inventory.notes.push(walked_because(&error));
        inventory
    });
    let log = log.unwrap_or_else(|error| {
        inventory.notes.push(format!("the log is left out: {}", described(&error)));
        Vec::new()
    });
    let line = |commit: Commit| CommitLine {
        sha: commit.short_id,
        date: commit.date,
        subject: commit.subject.chars().take(SUBJECT_CHARS).collect(),
    };
    (inventory, cache, log.into_iter().map(line).collect())
}

fn walked_because(error: &GitError) -> String {
    format!("the directories were walked, because {}", described(error))
}

/// Writes an error with its cause on one line.
fn described(error: &GitError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::git::testing::Repository;

    fn options() -> SnapshotOptions {
        let now = "2026-11-21T10:00:00Z".parse().unwrap();
        SnapshotOptions { time_box: Duration::from_secs(60), ..SnapshotOptions::new(now) }
    }

    fn long(lines: usize) -> String {
        "let x = 1; // TODO\n".repeat(lines)
    }

    #[test]
    fn a_snapshot_tells_what_there_is_and_what_is_missing() {
        let repository = Repository::with(&[
            ("Cargo.toml", "[package]\n"),
            ("src/lexer.rs", &long(20)),
            ("src/parser.rs", "#[cfg(test)]\nmod tests {}\n"),
            ("src/huge.rs", &"fn f() {}\n".repeat(301)),
            ("tests/huge.rs", "fn f() {}\n"),
            ("web/app.js", &"run();\n".repeat(12)),
        ]);
        repository.commit("Say, \"hello\"");
        let snapshot = take_snapshot(repository.path(), &options()).unwrap();

        assert_eq!(snapshot.generated_at, options().now);
        assert_eq!((snapshot.summary.files, snapshot.summary.lines), (6, 1 + 20 + 2 + 301 + 1 + 12));
        assert_eq!(snapshot.summary.languages, ["rust", "javascript"]);
        assert_eq!(snapshot.summary.notes, [""; 0]);
        let files: Vec<&str> = snapshot.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            files,
            ["Cargo.toml", "src/huge.rs", "src/lexer.rs", "src/parser.rs", "tests/huge.rs", "web/app.js"]
        );
        assert_eq!((snapshot.files[0].bytes, snapshot.files[0].kind.as_str()), (10, "build"));
        assert_eq!(snapshot.test_gaps, ["src/lexer.rs", "web/app.js"]);
        assert_eq!((snapshot.large_files.len(), snapshot.large_files[0].lines), (1, 301));
        assert_eq!((snapshot.todo_counts.len(), snapshot.todo_counts[0].count), (1, 20));
        let subjects: Vec<&str> = snapshot.git_log.iter().map(|entry| entry.subject.as_str()).collect();
        assert_eq!(subjects, ["Say, \"hello\"", "Start"]);
        assert_eq!(snapshot.git_log[0].date, "2026-11-21");
    }

    #[test]
    fn a_second_snapshot_takes_the_counts_from_the_cache() {
        let repository = Repository::with(&[("src/lexer.rs", &long(20))]);
        let cache = tempfile::tempdir().unwrap();
        let options = SnapshotOptions { cache_dir: Some(cache.path().to_owned()), ..options() };
        let first = take_snapshot(repository.path(), &options).unwrap();
        let file = cache.path().join("counts.bin");
        let written = fs::metadata(&file).unwrap().modified().unwrap();

        let no_time = SnapshotOptions { time_box: Duration::ZERO, ..options };
        assert_eq!(take_snapshot(repository.path(), &no_time).unwrap(), first);
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
    }

    #[test]
    fn time_that_is_up_is_said_in_the_summary() {
        let repository = Repository::with(&[]);
        (0..20).for_each(|n| repository.write(&format!("{n}.rs"), "x\n"));
        let options = SnapshotOptions { time_box: Duration::ZERO, ..options() };
        let snapshot = take_snapshot(repository.path(), &options).unwrap();
        assert_eq!(
            snapshot.summary.notes,
            ["20 files could not be counted within 0ns; the next snapshot goes on"]
        );
    }

    #[test]
    fn without_git_there_is_a_snapshot_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.py"), long(11)).unwrap();
        let snapshot = take_snapshot(directory.path(), &options()).unwrap();
        assert_eq!((snapshot.summary.files, snapshot.summary.lines), (1, 11));
        assert_eq!(snapshot.test_gaps, ["a.py"]);
        assert_eq!((snapshot.git_log, snapshot.summary.notes), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_repository_that_cannot_be_read_is_replaced_by_a_walk() {
        let repository = Repository::with(&[("a.py", &long(11))]);
        fs::write(repository.path().join(".git/index"), "no index").unwrap();
        let snapshot = take_snapshot(repository.path(), &options()).unwrap();
        assert_eq!(snapshot.summary.lines, 11);
        let [note] = snapshot.summary.notes.as_slice() else { unreachable!("there is one note") };
        assert!(note.starts_with("the directories were walked, because the repository cannot be read: "));
        assert!(note.ends_with(".git/index: it is not an index"), "{note}");

        fs::remove_file(repository.path().join(".git/HEAD")).unwrap();
        let snapshot = take_snapshot(repository.path(), &options()).unwrap();
        assert_eq!(
            (snapshot.summary.lines, snapshot.git_log.len(), snapshot.summary.notes.len()),
            (11, 0, 1)
        );
    }

    #[test]
    fn an_empty_repository_has_an_empty_snapshot() {
        let repository = Repository::empty();
        let snapshot = take_snapshot(repository.path(), &options()).unwrap();
        let expected = ProjectSnapshot { generated_at: options().now, ..Default::default() };
        assert_eq!(snapshot, expected);
    }

    #[test]
    fn a_root_that_is_no_directory_is_an_error() {
        let error = take_snapshot(Path::new("/nowhere/at/all"), &options()).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the project directory \"/nowhere/at/all\"");
    }
}
