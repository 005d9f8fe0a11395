//! `tasks`: the plan, as a [`PluginPlan`] lets a component at it.

use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{Guest, on_a_thread, waiting};
use crate::{
    model::{self, Complexity, Priority, TaskId},
    plugin::plan::PluginPlan,
    state,
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
        let plan = plan_of(guest);
        on_a_thread(move || Ok(plan.list()?.tasks.iter().map(Task::from).collect::<Vec<Task>>()))
    })?;
    waiting(interface, "enqueue", |guest, (task,): (NewTask,)| {
        let plan = plan_of(guest);
        on_a_thread(move || plan.enqueue(task.into()))
    })?;
    waiting(interface, "done", |guest, (id, commit_sha): (String, Option<String>)| {
        let (plan, iteration) = (plan_of(guest), guest.header.iteration);
        on_a_thread(move || plan.done(id, commit_sha, iteration))
    })?;
    waiting(interface, "skip", |guest, (id, reason): (String, String)| {
        let plan = plan_of(guest);
        on_a_thread(move || plan.skip(id, reason))
    })?;
    waiting(interface, "reset", |guest, (id,): (String,)| {
        let plan = plan_of(guest);
        on_a_thread(move || plan.reset(id))
    })
}

fn plan_of(guest: &Guest) -> PluginPlan {
    PluginPlan::new(guest.loaded.workspace.store.clone(), &guest.loaded.setup.granted)
}
