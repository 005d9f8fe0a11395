//! What one machine needs to carry on, wherever its plan is kept.
//!
//! A [`LaneStore`] holds what a loop saves of itself, which processes look after its
//! commands, the files that each iteration makes anew, and the lock that admits one loop.
//! [`FileStore`](super::FileStore) keeps it in the run directory,
//! [`MemoryLane`](super::MemoryLane) in memory. What every one does is checked by
//! `testing::store_suite::lane_store`.
//!
//! Methods block. Asynchronous callers use `spawn_blocking`.

use std::{fmt, path::Path, sync::Arc};

use super::{
    Artifact, Begun, Called, Checkpoint, Holder, JournalEntry, KeptCheckpoint, LaneBooks, Note, RecordChunk,
    RecordPart, RecordPlace, RunDir, StateError, SupervisorProcess, Used, Watch,
};

/// Keeps what one machine needs to carry on.
pub trait LaneStore: fmt::Debug + Send + Sync {
    /// Returns the directory of this machine in which programs find files and leave
    /// theirs: raw logs, caches, what plugins write.
    fn dir(&self) -> &RunDir;

    /// Writes a note down. Returns its number; numbers grow.
    ///
    /// # Errors
    /// Returns [`StateError::TooLarge`], [`StateError::Locked`] or
    /// [`StateError::Io`].
    fn note(&self, note: Note) -> Result<u64, StateError>;

    /// Returns what a run saved last, however much was noted since.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn last_saved(&self) -> Result<Option<SavedRun>, StateError>;

    /// Returns what a run that has not ended saved last, where that is kept out of
    /// the reach of agents, and how what was [saved last](Self::last_saved) stands
    /// to it. By default nothing is kept.
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
    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError>;

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

    /// Takes the lock of the loop, which is free again once what is returned is dropped.
    ///
    /// # Errors
    /// Returns [`StateError::LoopRunning`] if another loop holds it, and
    /// [`StateError::Io`] if that cannot be found out.
    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError>;

    /// Returns who runs a loop here, if anybody does. The outer option says whether the
    /// lock is held, the inner one who holds it.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if that cannot be found out.
    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError>;

    /// Says whether records of runs are kept; where they are not, nothing is appended. By default
    /// they are.
    fn keeps_records(&self) -> bool {
        true
    }

    /// Appends whole lines to a part of a run's record. They need not outlive a power failure.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] or [`StateError::TooLarge`] where they cannot be kept.
    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError>;

    /// Reads lines of a part of a run's record from a place on, as many as fit into some memory;
    /// none where there are no more by now, and of a run without a record. A line that was not
    /// written to its end is not there, and one that does not fit is counted ([`RecordChunk::left_out`]).
    ///
    /// Reading begins at the default place and goes on at the [`next`](RecordChunk::next) of each chunk, which the
    /// store makes as it likes ([`RecordPlace::at`]); what is appended later is read from there on.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError>;

    /// Returns the runs that have a record, oldest first.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    fn recorded_runs(&self) -> Result<Vec<String>, StateError>;

    /// Begins to listen to what is appended to the record of a run.
    fn watch_record(&self, run: &str) -> Watch;
}

/// The lock of a loop, held until it is dropped.
pub trait LoopLock: fmt::Debug + Send + Sync {
    /// Makes sure that others still find the lock held, whatever was done to its file.
    /// Returns warnings about what was restored and renamed; none if the lock was as it should be.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if that is not possible, and
    /// [`StateError::LoopRunning`] if another loop has taken it by now.
    fn keep(&self) -> Result<Vec<String>, StateError>;

    /// Has it say from now on where the loop listens ([`Holder::socket`]). By default it does not.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if that cannot be written.
    fn listens_at(&self, _socket: &Path) -> Result<(), StateError> {
        Ok(())
    }
}

/// What a run saved last.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRun {
    /// What it saved.
    pub checkpoint: Checkpoint,
    /// The run that noted anything last: the one that saved the checkpoint, or one that continues it and has not
    /// saved one yet.
    pub run_id: String,
    /// The number of the note.
    pub seq: u64,
    /// What it had consumed in all when it noted that last, after the checkpoint.
    pub used: Option<Used>,
    /// The call of the agent that each worker made last: those that are under way, as long as the run is at work.
    pub calls: Vec<Called>,
    /// What had begun over all of its lanes when one of them noted that last, after the checkpoint.
    pub begun: Option<Begun>,
    /// What its lanes had done when one of them noted that last, after the checkpoint.
    pub books: Option<LaneBooks>,
}

impl SavedRun {
    /// Returns what a checkpoint tells, without later notes.
    pub fn of(checkpoint: Checkpoint, seq: u64) -> Self {
        let (run_id, calls) = (checkpoint.run_id.clone(), checkpoint.calls.clone());
        Self { checkpoint, run_id, seq, used: None, calls, begun: None, books: None }
    }

    /// Takes in a later entry of the journal.
    pub(crate) fn follow(&mut self, later: JournalEntry) {
        match &later {
            JournalEntry::Used(Used { run_id, .. })
            | JournalEntry::Called(Called { run_id, .. })
            | JournalEntry::Books(LaneBooks { run_id, .. }) => self.run_id.clone_from(run_id),
            _ => {}
        }
        match later {
            JournalEntry::Used(used) => self.used = Some(used),
            JournalEntry::Called(called) => {
                self.calls.retain(|other| other.worker != called.worker);
                self.calls.push(called);
            }
            JournalEntry::Begun(begun) => self.begun = Some(begun),
            JournalEntry::Books(books) => {
                self.calls.retain(Called::is_of_first);
                self.calls.extend(books.calls.iter().cloned());
                self.books = Some(books);
            }
            _ => {}
        }
    }

    /// Returns what had begun when that was noted last, by a lane or with the checkpoint; of each figure the greater one.
    pub fn last_begun(&self) -> Option<Begun> {
        match (self.begun, self.checkpoint.begun) {
            (Some(noted), Some(saved)) => Some(noted.at_least(saved)),
            (noted, saved) => noted.or(saved),
        }
    }
}
