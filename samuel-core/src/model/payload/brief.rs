//! A task as handlers and prompts see it.

use super::TaskBrief;
use crate::model::Task;

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
