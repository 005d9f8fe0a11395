//! A family: a task's group and the other parts of it.

use super::{Groups, Plan, Task, TaskId};

/// How many other parts of a group a [`Family`] names.
pub const MAX_SIBLINGS: usize = 30;

/// The group that a task is directly a part of, with the other parts of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Family<'a> {
    /// The group.
    pub group: &'a Task,
    /// How many tasks are directly a part of it, the task itself among them.
    pub parts: usize,
    /// The others, in the order of the plan: at most [`MAX_SIBLINGS`], those
    /// around the task.
    pub siblings: Vec<&'a Task>,
}

impl Plan {
    /// Returns the family of a task; nothing of one that is a part of no group.
    ///
    /// ```
    /// use samuel_model::{Plan, Task, TaskId};
    ///
    /// let part = |id: &str| Task { parent_id: Some(TaskId::new("1")), ..Task::new(TaskId::new(id), "A part") };
    /// let tasks = vec![Task::new(TaskId::new("1"), "The group"), part("1.1"), part("1.2")];
    /// let plan = Plan { tasks, ..Plan::default() };
    ///
    /// let family = plan.family(&TaskId::new("1.2")).expect("it is a part of the group");
    /// assert_eq!((family.group.title.as_str(), family.parts), ("The group", 2));
    /// assert_eq!(family.siblings[0].id, TaskId::new("1.1"));
    /// ```
    pub fn family(&self, id: &TaskId) -> Option<Family<'_>> {
        let place = self.tasks.iter().position(|task| &task.id == id)?;
        let groups = Groups::of(&self.tasks);
        let parent = groups.parent(place)?;
        let parts = groups.parts(parent);
        let own = parts.iter().position(|part| *part == place)?;
        // As many before it as after it, and more of one side where the other has fewer.
        let first = own.saturating_sub(MAX_SIBLINGS / 2).min(parts.len().saturating_sub(MAX_SIBLINGS + 1));
        let around = parts.iter().skip(first).take(MAX_SIBLINGS + 1).filter(|part| **part != place);
        let siblings = around.filter_map(|part| self.tasks.get(*part)).collect();
        Some(Family { group: self.tasks.get(parent)?, parts: parts.len(), siblings })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;

    fn plan(parts: usize) -> Plan {
        let mut tasks = vec![Task::new(TaskId::new("1"), "Group"), Task::new(TaskId::new("2"), "Alone")];
        let parent_id = Some(TaskId::new("1"));
        tasks.extend((1..=parts).map(|n| Task {
            parent_id: parent_id.clone(),
            ..Task::new(TaskId::new(format!("1.{n}")), format!("Part {n}"))
        }));
        Plan { tasks, ..Plan::default() }
    }

    fn family_of(parts: usize, id: &str) -> (usize, String, String) {
        let plan = plan(parts);
        let family = plan.family(&TaskId::new(id)).unwrap();
        let ids: Vec<&str> = family.siblings.iter().map(|task| task.id.as_str()).collect();
        assert!(!ids.contains(&id));
        (ids.len(), ids[0].to_owned(), ids[ids.len() - 1].to_owned())
    }

    #[test]
    fn the_siblings_of_a_large_group_are_those_around_the_task() {
        assert_eq!(family_of(3, "1.2"), (2, "1.1".into(), "1.3".into()));
        assert_eq!(family_of(100, "1.50"), (30, "1.35".into(), "1.65".into()));
        assert_eq!(family_of(100, "1.1"), (30, "1.2".into(), "1.31".into()));
        assert_eq!(family_of(100, "1.100"), (30, "1.70".into(), "1.99".into()));
    }

    #[test]
    fn a_task_without_a_group_has_no_family() {
        assert_eq!(plan(1).family(&TaskId::new("2")), None);
        assert_eq!(plan(1).family(&TaskId::new("3")), None);
    }
}
