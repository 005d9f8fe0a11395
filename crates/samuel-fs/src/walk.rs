//! Following a path without leaving the directory it begins in.
//!
//! A walk goes name by name, each opened below the directory before it and
//! never through a link, so that what is checked is what is used whatever others
//! do to the tree meanwhile. Links are followed by hand while they stay inside.
//! The [`Place`] it ends at is a directory that is open, and a name in it.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, fstat, mkdirat, openat, readlinkat, statat},
    io::Errno,
};

use super::{FileError, PathKind, Root, own::hand_over};

/// How many links one path may go through.
const MAX_LINKS: usize = 40;

/// What to do with a link that a path ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// Go where it leads.
    Follow,
    /// End at the link itself.
    Keep,
}

/// Where a path ends.
#[derive(Debug)]
pub struct Place {
    dir: OwnedFd,
    /// Directories that are missing between `dir` and the name.
    pub missing: Vec<OsString>,
    /// The name in that directory, or `.` for the directory itself.
    pub name: OsString,
    /// The names from the root to it, no links among them.
    pub names: Vec<OsString>,
    /// What is there, if something is.
    pub found: Option<Stat>,
}

/// Returns the kind that a `stat` says.
pub fn kind_of(stat: &Stat) -> PathKind {
    FileType::from_raw_mode(stat.st_mode).into()
}

/// Returns whether two `stat`s are of the same file or directory.
pub(super) fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

impl Place {
    /// Returns the last directory on the way that is there.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Returns the directory that the name is in, if that is there: where some
    /// above it are missing, [`Place::dir`] is further up.
    ///
    /// # Errors
    /// Fails if directories on the way are missing.
    pub fn parent(&self) -> io::Result<BorrowedFd<'_>> {
        match self.missing.is_empty() {
            true => Ok(self.dir()),
            false => Err(Errno::NOENT.into()),
        }
    }

    /// Returns the kind of what is there.
    pub fn kind(&self) -> Option<PathKind> {
        self.found.as_ref().map(kind_of)
    }

    /// Opens what is there for reading; nobody can have put a link in its
    /// place. A pipe without a writer does not keep anybody waiting, and a
    /// terminal does not become the process's own.
    ///
    /// # Errors
    /// Fails if nothing is there, or the system refuses.
    pub fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(openat(self.parent()?, &*self.name, READABLE | flags, Mode::empty())?)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// Fails if nothing is there, or it is not a regular file.
    pub fn open_file(&self) -> Result<File, FileError> {
        // What opening a device does is its own affair, so it is not tried.
        match self.kind() {
            None => return Err(Errno::NOENT.into()),
            Some(PathKind::File) => {}
            Some(kind) => return Err(FileError::NotAFile { kind }),
        }
        regular(self.open(OFlags::empty())?)
    }

    /// Returns the open directory and the name in it.
    pub(super) fn into_parts(self) -> (OwnedFd, OsString) {
        (self.dir, self.name)
    }

    /// Makes the directories on the way to the place, and returns the last.
    ///
    /// # Errors
    /// Fails if a directory cannot be made.
    pub fn make_missing(&mut self, mode: u32) -> io::Result<BorrowedFd<'_>> {
        for name in std::mem::take(&mut self.missing) {
            let is_new = match mkdirat(&self.dir, &*name, mode_of(mode)) {
                Ok(()) => true,
                // Somebody else made it meanwhile.
                Err(Errno::EXIST) => false,
                Err(error) => return Err(error.into()),
            };
            let made = openat(&self.dir, &*name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
            if is_new {
                hand_over(&made, self.dir.as_fd());
            }
            self.dir = made;
        }
        Ok(self.dir())
    }
}

/// Makes a mode of its bits, of which some systems have 16 only.
pub(super) fn mode_of(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as RawMode)
}

/// Takes what was opened if it is a regular file: it may have been exchanged
/// since somebody looked.
pub(super) fn regular(fd: OwnedFd) -> Result<File, FileError> {
    match kind_of(&fstat(&fd)?) {
        PathKind::File => Ok(File::from(fd)),
        kind => Err(FileError::NotAFile { kind }),
    }
}

/// How what somebody else may have put there is opened: a link is not followed, a pipe not waited for.
pub(super) const READABLE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// How a directory is opened.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A walk under way.
pub(super) struct Walk<'a> {
    root: &'a Root,
    /// The names still to go.
    ahead: VecDeque<OsString>,
    /// The root and the directories below it that were entered.
    dirs: Vec<OwnedFd>,
    names: Vec<OsString>,
    /// The link that is followed, and where it points.
    through: Option<(PathBuf, PathBuf)>,
    links: usize,
}

impl<'a> Walk<'a> {
    /// Starts at the root, which may itself be reached through links.
    pub(super) fn start(root: &'a Root, relative: &Path) -> Result<Self, FileError> {
        let opened = rustix::fs::open(root.path(), DIRECTORY, Mode::empty())?;
        root.check_held(&opened)?;
        let ahead = names_of(relative);
        Ok(Self { root, ahead, dirs: vec![opened], names: Vec::new(), through: None, links: 0 })
    }

    pub(super) fn run(mut self, last: LastLink) -> Result<Place, FileError> {
        while let Some(name) = self.ahead.pop_front() {
            if name == ".." {
                self.leave()?;
                continue;
            }
            let is_last = self.ahead.is_empty();
            // Most names on the way are directories, which need no look before.
            if !is_last && self.enter(&name).is_ok() {
                continue;
            }
            let found = match statat(self.here()?, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => found,
                Err(Errno::NOENT) => return self.missing(name),
                Err(error) => return Err(error.into()),
            };
            match kind_of(&found) {
                PathKind::Link if !(is_last && last == LastLink::Keep) => self.follow(&name)?,
                _ if is_last => return self.end(name, Some(found)),
                PathKind::Directory => self.enter(&name)?,
                kind => return Err(FileError::NotADirectory { path: self.path_of(&name), kind }),
            }
        }
        let found = fstat(self.here()?)?;
        let Self { mut dirs, names, .. } = self;
        let dir = dirs.pop().ok_or_else(lost)?;
        Ok(Place { dir, missing: Vec::new(), name: ".".into(), names, found: Some(found) })
    }

    fn here(&self) -> Result<BorrowedFd<'_>, FileError> {
        self.dirs.last().map(OwnedFd::as_fd).ok_or_else(lost)
    }

    fn path_of(&self, name: &OsStr) -> PathBuf {
        let mut path = self.root.path().to_owned();
        path.extend(&self.names);
        path.push(name);
        path
    }

    /// Goes into a directory, and not through a link.
    fn enter(&mut self, name: &OsStr) -> Result<(), FileError> {
        let dir = openat(self.here()?, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        self.dirs.push(dir);
        self.names.push(name.to_owned());
        Ok(())
    }

    /// Goes up, by what was entered and not by the file system's `..`.
    fn leave(&mut self) -> Result<(), FileError> {
        if self.names.pop().is_none() {
            return Err(self.outside());
        }
        self.dirs.pop();
        Ok(())
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), FileError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(FileError::LinkLoop { link: self.path_of(name) });
        }
        let target = match readlinkat(self.here()?, name, Vec::new()) {
            // Something else has taken the place of the link, so the name is examined again. `MAX_LINKS` limits this.
            Err(Errno::INVAL) => {
                self.ahead.push_front(name.to_owned());
                return Ok(());
            }
            target => target?,
        };
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        self.through = Some((self.path_of(name), target.clone()));
        let target = match target.is_absolute() {
            false => target,
            true => {
                self.dirs.truncate(1);
                self.names.clear();
                self.root.relative(&target).ok_or_else(|| self.outside())?
            }
        };
        for name in names_of(&target).into_iter().rev() {
            self.ahead.push_front(name);
        }
        Ok(())
    }

    /// Ends at what is not there.
    fn missing(mut self, first: OsString) -> Result<Place, FileError> {
        let mut rest: Vec<OsString> = std::iter::once(first).chain(self.ahead.drain(..)).collect();
        if rest.iter().any(|name| name == "..") {
            return Err(Errno::NOENT.into());
        }
        let name = rest.pop().unwrap_or_default();
        self.names.extend(rest.iter().cloned());
        let mut place = self.end(name, None)?;
        place.missing = rest;
        Ok(place)
    }

    fn end(mut self, name: OsString, found: Option<Stat>) -> Result<Place, FileError> {
        self.names.push(name.clone());
        let dir = self.dirs.pop().ok_or_else(lost)?;
        Ok(Place { dir, missing: Vec::new(), name, names: self.names, found })
    }

    /// The path leads out: by a link, or by itself.
    fn outside(&self) -> FileError {
        match self.through.clone() {
            Some((link, target)) => FileError::Outside { link, target },
            None => {
                FileError::Elsewhere { path: self.path_of("..".as_ref()), root: self.root.path().to_owned() }
            }
        }
    }
}

/// The root is never left, so this is never seen.
fn lost() -> FileError {
    io::Error::other("the walk lost its root").into()
}

/// Splits a path; names that stay where they are are left out.
fn names_of(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn walk(root: &Path, path: &str) -> Result<PathBuf, FileError> {
        Root::new(root).walk(Path::new(path), LastLink::Follow).map(|place| place.names.iter().collect())
    }

    #[test]
    fn paths_and_links_inside_lead_to_the_real_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("b/../b/file", root.join("a/near")).unwrap();
        symlink(root.canonicalize().unwrap().join("a/b"), root.join("absolute")).unwrap();
        let whole = root.join("a/b/file").display().to_string();
        for path in ["a/b/file", &whole, "./a//b/../b/./file", "a/near", "absolute/file", "a/b/../../a/near"]
        {
            assert_eq!(walk(root, path).unwrap(), Path::new("a/b/file"), "{path}");
        }
        assert_eq!(walk(root, "a/..").unwrap(), Path::new(""));
        assert_eq!(walk(root, "a/new/deep").unwrap(), Path::new("a/new/deep"));
    }

    #[test]
    fn a_path_that_leads_out_names_the_link_that_does() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs::create_dir_all(root.join("a")).unwrap();
        for (name, target) in [("a/up", "../.."), ("zero", "/dev/zero"), ("around", "../project/a")] {
            symlink(target, root.join(name)).unwrap();
            let error = walk(&root, &format!("{name}/x")).unwrap_err();
            let expected = format!(
                "the link \"{}\" leads out of the project, to \"{target}\"",
                root.join(name).display()
            );
            assert_eq!(error.to_string(), expected);
        }
        assert!(matches!(walk(&root, "../x"), Err(FileError::Elsewhere { .. })));
        assert!(matches!(walk(&root, "/etc/passwd"), Err(FileError::Elsewhere { .. })));
    }

    #[test]
    fn follows_a_link_that_became_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        let root = Root::new(dir.path());
        let mut walk = Walk::start(&root, Path::new("b")).unwrap();
        walk.follow("a".as_ref()).unwrap();
        let place = walk.run(LastLink::Keep).unwrap();
        assert_eq!(place.names, ["a", "b"]);
    }

    #[test]
    fn what_makes_no_sense_is_no_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        let error = walk(dir.path(), "loop/below").unwrap_err();
        assert!(
            matches!(&error, FileError::LinkLoop { link } if *link == dir.path().join("loop")),
            "{error}"
        );
        assert!(matches!(walk(dir.path(), "file/below"), Err(FileError::NotADirectory { .. })));
        assert!(walk(dir.path(), "none/../file").unwrap_err().is_not_found());
    }
}
