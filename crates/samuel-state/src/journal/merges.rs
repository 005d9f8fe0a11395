//! Merges of the work of tasks, as a journal records them.
//!
//! A merge takes two records: [`Mutation::Landing`] announces it before the branch moves, and [`Mutation::Land`] says
//! that the branch has moved.

use super::{JournalEntry, JournalRecord};
use crate::{LandingClaim, Mutation};

/// A merge of the work of tasks into a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedMerge<'a> {
    /// The branch.
    pub into: &'a str,
    /// The commit of the branch before the merge.
    pub old: &'a str,
    /// The commit of the branch after the merge.
    pub new: &'a str,
    /// The claims on the tasks, with the commits of their work on the branch.
    pub claims: &'a [LandingClaim],
}

impl JournalRecord {
    /// Returns the merge that the record announces. After a crash it is unknown whether the branch has moved.
    #[doc(hidden)]
    pub fn announced_merge(&self) -> Option<RecordedMerge<'_>> {
        match &self.entry {
            JournalEntry::Mutation { mutation: Mutation::Landing { into, old, new, claims, .. }, .. } => {
                Some(RecordedMerge { into, old, new, claims })
            }
            _ => None,
        }
    }

    /// Returns whether the record says that a whole plan was stored: what earlier records say is of another plan.
    #[doc(hidden)]
    pub fn is_import(&self) -> bool {
        matches!(self.entry, JournalEntry::Imported { .. })
    }
}

/// Returns records in their order, each with the merge that it completes, if it completes one.
#[doc(hidden)]
pub fn with_merges<'a>(
    records: impl IntoIterator<Item = &'a JournalRecord>,
) -> impl Iterator<Item = (&'a JournalRecord, Option<RecordedMerge<'a>>)> {
    let mut announced = None;
    records.into_iter().map(move |record| {
        let mut completed = None;
        match &record.entry {
            JournalEntry::Imported { .. } => announced = None,
            JournalEntry::Mutation { mutation, .. } => match mutation {
                Mutation::Landing { .. } => announced = record.announced_merge(),
                Mutation::Land { .. } => completed = announced.take(),
                Mutation::Drop { .. } => announced = None,
                _ => {}
            },
            _ => {}
        }
        (record, completed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, TaskChange};
    use jiff::Timestamp;
    use samuel_model::TaskId;

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 1, at: Timestamp::UNIX_EPOCH, revision: 1, digest: None, entry }
    }

    fn change(mutation: Mutation) -> JournalRecord {
        let (actor, change) = (Actor::Runtime, TaskChange::Unchanged);
        record(JournalEntry::Mutation { actor, base: 0, mutation, change, by: None, replaced: None })
    }

    fn landing(task: &str, new: &str) -> JournalRecord {
        let (commit, landed) = ("work".to_owned(), new.to_owned());
        let claims = vec![LandingClaim { task: TaskId::new(task), token: 7, commit, landed }];
        let (into, old, new) = ("main".to_owned(), "old".to_owned(), new.to_owned());
        change(Mutation::Landing { role: 3, into, old, new, claims })
    }

    #[test]
    fn completes_only_the_merge_announced_last() {
        let land = || change(Mutation::Land { role: 3, unchanged: Vec::new() });
        let records = [
            landing("1", "a"),
            land(),
            landing("2", "b"),
            change(Mutation::Drop { role: 3, reason: "conflict".to_owned() }),
            land(),
            landing("3", "c"),
            record(JournalEntry::Imported { actor: Actor::User, tasks: 1, backup: None }),
            land(),
            landing("4", "d"),
            record(JournalEntry::Rotated),
            land(),
        ];
        let completed = with_merges(&records).map(|(_, merge)| merge.map(|merge| merge.new));
        let expected = [None, Some("a"), None, None, None, None, None, None, None, None, Some("d")];
        assert_eq!(completed.collect::<Vec<_>>(), expected);
    }
}
