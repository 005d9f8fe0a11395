//! Which of some files git leaves out of a commit.
//!
//! Only the files that are asked about are looked at, with the ignore files beside and above them. Each of these is
//! read once, as any file that somebody else made; one that cannot be read covers nothing.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use ignore::gitignore::Gitignore;

use super::{
    ignores::{MAX_IGNORE_FILE, MAX_PATTERNS, decide, rules},
    read,
};

/// The name of an ignore file.
const IGNORE_FILE: &str = ".gitignore";

/// Returns those of some files below a directory, by their paths in it, that a `.gitignore` covers: one beside them, or
/// above them up to the top of the repository. A directory that is in no repository yet may come to be in one anywhere
/// above.
pub fn covered(directory: &Path, files: &[String]) -> Vec<String> {
    let mut reading = Reading::default();
    let above = reading.above(directory);
    let is_covered = |file: &&String| reading.covers(&above, directory, file);
    files.iter().filter(is_covered).cloned().collect()
}

/// The rules that were read.
#[derive(Default)]
struct Reading {
    /// Those of the directory and of what is below it.
    inner: HashMap<PathBuf, Option<Gitignore>>,
    patterns: usize,
}

impl Reading {
    fn read(&mut self, directory: &Path, file: &Path) -> Option<Gitignore> {
        let text = read::read(file, MAX_IGNORE_FILE).ok()?;
        let rules = rules(directory, &text, MAX_PATTERNS.saturating_sub(self.patterns))?;
        self.patterns += rules.len();
        Some(rules)
    }

    /// Reads the rules that hold for all of a directory, the strongest first.
    fn above(&mut self, directory: &Path) -> Vec<Gitignore> {
        let mut above = Vec::new();
        for outer in directory.ancestors() {
            if outer != directory {
                above.extend(self.read(outer, &outer.join(IGNORE_FILE)));
            }
            if outer.join(".git").symlink_metadata().is_ok() {
                above.extend(self.read(outer, &outer.join(".git/info/exclude")));
                break;
            }
        }
        above
    }

    fn covers(&mut self, above: &[Gitignore], top: &Path, file: &str) -> bool {
        let path = top.join(file);
        let mut directories: Vec<&Path> =
            path.ancestors().skip(1).take_while(|outer| outer.starts_with(top)).collect();
        directories.reverse();
        for directory in &directories {
            if !self.inner.contains_key(*directory) {
                let rules = self.read(directory, &directory.join(IGNORE_FILE));
                self.inner.insert((*directory).to_owned(), rules);
            }
        }
        // Git enters no directory that it ignores.
        let entered = directories.iter().skip(1).map(|directory| (*directory, true));
        let mut looked_at = entered.chain([(path.as_path(), false)]).enumerate();
        looked_at.any(|(depth, (path, is_dir))| {
            let strongest_first = directories.iter().take(depth + 1).rev();
            let inner = strongest_first.filter_map(|directory| self.inner.get(*directory)?.as_ref());
            decide(inner.chain(above), path, is_dir)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[test]
    fn files_are_told_of_that_a_gitignore_beside_or_above_them_covers() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("top");
        let plugin = top.join("plugin");
        for directory in ["top/.git/info", "top/plugin/target", "top/plugin/docs"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        for (path, text) in [
            (".gitignore", "*.md\n"),
            ("top/.gitignore", "*.wasm\n"),
            ("top/.git/info/exclude", "*.bak\n"),
            ("top/plugin/.gitignore", "/target\n!kept.wasm\n*.log\n"),
            ("top/plugin/docs/.gitignore", "*.txt\n!important.txt\n!kept.log\n"),
        ] {
            fs::write(root.path().join(path), text).unwrap();
        }
        let files = [
            ".hidden",
            "a.bak",
            "b.wasm",
            "docs/a.txt",
            "docs/important.txt",
            "docs/kept.log",
            "docs/target/a",
            "kept.wasm",
            "readme.md",
            "target/a",
        ];
        let expected = ["a.bak", "b.wasm", "docs/a.txt", "target/a"];
        assert_eq!(covered(&plugin, &files.map(str::to_owned)), expected);
        // Above the repository nobody has a say; where there is none, everybody.
        fs::remove_dir_all(top.join(".git")).unwrap();
        let expected = ["b.wasm", "docs/a.txt", "readme.md", "target/a"];
        assert_eq!(covered(&plugin, &files.map(str::to_owned)), expected);
    }

    #[test]
    fn a_pipe_in_place_of_an_ignore_file_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join(IGNORE_FILE);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        fs::create_dir(root.path().join("plugin")).unwrap();
        assert!(covered(&root.path().join("plugin"), &["a".to_owned()]).is_empty());
        assert!(covered(root.path(), &["a".to_owned()]).is_empty());
    }
}
