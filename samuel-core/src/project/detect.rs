//! What lies in a project: its files, its languages and how it is checked.

use std::path::Path;

use crate::{
    fs::Root,
    methodology::ralph::{self, Detected},
};

/// How many files are looked at.
const MAX_FILES: usize = 20_000;
/// The largest manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Lists the files of a project that version control would keep, relative to
/// its root with `/`, at most 20 000. The answer depends on the files alone.
pub(crate) fn list_files(root: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root)
        .git_global(false)
        .require_git(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .build()
        .flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let relative = |entry: ignore::DirEntry| {
        let path = entry.path().strip_prefix(root).ok()?;
        path.to_str().map(str::to_owned)
    };
    files.take(MAX_FILES).filter_map(relative).collect()
}

/// Lists the languages of a project's code, the one with most files first.
/// Blocks.
pub(crate) fn detect_languages(root: &Path) -> Vec<String> {
    let files = list_files(root);
    ralph::detect(files.iter().map(String::as_str), |_| None).languages
}

/// Detects the languages of a project and guesses how it is checked.
pub(crate) fn detect_project(root: &Path, files: &[String]) -> Detected {
    ralph::detect(files.iter().map(String::as_str), |name| {
        Root::new(root).read_text(&root.join(name), MAX_MANIFEST_BYTES).ok()
    })
}
