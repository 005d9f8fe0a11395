//! Taking a change back.
//!
//! The journal's record of a change that somebody asks for holds what the change
//! [`Replaced`]. [`resolve`] finds the change that is to be taken back, and refuses where
//! a later one touched the same tasks; [`put_back`] puts back what it replaced. A store
//! resolves under its lock, so nothing comes in between. A change that is taken back
//! and the change that did so count for nothing any more: they hold no earlier one up.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    JournalEntry, JournalRecord, Mutation, Parts, StateError, baseline::Baseline, journal::MAX_RECORD_BYTES,
    plan_store::Asker, revise::remove,
};
use samuel_model::{Groups, Plan, Status, Task, TaskId, hex, text::names};

/// How much of a record is for what the change replaced, in bytes.
const MAX_REPLACED_BYTES: usize = MAX_RECORD_BYTES / 4;

/// What a change replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replaced {
    /// The tasks that it changed, added or removed.
    pub(crate) rows: Vec<ReplacedRow>,
    /// The order of some tasks that stood in another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) order: Vec<TaskId>,
    /// What the plan said of the project, where that was changed: name, description, PRD
    /// and its form, which earlier records lack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<Vec<Option<String>>>,
    /// What was known of the PRD, where that was changed; see [`Plan::baseline`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) baseline: BTreeMap<TaskId, Option<String>>,
}

impl Replaced {
    /// Returns the tasks that come back with it.
    pub(super) fn put_back(&self) -> impl Iterator<Item = &TaskId> {
        let is_gone = |row: &&ReplacedRow| row.before.is_some() && row.after.is_none();
        self.rows.iter().filter(is_gone).map(|row| &row.id)
    }
}

/// One task that a change replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplacedRow {
    id: TaskId,
    /// What it said: the fields that were different, or all where it was removed;
    /// nothing where it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Map<String, Value>>,
    /// The digest of what it says since; nothing where it was removed. Where a group stands
    /// does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The task before it, where it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behind: Option<TaskId>,
    /// Whether it only follows from others: a group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    follows: bool,
    /// The tasks that referred to it before it was added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wanted_by: Vec<TaskId>,
    /// What stood in columns that are not Samuel's, as TOON, where it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    others: Option<String>,
}

/// Why a change is not taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotUndone {
    /// The asker made no change that could be taken back.
    NoneMade,
    /// The journal does not know of it, or no more.
    Unknown,
    /// It is one of the loop's own.
    LoopsOwn {
        /// The word for it.
        name: String,
    },
    /// What it replaced was not kept: it was too much, or an earlier version made it.
    NothingKept,
    /// It was taken back already.
    Already {
        /// The change that did so.
        by: u64,
    },
    /// Later changes touched the same tasks.
    Since {
        /// Their numbers, each with the word for it.
        changes: Vec<(u64, String)>,
        /// The tasks.
        tasks: Vec<TaskId>,
    },
}

/// How many changes and tasks are named one by one.
const MAX_NAMED: usize = 10;

impl fmt::Display for NotUndone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneMade => f.write_str("you made no change that could be taken back"),
            Self::Unknown => f.write_str("the journal does not know of it"),
            Self::LoopsOwn { name } => write!(f, "it is one of the loop's own ({name})"),
            Self::NothingKept => f.write_str("what it replaced was not kept"),
            Self::Already { by } => write!(f, "change {by} took it back already"),
            Self::Since { changes, tasks } => {
                let named = changes.iter().map(|(change, name)| format!("change {change} ({name})"));
                let changes = match changes.is_empty() {
                    true => "something else".to_owned(),
                    false => names(&named.collect::<Vec<_>>(), MAX_NAMED),
                };
                write!(f, "{changes} touched {} since", names(tasks, MAX_NAMED))
            }
        }
    }
}

impl Replaced {
    /// Returns what is different between a plan and the plan after a change; nothing
    /// where it is more than a record holds.
    ///
    /// `others` says what a removed task had in columns that are not Samuel's.
    pub(crate) fn between(
        before: &Plan,
        after: &Plan,
        others: impl Fn(&TaskId) -> Option<String>,
    ) -> Option<Self> {
        let now: HashMap<&TaskId, &Task> = after.tasks.iter().map(|task| (&task.id, task)).collect();
        let was: HashSet<&TaskId> = before.tasks.iter().map(|task| &task.id).collect();
        let now_groups: HashSet<&TaskId> = groups_of(after).collect();
        let groups: HashSet<&TaskId> = groups_of(before).chain(groups_of(after)).collect();
        let is_group = |task: &Task| groups.contains(&task.id);
        let is_now_group = |task: &Task| now_groups.contains(&task.id);
        let mut rows = Vec::new();
        let mut behind: Option<&TaskId> = None;
        for task in &before.tasks {
            let id = task.id.clone();
            match now.get(&task.id) {
                None => rows.push(ReplacedRow {
                    others: others(&id),
                    wanted_by: Vec::new(),
                    id,
                    before: Some(fields(task)?),
                    after: None,
                    behind: behind.cloned(),
                    follows: false,
                }),
                Some(new) if *new != task => rows.push(ReplacedRow {
                    id,
                    follows: is_group(task) && only_follows(task, new),
                    before: Some(differing(task, new)?),
                    after: Some(digest(new, is_now_group(new))?),
                    behind: None,
                    others: None,
                    wanted_by: Vec::new(),
                }),
                Some(_) => {}
            }
            behind = Some(&task.id);
        }
        let added: Vec<&Task> = after.tasks.iter().filter(|task| !was.contains(&task.id)).collect();
        let mut wanted = references(&before.tasks, &added);
        for task in added {
            let (id, after) = (task.id.clone(), Some(digest(task, is_now_group(task))?));
            let wanted_by = wanted.remove(&id).unwrap_or_default();
            rows.push(ReplacedRow {
                id,
                before: None,
                after,
                behind: None,
                follows: false,
                wanted_by,
                others: None,
            });
        }
        let order = reordered(before, after, &was, &now);
        let of = |plan: &Plan| {
            let project = &plan.project;
            let [name, description] = [&project.name, &project.description].map(|text| Some(text.clone()));
            vec![name, description, project.source_prd.clone(), project.prd_format.clone()]
        };
        let project = (of(before) != of(after)).then(|| of(before));
        let baseline = match before.baseline == after.baseline {
            true => BTreeMap::new(),
            false => Baseline::parse(&after.baseline).difference(&Baseline::parse(&before.baseline)),
        };
        let replaced = Self { rows, order, project, baseline };
        let bytes = serde_json::to_vec(&replaced).ok()?.len();
        (bytes <= MAX_REPLACED_BYTES).then_some(replaced)
    }

    /// Returns the tasks that the change removed, with what they had in columns that are
    /// not Samuel's.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&TaskId, &str)> {
        self.rows.iter().filter_map(|row| Some((&row.id, row.others.as_deref()?)))
    }

    /// Returns the names of the fields of a task that the change replaced; none if it left the task alone.
    #[doc(hidden)]
    pub fn fields_of(&self, id: &TaskId) -> Vec<&str> {
        let row = self.rows.iter().find(|row| row.id == *id && !row.follows && row.after.is_some());
        row.and_then(|row| row.before.as_ref()).into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// Returns the tasks that the change itself touched.
    fn touched(&self) -> impl Iterator<Item = &TaskId> {
        self.rows.iter().filter(|row| !row.follows).map(|row| &row.id)
    }
}

/// Returns for each of some new tasks those that referred to it already.
fn references(before: &[Task], added: &[&Task]) -> HashMap<TaskId, Vec<TaskId>> {
    let added: HashSet<&TaskId> = added.iter().map(|task| &task.id).collect();
    let mut found: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    if !added.is_empty() {
        for task in before {
            let references = task.depends_on.iter().chain(&task.parent_id).filter(|id| added.contains(id));
            references.for_each(|id| found.entry(id.clone()).or_default().push(task.id.clone()));
        }
    }
    found
}

fn groups_of(plan: &Plan) -> impl Iterator<Item = &TaskId> {
    let groups = Groups::of(&plan.tasks);
    let is_group = move |(place, _): &(usize, &Task)| groups.is_group(*place);
    plan.tasks.iter().enumerate().filter(is_group).map(|(_, task)| &task.id)
}

fn fields(task: &Task) -> Option<Map<String, Value>> {
    match serde_json::to_value(task).ok()? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Returns what a task said in the fields that are different now.
fn differing(before: &Task, now: &Task) -> Option<Map<String, Value>> {
    let (mut before, now) = (fields(before)?, fields(now)?);
    before.retain(|key, value| now.get(key) != Some(&*value));
    Some(before)
}

/// Says whether two versions of a group differ only in what follows from its parts.
fn only_follows(one: &Task, other: &Task) -> bool {
    without_standing(one) == without_standing(other)
}

/// Returns a task without what says where it stands.
fn without_standing(task: &Task) -> Task {
    Task {
        status: Status::default(),
        completed_at: None,
        skip_reason: None,
        owner: None,
        question: None,
        marks: Vec::new(),
        ..task.clone()
    }
}

/// Returns what tells a version of a task from others, of a group without where it
/// stands, and of any task without what the end of an iteration fills in.
fn digest(task: &Task, is_group: bool) -> Option<String> {
    earlier_digest(&Task { commit_sha: None, ..task.clone() }, is_group)
}

/// Returns the same with the commit, as records of earlier versions have it.
fn earlier_digest(task: &Task, is_group: bool) -> Option<String> {
    let task = if is_group { without_standing(task) } else { task.clone() };
    let text = serde_json::to_vec(&Task { marks: Vec::new(), ..task }).ok()?;
    Some(hex(&Sha256::digest(text)).chars().take(16).collect())
}

/// Returns the former order of the tasks between the first and the last that stand in
/// another one.
fn reordered(
    before: &Plan,
    after: &Plan,
    was: &HashSet<&TaskId>,
    now: &HashMap<&TaskId, &Task>,
) -> Vec<TaskId> {
    let old: Vec<&TaskId> =
        before.tasks.iter().map(|task| &task.id).filter(|id| now.contains_key(id)).collect();
    let new: Vec<&TaskId> = after.tasks.iter().map(|task| &task.id).filter(|id| was.contains(id)).collect();
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len() - same;
    let same_at_end =
        old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    old.into_iter().skip(same).take(rest - same_at_end).cloned().collect()
}

/// Puts back what a change replaced.
///
/// # Errors
/// Returns [`StateError::NotUndone`] where a task says something else than the change
/// had it say, and [`StateError::TaskInUse`] where one that it added is used by others.
pub(super) fn put_back(plan: &mut Plan, change: Option<u64>, back: &Replaced) -> Result<(), StateError> {
    let not_undone = |why| StateError::NotUndone { change, why };
    let now: HashMap<&TaskId, &Task> = plan.tasks.iter().map(|task| (&task.id, task)).collect();
    let groups: HashSet<&TaskId> = groups_of(plan).collect();
    let is_other = |row: &&ReplacedRow| {
        let of = |digest: fn(&Task, bool) -> Option<String>| {
            now.get(&row.id).and_then(|task| digest(task, groups.contains(&row.id)))
        };
        !row.follows && of(digest) != row.after && of(earlier_digest) != row.after
    };
    let tasks: Vec<TaskId> = back.rows.iter().filter(is_other).map(|row| row.id.clone()).collect();
    if !tasks.is_empty() {
        return Err(not_undone(NotUndone::Since { changes: Vec::new(), tasks }));
    }
    for row in &back.rows {
        let Some(fields) = &row.before else { continue };
        let place = plan.tasks.iter().position(|task| task.id == row.id);
        if row.follows && place.is_none() {
            // A group that is gone by now.
            continue;
        }
        let current = place.and_then(|place| plan.tasks.get(place));
        let Some(task) = overlaid(current, fields) else { return Err(not_undone(NotUndone::NothingKept)) };
        match place.and_then(|place| plan.tasks.get_mut(place)) {
            Some(place) => *place = task,
            None => {
                let behind = |task: &Task| Some(&task.id) == row.behind.as_ref();
                let at = match row.behind {
                    None => 0,
                    Some(_) => plan.tasks.iter().position(behind).map_or(plan.tasks.len(), |place| place + 1),
                };
                plan.tasks.insert(at, task);
            }
        }
    }
    // Those that are put back may have depended on them.
    let added = || back.rows.iter().filter(|row| row.before.is_none());
    let ids: Vec<TaskId> = added().map(|row| row.id.clone()).collect();
    let wanted_by: HashSet<&TaskId> = added().flat_map(|row| &row.wanted_by).collect();
    remove(plan, &ids, Parts::Refuse, &wanted_by)?;
    put_in_order(plan, &back.order);
    if let Some([name, description, source_prd, rest @ ..]) = back.project.as_deref() {
        plan.project.name = name.clone().unwrap_or_default();
        plan.project.description = description.clone().unwrap_or_default();
        plan.project.source_prd.clone_from(source_prd);
        rest.first().into_iter().for_each(|format| plan.project.prd_format.clone_from(format));
    }
    Baseline::change(&mut plan.baseline, &back.baseline);
    Ok(())
}

/// Returns a task as it is, with fields as they were. Nobody works on it any more.
fn overlaid(current: Option<&Task>, before: &Map<String, Value>) -> Option<Task> {
    let mut all = match current {
        Some(task) => fields(task)?,
        None => Map::new(),
    };
    all.extend(before.iter().map(|(key, value)| (key.clone(), value.clone())));
    let mut task: Task = serde_json::from_value(Value::Object(all)).ok()?;
    let was_at_work = before.get("status").is_some_and(|status| status == Status::InProgress.as_str());
    if was_at_work {
        (task.status, task.owner) = (Status::Pending, None);
    }
    let was_completed = current.is_some_and(|current| current.status == Status::Completed);
    if was_completed && task.status != Status::Completed {
        // The end of an iteration may have filled them in since.
        task.marks.clear();
        if !before.contains_key("commit_sha") {
            task.commit_sha = None;
        }
    }
    Some(task)
}

/// Puts tasks in an order, in the places that they take.
fn put_in_order(plan: &mut Plan, order: &[TaskId]) {
    let rank: HashMap<&TaskId, usize> = order.iter().enumerate().map(|(rank, id)| (id, rank)).collect();
    let places: Vec<usize> = plan
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| rank.contains_key(&task.id))
        .map(|(place, _)| place)
        .collect();
    let mut tasks: Vec<Task> = places.iter().filter_map(|place| plan.tasks.get(*place).cloned()).collect();
    tasks.sort_by_key(|task| rank.get(&task.id).copied());
    for (place, task) in places.into_iter().zip(tasks) {
        if let Some(at) = plan.tasks.get_mut(place) {
            *at = task;
        }
    }
}

/// Says whether somebody may take a change back. The loop's own changes are not.
pub(crate) fn is_undoable(mutation: &Mutation) -> bool {
    let is_loops = matches!(
        mutation,
        Mutation::StartTask { .. }
            | Mutation::Heard { .. }
            | Mutation::Mark { .. }
            | Mutation::ReturnToPending { .. }
            | Mutation::TakeBack { .. }
            | Mutation::CommitIteration { .. }
            | Mutation::AddUsage { .. }
            | Mutation::SetProgressStatus { .. }
    );
    !is_loops && !mutation.is_of_claims()
}

/// Finds in the journal what a mutation takes back, where it is one that does.
///
/// # Errors
/// Returns [`StateError::NotUndone`].
pub(crate) fn resolve(
    mutation: Mutation,
    asker: &Asker,
    records: impl FnOnce() -> Result<Vec<JournalRecord>, StateError>,
) -> Result<Mutation, StateError> {
    let Mutation::Undo { change, back: None } = mutation else { return Ok(mutation) };
    let records = records()?;
    let history = History::of(&records);
    let found = match change {
        Some(number) => history.named(number),
        None => history.last_of(asker),
    };
    let (number, back) = found.map_err(|why| StateError::NotUndone { change, why })?;
    Ok(Mutation::Undo { change: Some(number), back: Some(back) })
}

/// The records of a journal, with what each is worth.
struct History<'a> {
    records: &'a [JournalRecord],
    /// The changes that were taken back, each with the change that did so.
    undone: HashMap<u64, u64>,
}

impl<'a> History<'a> {
    fn of(records: &'a [JournalRecord]) -> Self {
        let mut undone = HashMap::new();
        for record in records.iter().rev() {
            // One that was taken back itself takes nothing back.
            if let (Some(change), false) = (undoes(record), undone.contains_key(&record.revision)) {
                undone.insert(change, record.revision);
            }
        }
        Self { records, undone }
    }

    fn named(&self, number: u64) -> Result<(u64, Box<Replaced>), NotUndone> {
        let is_it = |record: &&JournalRecord| {
            record.revision == number && matches!(record.entry, JournalEntry::Mutation { .. })
        };
        let record = self.records.iter().rev().find(is_it).ok_or(NotUndone::Unknown)?;
        if let Some(by) = self.undone.get(&number) {
            return Err(NotUndone::Already { by: *by });
        }
        self.back(record)
    }

    fn last_of(&self, asker: &Asker) -> Result<(u64, Box<Replaced>), NotUndone> {
        let is_it = |record: &&JournalRecord| {
            let JournalEntry::Mutation { actor, mutation, by, .. } = &record.entry else { return false };
            let is_askers = *actor == asker.actor && *by == asker.name;
            let counts = undoes(record).is_none() && !self.undone.contains_key(&record.revision);
            is_askers && counts && is_undoable(mutation)
        };
        let record = self.records.iter().rev().find(is_it).ok_or(NotUndone::NoneMade)?;
        self.back(record)
    }

    /// Returns what a change replaced, unless a later one touched the same tasks.
    fn back(&self, record: &JournalRecord) -> Result<(u64, Box<Replaced>), NotUndone> {
        let JournalEntry::Mutation { mutation, replaced, .. } = &record.entry else {
            return Err(NotUndone::Unknown);
        };
        if !is_undoable(mutation) {
            return Err(NotUndone::LoopsOwn { name: mutation.name().to_owned() });
        }
        let back = replaced.clone().ok_or(NotUndone::NothingKept)?;
        let touched: HashSet<&TaskId> = back.touched().collect();
        let (mut changes, mut tasks) = (Vec::new(), Vec::new());
        for later in self.records.iter().filter(|later| later.seq > record.seq) {
            let undoes_later = undoes(later).is_some_and(|change| change > record.revision);
            if self.undone.contains_key(&later.revision) || undoes_later {
                continue;
            }
            let both: Vec<TaskId> = match &later.entry {
                // Its tasks are others, whatever they are called.
                JournalEntry::Imported { .. } => touched.iter().copied().cloned().collect(),
                _ => touched_by(later).into_iter().filter(|id| touched.contains(id)).cloned().collect(),
            };
            if !both.is_empty() || matches!(later.entry, JournalEntry::Imported { .. }) {
                changes.push((later.revision, name_of(later)));
                tasks.extend(both);
            }
        }
        tasks.sort();
        tasks.dedup();
        match changes.is_empty() {
            true => Ok((record.revision, back)),
            false => Err(NotUndone::Since { changes, tasks }),
        }
    }
}

/// Returns the change that a record takes back.
fn undoes(record: &JournalRecord) -> Option<u64> {
    match &record.entry {
        JournalEntry::Mutation { mutation: Mutation::Undo { change, .. }, .. } => *change,
        _ => None,
    }
}

/// Returns the tasks that a record touched, as far as it says.
fn touched_by(record: &JournalRecord) -> Vec<&TaskId> {
    match &record.entry {
        // What the end of an iteration fills in is no change of anyone's.
        JournalEntry::Mutation {
            mutation: Mutation::CommitIteration { .. } | Mutation::Mark { .. }, ..
        } => Vec::new(),
        JournalEntry::Mutation { replaced: Some(replaced), .. } => replaced.touched().collect(),
        JournalEntry::Mutation { mutation, change, .. } => {
            let edited = change.edits().iter().filter_map(super::Edit::task);
            mutation.tasks().into_iter().flatten().chain(edited).collect()
        }
        JournalEntry::Edited { edits, .. } => edits.iter().filter_map(super::Edit::task).collect(),
        _ => Vec::new(),
    }
}

fn name_of(record: &JournalRecord) -> String {
    match &record.entry {
        JournalEntry::Mutation { mutation, .. } => mutation.name().to_owned(),
        JournalEntry::Imported { .. } => "another plan".to_owned(),
        _ => "an edit of the plan's file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn undoes_completion_recorded_by_earlier_version() {
        let task = Task::new(TaskId::new("1"), "t");
        let done = Task { status: Status::Completed, commit_sha: Some("abcd".to_owned()), ..task.clone() };
        let before = Plan { tasks: vec![task], ..Plan::default() };
        let mut plan = Plan { tasks: vec![done.clone()], ..Plan::default() };
        let mut replaced = Replaced::between(&before, &plan, |_| None).unwrap();
        replaced.rows.iter_mut().for_each(|row| row.after = earlier_digest(&done, false));
        put_back(&mut plan, None, &replaced).unwrap();
        assert_eq!(plan.tasks, before.tasks);
    }
}
