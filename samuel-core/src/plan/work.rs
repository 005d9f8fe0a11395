//! What a plan leaves to do.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    model::{Plan, Status, Task, TaskId, payload::TaskBrief},
    state::{cycles, is_gap},
    text::counted,
};

/// What a plan leaves to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// This task is next.
    Task(TaskBrief),
    /// Nothing: every task is completed or skipped, or there are none.
    AllDone,
    /// Tasks are left, or may be, and none can be worked on: the reason for each, in
    /// natural order.
    Blocked(Vec<String>),
}

impl Work {
    /// Says what a plan leaves to do: a task in progress, else a pending one whose
    /// dependencies are all completed or skipped; of several the most urgent, of
    /// those the first in natural order.
    ///
    /// The lines of the plan's file that cannot be read
    /// ([`LoadedPlan::unparsed`](crate::state::LoadedPlan::unparsed)) may be tasks that are not
    /// done.
    pub fn of(plan: &Plan, unread: &[String]) -> Self {
        let in_progress = plan.tasks.iter().filter(|task| task.status == Status::InProgress);
        let settled: HashSet<&TaskId> =
            plan.tasks.iter().filter(|task| task.is_settled()).map(|task| &task.id).collect();
        let ready = plan.tasks.iter().filter(|task| {
            task.status == Status::Pending && task.depends_on.iter().all(|id| settled.contains(id))
        });
        if let Some(task) = most_urgent(in_progress).or_else(|| most_urgent(ready)) {
            return Self::Task(TaskBrief::from(task));
        }
        let mut reasons = block_reasons(plan, &settled);
        if reasons.is_empty() {
            reasons.extend(doubt(unread));
        }
        if reasons.is_empty() { Self::AllDone } else { Self::Blocked(reasons) }
    }
}

/// Says why a plan may not be done although all that was read of it is.
fn doubt(unread: &[String]) -> Option<String> {
    let missing = unread.iter().find(|line| is_gap(line));
    let missing = missing.map(|missing| format!("every task in prd.toon is settled, but {missing}"));
    let lines = || counted(unread.len(), "line");
    let junk =
        || format!("every task that can be read is settled, but {} of prd.toon cannot be read", lines());
    missing.or_else(|| (!unread.is_empty()).then(junk))
}

fn most_urgent<'a>(tasks: impl Iterator<Item = &'a Task>) -> Option<&'a Task> {
    tasks.min_by(|a, b| a.priority.cmp(&b.priority).then_with(|| a.id.cmp(&b.id)))
}

/// Gives a reason for every task that is not settled. Of the tasks on one circle
/// only the first in natural order is told to depend on itself.
fn block_reasons(plan: &Plan, settled: &HashSet<&TaskId>) -> Vec<String> {
    let mut left: Vec<&Task> = plan.tasks.iter().filter(|task| !task.is_settled()).collect();
    left.sort_by(|a, b| a.id.cmp(&b.id));
    let known: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let mut circles: HashMap<TaskId, Vec<TaskId>> = cycles(left.iter().copied())
        .into_iter()
        .filter_map(|path| Some((path.first()?.clone(), path)))
        .collect();
    let reason = |task: &&Task| {
        let id = &task.id;
        if task.status == Status::Blocked {
            return Some(format!("{id} is marked as blocked"));
        }
        if let Some(path) = circles.remove(id) {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            return Some(format!("{id} depends on itself: {}", path.join(" -> ")));
        }
        let mut open = task.depends_on.iter().filter(|id| !settled.contains(id));
        match open.clone().find(|id| !known.contains(id)) {
            Some(unknown) => Some(format!("{id} depends on {unknown}, which does not exist")),
            None => open.next().map(|open| format!("{id} depends on {open}, which cannot be worked on")),
        }
    };
    left.iter().filter_map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Priority;

    fn task(id: &str, depends_on: &[&str]) -> Task {
        let depends_on = depends_on.iter().map(|id| TaskId::new(*id)).collect();
        Task { depends_on, ..Task::new(TaskId::new(id), "t") }
    }

    fn work(tasks: impl Into<Vec<Task>>) -> Work {
        Work::of(&Plan { tasks: tasks.into(), ..Plan::default() }, &[])
    }

    /// Returns the id of the task that is next.
    fn id(work: Work) -> String {
        match work {
            Work::Task(task) => task.id,
            other => format!("{other:?}"),
        }
    }

    fn reasons(work: Work) -> Vec<String> {
        match work {
            Work::Blocked(reasons) => reasons,
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn of_tasks_2_to_10_with_one_priority_2_is_next() {
        let tasks: Vec<Task> = (2..=10).rev().map(|n| task(&n.to_string(), &[])).collect();
        assert_eq!(id(work(tasks)), "2");
    }

    #[test]
    fn priority_comes_before_the_natural_order() {
        let urgent = Task { priority: Priority::Critical, ..task("9", &[]) };
        let late = Task { priority: Priority::Low, ..task("1", &[]) };
        assert_eq!(id(work([late, task("2", &[]), urgent])), "9");
    }

    #[test]
    fn a_task_in_progress_comes_before_a_more_urgent_one() {
        let urgent = Task { priority: Priority::Critical, ..task("1", &[]) };
        let started = Task { status: Status::InProgress, ..task("2", &["7"]) };
        assert_eq!(id(work([urgent, started])), "2");
    }

    #[test]
    fn dependencies_must_be_completed_or_skipped() {
        let with = |status| work([Task { status, ..task("1", &[]) }, task("2", &["1"])]);
        assert_eq!(id(with(Status::Completed)), "2");
        assert_eq!(id(with(Status::Skipped)), "2");
        assert_eq!(id(with(Status::Pending)), "1");
        let blocked = reasons(with(Status::Blocked));
        assert_eq!(blocked, ["1 is marked as blocked", "2 depends on 1, which cannot be worked on"]);
    }

    #[test]
    fn a_plan_without_open_tasks_is_done() {
        assert_eq!(work([]), Work::AllDone);
        let status = |status, id| Task { status, ..task(id, &["nowhere"]) };
        assert_eq!(work([status(Status::Completed, "1"), status(Status::Skipped, "2")]), Work::AllDone);
    }

    #[test]
    fn a_circle_is_reported_once_with_its_path() {
        let found =
            reasons(work([task("3", &["2"]), task("2", &["1"]), task("1", &["3"]), task("4", &["4"])]));
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
        let found = reasons(work([task("1", &["1.10"]), task("2", &["1"])]));
        assert_eq!(
            found,
            ["1 depends on 1.10, which does not exist", "2 depends on 1, which cannot be worked on"]
        );
    }

    #[test]
    fn a_chain_of_100_000_tasks_does_not_exhaust_the_stack() {
        let tasks: Vec<Task> = (0..100_000).map(|n| task(&n.to_string(), &[&(n + 1).to_string()])).collect();
        assert_eq!(reasons(work(tasks)).len(), 100_000);
    }
}
