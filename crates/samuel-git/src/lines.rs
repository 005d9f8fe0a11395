//! How many lines of a file differ between two commits.
//!
//! Contents are read as git stores them: what attributes say of conversions, or of which program to show a difference
//! with, is left alone. A file with a zero byte near its beginning is binary, as it is for git.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::{
    GitError, ObjectId, Repository,
    odb::{Kind, Objects},
};

/// How many files are looked at.
const MAX_FILES: usize = 2_000;
/// How many lines a file may have to be counted.
const MAX_LINES: usize = 200_000;
/// Within how many bytes a zero byte makes a file binary, as for git.
const LOOKED_AT: usize = 8_000;

/// How many lines of a file differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferentLines {
    /// So many.
    Counted {
        /// How many only the second commit has.
        added: u64,
        /// How many only the first one has.
        removed: u64,
    },
    /// It is no text in one of them.
    Binary,
    /// They were not counted: there are too many files, one is too large, or it took too long.
    Unknown,
}

/// Counts the lines of one file after the other.
pub(super) struct Counting {
    objects: Objects,
    deadline: Instant,
    left: usize,
}

impl Counting {
    /// Begins to count, for at most so long.
    pub(super) fn begin(repository: &Repository, limit: Duration) -> Result<Self, GitError> {
        let (objects, deadline) = (repository.objects(limit)?, Instant::now() + limit);
        Ok(Self { objects, deadline, left: MAX_FILES })
    }

    /// Counts those of a file by its contents in each commit; nothing where one does not have it.
    pub(super) fn count(&mut self, before: Option<ObjectId>, after: Option<ObjectId>) -> DifferentLines {
        let Some(left) = self.left.checked_sub(1) else { return DifferentLines::Unknown };
        if Instant::now() > self.deadline {
            return DifferentLines::Unknown;
        }
        self.left = left;
        match (self.content(before), self.content(after)) {
            (Some(before), Some(after)) => self.compare(&before, &after),
            _ => DifferentLines::Unknown,
        }
    }

    /// Returns the content of a file, which is empty where it is not there; nothing where it cannot be read.
    fn content(&self, id: Option<ObjectId>) -> Option<Vec<u8>> {
        let Some(id) = id else { return Some(Vec::new()) };
        let (kind, data) = self.objects.read(&id).ok()??;
        (kind == Kind::Other).then_some(data)
    }

    fn compare(&self, before: &[u8], after: &[u8]) -> DifferentLines {
        if is_binary(before) || is_binary(after) {
            return DifferentLines::Binary;
        }
        let is_long = |content| memchr::memchr_iter(b'\n', content).count() >= MAX_LINES;
        if is_long(before) || is_long(after) {
            return DifferentLines::Unknown;
        }
        let (before, after) = (lines(before), lines(after));
        let differences =
            capture_diff_slices_deadline(Algorithm::Myers, &before, &after, Some(self.deadline));
        // Past the deadline the rest is taken for different.
        if Instant::now() > self.deadline {
            return DifferentLines::Unknown;
        }
        let (mut added, mut removed) = (0, 0);
        for difference in differences.iter().filter(|each| !matches!(each, DiffOp::Equal { .. })) {
            removed += difference.old_range().len() as u64;
            added += difference.new_range().len() as u64;
        }
        DifferentLines::Counted { added, removed }
    }
}

fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, content.get(..LOOKED_AT).unwrap_or(content)).is_some()
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::process::Command;

    use super::*;
    use crate::testing::Repository as Made;

    #[test]
    fn lines_are_counted_as_git_counts_them_and_binary_files_are_told() {
        let long = (0..50).map(|line| format!("{line}\n")).collect::<String>();
        let made =
            Made::with(&[("gone", "one\ntwo\n"), ("text", &long), ("data", "a\0b\n"), ("end", "no end")]);
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
            let output = Command::new("git").args(who).args(args).current_dir(made.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let first = git(&["rev-parse", "HEAD"]).trim().to_owned();
        std::fs::remove_file(made.path().join("gone")).unwrap();
        for (path, content) in [
            ("text", long.replacen("7\n", "x\ny\nz\n", 1).replacen("30\n", "", 1)),
            ("data", "a\0c\nd\n".to_owned()),
            ("end", "no end\n".to_owned()),
            ("new", "1\n2\n3".to_owned()),
        ] {
            std::fs::write(made.path().join(path), content).unwrap();
        }
        git(&["add", "-A"]);
        git(&["commit", "--quiet", "-m", "Two"]);
        let second = git(&["rev-parse", "HEAD"]).trim().to_owned();
        let limit = Duration::from_secs(60);
        let differ = made.opened().changes_between(&first, &second, limit).unwrap();
        let told: Vec<String> = differ
            .iter()
            .map(|file| match file.lines {
                DifferentLines::Counted { added, removed } => format!("{added}\t{removed}\t{}", file.path),
                DifferentLines::Binary => format!("-\t-\t{}", file.path),
                DifferentLines::Unknown => format!("?\t?\t{}", file.path),
            })
            .collect();
        let numstat = git(&["diff", "--no-renames", "--numstat", &first, &second]);
        assert_eq!(told, numstat.lines().collect::<Vec<&str>>());
        assert!(numstat.contains("3\t2\ttext") && numstat.contains("-\t-\tdata"), "{numstat}");
        // A look that may take no time counts nothing, and is none that fails.
        let mut counting = Counting { left: 0, ..Counting::begin(&made.opened(), limit).unwrap() };
        assert_eq!(counting.count(None, None), DifferentLines::Unknown);
    }
}
