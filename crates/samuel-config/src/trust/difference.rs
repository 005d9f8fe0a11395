//! What would execute now, held against what was trusted.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Executable, ExecutableKind, executables::quoted_line};

/// What would execute now, held against what was trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What would execute and was not there.
    pub new: Vec<Executable>,
    /// What would execute in another way, or with other files.
    pub changed: Vec<ChangedExecutable>,
    /// What was trusted and would not execute any more, such as a quality check.
    pub gone: Vec<Executable>,
    /// Whether the same would execute in another order, as of two plugins.
    pub reordered: bool,
}

/// One thing that would execute in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedExecutable {
    /// As it was trusted.
    pub before: Executable,
    /// As it would execute now.
    pub now: Executable,
}

/// What tells one thing that executes from another: a handler may answer at several points.
type Key<'a> = (ExecutableKind, &'a str, Option<&'a str>);

impl Difference {
    /// Compares what was trusted with what would execute.
    pub fn between(trusted: &[Executable], now: &[Executable]) -> Self {
        // Each list is in order, so that of several with one name the first meet first.
        let mut left: BTreeMap<Key<'_>, VecDeque<&Executable>> = BTreeMap::new();
        for entry in trusted {
            left.entry(key(entry)).or_default().push_back(entry);
        }
        let mut difference = Self::default();
        for entry in now {
            match left.get_mut(&key(entry)).and_then(VecDeque::pop_front) {
                None => difference.new.push(entry.clone()),
                Some(before) if before == entry => {}
                Some(before) => {
                    difference.changed.push(ChangedExecutable { before: before.clone(), now: entry.clone() });
                }
            }
        }
        difference.gone = left.into_values().flatten().cloned().collect();
        difference.reordered = difference.is_empty() && !trusted.iter().map(key).eq(now.iter().map(key));
        difference
    }

    /// Says whether exactly what was trusted would execute.
    pub fn is_empty(&self) -> bool {
        self.adds_nothing() && self.gone.is_empty() && !self.reordered
    }

    /// Says whether nothing would execute that was not trusted.
    pub(super) fn adds_nothing(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty()
    }

    /// Returns it for reading: a line for each thing, and below it what was (`-`) and what
    /// is (`+`) of one that changed. Nothing in it can look like another line.
    pub fn lines(&self) -> Vec<String> {
        let whole = |how: &str, entries: &[Executable]| -> Vec<String> {
            entries.iter().flat_map(|entry| headed(how, entry.lines())).collect()
        };
        let changed = self.changed.iter().flat_map(ChangedExecutable::lines);
        let order = self.reordered.then(|| "changed: the order in which this runs".to_owned());
        let lines = whole("new", &self.new).into_iter().chain(changed).chain(whole("gone", &self.gone));
        lines.chain(order).collect()
    }
}

impl ChangedExecutable {
    fn lines(&self) -> Vec<String> {
        let (before, now) = (self.before.lines(), self.now.lines());
        let name = format!("changed: {} {}", self.now.kind.as_str(), quoted_line(&self.now.id));
        let removed = before.iter().filter(|line| !now.contains(line));
        let added = now.iter().filter(|line| !before.contains(line));
        let shown = |sign: char, line: &String| format!("  {sign} {}", line.trim_start());
        let removed = removed.map(|line| shown('-', line));
        std::iter::once(name).chain(removed).chain(added.map(|line| shown('+', line))).collect()
    }
}

fn key(entry: &Executable) -> Key<'_> {
    let place = entry
        .place
        .as_deref()
        .filter(|_| matches!(entry.kind, ExecutableKind::Handler | ExecutableKind::HookCommand));
    (entry.kind, &entry.id, place)
}

/// Says before the first line how the thing differs.
fn headed(how: &str, lines: Vec<String>) -> impl Iterator<Item = String> {
    let how = format!("{how}: ");
    lines.into_iter().enumerate().map(move |(at, line)| if at == 0 { format!("{how}{line}") } else { line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: &str, command: &str, timeout: &str) -> Executable {
        let mut entry = Executable {
            command: Some(command.to_owned()),
            ..Executable::new(ExecutableKind::QualityCheck, number)
        };
        entry.detail("timeout", timeout);
        entry
    }

    #[test]
    fn what_is_new_changed_and_gone_is_told_apart() {
        let trusted = [check("1", "true", "1m"), check("2", "cargo test", "10m")];
        let now = [check("1", "true\nrm x", "1m"), check("3", "make", "1s")];
        let difference = Difference::between(&trusted, &now);
        let expected = [
            "new: quality check 3: make",
            "  timeout: 1s",
            "changed: quality check 1",
            "  - quality check 1: true",
            "  + quality check 1: \"true\\nrm x\"",
            "gone: quality check 2: cargo test",
            "  timeout: 10m",
        ];
        assert_eq!(difference.lines(), expected);
        assert!(Difference::between(&trusted, &trusted).is_empty());
        let twice = [check("1", "true", "1m"), check("1", "true", "2m")];
        assert!(Difference::between(&twice, &twice).is_empty());
        assert_eq!(Difference::between(&twice, &twice[..1]).gone, twice[1..]);
        let turned = Difference::between(&trusted, &[trusted[1].clone(), trusted[0].clone()]);
        assert_eq!(turned.lines(), ["changed: the order in which this runs"]);
        let less = Difference::between(&trusted, &trusted[..1]);
        assert!(less.adds_nothing() && !less.is_empty());
    }

    #[test]
    fn a_handler_at_two_points_is_two_things() {
        let at = |point: &str| Executable {
            place: Some(point.to_owned()),
            ..Executable::new(ExecutableKind::Handler, "lint:check")
        };
        let difference = Difference::between(&[at("task.completed")], &[at("quality.check")]);
        assert_eq!((difference.new.len(), difference.gone.len()), (1, 1));
    }
}
