//! Looking at the control files of a run.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    ControlRecord, Stamps,
    matched::Matched,
    of_checks::OfChecks,
    stamp::{self, Stamp},
};
use crate::{
    config::{CONFIG_FILE, CheckCommand},
    dialect::SESSION_FILES,
    fs::{FileError, Root},
    model::digest_of_stream,
    plugin::{LOCK_FILE, PluginTree, Selection, plugin_directory},
    project::Project,
    script::named::{Executed, pattern},
    trust::{ControlFileChange, NOT_WATCHED, UNREADABLE},
};

/// How long a file may be whose content is compared. Of a longer one its length
/// and its stamps are, which whoever writes to it cannot leave as they were.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Why a file is watched that an agent's program reads unasked.
const OF_AGENT: &str = "read by the agent's program by itself";

/// Samuel's own directory, all of which is watched where a check executes it.
const OWN_DIRECTORY: &str = ".samuel";

/// What hook files make execute, relative to the root, each with what does.
#[derive(Debug, Default)]
pub(in crate::engine) struct OfHooks {
    pub(in crate::engine) files: Vec<(PathBuf, String)>,
    pub(in crate::engine) patterns: Vec<(PathBuf, String)>,
    /// What was read of the files, by absolute paths: digests.
    pub(in crate::engine) digests: BTreeMap<PathBuf, String>,
    /// Those that git ignores and does not track, by absolute paths.
    pub(in crate::engine) products: BTreeSet<PathBuf>,
}

/// What the files were when the run was built.
#[derive(Debug)]
pub(crate) struct ControlFiles {
    root: PathBuf,
    /// Those that no command runs, whether they exist or not.
    files: Vec<PathBuf>,
    /// Those that a command runs, each with what does.
    scripts: BTreeMap<PathBuf, String>,
    /// What each check executes, with its command.
    by_check: Vec<(String, Executed)>,
    /// The patterns of those, relative to the root, each with what has it.
    patterns: BTreeMap<PathBuf, String>,
    /// Those that checks execute and that are not watched, as git ignores them.
    products: BTreeSet<PathBuf>,
    /// What is said of checks whose scripts do not exist or are not watched.
    warnings: Vec<String>,
    plugins: Vec<PathBuf>,
    before: Look,
}

/// What a look at the files found: the digests of those that exist.
#[derive(Debug, Default)]
struct Look {
    files: BTreeMap<String, String>,
    /// The digests of whole plugins, whose files are among the others.
    plugins: BTreeMap<String, String>,
}

impl ControlFiles {
    /// Looks at the files of a project, at those that the commands of its checks
    /// run, and at those of its agent. Blocks.
    ///
    /// What the agent's program reads unasked, `unasked`, is patterns relative to the root.
    /// What hook files make execute, `hooks`, is relative to it too: files and patterns.
    pub(in crate::engine) fn of(
        project: &Project,
        checks: &[CheckCommand],
        agent: &[PathBuf],
        unasked: impl IntoIterator<Item = &'static str>,
        hooks: OfHooks,
    ) -> Self {
        let root = project.root().to_owned();
        let names = project.base().templates();
        let templates = project.template_directories().into_iter();
        let templates =
            templates.flat_map(|dir| names.iter().map(move |(name, _)| dir.join(name)).collect::<Vec<_>>());
        let own = [CONFIG_FILE, LOCK_FILE].into_iter().chain(SESSION_FILES).map(|name| root.join(name));
        let files: Vec<PathBuf> = own.chain(templates).collect();
        let own = root.join(OWN_DIRECTORY);
        let is_watched =
            |path: &Path| path.starts_with(&own) || files.iter().chain(agent).any(|watched| watched == path);
        let OfChecks { mut scripts, mut patterns, mut products, by_check, warnings } =
            OfChecks::of(project, checks, is_watched);
        patterns.extend(hooks.patterns);
        products.extend(hooks.products);
        // What is at any depth is often what is installed there, and not the project's.
        patterns.retain(|pattern, _| !pattern::is_deep(pattern));
        patterns.extend(unasked.into_iter().map(|pattern| (pattern.into(), OF_AGENT.to_owned())));
        for path in agent {
            scripts.entry(path.clone()).or_insert_with(|| "run or read by the agent's command".to_owned());
        }
        for (path, named_by) in hooks.files {
            scripts.entry(root.join(path)).or_insert(named_by);
        }
        let files = files.into_iter().filter(|path| !scripts.contains_key(path)).collect();
        let plugins = project.config().plugins.iter();
        let plugins = plugins.map(|plugin| plugin_directory(&root, &plugin.name)).collect();
        let before = Look::default();
        let mut looked_at =
            Self { root, files, scripts, by_check, patterns, products, warnings, plugins, before };
        // What a hook starts is what was read of it.
        looked_at.before = looked_at.look(&hooks.digests);
        looked_at
    }

    /// Returns the files that are not as they were, by their paths. Blocks.
    pub(crate) fn changes(&self) -> Vec<ControlFileChange> {
        let (before, now) = (&self.before.files, self.look(&BTreeMap::new()).files);
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let differs = |path: &&String| before.get(*path) != now.get(*path);
        let change = |path: &String| self.change(path, before.get(path).cloned(), now.get(path).cloned());
        paths.into_iter().filter(differs).map(change).collect()
    }

    /// Returns what tells that one of the scripts that checks start was written to. Blocks.
    pub(in crate::engine) fn stamps(&self) -> Stamps {
        let stamp = |path: &PathBuf| {
            let found = Root::new(&self.root).open(path).ok()?.metadata().ok()?;
            Some((self.shown(path), stamp::of(&found)))
        };
        let started: BTreeSet<&PathBuf> =
            self.by_check.iter().flat_map(|(_, executed)| &executed.started).collect();
        let started = started.into_iter().filter(|path| self.scripts.contains_key(*path));
        started.filter_map(stamp).collect()
    }

    /// Returns the files that are not as they were when the run was built, and the
    /// scripts that are, but were written to since somebody looked at their stamps.
    /// Blocks.
    pub(in crate::engine) fn changes_since(&self, stamps: &Stamps) -> Vec<ControlFileChange> {
        let mut changes = self.changes();
        let now = self.stamps();
        let rewritten = |(path, then): &(&String, &Stamp)| now.get(*path).is_some_and(|now| now != *then);
        for (path, _) in stamps.iter().filter(rewritten) {
            if !changes.iter().any(|change| change.path == *path) {
                let digest = self.before.files.get(path).cloned();
                changes.push(self.change(path, digest.clone(), digest));
            }
        }
        changes
    }

    /// Says of what checks execute which script did not exist when the run was built, and
    /// which is not watched, and what that means for the run.
    pub(in crate::engine) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns a digest of each file that is there below another root, by its path from there. Blocks.
    pub(in crate::engine) fn look_below(&self, root: &Path) -> BTreeMap<String, String> {
        let below = |path: &PathBuf| Some(root.join(path.strip_prefix(&self.root).ok()?));
        let matched = Matched::of(self.patterns.keys(), root);
        let is_product = |path: &PathBuf| {
            path.strip_prefix(root).is_ok_and(|path| self.products.contains(&self.root.join(path)))
        };
        let files = self.files.iter().chain(self.scripts.keys()).filter_map(below);
        let matching = matched.files.iter().filter(|path| !is_product(path)).cloned();
        let files: BTreeSet<PathBuf> = files.chain(matching).collect();
        let shown = |path: &Path| named(path.strip_prefix(root).unwrap_or(path));
        let digest_of = |path: &PathBuf| match digest(root, path) {
            Ok(digest) => Some((shown(path), digest)),
            Err(error) if error.is_not_found() => None,
            Err(error) => Some((shown(path), format!("{UNREADABLE}{error}"))),
        };
        let mut look: BTreeMap<String, String> = files.iter().filter_map(digest_of).collect();
        look.extend(matched.beyond().map(|(pattern, unseen)| (shown(pattern), unseen)));
        for directory in self.plugins.iter().filter_map(below) {
            let Ok(tree) = PluginTree::of(&directory, &Selection::Installed) else { continue };
            let files = tree.digests().into_iter();
            look.extend(files.map(|(path, digest)| (shown(&directory.join(path)), digest)));
        }
        look
    }

    /// Says whether a path from the root is that of a control file, as far as names tell; with a slash at its end,
    /// whether one lies below it.
    pub(in crate::engine) fn covers(&self, path: &str) -> bool {
        if let Some(directory) = path.strip_suffix('/') {
            return self.are_below(directory);
        }
        let (relative, path) = (Path::new(path), self.root.join(path));
        let is_matched = || self.patterns.keys().any(|pattern| pattern::covers(pattern, relative));
        self.files.contains(&path)
            || self.scripts.contains_key(&path)
            || self.plugins.iter().any(|plugin| path.starts_with(plugin))
            || (!self.products.contains(&path) && is_matched())
    }

    fn are_below(&self, directory: &str) -> bool {
        let (relative, directory) = (Path::new(directory), self.root.join(directory));
        let mut known = self.files.iter().chain(self.scripts.keys()).chain(&self.plugins);
        known.any(|path| *path != directory && path.starts_with(&directory))
            || self.patterns.keys().any(|pattern| pattern::leads_below(pattern, relative))
    }

    /// Returns what the next start has to know, where the run goes on.
    pub(in crate::engine) fn record(&self) -> ControlRecord {
        let digest = |path: &PathBuf| {
            let path = self.shown(path);
            let digest = self.before.files.get(&path).cloned();
            (path, digest)
        };
        let files = self.files.iter().chain(self.scripts.keys()).map(digest);
        let plugins = self.plugins.iter().map(|directory| {
            let path = self.shown_directory(directory);
            let digest = self.before.plugins.get(&path).cloned();
            (path, digest)
        });
        ControlRecord { files: files.chain(plugins).collect(), changed: Vec::new() }
    }

    /// Returns what the next start has to know, where the run has ended. Blocks.
    pub(in crate::engine) fn record_of_end(&self) -> ControlRecord {
        ControlRecord { files: BTreeMap::new(), changed: self.changes() }
    }

    /// Returns what is not as the last run found it, although nobody but that run was
    /// at work. Blocks.
    pub(in crate::engine) fn changes_of(&self, record: &ControlRecord) -> Vec<ControlFileChange> {
        let changed = |(path, before): (&str, Option<&str>)| {
            let now = self.digest_now(path);
            (now.as_deref() != before).then(|| self.change(path, before.map(str::to_owned), now))
        };
        record.expected().filter_map(changed).collect()
    }

    /// Returns what a file was when the run was built.
    pub(in crate::engine) fn digest(&self, path: &Path) -> Option<&str> {
        self.before.files.get(&self.shown(path)).map(String::as_str)
    }

    /// Returns the files that a check runs, each with what it was when the run
    /// was built; of one that is not watched, it is said that it is not.
    pub(in crate::engine) fn run_by_check(&self, check: &CheckCommand) -> Vec<(String, String)> {
        let Some((_, executed)) = self.by_check.iter().find(|(command, _)| *command == check.command) else {
            return Vec::new();
        };
        let products = executed.paths().filter(|path| self.products.contains(*path));
        let products = products.map(|path| (self.shown(path), NOT_WATCHED.to_owned()));
        self.known(&executed.files).into_iter().chain(products).collect()
    }

    /// Returns the files by name for whoever must not change them: those that
    /// commands name, after the project's own.
    pub(in crate::engine) fn names(&self) -> Vec<String> {
        let own = [CONFIG_FILE, LOCK_FILE].map(str::to_owned).into_iter();
        let scripts = self.scripts.keys().map(|path| self.shown(path));
        let mut names: Vec<String> = own.collect();
        names.extend(scripts.filter(|name| name != CONFIG_FILE && name != LOCK_FILE));
        names
    }

    /// Returns the files that the agent's program reads unasked, each with what it was when
    /// the run was built.
    pub(in crate::engine) fn of_agent(&self) -> Vec<(String, String)> {
        let patterns = self.patterns.iter().filter(|(_, named_by)| *named_by == OF_AGENT);
        let matched = Matched::of(patterns.map(|(pattern, _)| pattern), &self.root);
        let beyond = matched.beyond().map(|(pattern, unseen)| (self.shown(pattern), unseen));
        let files: Vec<PathBuf> = matched.files.iter().cloned().collect();
        self.known(&files).into_iter().chain(beyond).collect()
    }

    /// Returns files by their names, each with what it was when the run was built.
    pub(in crate::engine) fn known(&self, paths: &[PathBuf]) -> Vec<(String, String)> {
        let known = |path: &PathBuf| Some((self.shown(path), self.digest(path)?.to_owned()));
        paths.iter().filter_map(known).collect()
    }

    fn change(&self, path: &str, before: Option<String>, now: Option<String>) -> ControlFileChange {
        let whole = self.root.join(path);
        let by_pattern = || {
            let mut patterns = self.patterns.iter();
            patterns.find(|(pattern, _)| {
                self.root.join(pattern) == whole || pattern::matches(pattern, &self.root).contains(&whole)
            })
        };
        let named_by =
            self.scripts.get(&whole).or_else(|| by_pattern().map(|(_, named_by)| named_by)).cloned();
        ControlFileChange { path: path.to_owned(), named_by, before, now }
    }

    /// Returns a digest of each file that is there, that which is known of it or is read now.
    fn look(&self, known: &BTreeMap<PathBuf, String>) -> Look {
        let mut look = Look::default();
        let matched = Matched::of(self.patterns.keys(), &self.root);
        look.files.extend(matched.beyond().map(|(pattern, unseen)| (self.shown(pattern), unseen)));
        let matching = matched.files.iter().filter(|path| !self.products.contains(*path));
        for path in self.files.iter().chain(self.scripts.keys()).chain(matching) {
            if let Some(digest) = known.get(path).cloned().or_else(|| self.look_at(path)) {
                look.files.insert(self.shown(path), digest);
            }
        }
        for directory in &self.plugins {
            // One that is not there has no part in the run.
            let Ok(tree) = PluginTree::of(directory, &Selection::Installed) else { continue };
            look.plugins.insert(self.shown_directory(directory), tree.digest());
            let files = tree.digests().into_iter();
            look.files.extend(files.map(|(path, digest)| (self.shown(&directory.join(path)), digest)));
        }
        look
    }

    /// Returns the digest of a file or of a plugin's directory that an earlier run
    /// has named, as this one was built from it.
    fn digest_now(&self, path: &str) -> Option<String> {
        match path.strip_suffix('/') {
            Some(directory) => self.before.plugins.get(path).cloned().or_else(|| {
                let tree = PluginTree::of(&self.root.join(directory), &Selection::Installed);
                tree.ok().map(|tree| tree.digest())
            }),
            None => self.before.files.get(path).cloned().or_else(|| self.look_at(&self.root.join(path))),
        }
    }

    /// Returns the digest of a file, or why it has none; nothing where there is no
    /// file.
    fn look_at(&self, path: &Path) -> Option<String> {
        match digest(&self.root, path) {
            Ok(digest) => Some(digest),
            Err(error) if error.is_not_found() => None,
            Err(error) => Some(format!("{UNREADABLE}{error}")),
        }
    }

    fn shown(&self, path: &Path) -> String {
        named(path.strip_prefix(&self.root).unwrap_or(path))
    }

    fn shown_directory(&self, path: &Path) -> String {
        format!("{}/", self.shown(path))
    }
}

/// Writes a path so that no two have the same name: what is not UTF-8 as a shell writes it,
/// `$'a\xff'`.
fn named(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with("$'") => text.to_owned(),
        _ => format!("$'{}'", path.as_os_str().as_encoded_bytes().escape_ascii()),
    }
}

fn digest(root: &Path, path: &Path) -> Result<String, FileError> {
    let file = Root::new(root).open(path)?;
    let found = file.metadata()?;
    let length = found.len();
    if length > MAX_FILE_BYTES {
        return Ok(format!("{length}:{}:{}.{:09}", found.ino(), found.ctime(), found.ctime_nsec()));
    }
    Ok(digest_of_stream(file.take(MAX_FILE_BYTES))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::{fs, sync::Arc};

    use super::*;
    use crate::clock::SystemClock;

    fn told(changes: &[ControlFileChange]) -> Vec<String> {
        changes.iter().map(ToString::to_string).collect()
    }

    /// A project with these files.
    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let project = Project::open(dir.path(), None, Arc::new(SystemClock::new())).unwrap();
        (dir, project)
    }

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
        let control = ControlFiles::of(&project, &[], &[], [], OfHooks::default());
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
        assert_eq!(told(&control.changes()), expected);
    }

    #[test]
    fn a_script_that_a_check_or_the_agent_names_decides_what_runs() {
        let (dir, project) = project(&[("ci/check.sh", "exit 1"), ("check.sh", "exit 1"), ("agent.sh", "")]);
        let root = dir.path();
        let control = ControlFiles::of(
            &project,
            &[CheckCommand::new("sh ci/check.sh")],
            &[root.join("agent.sh")],
            [],
            OfHooks::default(),
        );
        fs::write(root.join("check.sh"), "exit 0").unwrap();
        assert!(control.changes().is_empty(), "nothing names it");
        fs::write(root.join("ci/check.sh"), "exit 0").unwrap();
        fs::remove_file(root.join("agent.sh")).unwrap();
        let expected = [
            "missing: agent.sh (run or read by the agent's command)",
            "changed: ci/check.sh (run by quality check `sh ci/check.sh`)",
        ];
        assert_eq!(told(&control.changes()), expected);
        assert_eq!(control.names(), ["samuel.toml", "samuel.lock", "agent.sh", "ci/check.sh"]);
    }

    #[test]
    fn a_script_that_was_written_to_and_put_back_is_told_of() {
        let (dir, project) = project(&[("check.sh", "exit 1")]);
        let control =
            ControlFiles::of(&project, &[CheckCommand::new("sh check.sh")], &[], [], OfHooks::default());
        let stamps = control.stamps();
        assert!(control.changes_since(&stamps).is_empty());
        fs::write(dir.path().join("copy"), "exit 1").unwrap();
        fs::rename(dir.path().join("copy"), dir.path().join("check.sh")).unwrap();
        assert!(control.changes().is_empty());
        let told = told(&control.changes_since(&stamps));
        assert_eq!(told, ["written to: check.sh (run by quality check `sh check.sh`)"]);
    }

    #[test]
    fn what_is_hidden_behind_more_than_is_looked_at_is_told_of() {
        let (dir, project) = project(&[(".claude/settings.json", "{}")]);
        let patterns = [".claude/settings*.json"];
        let control = ControlFiles::of(&project, &[], &[], patterns, OfHooks::default());
        let below = control.look_below(dir.path());
        for number in 0..10_000 {
            fs::write(dir.path().join(format!(".claude/a{number}")), "").unwrap();
        }
        let told = told(&control.changes());
        let more = "new: .claude/settings*.json (read by the agent's program by itself) (there is more than is looked at)";
        assert!(told.iter().any(|told| told == more), "{told:?}");
        assert_ne!(control.look_below(dir.path()), below);
        let now = ControlFiles::of(&project, &[], &[], patterns, OfHooks::default());
        assert!(
            now.of_agent().iter().any(|(path, _)| path == patterns[0]),
            "the question of the start says so"
        );
    }

    #[test]
    fn two_scripts_whose_names_are_not_utf_8_are_told_apart() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
        let (dir, project) = project(&[("ci/z.sh", "exit 1")]);
        let path = |name: &[u8]| dir.path().join("ci").join(OsStr::from_bytes(name));
        fs::write(path(b"a\xfe.sh"), "exit 1").unwrap();
        fs::write(path(b"a\xff.sh"), "exit 0").unwrap();
        let check = CheckCommand::new("for f in ci/*.sh; do sh \"$f\" || exit 1; done");
        let control = ControlFiles::of(&project, &[check], &[], [], OfHooks::default());
        fs::write(path(b"a\xfe.sh"), "exit 0").unwrap();
        let told = told(&control.changes());
        assert!(told.len() == 1 && told[0].starts_with("changed: $'ci/a\\xfe.sh'"), "{told:?}");
    }

    #[test]
    fn what_a_run_left_changed_is_compared_with_what_it_was_built_from() {
        let plugin = ".samuel/plugins/lint/hook.sh";
        let config = "[[plugins]]\nname = \"lint\"\n";
        let (dir, opened) = project(&[("samuel.toml", config), (plugin, "true"), ("check.sh", "exit 1")]);
        let checks = [CheckCommand::new("sh check.sh")];
        let before = ControlFiles::of(&opened, &checks, &[], [], OfHooks::default());
        let (under_way, ended) = (before.record(), before.record_of_end());
        let text = serde_json::to_string(&under_way).unwrap();
        let under_way: ControlRecord = serde_json::from_str(&text).unwrap();
        assert!(before.changes_of(&under_way).is_empty());

        fs::write(dir.path().join("check.sh"), "exit 0").unwrap();
        fs::write(dir.path().join(plugin), "nice").unwrap();
        fs::write(dir.path().join("samuel.lock"), "").unwrap();
        // The next run asks nothing of the script.
        let now = ControlFiles::of(&opened, &[], &[], [], OfHooks::default());
        let expected = ["changed: .samuel/plugins/lint/", "changed: check.sh", "new: samuel.lock"];
        let mut found = told(&now.changes_of(&under_way));
        found.sort();
        assert_eq!(found, expected);
        assert!(now.changes_of(&ended).is_empty(), "what changes after the end is the user's");
        let ended = before.record_of_end();
        let expected = ["changed: .samuel/plugins/lint/hook.sh", "changed: check.sh", "new: samuel.lock"];
        assert_eq!(told(&now.changes_of(&ended)), expected);
        fs::write(dir.path().join("check.sh"), "exit 1").unwrap();
        assert_eq!(told(&now.changes_of(&ended)), [expected[0], expected[2]]);
    }

    #[test]
    fn no_part_of_a_long_file_can_be_exchanged() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let length = MAX_FILE_BYTES + 1;
        fs::File::create(root.join("check")).unwrap().set_len(length).unwrap();
        let project = Project::open(&root, None, Arc::new(SystemClock::new())).unwrap();
        let control =
            ControlFiles::of(&project, &[CheckCommand::new("./check")], &[], [], OfHooks::default());
        assert!(control.changes().is_empty());
        let file = fs::File::options().write(true).open(root.join("check")).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"x", length - 1).unwrap();
        assert_eq!(told(&control.changes()), ["changed: check (run by quality check `./check`)"]);
    }
}
