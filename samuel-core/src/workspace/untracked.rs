//! Whether a work tree has anything that git does not track, found out without git, whose start takes longer.
//!
//! A no is certain: each file there is one of the index, and each directory has some. What git ignores counts as well, so
//! that no rule of it is read here: where a work tree has that, git is asked.

use std::{
    collections::HashSet,
    fs, io,
    ops::ControlFlow,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use crate::{git::Repository, text::described};

/// The mode of a directory that stands in the index for all below it.
const DIRECTORY: u32 = 0o040_000;

/// Says whether there may be anything in a work tree that is not in its index, except below one path of it. Blocks.
///
/// # Errors
/// Returns an error where one of them cannot be read.
pub(super) fn may_be_in(tree: &Path, repository: &Repository, but: &Path) -> io::Result<bool> {
    let failed = |error: crate::git::GitError| io::Error::other(described(&error));
    let (mut files, mut directories, mut is_plain) = (HashSet::new(), HashSet::new(), true);
    let index = repository.index().map_err(failed)?;
    let each = index.for_each(|entry| {
        is_plain = !entry.is_submodule() && !entry.is_unmerged && entry.mode() != DIRECTORY;
        for (end, _) in entry.path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let directory = entry.path.get(..end).unwrap_or_default();
            if !directories.contains(directory) {
                directories.insert(directory.to_vec());
            }
        }
        files.insert(entry.path.to_vec());
        if is_plain { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    each.map_err(failed)?;
    if !is_plain {
        return Ok(true);
    }
    // What is at the top is looked at before what is below: there is most of what git ignores.
    let mut left = std::collections::VecDeque::from([PathBuf::new()]);
    while let Some(directory) = left.pop_front() {
        for entry in fs::read_dir(tree.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if path == Path::new(".git") || path == but {
                continue;
            }
            let name = path.as_os_str().as_bytes();
            match entry.file_type()?.is_dir() {
                true if directories.contains(name) || but.starts_with(&path) => left.push_back(path),
                false if files.contains(name) => {}
                _ => return Ok(true),
            }
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::git::testing::Repository as Made;

    #[test]
    fn what_is_in_no_index_is_seen_whatever_it_is_and_nothing_else() {
        let made = Made::with(&[("a.rs", "a\n"), ("b/c/d.rs", "d\n"), (".gitignore", "*.log\n")]);
        let path = |name: &str| made.path().join(name);
        let may = || may_be_in(made.path(), &made.opened(), Path::new("own/files")).unwrap();
        assert!(!may());
        fs::create_dir_all(path("own/files/of-runs")).unwrap();
        assert!(!may(), "what is not looked at");
        fs::write(path("a.rs"), "changed\n").unwrap();
        fs::remove_file(path("b/c/d.rs")).unwrap();
        assert!(!may(), "what was changed or removed is tracked");
        for name in ["new", "b/new", "b/c/new.log", "own/new"] {
            fs::write(path(name), "").unwrap();
            assert!(may(), "{name}");
            fs::remove_file(path(name)).unwrap();
        }
        for name in ["empty", "b/c/empty", "b/c/d.rs"] {
            fs::create_dir(path(name)).unwrap();
            assert!(may(), "{name}");
            fs::remove_dir(path(name)).unwrap();
        }
        std::os::unix::fs::symlink("a.rs", path("link")).unwrap();
        assert!(may(), "a link");
        fs::remove_file(path("link")).unwrap();
        fs::remove_dir_all(path("b")).unwrap();
        fs::write(path("b"), "").unwrap();
        assert!(may(), "a file in the place of a directory");
    }
}
