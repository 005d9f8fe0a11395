//! Journals that begin anew: after a rotation, and where one is lost.
//!
//! A new one opens with what must stay reachable: the last checkpoint and the
//! supervisors at work.

use jiff::Timestamp;

use super::{
    JournalEntry, JournalRecord, active_supervisors,
    file::{After, JournalFile, Tail, number_after},
};
use crate::{StateError, files};
use samuel_fs::Replacement;

impl JournalFile<'_> {
    /// Moves the journal aside. The new one opens with what must stay
    /// reachable: the last checkpoint and the supervisors at work.
    pub(super) fn rotate(&self, tail: &Tail, at: Timestamp) -> Result<(), StateError> {
        let (path, old) = (self.dir.journal(), self.dir.old_journal());
        let (staged, _) = self.open_with(&self.carried()?, tail.seq, at, tail.unchanged())?;
        let old = old.file_name().unwrap_or_default();
        self.dir.root().rename_own(&path, old).map_err(StateError::file("rotate", &path))?;
        self.put_in_place(staged)
    }

    /// Returns the records that must stay reachable, oldest first.
    pub(crate) fn carried(&self) -> Result<Vec<JournalRecord>, StateError> {
        let mut carried = self.active_supervisor_records()?;
        carried.extend(self.last_checkpoint()?);
        carried.sort_by_key(|record| record.seq);
        Ok(carried)
    }

    /// Makes a journal anew that goes on after a number, in the place of one that
    /// is lost; what stands there is kept beside it. Returns the record that says so.
    pub(crate) fn put_back(
        &self,
        carried: &[JournalRecord],
        seq: u64,
        at: Timestamp,
        after: After,
    ) -> Result<JournalRecord, StateError> {
        let (staged, mark) = self.open_with(carried, seq, at, after)?;
        let path = self.dir.journal();
        if let Some(aside) = path.with_extension("jsonl.unreadable").file_name() {
            // What cannot be renamed is replaced.
            let _ = self.dir.root().rename_own(&path, aside);
        }
        self.put_in_place(staged)?;
        Ok(mark)
    }

    fn put_in_place(&self, staged: Replacement) -> Result<(), StateError> {
        staged.commit().map_err(StateError::io("replace", self.dir.journal()))
    }

    /// Stages a journal that opens with the records which must stay reachable, and
    /// the one that ends them.
    fn open_with(
        &self,
        carried: &[JournalRecord],
        seq: u64,
        at: Timestamp,
        after: After,
    ) -> Result<(Replacement, JournalRecord), StateError> {
        let After { revision, digest } = after;
        let seq = number_after(seq, &self.dir.journal())?;
        let mark = JournalRecord { seq, at, revision, digest, entry: JournalEntry::Rotated };
        let mut opening = Vec::new();
        for record in carried.iter().chain([&mark]) {
            opening.extend(record.to_line()?);
        }
        Ok((files::stage(self.dir.root(), &self.dir.journal(), [&opening[..]])?, mark))
    }

    fn active_supervisor_records(&self) -> Result<Vec<JournalRecord>, StateError> {
        let mut records = self.supervisor_records()?;
        let mut active = active_supervisors(&records);
        records.retain(|record| match record.entry {
            JournalEntry::Supervisor(supervisor) => {
                let count = active.len();
                active.retain(|other| *other != supervisor);
                active.len() < count
            }
            _ => false,
        });
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::fs;

    use super::*;
    use crate::{
        Checkpoint, SupervisorProcess, SupervisorRole,
        journal::{
            ROTATE_BYTES,
            file::tests::{add, event, in_new_dir},
        },
    };
    use samuel_model::Scope;

    #[test]
    fn rotation_keeps_numbers_the_last_checkpoint_and_supervisors_reachable() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, 400);
        let supervisor =
            |pid| SupervisorProcess { pid, start_time: 1, role: SupervisorRole::Supervisor, tree: None };
        let (dead, alive) = (supervisor(1), supervisor(2));
        add(&journal, JournalEntry::Supervisor(dead));
        add(&journal, JournalEntry::Supervisor(alive));
        add(&journal, JournalEntry::SupervisorEnded(dead));
        let state = serde_json::json!({"step": 4});
        let checkpoint = add(
            &journal,
            JournalEntry::Checkpoint(Checkpoint {
                run_id: "r".into(),
                state,
                waits_until: None,
                end: None,
                scope: Scope::All,
                agents: Vec::new(),
                calls: Vec::new(),
                begun: None,
            }),
        );
        for number in 0..40 {
            add(&journal, event(&number.to_string()));
            assert_eq!(journal.last_checkpoint().unwrap().unwrap().seq, checkpoint);
            assert_eq!(journal.supervisors().unwrap(), [alive]);
        }
        let numbers: Vec<u64> = journal.since(0).unwrap().iter().map(|record| record.seq).collect();
        let first = *numbers.first().unwrap();
        assert!(first > checkpoint, "the journal was rotated more than once");
        assert_eq!(numbers, (first..=journal.tail().unwrap().seq).collect::<Vec<_>>());
        assert!(fs::metadata(dir.journal()).unwrap().len() < 800);
    }

    #[test]
    fn a_crash_between_the_two_steps_of_a_rotation_loses_nothing() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, ROTATE_BYTES);
        add(
            &journal,
            JournalEntry::Checkpoint(Checkpoint {
                run_id: "r".into(),
                state: 1.into(),
                waits_until: None,
                end: None,
                scope: Scope::All,
                agents: Vec::new(),
                calls: Vec::new(),
                begun: None,
            }),
        );
        fs::rename(dir.journal(), dir.old_journal()).unwrap();
        assert_eq!(add(&journal, event("b")), 2);
        assert_eq!(journal.since(0).unwrap().len(), 2);
        assert_eq!(journal.last_checkpoint().unwrap().unwrap().seq, 1);
    }
}
