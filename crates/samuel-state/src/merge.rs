//! What a changed PRD changes in a plan.
//!
//! [`merge`] finds for each task of the PRD the one of the plan that it is, and says what
//! is different. It is pure, and changes nothing: the store applies a
//! [`PlanUpdate`](super::PlanUpdate). Where tasks stand, their commits and what somebody
//! added are no part of it.
//!
//! A task of the PRD is the one of the plan that it was the last time, if it has the same id
//! and title. Else it is found by id and title, then by id, then by title. An id alone says nothing
//! where either title stands elsewhere under another id: the PRD was numbered anew then,
//! and the work that was done stays with its title. Where most of a PRD is found by ids
//! alone, it may be [another one](OtherPrd). A task keeps the id that it has in the
//! plan. A new one whose id is taken gets the next free number.
//!
//! Fields are merged three ways, with what the PRD said last ([`Baseline`]): what only the
//! PRD changed follows it, what only the plan changed stays, and what both changed is a
//! conflict, in which the plan wins.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
};

use serde::Serialize;

use super::{
    AddedTask, ChangedTask, Place, PlanUpdate, RemovedTask, TaskEdit,
    baseline::{Baseline, Field, Said},
    new_task::{UsedNumbers, used_ids},
};
use samuel_model::{Plan, Source, Status, Task, TaskId};

/// What happens to tasks that the PRD has no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Orphans {
    /// They stay.
    #[default]
    Keep,
    /// They are removed.
    Remove,
}

/// A plan beside a changed PRD.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// What is different.
    pub update: PlanUpdate,
    /// The tasks of an earlier PRD that are in this one no more.
    pub orphans: Vec<TaskId>,
    /// What the PRD says where the plan was changed too and stays. They are told at each
    /// update until one side gives way.
    pub conflicts: Vec<ChangedTask>,
    /// The tasks of the PRD that somebody removed from the plan, which stay away.
    pub left_out: Vec<TaskTitle>,
    /// Whether it looks like another PRD than the one that the plan follows.
    pub other_prd: Option<OtherPrd>,
}

/// A PRD most of whose tasks have the id of a task of the plan that has another title: it may
/// be another one that is numbered alike, whose tasks would take what the plan's have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OtherPrd {
    /// How many tasks have the id of another.
    pub differing: usize,
    /// How many tasks the PRD has.
    pub tasks: usize,
}

/// So few tasks anybody may have given other titles.
const MIN_DIFFERING: usize = 3;

impl OtherPrd {
    /// Looks at which tasks of a PRD are found in a plan by nothing but their id.
    fn of(prd: &[Row<'_>], known: &Known<'_>, found: &[Option<usize>]) -> Option<Self> {
        let is_other = |(here, found): &(&Row<'_>, &Option<usize>)| {
            let row = found.filter(|row| known.place(*row).is_some()).and_then(|row| known.rows.get(row));
            row.is_some_and(|row| row.id == here.id && row.title != here.title)
        };
        let differing = prd.iter().zip(found).filter(is_other).count();
        let tasks = prd.len();
        (differing >= MIN_DIFFERING && differing * 2 > tasks).then_some(Self { differing, tasks })
    }
}

impl fmt::Display for OtherPrd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { differing, tasks } = self;
        write!(f, "{differing} of {tasks} tasks have the id of another task: this looks like another PRD")
    }
}

/// A task by name. One that is not in the plan has the id and title of the PRD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskTitle {
    /// The id.
    pub id: TaskId,
    /// The title.
    pub title: String,
    /// Whether it is completed.
    pub is_completed: bool,
}

impl TaskTitle {
    /// Names a task.
    pub fn of(task: &Task) -> Self {
        let is_completed = task.status == Status::Completed;
        Self { id: task.id.clone(), title: task.title.clone(), is_completed }
    }
}

/// Compares a plan with the one that a PRD gives.
pub fn merge(plan: &Plan, prd: &Plan, orphans: Orphans) -> Merged {
    let baseline = Baseline::parse(&plan.baseline);
    let known = Known::of(plan, &baseline);
    let rows: Vec<Row<'_>> = prd.tasks.iter().map(Row::of_prd).collect();
    let found = paired(&known.rows, &rows);
    let ids = Ids::of(plan, prd, &known, &found);
    let mut merged = Merged { other_prd: OtherPrd::of(&rows, &known, &found), ..Merged::default() };
    let mut now = Baseline::default();
    let mut behind: Option<TaskId> = None;
    for (task, found) in prd.tasks.iter().zip(&found) {
        let there = found.and_then(|row| plan.tasks.get(known.place(row)?));
        let (id, identity) = (ids.of_task(&task.id), Said::identity_of(task));
        if ids.left_out.contains(&id) {
            merged.left_out.push(TaskTitle::of(task));
            let said = baseline.task(&id).cloned().unwrap_or_else(|| Said::of(task));
            now.insert(id, said.by(&identity));
            continue;
        }
        let task = ids.in_plan(task);
        let mut said = Said::of(&task);
        let task = ids.without_left_out(task);
        match there {
            Some(there) => {
                let sides = Sides { there, now: &task, said: &said, before: baseline.task(&id) };
                let (changed, conflict, agreed) = sides.merged();
                merged.update.changed.extend(changed);
                merged.conflicts.extend(conflict);
                said = agreed;
            }
            None => {
                let behind = behind.clone().filter(|_| !ids.renamed.contains(&task.id));
                merged.update.added.push(AddedTask { task: task.clone(), behind });
            }
        }
        now.insert(task.id.clone(), said.by(&identity));
        behind = Some(task.id);
    }
    let taken: HashSet<usize> = found.iter().flatten().filter_map(|row| known.place(*row)).collect();
    let is_orphan = |(place, task): &(usize, &Task)| task.source == Source::Prd && !taken.contains(place);
    merged.orphans =
        plan.tasks.iter().enumerate().filter(is_orphan).map(|(_, task)| task.id.clone()).collect();
    match orphans {
        Orphans::Remove => {
            let orphans = merged.orphans.iter().filter_map(|id| plan.task(id));
            merged.update.removed = orphans.map(RemovedTask::of).collect();
        }
        // Should the PRD have them again one day, it is known what it said of them.
        Orphans::Keep => {
            let said = merged.orphans.iter().filter_map(|id| Some((id.clone(), baseline.task(id)?.clone())));
            said.for_each(|(id, said)| now.insert(id, said));
        }
    }
    if baseline.is_other_project(&prd.project) {
        let new = |there: &String, now: &String| (there != now).then(|| now.clone());
        merged.update.name = new(&plan.project.name, &prd.project.name);
        merged.update.description = new(&plan.project.description, &prd.project.description);
    }
    now.insert_project(&prd.project);
    let new = |there: &Option<String>, now: &Option<String>| now.clone().filter(|_| there != now);
    merged.update.source_prd = new(&plan.project.source_prd, &prd.project.source_prd);
    merged.update.prd_format = new(&plan.project.prd_format, &prd.project.prd_format);
    let difference = baseline.difference(&now);
    // What nobody needs any more goes with the next change.
    if !merged.update.is_empty() || difference.values().any(Option::is_some) {
        merged.update.baseline = difference;
    }
    merged
}

/// The tasks that a plan has, and behind them those of the PRD that it had.
struct Known<'a> {
    rows: Vec<Row<'a>>,
    /// How many of them it has.
    present: usize,
}

impl<'a> Known<'a> {
    /// A task has the title that the PRD gave it, whatever somebody made of it since.
    fn of(plan: &'a Plan, baseline: &'a Baseline) -> Self {
        let present: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        let there = plan.tasks.iter().map(|task| match baseline.task(&task.id) {
            Some(said) => Row::said(&task.id, said, task.source),
            None => Row::of(task),
        });
        let gone = baseline.tasks().filter(|(id, _)| !present.contains(id));
        let gone = gone.map(|(id, said)| Row::said(id, said, Source::Prd));
        Self { rows: there.chain(gone).collect(), present: plan.tasks.len() }
    }

    /// Returns the place in the plan of a row that it has.
    fn place(&self, row: usize) -> Option<usize> {
        (row < self.present).then_some(row)
    }
}

/// The ids that tasks of the PRD have in the plan.
struct Ids<'a> {
    of: HashMap<&'a TaskId, TaskId>,
    /// Those of the plan that the PRD has not: tasks that are found by their title.
    renamed: HashSet<TaskId>,
    /// Those of tasks that stay away from the plan.
    left_out: HashSet<TaskId>,
}

impl<'a> Ids<'a> {
    fn of(plan: &Plan, prd: &'a Plan, known: &Known<'_>, found: &[Option<usize>]) -> Self {
        let taken: HashSet<&TaskId> = known.rows.iter().map(|row| row.id).collect();
        let used = plan.tasks.iter().chain(&prd.tasks).flat_map(used_ids);
        let mut numbers = UsedNumbers::of(used.chain(known.rows.iter().map(|row| row.id)));
        let mut ids = Self { of: HashMap::new(), renamed: HashSet::new(), left_out: HashSet::new() };
        for (task, found) in prd.tasks.iter().zip(found) {
            let row = found.and_then(|row| Some((known.rows.get(row)?, known.place(row).is_none())));
            let id = match row {
                Some((row, is_gone)) => {
                    if is_gone {
                        ids.left_out.insert(row.id.clone());
                    } else if *row.id != task.id {
                        ids.renamed.insert(row.id.clone());
                    }
                    row.id.clone()
                }
                None if taken.contains(&task.id) => {
                    let id = numbers.take_next();
                    ids.renamed.insert(id.clone());
                    id
                }
                None => task.id.clone(),
            };
            ids.of.insert(&task.id, id);
        }
        ids
    }

    fn of_task(&self, id: &TaskId) -> TaskId {
        self.of.get(id).cloned().unwrap_or_else(|| id.clone())
    }

    /// Returns a task as the plan would have it: its id and those it refers to are the
    /// plan's.
    fn in_plan(&self, task: &Task) -> Task {
        Task {
            id: self.of_task(&task.id),
            parent_id: task.parent_id.as_ref().map(|id| self.of_task(id)),
            depends_on: task.depends_on.iter().map(|id| self.of_task(id)).collect(),
            ..task.clone()
        }
    }

    /// Returns a task without what it refers to and stays away from the plan.
    fn without_left_out(&self, task: Task) -> Task {
        let is_there = |id: &TaskId| !self.left_out.contains(id);
        let Task { parent_id, mut depends_on, .. } = task;
        depends_on.retain(is_there);
        Task { parent_id: parent_id.filter(is_there), depends_on, ..task }
    }
}

/// A task of the plan beside the same task of the PRD.
struct Sides<'a> {
    there: &'a Task,
    now: &'a Task,
    /// What the PRD says.
    said: &'a Said,
    /// What it said before, where that is known.
    before: Option<&'a Said>,
}

impl Sides<'_> {
    /// Returns what the plan takes, what it does not take although the PRD says it anew,
    /// and what the PRD has said from now on.
    fn merged(&self) -> (Option<ChangedTask>, Option<ChangedTask>, Said) {
        let Self { there, now, said, before } = self;
        let is_different = differs(there, now);
        if !Field::ALL.into_iter().any(&is_different) {
            return (None, None, (*said).clone());
        }
        let own = Said::of(there);
        let before = match before {
            Some(before) => (*before).clone(),
            // It comes from a PRD, and nobody knows of a change.
            None if there.source == Source::Prd => own.clone(),
            None => Said::of(&Task::new(there.id.clone(), "")),
        };
        let is_edited = |field| !own.agrees(&before, field);
        let is_taken = |field| is_different(field) && !is_edited(field);
        let is_left = |field| is_different(field) && is_edited(field) && !said.agrees(&before, field);
        let change = |fields: &dyn Fn(Field) -> bool| {
            let edit = TaskEdit::of(now).only(fields);
            let parent =
                fields(Field::Parent).then(|| now.parent_id.clone().map_or(Place::Top, Place::Under));
            let was = Some(own.as_str().to_owned());
            let change = ChangedTask { id: there.id.clone(), edit, parent, was };
            (!change.edit.is_empty() || change.parent.is_some()).then_some(change)
        };
        (change(&is_taken), change(&is_left), said.with(&before, is_left))
    }
}

/// Says of a field whether two tasks differ in it.
fn differs(one: &Task, other: &Task) -> impl Fn(Field) -> bool {
    let edit = TaskEdit::between(one, other);
    let is_other_parent = one.parent_id != other.parent_id;
    move |field| match field {
        Field::Title => edit.title.is_some(),
        Field::Description => edit.description.is_some(),
        Field::Priority => edit.priority.is_some(),
        Field::Complexity => edit.complexity.is_some(),
        Field::Parent => is_other_parent,
        Field::DependsOn => edit.depends_on.is_some(),
        Field::FilesToCreate => edit.files_to_create.is_some(),
        Field::FilesToModify => edit.files_to_modify.is_some(),
        Field::Guardrails => edit.guardrails.is_some(),
        Field::Acceptance => edit.acceptance.is_some(),
    }
}

/// What tells a task from others.
struct Row<'a> {
    id: &'a TaskId,
    /// Which task of the PRD it is, or was the last time.
    identity: Option<String>,
    /// The digest of its title.
    title: String,
    source: Source,
}

impl<'a> Row<'a> {
    fn of(task: &'a Task) -> Self {
        Self { id: &task.id, identity: None, title: Said::title_of(&task.title), source: task.source }
    }

    /// The row of a task of the PRD itself.
    fn of_prd(task: &'a Task) -> Self {
        Self { identity: Some(Said::identity_of(task)), ..Self::of(task) }
    }

    /// The row of a task of which a PRD said something.
    fn said(id: &'a TaskId, said: &Said, source: Source) -> Self {
        let (identity, title) = (said.identity().map(str::to_owned), said.title().to_owned());
        Self { id, identity, title, source }
    }
}

/// Finds for each task of a PRD its place among those of the plan.
fn paired(plan: &[Row<'_>], prd: &[Row<'_>]) -> Vec<Option<usize>> {
    let places: HashMap<&TaskId, usize> =
        plan.iter().enumerate().map(|(place, row)| (row.id, place)).collect();
    let same_id = |row: &Row<'_>| places.get(row.id).and_then(|place| Some((*place, plan.get(*place)?)));
    let last: HashMap<&str, usize> =
        plan.iter().enumerate().filter_map(|(place, row)| Some((row.identity.as_deref()?, place))).collect();
    let mut found: Vec<Option<usize>> =
        prd.iter().map(|row| last.get(row.identity.as_deref()?).copied()).collect();
    let mut taken: HashSet<usize> = found.iter().flatten().copied().collect();
    for (row, found) in prd.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let same = same_id(row).filter(|(_, there)| there.title == row.title).map(|(place, _)| place);
        *found = same.filter(|place| taken.insert(*place));
    }
    let left = || plan.iter().enumerate().filter(|(place, _)| !taken.contains(place));
    let titles_there: HashSet<&str> = left().map(|(_, row)| row.title.as_str()).collect();
    let open = || prd.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(row, _)| row);
    let titles_here: HashSet<&str> = open().map(|row| row.title.as_str()).collect();
    let by_id: Vec<Option<usize>> = prd
        .iter()
        .zip(&found)
        .map(|(row, found)| {
            let (place, there) =
                same_id(row).filter(|(place, _)| found.is_none() && !taken.contains(place))?;
            let stands_elsewhere =
                titles_there.contains(row.title.as_str()) || titles_here.contains(there.title.as_str());
            (!stands_elsewhere && there.source == Source::Prd).then_some(place)
        })
        .collect();
    for (found, by_id) in found.iter_mut().zip(&by_id) {
        *found = found.or(*by_id);
    }
    let taken: HashSet<usize> = found.iter().flatten().copied().collect();
    let mut by_title: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, row) in plan.iter().enumerate().filter(|(place, _)| !taken.contains(place)) {
        by_title.entry(&row.title).or_default().push_back(place);
    }
    for (row, found) in prd.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        *found = by_title.get_mut(row.title.as_str()).and_then(VecDeque::pop_front);
    }
    found
}
