//! Files of the project.
//!
//! Paths are relative to the project, or begin with `/workspace`, which is the
//! project. None leaves it: `..` and links that lead outside are denied. Reading
//! needs `filesystem.read`, writing `filesystem.write`, each for the path.

use crate::{
    failure::HostError,
    host::bindings::samuel::plugin::{files_read, files_write},
};
#[doc(inline)]
pub use files_read::{Entry, Kind};

/// Returns the bytes of a file, at most 4 MiB.
///
/// # Errors
/// Returns [`HostError::NotFound`] where there is no file, [`HostError::Denied`]
/// where it was not granted, [`HostError::TooLarge`] for a larger one.
pub fn read(path: &str) -> Result<Vec<u8>, HostError> {
    Ok(files_read::read(path)?)
}

/// Returns the text of a file, at most 4 MiB.
///
/// # Errors
/// As [`read`], and [`HostError::Invalid`] for bytes that are not UTF-8.
pub fn read_text(path: &str) -> Result<String, HostError> {
    String::from_utf8(read(path)?).map_err(|_| HostError::Invalid(format!("{path} is not UTF-8 text")))
}

/// Returns the text of a file, or nothing where there is none.
///
/// # Errors
/// As [`read_text`], but for a file that does not exist.
pub fn read_text_if_there(path: &str) -> Result<Option<String>, HostError> {
    match read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(HostError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lists a directory by name, at most 10,000 entries.
///
/// # Errors
/// As [`read`], for the directory.
pub fn list(path: &str) -> Result<Vec<Entry>, HostError> {
    Ok(files_read::list_dir(path)?)
}

/// Says what is at a path; nothing where there is nothing.
///
/// # Errors
/// Returns [`HostError::Denied`] where it was not granted.
pub fn stat(path: &str) -> Result<Option<Entry>, HostError> {
    Ok(files_read::stat(path)?)
}

/// Writes a file whole, at most 4 MiB; a reader sees the old or the new one.
/// Directories on the way are made.
///
/// # Errors
/// Returns [`HostError::Denied`] where it was not granted, and always for control
/// files, `.git` and Samuel's own state; [`HostError::TooLarge`] for more.
pub fn write(path: &str, contents: impl AsRef<[u8]>) -> Result<(), HostError> {
    Ok(files_write::write(path, contents.as_ref())?)
}

/// Removes a file, or a directory that is empty.
///
/// # Errors
/// As [`write()`], and [`HostError::NotFound`] where there is nothing.
pub fn remove(path: &str) -> Result<(), HostError> {
    Ok(files_write::remove(path)?)
}

/// Makes a directory and those on the way; one that exists is left.
///
/// # Errors
/// As [`write()`].
pub fn create_dir(path: &str) -> Result<(), HostError> {
    Ok(files_write::create_dir(path)?)
}
