//! Which task is next.
//!
//! [`next_task`] reads a plan and answers with [`Next`]: a task, that all is
//! done, or why nothing can be worked on (ARCHITECTURE.md, State).

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use super::graph;
use crate::model::{Plan, Status, Task, TaskId};

/// What to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This task.
    Task(TaskId),
    /// Every task is completed or skipped, or there are none.
    AllDone,
    /// Tasks are left and none can be worked on, with the reason for each, in
    /// natural order.
    Blocked(Vec<BlockReason>),
}

/// Why a task cannot be worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockReason {
    /// The task.
    pub task: TaskId,
    /// Why not.
    pub why: Why,
}

/// What keeps a task from being worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It depends on itself. The path starts and ends with the task. Of the
    /// tasks on one circle only the first in natural order has this reason.
    Cycle(Vec<TaskId>),
    /// It depends on a task that does not exist.
    UnknownDependency(TaskId),
    /// It depends on a task that cannot be worked on.
    DependsOnBlocked(TaskId),
    /// Someone marked it as blocked.
    TaskBlocked,
}

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.why {
            Why::Cycle(path) => {
                write!(f, "{task} depends on itself:")?;
                path.iter()
                    .enumerate()
                    .try_for_each(|(index, id)| write!(f, "{}{id}", if index == 0 { " " } else { " -> " }))
            }
            Why::UnknownDependency(id) => write!(f, "{task} depends on {id}, which does not exist"),
            Why::DependsOnBlocked(id) => write!(f, "{task} depends on {id}, which cannot be worked on"),
            Why::TaskBlocked => write!(f, "{task} is marked as blocked"),
        }
    }
}

/// Says which task is next: one in progress, else a pending one whose
/// dependencies are all completed or skipped; of several the most urgent, of
/// those the first in natural order.
pub fn next_task(plan: &Plan) -> Next {
    let in_progress = plan.tasks.iter().filter(|task| task.status == Status::InProgress);
    if let Some(task) = most_urgent(in_progress) {
        return Next::Task(task.id.clone());
    }
    let settled: HashSet<&TaskId> =
        plan.tasks.iter().filter(|task| task.is_settled()).map(|task| &task.id).collect();
    let ready = plan.tasks.iter().filter(|task| {
        task.status == Status::Pending && task.depends_on.iter().all(|id| settled.contains(id))
    });
    if let Some(task) = most_urgent(ready) {
        return Next::Task(task.id.clone());
    }
    let reasons = block_reasons(plan, &settled);
    if reasons.is_empty() { Next::AllDone } else { Next::Blocked(reasons) }
}

fn most_urgent<'a>(tasks: impl Iterator<Item = &'a Task>) -> Option<&'a Task> {
    tasks.min_by(|a, b| a.priority.cmp(&b.priority).then_with(|| a.id.cmp(&b.id)))
}

/// Gives a reason for every task that is not settled.
fn block_reasons(plan: &Plan, settled: &HashSet<&TaskId>) -> Vec<BlockReason> {
    let mut left: Vec<&Task> = plan.tasks.iter().filter(|task| !task.is_settled()).collect();
    left.sort_by(|a, b| a.id.cmp(&b.id));
    let known: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let mut cycles: HashMap<TaskId, Vec<TaskId>> = graph::cycles(left.iter().copied())
        .into_iter()
        .filter_map(|path| Some((path.first()?.clone(), path)))
        .collect();
    let mut reason = |task: &Task| {
        if task.status == Status::Blocked {
            return Some(Why::TaskBlocked);
        }
        if let Some(path) = cycles.remove(&task.id) {
            return Some(Why::Cycle(path));
        }
        let mut open = task.depends_on.iter().filter(|id| !settled.contains(id));
        match open.clone().find(|id| !known.contains(id)) {
            Some(unknown) => Some(Why::UnknownDependency(unknown.clone())),
            None => open.next().map(|id| Why::DependsOnBlocked(id.clone())),
        }
    };
    left.into_iter()
        .filter_map(|task| Some(BlockReason { task: task.id.clone(), why: reason(task)? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Priority;

    fn task(id: &str, depends_on: &[&str]) -> Task {
        let depends_on = depends_on.iter().map(|id| TaskId::new(*id)).collect();
        Task { depends_on, ..Task::new(TaskId::new(id), "t") }
    }

    fn next(tasks: impl Into<Vec<Task>>) -> Next {
        next_task(&Plan { tasks: tasks.into(), ..Plan::default() })
    }

    fn is(id: &str) -> Next {
        Next::Task(TaskId::new(id))
    }

    fn reasons(next: Next) -> Vec<String> {
        match next {
            Next::Blocked(reasons) => reasons.iter().map(BlockReason::to_string).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn of_tasks_2_to_10_with_one_priority_2_is_next() {
        let tasks: Vec<Task> = (2..=10).rev().map(|n| task(&n.to_string(), &[])).collect();
        assert_eq!(next(tasks), is("2"));
    }

    #[test]
    fn priority_comes_before_the_natural_order() {
        let urgent = Task { priority: Priority::Critical, ..task("9", &[]) };
        let late = Task { priority: Priority::Low, ..task("1", &[]) };
        assert_eq!(next([late, task("2", &[]), urgent]), is("9"));
    }

    #[test]
    fn a_task_in_progress_comes_before_a_more_urgent_one() {
        let urgent = Task { priority: Priority::Critical, ..task("1", &[]) };
        let started = Task { status: Status::InProgress, ..task("2", &["7"]) };
        assert_eq!(next([urgent, started]), is("2"));
    }

    #[test]
    fn dependencies_must_be_completed_or_skipped() {
        let with = |status| next([Task { status, ..task("1", &[]) }, task("2", &["1"])]);
        assert_eq!(with(Status::Completed), is("2"));
        assert_eq!(with(Status::Skipped), is("2"));
        assert_eq!(with(Status::Pending), is("1"));
        let blocked = reasons(with(Status::Blocked));
        assert_eq!(blocked, ["1 is marked as blocked", "2 depends on 1, which cannot be worked on"]);
    }

    #[test]
    fn a_plan_without_open_tasks_is_done() {
        assert_eq!(next([]), Next::AllDone);
        let status = |status, id| Task { status, ..task(id, &["nowhere"]) };
        assert_eq!(next([status(Status::Completed, "1"), status(Status::Skipped, "2")]), Next::AllDone);
    }

    #[test]
    fn a_circle_is_reported_once_with_its_path() {
        let found =
            reasons(next([task("3", &["2"]), task("2", &["1"]), task("1", &["3"]), task("4", &["4"])]));
        assert_eq!(
            found,
            [
                "1 depends on itself: 1 -> 3 -> 2 -> 1",
                "2 depends on 1, which cannot be worked on",
                "3 depends on 2, which cannot be worked on",
                "4 depends on itself: 4 -> 4",
            ]
        );
    }

    #[test]
    fn an_unknown_dependency_is_named() {
        let found = reasons(next([task("1", &["1.10"]), task("2", &["1"])]));
        assert_eq!(
            found,
            ["1 depends on 1.10, which does not exist", "2 depends on 1, which cannot be worked on"]
        );
    }

    #[test]
    fn a_chain_of_100_000_tasks_does_not_exhaust_the_stack() {
        let tasks: Vec<Task> = (0..100_000).map(|n| task(&n.to_string(), &[&(n + 1).to_string()])).collect();
        assert_eq!(reasons(next(tasks)).len(), 100_000);
    }
}
