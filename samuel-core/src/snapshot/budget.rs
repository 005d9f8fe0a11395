//! Fitting a snapshot into its budget of tokens.
//!
//! A token is taken for four characters. Log, test gaps, large files and marks
//! each have a share; what they do not use goes to the list of files, which is
//! sampled until the text fits. `summary.notes` says what was left out.

use std::{fs, path::Path};

use super::{
    findings::{Findings, Listed},
    inventory::Inventory,
    sample::{Candidate, sample},
};
use crate::{
    state::{CommitLine, ProjectSnapshot, SnapshotFile, SnapshotSummary},
    text::{self, CHARS_PER_TOKEN},
    toon,
};

/// Shares of the budget in percent.
const LOG_SHARE: usize = 10;
const GAPS_SHARE: usize = 15;
const LARGE_SHARE: usize = 8;
const TODO_SHARE: usize = 8;
/// The most that languages and notes may take.
const SUMMARY_SHARE: usize = 20;

/// What a row of the list of files takes beside its path.
const FILE_CHARS: usize = 18;
/// How often the length of the list is corrected.
const CORRECTIONS: usize = 6;

/// Everything a snapshot could say.
pub(super) struct Candidates<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) findings: Findings,
    pub(super) log: Vec<CommitLine>,
    pub(super) root: &'a Path,
    pub(super) now: jiff::Timestamp,
}

/// Estimates the tokens of a snapshot as it is written.
fn tokens(snapshot: &ProjectSnapshot) -> usize {
    let text = toon::to_string(snapshot).expect("text, numbers and lists always have a TOON form");
    text::tokens(&text)
}

/// Makes the snapshot that says as much as the budget allows.
pub(super) fn fit(candidates: Candidates<'_>, max_tokens: usize) -> ProjectSnapshot {
    let Candidates { inventory, findings, log, root, now } = candidates;
    let share = |percent: usize| max_tokens * CHARS_PER_TOKEN * percent / 100;
    let mut notes = inventory.notes.clone();
    let mut keep = Keeper { notes: &mut notes };
    let mut snapshot = ProjectSnapshot {
        generated_at: now,
        test_gaps: keep.within("test gaps", findings.test_gaps, share(GAPS_SHARE), |path| path.len() + 1),
        large_files: keep
            .within("large files", findings.large_files, share(LARGE_SHARE), |file| file.path.len() + 10),
        todo_counts: keep
            .within("files with marks", findings.todo_counts, share(TODO_SHARE), |file| file.path.len() + 8),
        git_log: within(log, share(LOG_SHARE), |entry| entry.subject.chars().count() + 26),
        ..ProjectSnapshot::default()
    };
    let room = share(SUMMARY_SHARE);
    snapshot.summary = SnapshotSummary {
        files: inventory.files.len() as u64,
        lines: inventory.lines(),
        languages: within(findings.languages, room / 4, |name| name.len() + 1),
        notes: within(notes, room / 2, |note| note.chars().count() + 3),
    };
    fill(snapshot, inventory, root, max_tokens)
}

/// Adds as many files as there is room for.
fn fill(snapshot: ProjectSnapshot, inventory: &Inventory, root: &Path, max_tokens: usize) -> ProjectSnapshot {
    let files: Vec<Candidate<'_>> = inventory
        .files
        .iter()
        .enumerate()
        .map(|(index, file)| Candidate { path: inventory.path(file), kind: file.class.kind, index })
        .collect();
    let fixed = tokens(&snapshot);
    let room = max_tokens.saturating_sub(fixed) * CHARS_PER_TOKEN;
    let path_chars: usize = files.iter().map(|file| file.path.len() + FILE_CHARS).sum();
    let mut count = if path_chars <= room { files.len() } else { room * files.len() / path_chars.max(1) };
    for _ in 0..CORRECTIONS {
        let filled = with_files(&snapshot, inventory, &files, root, count);
        let used = tokens(&filled);
        if used <= max_tokens {
            return filled;
        }
        // A little less than proportional, so that the next one fits.
        let for_files = used.saturating_sub(fixed).max(1);
        count = (count * max_tokens.saturating_sub(fixed) / for_files) * 97 / 100;
    }
    shed(with_files(&snapshot, inventory, &files, root, 0), max_tokens)
}

fn with_files(
    snapshot: &ProjectSnapshot,
    inventory: &Inventory,
    files: &[Candidate<'_>],
    root: &Path,
    count: usize,
) -> ProjectSnapshot {
    let mut filled = snapshot.clone();
    let chosen = sample(files, count).into_iter().filter_map(|index| inventory.files.get(index));
    filled.files = chosen
        .filter_map(|file| {
            let path = inventory.path(file);
            // A file that git tracks may have been deleted.
            let bytes = fs::symlink_metadata(root.join(path)).ok()?.len();
            Some(SnapshotFile { path: path.to_owned(), bytes, kind: file.class.kind.to_string() })
        })
        .collect();
    if count < files.len() {
        let note = format!(
            "{} of {} files are listed, chosen so that all directories are seen",
            filled.files.len(),
            files.len()
        );
        filled.summary.notes.push(note);
    }
    filled
}

/// Empties lists until the rest fits: what is left of a budget so small that
/// no file fits.
fn shed(mut snapshot: ProjectSnapshot, max_tokens: usize) -> ProjectSnapshot {
    let steps: [fn(&mut ProjectSnapshot); 5] = [
        |snapshot| snapshot.todo_counts.clear(),
        |snapshot| snapshot.large_files.clear(),
        |snapshot| snapshot.test_gaps.clear(),
        |snapshot| snapshot.git_log.clear(),
        |snapshot| snapshot.summary.notes.clear(),
    ];
    for step in steps {
        if tokens(&snapshot) > max_tokens {
            step(&mut snapshot);
        }
    }
    snapshot
}

/// Notes how much of each list is kept.
struct Keeper<'a> {
    notes: &'a mut Vec<String>,
}

impl Keeper<'_> {
    fn within<T>(&mut self, name: &str, list: Listed<T>, chars: usize, cost: impl Fn(&T) -> usize) -> Vec<T> {
        let kept = within(list.entries, chars, cost);
        if kept.len() < list.total {
            self.notes.push(format!("{} of {} {name} are listed", kept.len(), list.total));
        }
        kept
    }
}

/// Keeps the first entries, as many as fit.
fn within<T>(entries: Vec<T>, chars: usize, cost: impl Fn(&T) -> usize) -> Vec<T> {
    let mut left = chars;
    let fits = |entry: &T| match left.checked_sub(cost(entry)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    entries.into_iter().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::super::{SnapshotOptions, cache::Key, counts::Counts, inventory::Origin, take_snapshot};
    use super::*;
    use crate::git::testing::Repository;
    use std::collections::HashMap;

    fn now() -> jiff::Timestamp {
        "2026-11-21T10:00:00Z".parse().unwrap()
    }

    fn repository(files: usize) -> Repository {
        let repository = Repository::with(&[]);
        for n in 0..files {
            let (package, module) = (n % 7, n % 31);
            let marks = "// TODO\n".repeat(n % 5);
            repository.write(
                &format!("package-{package}/module_{module}/file {n}, part.rs"),
                &format!("fn f() {{}}\n{marks}"),
            );
        }
        repository.write("README.md", "Read me\n");
        repository.commit("A commit");
        repository
    }

    fn snapshot(repository: &Repository, max_tokens: usize) -> ProjectSnapshot {
        let options = SnapshotOptions { max_tokens, ..SnapshotOptions::new(now()) };
        take_snapshot(repository.path(), &options).unwrap()
    }

    #[test]
    fn the_budget_is_kept_and_used() {
        let repository = repository(600);
        let empty = ProjectSnapshot { generated_at: now(), ..ProjectSnapshot::default() };
        // The figures are always there.
        let least = tokens(&empty) + 20;
        for max_tokens in [0, 20, 60, 200, 500, 1_000, 4_000, 8_000] {
            let used = tokens(&snapshot(&repository, max_tokens));
            assert!(used <= max_tokens.max(least), "{used} of {max_tokens}");
            assert!(max_tokens < 1_000 || used * 10 >= max_tokens * 8, "only {used} of {max_tokens}");
        }
    }

    #[test]
    fn the_order_files_are_found_in_does_not_matter() {
        let paths: Vec<String> =
            (0..400).map(|n| format!("package-{}/module_{}/file{n}.rs", n % 7, n % 31)).collect();
        let root = tempfile::tempdir().unwrap();
        for path in &paths {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let key = |n: usize| {
            let mut digest = [0; 20];
            digest[..8].copy_from_slice(&(n as u64).to_be_bytes());
            Key::of_digest(&digest).unwrap()
        };
        let numbers: HashMap<Key, u32> = (0..400).map(|n| (key(n), n as u32)).collect();
        let build = |order: &[usize]| {
            let files = order.iter().filter_map(|n| Some((paths.get(*n)?.as_str(), key(*n))));
            let mut inventory = Inventory::of_blobs(files);
            for file in &mut inventory.files {
                let Origin::Blob(key) = file.origin else { unreachable!("all files are blobs") };
                let number = numbers[&key];
                file.counts =
                    Some(Counts { lines: number % 13 * 40, todos: number % 4, inline_tests: false });
            }
            let findings = Findings::of(&inventory, 300, |_| None);
            let (inventory, root) = (&inventory, root.path());
            fit(Candidates { inventory, findings, log: Vec::new(), root, now: now() }, 600)
        };
        let forwards: Vec<usize> = (0..400).collect();
        let shuffled: Vec<usize> = (0..400).map(|n| n * 171 % 400).rev().map(|n| (n + 7) % 400).collect();
        let mut check = shuffled.clone();
        check.sort_unstable();
        assert_eq!(check, forwards, "the order is a permutation");
        assert_eq!(build(&shuffled), build(&forwards));
        assert!(!build(&forwards).test_gaps.is_empty() && !build(&forwards).files.is_empty());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let snapshot = snapshot(&repository(600), 1_000);
        let listed = snapshot.files.len();
        let note = format!("{listed} of 601 files are listed, chosen so that all directories are seen");
        assert!(snapshot.summary.notes.contains(&note), "{:?}", snapshot.summary.notes);
        assert!(snapshot.summary.notes.iter().any(|note| note.ends_with("files with marks are listed")));
        assert_eq!(snapshot.summary.files, 601);
    }

    #[test]
    fn every_package_is_seen_in_a_small_budget() {
        let snapshot = snapshot(&repository(600), 1_000);
        for package in 0..7 {
            let prefix = format!("package-{package}/");
            assert!(snapshot.files.iter().any(|file| file.path.starts_with(&prefix)), "{prefix}");
        }
        assert!(snapshot.files.iter().any(|file| file.path == "README.md"));
    }
}
