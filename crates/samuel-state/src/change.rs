//! One change of a plan that is held in memory, as every store makes it.
//!
//! [`change`] is pure: the plan, what the journal has of it and the change decide what comes of it. Who may ask for it, where the
//! plan and the journal are kept and who hears of it are the stores' business.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;

use super::{
    Applied, Asker, JournalEntry, JournalRecord, Mutation, Replaced, StateError, TaskChange, apply,
    blocked::refuse_opening, plan_store::UnlandedWork, undo,
};
use samuel_model::Plan;

/// A change that somebody asks for who may.
pub(super) struct Asked<'a> {
    /// When the plan was made that it is meant for, where that matters.
    pub(super) made_at: Option<Timestamp>,
    /// The change.
    pub(super) mutation: Mutation,
    /// Who asks.
    pub(super) asker: &'a Asker,
    /// When.
    pub(super) at: Timestamp,
}

/// Changes a plan that is known by a name, and returns what came of it; beside it what is to be journalled, unless the plan was so
/// already. `records` are what the journal has. After an error the plan is as before.
///
/// # Errors
/// Returns [`StateError::Replaced`] where another plan was meant, and what the change itself is refused with.
pub(super) fn change(
    plan: &mut Arc<Plan>,
    name: &Path,
    asked: Asked<'_>,
    records: impl Fn() -> Vec<JournalRecord>,
) -> Result<(Applied, Option<JournalEntry>), StateError> {
    let Asked { made_at, mutation, asker, at } = asked;
    if made_at.is_some_and(|made_at| plan.project.created_at != Some(made_at)) {
        return Err(StateError::Replaced { path: name.to_owned() });
    }
    refuse_opening(plan, &mutation, asker, || Ok(records()))?;
    let mutation = undo::resolve(mutation, asker, || Ok(records()))?;
    let before = undo::is_undoable(&mutation).then(|| Arc::clone(plan));
    let (base, plan) = (plan.revision, Arc::make_mut(plan));
    let queued = UnlandedWork::before(plan, &mutation);
    let change = apply(plan, &mutation, at)?;
    if change == TaskChange::Unchanged {
        return Ok((Applied::new(plan, &mutation, change), None));
    }
    plan.revision = base + 1;
    let applied = Applied::new(plan, &mutation, change.clone()).taking_out(queued, plan);
    let replaced = before.and_then(|before| Replaced::between(&before, plan, |_| None)).map(Box::new);
    let (actor, by) = (asker.actor, asker.name.clone());
    Ok((applied, Some(JournalEntry::Mutation { actor, base, mutation, change, by, replaced })))
}
