//! The files that decide what a run executes, held against what they were.
//!
//! The agent works in the project and could change samuel.toml, samuel.lock, a
//! prompt template, a plugin or a script that checks its work. What the run was
//! built from stays as it is; the [`ControlFiles`] tell before each iteration,
//! around each check and before a run ends that somebody should look (design,
//! trust).

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use crate::{
    config::{CONFIG_FILE, CheckCommand},
    fs::{FileError, Root},
    methodology::ralph::templates::{DISCOVERY_PROMPT_FILE, PROMPT_FILE},
    plugin::{LOCK_FILE, Selection, Tree, digest_of_stream, plugin_directory},
    project::Project,
};

/// How long a file may be whose content is compared. Of a longer one its length
/// and its stamps are, which whoever writes to it cannot leave as they were.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// How many words of a check's command line are looked at.
const MAX_WORDS: usize = 1_000;

/// What stands before why a file has no digest.
const UNREADABLE: &str = "unreadable: ";

/// What the files were when the run was built.
#[derive(Debug)]
pub(super) struct ControlFiles {
    root: PathBuf,
    files: Vec<PathBuf>,
    plugins: Vec<PathBuf>,
    before: BTreeMap<String, String>,
}

impl ControlFiles {
    /// Looks at the files of a project, and at those that the commands of its
    /// checks name. Blocks.
    pub(super) fn of(project: &Project, checks: &[CheckCommand]) -> Self {
        let root = project.root().to_owned();
        let templates = project.template_directories().into_iter();
        let templates =
            templates.flat_map(|dir| [PROMPT_FILE, DISCOVERY_PROMPT_FILE].map(|name| dir.join(name)));
        let scripts: BTreeSet<PathBuf> =
            checks.iter().flat_map(|check| files_named(&check.command, &root)).collect();
        let files = [root.join(CONFIG_FILE), root.join(LOCK_FILE)];
        let files = files.into_iter().chain(templates).chain(scripts).collect();
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
        let told =
            |(path, how): (&str, &str)| match now.get(path).and_then(|seen| seen.strip_prefix(UNREADABLE)) {
                Some(why) => format!("{how}: {path} ({why})"),
                None => format!("{how}: {path}"),
            };
        changes.into_iter().map(told).collect()
    }

    /// Returns what a file was when the run was built: its length and a digest.
    pub(super) fn digest(&self, path: &Path) -> Option<&str> {
        self.before.get(&self.shown(path)).map(String::as_str)
    }

    /// Returns the files that a check names, each with what it was when the run
    /// was built.
    pub(super) fn named_by(&self, check: &CheckCommand) -> Vec<(String, String)> {
        let named = files_named(&check.command, &self.root).into_iter();
        let known = |path: PathBuf| Some((self.shown(&path), self.digest(&path)?.to_owned()));
        named.filter_map(known).collect()
    }

    /// Returns a digest of each file that is there.
    fn look(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        for path in &self.files {
            match digest(&self.root, path) {
                Ok(digest) => seen.insert(self.shown(path), digest),
                Err(error) if error.is_not_found() => None,
                Err(error) => seen.insert(self.shown(path), format!("{UNREADABLE}{error}")),
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

/// Returns the files of the project that the words of a command name: `./check.sh`
/// and the second word of `sh ci/check.sh`. What a word stands for, such as a
/// pattern or a directory, is none.
fn files_named(command: &str, root: &Path) -> Vec<PathBuf> {
    // Where one command ends and the next begins is the shell's.
    let apart: String = command.chars().map(|c| if ";&|()<>`".contains(c) { ' ' } else { c }).collect();
    let words = shlex::split(&apart).unwrap_or_else(|| {
        apart.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
    });
    let is_file = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let stays_inside = |path: &PathBuf| path.starts_with(root);
    // What is quoted as one word may be a command line of its own: `bash -c 'sh a.sh'`.
    let lines = words.iter().filter(|word| word.contains(char::is_whitespace));
    let inner = lines.flat_map(|line| line.split_whitespace());
    let all = words.iter().map(String::as_str).chain(inner).take(MAX_WORDS);
    let named = all.map(|word| lexical(&root.join(word)));
    named.filter(stays_inside).filter(is_file).collect()
}

/// Leaves `.` and `..` out of a path, without looking at the disk.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

fn digest(root: &Path, path: &Path) -> Result<String, FileError> {
    let file = Root::new(root).open(path)?;
    let found = file.metadata()?;
    let length = found.len();
    if length > MAX_FILE_BYTES {
        return Ok(format!("{length}:{}:{}.{:09}", found.ino(), found.ctime(), found.ctime_nsec()));
    }
    let digest = digest_of_stream(file.take(MAX_FILE_BYTES))?;
    Ok(format!("{length}:{digest}"))
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
        let control = ControlFiles::of(&project, &[]);
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

    #[test]
    fn a_script_that_a_check_names_decides_what_runs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("ci/deep")).unwrap();
        for script in ["check.sh", "ci/check.sh", "ci/with space.py", "*"] {
            fs::write(root.join(script), "exit 1").unwrap();
        }
        let named = |command: &str| {
            let found = files_named(command, &root).into_iter();
            found.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(named("./check.sh"), ["check.sh"]);
        assert_eq!(named("cd . && sh ci/deep/../check.sh; true"), ["ci/check.sh"]);
        assert_eq!(named("python 'ci/with space.py' --all"), ["ci/with space.py"]);
        assert_eq!(named(&format!("sh {}/check.sh", root.display())), ["check.sh"]);
        assert_eq!(named("bash -c 'set -e; sh ci/check.sh'"), ["ci/check.sh"]);
        assert_eq!(named("cargo test ci ci/deep /bin/sh ../etc missing.sh"), [""; 0]);
        assert_eq!(named("sh 'check.sh"), ["check.sh"], "the shell may read what shlex does not");

        let project = Project::open(&root, None, Arc::new(SystemClock::new())).unwrap();
        let control = ControlFiles::of(&project, &[CheckCommand::new("sh ci/check.sh")]);
        fs::write(root.join("check.sh"), "exit 0").unwrap();
        assert!(control.changes().is_empty(), "no check names it");
        fs::write(root.join("ci/check.sh"), "exit 0").unwrap();
        assert_eq!(control.changes(), ["changed: ci/check.sh"]);
    }

    #[test]
    fn no_part_of_a_long_file_can_be_exchanged() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let length = MAX_FILE_BYTES + 1;
        fs::File::create(root.join("check")).unwrap().set_len(length).unwrap();
        let project = Project::open(&root, None, Arc::new(SystemClock::new())).unwrap();
        let control = ControlFiles::of(&project, &[CheckCommand::new("./check")]);
        assert!(control.changes().is_empty());
        let file = fs::File::options().write(true).open(root.join("check")).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"x", length - 1).unwrap();
        assert_eq!(control.changes(), ["changed: check"]);
    }
}
