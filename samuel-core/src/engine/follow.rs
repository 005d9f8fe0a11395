//! Follows the journal for tasks that are completed while the agent works.
//!
//! The agent completes tasks through commands of its own, in other processes.
//! Every such mutation is in the journal, so reading on from the last record
//! finds each completion exactly once. What somebody did to the files without
//! asking is written there first, and what is gone is put back. The store's watch
//! only says when to look; the driver looks by itself whenever it matters.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex as SyncMutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::services::Services;
use crate::{
    engine::error::described,
    event::PlanChange,
    machine::{Completion, Input, PlanChanged},
    model::{ClaimTarget, Groups, Plan, Role, Status, Task, TaskId, payload::Actor},
    state::{
        CaughtUp, Edit, JournalEntry, JournalPart, JournalRecord, LoopLock, Mutation, ProgressKind,
        StateError, TaskChange, with_merges,
    },
};

/// The place in the journal up to which completions were told.
#[derive(Debug)]
pub(super) struct Follower {
    services: Arc<Services>,
    seq: Mutex<u64>,
    /// The loop's lock, as long as the loop holds it.
    lock: Weak<dyn LoopLock>,
    /// The plan as it was known at the last look.
    known: SyncMutex<Arc<Plan>>,
    /// The plan as it was known at the look before that one.
    before: SyncMutex<Option<Arc<Plan>>>,
    /// The tasks of whose completion, or of whose skip by an edit, the machine may not be told yet, with the numbers of
    /// their records.
    untold: SyncMutex<Vec<(u64, TaskId)>>,
    /// The change that the loop tries to make, and the last record before the first
    /// attempt.
    attempt: SyncMutex<Option<(Mutation, u64)>>,
    /// Whether the last look failed, so that the plan may say what nobody was told of.
    is_behind: AtomicBool,
}

impl Follower {
    pub(super) fn new(
        services: Arc<Services>,
        lock: Weak<dyn LoopLock>,
        seq: u64,
        plan: Arc<Plan>,
    ) -> Arc<Self> {
        let (known, before) = (SyncMutex::new(plan), SyncMutex::default());
        let (untold, attempt) = (SyncMutex::default(), SyncMutex::default());
        let (seq, is_behind) = (Mutex::new(seq), AtomicBool::default());
        Arc::new(Self { services, seq, lock, known, before, untold, attempt, is_behind })
    }

    /// Takes down that the loop tries to make a change. Returns the last record before
    /// the first attempt, where this is not the first.
    pub(super) async fn attempted(&self, mutation: &Mutation) -> Option<u64> {
        let seq = *self.seq.lock().await;
        let mut attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        match attempt.as_ref() {
            Some((before, seq)) if before == mutation => return Some(*seq),
            _ => *attempt = Some((mutation.clone(), seq)),
        }
        None
    }

    /// Takes down that the change was made.
    pub(super) fn answered(&self) {
        *self.attempt.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the tasks that were completed or skipped when it last looked, without those of
    /// which the machine was not told up to a record, and without groups, which their
    /// parts complete.
    pub(super) fn settled(&self, told: u64, status: Status) -> Vec<TaskId> {
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        untold.retain(|(seq, _)| *seq > told);
        let is_untold = |id: &TaskId| untold.iter().any(|(_, untold)| untold == id);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let groups = Groups::of(&known.tasks);
        let is_settled = |(place, task): &(usize, &Task)| {
            task.status == status && !groups.is_group(*place) && !is_untold(&task.id)
        };
        known.tasks.iter().enumerate().filter(is_settled).map(|(_, task)| task.id.clone()).collect()
    }

    /// Looks before a change is made: after that, what somebody wrote into the plan
    /// would pass for what the change made of it.
    ///
    /// # Errors
    /// Returns why the plan cannot be followed; nothing may be written on top of it then.
    pub(super) async fn look_before_change(&self, mutation: &Mutation) -> Result<(), StateError> {
        // What was completed without asking belongs to the iteration.
        let closes = matches!(mutation, Mutation::CommitIteration { .. });
        match closes || self.is_behind.load(Ordering::Relaxed) {
            true => self.look().await,
            false => Ok(()),
        }
    }

    /// Tells the machine of every completion since the last look.
    ///
    /// # Errors
    /// Returns why the plan could not be read, which is warned of.
    pub(super) async fn look(&self) -> Result<(), StateError> {
        // The lock is held while reading, so that no record is told twice.
        let mut seq = self.seq.lock().await;
        let read = self.read_from(*seq).await;
        self.is_behind.store(read.is_err(), Ordering::Relaxed);
        match read {
            Ok(JournalPart { records, has_gap }) => {
                if has_gap && self.services.in_lane.as_ref().is_none_or(|lane| lane.leads()) {
                    let _ = self.services.inputs.send(Input::Unheard);
                }
                *seq = records.last().map_or(*seq, |record| record.seq);
                self.services.known_seq.fetch_max(*seq, Ordering::Relaxed);
                // It may have been a task, but none that is known.
                let told = untold_in(&records).into_iter();
                let told = told.map(|text| self.services.note(0, None, ProgressKind::Found, text));
                self.services.log(told.collect()).await;
                let lane = self.services.in_lane.as_ref();
                let seen = records.iter().inspect(|record| lane.iter().for_each(|lane| lane.follows(record)));
                let told =
                    seen.flat_map(|record| self.told_by(record).into_iter().map(|input| (record.seq, input)));
                let told = told.filter(|(seq, input)| lane.is_none_or(|lane| lane.hears(*seq, input)));
                for input in numbered(told) {
                    // The run has ended if nobody listens any more.
                    let _ = self.services.inputs.send(input);
                }
                if let Some(lane) = lane.filter(|_| !records.is_empty()) {
                    lane.look(&self.services.plan(), records.iter().any(is_by_others));
                }
                Ok(())
            }
            Err(error) => {
                let _ = self.services.inputs.send(Input::Unheard);
                self.services.warn_new(format!("the state could not be read: {}", described(&error)));
                Err(error)
            }
        }
    }

    async fn read_from(&self, seq: u64) -> Result<JournalPart, StateError> {
        let lock = self.lock.upgrade();
        let (caught, kept) = self
            .services
            .blocking(move |services| {
                let is_change = |record: &JournalRecord| {
                    matches!(record.entry, JournalEntry::Mutation { .. } | JournalEntry::Imported { .. })
                };
                let caught = services.store.catch_up(seq).and_then(|mut caught| {
                    if caught.plan.is_none() && caught.journal.records.iter().any(is_change) {
                        caught.plan = Some(services.store.load()?.plan);
                    }
                    Ok(caught)
                });
                (caught, lock.map_or(Ok(Vec::new()), |lock| lock.keep()))
            })
            .await?;
        match kept {
            Ok(warnings) => warnings.into_iter().for_each(|warning| self.services.warn_new(warning)),
            Err(error) => self.services.warn_new(described(&error)),
        }
        let CaughtUp { journal, plan, warnings } = caught?;
        for warning in warnings {
            self.services.warn_new(warning);
        }
        let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
        for record in &journal.records {
            let completed = self.completions_of(record).into_iter().map(|(id, _)| id);
            untold.extend(completed.chain(skipped_by_edit(record)).map(|id| (record.seq, id.clone())));
        }
        drop(untold);
        if let Some(plan) = plan {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let before = std::mem::replace(&mut *known, Arc::clone(&plan));
            drop(known);
            *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            self.services.known(|known| known.plan = plan);
        }
        Ok(journal)
    }

    /// Returns a task as it was before the last look, for what is gone since.
    fn task_before(&self, id: &TaskId) -> Option<Task> {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.as_ref()?.task(id).cloned()
    }

    /// Returns what the machine has to know of a record.
    fn told_by(&self, record: &JournalRecord) -> Vec<Input> {
        if record.is_import() {
            return vec![Input::Unheard];
        }
        let others_at_work = self.others_are_at_work();
        let is_edit = matches!(record.entry, JournalEntry::Edited { .. });
        let told = |(id, actor): (&TaskId, Actor)| {
            // A task that is gone again was completed all the same.
            let Some(task) = self.services.task(id) else { return Input::Unheard };
            let Task { id: task, title, description, .. } = task;
            // If the run does not listen, agents have no other way than the files.
            let is_call = self.services.store.wrote(record) || self.services.socket.get().is_none();
            let by_call = actor == Actor::Agent && is_call;
            let seq = record.seq;
            Input::TaskCompleted(Completion {
                task,
                title,
                description,
                actor,
                seq,
                by_call,
                is_edit,
                others_at_work,
            })
        };
        let changed = self.plan_changes(record).into_iter().map(Input::PlanChanged);
        self.completions_of(record).into_iter().map(told).chain(changed).collect()
    }

    /// Returns whether agents of other workers are at work, or were at the last look: what ends a claim does not end
    /// its agent at once.
    fn others_are_at_work(&self) -> bool {
        let Some(lane) = &self.services.in_lane else { return false };
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner).clone();
        lane.others_work() || has_work(&self.services.plan()) || before.is_some_and(|plan| has_work(&plan))
    }

    /// Returns the tasks that a record completed and on which a check has to decide. Work that this run merged was
    /// checked before. A merge that another process wrote into the journal counts as any completion.
    fn completions_of<'a>(&self, record: &'a JournalRecord) -> Vec<(&'a TaskId, Actor)> {
        match &record.entry {
            JournalEntry::Mutation { actor, mutation: Mutation::Land { .. }, change, .. }
                if !self.services.store.wrote(record) =>
            {
                change.completed().map(|id| (id, *actor)).collect()
            }
            _ => completions(record),
        }
    }

    /// Returns how a record changed the plan beside its completions; nothing for
    /// what the loop itself did.
    fn plan_changes(&self, record: &JournalRecord) -> Vec<PlanChanged> {
        let (actor, changes, reason) = match &record.entry {
            JournalEntry::Mutation { actor, mutation, change, .. } => {
                (*actor, changes_of(mutation, change), reason_of(mutation))
            }
            JournalEntry::Edited { actor, edits } => {
                (*actor, edits.iter().filter_map(change_by).collect::<Vec<_>>(), None)
            }
            _ => return Vec::new(),
        };
        let others_at_work = self.others_are_at_work();
        let told = |(task, change): (&TaskId, PlanChange)| {
            let known = self.services.task(task).or_else(|| self.task_before(task));
            let title = known.as_ref().map(|task| task.title.clone()).unwrap_or_default();
            let of_task = || known.and_then(|task| task.skip_reason);
            let reason = reason.clone().or_else(of_task);
            let seq = record.seq;
            PlanChanged { change, task: task.clone(), title, reason, actor, others_at_work, seq }
        };
        let is_told = actor != Actor::Runtime;
        let is_true = |(task, change): &(&TaskId, PlanChange)| self.allows(task, *change);
        changes.into_iter().filter(|_| is_told).filter(is_true).map(told).collect()
    }

    /// Says whether a task may have been changed so. Nothing takes a completion
    /// away from the check of a task that the plan says is completed: what a record
    /// tells of it was made undone again, or never happened.
    fn allows(&self, task: &TaskId, change: PlanChange) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let task = known.task(task);
        matches!(change, PlanChange::Added | PlanChange::Changed)
            || task.is_none_or(|task| task.status != Status::Completed)
    }

    /// Looks whenever the store says that there may be more to read, until the run has
    /// ended. A look that has begun is brought to its end, so that nothing is put back
    /// after that.
    pub(super) async fn watch(self: Arc<Self>, ended: CancellationToken) {
        let mut watch = self.services.store.watch();
        loop {
            let goes_on = tokio::select! {
                biased;
                () = ended.cancelled() => return,
                goes_on = watch.changed() => goes_on,
            };
            if !goes_on {
                return;
            }
            // Whoever makes a change next looks again.
            let _ = self.look().await;
        }
    }
}

/// Returns whether a worker has claimed something else than the merge queue.
fn has_work(plan: &Plan) -> bool {
    plan.claims.iter().any(|claim| claim.is_live() && claim.task != ClaimTarget::Role(Role::Merge))
}

/// Returns what a change did to tasks, beside completions.
fn changes_of<'a>(mutation: &'a Mutation, change: &'a TaskChange) -> Vec<(&'a TaskId, PlanChange)> {
    match mutation {
        Mutation::Hold { task, .. } => return vec![(task, PlanChange::Held)],
        Mutation::Unhold { task, .. } => return vec![(task, PlanChange::LetGo)],
        _ => {}
    }
    match change {
        TaskChange::Added { id } => vec![(id, PlanChange::Added)],
        TaskChange::Task { id, .. } if matches!(mutation, Mutation::Edit { .. }) => {
            vec![(id, PlanChange::Changed)]
        }
        TaskChange::Task { id, from, to } if from != to => match mutation {
            Mutation::Ask { .. } => vec![(id, PlanChange::Asked)],
            Mutation::Answer { .. } => vec![(id, PlanChange::Answered)],
            _ => moved(*from, *to).map(|moved| (id, moved)).into_iter().collect(),
        },
        change => change.edits().iter().filter_map(change_by).collect(),
    }
}

/// Returns the same of what somebody changed in the plan's file.
fn change_by(edit: &Edit) -> Option<(&TaskId, PlanChange)> {
    match edit {
        Edit::Added { id, .. } => Some((id, PlanChange::Added)),
        Edit::Status { id, from, to } => Some((id, moved(*from, *to)?)),
        Edit::Changed { id } => Some((id, PlanChange::Changed)),
        Edit::Removed { id } => Some((id, PlanChange::Removed)),
        // The project is no task, and no task is known to be in lines that cannot be read.
        _ => None,
    }
}

/// Words what somebody's edits made unreadable, and what they say of the project.
fn untold_in(records: &[JournalRecord]) -> Vec<String> {
    let edits = records.iter().filter_map(|record| match &record.entry {
        JournalEntry::Edited { edits, .. } => Some(edits),
        _ => None,
    });
    let untold = edits.flatten().filter(|edit| edit.task().is_none());
    untold.map(|edit| format!("prd.toon was edited: {edit}")).collect()
}

fn moved(from: Status, to: Status) -> Option<PlanChange> {
    match to {
        Status::Skipped => Some(PlanChange::Skipped),
        Status::Blocked => Some(PlanChange::Blocked),
        Status::Pending => Some(PlanChange::Reset),
        Status::InProgress if from == Status::Completed => Some(PlanChange::Reopened),
        Status::InProgress | Status::Completed => None,
    }
}

fn reason_of(mutation: &Mutation) -> Option<String> {
    match mutation {
        Mutation::Skip { reason, .. } | Mutation::Block { reason, .. } | Mutation::Hold { reason, .. } => {
            reason.clone()
        }
        Mutation::Ask { question: said, .. } | Mutation::Answer { answer: said, .. } => Some(said.clone()),
        Mutation::Release { reason, .. } if reason.blocks() => Some(reason.to_string()),
        _ => None,
    }
}

/// Says whether somebody else than the run changed the plan.
fn is_by_others(record: &JournalRecord) -> bool {
    match &record.entry {
        JournalEntry::Mutation { actor, .. }
        | JournalEntry::Imported { actor, .. }
        | JournalEntry::Edited { actor, .. } => *actor != Actor::Runtime,
        _ => false,
    }
}

/// Returns what records say, each with the number of its record. Of each record only the last input has that number, and
/// those before it the one before: a checkpoint in between has not all of the record.
fn numbered(told: impl Iterator<Item = (u64, Input)>) -> impl Iterator<Item = Input> {
    let mut told = told.peekable();
    std::iter::from_fn(move || {
        let (record, mut input) = told.next()?;
        let is_last = told.peek().is_none_or(|(next, _)| *next != record);
        match &mut input {
            Input::TaskCompleted(Completion { seq, .. }) | Input::PlanChanged(PlanChanged { seq, .. })
                if !is_last =>
            {
                *seq = seq.saturating_sub(1);
            }
            _ => {}
        }
        Some(input)
    })
}

/// Returns the tasks that a record says were completed, by whomever.
fn completions(record: &JournalRecord) -> Vec<(&TaskId, Actor)> {
    match &record.entry {
        // Its check was made before.
        JournalEntry::Mutation { mutation: Mutation::Land { .. }, .. } => Vec::new(),
        JournalEntry::Mutation { actor, change, .. } => change.completed().map(|id| (id, *actor)).collect(),
        JournalEntry::Edited { actor, edits } => {
            edits.iter().filter_map(Edit::completed).map(|id| (id, *actor)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the tasks that a record says were skipped by an edit of prd.toon.
fn skipped_by_edit(record: &JournalRecord) -> impl Iterator<Item = &TaskId> {
    let edits = match &record.entry {
        JournalEntry::Edited { edits, .. } => edits.as_slice(),
        _ => &[],
    };
    edits.iter().filter_map(|edit| match edit {
        Edit::Status { id, to: Status::Skipped, .. } => Some(id),
        _ => None,
    })
}

/// Returns the tasks that records say were skipped by a command.
pub(super) fn skipped_in(records: &[JournalRecord]) -> HashSet<&TaskId> {
    let mut skipped: HashSet<&TaskId> = HashSet::new();
    for record in records {
        if let JournalEntry::Mutation { change, .. } = &record.entry {
            skipped.extend(match change {
                TaskChange::Task { id, to: Status::Skipped, .. } => Some(id),
                _ => None,
            });
            skipped.extend(change.edits().iter().filter_map(|edit| match edit {
                Edit::Status { id, to: Status::Skipped, .. }
                | Edit::Added { id, status: Status::Skipped } => Some(id),
                _ => None,
            }));
        }
    }
    skipped
}

/// Returns the tasks that were completed, as records say, by whomever.
pub(super) fn completed_in(records: &[JournalRecord]) -> Vec<TaskId> {
    records.iter().flat_map(completions).map(|(id, _)| id.clone()).collect()
}

/// Returns the tasks whose work has landed, as records say: a check stands behind each.
pub(super) fn landed_in(records: &[JournalRecord]) -> HashSet<TaskId> {
    let landed = records.iter().filter_map(|record| match &record.entry {
        JournalEntry::Mutation { mutation: Mutation::Land { .. }, change, .. } => Some(change.completed()),
        _ => None,
    });
    landed.flatten().cloned().collect()
}

/// Says whether the journal tells of something that a check does not cover which was made
/// before that.
pub(super) fn outdates_check(journal: &JournalPart) -> bool {
    let outdates = |record: &JournalRecord| !completions(record).is_empty() || record.is_import();
    journal.has_gap || journal.records.iter().any(outdates)
}

/// Says whether records hold the commit of an iteration; with lanes there may be others.
pub(super) fn committed_in(records: &[JournalRecord], number: u32) -> bool {
    holds(
        records,
        |mutation| matches!(mutation, Mutation::CommitIteration { iteration, .. } if *iteration == number),
    )
}

/// Says whether records hold the beginning of an iteration. That of a worker is the claim of its task.
pub(super) fn began_in(records: &[JournalRecord]) -> bool {
    holds(records, |mutation| {
        matches!(mutation, Mutation::StartTask { .. } | Mutation::Claim { task: ClaimTarget::Task(_), .. })
    })
}

/// Says whether tasks are claimed, as records say.
pub(super) fn has_claims_in(records: &[JournalRecord]) -> bool {
    let mut claimed: HashSet<&TaskId> = HashSet::new();
    for (record, merge) in with_merges(records) {
        match &record.entry {
            JournalEntry::Imported { .. } => claimed.clear(),
            JournalEntry::Mutation { mutation: Mutation::Claim { task, .. }, .. } => {
                claimed.extend(task.task());
            }
            JournalEntry::Mutation { mutation: Mutation::Release { task, .. }, .. } => {
                claimed.retain(|claimed| Some(*claimed) != task.task());
            }
            _ => {}
        }
        let merged = merge.map(|merge| merge.claims).unwrap_or_default();
        claimed.retain(|claimed| !merged.iter().any(|claim| claim.task == **claimed));
    }
    !claimed.is_empty()
}

fn holds(records: &[JournalRecord], is_wanted: impl Fn(&Mutation) -> bool) -> bool {
    let mutations = records.iter().filter_map(|record| match &record.entry {
        JournalEntry::Mutation { mutation, .. } => Some(mutation),
        _ => None,
    });
    mutations.into_iter().any(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_last_input_of_record_has_its_number() {
        let told = |task: &str, record: u64| {
            let (change, reason, actor) = (PlanChange::Changed, None, Actor::External);
            let (task, title) = (TaskId::new(task), String::new());
            (record, PlanChanged { change, task, title, reason, actor, others_at_work: false, seq: record })
        };
        let told = [told("1", 7), told("2", 7), told("3", 8)];
        let told = numbered(told.into_iter().map(|(record, changed)| (record, Input::PlanChanged(changed))));
        let numbers: Vec<Option<u64>> = told
            .map(|input| match input {
                Input::PlanChanged(changed) => Some(changed.seq),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [Some(6), Some(7), Some(8)]);
    }
}
