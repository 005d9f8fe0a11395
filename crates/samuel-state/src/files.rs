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
    content: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Replacement, StateError> {
    let staged = root.walk(path, LastLink::Keep).and_then(|place| place.stage(content, &Manner::STATE));
    staged.map_err(not_written(path))
}

/// Replaces a file. With [`Durability::Unsynced`] it is one that is made anew before
/// anybody relies on it.
pub(super) fn write(
    root: &Root,
    path: &Path,
    content: &[u8],
    durability: Durability,
) -> Result<(), StateError> {
    let written = root.write(path, [content], &Manner::STATE.with(durability));
    written.map_err(not_written(path))
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
