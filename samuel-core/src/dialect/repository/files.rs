//! The files of a project's repository hooks.
//!
//! A file with a problem is left out and told of, its siblings are used.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{RepositoryHook, file};
use crate::{
    config::{Problem, ProblemKind},
    dialect::problems::{problem, unreadable},
    fs::{Entry, FileError, PathKind, Root},
};

/// Where the files are, relative to the project's root.
pub const DIRECTORY: &str = ".system/hooks";
/// The most files that are read.
const MAX_FILES: usize = 1_000;
/// The most entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

/// Returns the file that a hook with an id is in, by custom.
pub(in crate::dialect) fn file_of(id: &str) -> PathBuf {
    Path::new(DIRECTORY).join(format!("{id}.yaml"))
}

/// What the files of repository hooks say.
#[derive(Debug, Default)]
pub(in crate::dialect) struct RepositoryFiles {
    /// The files, relative to the project's root, by name.
    pub(in crate::dialect) paths: Vec<PathBuf>,
    /// The hooks, in the same order.
    pub(in crate::dialect) hooks: Vec<RepositoryHook>,
    /// What is wrong with single files, and how many more problems there are.
    pub(in crate::dialect) problems: Vec<Problem>,
    pub(in crate::dialect) more: usize,
    /// What works, and may not be what was meant.
    pub(in crate::dialect) warnings: Vec<Problem>,
    /// Files that are nearly of the right name.
    pub(in crate::dialect) remarks: Vec<String>,
}

/// Reads the files of a project. Starts nothing.
pub(in crate::dialect) fn read(root: &Root) -> RepositoryFiles {
    let mut files = RepositoryFiles::default();
    let directory = Path::new(DIRECTORY);
    let listed = root.directory(directory).and_then(|found| Ok((found.entries(MAX_ENTRIES)?, found)));
    let (mut entries, found) = match listed {
        Ok(listed) => listed,
        Err(error) if error.is_not_found() => return files,
        Err(error) => {
            files.problems.push(unreadable(directory, &error));
            return files;
        }
    };
    entries.retain(|entry| entry.name.to_str().is_some_and(|name| !name.starts_with('.')));
    entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    let ends_in =
        |entry: &Entry, extension: &str| entry.name.to_str().is_some_and(|name| name.ends_with(extension));
    for entry in entries.iter().filter(|entry| ends_in(entry, ".yml")) {
        let path = directory.join(&entry.name);
        let right = path.with_extension("yaml");
        let right = right.file_name().unwrap_or_default().display();
        files.remarks.push(format!("{}: this file is not read. Rename it to {right}.", path.display()));
    }
    entries.retain(|entry| ends_in(entry, ".yaml"));
    if entries.len() > MAX_FILES {
        let what = format!("there are {} files of hooks, and at most {MAX_FILES} are read", entries.len());
        let kind = ProblemKind::Specific { what, help: "Remove those that nobody needs.".into() };
        files.problems.push(problem(directory, (1, 1), "", kind));
        entries.truncate(MAX_FILES);
    }
    let mut ids = BTreeMap::new();
    for entry in &entries {
        let path = directory.join(&entry.name);
        let text = match entry.kind {
            // Where a link leads is looked up from the root, so that it stays inside.
            PathKind::Link => root.read_text(&path, MAX_BYTES),
            _ => found.read_text(entry, MAX_BYTES),
        };
        files.file(root, path, text, &mut ids);
    }
    files
}

impl RepositoryFiles {
    /// Takes what was read of a file. `ids` has those of the files before, each with its file.
    fn file(
        &mut self,
        root: &Root,
        path: PathBuf,
        text: Result<String, FileError>,
        ids: &mut BTreeMap<String, PathBuf>,
    ) {
        self.paths.push(path.clone());
        let text = match text {
            Ok(text) => text,
            Err(error) => return self.problems.push(unreadable(&path, &error)),
        };
        let read = file::read(root, &path, &text, ids);
        self.problems.extend(read.problems);
        self.more += read.more;
        self.warnings.extend(read.warnings);
        self.hooks.extend(read.hook);
    }
}
