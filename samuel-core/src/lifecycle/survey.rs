//! What a project is made of, as far as context files tell it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Serialize;

use super::render::AGENTS_FILE;
use crate::{
    detect::{Detected, detect_project, list_files},
    snapshot::{FileKind, classify},
};

/// How many files of code make a folder worth a context file of its own.
pub const MIN_CODE_FILES: usize = 3;
/// How many folders get one, the shallowest first.
pub const MAX_FOLDERS: usize = 200;

/// A folder with code directly in it. Templates spell the fields in
/// `PascalCase`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Folder {
    /// Its path, relative to the project with `/`.
    pub path: String,
    /// The way from it to the project's root, such as `../../`.
    pub to_root: String,
    /// The languages of its code, by name.
    pub languages: Vec<String>,
    /// The names of its source files.
    pub files: Vec<String>,
    /// The names of its tests.
    pub tests: Vec<String>,
}

/// What a project is made of.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub(super) detected: Detected,
    pub(super) folders: Vec<Folder>,
}

impl Survey {
    /// Looks at the files of a project. Blocks.
    pub(super) fn of(root: &Path) -> Self {
        let files = list_files(root);
        Self { detected: detect_project(root, &files), folders: folders(&files) }
    }
}

/// Finds the folders worth a context file: those with enough code, and those
/// that have one already, by path.
fn folders(files: &[String]) -> Vec<Folder> {
    let mut found: BTreeMap<&str, Folder> = BTreeMap::new();
    let mut chosen = BTreeSet::new();
    for (folder, name) in files.iter().filter_map(|path| path.rsplit_once('/')) {
        let class = classify(&format!("{folder}/{name}"));
        let entry = found.entry(folder).or_default();
        match class.kind {
            FileKind::Source => entry.files.push(name.to_owned()),
            FileKind::Test => entry.tests.push(name.to_owned()),
            _ if name == AGENTS_FILE => drop(chosen.insert(folder)),
            _ => continue,
        }
        let language = class.language.map(|language| language.name.to_owned());
        entry.languages.extend(language.filter(|name| !entry.languages.contains(name)));
    }
    let is_chosen = |path: &str, folder: &Folder| {
        let code = folder.files.len() + folder.tests.len();
        code >= MIN_CODE_FILES || (code > 0 && chosen.contains(path))
    };
    let mut folders: Vec<Folder> = found
        .into_iter()
        .filter(|(path, folder)| is_chosen(path, folder))
        .map(|(path, folder)| Folder {
            path: path.to_owned(),
            to_root: "../".repeat(path.split('/').count()),
            ..folder
        })
        .collect();
    folders.sort_by_key(|folder| folder.to_root.len());
    folders.truncate(MAX_FOLDERS);
    folders.sort_by(|left, right| left.path.cmp(&right.path));
    folders.iter_mut().for_each(|folder| folder.languages.sort());
    folders
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use super::*;

    fn paths(files: &[&str]) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|path| (*path).to_owned()).collect();
        folders(&files).into_iter().map(|folder| folder.path).collect()
    }

    #[test]
    fn a_folder_with_enough_code_of_its_own_is_found() {
        let files = ["a.rs", "src/a.rs", "src/b.rs", "src/c.rs", "src/x/a.rs", "docs/a.md", "docs/b.md"];
        assert_eq!(paths(&files), ["src"]);
    }

    #[test]
    fn a_folder_that_has_a_context_file_keeps_it_while_it_has_code() {
        assert_eq!(paths(&["src/AGENTS.md", "src/a.rs", "docs/AGENTS.md"]), ["src"]);
    }

    #[test]
    fn a_folder_says_what_is_in_it_and_the_way_back() {
        let files = ["a/b/x.rs", "a/b/y.py", "a/b/test_y.py", "a/b/notes.md"].map(str::to_owned);
        let folder = &folders(&files)[0];
        assert_eq!((folder.path.as_str(), folder.to_root.as_str()), ("a/b", "../../"));
        assert_eq!(folder.languages, ["python", "rust"]);
        assert_eq!(
            (folder.files.clone(), folder.tests.clone()),
            (vec!["x.rs".to_owned(), "y.py".to_owned()], vec!["test_y.py".to_owned()])
        );
    }

    #[test]
    fn of_too_many_folders_the_shallowest_are_kept() {
        let deep = (0..MAX_FOLDERS).flat_map(|n| (0..3).map(move |f| format!("a/d{n:03}/{f}.rs")));
        let files: Vec<String> = deep.chain((0..3).map(|f| format!("z/{f}.rs"))).collect();
        let found = folders(&files);
        assert_eq!(found.len(), MAX_FOLDERS);
        assert!(found.iter().any(|folder| folder.path == "z"));
    }
}
