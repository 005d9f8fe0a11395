//! The plan. Needs `samuel.api`: with the target `read` to list, with `write`
//! for the rest.
//!
//! What is changed is changed at once, whether or not the handler succeeds.

use crate::{failure::HostError, host::bindings::samuel::plugin::tasks};
#[doc(inline)]
pub use tasks::{NewTask, Status, Task};

/// Lists the tasks in the order of the plan.
///
/// # Errors
/// Returns [`HostError::Denied`] where it was not granted.
pub fn list() -> Result<Vec<Task>, HostError> {
    Ok(tasks::list()?)
}

/// Adds a task and returns its id.
///
/// # Errors
/// Returns [`HostError::Denied`] where it was not granted, and
/// [`HostError::Invalid`] for a task that the plan does not take.
pub fn enqueue(task: &NewTask) -> Result<String, HostError> {
    Ok(tasks::enqueue(task)?)
}

/// Completes a task, with the commit that did it. Inside an iteration it stands
/// provisionally, as everybody's does.
///
/// # Errors
/// Returns [`HostError::Denied`] where it was not granted, and
/// [`HostError::NotFound`] for an unknown id.
pub fn done(id: &str, commit_sha: Option<&str>) -> Result<(), HostError> {
    Ok(tasks::done(id, commit_sha)?)
}

/// Skips a task, for a reason that is kept with it.
///
/// # Errors
/// As [`done`].
pub fn skip(id: &str, reason: &str) -> Result<(), HostError> {
    Ok(tasks::skip(id, reason)?)
}

/// Makes a task pending again.
///
/// # Errors
/// As [`done`].
pub fn reset(id: &str) -> Result<(), HostError> {
    Ok(tasks::reset(id)?)
}
