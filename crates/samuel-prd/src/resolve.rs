//! From drafts to tasks: ids, parents, dependencies.
//!
//! [`tasks`] sees all drafts of a document at once, so it is here that ids
//! turn out to be double, missing or waiting for each other.

use std::collections::{HashMap, HashSet};

use super::body::shorten;
use super::cycle;
use super::draft::{Draft, Drafts, Reference};
use super::ids::{IdSource, trunk};
use super::remark::{RemarkKind, Remarks};
use super::source::Place;
use samuel_model::text::is_odd;
use samuel_model::{InvalidTask, Source, Task, TaskId, cycles};

/// How many tasks of a cycle a message names.
const SHOWN_IN_CYCLE: usize = 8;

/// Turns the drafts of a document into tasks, in their order, each with its place.
pub(super) fn tasks(drafts: Drafts, remarks: &mut Remarks, now: jiff::Timestamp) -> Vec<(Task, Place)> {
    let ids = settle_ids(&drafts, remarks);
    let index = Index::new(&ids, &drafts);
    let count = drafts.len();
    let mut placed: Vec<(Task, Place)> = Vec::with_capacity(count);
    for (position, draft) in drafts.into_iter().enumerate() {
        let Some(Some(id)) = ids.get(position) else { continue };
        let place = draft.place;
        if let Some(first) = index.0.get(id).filter(|first| first.position != position) {
            let message = format!("task {id} is there twice, first in line {}", first.line);
            remarks.error(RemarkKind::DuplicateId, place, message, vec![first.line]);
            continue;
        }
        let item_of = draft.parent.map(|parent| ids.get(parent).and_then(Option::as_ref));
        let task = Resolver { index: &index, remarks, now }.task(*draft, id, item_of);
        if is_sound(&task, place, remarks) {
            placed.push((task, place));
        }
    }
    if placed.len() < count {
        drop_references_to_unsound(&mut placed);
    }
    break_parent_cycles(&mut placed, remarks);
    report_cycles(&placed, remarks);
    placed
}

/// Gives every draft its id; one whose id cannot be used has none.
fn settle_ids(drafts: &[Box<Draft>], remarks: &mut Remarks) -> Vec<Option<TaskId>> {
    let mut source: Option<IdSource> = None;
    let known = || IdSource::new(drafts.iter().filter_map(|draft| draft.id.as_ref()?.as_ref().ok()));
    let mut ids: Vec<Option<TaskId>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        ids.push(match &draft.id {
            Some(Ok(id)) => Some(id.clone()),
            Some(Err(error)) => {
                let message = match error {
                    InvalidTask::Id { id } => InvalidTask::Id { id: shorten(id) }.to_string(),
                    other => other.to_string(),
                };
                remarks.error(RemarkKind::InvalidId, draft.place, message, Vec::new());
                None
            }
            None => {
                let parent = draft.parent.and_then(|parent| ids.get(parent)?.as_ref());
                Some(source.get_or_insert_with(known).next(parent))
            }
        });
    }
    ids
}

/// Where the first task with an id is.
#[derive(Debug)]
struct First {
    position: usize,
    line: usize,
}

/// The ids of a document.
#[derive(Debug)]
struct Index<'i>(HashMap<&'i TaskId, First>);

impl<'i> Index<'i> {
    fn new(ids: &'i [Option<TaskId>], drafts: &[Box<Draft>]) -> Self {
        let mut index = HashMap::with_capacity(ids.len());
        for (position, (id, draft)) in ids.iter().zip(drafts).enumerate() {
            if let Some(id) = id {
                index.entry(id).or_insert(First { position, line: draft.place.line });
            }
        }
        Self(index)
    }

    /// Returns the task that is meant by an id: some number the first level
    /// `1.0` and refer to it as `1`.
    fn find(&self, id: &str) -> Option<TaskId> {
        let spellings = [TaskId::new(id), TaskId::new(format!("{id}.0")), TaskId::new(trunk(id))];
        spellings.into_iter().find(|id| self.0.contains_key(id))
    }
}

/// What one draft needs to become a task.
struct Resolver<'r> {
    index: &'r Index<'r>,
    remarks: &'r mut Remarks,
    now: jiff::Timestamp,
}

impl Resolver<'_> {
    /// Makes a task of a draft. `item_of` is the draft it is an item of, and
    /// its id unless that one has none.
    fn task(&mut self, draft: Draft, id: &TaskId, item_of: Option<Option<&TaskId>>) -> Task {
        let parent = match item_of {
            Some(parent) => parent.cloned(),
            None => self.numbered_parent(id),
        };
        let waits_for_parent = parent.clone().filter(|_| draft.waits_for_parent);
        Task {
            description: draft.description,
            status: draft.status,
            skip_reason: draft.skip_reason,
            priority: draft.priority,
            complexity: draft.complexity,
            depends_on: self.dependencies(id, waits_for_parent, draft.depends_on),
            parent_id: parent,
            files_to_create: unique(draft.files_to_create),
            files_to_modify: unique(draft.files_to_modify),
            guardrails: draft.guardrails,
            acceptance: draft.acceptance,
            source: Source::Prd,
            created_at: Some(self.now),
            ..Task::new(id.clone(), draft.title)
        }
    }

    /// Returns the task that an id is numbered under, if it is there.
    fn numbered_parent(&self, id: &TaskId) -> Option<TaskId> {
        let (parent, _) = trunk(id.as_str()).rsplit_once('.')?;
        self.index.find(parent)
    }

    fn dependencies(&mut self, id: &TaskId, first: Option<TaskId>, others: Vec<Reference>) -> Vec<TaskId> {
        let mut seen: HashSet<TaskId> = first.iter().cloned().collect();
        let mut found: Vec<TaskId> = first.into_iter().collect();
        for Reference { id: other, place } in others {
            match self.index.find(other.as_str()) {
                Some(other) if seen.insert(other.clone()) => found.push(other),
                Some(_) => {}
                None if seen.insert(other.clone()) => {
                    let message = format!(
                        "task {id} depends on {other}, but there is no such task; the dependency is left out"
                    );
                    self.remarks.warn(RemarkKind::DanglingDependency, place, message);
                }
                None => {}
            }
        }
        found
    }
}

/// Drops what a list has already.
fn unique(mut texts: Vec<String>) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Checks a task alone, and reports what is wrong with its title.
fn is_sound(task: &Task, place: Place, remarks: &mut Remarks) -> bool {
    if let Err(error) = task.validate() {
        remarks.error(RemarkKind::InvalidTitle, place, error.to_string(), Vec::new());
        return false;
    }
    if let Some(odd) = task.title.chars().find(|c| is_odd(*c)) {
        let message =
            format!("the title of task {} has the invisible character U+{:04X}", task.id, odd as u32);
        remarks.warn(RemarkKind::OddTitle, place, message);
    }
    true
}

/// Drops references to tasks that were left out with an error, without
/// another remark for each.
fn drop_references_to_unsound(placed: &mut [(Task, Place)]) {
    let kept: HashSet<TaskId> = placed.iter().map(|(task, _)| task.id.clone()).collect();
    for (task, _) in placed {
        task.parent_id.take_if(|parent| !kept.contains(parent));
        task.depends_on.retain(|other| kept.contains(other));
    }
}

/// Takes the parent of tasks that would be a part of themselves: `2.1` with
/// an item `2`.
fn break_parent_cycles(placed: &mut [(Task, Place)], remarks: &mut Remarks) {
    if placed.iter().all(|(task, _)| task.parent_id.is_none()) {
        return;
    }
    let parents = edges(placed, |task| task.parent_id.as_slice());
    for first in cycle::find(&parents).iter().filter_map(|cycle| cycle.iter().min()) {
        if let Some((task, place)) = placed.get_mut(*first) {
            task.parent_id = None;
            let message = format!("task {} has no parent: it would be a part of itself", task.id);
            remarks.warn(RemarkKind::DanglingParent, *place, message);
        }
    }
}

fn report_cycles(placed: &[(Task, Place)], remarks: &mut Remarks) {
    let paths = cycles(placed.iter().map(|(task, _)| task));
    if paths.is_empty() {
        return;
    }
    let of: HashMap<&TaskId, &(Task, Place)> = placed.iter().map(|row| (&row.0.id, row)).collect();
    for path in paths {
        // The last is the first once more.
        let members = path.split_last().map_or(&[][..], |(_, members)| members);
        let members: Vec<&(Task, Place)> = members.iter().filter_map(|id| of.get(id).copied()).collect();
        let Some((first, place)) = members.first() else { continue };
        let shown = members.iter().take(SHOWN_IN_CYCLE);
        let mut steps: Vec<String> =
            shown.map(|(task, place)| format!("{} (line {})", task.id, place.line)).collect();
        if members.len() > SHOWN_IN_CYCLE {
            steps.push(format!("{} more", members.len() - SHOWN_IN_CYCLE));
        }
        let is_direct = path.windows(2).all(|step| match step {
            [one, next] => of.get(one).is_some_and(|(task, _)| task.depends_on.contains(next)),
            _ => true,
        });
        let why =
            if is_direct { "" } else { "; a group waits for its parts, and they for what it depends on" };
        let message = format!("tasks wait for each other: {} -> {}{why}", steps.join(" -> "), first.id);
        let others = members.iter().skip(1).map(|(_, place)| place.line).collect();
        remarks.error(RemarkKind::DependencyCycle, *place, message, others);
    }
}

/// Returns for each task the positions of those it refers to.
fn edges(placed: &[(Task, Place)], references: impl Fn(&Task) -> &[TaskId]) -> Vec<Vec<usize>> {
    let positions: HashMap<&TaskId, usize> =
        placed.iter().enumerate().map(|(position, (task, _))| (&task.id, position)).collect();
    let position = |id: &TaskId| positions.get(id).copied();
    placed.iter().map(|(task, _)| references(task).iter().filter_map(position).collect()).collect()
}
