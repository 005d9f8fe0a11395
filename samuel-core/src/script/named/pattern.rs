//! The files that patterns of a command line stand for: `ci/*.sh`, `ci/{a,b}.sh`, and what
//! `find` comes upon.

use std::{
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// How many files of a pattern are looked at.
const MAX_MATCHES: usize = 200;

/// How many entries of directories are read for a pattern.
const MAX_ENTRIES: usize = 10_000;

/// What stands for any directories, at any depth.
const ANY_DEPTH: &str = "**";

/// Says whether the shell puts files in the place of a word, as far as the word tells.
pub(super) fn is_pattern(word: &str) -> bool {
    let has_braces = word.contains('{') && word.contains(',');
    (has_braces || word.contains(['*', '?', '['])) && !word.contains(['$', '`'])
}

/// Says whether a pattern goes to directories of any depth, as `find` does.
pub(crate) fn is_deep(pattern: &Path) -> bool {
    pattern.iter().any(|part| part == ANY_DEPTH)
}

/// Returns the patterns of what `find` comes upon, by the words after its name.
pub(super) fn of_find(words: &[String]) -> Vec<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let places = words.iter().skip_while(|word| matches!(**word, "-L" | "-H" | "-P"));
    let mut places: Vec<&str> =
        places.take_while(|word| !word.starts_with(['-', '(', '!'])).copied().collect();
    if places.is_empty() {
        places.push(".");
    }
    let name = |pair: &[&str]| match pair {
        ["-name" | "-iname", name] => Some((*name).to_owned()),
        _ => None,
    };
    let mut names: Vec<String> = words.windows(2).filter_map(name).collect();
    if names.is_empty() {
        names.push("*".to_owned());
    }
    let patterns = places.iter().flat_map(|place| {
        let below = names.iter().map(move |name| format!("{place}/{ANY_DEPTH}/{name}"));
        std::iter::once((*place).to_owned()).chain(below)
    });
    patterns.take(MAX_MATCHES).collect()
}

/// Returns the commands that `find` starts by `-exec` and the like, with each of the
/// patterns in the place of `{}`.
pub(super) fn started_by_find(words: &[String]) -> Vec<Vec<String>> {
    let is_start = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let patterns = of_find(words);
    let starts = words.iter().enumerate().filter(|(_, word)| is_start(word)).map(|(at, _)| at + 1);
    let commands = starts.filter_map(|start| {
        let rest = words.get(start..)?;
        let end = rest.iter().position(|word| matches!(word.as_str(), ";" | "+")).unwrap_or(rest.len());
        rest.get(..end)
    });
    let commands = commands.flat_map(|command| {
        let with = |pattern: &String| command.iter().map(|word| word.replace("{}", pattern)).collect();
        patterns.iter().map(with).collect::<Vec<_>>()
    });
    commands.take(MAX_MATCHES).collect()
}

/// What a pattern matches.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// The files: the first of them, where there are many.
    pub(crate) files: Vec<PathBuf>,
    /// Whether there may be more of them than were looked at.
    pub(crate) may_be_more: bool,
}

/// Returns the files below a root that a pattern matches, which is relative to it: the
/// first of them, where there are many.
pub(crate) fn matches(pattern: &Path, root: &Path) -> Vec<PathBuf> {
    look(pattern, root).files
}

/// Looks for what a pattern matches below a root.
pub(crate) fn look(pattern: &Path, root: &Path) -> Matches {
    let (mut found, mut left) = (vec![root.to_owned()], MAX_ENTRIES);
    for part in pattern.components() {
        let Component::Normal(part) = part else { return Matches::default() };
        found = match part.to_str() {
            Some(ANY_DEPTH) => with_all_below(found, &mut left),
            Some(name) if is_pattern(name) => matching(&found, name, &mut left),
            _ => found.into_iter().map(|directory| directory.join(part)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    let may_be_more = left == 0 || found.len() > MAX_MATCHES;
    found.truncate(MAX_MATCHES);
    Matches { files: found, may_be_more }
}

/// Says whether a pattern matches a path, both relative to one root, as far as names tell: no directory is read.
pub(crate) fn covers(pattern: &Path, path: &Path) -> bool {
    fits(&parts(pattern), &parts(path), Reach::Itself)
}

/// Says whether a pattern matches a path that lies below a directory, as far as names tell.
pub(crate) fn leads_below(pattern: &Path, directory: &Path) -> bool {
    fits(&parts(pattern), &parts(directory), Reach::Below)
}

/// What of a path a pattern is held against.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Itself,
    Below,
}

fn parts(path: &Path) -> Vec<&OsStr> {
    path.iter().collect()
}

fn fits(pattern: &[&OsStr], path: &[&OsStr], reach: Reach) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => reach == Reach::Itself,
        (None, Some(_)) => false,
        (Some(_), None) => reach == Reach::Below,
        (Some((part, rest)), Some((_, names))) if *part == ANY_DEPTH => {
            fits(rest, path, reach) || fits(pattern, names, reach)
        }
        (Some((part, rest)), Some((name, names))) => is_name(part, name) && fits(rest, names, reach),
    }
}

/// Says whether one part of a pattern matches one name.
fn is_name(part: &OsStr, name: &OsStr) -> bool {
    match part.to_str() {
        Some(text) if is_pattern(text) => {
            rules_of(text).is_some_and(|rules| rules.matched(Path::new(name), false).is_ignore())
        }
        _ => part == name,
    }
}

fn rules_of(name: &str) -> Option<Gitignore> {
    GitignoreBuilder::new("").add_line(None, &format!("/{name}")).and_then(|rules| rules.build()).ok()
}

/// Returns directories with all that are below them, those that are near first.
fn with_all_below(mut directories: Vec<PathBuf>, left: &mut usize) -> Vec<PathBuf> {
    let mut at = 0;
    while let Some(directory) = directories.get(at).cloned() {
        let below = entries(&directory, left).into_iter().filter(|entry| {
            entry.file_name() != OsStr::new(".git") && entry.file_type().is_ok_and(|found| found.is_dir())
        });
        directories.extend(below.map(|entry| entry.path()));
        at += 1;
    }
    directories
}

/// Returns the entries of directories whose names match.
fn matching(directories: &[PathBuf], name: &str, left: &mut usize) -> Vec<PathBuf> {
    let Some(rules) = rules_of(name) else { return Vec::new() };
    let entries = directories.iter().flat_map(|directory| entries(directory, left));
    let entries = entries.filter(|entry| rules.matched(Path::new(&entry.file_name()), false).is_ignore());
    entries.map(|entry| entry.path()).collect()
}

fn entries(directory: &Path, left: &mut usize) -> Vec<fs::DirEntry> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut entries: Vec<fs::DirEntry> = entries.take(*left).filter_map(Result::ok).collect();
    *left = left.saturating_sub(entries.len());
    entries.sort_by_key(fs::DirEntry::file_name);
    entries
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn names_alone_tell_what_a_pattern_matches_and_what_leads_to_it() {
        let covers = |pattern: &str, path: &str| covers(Path::new(pattern), Path::new(path));
        for (pattern, path) in [
            (".claude/settings*.json", ".claude/settings.json"),
            (".claude/settings*.json", ".claude/settings.local.json"),
            (".codex/**/*", ".codex/a"),
            (".codex/**/*", ".codex/deep/er/a"),
            ("ci/*.sh", "ci/a.sh"),
        ] {
            assert!(covers(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            (".claude/settings*.json", ".claude/other.json"),
            (".claude/settings*.json", "sub/.claude/settings.json"),
            ("ci/*.sh", "ci/deep/a.sh"),
            ("ci/*.sh", "ci"),
        ] {
            assert!(!covers(pattern, path), "{pattern} {path}");
        }
        let leads = |pattern: &str, path: &str| leads_below(Path::new(pattern), Path::new(path));
        assert!(leads(".claude/settings*.json", ".claude") && leads("ci/*/a.sh", "ci/x"));
        assert!(leads(".codex/**/*", ".codex/any/where") && !leads("ci/*.sh", "src"));
        assert!(!leads("ci/*.sh", "ci/a.sh"));
    }

    #[test]
    fn a_pattern_matches_what_the_shell_would_put_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("[r]");
        fs::create_dir_all(root.join("ci/deep/er")).unwrap();
        for file in ["ci/a.sh", "ci/b.sh", "ci/c.py", "ci/deep/d.sh", "ci/deep/er/e.sh"] {
            fs::write(root.join(file), "").unwrap();
        }
        for (pattern, expected) in [
            ("ci/*.sh", "ci/a.sh ci/b.sh"),
            ("c?/[ac].*", "ci/a.sh ci/c.py"),
            ("ci/{b,c,x}.*", "ci/b.sh ci/c.py"),
            ("ci/*", "ci/a.sh ci/b.sh ci/c.py"),
            ("ci/**/*.sh", "ci/a.sh ci/b.sh ci/deep/d.sh ci/deep/er/e.sh"),
            ("*/deep/d.sh", "ci/deep/d.sh"),
            ("ci/a.sh", "ci/a.sh"),
            ("ci/[", ""),
            ("../[r]/ci/*", ""),
        ] {
            let found = matches(Path::new(pattern), &root);
            let found = found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string());
            assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{pattern}");
        }
        for number in 0..MAX_MATCHES {
            fs::write(root.join(format!("ci/{number}.sh")), "").unwrap();
        }
        assert_eq!(matches(Path::new("ci/*.sh"), &root).len(), MAX_MATCHES);
    }
}
