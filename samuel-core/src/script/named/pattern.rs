//! The files that patterns of a command line stand for: `ci/*.sh`, `ci/{a,b}.sh`, and what
//! `find` comes upon.

use std::{
    ffi::OsStr,
    fs,
    path::{Component, Path, PathBuf},
};

use ignore::gitignore::GitignoreBuilder;

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

/// Returns the files below a root that a pattern matches, which is relative to it: the
/// first of them, where there are many.
pub(crate) fn matches(pattern: &Path, root: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (vec![root.to_owned()], MAX_ENTRIES);
    for part in pattern.components() {
        let Component::Normal(part) = part else { return Vec::new() };
        found = match part.to_str() {
            Some(ANY_DEPTH) => with_all_below(found, &mut left),
            Some(name) if is_pattern(name) => matching(&found, name, &mut left),
            _ => found.into_iter().map(|directory| directory.join(part)).collect(),
        };
    }
    found.retain(|path| path.is_file());
    found.truncate(MAX_MATCHES);
    found
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
    let mut rules = GitignoreBuilder::new("");
    let built = rules.add_line(None, &format!("/{name}")).and_then(|rules| rules.build());
    let Ok(rules) = built else { return Vec::new() };
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
