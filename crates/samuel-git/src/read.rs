//! Opening files of a repository.
//!
//! They are opened as all files that somebody else may have made. A link in place
//! of the file itself leads no further than the directory it is in; links among
//! the directories above are followed wherever they lead. Only regular files are
//! read, up to a limit.

use std::{
    fs::{File, Metadata},
    io,
    path::Path,
};

use samuel_fs::{Root, read_up_to};

/// Opens a regular file without waiting.
///
/// # Errors
/// What the system says; [`io::ErrorKind::InvalidInput`] for what is no regular
/// file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    Ok(Root::new(path.parent().unwrap_or(path)).open(path)?)
}

/// Opens a regular file as [`open_regular`] does, and says what the system says
/// of it.
pub(super) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = open_regular(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Reads a regular file of at most `max_bytes`.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::FileTooLarge`] past the limit.
pub(super) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    Ok(read_up_to(open_regular(path)?, max_bytes)?)
}

/// Says of an error whether it means that there is no such file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
