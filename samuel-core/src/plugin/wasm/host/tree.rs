//! The project as a plugin sees it: paths that cannot leave it.
//!
//! [`Tree::walk`] follows a path name by name, each opened below the directory
//! before it and never through a link, so that what is checked is what is used
//! whatever others do to the tree meanwhile. Links are followed by hand while
//! they stay inside. The [`Place`] it ends at is a directory that is open, and
//! a name in it.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};

use super::{HostError, grant};
use crate::plugin::Capability;

/// How many links one path may go through.
const MAX_LINKS: usize = 40;

/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 4 * 1024;

/// A project's root, and the paths below it that were granted for one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    pub(super) root: &'a Path,
    pub(super) capability: Capability,
    pub(super) granted: &'a [String],
}

/// What to do with a link that a path ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    Keep,
}

/// Where a path ends.
#[derive(Debug)]
pub(super) struct Place {
    dir: OwnedFd,
    /// Directories that are missing between `dir` and the name.
    pub(super) missing: Vec<String>,
    /// The name in that directory, or `.` for the directory itself.
    pub(super) name: String,
    /// The names from the root to it, no links among them.
    pub(super) names: Vec<String>,
    /// What is there, if something is.
    pub(super) found: Option<Stat>,
}

impl Place {
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Returns the type of what is there.
    pub(super) fn file_type(&self) -> Option<FileType> {
        self.found.as_ref().map(file_type)
    }

    /// Opens what is there for reading; nobody can have put a link in its
    /// place. A pipe without a writer does not keep anybody waiting.
    pub(super) fn open(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.dir, &*self.name, flags, Mode::empty())?)
    }
}

/// Returns the type that a `stat` says.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

impl Tree<'_> {
    /// Follows a path to where it ends, and checks that this was granted.
    ///
    /// What is not there is a place too, as long as its name is plain. A path
    /// that leads out of the project, or to what was not granted, is denied.
    pub(super) fn walk(&self, path: &str, last: LastLink) -> Result<Place, HostError> {
        let place = Walk::start(self, path)?.run(last)?;
        if grant::covers_path(self.granted, &place.names) {
            Ok(place)
        } else {
            Err(HostError::denied(self.capability, path))
        }
    }
}

/// A walk under way.
struct Walk<'a> {
    tree: &'a Tree<'a>,
    path: &'a str,
    /// The names still to go.
    ahead: VecDeque<String>,
    /// The root and the directories below it that were entered.
    dirs: Vec<OwnedFd>,
    names: Vec<String>,
    links: usize,
}

impl<'a> Walk<'a> {
    fn start(tree: &'a Tree<'a>, path: &'a str) -> Result<Self, HostError> {
        if path.is_empty() || path.contains('\0') {
            return Err(HostError::invalid("the path is empty or holds a zero byte"));
        }
        HostError::at_most("path", path.len(), MAX_PATH_BYTES)?;
        let relative = match path.strip_prefix(grant::WORKSPACE) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ if path.starts_with('/') => return Err(HostError::denied(tree.capability, path)),
            _ => path,
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(tree.root, flags, Mode::empty())
            .map_err(|error| HostError::io("the project", &error.into()))?;
        let ahead = names_of(relative);
        Ok(Self { tree, path, ahead, dirs: vec![root], names: Vec::new(), links: 0 })
    }

    fn run(mut self, last: LastLink) -> Result<Place, HostError> {
        while let Some(name) = self.ahead.pop_front() {
            if name == ".." {
                self.leave()?;
                continue;
            }
            let found = match statat(self.here()?, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => found,
                Err(rustix::io::Errno::NOENT) => return self.missing(name),
                Err(error) => return Err(self.failed(error.into())),
            };
            let is_last = self.ahead.is_empty();
            match file_type(&found) {
                FileType::Symlink if !(is_last && last == LastLink::Keep) => self.follow(&name)?,
                _ if is_last => return self.end(name, Some(found)),
                FileType::Directory => self.enter(name)?,
                _ => return Err(HostError::NotFound(self.path.to_owned())),
            }
        }
        let found = statat(self.here()?, ".", AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| self.failed(error.into()))?;
        let Self { mut dirs, names, .. } = self;
        let dir = dirs.pop().ok_or_else(outside_of_itself)?;
        Ok(Place { dir, missing: Vec::new(), name: ".".to_owned(), names, found: Some(found) })
    }

    fn here(&self) -> Result<BorrowedFd<'_>, HostError> {
        self.dirs.last().map(OwnedFd::as_fd).ok_or_else(outside_of_itself)
    }

    fn enter(&mut self, name: String) -> Result<(), HostError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir =
            openat(self.here()?, &*name, flags, Mode::empty()).map_err(|error| self.failed(error.into()))?;
        self.dirs.push(dir);
        self.names.push(name);
        Ok(())
    }

    /// Goes up, by what was entered and not by the file system's `..`.
    fn leave(&mut self) -> Result<(), HostError> {
        if self.names.pop().is_none() {
            return Err(self.outside());
        }
        self.dirs.pop();
        Ok(())
    }

    fn follow(&mut self, name: &str) -> Result<(), HostError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(HostError::invalid(format!("`{}` goes through too many links", self.path)));
        }
        let target = readlinkat(self.here()?, name, Vec::new()).map_err(|error| self.failed(error.into()))?;
        let Ok(target) = target.into_string() else { return Err(self.outside()) };
        let target = match Path::new(&target).strip_prefix(self.tree.root) {
            Ok(inside) if target.starts_with('/') => {
                self.dirs.truncate(1);
                self.names.clear();
                inside.to_str().unwrap_or_default().to_owned()
            }
            _ if target.starts_with('/') => return Err(self.outside()),
            _ => target,
        };
        for name in names_of(&target).into_iter().rev() {
            self.ahead.push_front(name);
        }
        Ok(())
    }

    /// Ends at what is not there.
    fn missing(mut self, first: String) -> Result<Place, HostError> {
        let mut rest: Vec<String> = std::iter::once(first).chain(self.ahead.drain(..)).collect();
        if rest.iter().any(|name| name == "..") {
            return Err(HostError::NotFound(self.path.to_owned()));
        }
        let name = rest.pop().unwrap_or_default();
        self.names.extend(rest.iter().cloned());
        let mut place = self.end(name, None)?;
        place.missing = rest;
        Ok(place)
    }

    fn end(mut self, name: String, found: Option<Stat>) -> Result<Place, HostError> {
        self.names.push(name.clone());
        let dir = self.dirs.pop().ok_or_else(outside_of_itself)?;
        Ok(Place { dir, missing: Vec::new(), name, names: self.names, found })
    }

    fn outside(&self) -> HostError {
        HostError::denied(self.tree.capability, self.path)
    }

    fn failed(&self, error: io::Error) -> HostError {
        HostError::io(self.path, &error)
    }
}

/// The root is never left, so this is never seen.
fn outside_of_itself() -> HostError {
    HostError::Other("the walk lost its root".to_owned())
}

/// Splits a path; names that stay where they are are left out.
fn names_of(path: &str) -> VecDeque<String> {
    path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect()
}

/// Returns where names lead to below a root.
pub(super) fn absolute(root: &Path, names: &[String]) -> PathBuf {
    let mut path = root.to_owned();
    path.extend(names);
    path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::plugin::wasm::tests::kit::{ESCAPES, project_with_ways_out};

    fn walk(root: &Path, path: &str) -> Result<Vec<String>, HostError> {
        let granted = ["/workspace/**".to_owned()];
        let tree = Tree { root, capability: Capability::FilesystemRead, granted: &granted };
        tree.walk(path, LastLink::Follow).map(|place| place.names)
    }

    #[test]
    fn paths_and_links_inside_lead_to_the_real_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("b/../b/file", root.join("a/near")).unwrap();
        symlink(root.join("a/b"), root.join("absolute")).unwrap();
        let file = ["a", "b", "file"];
        for path in [
            "a/b/file",
            "/workspace/a/b/file",
            "./a//b/../b/./file",
            "a/near",
            "absolute/file",
            "a/b/../../a/near",
        ] {
            assert_eq!(walk(&root, path).unwrap(), file, "{path}");
        }
        for path in ["/workspace", ".", "a/..", "/workspace/"] {
            assert_eq!(walk(&root, path).unwrap(), [""; 0], "{path}");
        }
        assert_eq!(walk(&root, "a/new/deep").unwrap(), ["a", "new", "deep"]);
    }

    #[test]
    fn nothing_leads_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = project_with_ways_out(dir.path());
        for path in ESCAPES {
            let denied = HostError::denied(Capability::FilesystemRead, path);
            assert_eq!(walk(&root, path), Err(denied), "{path}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_no_place() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        assert!(matches!(walk(dir.path(), ""), Err(HostError::Invalid(_))));
        assert!(matches!(walk(dir.path(), "a\0b"), Err(HostError::Invalid(_))));
        assert!(matches!(walk(dir.path(), "loop"), Err(HostError::Invalid(_))));
        assert!(matches!(walk(dir.path(), "file/below"), Err(HostError::NotFound(_))));
        assert!(matches!(walk(dir.path(), "none/../file"), Err(HostError::NotFound(_))));
        assert!(matches!(walk(dir.path(), &"a/".repeat(4_000)), Err(HostError::TooLarge(_))));
    }
}
