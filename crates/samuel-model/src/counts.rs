//! How far a plan is, in tasks.

use serde::{Deserialize, Serialize};

use super::{Groups, Mark, Plan, Status};

/// How many tasks stand where.
///
/// What counts as work is decided here: every task but the groups, which are done with
/// their parts and would count these twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// All of them, without the groups.
    pub total: usize,
    /// Those that wait.
    pub pending: usize,
    /// Those that are worked on.
    pub in_progress: usize,
    /// Those that are done.
    pub completed: usize,
    /// The completed tasks for which nothing was changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unchanged: usize,
    /// The completed tasks that the agent of another task completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub by_other_agent: usize,
    /// The completed tasks that an edit of `prd.toon` completed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub by_edit: usize,
    /// Those that are left out.
    pub skipped: usize,
    /// Those that cannot be worked on.
    pub blocked: usize,
    /// The groups, which count nowhere else.
    pub groups: usize,
    /// How much is done, in whole percent, rounded down: the completed tasks of all that
    /// are not skipped. 100 where all are skipped, nothing where there are none.
    pub percent: Option<u8>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl TaskCounts {
    /// Counts the tasks of a plan.
    pub fn of(plan: &Plan) -> Self {
        let groups = Groups::of(&plan.tasks);
        let mut counts = Self::default();
        for (place, task) in plan.tasks.iter().enumerate() {
            if groups.is_group(place) {
                counts.groups += 1;
                continue;
            }
            counts.total += 1;
            *match task.status {
                Status::Pending => &mut counts.pending,
                Status::InProgress => &mut counts.in_progress,
                Status::Completed => &mut counts.completed,
                Status::Skipped => &mut counts.skipped,
                Status::Blocked => &mut counts.blocked,
            } += 1;
            for mark in task.marks.iter().filter(|_| task.status == Status::Completed) {
                *match mark {
                    Mark::NoChange => &mut counts.unchanged,
                    Mark::OtherAgent => &mut counts.by_other_agent,
                    Mark::Edit => &mut counts.by_edit,
                } += 1;
            }
        }
        let work = counts.total - counts.skipped;
        let percent = (counts.completed * 100).checked_div(work).unwrap_or(100);
        counts.percent = (counts.total > 0).then(|| u8::try_from(percent).unwrap_or(100));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Task, TaskId};

    fn counts(tasks: &[(&str, &str, Status)]) -> TaskCounts {
        let task = |(id, parent, status): &(&str, &str, Status)| Task {
            status: *status,
            parent_id: (!parent.is_empty()).then(|| TaskId::new(*parent)),
            ..Task::new(TaskId::new(*id), "t")
        };
        TaskCounts::of(&Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() })
    }

    #[test]
    fn a_group_is_no_work_and_what_is_skipped_neither() {
        use Status::{Completed, Pending, Skipped};
        let found = counts(&[
            ("1", "", Completed),
            ("1.1", "1", Completed),
            ("1.2", "1", Skipped),
            ("2", "", Pending),
            ("3", "", Pending),
        ]);
        assert_eq!((found.total, found.completed, found.groups, found.percent), (4, 1, 1, Some(33)));
    }

    #[test]
    fn all_is_done_where_all_is_settled_and_nothing_is_said_of_no_tasks() {
        use Status::{Blocked, Completed, Pending, Skipped};
        assert_eq!(counts(&[]).percent, None);
        assert_eq!(counts(&[("1", "", Skipped)]).percent, Some(100));
        assert_eq!(counts(&[("1", "", Skipped), ("2", "", Completed)]).percent, Some(100));
        assert_eq!(counts(&[("1", "", Blocked), ("2", "", Pending)]).percent, Some(0));
        let many: Vec<(String, Status)> =
            (0..1_000).map(|n| (n.to_string(), if n == 0 { Pending } else { Completed })).collect();
        let many: Vec<(&str, &str, Status)> =
            many.iter().map(|(id, status)| (id.as_str(), "", *status)).collect();
        assert_eq!(counts(&many).percent, Some(99), "it is rounded down");
    }
}
