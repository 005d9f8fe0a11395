//! What no agent may do to a task although it may do so to others: what an agent did not block, no
//! agent opens, what is claimed is done once it has landed, and only whoever has claimed it gives it up.

use super::{Actor, Asker, Edit, JournalEntry, JournalRecord, Mutation, StateError, TaskChange};
use samuel_model::{Plan, Status, TaskId};

/// Refuses to have an agent complete, skip or reset a task that is claimed, or that somebody else
/// blocked, and to have it block or ask about one that another worker than the asker has claimed. Where the
/// journal does not tell who blocked it, it was somebody else.
///
/// # Errors
/// Returns [`StateError::Claimed`] and [`StateError::BlockedByOther`].
pub(super) fn refuse_opening(
    plan: &Plan,
    mutation: &Mutation,
    asker: &Asker,
    records: impl FnOnce() -> Result<Vec<JournalRecord>, StateError>,
) -> Result<(), StateError> {
    let (id, opens) = match mutation {
        Mutation::Done { id, .. } | Mutation::Skip { id, .. } | Mutation::Reset { id } => (id, true),
        Mutation::Block { id, .. } | Mutation::Ask { id, .. } => (id, false),
        _ => return Ok(()),
    };
    if let (Actor::Agent, Some(claim)) = (asker.actor, plan.live_claim(id)) {
        let is_own = asker.worker.is_some() && asker.worker == claim.worker;
        if opens || !is_own {
            return Err(StateError::claimed(claim));
        }
    }
    if !opens {
        return Ok(());
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use super::*;
    use crate::{Existing, MemoryStore, PlanStore as _};
    use samuel_model::{Task, clock::SystemClock};

    #[test]
    fn an_agent_gives_up_the_task_that_it_has_claimed_and_no_other_one() {
        let asks = |text: &str| Mutation::Ask {
            id: TaskId::new(text),
            question: "Which one?".to_owned(),
            options: Vec::new(),
        };
        let blocks = |text: &str| Mutation::Block { id: TaskId::new(text), reason: None };
        let completes =
            |text: &str| Mutation::Done { id: TaskId::new(text), commit_sha: None, iteration: None };
        type Change<'a> = &'a dyn Fn(&str) -> Mutation;
        let changes: [(Change<'_>, bool); 3] = [(&asks, true), (&blocks, true), (&completes, false)];
        for (change, is_for_its_own) in changes {
            let store = MemoryStore::new(Arc::new(SystemClock::new()));
            let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
            store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
            let claim = Mutation::Claim { task: TaskId::new("1").into(), worker: "lane-1".to_owned() };
            store.mutate(claim, Actor::Runtime).unwrap();
            let agent = |name: Option<&str>| Asker { worker: name.map(str::to_owned), ..Actor::Agent.into() };
            for other in [None, Some("lane-2")] {
                let refused = store.mutate_as(None, change("1"), &agent(other));
                assert!(matches!(refused, Err(StateError::Claimed { .. })), "{refused:?}");
                assert!(store.load().unwrap().plan.live_claim(&TaskId::new("1")).is_some());
            }
            let own = store.mutate_as(None, change("1"), &agent(Some("lane-1")));
            assert_eq!(own.is_ok(), is_for_its_own, "{own:?}");
            store.mutate_as(None, change("2"), &agent(None)).unwrap();
        }
    }
}
