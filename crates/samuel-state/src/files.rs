//! Reading and replacing the files of a run directory, whose lock is held.

use std::path::Path;

use super::StateError;
use samuel_fs::{Durability, FileError, LastLink, Manner, Replacement, Root, found};

/// The largest file of a run directory that is read as a whole.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Stores new content of a file, given in pieces, durably beside it.
pub(super) fn stage<'a>(
    root: &Root,
    path: &Path,
    content: impl IntoIterator<Item = &'a [u8]> + Clone,
) -> Result<Replacement, StateError> {
    let stage = || root.walk(path, LastLink::Keep)?.stage(content.clone(), &Manner::STATE);
    retried(stage).map_err(not_written(path))
}

/// Replaces a file. With [`Durability::Unsynced`] it is one that is made anew before
/// anybody relies on it.
pub(super) fn write(
    root: &Root,
    path: &Path,
    content: &[u8],
    durability: Durability,
) -> Result<(), StateError> {
    let manner = Manner::STATE.with(durability);
    retried(|| root.write(path, [content], &manner)).map_err(not_written(path))
}

/// Writes a file, and retries once if its directory was removed in the meantime. Each attempt creates the directory.
fn retried<T>(write: impl Fn() -> Result<T, FileError>) -> Result<T, FileError> {
    match write() {
        Err(error) if error.is_not_found() => write(),
        written => written,
    }
}

/// Names the file that is to blame: the one to write, or what is in its way.
fn not_written(path: &Path) -> impl FnOnce(FileError) -> StateError {
    move |error| match error {
        FileError::Leftover { name, source } => {
            StateError::Io { action: "remove", path: path.with_file_name(name), source }
        }
        error => StateError::file("write", path)(error),
    }
}

/// Reads a whole file; nothing if there is none.
pub(super) fn read(root: &Root, path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    found(root.read(path, MAX_FILE_BYTES)).map_err(|error| match error {
        FileError::TooLarge { .. } => {
            StateError::Corrupt { path: path.to_owned(), line: None, column: None, reason: error.to_string() }
        }
        error => StateError::file("read", path)(error),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{cell::Cell, fs};

    use super::*;

    #[test]
    fn recreates_a_directory_removed_during_a_write() {
        let made = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(made.path()), made.path().join(".samuel/run/prd.toon"));
        let removals = Cell::new(0);
        let write = |most| {
            removals.set(0);
            retried(|| {
                let staged = root.stage(&path, [&b"plan"[..]], &Manner::STATE)?;
                if removals.get() < most {
                    removals.set(removals.get() + 1);
                    fs::remove_dir_all(made.path().join(".samuel"))?;
                }
                Ok(staged.commit()?)
            })
        };
        write(1).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "plan");
        assert!(write(2).unwrap_err().is_not_found());
    }
}
