//! The files that decide what a run executes, held against what they were.
//!
//! The agent works in the project and could change samuel.toml, samuel.lock, a
//! prompt template or a plugin. What the run was built from stays as it is; the
//! [`ControlFiles`] tell before each iteration that somebody should look (design,
//! trust).

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::{
    config::CONFIG_FILE,
    fs::{FileError, Root},
    methodology::ralph::templates::{DISCOVERY_PROMPT_FILE, PROMPT_FILE},
    plugin::{LOCK_FILE, Selection, Tree, digest_of, plugin_directory},
    project::Project,
};

/// How much of a file is looked at, beside its length.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// What the files were when the run was built.
#[derive(Debug)]
pub(super) struct ControlFiles {
    root: PathBuf,
    files: Vec<PathBuf>,
    plugins: Vec<PathBuf>,
    before: BTreeMap<String, String>,
}

impl ControlFiles {
    /// Looks at the files of a project. Blocks.
    pub(super) fn of(project: &Project) -> Self {
        let root = project.root().to_owned();
        let templates = project.template_directories().into_iter();
        let templates =
            templates.flat_map(|dir| [PROMPT_FILE, DISCOVERY_PROMPT_FILE].map(|name| dir.join(name)));
        let files = [root.join(CONFIG_FILE), root.join(LOCK_FILE)].into_iter().chain(templates).collect();
        let plugins = project.config().plugins.iter();
        let plugins = plugins.map(|plugin| plugin_directory(&root, &plugin.name)).collect();
        let mut looked_at = Self { root, files, plugins, before: BTreeMap::new() };
        looked_at.before = looked_at.look();
        looked_at
    }

    /// Returns the files that are not as they were, in order: `changed:
    /// samuel.toml`. Blocks.
    pub(super) fn changes(&self) -> Vec<String> {
        let now = self.look();
        let mut changes: Vec<(&str, &str)> = Vec::new();
        for (path, digest) in &now {
            match self.before.get(path) {
                None => changes.push((path, "new")),
                Some(before) if before != digest => changes.push((path, "changed")),
                Some(_) => {}
            }
        }
        let gone = self.before.keys().filter(|path| !now.contains_key(*path));
        changes.extend(gone.map(|path| (path.as_str(), "missing")));
        changes.sort_unstable();
        changes.into_iter().map(|(path, how)| format!("{how}: {path}")).collect()
    }

    /// Returns a digest of each file that is there.
    fn look(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        for path in &self.files {
            match digest(&self.root, path) {
                Ok(digest) => seen.insert(self.shown(path), digest),
                Err(error) if error.is_not_found() => None,
                Err(error) => seen.insert(self.shown(path), error.to_string()),
            };
        }
        for directory in &self.plugins {
            // One that is not there has no part in the run.
            let Ok(tree) = Tree::of(directory, &Selection::Installed) else { continue };
            let files = tree.digests().into_iter();
            seen.extend(files.map(|(path, digest)| (self.shown(&directory.join(path)), digest)));
        }
        seen
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn digest(root: &Path, path: &Path) -> Result<String, FileError> {
    let file = Root::new(root).open(path)?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut start)?;
    Ok(format!("{length}:{}", digest_of(&start)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, sync::Arc};

    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn every_file_that_decides_what_runs_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("samuel.toml", "[[plugins]]\nname = \"lint\"\n");
        write(".samuel/plugins/lint/hook.sh", "true");
        write(".samuel/plugins/lint/old.sh", "true");
        let project = Project::open(dir.path(), None, Arc::new(SystemClock::new())).unwrap();
        let control = ControlFiles::of(&project);
        assert!(control.changes().is_empty());

        write("src/main.rs", "fn main() {}");
        write(".samuel/run/progress.md", "");
        assert!(control.changes().is_empty(), "the agent's work and Samuel's are none of them");

        write("samuel.toml", "[[plugins]]\nname = \"Lint\"\n");
        write("samuel.lock", "");
        write(".samuel/plugins/lint/hook.sh", "nice");
        write(".samuel/templates/ralph/prompt.md.tmpl", "mine");
        fs::remove_file(dir.path().join(".samuel/plugins/lint/old.sh")).unwrap();
        let expected = [
            "changed: .samuel/plugins/lint/hook.sh",
            "missing: .samuel/plugins/lint/old.sh",
            "new: .samuel/templates/ralph/prompt.md.tmpl",
            "new: samuel.lock",
            "changed: samuel.toml",
        ];
        assert_eq!(control.changes(), expected);
    }
}
