//! What stands out in the files of a project.
//!
//! [`Findings`] lists test gaps, large files and marks of unfinished work, the
//! gravest first. How many of them a snapshot has room for is decided by the
//! [`budget`](super::budget).

use std::cmp::Reverse;

use super::{
    classify::{FileKind, LANGUAGES, Language},
    counts::Counts,
    inventory::{File, Inventory},
    test_gaps::TestNames,
};
use crate::state::{LargeFile, TodoCount};

/// How many entries of a list can matter: more are never shown.
const MAX_ENTRIES: usize = 200;

/// What stands out in the files of a project.
#[derive(Debug)]
pub(super) struct Findings {
    /// The languages of the code, the one with most files first.
    pub(super) languages: Vec<String>,
    /// Source files that seem to have no tests, the longest first.
    pub(super) test_gaps: Listed<String>,
    /// Code files longer than the guardrail, the longest first.
    pub(super) large_files: Listed<LargeFile>,
    /// Files with marks, the most first.
    pub(super) todo_counts: Listed<TodoCount>,
}

/// The first entries of a list, and how many there are in all.
#[derive(Debug)]
pub(super) struct Listed<T> {
    pub(super) entries: Vec<T>,
    pub(super) total: usize,
}

impl Findings {
    /// Looks for what stands out.
    ///
    /// Where the inventory does not know which files were changed, `recount`
    /// looks at those that would be listed, so that what is shown is true.
    pub(super) fn of(
        inventory: &Inventory,
        max_file_lines: u32,
        mut recount: impl FnMut(&str) -> Option<Counts>,
    ) -> Self {
        let mut current = |path: &str, counts: Counts| {
            if inventory.knows_changes { Some(counts) } else { recount(path) }
        };
        let is_large = |counts: &Counts| counts.lines > max_file_lines;
        let large = worst(
            inventory,
            |file, counts| file.class.kind.is_code() && is_large(counts),
            |counts| counts.lines,
        );
        let has_marks = |file: &File, counts: &Counts| file.class.kind != FileKind::Doc && counts.todos > 0;
        let marked = worst(inventory, has_marks, |counts| counts.todos);
        Self {
            languages: languages(inventory),
            test_gaps: test_gaps(inventory),
            large_files: large.filter_map(|path, counts| {
                let lines = current(path, counts).filter(is_large)?.lines;
                Some(LargeFile { path: path.to_owned(), lines: lines.into() })
            }),
            todo_counts: marked.filter_map(|path, counts| {
                let count = current(path, counts)?.todos;
                (count > 0).then(|| TodoCount { path: path.to_owned(), count: count.into() })
            }),
        }
    }
}

impl<'a> Listed<(&'a str, Counts)> {
    fn filter_map<T>(self, mut map: impl FnMut(&'a str, Counts) -> Option<T>) -> Listed<T> {
        let before = self.entries.len();
        let entries: Vec<T> =
            self.entries.into_iter().filter_map(|(path, counts)| map(path, counts)).collect();
        Listed { total: self.total - (before - entries.len()), entries }
    }
}

/// Returns the files that `belongs` picks, those with the highest measure
/// first and equal ones by path.
fn worst(
    inventory: &Inventory,
    belongs: impl Fn(&File, &Counts) -> bool,
    measure: impl Fn(&Counts) -> u32,
) -> Listed<(&str, Counts)> {
    let picked = inventory.files.iter().enumerate().filter_map(|(position, file)| {
        let counts = file.counts.filter(|counts| belongs(file, counts))?;
        // The files are sorted by path, so their positions stand for it.
        Some((Reverse(measure(&counts)), position))
    });
    let mut ranks: Vec<(Reverse<u32>, usize)> = picked.collect();
    let total = ranks.len();
    if total > MAX_ENTRIES {
        // Ordering all of a large project would take longer than listing it.
        ranks.select_nth_unstable(MAX_ENTRIES);
        ranks.truncate(MAX_ENTRIES);
    }
    ranks.sort_unstable();
    let entry = |(_, position)| {
        let file: &File = inventory.files.get(position)?;
        Some((inventory.path(file), file.counts?))
    };
    Listed { entries: ranks.into_iter().filter_map(entry).collect(), total }
}

fn test_gaps(inventory: &Inventory) -> Listed<String> {
    let mut names = TestNames::default();
    for file in &inventory.files {
        names.learn(inventory.path(file), file.class);
    }
    let lacks = |file: &File, counts: &Counts| {
        names.lacks(inventory.path(file), file.class, counts.lines, counts.inline_tests)
    };
    worst(inventory, lacks, |counts| counts.lines).filter_map(|path, _| Some(path.to_owned()))
}

fn languages(inventory: &Inventory) -> Vec<String> {
    let mut names: Vec<(&str, usize)> = LANGUAGES.iter().map(|language| (language.name, 0)).collect();
    for file in inventory.files.iter().filter(|file| file.class.kind.is_code()) {
        let same = |language: &&Language| LANGUAGES.iter().position(|one| std::ptr::eq(one, *language));
        if let Some((_, count)) = file.class.language.as_ref().and_then(same).and_then(|at| names.get_mut(at))
        {
            *count += 1;
        }
    }
    names.retain(|(_, count)| *count > 0);
    names.sort_by_key(|(name, count)| (Reverse(*count), *name));
    names.into_iter().map(|(name, _)| name.to_owned()).collect()
}
