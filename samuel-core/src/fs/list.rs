//! Looking into a directory, up to a limit.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rustix::fs::{AtFlags, Dir, OFlags, Stat, statat};

use super::{FileError, FileKind, LastLink, Root, kind_of};

/// What lies in a directory. A link counts as a link.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: FileKind,
    pub(crate) stat: Stat,
}

impl Root {
    /// Lists what lies in a directory, at most `limit` of it, in the order of the
    /// system. What goes away meanwhile is left out.
    ///
    /// # Errors
    /// Returns [`FileError::NotADirectory`] for what is none, and
    /// [`FileError::Io`] where the system refuses.
    pub(crate) fn list(&self, path: &Path, limit: usize) -> Result<Vec<Entry>, FileError> {
        let place = self.walk(path, LastLink::Follow)?;
        match place.kind() {
            None | Some(FileKind::Directory) => {}
            Some(kind) => return Err(FileError::NotADirectory { path: path.to_owned(), kind }),
        }
        let dir = place.open(OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == limit {
                break;
            }
            let Ok(stat) = statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            entries.push(Entry { name, kind: kind_of(&stat), stat });
        }
        Ok(entries)
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
        assert_eq!(kinds, [FileKind::Directory, FileKind::Link]);
        assert_eq!(root.list(dir.path(), 1).unwrap().len(), 1);
        assert!(root.list(&dir.path().join("none"), 1).unwrap_err().is_not_found());
    }

    #[test]
    fn a_directory_of_the_same_name_further_up_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/inner/decoy")).unwrap();
        let listed = Root::new(dir.path()).list(&dir.path().join("a/b/inner"), 10);
        assert!(listed.as_ref().is_err_and(FileError::is_not_found), "{listed:?}");
    }
}
