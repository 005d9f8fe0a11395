//! The plan, as plugins are let at it.
//!
//! A plugin lists it with the grant `read` of `samuel.api` and changes it with `write`. What it does counts as the
//! agent's: inside an iteration a completion stands provisionally.

use std::sync::Arc;

use super::{Capabilities, Capability, host_error::HostError};
use crate::{
    model::{Plan, TaskId},
    state::{Actor, Mutation, NewTask, PlanStore, StateError, TaskChange},
};

/// The plan of a run, and what a plugin was granted of it.
#[derive(Clone, Debug)]
pub(super) struct PluginPlan {
    store: Option<Arc<dyn PlanStore>>,
    may_read: bool,
    may_write: bool,
}

impl PluginPlan {
    /// Lets a plugin with these grants at a plan, where there is one.
    pub(super) fn new(store: Option<Arc<dyn PlanStore>>, granted: &Capabilities) -> Self {
        let has = |what: &str| granted.targets(Capability::SamuelApi).iter().any(|target| target == what);
        Self { store, may_read: has("read"), may_write: has("write") }
    }

    /// Returns the plan, for its tasks.
    pub(super) fn list(&self) -> Result<Arc<Plan>, HostError> {
        let loaded = self.store(self.may_read, "read")?.load().map_err(|error| refused(&error))?;
        Ok(loaded.plan)
    }

    /// Adds a task, and returns its id.
    pub(super) fn enqueue(&self, task: NewTask) -> Result<String, HostError> {
        match self.mutate(Mutation::Enqueue { task })? {
            TaskChange::Added { id } => Ok(id.to_string()),
            other => Err(HostError::Other(format!("the task was not added: {other:?}"))),
        }
    }

    /// Completes a task in an iteration, which is 0 outside of one.
    pub(super) fn done(
        &self,
        id: String,
        commit_sha: Option<String>,
        iteration: u32,
    ) -> Result<(), HostError> {
        let iteration = Some(iteration).filter(|iteration| *iteration > 0);
        self.mutate(Mutation::Done { id: TaskId::new(id), commit_sha, iteration }).map(drop)
    }

    /// Skips a task.
    pub(super) fn skip(&self, id: String, reason: String) -> Result<(), HostError> {
        self.mutate(Mutation::Skip { id: TaskId::new(id), reason: Some(reason) }).map(drop)
    }

    /// Makes a task pending again.
    pub(super) fn reset(&self, id: String) -> Result<(), HostError> {
        self.mutate(Mutation::Reset { id: TaskId::new(id) }).map(drop)
    }

    fn mutate(&self, mutation: Mutation) -> Result<TaskChange, HostError> {
        let applied = self.store(self.may_write, "write")?.mutate(mutation, Actor::Agent);
        Ok(applied.map_err(|error| refused(&error))?.change)
    }

    /// Returns the plan's store, if the plugin may use it for something.
    fn store(&self, may: bool, what: &str) -> Result<&dyn PlanStore, HostError> {
        if !may {
            return Err(HostError::denied(Capability::SamuelApi, what));
        }
        let none = || HostError::Unsupported("there is no plan outside of a run".to_owned());
        self.store.as_deref().ok_or_else(none)
    }
}

fn refused(error: &StateError) -> HostError {
    match error {
        StateError::TaskNotFound { id, .. } => HostError::NotFound(id.to_string()),
        StateError::NotInitialised { .. } => HostError::NotFound("the plan".to_owned()),
        StateError::TaskInvalid { source, .. } => HostError::invalid(format!("{error}: {source}")),
        StateError::TaskExists { .. } | StateError::UnknownDependency { .. } | StateError::Cycle { .. } => {
            HostError::invalid(error.to_string())
        }
        error => HostError::Other(error.to_string()),
    }
}
