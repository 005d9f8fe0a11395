//! A task as handlers and prompts see it.

use super::{CompletedTask, TaskVars};
use crate::model::{Task, payload::TaskBrief};

impl From<&Task> for TaskBrief {
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
        }
    }
}

impl From<&Task> for TaskVars {
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
