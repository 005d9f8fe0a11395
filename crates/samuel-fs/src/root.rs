//! The directory that nothing leaves.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use super::{
    FileError, LastLink, Place,
    open::{read_text, read_up_to},
    walk::Walk,
};

/// A directory that paths are resolved beneath: the project, or whatever the
/// caller says.
///
/// A path that is asked for either begins with the root's own, as
/// `root.join("samuel.toml")` does, or is relative to it. The root itself may be
/// reached through links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    path: PathBuf,
}

impl Root {
    /// Names a root. Touches nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file for reading, without waiting for anything.
    ///
    /// # Errors
    /// Returns [`FileError::NotAFile`] for what is something else,
    /// [`FileError::Outside`] for a path that leads out, and [`FileError::Io`]
    /// where the system refuses, also because there is nothing.
    pub fn open(&self, path: &Path) -> Result<File, FileError> {
        self.walk(path, LastLink::Follow)?.open_file()
    }

    /// Reads a whole file of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Root::open`], and [`FileError::TooLarge`] for a longer file.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        read_up_to(self.open(path)?, limit)
    }

    /// Reads a whole text of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Root::read`], and [`FileError::NotUtf8`].
    pub fn read_text(&self, path: &Path, limit: u64) -> Result<String, FileError> {
        read_text(self.open(path)?, limit)
    }

    /// Makes sure that a path stays inside, whether or not anything is there.
    ///
    /// # Errors
    /// Returns [`FileError::Outside`] with the link that leads out.
    pub fn check_inside(&self, path: &Path) -> Result<(), FileError> {
        match self.walk(path, LastLink::Follow) {
            Err(error @ (FileError::Outside { .. } | FileError::Elsewhere { .. })) => Err(error),
            _ => Ok(()),
        }
    }

    /// Follows a path to where it ends.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or a name on its way cannot be opened.
    #[doc(hidden)]
    pub fn walk(&self, path: &Path, last: LastLink) -> Result<Place, FileError> {
        let relative = match self.relative(path) {
            Some(relative) => relative,
            None if path.is_relative() => path.to_owned(),
            None => return Err(FileError::Elsewhere { path: path.to_owned(), root: self.path.clone() }),
        };
        Walk::start(self, &relative)?.run(last)
    }

    /// Returns what follows the root in a path that begins with it, however the
    /// root is reached.
    #[doc(hidden)]
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        if let Ok(relative) = path.strip_prefix(&self.path) {
            return Some(relative.to_owned());
        }
        let real = path.is_absolute().then(|| self.path.canonicalize().ok()).flatten()?;
        path.strip_prefix(real).ok().map(Path::to_owned)
    }
}
