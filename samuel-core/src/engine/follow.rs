//! Follows the journal for tasks that are completed while the agent works.
//!
//! The agent completes tasks through commands of its own, in other processes.
//! Every such mutation is in the journal, so reading on from the last record
//! finds each completion exactly once. A file watcher only says when to look;
//! the driver looks by itself whenever it matters.

use std::sync::Arc;

use notify::{RecursiveMode, Watcher};
use tokio::sync::{Mutex, Notify};

use super::{
    machine::{Completion, Input, PlanChanged},
    services::Services,
};
use crate::{
    engine::event::PlanChange,
    model::{Status, Task, TaskId, payload::Actor},
    state::{Change, JournalEntry, JournalRecord, Mutation, StateError},
};

/// The journal's name in the run directory.
const JOURNAL: &str = "journal.jsonl";

/// The place in the journal up to which completions were told.
#[derive(Debug)]
pub(super) struct Follower {
    services: Arc<Services>,
    seq: Mutex<u64>,
}

impl Follower {
    pub(super) fn new(services: Arc<Services>, seq: u64) -> Arc<Self> {
        Arc::new(Self { services, seq: Mutex::new(seq) })
    }

    /// Tells the machine of every completion since the last look.
    pub(super) async fn look(&self) {
        // The lock is held while reading, so that no record is told twice.
        let mut seq = self.seq.lock().await;
        match self.read_from(*seq).await {
            Ok(records) => {
                if has_gap(&records, *seq) {
                    let _ = self.services.inputs.send(Input::Unheard);
                }
                *seq = records.last().map_or(*seq, |record| record.seq);
                for input in records.iter().filter_map(|record| self.told_by(record)) {
                    // The run has ended if nobody listens any more.
                    let _ = self.services.inputs.send(input);
                }
            }
            Err(error) => {
                let _ = self.services.inputs.send(Input::Unheard);
                self.services.warn(format!("the journal could not be read: {error}"));
            }
        }
    }

    async fn read_from(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError> {
        self.services
            .blocking(move |services| {
                let records = services.store.journal_since(seq)?;
                let is_change = |record: &JournalRecord| {
                    matches!(record.entry, JournalEntry::Mutation { .. } | JournalEntry::Imported { .. })
                };
                if records.iter().any(is_change) {
                    let loaded = services.store.load()?;
                    services.workbench.with(|desk| desk.plan = loaded.plan);
                }
                Ok(records)
            })
            .await?
    }

    /// Returns what the machine has to know of a record.
    fn told_by(&self, record: &JournalRecord) -> Option<Input> {
        if matches!(record.entry, JournalEntry::Imported { .. }) {
            return Some(Input::Unheard);
        }
        if let Some(changed) = self.plan_changed(record) {
            return Some(Input::PlanChanged(changed));
        }
        let (id, actor) = completion(record)?;
        // A task that is gone again was completed all the same.
        let Some(task) = self.services.task(id) else { return Some(Input::Unheard) };
        let Task { id: task, title, description, .. } = task;
        Some(Input::TaskCompleted(Completion { task, title, description, actor, seq: record.seq }))
    }

    /// Returns how a record changed the plan, if it is no completion and nothing
    /// that the loop itself did.
    fn plan_changed(&self, record: &JournalRecord) -> Option<PlanChanged> {
        let JournalEntry::Mutation { actor, mutation, change, .. } = &record.entry else { return None };
        let (task, what) = match change {
            _ if *actor == Actor::Runtime => return None,
            Change::Added { id } => (id, PlanChange::Added),
            Change::Task { id, from, to } if from != to => match to {
                Status::Skipped => (id, PlanChange::Skipped),
                Status::Blocked => (id, PlanChange::Blocked),
                Status::Pending => (id, PlanChange::Reset),
                Status::InProgress | Status::Completed => return None,
            },
            _ => return None,
        };
        let reason = match mutation {
            Mutation::Skip { reason, .. } | Mutation::Block { reason, .. } => reason.clone(),
            _ => None,
        };
        let title = self.services.task(task).map(|task| task.title).unwrap_or_default();
        Some(PlanChanged { change: what, task: task.clone(), title, reason, actor: *actor })
    }

    /// Looks whenever the run directory changes, until the task is dropped.
    /// Without a working watcher completions are only noticed at the end of a
    /// turn, which is enough for everything but promptness.
    pub(super) async fn watch(self: Arc<Self>) {
        let changed = Arc::new(Notify::new());
        let signal = Arc::clone(&changed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_journal = |path: &std::path::PathBuf| path.ends_with(JOURNAL);
            if event.is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(is_journal)) {
                signal.notify_one();
            }
        });
        let Ok(mut watcher) = watcher else { return };
        if watcher.watch(self.services.run_dir.path(), RecursiveMode::NonRecursive).is_err() {
            return;
        }
        loop {
            changed.notified().await;
            self.look().await;
        }
    }
}

/// Returns the task that a record says was completed, by whomever.
fn completion(record: &JournalRecord) -> Option<(&TaskId, Actor)> {
    let JournalEntry::Mutation { actor, change, .. } = &record.entry else { return None };
    Some((change.completed()?, *actor))
}

/// Returns the tasks that were completed, as records say, by whomever.
pub(super) fn completed_in(records: &[JournalRecord]) -> Vec<TaskId> {
    records.iter().filter_map(completion).map(|(id, _)| id.clone()).collect()
}

/// Says whether the records after a number tell of something that a check does
/// not cover which was made before them.
pub(super) fn outdates_check(records: &[JournalRecord], after: u64) -> bool {
    let is_import = |record: &JournalRecord| matches!(record.entry, JournalEntry::Imported { .. });
    has_gap(records, after) || records.iter().any(|record| completion(record).is_some() || is_import(record))
}

/// Says whether records are missing that follow a number: whoever writes enough
/// of them makes the journal rotate until it holds the earlier ones no more.
fn has_gap(records: &[JournalRecord], after: u64) -> bool {
    records.first().is_some_and(|first| first.seq > after.saturating_add(1))
}

/// Says whether records hold the commit of an iteration.
pub(super) fn committed_in(records: &[JournalRecord]) -> bool {
    holds(records, |mutation| matches!(mutation, Mutation::CommitIteration { .. }))
}

/// Says whether records hold the beginning of an iteration.
pub(super) fn began_in(records: &[JournalRecord]) -> bool {
    holds(records, |mutation| matches!(mutation, Mutation::StartTask { .. }))
}

fn holds(records: &[JournalRecord], is_wanted: impl Fn(&Mutation) -> bool) -> bool {
    let mutations = records.iter().filter_map(|record| match &record.entry {
        JournalEntry::Mutation { mutation, .. } => Some(mutation),
        _ => None,
    });
    mutations.into_iter().any(is_wanted)
}
