//! What no agent may do to a task although it may do so to others: what an agent did not block, no
//! agent opens, and what is claimed is done once it has landed.

use super::{Actor, Asker, Edit, JournalEntry, JournalRecord, Mutation, StateError, TaskChange};
use crate::model::{Plan, Status, TaskId};

/// Refuses to have an agent complete, skip or reset a task that is claimed, or that somebody else
/// blocked. Where the journal does not tell who did, it was somebody else.
///
/// # Errors
/// Returns [`StateError::Claimed`] and [`StateError::BlockedByOther`].
pub(super) fn refuse_opening(
    plan: &Plan,
    mutation: &Mutation,
    asker: &Asker,
    records: impl FnOnce() -> Result<Vec<JournalRecord>, StateError>,
) -> Result<(), StateError> {
    let (Mutation::Done { id, .. } | Mutation::Skip { id, .. } | Mutation::Reset { id }) = mutation else {
        return Ok(());
    };
    if let (Actor::Agent, Some(claim)) = (asker.actor, plan.live_claim(id)) {
        return Err(StateError::claimed(claim));
    }
    let is_blocked = || plan.task(id).is_some_and(|task| task.status == Status::Blocked);
    if asker.actor != Actor::Agent || !is_blocked() {
        return Ok(());
    }
    match records()?.iter().rev().find_map(|record| blocked_by(record, id)) {
        Some(Actor::Agent) => Ok(()),
        _ => Err(StateError::BlockedByOther { id: id.clone() }),
    }
}

/// Returns who blocked a task by what a record tells; whoever says another reason did not.
fn blocked_by(record: &JournalRecord, id: &TaskId) -> Option<Actor> {
    let blocks = |edits: &[Edit]| {
        edits.iter().any(|edit| match edit {
            Edit::Status { id: edited, to: status, .. } | Edit::Added { id: edited, status } => {
                edited == id && *status == Status::Blocked
            }
            _ => false,
        })
    };
    match &record.entry {
        JournalEntry::Mutation { actor, change, .. } => {
            let is_it = match change {
                TaskChange::Task { id: changed, from, to: Status::Blocked } => {
                    changed == id && *from != Status::Blocked
                }
                change => blocks(change.edits()),
            };
            is_it.then_some(*actor)
        }
        JournalEntry::Edited { actor, edits } => blocks(edits).then_some(*actor),
        JournalEntry::Imported { actor, .. } => Some(*actor),
        _ => None,
    }
}
