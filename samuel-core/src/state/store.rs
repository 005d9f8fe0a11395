//! The interface between the loop and wherever state is kept.
//!
//! A [`StateStore`] holds a plan with its revision, a journal, a progress log
//! and a few generated files. [`FileStore`](super::FileStore) keeps them in a
//! run directory, [`MemoryStore`](super::MemoryStore) in memory; a store for
//! several machines would implement the same trait.
//!
//! Methods block. Asynchronous callers use `spawn_blocking`.

use std::{fmt, path::PathBuf, sync::Arc};

use super::{
    Actor, Artifact, Diagnostic, JournalRecord, KeptCheckpoint, Mutation, Note, ProgressEntry, ProgressLog,
    StateError, Supervisor, TaskChange,
};
use crate::model::{Plan, Task};

/// Keeps plan, journal, progress log and generated files.
pub trait StateStore: fmt::Debug + Send + Sync {
    /// Says whether there is a plan, readable or not.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if that cannot be found out.
    fn exists(&self) -> Result<bool, StateError>;

    /// Loads the plan. Changes nothing and takes no lock.
    ///
    /// # Errors
    /// Returns [`StateError::NotInitialised`] without a plan,
    /// [`StateError::Corrupt`] or [`StateError::Version`] if it cannot be
    /// understood, and [`StateError::Io`] if it cannot be read.
    fn load(&self) -> Result<LoadedPlan, StateError>;

    /// Stores a whole plan, the first or another one. The revision continues
    /// from the one before.
    ///
    /// # Errors
    /// Returns [`StateError::Exists`] if there is a plan and `existing` does
    /// not say to replace it, [`StateError::TaskInvalid`] or
    /// [`StateError::TaskExists`] if a task must not be stored, and what
    /// [`mutate`](Self::mutate) returns for locks and files.
    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError>;

    /// Changes the plan. What it returns has been stored durably, in the plan
    /// and in the journal; after an error nothing has changed.
    ///
    /// # Errors
    /// Returns what [`load`](Self::load) returns, the task errors of
    /// [`apply`](super::apply), [`StateError::Locked`] if others kept the
    /// store busy for too long, and [`StateError::Io`] if storing failed.
    fn mutate(&self, mutation: Mutation, actor: Actor) -> Result<Applied, StateError>;

    /// Appends to the journal what is no change of the plan. Returns the
    /// number of the record.
    ///
    /// # Errors
    /// Returns [`StateError::TooLarge`], [`StateError::Locked`] or
    /// [`StateError::Io`].
    fn note(&self, note: Note) -> Result<u64, StateError>;

    /// Returns the journal's records after a number, oldest first, as far
    /// back as the journal goes; 0 stands for all.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn journal_since(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError>;

    /// Returns what [`journal_since`](Self::journal_since) returns, once it tells
    /// of everything that happened. The loop calls it, while it holds its lock.
    ///
    /// Somebody may have changed the store's files without asking the store.
    /// What is different since the last call is taken over and journalled as
    /// [`JournalEntry::Edited`](super::JournalEntry::Edited); what is gone or
    /// cannot be read is put back from what was acknowledged at the last call.
    /// A store that nobody reaches in another way has nothing to do.
    ///
    /// # Errors
    /// Returns what [`load`](Self::load) and [`mutate`](Self::mutate) return for
    /// locks and files.
    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        Ok(CaughtUp { records: self.journal_since(seq)?, ..CaughtUp::default() })
    }

    /// Says whether the plan is what the store last wrote.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn last_written(&self) -> Result<LastWritten, StateError> {
        Ok(LastWritten::Same)
    }

    /// Returns the last checkpoint, which every rotation of the journal keeps.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn last_checkpoint(&self) -> Result<Option<JournalRecord>, StateError>;

    /// Returns what a run that has not ended saved last, where that is kept out of
    /// the reach of agents, and how the [last checkpoint](Self::last_checkpoint) of the
    /// journal stands to it. By default nothing is kept.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn kept_checkpoint(&self) -> Result<KeptCheckpoint, StateError> {
        Ok(KeptCheckpoint::Nowhere)
    }

    /// Returns the supervisors that were noted and have not been noted as
    /// ended.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn supervisors(&self) -> Result<Vec<Supervisor>, StateError>;

    /// Appends lines to the progress log.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError>;

    /// Reads the progress log, without what was archived.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    fn progress(&self) -> Result<ProgressLog, StateError>;

    /// Archives old lines of the progress log once it has more than
    /// `max_lines`: the newer half of that many lines and every `LEARNING`
    /// stay. Returns how many lines went.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError>;

    /// Replaces a generated file. A TOON file gets the version header if the
    /// text has none.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError>;

    /// Reads a generated file; nothing if it was never written.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError>;
}

/// A plan as it was loaded.
#[derive(Clone, Debug)]
pub struct LoadedPlan {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its revision, the same as in the plan.
    pub revision: u64,
    /// What was wrong with the file and could be worked around.
    pub diagnostics: Vec<Diagnostic>,
    /// Lines of the file that could not be understood, now or earlier. While
    /// there are any, "nothing left to do" does not mean that all is done.
    pub unparsed: Vec<String>,
}

/// What happened since somebody last looked.
#[derive(Clone, Debug, Default)]
pub struct CaughtUp {
    /// The records, oldest first.
    pub records: Vec<JournalRecord>,
    /// The plan, where it had to be read for that.
    pub plan: Option<Arc<Plan>>,
    /// What somebody did without asking the store, a sentence each.
    pub warnings: Vec<String>,
}

/// How a plan stands to what its store last wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWritten {
    /// It is that.
    Same,
    /// Somebody changed it without asking the store.
    Other,
    /// The journal that would tell is lost.
    Unknown,
}

/// A change that was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The revision the plan has now.
    pub revision: u64,
    /// What changed.
    pub change: TaskChange,
    /// The task that was asked for or added, as it is now; absent where the
    /// change is about several tasks or none.
    pub task: Option<Task>,
    /// The number of the journal's record; absent if nothing changed.
    pub seq: Option<u64>,
    /// What was wrong with the file, as far as it was read, and could be worked
    /// around.
    pub diagnostics: Vec<Diagnostic>,
}

impl Applied {
    /// Tells of a change that is not yet in the journal.
    pub(super) fn new(plan: &Plan, mutation: &Mutation, change: TaskChange) -> Self {
        let id = match (&change, mutation.tasks().as_deref()) {
            (TaskChange::Added { id }, _) => Some(id),
            (_, Some([id])) => Some(*id),
            _ => None,
        };
        let task = id.and_then(|id| plan.task(id)).cloned();
        Self { revision: plan.revision, change, task, seq: None, diagnostics: Vec::new() }
    }
}

/// A plan that was stored as a whole.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The revision the plan has now.
    pub revision: u64,
    /// Where the plan that was there before was put.
    pub backup: Option<PathBuf>,
}

/// What to do with a plan that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and fail.
    #[default]
    Refuse,
    /// Replace it, and keep a backup.
    Replace,
}
