//! Files that are run from a place where nobody else writes.
//!
//! Nothing runs from where it stands in the project: whoever writes there could exchange a
//! script after it was looked at. A [`PrivateCopy`] is made of the very bytes whose digests
//! were compared, in a private directory outside of the project, and is gone when its last
//! user is.
//!
//! Another program of the same user could still find it and write there. So it
//! is compared before each call with what it was made of, and what was touched
//! once, if only for a moment, is not used again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File, Metadata},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    fs::{leftovers, open_unlinked, private},
    hook::{BreakClass, HookFailure},
    model::{digest_of, digest_of_stream, run_blocking},
};

/// A copy of files that is run from.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    root: PathBuf,
    /// The digest of each file, by its path within.
    digests: BTreeMap<PathBuf, String>,
    /// What every file, link and directory of it was when it was finished.
    stamps: BTreeMap<PathBuf, Stamp>,
    /// Tells those who look for leftovers that this is none.
    _held: File,
}

/// A file of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedFile<'a> {
    /// Its path within the copy.
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
    pub(crate) is_executable: bool,
}

/// Whose copies lie together, below the private directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyOf {
    /// The files of an installed plugin.
    Plugin,
    /// Files of a project that a command starts.
    Command,
}

/// A copy that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub(crate) struct CopyError {
    /// What was tried.
    pub(crate) action: &'static str,
    /// With what.
    pub(crate) path: PathBuf,
    /// What the system said.
    #[source]
    pub(crate) source: io::Error,
}

impl CopyOf {
    fn directory(self) -> &'static str {
        match self {
            Self::Plugin => "plugins",
            Self::Command => "commands",
        }
    }
}

/// What changes of a file or directory whenever somebody writes to it, puts
/// another one in its place, or changes its mode. Its number is not among it:
/// some file systems give a file another one with time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::of_found(&fs::symlink_metadata(path)?))
    }

    pub(super) fn of_found(found: &Metadata) -> Self {
        Self {
            mode: found.mode(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl PrivateCopy {
    /// Writes files, and links to other places, into a new directory below `state_dir`, after what
    /// runs that were killed left there was removed. Its name begins with `name`.
    ///
    /// # Errors
    /// Returns a [`CopyError`] where that directory is not this user's alone, or the disk refuses.
    pub(crate) fn make<'a>(
        state_dir: &Path,
        of: CopyOf,
        name: &str,
        files: impl IntoIterator<Item = CopiedFile<'a>>,
        links: impl IntoIterator<Item = (PathBuf, PathBuf)>,
    ) -> Result<Self, CopyError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| CopyError { action, path, source }
        };
        let parent = state_dir.join(of.directory());
        for directory in [state_dir, &parent] {
            private::require(directory).map_err(failed("use", directory))?;
        }
        let parent = parent.canonicalize().map_err(failed("read", &parent))?;
        leftovers::remove_from(&parent);
        let made = tempfile::Builder::new().prefix(&format!("{name}-")).rand_bytes(12).tempdir_in(&parent);
        let made = made.map_err(failed("write to", &parent))?;
        let held = File::open(made.path()).map_err(failed("read", made.path()))?;
        held.try_lock().map_err(|error| failed("lock", made.path())(error.into()))?;
        let mut digests = BTreeMap::new();
        let mut inner = Vec::new();
        for file in files {
            let to = made.path().join(file.path);
            let mode = if file.is_executable { 0o500 } else { 0o400 };
            let written = make_parent(&to).and_then(|()| private::write_new(&to, file.bytes, mode));
            written.map_err(failed("write", &to))?;
            digests.insert(file.path.to_owned(), digest_of(file.bytes));
            inner.push(file.path.to_owned());
        }
        for (path, target) in links {
            let to = made.path().join(&path);
            make_parent(&to).and_then(|()| symlink(target, &to)).map_err(failed("write", &to))?;
            inner.push(path);
        }
        let directories = directories_of(&inner);
        // Those deep down first, while their parents can still be entered.
        for directory in directories.iter().rev() {
            let path = made.path().join(directory);
            let closed = fs::set_permissions(&path, fs::Permissions::from_mode(0o500));
            closed.map_err(failed("write to", &path))?;
        }
        let stamp = |inner: PathBuf| {
            let stamp = Stamp::of(&made.path().join(&inner))?;
            Ok((inner, stamp))
        };
        let stamps = directories.into_iter().chain(inner).map(stamp);
        let stamps = stamps.collect::<io::Result<_>>().map_err(failed("read", made.path()))?;
        Ok(Self { root: made.keep(), digests, stamps, _held: held })
    }

    /// Returns the directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Says what is not as it was made; nothing where all of it is. Reads every
    /// file, and blocks.
    pub(crate) fn difference(&self) -> Option<String> {
        if let Some(touched) = self.touched() {
            return Some(touched);
        }
        let is_same = |(inner, digest): &(&PathBuf, &String)| {
            let read = open_unlinked(&self.root.join(inner)).map_err(io::Error::from);
            read.and_then(digest_of_stream).is_ok_and(|now| now == **digest)
        };
        let (inner, _) = self.digests.iter().find(|entry| !is_same(entry))?;
        Some(format!("changed: {}", inner.display()))
    }

    /// Says which file or directory was touched since it was made.
    pub(crate) fn touched(&self) -> Option<String> {
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

/// Refuses a call where a look tells of a difference. `what` is what the call runs from.
pub(crate) async fn hold<T: Send + Sync + 'static>(
    looked_at: &Arc<T>,
    what: &str,
    look: impl FnOnce(&T) -> Option<String> + Send + 'static,
) -> Result<(), HookFailure> {
    let looked_at = Arc::clone(looked_at);
    let looked = run_blocking(move || look(&looked_at)).await;
    unchanged(what, looked.unwrap_or_else(|error| Some(error.to_string())))
}

/// Refuses a call where there is a difference.
pub(super) fn unchanged(what: &str, difference: Option<String>) -> Result<(), HookFailure> {
    match difference {
        None => Ok(()),
        Some(difference) => {
            let message = format!("{what} were changed since they were checked");
            let mut failure = HookFailure::new(BreakClass::Untrusted, message);
            failure.details.push(difference);
            Err(failure)
        }
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // What cannot be removed now is removed by a later run.
        let _ = leftovers::remove(&self.root);
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    DirBuilder::new().recursive(true).mode(0o700).create(parent)
}

/// Returns every directory that paths are in, the top one, which is empty,
/// first.
fn directories_of(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    above.map(Path::to_owned).chain([PathBuf::new()]).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs::FileTimes, time::SystemTime};

    use super::*;
    use crate::fs::leftovers::LEFTOVER_AGE;

    fn copy(state: &Path) -> PrivateCopy {
        let file = |path, is_executable| CopiedFile { path: Path::new(path), bytes: b"good", is_executable };
        let files = [file("hook.sh", true), file("lib/words", false)];
        PrivateCopy::make(state, CopyOf::Plugin, "lint", files, []).unwrap()
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
