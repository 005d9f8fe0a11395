//! A task as handlers and prompts see it.

use samuel_contract::context::{CompletedTask, SiblingTask, TaskGroup, TaskVars};

use crate::{Family, Task, payload::TaskBrief};

/// Makes records of a task that have the same fields.
macro_rules! from_task {
    ($($record:ident),+) => {
        $(impl From<&Task> for $record {
            fn from(task: &Task) -> Self {
                Self {
                    id: task.id.to_string(),
                    title: task.title.clone(),
                    priority: task.priority,
                    complexity: task.complexity,
                    description: task.description.clone(),
                    files_to_modify: task.files_to_modify.clone(),
                    files_to_create: task.files_to_create.clone(),
                    depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
                    acceptance: task.acceptance.clone(),
                }
            }
        })+
    };
}

from_task!(TaskBrief, TaskVars);

impl From<&Task> for SiblingTask {
    fn from(task: &Task) -> Self {
        Self { id: task.id.to_string(), title: task.title.clone(), status: task.status.to_string() }
    }
}

impl From<&Family<'_>> for TaskGroup {
    fn from(family: &Family<'_>) -> Self {
        let group = family.group;
        Self {
            id: group.id.to_string(),
            title: group.title.clone(),
            status: group.status.to_string(),
            description: group.description.clone(),
            parts: family.parts as u64,
        }
    }
}

impl From<&Task> for CompletedTask {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title.clone(),
            commit_sha: task.commit_sha.clone().unwrap_or_default(),
        }
    }
}
