//! What lies in a project: its files, its languages and how it is checked.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::{Detected, detect};
use crate::{fs::Root, git::Walk};

/// How many files are looked at.
const MAX_FILES: usize = 20_000;
/// How long is looked for them.
const MAX_TIME: Duration = Duration::from_secs(1);
/// The largest manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Lists the files of a project that version control would keep, relative to
/// its root with `/`, at most 20 000. The answer depends on the files alone.
pub(crate) fn list_files(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    Walk::of(root).without_hidden().files(
        Instant::now() + MAX_TIME,
        |_, _| false,
        |file| {
            let path = file.path.to_str().filter(|_| !file.is_link);
            files.extend(path.map(str::to_owned));
            files.len() < MAX_FILES
        },
    );
    files
}

/// Lists the languages of a project's code, the one with most files first.
/// Blocks.
pub(crate) fn detect_languages(root: &Path) -> Vec<String> {
    let files = list_files(root);
    detect(files.iter().map(String::as_str), |_| None).languages
}

/// Detects the languages of a project and guesses how it is checked.
pub(crate) fn detect_project(root: &Path, files: &[String]) -> Detected {
    detect(files.iter().map(String::as_str), |name| {
        Root::new(root).read_text(&root.join(name), MAX_MANIFEST_BYTES).ok()
    })
}
