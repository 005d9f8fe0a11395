//! What a changed PRD changes in a plan.
//!
//! [`merge`] finds for each task of the PRD the one of the plan that it is, and says what
//! is different. It is pure, and changes nothing: the store applies a
//! [`PlanUpdate`](super::PlanUpdate). Where tasks stand, their commits and what somebody
//! added are no part of it.
//!
//! A task is found by id and title, then by id, then by title. An id alone says nothing
//! where either title stands elsewhere under another id: the PRD was numbered anew then,
//! and the work that was done stays with its title. A task keeps the id that it has in the
//! plan. A new one whose id is taken gets the next free number.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{
    AddedTask, ChangedTask, Place, PlanUpdate, TaskEdit,
    new_task::{top_level, used_ids},
};
use crate::model::{Plan, Source, Task, TaskId};

/// From where on a number is somebody's name for a task and not a count.
const MAX_COUNTED: u64 = 1 << 53;

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
}

/// Compares a plan with the one that a PRD gives.
pub fn merge(plan: &Plan, prd: &Plan, orphans: Orphans) -> Merged {
    let found = pairs(&plan.tasks, &prd.tasks);
    let mut free = free_numbers(plan, prd);
    let known: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let mut is_fresh = HashSet::new();
    let ids: HashMap<&TaskId, TaskId> = prd
        .tasks
        .iter()
        .zip(&found)
        .map(|(task, found)| {
            let id = match found.and_then(|place| plan.tasks.get(place)) {
                Some(there) => there.id.clone(),
                None if known.contains(&task.id) => {
                    let id = TaskId::new(free.next().unwrap_or_default().to_string());
                    is_fresh.insert(id.clone());
                    id
                }
                None => task.id.clone(),
            };
            (&task.id, id)
        })
        .collect();
    let mut merged = Merged::default();
    let mut behind: Option<TaskId> = None;
    for (task, found) in prd.tasks.iter().zip(&found) {
        let task = in_terms_of(task, &ids);
        match found.and_then(|place| plan.tasks.get(place)) {
            Some(there) => merged.update.changed.extend(changed(there, &task)),
            None => {
                let behind = behind.clone().filter(|_| !is_fresh.contains(&task.id));
                merged.update.added.push(AddedTask { task: task.clone(), behind });
            }
        }
        behind = Some(task.id);
    }
    let taken: HashSet<usize> = found.iter().flatten().copied().collect();
    let is_orphan = |(place, task): &(usize, &Task)| task.source == Source::Prd && !taken.contains(place);
    merged.orphans =
        plan.tasks.iter().enumerate().filter(is_orphan).map(|(_, task)| task.id.clone()).collect();
    if orphans == Orphans::Remove {
        merged.update.removed.clone_from(&merged.orphans);
    }
    let new = |there: &String, now: &String| (there != now).then(|| now.clone());
    merged.update.name = new(&plan.project.name, &prd.project.name);
    merged.update.description = new(&plan.project.description, &prd.project.description);
    let source = prd.project.source_prd.as_ref();
    merged.update.source_prd = source.filter(|_| plan.project.source_prd != prd.project.source_prd).cloned();
    merged
}

/// Returns a task as the plan would have it: its id and those it refers to are the plan's.
fn in_terms_of(task: &Task, ids: &HashMap<&TaskId, TaskId>) -> Task {
    let own = |id: &TaskId| ids.get(id).cloned().unwrap_or_else(|| id.clone());
    Task {
        id: own(&task.id),
        parent_id: task.parent_id.as_ref().map(own),
        depends_on: task.depends_on.iter().map(own).collect(),
        ..task.clone()
    }
}

fn changed(there: &Task, now: &Task) -> Option<ChangedTask> {
    let edit = TaskEdit::between(there, now);
    let parent =
        (there.parent_id != now.parent_id).then(|| now.parent_id.clone().map_or(Place::Top, Place::Under));
    (!edit.is_empty() || parent.is_some()).then(|| ChangedTask { id: there.id.clone(), edit, parent })
}

/// Finds for each task of a PRD its place in the plan.
fn pairs(plan: &[Task], prd: &[Task]) -> Vec<Option<usize>> {
    let places: HashMap<&TaskId, usize> =
        plan.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let same_id = |task: &Task| places.get(&task.id).and_then(|place| Some((*place, plan.get(*place)?)));
    let mut found: Vec<Option<usize>> = prd
        .iter()
        .map(|task| same_id(task).filter(|(_, there)| there.title == task.title).map(|(place, _)| place))
        .collect();
    let taken: HashSet<usize> = found.iter().flatten().copied().collect();
    let left = || plan.iter().enumerate().filter(|(place, _)| !taken.contains(place));
    let titles_there: HashSet<&str> = left().map(|(_, task)| task.title.as_str()).collect();
    let open = || prd.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(task, _)| task);
    let titles_here: HashSet<&str> = open().map(|task| task.title.as_str()).collect();
    let by_id: Vec<Option<usize>> = prd
        .iter()
        .zip(&found)
        .map(|(task, found)| {
            let (place, there) =
                same_id(task).filter(|(place, _)| found.is_none() && !taken.contains(place))?;
            let stands_elsewhere =
                titles_there.contains(task.title.as_str()) || titles_here.contains(there.title.as_str());
            (!stands_elsewhere && there.source == Source::Prd).then_some(place)
        })
        .collect();
    for (found, by_id) in found.iter_mut().zip(&by_id) {
        *found = found.or(*by_id);
    }
    let taken: HashSet<usize> = found.iter().flatten().copied().collect();
    let mut by_title: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, task) in plan.iter().enumerate().filter(|(place, _)| !taken.contains(place)) {
        by_title.entry(&task.title).or_default().push_back(place);
    }
    for (task, found) in prd.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        *found = by_title.get_mut(task.title.as_str()).and_then(VecDeque::pop_front);
    }
    found
}

/// Returns numbers that neither plan nor PRD uses, after the highest that they do.
fn free_numbers(plan: &Plan, prd: &Plan) -> impl Iterator<Item = u64> + use<> {
    let used = plan.tasks.iter().chain(&prd.tasks).flat_map(used_ids).filter_map(top_level);
    let used: HashSet<u64> = used.collect();
    let highest = used.iter().filter(|number| **number < MAX_COUNTED).max().copied().unwrap_or(0);
    (highest + 1..).filter(move |number| !used.contains(number))
}
