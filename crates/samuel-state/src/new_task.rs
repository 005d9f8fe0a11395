//! New tasks of a plan, and the numbers they get.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{NewTask, StateError, TaskChange};
use samuel_model::{Plan, Task, TaskId, cycles};

/// Adds a task under the next free number.
pub(super) fn enqueue(
    plan: &mut Plan,
    new: &NewTask,
    now: Timestamp,
    reserved: &[TaskId],
) -> Result<TaskChange, StateError> {
    let id = UsedNumbers::of(plan.tasks.iter().flat_map(used_ids).chain(reserved)).take_next();
    if let Some(parent) = new.parent_id.as_ref().filter(|parent| plan.task(parent).is_none()) {
        return Err(StateError::no_task(plan, parent));
    }
    if let Some(dependency) = new.depends_on.iter().find(|id| plan.task(id).is_none()) {
        return Err(StateError::UnknownDependency { id, dependency: dependency.clone() });
    }
    add(plan, new.clone().with_id(id), now)
}

/// Adds a task under an id of the caller's choice, whose number says what it is a part of
/// unless the task does.
pub(super) fn add_numbered(
    plan: &mut Plan,
    mut task: Task,
    now: Timestamp,
) -> Result<TaskChange, StateError> {
    if task.parent_id.is_none() {
        task.parent_id = task.id.numbered_parent().filter(|parent| plan.task(parent).is_some());
    }
    add(plan, task, now)
}

/// Adds a task under its own id.
fn add(plan: &mut Plan, task: Task, now: Timestamp) -> Result<TaskChange, StateError> {
    task.validate().map_err(|source| StateError::TaskInvalid { id: task.id.clone(), source })?;
    if plan.task(&task.id).is_some() {
        return Err(StateError::TaskExists { id: task.id });
    }
    let id = task.id.clone();
    refuse_part_of_itself(plan, &task)?;
    plan.tasks.push(Task { created_at: task.created_at.or(Some(now)), ..task });
    // Circles that were there before are not this task's fault.
    if let Some(path) = cycles(&plan.tasks).into_iter().find(|path| path.contains(&id)) {
        plan.tasks.pop();
        return Err(StateError::Cycle { id, path });
    }
    Ok(TaskChange::Added { id })
}

/// Refuses a task that would be a part of itself.
pub(super) fn refuse_part_of_itself(plan: &Plan, task: &Task) -> Result<(), StateError> {
    let mut path = vec![task.id.clone()];
    let mut above = task.parent_id.as_ref();
    while let Some(parent) = above.filter(|_| path.len() <= plan.tasks.len() + 1) {
        path.push(parent.clone());
        if *parent == task.id {
            return Err(StateError::PartOfItself { id: task.id.clone(), path });
        }
        above = plan.task(parent).and_then(|parent| parent.parent_id.as_ref());
    }
    Ok(())
}

/// From where on a number is somebody's name for a task and not a count.
const MAX_COUNTED: u64 = 1 << 53;

/// The numbers that ids begin with, and so the next free one. Ids that are only referred
/// to count as used: a task must not become somebody's dependency or parent by accident.
#[derive(Debug, Default)]
pub(crate) struct UsedNumbers {
    used: HashSet<u64>,
    /// The highest that is a count.
    highest: u64,
}

impl UsedNumbers {
    pub(crate) fn of<'a>(ids: impl IntoIterator<Item = &'a TaskId>) -> Self {
        let mut numbers = Self::default();
        ids.into_iter().for_each(|id| numbers.count(id));
        numbers
    }

    /// Counts an id as used.
    pub(crate) fn count(&mut self, id: &TaskId) {
        let Some(number) = top_level(id) else { return };
        self.used.insert(number);
        if number < MAX_COUNTED {
            self.highest = self.highest.max(number);
        }
    }

    /// Returns the number after the highest one in use, which is used from now on.
    pub(crate) fn take_next(&mut self) -> TaskId {
        loop {
            self.highest += 1;
            if self.used.insert(self.highest) {
                return TaskId::new(self.highest.to_string());
            }
        }
    }
}

/// Returns the ids that a task uses: its own, and those it refers to.
pub(crate) fn used_ids(task: &Task) -> impl Iterator<Item = &TaskId> {
    std::iter::once(&task.id).chain(&task.depends_on).chain(&task.parent_id)
}

/// Returns the number that an id begins with.
fn top_level(id: &TaskId) -> Option<u64> {
    id.as_str().split('.').next().and_then(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::{
        Mutation, apply,
        apply::{At, apply_at},
    };
    use samuel_model::InvalidTask;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn plan(ids: &[&str]) -> Plan {
        let tasks = ids.iter().map(|id| Task::new(TaskId::new(*id), "t")).collect();
        Plan { tasks, ..Plan::default() }
    }

    fn id(text: &str) -> TaskId {
        TaskId::new(text)
    }

    fn enqueue(title: &str) -> Mutation {
        Mutation::Enqueue { task: NewTask::new(title) }
    }

    #[test]
    fn an_enqueued_task_gets_the_next_free_number() {
        let mut plan = plan(&["1", "2.7", "10.1", "T-99", "x"]);
        plan.tasks[0].depends_on = vec![id("12")];
        let change = apply_at(&mut plan, &enqueue("a"), At { now: NOW, revision: 1, reserved: &[] }).unwrap();
        assert_eq!(change, TaskChange::Added { id: id("13") });
        let change =
            apply_at(&mut plan, &enqueue("b"), At { now: NOW, revision: 2, reserved: &[id("40")] }).unwrap();
        assert_eq!(change, TaskChange::Added { id: id("41") });
        assert_eq!(plan.tasks.last().unwrap().created_at, Some(NOW));
        assert_eq!(plan.progress.total_tasks, 7);
    }

    #[test]
    fn the_highest_possible_number_does_not_stop_the_counting() {
        let mut plan = plan(&[&u64::MAX.to_string()]);
        assert_eq!(apply(&mut plan, &enqueue("a"), NOW).unwrap(), TaskChange::Added { id: id("1") });
    }

    #[test]
    fn an_enqueued_task_is_a_part_of_the_task_that_it_names() {
        let mut plan = plan(&["1", "2"]);
        let part = |parent: &str| Mutation::Enqueue {
            task: NewTask { parent_id: Some(id(parent)), ..NewTask::new("part") },
        };
        assert_eq!(apply(&mut plan, &part("2"), NOW).unwrap(), TaskChange::Added { id: id("3") });
        assert_eq!(plan.tasks[2].parent_id, Some(id("2")));
        let error = apply(&mut plan, &part("9"), NOW).unwrap_err();
        assert!(matches!(error, StateError::TaskNotFound { id, .. } if id.as_str() == "9"));
        let misspelt = serde_json::from_str::<NewTask>(r#"{"title": "t", "parent": "1"}"#).unwrap_err();
        assert!(misspelt.to_string().contains("unknown field `parent`"), "{misspelt}");
    }

    #[test]
    fn a_number_places_a_task_under_another_that_the_plan_has() {
        let mut plan = plan(&["1", "2"]);
        let parent = |plan: &mut Plan, task: Task| {
            apply(plan, &Mutation::Add { task: Box::new(task) }, NOW).unwrap();
            plan.tasks.last().unwrap().parent_id.clone()
        };
        assert_eq!(parent(&mut plan, Task::new(id("1.2"), "t")), Some(id("1")));
        let own = Task { parent_id: Some(id("2")), ..Task::new(id("1.3"), "t") };
        assert_eq!(parent(&mut plan, own), Some(id("2")));
        assert_eq!(parent(&mut plan, Task::new(id("7.1"), "t")), None);
    }

    #[test]
    fn an_empty_title_is_refused() {
        let error = apply(&mut plan(&[]), &enqueue("  "), NOW).unwrap_err();
        assert!(matches!(error, StateError::TaskInvalid { source: InvalidTask::EmptyTitle, .. }));
    }

    #[test]
    fn a_new_task_must_have_an_id_of_its_own_and_no_circle() {
        let mut plan = plan(&["1"]);
        plan.tasks[0].depends_on = vec![id("2")];
        let before = plan.clone();
        let mut add = |id: &str, depends_on: &[&str]| {
            let depends_on = depends_on.iter().map(|id| TaskId::new(*id)).collect();
            let task = Task { depends_on, ..Task::new(TaskId::new(id), "t") };
            apply(&mut plan, &Mutation::Add { task: Box::new(task) }, NOW).unwrap_err()
        };
        assert!(matches!(add("1", &[]), StateError::TaskExists { .. }));
        assert!(matches!(add("a b", &[]), StateError::TaskInvalid { .. }));
        assert_eq!(add("2", &["1"]).to_string(), "task 2 would depend on itself: 1 -> 2 -> 1");
        assert_eq!(plan, before);
    }
}
