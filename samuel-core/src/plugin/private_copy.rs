//! The files of a plugin of scripts, where they are run from.
//!
//! Nothing runs from where a plugin is installed: that is in the project, and
//! whoever writes there could exchange a script after it was looked at. A
//! [`PrivateCopy`] is made of the [`Contents`] whose digests were compared, in a
//! private directory outside of the project, and is gone when its last handler
//! is.
//!
//! Another program of the same user could still find it and write there. So it
//! is compared before each call with what it was made of, and what was touched
//! once, if only for a moment, is not used again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{
    PluginError, Selection, Tree,
    contents::{Contents, Writing},
};
use crate::fs::private;

/// Where copies lie, below the private directory.
const DIRECTORY: &str = "plugins";
/// From which age on a copy that nobody holds is a leftover: before it is held
/// it has just been made.
const LEFTOVER_AGE: Duration = Duration::from_secs(60);
/// How many entries are looked at for leftovers, and how many of them go.
const MAX_LOOKED_AT: usize = 4_096;
const MAX_REMOVED: usize = 64;

/// A copy of a plugin's files that is run from.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    root: PathBuf,
    digests: BTreeMap<String, String>,
    /// What every file and directory of it was when it was finished.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Tells those who look for leftovers that this is none.
    _held: File,
}

/// What changes of a file or directory whenever somebody writes to it, puts
/// another one in its place, or changes its mode. Its number is not among it:
/// some file systems give a file another one with time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            mode: found.mode(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl PrivateCopy {
    /// Writes the files of a plugin into a new directory below `state_dir`,
    /// after what runs that were killed left there was removed.
    ///
    /// # Errors
    /// Returns [`PluginError::Io`] where that directory is not this user's
    /// alone, or the disk refuses.
    pub(super) fn make(state_dir: &Path, name: &str, contents: &Contents) -> Result<Self, PluginError> {
        let parent = state_dir.join(DIRECTORY);
        for directory in [state_dir, &parent] {
            private::require(directory).map_err(PluginError::io("use", directory))?;
        }
        let parent = parent.canonicalize().map_err(PluginError::io("read", &parent))?;
        remove_leftovers(&parent);
        let failed = || PluginError::io("write to", &parent);
        let made = tempfile::Builder::new().prefix(&format!("{name}-")).rand_bytes(12).tempdir_in(&parent);
        let made = made.map_err(failed())?;
        let held = File::open(made.path()).map_err(failed())?;
        held.try_lock().map_err(|error| failed()(error.into()))?;
        contents.write_to(made.path(), Writing::Sealed)?;
        let directories = directories_of(contents.tree());
        // Those deep down first, while their parents can still be entered.
        for directory in directories.iter().rev() {
            let path = made.path().join(directory);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).map_err(failed())?;
        }
        let files = contents.tree().paths().map(PathBuf::from);
        let stamped = directories.into_iter().chain(files);
        let stamp = |inner: PathBuf| {
            let stamp = Stamp::of(&made.path().join(&inner))?;
            Ok((inner, stamp))
        };
        let stamps = stamped.map(stamp).collect::<io::Result<_>>().map_err(failed())?;
        let digests = contents.tree().digests();
        Ok(Self { root: made.keep(), digests, stamps, _held: held })
    }

    /// Returns the directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Says what is not as it was made; nothing where all of it is. Reads every
    /// file, and blocks.
    pub(super) fn difference(&self) -> Option<String> {
        if let Some(touched) = self.touched() {
            return Some(touched);
        }
        match Tree::of(&self.root, &Selection::Installed) {
            Ok(tree) => tree.changes_since(&self.digests).first().map(ToString::to_string),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Says which file or directory was touched since it was made.
    pub(super) fn touched(&self) -> Option<String> {
        let is_same = |(inner, stamp): &(&PathBuf, &Stamp)| {
            Stamp::of(&self.root.join(inner)).is_ok_and(|now| now == **stamp)
        };
        let (inner, _) = self.stamps.iter().find(|entry| !is_same(entry))?;
        Some(match inner.as_os_str().is_empty() {
            true => "touched: the directory".to_owned(),
            false => format!("touched: {}", inner.display()),
        })
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later run.
        let _ = remove(&self.root);
    }
}

/// Returns every directory that the files are in, the top one, which is empty,
/// first.
fn directories_of(tree: &Tree) -> BTreeSet<PathBuf> {
    let above = tree.paths().flat_map(|path| Path::new(path).ancestors().skip(1));
    above.map(Path::to_owned).chain([PathBuf::new()]).collect()
}

/// Removes copies whose program is gone. One that cannot be removed is in
/// nobody's way.
fn remove_leftovers(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let leftovers = entries.flatten().take(MAX_LOOKED_AT).map(|entry| entry.path());
    for path in leftovers.filter(|path| is_leftover(path)).take(MAX_REMOVED) {
        let _ = remove(&path);
    }
}

fn is_leftover(path: &Path) -> bool {
    let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age > LEFTOVER_AGE);
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    found.is_dir()
        && found.modified().is_ok_and(is_old)
        && File::open(path).is_ok_and(|directory| directory.try_lock().is_ok())
}

/// Removes a copy with its directories that nobody may write to.
fn remove(root: &Path) -> io::Result<()> {
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(root)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs::FileTimes;

    use super::*;

    fn copy(state: &Path) -> PrivateCopy {
        let source = tempfile::tempdir().unwrap();
        fs::create_dir(source.path().join("lib")).unwrap();
        fs::write(source.path().join("hook.sh"), "good").unwrap();
        fs::set_permissions(source.path().join("hook.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(source.path().join("lib/words"), "good").unwrap();
        let contents = Contents::read(source.path(), &Selection::Installed).unwrap();
        PrivateCopy::make(state, "lint", &contents).unwrap()
    }

    #[test]
    fn a_copy_is_the_users_alone_and_gone_at_the_end() {
        let state = tempfile::tempdir().unwrap();
        let copy = copy(&state.path().join("samuel"));
        let root = copy.root().to_owned();
        let mode = |inner: &str| fs::metadata(root.join(inner)).unwrap().mode() & 0o777;
        assert_eq!([mode(""), mode("lib"), mode("hook.sh"), mode("lib/words")], [0o500, 0o500, 0o500, 0o400]);
        assert_eq!(fs::metadata(state.path().join("samuel")).unwrap().mode() & 0o777, 0o700);
        assert_eq!(copy.difference(), None);
        drop(copy);
        assert!(!root.exists());
    }

    #[test]
    fn what_was_written_added_swapped_or_put_back_is_told() {
        type Touch = fn(&Path) -> io::Result<()>;
        let touches: [(&str, Touch); 5] = [
            ("hook.sh", |root| {
                fs::set_permissions(root.join("hook.sh"), fs::Permissions::from_mode(0o700))?;
                fs::write(root.join("hook.sh"), "evil")
            }),
            ("lib", |root| fs::write(root.join("lib/more"), "")),
            ("lib", |root| fs::remove_file(root.join("lib/words"))),
            ("lib", |root| {
                fs::rename(root.join("lib/words"), root.join("lib/aside"))?;
                fs::rename(root.join("lib/aside"), root.join("lib/words"))
            }),
            ("the directory", |root| fs::write(root.join("x"), "")),
        ];
        for (named, touch) in touches {
            let state = tempfile::tempdir().unwrap();
            let copy = copy(state.path());
            for directory in ["", "lib"] {
                fs::set_permissions(copy.root().join(directory), fs::Permissions::from_mode(0o700)).unwrap();
            }
            touch(copy.root()).unwrap();
            let told = copy.difference().unwrap();
            assert!(told.starts_with("touched: "), "{named}: {told}");
            assert_eq!(copy.touched().unwrap(), told);
        }
    }

    #[test]
    fn what_killed_runs_left_behind_is_removed_and_what_is_in_use_is_not() {
        let state = tempfile::tempdir().unwrap();
        let used = copy(state.path());
        let old = FileTimes::new().set_modified(SystemTime::now() - 2 * LEFTOVER_AGE);
        let left = state.path().join("plugins/lint-left");
        fs::create_dir_all(left.join("lib")).unwrap();
        fs::write(left.join("lib/x"), "").unwrap();
        fs::set_permissions(left.join("lib"), fs::Permissions::from_mode(0o500)).unwrap();
        for path in [&left, used.root()] {
            File::open(path).unwrap().set_times(old).unwrap();
        }
        let young = state.path().join("plugins/lint-young");
        fs::create_dir(&young).unwrap();
        let _another = copy(state.path());
        assert!(!left.exists());
        assert!(used.root().exists() && young.exists());
    }
}
