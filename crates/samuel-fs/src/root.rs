//! The directory that nothing leaves.

use std::{
    fs::File,
    hash::{Hash, Hasher},
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rustix::fs::{Mode, fstat};

use super::{
    FileError, LastLink, PathKind, Place,
    open::{read_text, read_up_to},
    walk::{DIRECTORY, Walk, is_same},
};

/// A directory that paths are resolved beneath: the project, or whatever the
/// caller says.
///
/// A path that is asked for either begins with the root's own, as
/// `root.join("samuel.toml")` does, or is relative to it. The root itself may be
/// reached through links.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// The held directory, which the clones of the root share.
    held: Arc<Mutex<Weak<File>>>,
}

impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Root {}

impl Hash for Root {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl Root {
    /// Names a root. Touches nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), held: Arc::default() }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Holds the directory that is at the path now. Until the returned file is dropped, the root and its clones
    /// return [`FileError::OtherRoot`] if another directory is at the path.
    ///
    /// # Errors
    /// Fails if the directory cannot be opened.
    #[doc(hidden)]
    pub fn hold(&self) -> io::Result<Arc<File>> {
        let directory = Arc::new(File::from(rustix::fs::open(&self.path, DIRECTORY, Mode::empty())?));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&directory);
        Ok(directory)
    }

    /// Returns an error if a directory is held and an open directory is another one.
    pub(super) fn check_held(&self, opened: impl AsFd) -> Result<(), FileError> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let Some(held) = held else { return Ok(()) };
        match is_same(&fstat(&*held)?, &fstat(opened)?) {
            true => Ok(()),
            false => Err(FileError::OtherRoot { root: self.path.clone() }),
        }
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
    /// Returns [`FileError::Outside`] with the link that leads out, and
    /// [`FileError::OtherRoot`] if another directory is in the place of a held root.
    pub fn check_inside(&self, path: &Path) -> Result<(), FileError> {
        match self.walk(path, LastLink::Follow) {
            Err(
                error @ (FileError::Outside { .. }
                | FileError::Elsewhere { .. }
                | FileError::OtherRoot { .. }),
            ) => Err(error),
            _ => Ok(()),
        }
    }

    /// Follows a path to where it ends.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or a name on its way cannot be opened.
    #[doc(hidden)]
    pub fn walk(&self, path: &Path, last: LastLink) -> Result<Place, FileError> {
        Walk::start(self, &self.below(path)?)?.run(last)
    }

    /// Follows a path without `.` and `..`, on which no directory may be a link, to where it ends. A link at its end is
    /// kept.
    ///
    /// # Errors
    /// Returns [`FileError::NotADirectory`] with the first link, and the errors of [`walk`](Self::walk).
    #[doc(hidden)]
    pub fn walk_straight(&self, path: &Path) -> Result<Place, FileError> {
        let asked = self.below(path)?;
        let place = Walk::start(self, &asked)?.run(LastLink::Keep)?;
        if place.names.iter().eq(&asked) {
            return Ok(place);
        }
        let straight = asked.iter().zip(&place.names).take_while(|(asked, name)| asked == name).count();
        let path = asked.iter().take(straight + 1).collect();
        Err(FileError::NotADirectory { path, kind: PathKind::Link })
    }

    /// Returns a path from the root on.
    fn below(&self, path: &Path) -> Result<PathBuf, FileError> {
        match self.relative(path) {
            Some(relative) => Ok(relative),
            None if path.is_relative() => Ok(path.to_owned()),
            None => Err(FileError::Elsewhere { path: path.to_owned(), root: self.path.clone() }),
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn rejects_another_directory_in_place_of_held_root() {
        let dir = tempfile::tempdir().unwrap();
        let [path, away, other] = ["project", "away", "other"].map(|name| dir.path().join(name));
        for (directory, content) in [(&path, "mine"), (&other, "theirs")] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("file"), content).unwrap();
        }
        let root = Root::new(&path);
        let (clone, file) = (root.clone(), path.join("file"));
        let held = root.hold().unwrap();
        assert_eq!(clone.read_text(&file, 10).unwrap(), "mine");
        fs::rename(&path, &away).unwrap();
        assert!(clone.read(&file, 10).unwrap_err().is_not_found());
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(matches!(clone.read(&file, 10), Err(FileError::OtherRoot { .. })));
        fs::remove_file(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        assert_eq!(clone.read_text(&file, 10).unwrap(), "mine");
        fs::rename(&path, &away).unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(matches!(clone.check_inside(&file), Err(FileError::OtherRoot { .. })));
        drop(held);
        assert_eq!(clone.read_text(&file, 10).unwrap(), "theirs");
    }
}
