//! What the agent is told of its task.
//!
//! [`TaskContext`] is the default of `context.task`: the task in full and what
//! was completed before it, or in discovery an overview of all tasks. It is
//! written as `task-context.toon` (design, run directory).

use std::{cmp::Reverse, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{Plan, Priority, Status, Task, payload::Mode};

/// Completions that are listed.
const MAX_COMPLETIONS: usize = 5;
/// Tasks that discovery is told of.
const MAX_TASKS: usize = 500;
/// Files that discovery is told of.
const MAX_FILES: usize = 500;

/// What the agent is told of its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TaskContext {
    /// One task to work on.
    Implementation(ImplementationContext),
    /// All tasks, for finding those that are missing.
    Discovery(DiscoveryContext),
}

/// One task to work on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImplementationContext {
    /// `implementation`.
    pub mode: Mode,
    /// The task.
    pub current_task: CurrentTask,
    /// The tasks completed last, at most 5, the latest first.
    pub recent_completions: Vec<Completion>,
}

/// A task in full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurrentTask {
    /// Id, title, priority and complexity in one line.
    pub brief: String,
    /// The description; may be empty.
    pub description: String,
    /// The files it is about, each with what happens to it: `modify a.rs`.
    pub files: Vec<String>,
    /// The tasks it waited for.
    pub depends_on: Vec<String>,
    /// Rules the work must keep to.
    pub guardrails: Vec<String>,
    /// What must hold for the task to be done.
    pub acceptance: Vec<String>,
}

/// A completed task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The commit that completed it, if it is known.
    pub commit_sha: Option<String>,
}

/// All tasks, for finding those that are missing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoveryContext {
    /// `discovery`.
    pub mode: Mode,
    /// How many tasks there are.
    pub summary: TaskSummary,
    /// The tasks, open ones first, at most 500.
    pub tasks: Vec<TaskRow>,
    /// Files that some task is about, at most 500.
    pub covered_files: Vec<String>,
}

/// How many tasks there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// All of them.
    pub total: usize,
    /// Those that wait to be worked on.
    pub pending: usize,
    /// Those that are done.
    pub completed: usize,
    /// Those in progress, skipped or blocked.
    pub other: usize,
}

/// A task in one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is.
    pub priority: Priority,
    /// Its title.
    pub title: String,
}

impl TaskContext {
    /// Tells of one task.
    pub fn implementation(plan: &Plan, task: &Task) -> Self {
        Self::Implementation(ImplementationContext {
            mode: Mode::Implementation,
            current_task: CurrentTask::from(task),
            recent_completions: recently_completed(plan)
                .take(MAX_COMPLETIONS)
                .map(Completion::from)
                .collect(),
        })
    }

    /// Tells of all tasks.
    pub fn discovery(plan: &Plan) -> Self {
        let total = plan.tasks.len();
        let (pending, completed) = (plan.count(Status::Pending), plan.count(Status::Completed));
        let (open, settled): (Vec<&Task>, Vec<&Task>) =
            plan.tasks.iter().partition(|task| !task.is_settled());
        let tasks = open.into_iter().chain(settled.into_iter().rev()).take(MAX_TASKS);
        Self::Discovery(DiscoveryContext {
            mode: Mode::Discovery,
            summary: TaskSummary { total, pending, completed, other: total - pending - completed },
            tasks: tasks.map(TaskRow::from).collect(),
            covered_files: covered_files(plan),
        })
    }
}

impl TaskContext {
    /// Returns the context as a TOON object, without the header of a file.
    pub fn to_toon(&self) -> String {
        crate::toon::to_string(self).expect("a record of text, numbers and lists always has a TOON form")
    }
}

/// Returns the completed tasks, the latest first; of those completed at the
/// same time, the later in the plan.
pub fn recently_completed(plan: &Plan) -> impl Iterator<Item = &Task> {
    let mut completed: Vec<(usize, &Task)> =
        plan.tasks.iter().enumerate().filter(|(_, task)| task.status == Status::Completed).collect();
    completed.sort_by_key(|(position, task)| Reverse((task.completed_at, *position)));
    completed.into_iter().map(|(_, task)| task)
}

fn covered_files(plan: &Plan) -> Vec<String> {
    let files = plan.tasks.iter().flat_map(|task| task.files_to_modify.iter().chain(&task.files_to_create));
    let sorted: BTreeSet<&String> = files.collect();
    sorted.into_iter().take(MAX_FILES).cloned().collect()
}

impl From<&Task> for CurrentTask {
    fn from(task: &Task) -> Self {
        let Task { id, title, priority, complexity, .. } = task;
        let modified = task.files_to_modify.iter().map(|path| format!("modify {path}"));
        let created = task.files_to_create.iter().map(|path| format!("create {path}"));
        Self {
            brief: format!("{id} {title} (priority {priority}, {complexity})"),
            description: task.description.clone(),
            files: modified.chain(created).collect(),
            depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
            guardrails: task.guardrails.clone(),
            acceptance: task.acceptance.clone(),
        }
    }
}

impl From<&Task> for Completion {
    fn from(task: &Task) -> Self {
        Self { id: task.id.to_string(), title: task.title.clone(), commit_sha: task.commit_sha.clone() }
    }
}

impl From<&Task> for TaskRow {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.to_string(),
            status: task.status,
            priority: task.priority,
            title: task.title.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::model::TaskId;

    fn task(id: &str, status: Status) -> Task {
        Task { status, ..Task::new(TaskId::new(id), format!("Title {id}")) }
    }

    fn completed(id: &str, at: &str) -> Task {
        let completed_at = Some(at.parse().unwrap());
        Task { completed_at, commit_sha: Some(format!("sha{id}")), ..task(id, Status::Completed) }
    }

    fn plan(tasks: Vec<Task>) -> Plan {
        Plan { tasks, ..Plan::default() }
    }

    #[test]
    fn a_task_is_told_in_full() {
        let mut one = task("1.10", Status::InProgress);
        one.description = "Two\nlines".to_owned();
        one.files_to_modify = vec!["a.rs".to_owned()];
        one.files_to_create = vec!["b, c.rs".to_owned()];
        one.depends_on = vec![TaskId::new("1.9")];
        one.guardrails = vec!["no unsafe".to_owned()];
        one.acceptance = vec!["it parses".to_owned()];
        let plan = plan(vec![one]);
        let TaskContext::Implementation(context) = TaskContext::implementation(&plan, &plan.tasks[0]) else {
            unreachable!("it is an implementation")
        };
        let expected = CurrentTask {
            brief: "1.10 Title 1.10 (priority medium, medium)".to_owned(),
            description: "Two\nlines".to_owned(),
            files: vec!["modify a.rs".to_owned(), "create b, c.rs".to_owned()],
            depends_on: vec!["1.9".to_owned()],
            guardrails: vec!["no unsafe".to_owned()],
            acceptance: vec!["it parses".to_owned()],
        };
        assert_eq!(context.current_task, expected);
    }

    #[test]
    fn the_latest_five_completions_come_latest_first() {
        let hour = |n: usize| format!("2026-11-21T{n:02}:00:00Z");
        let mut tasks: Vec<Task> = (1..=7).map(|n| completed(&n.to_string(), &hour(n % 5))).collect();
        tasks.push(task("8", Status::Completed));
        tasks.push(task("9", Status::Pending));
        let plan = plan(tasks);
        let TaskContext::Implementation(context) = TaskContext::implementation(&plan, &plan.tasks[8]) else {
            unreachable!("it is an implementation")
        };
        let ids: Vec<&str> = context.recent_completions.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["4", "3", "7", "2", "6"]);
        assert_eq!(context.recent_completions[0].commit_sha.as_deref(), Some("sha4"));
    }

    #[test]
    fn discovery_sees_all_tasks_open_ones_first() {
        let mut first = task("1", Status::Completed);
        first.files_to_modify = vec!["b.rs".to_owned(), "a.rs".to_owned()];
        let mut second = task("2", Status::Pending);
        second.files_to_create = vec!["a.rs".to_owned()];
        let plan = plan(vec![first, second, task("3", Status::Blocked), task("4", Status::Skipped)]);
        let TaskContext::Discovery(context) = TaskContext::discovery(&plan) else {
            unreachable!("it is a discovery")
        };
        assert_eq!(context.summary, TaskSummary { total: 4, pending: 1, completed: 1, other: 2 });
        let ids: Vec<&str> = context.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["2", "3", "4", "1"]);
        assert_eq!(context.covered_files, ["a.rs", "b.rs"]);
    }

    #[test]
    fn a_plan_of_any_size_stays_readable() {
        let mut tasks: Vec<Task> = (0..2_000).map(|n| task(&n.to_string(), Status::Completed)).collect();
        tasks.push(task("open", Status::Pending));
        let TaskContext::Discovery(context) = TaskContext::discovery(&plan(tasks)) else {
            unreachable!("it is a discovery")
        };
        assert_eq!((context.summary.total, context.tasks.len()), (2_001, MAX_TASKS));
        assert_eq!((context.tasks[0].id.as_str(), context.tasks[1].id.as_str()), ("open", "1999"));
    }
}
