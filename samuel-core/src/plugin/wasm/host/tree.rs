//! The project as a plugin sees it: what was granted of it, and nothing outside.
//!
//! How a path is followed without leaving the project is the business of
//! [`fs`](crate::fs); here it is held against the grant.

use std::path::{Path, PathBuf};

use super::{HostError, grant};
use crate::{
    fs::{self, FileError, Root},
    plugin::Capability,
};

pub(super) use crate::fs::LastLink;

/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 4 * 1024;

/// A project's root, and the paths below it that were granted for one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    pub(super) root: &'a Path,
    pub(super) capability: Capability,
    pub(super) granted: &'a [String],
}

/// Where a path ends, which was granted.
#[derive(Debug)]
pub(super) struct Place {
    /// The names from the root to it, no links among them.
    pub(super) names: Vec<String>,
    /// The open directory and what is in it.
    pub(super) inner: fs::Place,
}

impl Tree<'_> {
    /// Follows a path to where it ends, and checks that this was granted.
    ///
    /// What is not there is a place too, as long as its name is plain. A path
    /// that leads out of the project, or to what was not granted, is denied.
    pub(super) fn walk(&self, path: &str, last: LastLink) -> Result<Place, HostError> {
        if path.is_empty() || path.contains('\0') {
            return Err(HostError::invalid("the path is empty or holds a zero byte"));
        }
        HostError::at_most("path", path.len(), MAX_PATH_BYTES)?;
        let denied = || HostError::denied(self.capability, path);
        let relative = match path.strip_prefix(grant::WORKSPACE) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
            _ if path.starts_with('/') => return Err(denied()),
            _ => path,
        };
        let inner = Root::new(self.root).walk(Path::new(relative), last);
        let inner = inner.map_err(|error| self.refused(path, error))?;
        // What is no text cannot be granted.
        let names = inner.names.iter().map(|name| name.to_str().map(str::to_owned));
        let names: Vec<String> = names.collect::<Option<_>>().ok_or_else(denied)?;
        match grant::covers_path(self.granted, &names) {
            true => Ok(Place { names, inner }),
            false => Err(denied()),
        }
    }

    fn refused(&self, path: &str, error: FileError) -> HostError {
        match error {
            FileError::Outside { .. } | FileError::Elsewhere { .. } => {
                HostError::denied(self.capability, path)
            }
            FileError::NotADirectory { .. } => HostError::NotFound(path.to_owned()),
            FileError::LinkLoop { .. } => HostError::invalid(format!("`{path}` goes through too many links")),
            error => HostError::io(path, &error.into()),
        }
    }
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
