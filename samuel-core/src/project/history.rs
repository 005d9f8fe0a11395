//! All that is known of one task: what it says, what it belongs to, and what happened to it.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Attempt, Project};
use crate::{
    model::{Claim, Plan, Status, Task, TaskId},
    plan::{GroupState, Readiness, WorkUnderWay},
    state::{
        Actor, Edit, JournalEntry, JournalRecord, Mutation, StateDiagnostic, StateError, TaskChange,
        TaskCredit, with_merges,
    },
    text::excerpt,
};

/// How many changes are told, the last ones.
const MAX_CHANGES: usize = 100;
/// How many tasks of a kind are named.
const MAX_RELATED: usize = 200;
/// How many details of one change are told.
const MAX_DETAILS: usize = 10;
/// How much is kept of one detail, in bytes.
const MAX_DETAIL_BYTES: usize = 500;

/// All that is known of a task, as [`History::task`](crate::history::History::task) read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskHistory {
    /// The plan's revision.
    pub revision: u64,
    /// The task.
    pub task: Task,
    /// Whether it could be worked on now.
    pub ready: bool,
    /// What it waits for: tasks that it, or a group that it is in, depends on and that are
    /// neither completed nor skipped.
    pub waits_for: Vec<TaskId>,
    /// Where its parts stand; nothing of a task without parts.
    pub group: Option<GroupState>,
    /// Who works on it while several work on the plan, or what is kept of attempts that came to
    /// nothing.
    pub claim: Option<Claim>,
    /// That the lane which has claimed it is gone with its run, in one line; nothing while it may be at work.
    #[serde(default)]
    pub gone: Option<String>,
    /// The groups that it is in, the innermost first.
    pub parents: RelatedTasks,
    /// Its own parts.
    pub parts: RelatedTasks,
    /// The tasks that it depends on.
    pub depends_on: RelatedTasks,
    /// The tasks that depend on it.
    pub dependents: RelatedTasks,
    /// The commits that were recorded for it, the first one first.
    pub commits: Vec<String>,
    /// The iterations that worked on it, oldest first; at most the last 50.
    pub attempts: Vec<Attempt>,
    /// How many earlier ones are left out.
    pub more_attempts: usize,
    /// What changed it, oldest first; at most the last 100 changes.
    pub changes: Vec<HistoryChange>,
    /// How many earlier ones are left out.
    pub more_changes: usize,
    /// Whether the journal goes back to the task's beginning; a long one does not.
    pub whole: bool,
    /// What is wrong with the plan file and was worked around.
    pub diagnostics: Vec<StateDiagnostic>,
}

/// Tasks that a task has to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedTasks {
    /// The tasks, at most 200.
    pub tasks: Vec<RelatedTask>,
    /// How many more there are.
    pub more: usize,
}

/// A task that another one has to do with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedTask {
    /// Its id.
    pub id: TaskId,
    /// Its title; empty where there is no such task.
    pub title: String,
    /// Where it stands; nothing where there is no such task.
    pub status: Option<Status>,
}

/// A change of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryChange {
    /// Its number, with which it can be taken back: the plan's revision after it.
    pub change: u64,
    /// When it was made.
    pub at: Timestamp,
    /// What kind of caller asked for it.
    pub actor: Actor,
    /// What the caller is called, where that is known.
    pub by: Option<String>,
    /// The word for it, such as `done`; `imported` for a plan that was stored as a whole and
    /// `edited` for a plan file that was changed past the store.
    pub what: String,
    /// Where the task stood before, where that changed.
    pub before: Option<Status>,
    /// Where it stood after, where that changed.
    pub after: Option<Status>,
    /// What is to be said of it, such as a reason, a commit, or the fields that say
    /// something else; one line each, at most 10.
    pub details: Vec<String>,
}

impl Project {
    /// Returns what plan and journal say of a task, without its attempts.
    pub(crate) fn task_without_attempts(&self, id: &TaskId) -> Result<TaskHistory, StateError> {
        let store = self.plan_store();
        let (loaded, held) = self.loaded_with_loop()?;
        let plan = &loaded.plan;
        let under_way = match &held {
            Ok(held) => self.under_way(held.as_ref(), plan, || self.last_run()),
            Err(_) => WorkUnderWay::default(),
        };
        let found = plan.tasks.iter().enumerate().find(|(_, task)| task.id == *id);
        let (place, task) = found.ok_or_else(|| StateError::no_task(plan, id))?;
        let journal = store.journal_since(0)?;
        let (mut changes, begins) = changes(id, &journal.records);
        let mut commits = commits(&journal.records).remove(id).unwrap_or_default();
        if let Some(sha) = task.commit_sha.as_ref().filter(|sha| !commits.contains(sha)) {
            commits.push(sha.clone());
        }
        let more_changes = keep_last(&mut changes, MAX_CHANGES);
        let readiness = Readiness::of(plan);
        let tasks = plan.tasks.iter().map(|task| (&task.id, task)).collect();
        let relations = Relations { plan, tasks, readiness: &readiness, place };
        let gaps: Vec<StateDiagnostic> = loaded.gaps(&self.run_dir().prd()).collect();
        let claim = plan.claim(&task.id.clone().into());
        Ok(TaskHistory {
            revision: loaded.revision,
            task: task.clone(),
            ready: readiness.is_ready(place),
            waits_for: relations.waits_for(),
            group: GroupState::of(plan, readiness.groups(), place),
            gone: claim.and_then(|claim| under_way.gone(claim)),
            claim: claim.cloned(),
            parents: relations.parents(),
            parts: relations.parts(),
            depends_on: relations.depends_on(),
            dependents: relations.dependents(),
            commits,
            attempts: Vec::new(),
            more_attempts: 0,
            changes,
            more_changes,
            whole: begins || !journal.has_gap,
            diagnostics: [&loaded.diagnostics[..], &gaps].concat(),
        })
    }
}

/// Leaves the last of a list, and says how many went.
fn keep_last<T>(list: &mut Vec<T>, max: usize) -> usize {
    let more = list.len().saturating_sub(max);
    list.drain(..more);
    more
}

/// What a task of a plan has to do with others.
struct Relations<'a> {
    plan: &'a Plan,
    /// Every task of the plan, by its id.
    tasks: HashMap<&'a TaskId, &'a Task>,
    readiness: &'a Readiness<'a>,
    place: usize,
}

impl Relations<'_> {
    fn of<'a>(&self, mut ids: impl Iterator<Item = &'a TaskId>) -> RelatedTasks {
        let related = |id: &TaskId| {
            let task = self.tasks.get(id);
            RelatedTask {
                id: id.clone(),
                title: task.map(|task| task.title.clone()).unwrap_or_default(),
                status: task.map(|task| task.status),
            }
        };
        let tasks = ids.by_ref().take(MAX_RELATED).map(related).collect();
        RelatedTasks { tasks, more: ids.count() }
    }

    fn task(&self) -> Option<&Task> {
        self.plan.tasks.get(self.place)
    }

    /// Of a task that is settled or blocked that is nobody's question.
    fn waits_for(&self) -> Vec<TaskId> {
        let is_pending = self.task().is_some_and(|task| task.status == Status::Pending);
        let ids = if is_pending { self.readiness.waits_for(self.place) } else { Vec::new() };
        ids.into_iter().take(MAX_RELATED).cloned().collect()
    }

    fn parents(&self) -> RelatedTasks {
        let groups = self.readiness.groups();
        let above = std::iter::successors(groups.parent(self.place), |group| groups.parent(*group));
        self.of(above.filter_map(|group| self.plan.tasks.get(group)).map(|group| &group.id))
    }

    fn parts(&self) -> RelatedTasks {
        let parts = self.readiness.groups().parts(self.place).iter();
        self.of(parts.filter_map(|part| self.plan.tasks.get(*part)).map(|part| &part.id))
    }

    fn depends_on(&self) -> RelatedTasks {
        self.of(self.task().into_iter().flat_map(|task| &task.depends_on))
    }

    fn dependents(&self) -> RelatedTasks {
        let Some(task) = self.task() else { return RelatedTasks::default() };
        let depends = |other: &&Task| other.depends_on.contains(&task.id);
        self.of(self.plan.tasks.iter().filter(depends).map(|other| &other.id))
    }
}

/// Returns the commits that records name for tasks, each once. The credit at the end of an iteration replaces the commit
/// that was named when the task was completed. Work counts once its merge is recorded as done.
pub(crate) fn commits<'a>(
    records: impl IntoIterator<Item = &'a JournalRecord>,
) -> HashMap<&'a TaskId, Vec<String>> {
    let mut commits: HashMap<&TaskId, Vec<String>> = HashMap::new();
    let mut named = HashMap::<&TaskId, &String>::new();
    let add = |commits: &mut HashMap<&'a TaskId, Vec<String>>, id: &'a TaskId, commit: &String| {
        let known = commits.entry(id).or_default();
        let is_new = !known.contains(commit);
        known.extend(is_new.then(|| commit.clone()));
        is_new
    };
    for (record, merge) in with_merges(records) {
        if record.is_import() {
            commits.clear();
            named.clear();
        }
        for claim in merge.iter().flat_map(|merge| merge.claims) {
            add(&mut commits, &claim.task, &claim.landed);
        }
        let JournalEntry::Mutation { mutation, .. } = &record.entry else { continue };
        match mutation {
            Mutation::Done { id, commit_sha: Some(sha), .. } => {
                let is_new = add(&mut commits, id, sha);
                named.extend(is_new.then_some((id, sha)));
            }
            Mutation::CommitIteration { credits, .. } => {
                for TaskCredit { id, commit, .. } in credits {
                    if let Some(sha) = named.remove(id) {
                        commits.entry(id).or_default().retain(|commit| commit != sha);
                    }
                    commit.iter().for_each(|commit| _ = add(&mut commits, id, commit));
                }
            }
            _ => {}
        }
    }
    commits
}

/// Returns the changes of a task, oldest first, and whether they are all there are.
fn changes(id: &TaskId, records: &[JournalRecord]) -> (Vec<HistoryChange>, bool) {
    let (mut changes, mut begins): (Vec<HistoryChange>, _) = (Vec::new(), false);
    for record in records {
        let is_first = match &record.entry {
            JournalEntry::Imported { .. } => true,
            // One that was removed and put back is the same.
            JournalEntry::Mutation { mutation: Mutation::Undo { .. }, .. } => false,
            JournalEntry::Mutation { change: TaskChange::Added { id: added }, .. } => added == id,
            JournalEntry::Mutation { change, .. } => adds(change.edits(), id),
            JournalEntry::Edited { edits, .. } => adds(edits, id),
            _ => false,
        };
        if is_first {
            // What was before is of another task that had this id.
            changes.clear();
            begins = true;
        }
        changes.extend(change(id, record));
    }
    (changes, begins)
}

fn adds(edits: &[Edit], id: &TaskId) -> bool {
    edits.iter().any(|edit| matches!(edit, Edit::Added { id: added, .. } if added == id))
}

/// Returns what a record tells of a task, if it does.
fn change(id: &TaskId, record: &JournalRecord) -> Option<HistoryChange> {
    let told = |actor: Actor, by: Option<&String>, what: &str, details: Vec<String>| {
        let (before, after) = record.entry.standing_of(id);
        let details = details.iter().take(MAX_DETAILS).map(|detail| {
            let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            excerpt(&lines.join(" "), MAX_DETAIL_BYTES)
        });
        HistoryChange {
            change: record.revision,
            at: record.at,
            actor,
            by: by.cloned(),
            what: what.to_owned(),
            before,
            after,
            details: details.collect(),
        }
    };
    match &record.entry {
        JournalEntry::Imported { actor, .. } => Some(told(*actor, None, "imported", Vec::new())),
        JournalEntry::Edited { actor, edits } => {
            let edit = edits.iter().find(|edit| edit.task() == Some(id))?;
            Some(told(*actor, None, "edited", vec![edit.to_string()]))
        }
        JournalEntry::Mutation { actor, mutation, change, by, replaced, .. } => {
            let fields = replaced.as_ref().map(|replaced| replaced.fields_of(id)).unwrap_or_default();
            let details = match mutation {
                Mutation::Done { commit_sha, iteration, .. } => {
                    let commit = commit_sha.as_ref().map(|sha| format!("commit {sha}"));
                    commit.into_iter().chain(iteration.map(|number| format!("iteration {number}"))).collect()
                }
                Mutation::Skip { reason, .. } | Mutation::Block { reason, .. } => {
                    reason.iter().cloned().collect()
                }
                Mutation::Ask { question: said, .. } | Mutation::Answer { answer: said, .. } => {
                    vec![said.clone()]
                }
                Mutation::StartTask { owner, .. } => {
                    owner.iter().map(|owner| format!("by {owner}")).collect()
                }
                Mutation::TakeBack { failures, .. } => failures.clone(),
                Mutation::Claim { worker, .. } => vec![format!("by {worker}")],
                Mutation::Release { reason, .. } => vec![reason.to_string()],
                Mutation::Submit { commit, branch, .. } => vec![format!("commit {commit} of {branch}")],
                Mutation::Landing { into, new, .. } => vec![format!("moves {into} to {new}")],
                Mutation::Drop { reason, .. } => vec![reason.clone()],
                Mutation::Hold { reason, .. } => reason.iter().cloned().collect(),
                Mutation::Undo { change: Some(number), .. } => vec![format!("takes back change {number}")],
                Mutation::Edit { .. } | Mutation::Update { .. } | Mutation::Move { .. }
                    if !fields.is_empty() =>
                {
                    vec![fields.join(", ")]
                }
                _ => Vec::new(),
            };
            // They say nothing that the task does not.
            let says_nothing = matches!(mutation, Mutation::CommitIteration { .. } | Mutation::Mark { .. });
            let is_shown = change.touches(id) && !says_nothing;
            is_shown.then(|| told(*actor, by.as_ref(), mutation.name(), details))
        }
        _ => None,
    }
}
