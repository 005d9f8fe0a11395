//! Ids for the tasks that have none.

use std::collections::{HashMap, HashSet};

use samuel_model::TaskId;

/// Hands out ids that are natural and unique: a task gets the number after
/// the last one, the child of `2` gets the one after the last `2.x`.
#[derive(Debug)]
pub(super) struct IdSource {
    used: HashSet<TaskId>,
    /// For each parent the last number below it; `None` is the top.
    last: HashMap<Option<String>, u64>,
}

impl IdSource {
    /// Creates a source of ids that are none of those a document has.
    pub(super) fn new<'t>(ids: impl Iterator<Item = &'t TaskId>) -> Self {
        let mut source = Self { used: HashSet::new(), last: HashMap::new() };
        for id in ids {
            source.note(id);
        }
        source
    }

    /// Returns a new id, below a parent if there is one.
    pub(super) fn next(&mut self, parent: Option<&TaskId>) -> TaskId {
        let below = parent.map(|id| trunk(id.as_str()).to_owned());
        loop {
            let last = self.last.entry(below.clone()).or_default();
            *last += 1;
            let text = match &below {
                Some(parent) => format!("{parent}.{last}"),
                None => last.to_string(),
            };
            match text.parse::<TaskId>() {
                Ok(id) if self.used.insert(id.clone()) => return id,
                Ok(_) => {}
                // Too long to go below its parent.
                Err(_) => return self.next(None),
            }
        }
    }

    fn note(&mut self, id: &TaskId) {
        let mut rest = id.as_str();
        while let Some((parent, number)) = rest.rsplit_once('.') {
            self.note_number(Some(parent.to_owned()), number);
            rest = parent;
        }
        self.note_number(None, rest);
        self.used.insert(id.clone());
    }

    fn note_number(&mut self, parent: Option<String>, number: &str) {
        // Half of the range is left to count on from there.
        if let Some(number) = number.parse::<u64>().ok().filter(|number| *number < u64::MAX / 2) {
            let last = self.last.entry(parent).or_default();
            *last = number.max(*last);
        }
    }
}

/// Returns an id without the `.0` that some number the first level with.
pub(super) fn trunk(id: &str) -> &str {
    id.strip_suffix(".0").unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_come_after_those_there_are() {
        let ids = ["1", "2.0", "2.3", "7.1.4", "T-9"].map(TaskId::new);
        let mut source = IdSource::new(ids.iter());

        assert_eq!(source.next(None).as_str(), "8");
        assert_eq!(source.next(None).as_str(), "9");
        assert_eq!(source.next(Some(&TaskId::new("2.0"))).as_str(), "2.4");
        assert_eq!(source.next(Some(&TaskId::new("7.1"))).as_str(), "7.1.5");
        assert_eq!(source.next(Some(&TaskId::new("9"))).as_str(), "9.1");
    }

    #[test]
    fn a_child_whose_id_would_be_too_long_gets_one_of_the_top() {
        let long = TaskId::new("1".repeat(63));
        let mut source = IdSource::new(std::iter::once(&long));
        assert_eq!(source.next(Some(&long)).as_str(), "1");
    }
}
