//! What somebody changed in the plan's file without asking the store.
//!
//! [`find_edits`] compares the plan as it was known with the plan as it is, and
//! leaves out what the journal explains. What comes of an [`Edit`] is not
//! decided here: a completion is one, whoever makes it and however.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use super::{JournalEntry, JournalRecord, Mutation, TaskChange};
use samuel_model::{Groups, Plan, Status, Task, TaskId};

/// One thing that is different in a plan, and that no change in the journal
/// explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Edit {
    /// A task stands elsewhere.
    Status {
        /// The task.
        id: TaskId,
        /// Where it stood.
        from: Status,
        /// Where it stands now.
        to: Status,
    },
    /// A task says something else.
    Changed {
        /// The task.
        id: TaskId,
    },
    /// A task is new.
    Added {
        /// The task.
        id: TaskId,
        /// Where it stands.
        status: Status,
    },
    /// A task is gone.
    Removed {
        /// The task.
        id: TaskId,
    },
    /// The plan says something else of its project.
    Project {
        /// Which fields: `name`, `description`, `source_prd`, `prd_format`, or `baseline`, which
        /// decides what an update takes from the PRD.
        fields: Vec<String>,
    },
    /// Lines cannot be read that were not there before.
    Unread {
        /// How many.
        lines: usize,
    },
}

impl Edit {
    /// Returns the task that it is about; nothing of lines that cannot be read.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Status { id, .. }
            | Self::Changed { id }
            | Self::Added { id, .. }
            | Self::Removed { id } => Some(id),
            Self::Project { .. } | Self::Unread { .. } => None,
        }
    }

    /// Returns the task that it completes, if it does.
    pub fn completed(&self) -> Option<&TaskId> {
        match self {
            Self::Status { id, to: Status::Completed, .. } => Some(id),
            Self::Added { id, status: Status::Completed } => Some(id),
            _ => None,
        }
    }

    /// Says whether something that stood in the plan stands there no more.
    pub(crate) fn loses_something(&self) -> bool {
        !matches!(self, Self::Status { .. } | Self::Added { .. })
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { id, from, to } => write!(f, "task {id} was {from} and is {to}"),
            Self::Changed { id } => write!(f, "task {id} was changed"),
            Self::Added { id, .. } => write!(f, "task {id} was added"),
            Self::Removed { id } => write!(f, "task {id} was removed"),
            Self::Project { fields } => {
                write!(f, "what it says of the project was changed: {}", fields.join(", "))
            }
            Self::Unread { lines: 1 } => f.write_str("1 line can no longer be read"),
            Self::Unread { lines } => write!(f, "{lines} lines can no longer be read"),
        }
    }
}

/// Returns what differs between tasks before a change and after it.
pub(crate) fn differences(before: &[Task], now: &[Task]) -> Vec<Edit> {
    let mut told = Told::default();
    told.find_groups(before, now);
    told.differences(before, now)
}

/// A plan, and how many lines of its file could not be read.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) unread: usize,
}

/// Returns what differs between two plans beside what records tell that were
/// written in between.
pub(crate) fn find_edits(before: Known<'_>, now: Known<'_>, records: &[JournalRecord]) -> Vec<Edit> {
    let mut told = Told::by(records);
    let (old, new) = (&before.plan.tasks, &now.plan.tasks);
    told.find_groups(old, new);
    let mut edits = told.differences(old, new);
    if !told.anything && !told.project {
        edits.extend(project_edit(before.plan, now.plan));
    }
    let lines = now.unread.saturating_sub(before.unread);
    edits.extend((lines > 0).then_some(Edit::Unread { lines }));
    edits
}

/// Returns what differs in what plans say of their projects.
fn project_edit(before: &Plan, now: &Plan) -> Option<Edit> {
    let (old, new) = (&before.project, &now.project);
    let fields = [
        ("name", old.name != new.name),
        ("description", old.description != new.description),
        ("source_prd", old.source_prd != new.source_prd),
        ("prd_format", old.prd_format != new.prd_format),
        ("baseline", before.baseline != now.baseline),
    ];
    let fields: Vec<String> =
        fields.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field.to_owned()).collect();
    (!fields.is_empty()).then_some(Edit::Project { fields })
}

/// What records tell.
#[derive(Default)]
struct Told<'a> {
    touched: HashSet<&'a TaskId>,
    /// The status of tasks after all of them, if one of them changed it.
    standing: HashMap<&'a TaskId, Status>,
    /// Whether a whole plan was stored, which may say anything. But it completes
    /// nothing.
    anything: bool,
    /// Whether a change may have said something else of the project.
    project: bool,
    /// The tasks that were removed, which is told as an edit is.
    removed: HashSet<&'a TaskId>,
    /// The groups that stand where parts say of which all is told.
    groups: HashSet<&'a TaskId>,
}

impl<'a> Told<'a> {
    fn by(records: &'a [JournalRecord]) -> Self {
        let mut told = Self::default();
        for record in records {
            match &record.entry {
                JournalEntry::Mutation { mutation, change, .. } => {
                    told.touched.extend(mutation.tasks().into_iter().flatten());
                    told.project |= matches!(mutation, Mutation::Update { .. } | Mutation::Undo { .. });
                    if let TaskChange::Added { id } | TaskChange::Task { id, .. } = change {
                        told.touched.insert(id);
                    }
                    match change {
                        TaskChange::Task { id, from, to } if from != to => told.stands(id, *to),
                        TaskChange::TakenBack { ids } => {
                            ids.iter().for_each(|id| told.stands(id, Status::Pending));
                        }
                        TaskChange::Several { edits } => {
                            told.touched.extend(edits.iter().filter_map(Edit::task));
                            edits.iter().for_each(|edit| told.follows(edit));
                        }
                        _ => {}
                    }
                }
                JournalEntry::Edited { edits, .. } => {
                    told.project |= edits.iter().any(|edit| matches!(edit, Edit::Project { .. }));
                    edits.iter().for_each(|edit| told.follows(edit));
                }
                JournalEntry::Imported { .. } => {
                    told.anything = true;
                    told.standing.clear();
                }
                _ => {}
            }
        }
        told
    }

    fn follows(&mut self, edit: &'a Edit) {
        match edit {
            Edit::Status { id, to: status, .. } | Edit::Added { id, status } => {
                self.removed.remove(id);
                self.stands(id, *status);
            }
            Edit::Removed { id } => {
                self.removed.insert(id);
            }
            _ => {}
        }
    }

    /// Finds the groups whose parts say where they stand: those that were groups before,
    /// and those all parts of which somebody was told of. A task that somebody made a
    /// group by an edit is completed by that edit.
    fn find_groups(&mut self, old: &[Task], new: &'a [Task]) {
        let groups = Groups::of(new);
        if groups.is_empty() {
            return;
        }
        let before = Groups::of(old);
        let was_group: HashSet<&TaskId> = old
            .iter()
            .enumerate()
            .filter(|(place, _)| before.is_group(*place))
            .map(|(_, task)| &task.id)
            .collect();
        let is_told = |part: &usize| new.get(*part).is_some_and(|part| self.touched.contains(&part.id));
        let follows = |(place, task): &(usize, &Task)| {
            groups.is_group(*place)
                && (was_group.contains(&task.id) || groups.parts(*place).iter().all(is_told))
        };
        let found = new.iter().enumerate().filter(follows).map(|(_, task)| &task.id).collect();
        self.groups = found;
    }

    fn stands(&mut self, id: &'a TaskId, status: Status) {
        self.standing.insert(id, status);
    }

    /// Returns what is different and not told.
    fn differences(&self, old: &[Task], new: &[Task]) -> Vec<Edit> {
        let mut edits = Vec::new();
        // Mostly each task stands where it stood.
        let in_place = old.iter().zip(new).take_while(|(old, new)| old.id == new.id).count();
        edits.extend(old.iter().zip(new).take(in_place).filter_map(|(old, new)| self.edit(old, new)));
        let (old, new) = (old.get(in_place..).unwrap_or_default(), new.get(in_place..).unwrap_or_default());
        let mut left: HashMap<&TaskId, &Task> = old.iter().map(|task| (&task.id, task)).collect();
        for task in new {
            edits.extend(match left.remove(&task.id) {
                Some(old) => self.edit(old, task),
                None => self.added(task),
            });
        }
        // In the order of the plan.
        let gone = old.iter().filter(|task| left.contains_key(&task.id) && !self.removed.contains(&task.id));
        // Also where a plan was stored in place of it: anybody can write that down.
        edits.extend(gone.map(|task| Edit::Removed { id: task.id.clone() }));
        edits
    }

    fn edit(&self, old: &Task, new: &Task) -> Option<Edit> {
        let id = &new.id;
        // A file from before a task was reopened settles it again.
        let from = self.standing.get(id).copied().unwrap_or(old.status);
        let settles = new.status != from && matches!(new.status, Status::Completed | Status::Skipped);
        if old == new && !settles {
            return None;
        }
        if self.groups.contains(id) {
            // Where it stands, and since when, is nobody's edit.
            let as_now = Task { status: new.status, completed_at: new.completed_at, ..old.clone() };
            let as_now = Task { owner: None, skip_reason: None, question: None, marks: Vec::new(), ..as_now };
            let is_told = as_now == *new || self.anything || self.touched.contains(id);
            return (!is_told).then(|| Edit::Changed { id: id.clone() });
        }
        let completes = new.status == Status::Completed && from != Status::Completed;
        let is_stale = settles && self.standing.contains_key(id);
        if !completes && !is_stale && (self.anything || self.touched.contains(id)) {
            return None;
        }
        if old.status != new.status && self.standing.get(id) == Some(&new.status) && !self.anything {
            return None;
        }
        let from = if old.status == new.status { from } else { old.status };
        Some(match from == new.status {
            true => Edit::Changed { id: id.clone() },
            false => Edit::Status { id: id.clone(), from, to: new.status },
        })
    }

    fn added(&self, task: &Task) -> Option<Edit> {
        let (id, status) = (task.id.clone(), task.status);
        let explained = match status {
            Status::Completed if self.groups.contains(&id) => self.anything || self.touched.contains(&id),
            Status::Completed => self.standing.get(&id) == Some(&Status::Completed),
            _ => self.anything || self.touched.contains(&id),
        };
        (!explained).then_some(Edit::Added { id, status })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::Actor;

    fn plan(tasks: &[(&str, Status)]) -> Plan {
        let task =
            |(id, status): &(&str, Status)| Task { status: *status, ..Task::new(TaskId::new(*id), "t") };
        Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() }
    }

    fn edits(before: &Plan, now: &Plan, records: &[JournalRecord]) -> Vec<String> {
        let (before, now) = (Known { plan: before, unread: 0 }, Known { plan: now, unread: 0 });
        find_edits(before, now, records).iter().map(Edit::to_string).collect()
    }

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 1, at: jiff::Timestamp::UNIX_EPOCH, revision: 1, digest: None, entry }
    }

    fn told(mutation: Mutation, change: TaskChange) -> JournalRecord {
        record(JournalEntry::Mutation {
            actor: Actor::Agent,
            base: 0,
            mutation,
            change,
            by: None,
            replaced: None,
        })
    }

    #[test]
    fn what_a_plan_says_of_its_project_and_prd_is_told_where_no_update_changed_it() {
        let before = Plan::default();
        let mut now = plan(&[]);
        now.project.source_prd = Some(".git/config".to_owned());
        now.baseline = "1=0".to_owned();
        let told_of = "what it says of the project was changed: source_prd, baseline";
        assert_eq!(edits(&before, &now, &[]), [told_of]);
        let update = Mutation::Update { update: Box::default() };
        assert_eq!(edits(&before, &now, &[told(update, TaskChange::Several { edits: Vec::new() })]), [""; 0]);
    }

    #[test]
    fn what_the_journal_tells_is_no_edit() {
        use Status::{Completed, InProgress, Pending};
        let before = plan(&[("1", InProgress), ("2", Pending)]);
        let now = plan(&[("1", Completed), ("2", Pending), ("3", Pending)]);
        let id = TaskId::new("1");
        let done = told(
            Mutation::Done { id: id.clone(), commit_sha: None, iteration: None },
            TaskChange::Task { id: id.clone(), from: InProgress, to: Completed },
        );
        let added = told(
            Mutation::Enqueue { task: crate::NewTask::new("t") },
            TaskChange::Added { id: TaskId::new("3") },
        );
        assert_eq!(edits(&before, &now, &[done, added]), [""; 0]);
        // A task that something else was told of is not completed by that.
        let started = told(Mutation::StartTask { id: id.clone(), owner: None }, TaskChange::Unchanged);
        assert_eq!(
            edits(&before, &now, &[started]),
            ["task 1 was in_progress and is completed", "task 3 was added"]
        );
        let imported = record(JournalEntry::Imported { actor: Actor::User, tasks: 3, backup: None });
        assert_eq!(edits(&before, &now, &[imported]), ["task 1 was in_progress and is completed"]);
    }

    #[test]
    fn a_completion_that_the_journal_takes_back_explains_no_later_one() {
        use Status::{Completed, InProgress, Pending};
        let (before, now) = (plan(&[("1", InProgress)]), plan(&[("1", Completed)]));
        let id = TaskId::new("1");
        let moved = |from, to| TaskChange::Task { id: id.clone(), from, to };
        let done = told(
            Mutation::Done { id: id.clone(), commit_sha: None, iteration: None },
            moved(InProgress, Completed),
        );
        let reset = told(Mutation::Reset { id: id.clone() }, moved(Completed, Pending));
        let taken_back = told(
            Mutation::TakeBack { ids: vec![id.clone()], failures: Vec::new() },
            TaskChange::TakenBack { ids: vec![id.clone()] },
        );
        let edited = record(JournalEntry::Edited {
            actor: Actor::External,
            edits: vec![Edit::Status { id: id.clone(), from: Completed, to: Pending }],
        });
        let imported = record(JournalEntry::Imported { actor: Actor::User, tasks: 1, backup: None });
        for undone in [reset, taken_back, edited, imported] {
            let records = [done.clone(), undone.clone()];
            assert_eq!(edits(&before, &now, &records), ["task 1 was in_progress and is completed"]);
            let records = [done.clone(), undone, done.clone()];
            assert_eq!(edits(&before, &now, &records), [""; 0]);
        }
    }

    #[test]
    fn reports_file_that_settles_reopened_tasks_again() {
        let id = TaskId::new("1");
        let ids = vec![id.clone()];
        for status in [Status::Completed, Status::Skipped] {
            let plan = plan(&[("1", status)]);
            let back = Mutation::TakeBack { ids: ids.clone(), failures: Vec::new() };
            let back = told(back, TaskChange::TakenBack { ids: ids.clone() });
            let again = format!("task 1 was pending and is {status}");
            assert_eq!(edits(&plan, &plan, std::slice::from_ref(&back)), [again]);
            let moved = TaskChange::Task { id: id.clone(), from: Status::Pending, to: status };
            let settled = told(Mutation::Skip { id: id.clone(), reason: None }, moved);
            assert_eq!(edits(&plan, &plan, &[back, settled]), [""; 0]);
        }
    }

    #[test]
    fn a_group_stands_where_its_parts_say_unless_an_edit_made_it_one() {
        use Status::{Completed, Pending};
        let part_of = |plan: &mut Plan, place: usize, parent: &str| {
            plan.tasks[place].parent_id = Some(TaskId::new(parent));
        };
        let mut before = plan(&[("1", Pending), ("2", Pending), ("3", Completed)]);
        let id = TaskId::new("2");
        let done = told(
            Mutation::Done { id: id.clone(), commit_sha: None, iteration: None },
            TaskChange::Task { id, from: Pending, to: Completed },
        );
        part_of(&mut before, 1, "1");
        let mut now = before.clone();
        (now.tasks[0].status, now.tasks[1].status) = (Completed, Completed);
        assert_eq!(edits(&before, &now, &[done]), [""; 0]);
        assert_eq!(edits(&before, &now, &[]), ["task 2 was pending and is completed"]);
        let before = plan(&[("1", Pending), ("2", Pending), ("3", Completed)]);
        let mut now = plan(&[("1", Completed), ("2", Pending), ("3", Completed)]);
        part_of(&mut now, 2, "1");
        assert_eq!(
            edits(&before, &now, &[]),
            ["task 1 was pending and is completed", "task 3 was changed"],
            "the check decides on it, and takes back its parts"
        );
    }

    #[test]
    fn what_moved_is_the_same_task_and_what_is_gone_is_named() {
        use Status::{Completed, Pending};
        let before = plan(&[("1", Pending), ("2", Pending), ("3", Pending)]);
        let mut now = plan(&[("3", Pending), ("1", Pending), ("4", Completed)]);
        assert_eq!(edits(&before, &now, &[]), ["task 4 was added", "task 2 was removed"]);
        now.tasks[1].title = "other".to_owned();
        assert_eq!(edits(&before, &now, &[])[0], "task 1 was changed");
    }
}
