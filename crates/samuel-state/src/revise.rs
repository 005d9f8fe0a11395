//! Changes of what a plan says, rather than of where its tasks stand: to edit, remove
//! and move tasks, to bring them up to date with a PRD, and to take a change back.
//!
//! [`revise`] makes them for [`apply`](super::apply). Each is made as a whole or not at
//! all: what depends on something unknown, or closes a circle, leaves the plan as it was.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Edit, Mutation, StateError, TaskChange,
    baseline::{Baseline, Field, Said},
    edit::differences,
    new_task::refuse_part_of_itself,
    undo,
};
use samuel_model::{Complexity, Groups, Plan, Priority, Task, TaskId, cycles};

/// What a task says anew. What is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskEdit {
    /// The title: one line, not empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description, any number of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How urgent it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// How much work it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// The tasks it waits for, all of them; each must exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<TaskId>>,
    /// Files it creates, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_to_create: Option<Vec<String>>,
    /// Files it changes, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_to_modify: Option<Vec<String>>,
    /// Rules the work must keep to, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guardrails: Option<Vec<String>>,
    /// What must hold for the task to be done, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<Vec<String>>,
}

impl TaskEdit {
    /// Returns what differs in one task from another.
    pub fn between(before: &Task, now: &Task) -> Self {
        fn new<T: PartialEq + Clone>(before: &T, now: &T) -> Option<T> {
            (before != now).then(|| now.clone())
        }
        Self {
            title: new(&before.title, &now.title),
            description: new(&before.description, &now.description),
            priority: new(&before.priority, &now.priority),
            complexity: new(&before.complexity, &now.complexity),
            depends_on: new(&before.depends_on, &now.depends_on),
            files_to_create: new(&before.files_to_create, &now.files_to_create),
            files_to_modify: new(&before.files_to_modify, &now.files_to_modify),
            guardrails: new(&before.guardrails, &now.guardrails),
            acceptance: new(&before.acceptance, &now.acceptance),
        }
    }

    /// Returns all that a task says.
    pub fn of(task: &Task) -> Self {
        Self {
            title: Some(task.title.clone()),
            description: Some(task.description.clone()),
            priority: Some(task.priority),
            complexity: Some(task.complexity),
            depends_on: Some(task.depends_on.clone()),
            files_to_create: Some(task.files_to_create.clone()),
            files_to_modify: Some(task.files_to_modify.clone()),
            guardrails: Some(task.guardrails.clone()),
            acceptance: Some(task.acceptance.clone()),
        }
    }

    /// Leaves out what a task says already.
    #[must_use]
    pub fn beside(&self, task: &Task) -> Self {
        let mut edited = task.clone();
        self.write(&mut edited);
        Self::between(task, &edited)
    }

    /// Says whether nothing is said anew.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Leaves out all but some fields.
    pub(super) fn only(self, keeps: impl Fn(Field) -> bool) -> Self {
        Self {
            title: self.title.filter(|_| keeps(Field::Title)),
            description: self.description.filter(|_| keeps(Field::Description)),
            priority: self.priority.filter(|_| keeps(Field::Priority)),
            complexity: self.complexity.filter(|_| keeps(Field::Complexity)),
            depends_on: self.depends_on.filter(|_| keeps(Field::DependsOn)),
            files_to_create: self.files_to_create.filter(|_| keeps(Field::FilesToCreate)),
            files_to_modify: self.files_to_modify.filter(|_| keeps(Field::FilesToModify)),
            guardrails: self.guardrails.filter(|_| keeps(Field::Guardrails)),
            acceptance: self.acceptance.filter(|_| keeps(Field::Acceptance)),
        }
    }

    fn write(&self, task: &mut Task) {
        fn set<T: Clone>(place: &mut T, new: &Option<T>) {
            if let Some(new) = new {
                place.clone_from(new);
            }
        }
        set(&mut task.title, &self.title);
        set(&mut task.description, &self.description);
        set(&mut task.priority, &self.priority);
        set(&mut task.complexity, &self.complexity);
        set(&mut task.depends_on, &self.depends_on);
        set(&mut task.files_to_create, &self.files_to_create);
        set(&mut task.files_to_modify, &self.files_to_modify);
        set(&mut task.guardrails, &self.guardrails);
        set(&mut task.acceptance, &self.acceptance);
    }
}

/// What happens to the parts of a task that is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// A task that has parts is not removed.
    #[default]
    #[serde(alias = "keep")]
    Refuse,
    /// They are removed with it.
    #[serde(alias = "take")]
    Remove,
}

/// Where a task is moved, with what is a part of it. What a run works on next does not
/// follow from it but from priority, dependencies and id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// Before a task.
    Before(TaskId),
    /// After a task.
    After(TaskId),
    /// It becomes a part of a task and stays where it stands.
    Under(TaskId),
    /// It is a part of no task any more and stays where it stands.
    Top,
}

/// What a changed PRD changes in a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanUpdate {
    /// Tasks that are new.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedTask>,
    /// Tasks that say something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedTask>,
    /// Tasks that are removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedTask>,
    /// What the project is called and what it is about, where that is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description of the project, where it is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The PRD, where the plan names another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_prd: Option<String>,
    /// The form that the PRD is read in, where it is another one; see
    /// [`prd_format`](samuel_model::PlanHeader::prd_format).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prd_format: Option<String>,
    /// What the PRD has said from now on, by task; see [`Plan::baseline`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline: BTreeMap<TaskId, Option<String>>,
}

/// A task that an update adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddedTask {
    /// The task.
    pub task: Task,
    /// The task it stands behind; last without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<TaskId>,
}

/// A task that an update changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedTask {
    /// The task.
    pub id: TaskId,
    /// What it says anew.
    #[serde(default, skip_serializing_if = "TaskEdit::is_empty")]
    pub edit: TaskEdit,
    /// Where it belongs, if that is different: [`Place::Under`] or [`Place::Top`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Place>,
    /// What tells the version of the task that was looked at from others. Of another
    /// version the change is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

/// A task that an update removes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemovedTask {
    /// The task.
    pub id: TaskId,
    /// What tells the version of the task that was looked at from others, and where it
    /// stood. Another one is not removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

impl RemovedTask {
    /// Names a task as it is.
    pub(super) fn of(task: &Task) -> Self {
        Self { id: task.id.clone(), was: Some(Self::version(task)) }
    }

    fn version(task: &Task) -> String {
        format!("{} {}", Said::of(task).as_str(), task.status)
    }
}

impl PlanUpdate {
    /// Says whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Says whether it changes nothing that a plan says, but perhaps what is known of
    /// the PRD.
    pub fn is_silent(&self) -> bool {
        *self == Self { baseline: self.baseline.clone(), ..Self::default() }
    }
}

/// Makes such a change. After an error the plan is as it was.
///
/// # Errors
/// Returns an error of a task that is not there, is used by others, or would wait for
/// itself; see [`apply`](super::apply()).
pub(super) fn revise(plan: &mut Plan, mutation: &Mutation, now: Timestamp) -> Result<TaskChange, StateError> {
    let before = (plan.tasks.clone(), plan.project.clone(), plan.baseline.clone());
    let made = match mutation {
        Mutation::Edit { id, edit } => edit_task(plan, id, edit),
        Mutation::Remove { ids, parts } => remove(plan, ids, *parts, &HashSet::new()),
        Mutation::Move { id, to } => move_task(plan, id, to),
        Mutation::Update { update } => bring_up_to_date(plan, update, now),
        Mutation::Undo { change, back: Some(back) } => undo::put_back(plan, *change, back),
        _ => Err(StateError::NotUndone { change: None, why: undo::NotUndone::NothingKept }),
    };
    let made = made.and_then(|()| check(plan, &before.0));
    match made {
        Ok(()) => {
            let is_other_project = before.1 != plan.project || before.2 != plan.baseline;
            Ok(change_of(plan, mutation, &before.0, is_other_project))
        }
        Err(error) => {
            (plan.tasks, plan.project, plan.baseline) = before;
            Err(error)
        }
    }
}

/// Says what came of a change.
fn change_of(plan: &Plan, mutation: &Mutation, before: &[Task], is_other_project: bool) -> TaskChange {
    if plan.tasks == before && !is_other_project {
        return TaskChange::Unchanged;
    }
    match mutation {
        Mutation::Edit { id, .. } => {
            let status = plan.task(id).map(|task| task.status).unwrap_or_default();
            TaskChange::Task { id: id.clone(), from: status, to: status }
        }
        _ => {
            let mut edits = differences(before, &plan.tasks);
            if let (Mutation::Move { id, .. }, true) = (mutation, edits.is_empty()) {
                edits.push(Edit::Changed { id: id.clone() });
            }
            TaskChange::Several { edits }
        }
    }
}

/// Checks what a change made of a plan.
fn check(plan: &Plan, before: &[Task]) -> Result<(), StateError> {
    let ids: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let known: HashSet<(&TaskId, &TaskId)> =
        before.iter().flat_map(|task| task.depends_on.iter().map(move |id| (&task.id, id))).collect();
    for task in &plan.tasks {
        // What was wrong before is not this change's fault, and nothing is removed that
        // others need.
        let is_fault = |id: &&TaskId| !ids.contains(*id) && !known.contains(&(&task.id, *id));
        if let Some(dependency) = task.depends_on.iter().find(is_fault) {
            return Err(StateError::UnknownDependency {
                id: task.id.clone(),
                dependency: dependency.clone(),
            });
        }
    }
    let circles = cycles(before);
    match cycles(&plan.tasks).into_iter().find(|path| !circles.contains(path)) {
        Some(path) => {
            Err(StateError::Cycle { id: path.first().cloned().unwrap_or_else(|| TaskId::new("")), path })
        }
        None => Ok(()),
    }
}

fn place_of(plan: &Plan, id: &TaskId) -> Result<usize, StateError> {
    plan.tasks.iter().position(|task| task.id == *id).ok_or_else(|| StateError::no_task(plan, id))
}

fn edit_task(plan: &mut Plan, id: &TaskId, edit: &TaskEdit) -> Result<(), StateError> {
    let place = place_of(plan, id)?;
    if let Some(task) = plan.tasks.get_mut(place) {
        edit.write(task);
        task.validate().map_err(|source| StateError::TaskInvalid { id: id.clone(), source })?;
    }
    Ok(())
}

/// Removes tasks, unless others need them; of those that `may` refer to what is not there
/// that does not count.
pub(super) fn remove(
    plan: &mut Plan,
    ids: &[TaskId],
    parts: Parts,
    may: &HashSet<&TaskId>,
) -> Result<(), StateError> {
    for id in ids {
        place_of(plan, id)?;
    }
    let asked: HashSet<&TaskId> = ids.iter().collect();
    let mut goes: Vec<bool> = plan.tasks.iter().map(|task| asked.contains(&task.id)).collect();
    if parts == Parts::Remove {
        Groups::of(&plan.tasks).mark_parts(&mut goes);
    }
    refuse_used(&plan.tasks, &goes, may)?;
    let mut goes = goes.into_iter();
    plan.tasks.retain(|_| !goes.next().unwrap_or_default());
    Ok(())
}

/// Refuses to remove what others depend on, or are a part of.
fn refuse_used(tasks: &[Task], goes: &[bool], may: &HashSet<&TaskId>) -> Result<(), StateError> {
    let all = || tasks.iter().zip(goes);
    let gone: HashSet<&TaskId> = all().filter(|(_, goes)| **goes).map(|(task, _)| &task.id).collect();
    let stay = || all().filter(|(task, goes)| !**goes && !may.contains(&task.id)).map(|(task, _)| task);
    let used =
        |task: &Task| task.depends_on.iter().chain(&task.parent_id).find(|id| gone.contains(id)).cloned();
    let Some(id) = stay().find_map(used) else { return Ok(()) };
    let of = |is_user: &dyn Fn(&Task) -> bool| {
        stay().filter(|task| is_user(task)).map(|task| task.id.clone()).collect::<Vec<_>>()
    };
    let dependents = of(&|task| task.depends_on.contains(&id));
    let parts = of(&|task| task.parent_id.as_ref() == Some(&id));
    Err(StateError::TaskInUse { id, dependents, parts })
}

fn move_task(plan: &mut Plan, id: &TaskId, to: &Place) -> Result<(), StateError> {
    let place = place_of(plan, id)?;
    let groups = Groups::of(&plan.tasks);
    if let Place::Before(other) | Place::After(other) | Place::Under(other) = to {
        let target = place_of(plan, other)?;
        if target == place || groups.contains(place, target) {
            return Err(StateError::MovedIntoItself { id: id.clone(), to: other.clone() });
        }
    }
    if matches!(to, Place::Under(_) | Place::Top) {
        set_parent(plan, place, to);
        return Ok(());
    }
    let moves: Vec<bool> =
        (0..plan.tasks.len()).map(|other| other == place || groups.contains(place, other)).collect();
    let rows = std::mem::take(&mut plan.tasks).into_iter().zip(moves);
    let (moved, mut left): (Vec<_>, Vec<_>) = rows.partition(|(_, moves)| *moves);
    let at = match to {
        Place::Before(other) => left.iter().position(|(task, _)| task.id == *other).unwrap_or(left.len()),
        Place::After(other) => {
            left.iter().position(|(task, _)| task.id == *other).map_or(left.len(), |place| place + 1)
        }
        Place::First => 0,
        _ => left.len(),
    };
    left.splice(at..at, moved).for_each(drop);
    plan.tasks = left.into_iter().map(|(task, _)| task).collect();
    Ok(())
}

fn set_parent(plan: &mut Plan, place: usize, to: &Place) {
    if let Some(task) = plan.tasks.get_mut(place) {
        task.parent_id = match to {
            Place::Under(parent) => Some(parent.clone()),
            _ => None,
        };
    }
}

fn bring_up_to_date(plan: &mut Plan, update: &PlanUpdate, now: Timestamp) -> Result<(), StateError> {
    for RemovedTask { id, was } in &update.removed {
        let is_other = |task: &Task| was.as_ref().is_some_and(|was| *was != RemovedTask::version(task));
        if plan.task(id).is_some_and(is_other) {
            return Err(StateError::TaskChanged { id: id.clone() });
        }
    }
    for ChangedTask { id, edit, parent, was } in &update.changed {
        let task = plan.task(id).ok_or_else(|| StateError::no_task(plan, id))?;
        if was.as_ref().is_some_and(|was| was != Said::of(task).as_str()) {
            return Err(StateError::TaskChanged { id: id.clone() });
        }
        edit_task(plan, id, edit)?;
        if let Some(to) = parent {
            let place = place_of(plan, id)?;
            set_parent(plan, place, to);
        }
    }
    for AddedTask { task, behind } in &update.added {
        task.validate().map_err(|source| StateError::TaskInvalid { id: task.id.clone(), source })?;
        if plan.task(&task.id).is_some() {
            return Err(StateError::TaskExists { id: task.id.clone() });
        }
        let after = behind.as_ref().and_then(|id| place_of(plan, id).ok());
        let at = after.map_or(plan.tasks.len(), |place| place + 1);
        plan.tasks.insert(at, Task { created_at: task.created_at.or(Some(now)), ..task.clone() });
    }
    let placed = update.changed.iter().filter(|changed| changed.parent.is_some()).map(|changed| &changed.id);
    for id in placed.chain(update.added.iter().map(|added| &added.task.id)) {
        plan.task(id).map_or(Ok(()), |task| refuse_part_of_itself(plan, task))?;
    }
    let removed: Vec<TaskId> = update.removed.iter().map(|removed| removed.id.clone()).collect();
    remove(plan, &removed, Parts::Refuse, &HashSet::new())?;
    let project = &mut plan.project;
    if let Some(name) = &update.name {
        project.name.clone_from(name);
    }
    if let Some(description) = &update.description {
        project.description.clone_from(description);
    }
    if update.source_prd.is_some() {
        project.source_prd.clone_from(&update.source_prd);
    }
    if update.prd_format.is_some() {
        project.prd_format.clone_from(&update.prd_format);
    }
    Baseline::change(&mut plan.baseline, &update.baseline);
    Ok(())
}
