//! Whether the files that two tasks declare overlap. The files of earlier conflicts count as declared.

use samuel_model::{Plan, Task};

/// What no plain path has.
const PATTERN: [char; 4] = ['*', '?', '[', '{'];

/// The files that a task declares, and those in which earlier attempts at it were in conflict.
pub(super) struct Declared<'a> {
    task: &'a Task,
    in_conflict: &'a [String],
}

impl<'a> Declared<'a> {
    pub(super) fn of(plan: &'a Plan, task: &'a Task) -> Self {
        let claim = plan.claims.iter().find(|claim| claim.task.task() == Some(&task.id));
        Self { task, in_conflict: claim.map(|claim| claim.files.as_slice()).unwrap_or_default() }
    }

    fn paths(&self) -> impl Iterator<Item = &'a str> {
        let declared = self.task.files_to_create.iter().chain(&self.task.files_to_modify);
        declared.chain(self.in_conflict).map(String::as_str)
    }
}

/// Returns the first file or directory that both tasks declare, as the first one names it. A directory has
/// all that is below it; of a pattern the directory counts that it begins with.
pub(super) fn overlap<'a>(one: &Declared<'a>, other: &Declared<'_>) -> Option<&'a str> {
    let theirs: Vec<String> = other.paths().map(plain).collect();
    one.paths().find(|path| {
        let path = plain(path);
        theirs.iter().any(|other| is_within(&path, other) || is_within(other, &path))
    })
}

/// Returns a path without what says nothing, and without what is left again by `..`; the root is empty.
fn plain(path: &str) -> String {
    let path = match path.find(PATTERN) {
        // Where a pattern leaves directories again, nobody knows which.
        Some(at) if path.get(at..).is_some_and(|rest| rest.split('/').any(|part| part == "..")) => "",
        Some(at) => path.get(..at).and_then(|before| before.rsplit_once('/')).map_or("", |(dir, _)| dir),
        None => path,
    };
    let mut parts = Vec::new();
    for part in path.trim().split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_within(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::TaskId;

    fn task(creates: &[&str], modifies: &[&str]) -> Task {
        let owned = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect();
        Task {
            files_to_create: owned(creates),
            files_to_modify: owned(modifies),
            ..Task::new(TaskId::new("1"), "t")
        }
    }

    fn between<'a>(one: &'a Task, other: &'a Task) -> Option<&'a str> {
        let declared = |task: &'a Task| Declared { task, in_conflict: &[] };
        overlap(&declared(one), &declared(other))
    }

    #[test]
    fn a_file_overlaps_itself_and_its_directories_and_no_neighbour() {
        let overlaps = |one: &str, other: &str| between(&task(&[one], &[]), &task(&[], &[other])).is_some();
        for (one, other) in [
            ("src/a.rs", "src/a.rs"),
            ("./src/a.rs", "src//a.rs"),
            ("src/", "src/a.rs"),
            ("src/parse/a.rs", "src"),
            ("src/*.rs", "src/a.rs"),
            ("**/*.rs", "docs/a.md"),
            (".", "a"),
            ("src/../a.rs", "a.rs"),
            ("src/./parse/../a.rs", "src/a.rs"),
            ("src/..", "docs/a.md"),
            ("../lib/a.rs", "../lib/b/../a.rs"),
            ("src/*/../../a.rs", "a.rs"),
        ] {
            assert!(overlaps(one, other) && overlaps(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("src/a.rs", "src/ab.rs"),
            ("src", "src2/a.rs"),
            ("src/*.rs", "docs/a.md"),
            ("src/../a.rs", "src/a.rs"),
            ("../a.rs", "a.rs"),
            ("../../a.rs", "../a.rs"),
        ] {
            assert!(!overlaps(one, other) && !overlaps(other, one), "{one} {other}");
        }
        assert_eq!(
            between(&task(&[], &[]), &task(&["a"], &[])),
            None,
            "who declares nothing is in nobody's way"
        );
        assert_eq!(between(&task(&["b", "a/x"], &[]), &task(&["a"], &[])), Some("a/x"));
    }
}
