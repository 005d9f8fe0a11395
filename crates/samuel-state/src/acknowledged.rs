//! What a store knew when it last caught up.
//!
//! It is in memory, where no agent reaches it: what is found later is held against
//! it, and what is gone is put back from it.

use std::sync::Arc;

use super::{
    Edit, JournalEntry, JournalRecord,
    edit::{Known, find_edits},
    journal::active_supervisors,
    last_read::PlanFile,
};
use samuel_model::Plan;

/// What a store knew when it last caught up.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// The plan's file.
    pub(super) content: Vec<u8>,
    pub(super) plan: Arc<Plan>,
    pub(super) unread: usize,
    /// The last record of the journal, and the revision after it.
    pub(super) seq: u64,
    pub(super) revision: u64,
    /// What a journal that is put back opens with.
    pub(super) carried: Vec<JournalRecord>,
    /// Whether version control was kept out of the run directory.
    pub(super) ignored: bool,
    /// The warnings of looks that failed, which the next one reports.
    pub(super) untold: Vec<String>,
}

impl Acknowledged {
    /// Returns what differs in the plan beside what records tell.
    pub(super) fn edits(&self, file: &PlanFile, records: &[JournalRecord]) -> Vec<Edit> {
        let is_same = Arc::ptr_eq(&self.plan, &file.document.plan) || self.content == file.content;
        // A former file may be there again after records that changed it.
        let changes = |record: &JournalRecord| matches!(record.entry, JournalEntry::Mutation { .. });
        if is_same && !records.iter().any(changes) {
            return Vec::new();
        }
        let before = Known { plan: &self.plan, unread: self.unread };
        let now = Known { plan: &file.document.plan, unread: file.document.unparsed.len() };
        find_edits(before, now, records)
    }

    /// Goes on from a plan and the records up to it.
    pub(super) fn go_on(&mut self, file: &PlanFile, records: &[JournalRecord]) {
        if self.content != file.content {
            self.content.clone_from(&file.content);
            self.plan = Arc::clone(&file.document.plan);
            self.unread = file.document.unparsed.len();
        }
        if let Some(last) = records.last() {
            self.seq = last.seq;
            self.revision = self.revision.max(last.revision);
        }
        let carried = std::mem::take(&mut self.carried);
        self.carried = to_carry(carried.into_iter().chain(records.iter().cloned()));
    }
}

/// Returns what must stay reachable of records: the last checkpoint, and the
/// supervisors at work.
pub(super) fn to_carry(records: impl IntoIterator<Item = JournalRecord>) -> Vec<JournalRecord> {
    let is_carried = |record: &JournalRecord| {
        matches!(
            record.entry,
            JournalEntry::Checkpoint(_) | JournalEntry::Supervisor(_) | JournalEntry::SupervisorEnded(_)
        )
    };
    let mut carried: Vec<JournalRecord> = records.into_iter().filter(is_carried).collect();
    let checkpoint = carried.iter().rposition(|record| matches!(record.entry, JournalEntry::Checkpoint(_)));
    let active = active_supervisors(&carried);
    let mut at = 0;
    carried.retain(|record| {
        at += 1;
        match &record.entry {
            JournalEntry::Checkpoint(_) => Some(at - 1) == checkpoint,
            JournalEntry::Supervisor(supervisor) => active.contains(supervisor),
            _ => false,
        }
    });
    carried
}
