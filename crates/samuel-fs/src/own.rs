//! Opening and moving Samuel's own files, no further than the root.
//!
//! A file of Samuel's is no link: one that was put in its place is refused where
//! the file is opened, and replaced where the file is. The directories above it
//! may be links as long as they stay inside.

use std::{
    ffi::OsStr,
    fs::File,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        Access, AtFlags, OFlags, RenameFlags, Stat, accessat, fchown, fstat, fsync, openat, renameat,
        renameat_with, unlinkat,
    },
    io::Errno,
    process::{Gid, Uid, geteuid},
};

use super::{
    FileError, LastLink, PathKind, Place, Root,
    walk::{is_same, mode_of, regular},
};

/// The permissions of a file that is Samuel's alone.
pub const PRIVATE_FILE: u32 = 0o600;
/// The permissions of a directory that is Samuel's alone.
pub const PRIVATE_DIRECTORY: u32 = 0o700;
/// The permissions of a file that belongs to the project. They are what the
/// user's mask leaves of them.
pub const PROJECT_FILE: u32 = 0o664;
/// The permissions of a directory of the project.
pub const PROJECT_DIRECTORY: u32 = 0o755;

/// How many names are tried before it is an error that they are taken.
pub(super) const MAX_NAMES: usize = 1_000;

impl Root {
    /// Opens a file of Samuel's own to write to it. With [`OFlags::CREATE`] a new
    /// one is the owner's alone.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the system refuses.
    #[doc(hidden)]
    pub fn open_own(&self, path: &Path, flags: OFlags) -> Result<File, FileError> {
        let place = self.own_place(path)?;
        let parent = place.parent()?;
        match place.kind() {
            None | Some(PathKind::File) => {}
            Some(kind) => return Err(FileError::NotAFile { kind }),
        }
        let own = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = regular(openat(parent, &*place.name, own | flags, mode_of(PRIVATE_FILE))?)?;
        if place.found.is_none() {
            hand_over(&file, parent);
        }
        Ok(file)
    }

    /// Makes a directory and those above it, where they are missing.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or something else is there.
    #[doc(hidden)]
    pub fn create_directory(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let mut place = self.walk(path, LastLink::Follow)?;
        match place.kind() {
            Some(PathKind::Directory) => return Ok(()),
            Some(kind) => return Err(FileError::NotADirectory { path: path.to_owned(), kind }),
            None => place.missing.push(place.name.clone()),
        }
        place.make_missing(mode)?;
        Ok(())
    }

    /// Renames a file of Samuel's own within its directory.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the system refuses.
    #[doc(hidden)]
    pub fn rename_own(&self, path: &Path, name: &OsStr) -> Result<(), FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        let parent = place.parent()?;
        Ok(renameat(parent, &*place.name, parent, name)?)
    }

    /// Makes the entries of a file's directory durable.
    ///
    /// # Errors
    /// Fails if the directory is not there or cannot be synced.
    #[doc(hidden)]
    pub fn sync_parent(&self, path: &Path) -> Result<(), FileError> {
        Ok(fsync(self.walk(path, LastLink::Keep)?.parent()?)?)
    }

    /// Opens the directory that a file is in.
    ///
    /// # Errors
    /// Fails if the directory is not there, or the path leads out of the root.
    #[doc(hidden)]
    pub fn parent_of(&self, path: &Path) -> Result<OwnedFd, FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        Ok(place.parent()?.try_clone_to_owned()?)
    }

    /// Says whether something is at a path, links followed.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or cannot be followed.
    #[doc(hidden)]
    pub fn has(&self, path: &Path) -> Result<bool, FileError> {
        match self.walk(path, LastLink::Follow) {
            Ok(place) => Ok(place.found.is_some()),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a file of Samuel is at a path, which this process can read and write.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or cannot be followed.
    #[doc(hidden)]
    pub fn has_own(&self, path: &Path) -> Result<bool, FileError> {
        match self.walk(path, LastLink::Keep) {
            Ok(place) => Ok(place.kind() == Some(PathKind::File) && is_accessible(&place)?),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a file of Samuel's own, or the link in its place.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the system refuses.
    #[doc(hidden)]
    pub fn remove_own(&self, path: &Path) -> Result<(), FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        Ok(unlinkat(place.parent()?, &*place.name, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Fails if the directory is not empty, or the path leads out of the root.
    #[doc(hidden)]
    pub fn remove_directory(&self, path: &Path) -> Result<(), FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        Ok(unlinkat(place.parent()?, &*place.name, AtFlags::REMOVEDIR)?)
    }

    /// Says whether an open file is the one at a path.
    #[doc(hidden)]
    pub fn is_at(&self, file: &File, path: &Path) -> bool {
        let found = self.walk(path, LastLink::Keep).ok().and_then(|place| place.found);
        let open = fstat(file).ok();
        found.zip(open).is_some_and(|(found, open)| is_same(&found, &open))
    }

    /// Renames a file that is in the place of a directory, and returns its new path. Does nothing for links, and if
    /// nothing is there.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or what is in the way cannot be moved.
    #[doc(hidden)]
    pub fn clear_for_directory(&self, path: &Path) -> Result<Option<PathBuf>, FileError> {
        let place = match self.walk(path, LastLink::Keep) {
            Ok(place) => place,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        match place.kind() {
            None | Some(PathKind::Directory | PathKind::Link) => Ok(None),
            Some(_) => set_aside(&place).map(|name| Some(path.with_file_name(name))),
        }
    }

    /// Makes room for a file of Samuel. If a directory is in its place, or a file that cannot be read and written, it
    /// is renamed, and its new path is returned. Anything else that is not a file is removed.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or what is in the way cannot be moved.
    #[doc(hidden)]
    pub fn clear_the_way(&self, path: &Path) -> Result<Option<PathBuf>, FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        match place.kind() {
            None => Ok(None),
            Some(PathKind::File) if is_accessible(&place)? => Ok(None),
            Some(PathKind::File | PathKind::Directory) => {
                set_aside(&place).map(|name| Some(path.with_file_name(name)))
            }
            Some(_) => {
                unlinkat(place.parent()?, &*place.name, AtFlags::empty())?;
                Ok(None)
            }
        }
    }

    /// Follows the path of a file of Samuel's own. Of a link in its place it says
    /// where that leads, if that is out of the root.
    pub(super) fn own_place(&self, path: &Path) -> Result<Place, FileError> {
        let place = self.walk(path, LastLink::Keep)?;
        if place.kind() == Some(PathKind::Link) {
            self.check_inside(path)?;
        }
        Ok(place)
    }
}

/// Lets what was made belong to whom its directory belongs, as [`give`] does.
pub(super) fn hand_over(made: impl AsFd, directory: BorrowedFd<'_>) {
    if let Ok(directory) = fstat(directory) {
        give(made, &directory);
    }
}

/// Lets what root makes belong to the owner of something: a user must still be
/// able to write it after a `sudo`. For everybody else it is theirs already.
pub(super) fn give(made: impl AsFd, of: &Stat) {
    if of.st_uid != 0 && geteuid().is_root() {
        // Where it is refused the file is root's, which the error of the next
        // user tells.
        let _ = fchown(made, Some(Uid::from_raw(of.st_uid)), Some(Gid::from_raw(of.st_gid)));
    }
}

/// Returns whether the permissions of a file let this process read and write it.
fn is_accessible(place: &Place) -> Result<bool, FileError> {
    let access = Access::READ_OK | Access::WRITE_OK;
    Ok(accessat(place.parent()?, &*place.name, access, AtFlags::empty()) != Err(Errno::ACCESS))
}

/// Renames an entry within its directory, and returns the new name.
fn set_aside(place: &Place) -> Result<String, FileError> {
    let parent = place.parent()?;
    let aside = |number: usize| format!("{}.aside-{number}", place.name.to_string_lossy());
    for number in 1..=MAX_NAMES {
        let name = aside(number);
        match renameat_with(parent, &*place.name, parent, &*name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(name),
        }
    }
    Err(FileError::NoNameLeft { last: aside(MAX_NAMES).into() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::{Manner, Replacement};

    fn replace(root: &Root, path: &Path, content: &[u8]) -> Result<(), FileError> {
        root.write(path, [content], &Manner::STATE)
    }

    #[test]
    fn what_root_makes_belongs_to_whom_the_place_belongs() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        chown(dir.path(), Some(4321), Some(4322)).unwrap();
        let owner = |name: &str| {
            let metadata = fs::metadata(dir.path().join(name)).unwrap();
            (metadata.uid(), metadata.gid())
        };
        root.open_own(&dir.path().join("lock"), OFlags::RDWR | OFlags::CREATE).unwrap();
        root.write_new(&dir.path().join("new"), b"", &Manner::STATE).unwrap();
        replace(&root, &dir.path().join("made"), b"").unwrap();
        fs::write(dir.path().join("theirs"), "").unwrap();
        chown(dir.path().join("theirs"), Some(77), Some(78)).unwrap();
        replace(&root, &dir.path().join("theirs"), b"").unwrap();
        let mine = (4321, 4322);
        assert_eq!(
            [owner("lock"), owner("new"), owner("made"), owner("theirs")],
            [mine, mine, mine, (77, 78)]
        );
    }

    #[test]
    fn nothing_is_written_through_a_link_that_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path().join("project"));
        fs::create_dir_all(root.path().join("inside")).unwrap();
        fs::write(dir.path().join("victim"), "mine").unwrap();
        symlink("..", root.path().join("out")).unwrap();
        symlink("inside", root.path().join("in")).unwrap();
        let victim = root.path().join("out/victim");
        let create = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        for result in [
            root.open_own(&victim, create).map(drop),
            root.create_directory(&root.path().join("out/new"), PRIVATE_DIRECTORY),
            root.remove_own(&victim),
            replace(&root, &victim, b"theirs"),
        ] {
            assert!(matches!(result, Err(FileError::Outside { .. })), "{result:?}");
        }
        symlink("../../victim", root.path().join("inside/link")).unwrap();
        let link = root.path().join("in/link");
        assert!(matches!(root.open_own(&link, create), Err(FileError::Outside { .. })));
        replace(&root, &link, b"theirs").unwrap();
        assert_eq!(fs::read_to_string(root.path().join("inside/link")).unwrap(), "theirs");
        assert_eq!(fs::read_to_string(dir.path().join("victim")).unwrap(), "mine");
        assert_eq!(fs::read_dir(root.path().join("inside")).unwrap().count(), 1);
    }

    #[test]
    fn where_all_names_are_taken_that_is_said_in_a_line_with_what_helps() {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(dir.path()), dir.path().join("plan"));
        fs::create_dir(&path).unwrap();
        let aside = |number: usize| dir.path().join(format!("plan.aside-{number}"));
        for number in 1..=MAX_NAMES {
            fs::write(aside(number), "").unwrap();
        }
        let error = root.clear_the_way(&path).unwrap_err();
        let told =
            "what stands in its place cannot be moved aside: all names up to \"plan.aside-1000\" are taken";
        assert_eq!(error.to_string(), told);
        assert_eq!(error.help(), Some("Remove what was moved aside there before."));
        assert!(path.is_dir(), "it is left as it is");
        fs::remove_file(aside(7)).unwrap();
        assert_eq!(root.clear_the_way(&path).unwrap(), Some(aside(7)));
        assert!(aside(7).is_dir() && !path.exists());
    }

    #[test]
    fn renames_a_file_without_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        // Permissions do not restrict root.
        if geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(dir.path()), dir.path().join("lock"));
        fs::write(&path, "").unwrap();
        assert_eq!(root.clear_the_way(&path).unwrap(), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        assert_eq!(root.clear_the_way(&path).unwrap(), Some(dir.path().join("lock.aside-1")));
        assert!(!path.exists());
    }

    #[test]
    fn below_a_directory_that_is_not_there_nothing_above_it_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        fs::create_dir_all(dir.path().join("a/empty")).unwrap();
        fs::write(dir.path().join("a/file"), "decoy").unwrap();
        let file = dir.path().join("a/b/file");
        let place = || root.walk(&file, LastLink::Keep).unwrap();
        for (what, result) in [
            ("remove", root.remove_own(&file)),
            ("rename", root.rename_own(&file, "renamed".as_ref())),
            ("remove a directory", root.remove_directory(&dir.path().join("a/b/empty"))),
            ("sync", root.sync_parent(&file)),
            ("open", place().open(OFlags::empty()).map(drop).map_err(FileError::from)),
            ("replace", Replacement::begin(place(), PRIVATE_FILE).map(drop)),
        ] {
            assert!(result.as_ref().is_err_and(FileError::is_not_found), "{what}: {result:?}");
        }
        let mut left: Vec<_> =
            fs::read_dir(dir.path().join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["empty", "file"]);
    }
}
