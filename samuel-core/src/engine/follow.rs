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
    machine::{Completion, Input},
    services::Services,
};
use crate::{
    model::{TaskId, payload::Actor},
    state::{JournalEntry, JournalRecord, Mutation, StateError},
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
                *seq = records.last().map_or(*seq, |record| record.seq);
                for completion in records.iter().filter_map(|record| self.completion(record)) {
                    // The run has ended if nobody listens any more.
                    let _ = self.services.inputs.send(Input::TaskCompleted(completion));
                }
            }
            Err(error) => self.services.warn(format!("the journal could not be read: {error}")),
        }
    }

    async fn read_from(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError> {
        self.services
            .blocking(move |services| {
                let records = services.store.journal_since(seq)?;
                if records.iter().any(|record| matches!(record.entry, JournalEntry::Mutation { .. })) {
                    let loaded = services.store.load()?;
                    services.workbench.with(|desk| desk.plan = loaded.plan);
                }
                Ok(records)
            })
            .await?
    }

    fn completion(&self, record: &JournalRecord) -> Option<Completion> {
        let JournalEntry::Mutation { actor, change, .. } = &record.entry else { return None };
        let id = change.completed().filter(|_| *actor != Actor::Runtime)?;
        let task = self.services.task(id)?;
        Some(Completion { task: task.id, title: task.title, description: task.description, actor: *actor })
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

/// Returns the tasks that an agent completed, as records say. What a user
/// completed by hand since a crash is theirs to vouch for.
pub(super) fn completed_in(records: &[JournalRecord]) -> Vec<TaskId> {
    let completed = |record: &JournalRecord| match &record.entry {
        JournalEntry::Mutation { actor: Actor::Agent, change, .. } => change.completed().cloned(),
        _ => None,
    };
    records.iter().filter_map(completed).collect()
}

/// Says whether records hold the commit of an iteration.
pub(super) fn committed_in(records: &[JournalRecord]) -> bool {
    let commit = |record: &JournalRecord| {
        let JournalEntry::Mutation { mutation, .. } = &record.entry else { return false };
        matches!(mutation, Mutation::CommitIteration { .. })
    };
    records.iter().any(commit)
}
