//! Checking a whole plan before it is stored.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{StateError, apply::count_tasks};
use samuel_model::{PLAN_VERSION, Plan, settle};

/// Makes a plan ready to be stored under a revision.
///
/// # Errors
/// Returns [`StateError::TaskInvalid`] or [`StateError::TaskExists`] for a
/// task that could not be told from others when it is read back.
pub(crate) fn prepare(mut plan: Plan, revision: u64, now: Timestamp) -> Result<Plan, StateError> {
    let mut seen = HashSet::new();
    for task in &mut plan.tasks {
        task.created_at = task.created_at.or(Some(now));
        task.validate().map_err(|source| StateError::TaskInvalid { id: task.id.clone(), source })?;
        if !seen.insert(&task.id) {
            return Err(StateError::TaskExists { id: task.id.clone() });
        }
    }
    plan.version = PLAN_VERSION.to_owned();
    plan.revision = revision;
    plan.project.created_at = plan.project.created_at.or(Some(now));
    plan.project.updated_at = Some(now);
    // Whoever had claimed something had claimed it of another plan.
    plan.claims.clear();
    settle(&mut plan.tasks, Some(now));
    count_tasks(&mut plan);
    Ok(plan)
}
