//! The paths that the words of a command line name.

use std::{
    collections::BTreeSet,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use crate::fs::{Root, lexical};

/// Returns the file of the project that a path names. A path that goes up again stays as it
/// is: where it leads changes with what a directory on it is replaced by.
pub(crate) fn in_project(path: &Path, root: &Path) -> Option<PathBuf> {
    let (whole, path) = (root.join(path), lexical(&root.join(path)));
    let is_file = path.starts_with(root) && std::fs::metadata(&path).is_ok_and(|found| found.is_file());
    let goes_up = whole.components().any(|part| part == Component::ParentDir);
    match goes_up && Root::new(root).open(&whole).is_ok() {
        true => Some(whole.components().collect()),
        false => is_file.then_some(path),
    }
}

/// Leaves out what stands for the directory that the command is in.
pub(super) fn from_here(word: &str) -> &str {
    let rest = ["$PWD", "${PWD}"].iter().find_map(|here| word.strip_prefix(here));
    match rest {
        Some("") => ".",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => word,
    }
}

/// Says whether the system would run a file, or a shell that is given its name.
pub(super) fn can_be_executed(path: &Path, root: &Path) -> bool {
    let Ok(mut file) = Root::new(root).open(path) else { return false };
    let is_able = file.metadata().is_ok_and(|found| found.mode() & 0o111 != 0);
    let mut start = [0; 2];
    is_able || (file.read_exact(&mut start).is_ok() && start == *b"#!")
}

/// Returns paths without those that stand before.
pub(super) fn without_repeats(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    paths.into_iter().filter(|path| seen.insert(path.clone())).collect()
}
