//! Looking into a directory, up to a limit.

use std::{
    ffi::{OsStr, OsString},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat, openat, statat};

use super::{
    FileError, LastLink, PathKind, Root, kind_of,
    open::read_text,
    walk::{READABLE, regular},
};

/// What lies in a directory. A link counts as a link.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name in the directory.
    pub name: OsString,
    /// What it is.
    pub kind: PathKind,
    /// What the system knows of it.
    pub stat: Stat,
}

/// A directory that is open, however its name is used meanwhile.
#[derive(Debug)]
pub struct Directory {
    dir: OwnedFd,
}

impl Root {
    /// Opens a directory, without waiting for anything.
    ///
    /// # Errors
    /// Returns [`FileError::NotADirectory`] for what is none, and
    /// [`FileError::Io`] where the system refuses.
    #[doc(hidden)]
    pub fn directory(&self, path: &Path) -> Result<Directory, FileError> {
        let place = self.walk(path, LastLink::Follow)?;
        match place.kind() {
            None | Some(PathKind::Directory) => {}
            Some(kind) => return Err(FileError::NotADirectory { path: path.to_owned(), kind }),
        }
        Ok(Directory { dir: place.open(OFlags::DIRECTORY)? })
    }

    /// Lists what lies in a directory, at most `limit` entries, in the order of the system.
    ///
    /// # Errors
    /// As [`Root::directory`].
    #[doc(hidden)]
    pub fn list(&self, path: &Path, limit: usize) -> Result<Vec<Entry>, FileError> {
        self.directory(path)?.entries(limit)
    }

    /// Lists the entries of a directory whose names are wanted, at most `limit` of them, in the order of the system.
    ///
    /// # Errors
    /// As [`Root::directory`].
    #[doc(hidden)]
    pub fn list_named(
        &self,
        path: &Path,
        limit: usize,
        is_wanted: impl Fn(&OsStr) -> bool,
    ) -> Result<Vec<Entry>, FileError> {
        self.directory(path)?.entries_named(limit, is_wanted)
    }
}

impl Directory {
    /// Lists what lies in it, at most `limit` of it, in the order of the
    /// system. What goes away meanwhile is left out.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] where the system refuses.
    pub fn entries(&self, limit: usize) -> Result<Vec<Entry>, FileError> {
        self.entries_named(limit, |_| true)
    }

    /// Lists what of it has a name that is wanted, at most `limit` of that. The others are neither looked at nor
    /// kept, so that a few are found among very many in little memory.
    ///
    /// # Errors
    /// As [`entries`](Self::entries).
    pub fn entries_named(
        &self,
        limit: usize,
        is_wanted: impl Fn(&OsStr) -> bool,
    ) -> Result<Vec<Entry>, FileError> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || !is_wanted(OsStr::from_bytes(name)) {
                continue;
            }
            if entries.len() == limit {
                break;
            }
            let Ok(stat) = statat(&self.dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            entries.push(Entry { name, kind: kind_of(&stat), stat });
        }
        Ok(entries)
    }

    /// Reads a whole text of at most `limit` bytes: a regular file that lies in it, and no link.
    ///
    /// # Errors
    /// As [`Root::read_text`].
    pub fn read_text(&self, entry: &Entry, limit: u64) -> Result<String, FileError> {
        match entry.kind {
            PathKind::File => {
                read_text(regular(openat(&self.dir, &*entry.name, READABLE, Mode::empty())?)?, limit)
            }
            kind => Err(FileError::NotAFile { kind }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_directory_is_listed_up_to_a_limit_and_links_are_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let root = Root::new(dir.path());
        let mut found = root.list(dir.path(), 10).unwrap();
        found.sort_by(|left, right| left.name.cmp(&right.name));
        let kinds: Vec<_> = found.iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [PathKind::Directory, PathKind::Link]);
        assert_eq!(root.list(dir.path(), 1).unwrap().len(), 1);
        assert!(root.list(&dir.path().join("none"), 1).unwrap_err().is_not_found());
    }

    #[test]
    fn of_many_files_those_with_a_name_that_is_wanted_are_listed_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "a2", "c", "a3"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let root = Root::new(dir.path());
        let found =
            |limit| root.list_named(dir.path(), limit, |name| name.as_bytes().starts_with(b"a")).unwrap();
        let mut names: Vec<_> = found(3).into_iter().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, ["a", "a2", "a3"]);
        assert_eq!(found(2).len(), 2);
    }

    #[test]
    fn files_of_an_open_directory_are_read_and_links_among_them_are_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "text").unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        let directory = Root::new(dir.path()).directory(Path::new("")).unwrap();
        let mut found = directory.entries(10).unwrap();
        found.sort_by(|left, right| left.name.cmp(&right.name));
        let [file, link] = found.try_into().unwrap();
        assert_eq!(directory.read_text(&file, 4).unwrap(), "text");
        assert!(matches!(directory.read_text(&file, 3), Err(FileError::TooLarge { limit: 3 })));
        assert!(matches!(directory.read_text(&link, 4), Err(FileError::NotAFile { kind: PathKind::Link })));
        // One that took the file's place since is not followed either.
        fs::remove_file(dir.path().join("a")).unwrap();
        symlink("/etc/passwd", dir.path().join("a")).unwrap();
        assert!(directory.read_text(&file, 4096).is_err());
    }

    #[test]
    fn a_directory_of_the_same_name_further_up_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/inner/decoy")).unwrap();
        let listed = Root::new(dir.path()).list(&dir.path().join("a/b/inner"), 10);
        assert!(listed.as_ref().is_err_and(FileError::is_not_found), "{listed:?}");
    }
}
