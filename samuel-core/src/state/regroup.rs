//! What becomes of a completed task that is given parts, and of one whose parts go.
//!
//! Where a group stands follows from its parts alone. A task that was completed before it
//! had any keeps, while they are open, the time at which it was: without parts it is
//! completed again.

use std::collections::HashSet;

use jiff::Timestamp;

use super::Edit;
use crate::model::{Groups, Status, Task, TaskId, settle};

/// How tasks stood before a change that may give parts to some, or take them away.
pub(super) struct Before {
    groups: HashSet<TaskId>,
    completed: HashSet<TaskId>,
}

impl Before {
    pub(super) fn of(tasks: &[Task]) -> Self {
        let groups = Groups::of(tasks);
        let of = |is: &dyn Fn(usize, &Task) -> bool| {
            let found = tasks.iter().enumerate().filter(|(place, task)| is(*place, task));
            found.map(|(_, task)| task.id.clone()).collect()
        };
        Self {
            groups: of(&|place, _| groups.is_group(place)),
            completed: of(&|_, task| task.status == Status::Completed),
        }
    }

    /// Has every task stand where its parts say, or where it stood before it had any.
    /// Returns what was completed and is not any more, and what is completed again.
    pub(super) fn settle(&self, tasks: &mut [Task], now: Timestamp) -> Vec<Edit> {
        let groups = Groups::of(tasks.iter());
        let mut completions = Vec::new();
        let mut edits = Vec::new();
        for (place, task) in tasks.iter_mut().enumerate() {
            match (self.groups.contains(&task.id), groups.is_group(place)) {
                (true, false) if task.status == Status::Pending && task.completed_at.is_some() => {
                    edits.push(stands(task, Status::Pending, Status::Completed));
                    task.status = Status::Completed;
                }
                (false, true) if task.status == Status::Completed => {
                    completions.push((place, task.completed_at));
                }
                _ => {}
            }
        }
        settle(tasks, Some(now));
        for (place, completed_at) in completions {
            if let Some(task) = tasks.get_mut(place) {
                task.completed_at = completed_at;
            }
        }
        let reopened = tasks.iter().enumerate().filter(|(place, task)| {
            groups.is_group(*place) && task.status != Status::Completed && self.completed.contains(&task.id)
        });
        edits.extend(reopened.map(|(_, task)| stands(task, Status::Completed, task.status)));
        edits
    }
}

fn stands(task: &Task, from: Status, to: Status) -> Edit {
    Edit::Status { id: task.id.clone(), from, to }
}
