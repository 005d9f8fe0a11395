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
    fs::Root,
};

/// Where the files are, relative to the project's root.
pub const DIRECTORY: &str = ".system/hooks";
/// The most files that are read.
const MAX_FILES: usize = 1_000;
/// The most entries of the directory that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 10;

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
    let entries = match root.list(directory, MAX_ENTRIES) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return files,
        Err(error) => {
            files.problems.push(unreadable(directory, &error));
            return files;
        }
    };
    let names = entries.iter().filter_map(|entry| entry.name.to_str());
    let mut names: Vec<&str> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    for name in &names {
        if let Some(stem) = name.strip_suffix(".yml") {
            let path = directory.join(name);
            files
                .remarks
                .push(format!("{}: this file is not read. Rename it to {stem}.yaml.", path.display()));
        }
    }
    names.retain(|name| name.ends_with(".yaml"));
    if names.len() > MAX_FILES {
        let what = format!("there are {} files of hooks, and at most {MAX_FILES} are read", names.len());
        let kind = ProblemKind::Specific { what, help: "Remove those that nobody needs.".into() };
        files.problems.push(problem(directory, (1, 1), "", kind));
        names.truncate(MAX_FILES);
    }
    let mut ids = BTreeMap::new();
    for name in names {
        files.file(root, directory.join(name), &mut ids);
    }
    files
}

impl RepositoryFiles {
    /// Reads a file. `ids` has those of the files before, each with its file.
    fn file(&mut self, root: &Root, path: PathBuf, ids: &mut BTreeMap<String, PathBuf>) {
        self.paths.push(path.clone());
        let text = match root.read_text(&path, MAX_BYTES) {
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
