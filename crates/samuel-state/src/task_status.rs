//! What changes of where a task stands do to it: to complete, skip, block, reset, start it, let go of it
//! and take its completion back.
//!
//! [`apply`](super::apply()) calls them; what follows for groups, claims and figures is its business.

use jiff::Timestamp;

use super::{StateError, TaskChange};
use samuel_model::{Groups, Mark, Plan, Status, Task, TaskId};

fn set_status(task: &mut Task, to: Status) -> TaskChange {
    let from = std::mem::replace(&mut task.status, to);
    task.owner = None;
    if from == to { TaskChange::Unchanged } else { TaskChange::Task { id: task.id.clone(), from, to } }
}

/// Runs a change of one task and says what came of it.
pub(super) fn changed(task: &mut Task, change: impl FnOnce(&mut Task)) -> TaskChange {
    let before = task.clone();
    change(task);
    if *task == before {
        return TaskChange::Unchanged;
    }
    TaskChange::Task { id: task.id.clone(), from: before.status, to: task.status }
}

/// Lets go of a task that was not completed.
pub(super) fn let_go(task: &mut Task) -> TaskChange {
    match task.status {
        Status::InProgress => set_status(task, Status::Pending),
        _ => TaskChange::Unchanged,
    }
}

/// The first completion counts: a later one only fills in what is missing.
pub(super) fn done(
    task: &mut Task,
    commit_sha: Option<&str>,
    iteration: Option<u32>,
    now: Timestamp,
) -> TaskChange {
    changed(task, |task| {
        if task.status != Status::Completed {
            forget_outcome(task);
            task.status = Status::Completed;
            task.completed_at = Some(now);
        }
        task.commit_sha = task.commit_sha.take().or_else(|| commit_sha.map(str::to_owned));
        task.iteration = task.iteration.or(iteration);
    })
}

/// Adds marks to a task that is completed.
pub(super) fn mark(task: &mut Task, marks: &[Mark]) -> TaskChange {
    changed(task, |task| {
        let is_completed = task.status == Status::Completed;
        let new = marks.iter().filter(|_| is_completed).copied();
        for mark in new {
            if !task.marks.contains(&mark) {
                task.marks.push(mark);
            }
        }
    })
}

pub(super) fn skip(task: &mut Task, reason: Option<&str>) -> TaskChange {
    changed(task, |task| {
        if task.status != Status::Skipped {
            forget_outcome(task);
            task.status = Status::Skipped;
        }
        if let Some(reason) = reason {
            task.skip_reason = Some(reason.to_owned());
        }
    })
}

pub(super) fn block(task: &mut Task, reason: Option<&str>) -> TaskChange {
    changed(task, |task| {
        if task.status != Status::Blocked {
            forget_outcome(task);
            task.status = Status::Blocked;
        }
        if let Some(reason) = reason {
            task.skip_reason = Some(reason.to_owned());
        }
    })
}

pub(super) fn reset(task: &mut Task) -> TaskChange {
    changed(task, |task| {
        forget_outcome(task);
        task.status = Status::Pending;
    })
}

/// Clears what says how a task was settled.
pub(super) fn forget_outcome(task: &mut Task) {
    task.completed_at = None;
    task.commit_sha = None;
    task.iteration = None;
    task.skip_reason = None;
    task.owner = None;
    task.question = None;
    task.marks.clear();
}

pub(super) fn start(task: &mut Task, owner: Option<&str>) -> Result<TaskChange, StateError> {
    match task.status {
        Status::Pending | Status::InProgress => Ok(changed(task, |task| {
            task.status = Status::InProgress;
            task.owner = owner.map(str::to_owned);
        })),
        status => Err(StateError::NotStartable { id: task.id.clone(), status }),
    }
}

/// Reopens tasks that were completed or skipped, and leaves out those that are gone. Of a parent task those subtasks are
/// reopened that are completed.
pub(super) fn take_back(plan: &mut Plan, ids: &[TaskId]) -> TaskChange {
    let groups = Groups::of(&plan.tasks);
    let mut is_asked: Vec<bool> = plan.tasks.iter().map(|task| ids.contains(&task.id)).collect();
    groups.mark_parts(&mut is_asked);
    let mut taken = Vec::new();
    for (place, (task, is_asked)) in plan.tasks.iter_mut().zip(is_asked).enumerate() {
        let is_settled = match groups.is_group(place) {
            // It was before it had parts, and would be again without them.
            true => task.status != Status::Completed && task.completed_at.is_some(),
            false if task.status == Status::Skipped => ids.contains(&task.id),
            false => task.status == Status::Completed,
        };
        if is_settled && is_asked {
            reset(task);
            taken.push(task.id.clone());
        }
    }
    if taken.is_empty() { TaskChange::Unchanged } else { TaskChange::TakenBack { ids: taken } }
}
