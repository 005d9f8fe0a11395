//! `tasks`: the plan.
//!
//! A component lists it with the grant `read` and changes it with `write`.
//! What it does counts as the agent's: inside an iteration a completion stands
//! provisionally.

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{Guest, HostError, on_a_thread, waiting};
use crate::{
    model::{self, Complexity, Priority, TaskId},
    plugin::{Capability, wasm::plugin::LoadedComponent},
    state::{self, Actor, Mutation, PlanStore, StateError, TaskChange},
};

/// The contract's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
enum Status {
    #[component(name = "pending")]
    Pending,
    #[component(name = "in-progress")]
    InProgress,
    #[component(name = "completed")]
    Completed,
    #[component(name = "blocked")]
    Blocked,
    #[component(name = "skipped")]
    Skipped,
}

/// The contract's `task`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
struct Task {
    id: String,
    title: String,
    status: Status,
    priority: Priority,
    complexity: Complexity,
    description: String,
    #[component(name = "depends-on")]
    depends_on: Vec<String>,
}

/// The contract's `new-task`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
struct NewTask {
    title: String,
    priority: Priority,
    complexity: Complexity,
    description: String,
    #[component(name = "depends-on")]
    depends_on: Vec<String>,
}

impl From<&model::Task> for Task {
    fn from(task: &model::Task) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title.clone(),
            status: match task.status {
                model::Status::Pending => Status::Pending,
                model::Status::InProgress => Status::InProgress,
                model::Status::Completed => Status::Completed,
                model::Status::Skipped => Status::Skipped,
                model::Status::Blocked => Status::Blocked,
            },
            priority: task.priority,
            complexity: task.complexity,
            description: task.description.clone(),
            depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<NewTask> for state::NewTask {
    fn from(task: NewTask) -> Self {
        Self {
            title: task.title,
            priority: task.priority,
            complexity: task.complexity,
            description: task.description,
            depends_on: task.depends_on.into_iter().map(TaskId::new).collect(),
            ..Self::default()
        }
    }
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "list", |guest, (): ()| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || {
            let loaded = store(&loaded, "read")?.load().map_err(|error| refused(&error))?;
            Ok(loaded.plan.tasks.iter().map(Task::from).collect::<Vec<Task>>())
        })
    })?;
    waiting(interface, "enqueue", |guest, (task,): (NewTask,)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || match mutate(&loaded, Mutation::Enqueue { task: task.into() })? {
            TaskChange::Added { id } => Ok(id.to_string()),
            other => Err(HostError::Other(format!("the task was not added: {other:?}"))),
        })
    })?;
    waiting(interface, "done", |guest, (id, commit_sha): (String, Option<String>)| {
        let loaded = Arc::clone(&guest.loaded);
        let iteration = Some(guest.header.iteration).filter(|iteration| *iteration > 0);
        on_a_thread(move || {
            let id = TaskId::new(id);
            mutate(&loaded, Mutation::Done { id, commit_sha, iteration }).map(drop)
        })
    })?;
    waiting(interface, "skip", |guest, (id, reason): (String, String)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || {
            let (id, reason) = (TaskId::new(id), Some(reason));
            mutate(&loaded, Mutation::Skip { id, reason }).map(drop)
        })
    })?;
    waiting(interface, "reset", |guest, (id,): (String,)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || mutate(&loaded, Mutation::Reset { id: TaskId::new(id) }).map(drop))
    })
}

fn mutate(loaded: &LoadedComponent, mutation: Mutation) -> Result<TaskChange, HostError> {
    let applied = store(loaded, "write")?.mutate(mutation, Actor::Agent);
    Ok(applied.map_err(|error| refused(&error))?.change)
}

/// Returns the plan's store, if the plugin may use it for something.
fn store<'a>(loaded: &'a LoadedComponent, what: &str) -> Result<&'a dyn PlanStore, HostError> {
    let granted = loaded.setup.granted.targets(Capability::SamuelApi);
    if !granted.iter().any(|target| target == what) {
        return Err(HostError::denied(Capability::SamuelApi, what));
    }
    loaded
        .workspace
        .store
        .as_deref()
        .ok_or_else(|| HostError::Unsupported("there is no plan outside of a run".to_owned()))
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
