//! What becomes of a completed task that is given parts, and of one whose parts go.
//!
//! Where a group stands follows from its parts alone. A task that was completed before it
//! was given an open part keeps the time at which it was: without parts it is completed
//! again, unless one of them was taken back or reset.

use std::collections::HashMap;

use jiff::Timestamp;

use super::Edit;
use samuel_model::{Groups, Status, Task, TaskId, settle};

/// How tasks stood before a change that may give parts to some, or take them away: their
/// status, and whether they were groups.
pub(super) struct Before(HashMap<TaskId, (Status, bool)>);

impl Before {
    pub(super) fn of(tasks: &[Task]) -> Self {
        let groups = Groups::of(tasks);
        let stood = |(place, task): (usize, &Task)| (task.id.clone(), (task.status, groups.is_group(place)));
        Self(tasks.iter().enumerate().map(stood).collect())
    }

    /// Has every task stand where its parts say, or where it stood before it had any.
    /// Returns what was completed and is not any more, what is completed again, and open work that
    /// is a group now and completed by its parts.
    pub(super) fn settle(&self, tasks: &mut [Task], now: Timestamp) -> Vec<Edit> {
        let groups = Groups::of(tasks.iter());
        let mut completions = Vec::new();
        let mut edits = Vec::new();
        for (place, task) in tasks.iter_mut().enumerate() {
            let was_group = self.0.get(&task.id).is_some_and(|(_, was_group)| *was_group);
            match (was_group, groups.is_group(place)) {
                (true, false) if task.status != Status::Completed && task.completed_at.is_some() => {
                    edits.push(stands(task, task.status, Status::Completed));
                    task.status = Status::Completed;
                }
                (_, true) if task.completed_at.is_some() => {
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
        let told = tasks.iter().enumerate().filter(|(place, _)| groups.is_group(*place));
        edits.extend(told.filter_map(|(_, task)| {
            let (from, was_group) = *self.0.get(&task.id)?;
            let is_told = match from {
                Status::Completed => task.status != Status::Completed,
                _ => task.status == Status::Completed && !was_group,
            };
            is_told.then(|| stands(task, from, task.status))
        }));
        edits
    }
}

/// Has the groups that tasks are in, and that are open, not be completed again by losing
/// their parts: work in them was taken back.
pub(super) fn forget_above(tasks: &mut [Task], ids: &[TaskId]) {
    let groups = Groups::of(tasks.iter());
    let places: Vec<usize> =
        tasks.iter().enumerate().filter(|(_, task)| ids.contains(&task.id)).map(|(place, _)| place).collect();
    for place in places {
        let mut at = groups.parent(place);
        while let Some(task) = at.and_then(|at| tasks.get_mut(at)) {
            if task.status != Status::Completed {
                task.completed_at = None;
            }
            at = at.and_then(|at| groups.parent(at));
        }
    }
}

fn stands(task: &Task, from: Status, to: Status) -> Edit {
    Edit::Status { id: task.id.clone(), from, to }
}
