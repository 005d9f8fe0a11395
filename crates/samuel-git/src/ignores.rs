//! Walking directories, ignore files respected.
//!
//! A [`Walk`] hands out the files below a directory, those that `.gitignore`
//! names left out, in an order that depends on their names alone. It follows no
//! link, enters no other repository, and stops at its deadline. Ignore files are
//! read like any file that somebody else made; one that cannot be is not there.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::{Repository, read};

/// The largest ignore file that is read, in bytes.
pub(super) const MAX_IGNORE_FILE: u64 = 256 << 10;
/// How many patterns are heeded. Each is compiled, and matched with
/// each file.
pub(super) const MAX_PATTERNS: usize = 4_000;
/// How deep directories are entered.
const MAX_DEPTH: usize = 256;

/// The files below a directory.
#[derive(Debug, Default)]
pub struct Walk {
    root: PathBuf,
    /// What holds for all of it, the strongest last.
    outer: Vec<Gitignore>,
    /// Whether files and directories whose names begin with a dot are left out.
    skips_hidden: bool,
    /// Whether the directory as a whole is ignored.
    is_ignored: bool,
    /// Whether the tops of other repositories are handed out.
    tells_repositories: bool,
    patterns: usize,
}

/// A file of a walk.
#[derive(Debug)]
pub struct Walked<'a> {
    /// Its path from the root, with `/`.
    pub path: &'a Path,
    /// Whether it is a link.
    pub is_link: bool,
    /// Whether it is the top of another repository, which is not entered.
    pub is_repository: bool,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walking {
    /// Everything was seen.
    Complete,
    /// The deadline passed, the receiver had enough, or directories are too deep.
    CutShort,
}

impl Walk {
    /// Describes the files of a directory that is in no repository, or in one
    /// that cannot be read.
    pub fn of(root: &Path) -> Self {
        let mut walk = Self { root: root.to_owned(), ..Self::default() };
        walk.add(root, &root.join(".git/info/exclude"));
        walk
    }

    /// Describes the files of a project in a repository.
    pub fn of_repository(repository: &Repository) -> Self {
        let top = &repository.top;
        let mut walk = Self { root: repository.root.clone(), ..Self::default() };
        walk.outer.extend(rules(top, &repository.excludes, MAX_PATTERNS));
        walk.add(top, &repository.common_dir.join("info/exclude"));
        // What is above the project has a say in it.
        let Ok(inner) = repository.root.strip_prefix(top) else { return walk };
        let mut directory = top.clone();
        for name in inner {
            walk.add(&directory, &directory.join(".gitignore"));
            directory.push(name);
            walk.is_ignored |= walk.ignores(&[], &directory, true);
        }
        walk
    }

    /// Leaves out what begins with a dot.
    pub fn without_hidden(mut self) -> Self {
        self.skips_hidden = true;
        self
    }

    /// Hands out the tops of other repositories, too.
    pub fn with_repositories(mut self) -> Self {
        self.tells_repositories = true;
        self
    }

    fn add(&mut self, directory: &Path, file: &Path) {
        let rules = self.read(directory, file);
        self.outer.extend(rules);
    }

    fn read(&mut self, directory: &Path, file: &Path) -> Option<Gitignore> {
        let text = read::read(file, MAX_IGNORE_FILE).ok()?;
        let rules = rules(directory, &text, MAX_PATTERNS.saturating_sub(self.patterns))?;
        self.patterns += rules.len();
        Some(rules)
    }

    fn ignores(&self, inner: &[Gitignore], path: &Path, is_dir: bool) -> bool {
        decide(inner.iter().rev().chain(self.outer.iter().rev()), path, is_dir)
    }

    /// Hands out the files until the deadline. Files and directories of which
    /// `is_known` says so, which is told whether it is a directory, are left out.
    pub fn files(
        mut self,
        deadline: Instant,
        mut is_known: impl FnMut(&Path, bool) -> bool,
        mut receive: impl FnMut(Walked<'_>) -> bool,
    ) -> Walking {
        if self.is_ignored {
            return Walking::Complete;
        }
        let root = self.root.clone();
        let mut place = Place { directory: root, relative: PathBuf::new(), rules: Vec::new() };
        let goes_on = self.directory(&mut place, deadline, &mut is_known, &mut receive, 0);
        if goes_on { Walking::Complete } else { Walking::CutShort }
    }

    /// Walks one directory; says whether to go on.
    fn directory(
        &mut self,
        place: &mut Place,
        deadline: Instant,
        is_known: &mut dyn FnMut(&Path, bool) -> bool,
        receive: &mut dyn FnMut(Walked<'_>) -> bool,
        depth: usize,
    ) -> bool {
        if Instant::now() > deadline || depth > MAX_DEPTH {
            return false;
        }
        // What cannot be listed is passed over.
        let Ok(entries) = fs::read_dir(&place.directory) else { return true };
        let mut entries: Vec<(OsString, fs::FileType)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?)))
            .filter(|(_, kind)| kind.is_file() || kind.is_dir() || kind.is_symlink())
            .collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        let has_rules = entries.iter().any(|(name, kind)| name == ".gitignore" && kind.is_file());
        let rules = match has_rules {
            true => self.read(&place.directory, &place.directory.join(".gitignore")),
            false => None,
        };
        let strength = place.rules.len();
        place.rules.extend(rules);
        let mut goes_on = true;
        for (name, kind) in entries {
            if name == ".git" || self.skips_hidden && is_hidden(&name) {
                continue;
            }
            if Instant::now() > deadline {
                goes_on = false;
                break;
            }
            place.enter(&name);
            let is_dir = kind.is_dir();
            let is_out =
                is_known(&place.relative, is_dir) || self.ignores(&place.rules, &place.directory, is_dir);
            goes_on = is_out
                || match is_dir {
                    true if is_repository(&place.directory) => {
                        let found = Walked { path: &place.relative, is_link: false, is_repository: true };
                        !self.tells_repositories || receive(found)
                    }
                    true => self.directory(place, deadline, is_known, receive, depth + 1),
                    false => {
                        let is_link = kind.is_symlink();
                        receive(Walked { path: &place.relative, is_link, is_repository: false })
                    }
                };
            place.leave();
            if !goes_on {
                break;
            }
        }
        place.rules.truncate(strength);
        goes_on
    }
}

/// Where a walk is.
struct Place {
    directory: PathBuf,
    relative: PathBuf,
    /// The rules of the directories below the root, the strongest last.
    rules: Vec<Gitignore>,
}

impl Place {
    fn enter(&mut self, name: &OsStr) {
        self.directory.push(name);
        self.relative.push(name);
    }

    fn leave(&mut self) {
        self.directory.pop();
        self.relative.pop();
    }
}

/// Says whether rules, the strongest first, ignore a path.
pub(super) fn decide<'a>(
    strongest_first: impl Iterator<Item = &'a Gitignore>,
    path: &Path,
    is_dir: bool,
) -> bool {
    let mut matched = strongest_first.map(|rules| rules.matched(path, is_dir));
    matched.find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
}

/// Reads at most so many patterns.
pub(super) fn rules(directory: &Path, text: &[u8], limit: usize) -> Option<Gitignore> {
    if text.is_empty() || limit == 0 {
        return None;
    }
    let mut builder = GitignoreBuilder::new(directory);
    let text = String::from_utf8_lossy(text);
    let lines = text.trim_start_matches('\u{feff}').lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')).take(limit) {
        // A pattern that is none ignores nothing.
        drop(builder.add_line(None, line));
    }
    builder.build().ok()
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Says whether a directory is the top of another repository.
pub(super) fn is_repository(directory: &Path) -> bool {
    let dot_git = directory.join(".git");
    match fs::symlink_metadata(&dot_git) {
        Ok(metadata) if metadata.is_dir() => fs::symlink_metadata(dot_git.join("HEAD")).is_ok(),
        found => found.is_ok(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::time::Duration;

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    fn listed(walk: Walk) -> Vec<String> {
        let mut found = Vec::new();
        let ended = walk.files(
            Instant::now() + Duration::from_secs(60),
            |_, _| false,
            |file| {
                found.push(file.path.display().to_string());
                true
            },
        );
        assert_eq!(ended, Walking::Complete);
        found
    }

    #[test]
    fn the_deepest_rule_decides_and_rules_above_the_project_hold() {
        let made = Made::with(&[
            (".gitignore", "*.log\n/inner/skipped\n/far/\n"),
            ("inner/.gitignore", "!keep.log\n"),
        ]);
        let files = "inner/keep.log inner/a.log inner/b.rs inner/skipped/c.rs inner/d.bak inner/deep/keep.log \
                     far/e.rs";
        for file in files.split(' ') {
            made.write(file, "");
        }
        fs::write(made.path().join(".git/info/exclude"), "*.bak\n").unwrap();
        let walk = |path: &str| {
            let root = made.path().join(path);
            Walk::of_repository(&Repository::open(&root, &Caller::of_process()).unwrap().unwrap())
        };
        assert_eq!(listed(walk("inner")), [".gitignore", "b.rs", "deep/keep.log", "keep.log"]);
        assert_eq!(listed(walk("far")), [""; 0]);
        let all = [".gitignore", "inner/.gitignore", "inner/b.rs", "inner/deep/keep.log", "inner/keep.log"];
        assert_eq!(listed(walk("")), all);
        assert_eq!(listed(Walk::of(made.path())), all);
    }

    #[test]
    fn other_repositories_and_links_are_not_entered() {
        let made = Made::with(&[
            ("other/.git/HEAD", "x"),
            ("other/a.rs", ""),
            ("empty/.git/x", ""),
            ("empty/b.rs", ""),
        ]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", made.path().join("link")).unwrap();
        let expected: &[&str] = if cfg!(unix) { &["empty/b.rs", "link"] } else { &["empty/b.rs"] };
        assert_eq!(listed(Walk::of(made.path())), expected);
    }

    #[test]
    fn a_walk_ends_at_its_deadline_and_where_it_is_told() {
        let made = Made::with(&[("a.rs", ""), ("b.rs", "")]);
        let past = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(Walk::of(made.path()).files(past, |_, _| false, |_| true), Walking::CutShort);
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(Walk::of(made.path()).files(later, |_, _| false, |_| false), Walking::CutShort);
        assert_eq!(Walk::of(made.path()).files(later, |_, _| true, |_| false), Walking::Complete);
    }
}
