//! What the agent is told of its task.
//!
//! [`implementation_context`] and [`discovery_context`] are the default of
//! `context.task`: the task in full, its group and what was completed before it, or an
//! overview of all tasks. How that is written is said by [`TaskContext`].

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    model::{Plan, Status, Task, TaskCounts, payload::Mode},
    state::{CurrentTask, FamilyTask, RecentCompletion, TaskContext, TaskLine, TaskSummary},
};

/// Completions that are listed.
const MAX_COMPLETIONS: usize = 5;
/// Tasks that discovery is told of.
const MAX_TASKS: usize = 500;
/// Files that discovery is told of.
const MAX_FILES: usize = 500;

/// Tells of one task.
pub fn implementation_context(plan: &Plan, task: &Task) -> TaskContext {
    let family = plan.family(&task.id);
    TaskContext {
        mode: Mode::Implementation,
        current_task: Some(CurrentTask::from(task)),
        prd: plan.project.source_prd.clone(),
        parent: family.as_ref().map(|family| FamilyTask::from(family.group)),
        siblings: family.iter().flat_map(|family| &family.siblings).map(|task| (*task).into()).collect(),
        recent_completions: recently_completed(plan).take(MAX_COMPLETIONS).map(completion).collect(),
        ..TaskContext::default()
    }
}

/// Tells of all tasks: open ones first, then settled ones from the latest on.
pub fn discovery_context(plan: &Plan) -> TaskContext {
    let (open, settled): (Vec<&Task>, Vec<&Task>) = plan.tasks.iter().partition(|task| !task.is_settled());
    let tasks = open.into_iter().chain(settled.into_iter().rev()).take(MAX_TASKS);
    TaskContext {
        mode: Mode::Discovery,
        prd: plan.project.source_prd.clone(),
        summary: Some(summary(plan)),
        tasks: tasks.map(line).collect(),
        covered_files: covered_files(plan),
        ..TaskContext::default()
    }
}

fn summary(plan: &Plan) -> TaskSummary {
    let counts = TaskCounts::of(plan);
    let [total, pending, completed] =
        [counts.total, counts.pending, counts.completed].map(|count| count as u64);
    TaskSummary { total, pending, completed, other: total - pending - completed }
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

fn completion(task: &Task) -> RecentCompletion {
    RecentCompletion { id: task.id.clone(), title: task.title.clone(), commit_sha: task.commit_sha.clone() }
}

fn line(task: &Task) -> TaskLine {
    TaskLine { id: task.id.clone(), status: task.status, priority: task.priority, title: task.title.clone() }
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

    fn ids(tasks: &[TaskLine]) -> Vec<&str> {
        tasks.iter().map(|task| task.id.as_str()).collect()
    }

    #[test]
    fn a_task_is_told_in_full() {
        let mut one = task("1.10", Status::InProgress);
        one.files_to_create = vec!["b, c.rs".to_owned()];
        one.acceptance = vec!["it parses".to_owned()];
        let plan = plan(vec![one.clone()]);
        let context = implementation_context(&plan, &plan.tasks[0]);
        assert_eq!(
            (context.mode, context.current_task),
            (Mode::Implementation, Some(CurrentTask::from(&one)))
        );
        assert_eq!((context.summary, context.tasks.len()), (None, 0));
    }

    #[test]
    fn a_part_is_told_with_its_group_and_the_other_parts() {
        let part = |id, status| Task { parent_id: Some(TaskId::new("1")), ..task(id, status) };
        let tasks = vec![
            task("1", Status::Pending),
            part("1.1", Status::Completed),
            part("1.2", Status::InProgress),
            part("1.3", Status::Skipped),
            task("2", Status::Pending),
        ];
        let mut plan = plan(tasks);
        plan.project.source_prd = Some("docs/prd.md".to_owned());
        let context = implementation_context(&plan, &plan.tasks[2]);
        assert_eq!(context.prd.as_deref(), Some("docs/prd.md"));
        assert_eq!(context.parent, Some(FamilyTask::from(&plan.tasks[0])));
        assert_eq!(context.siblings, [FamilyTask::from(&plan.tasks[1]), FamilyTask::from(&plan.tasks[3])]);
        let alone = implementation_context(&plan, &plan.tasks[4]);
        assert_eq!((alone.parent, alone.siblings), (None, Vec::new()));
    }

    #[test]
    fn the_latest_five_completions_come_latest_first() {
        let hour = |n: usize| format!("2026-11-21T{n:02}:00:00Z");
        let mut tasks: Vec<Task> = (1..=7).map(|n| completed(&n.to_string(), &hour(n % 5))).collect();
        tasks.push(task("8", Status::Completed));
        tasks.push(task("9", Status::Pending));
        let plan = plan(tasks);
        let context = implementation_context(&plan, &plan.tasks[8]);
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
        let context = discovery_context(&plan);
        assert_eq!(context.summary, Some(TaskSummary { total: 4, pending: 1, completed: 1, other: 2 }));
        assert_eq!(ids(&context.tasks), ["2", "3", "4", "1"]);
        assert_eq!(context.covered_files, ["a.rs", "b.rs"]);
    }

    #[test]
    fn a_plan_of_any_size_stays_readable() {
        let mut tasks: Vec<Task> = (0..2_000).map(|n| task(&n.to_string(), Status::Completed)).collect();
        tasks.push(task("open", Status::Pending));
        let context = discovery_context(&plan(tasks));
        assert_eq!(
            (context.summary.map(|summary| summary.total), context.tasks.len()),
            (Some(2_001), MAX_TASKS)
        );
        assert_eq!(ids(&context.tasks)[..2], ["open", "1999"]);
    }
}
