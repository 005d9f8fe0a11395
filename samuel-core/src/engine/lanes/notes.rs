//! What a lane that does not lead keeps on this machine.
//!
//! Only the leader saves the run, since a run that goes on goes on with the plan: what other lanes
//! worked on is released and claimed anew. What they consumed and what came of their iterations they write down
//! (`kept`).

use std::sync::Arc;

use crate::state::{
    Artifact, Holder, KeptCheckpoint, LaneStore, LoopLock, Note, RecordChunk, RecordPart, RecordPlace,
    RunDir, SavedRun, StateError, SupervisorProcess, Watch,
};

/// The store of a lane, over that of the run.
#[derive(Debug)]
pub(super) struct LaneNotes {
    run: Arc<dyn LaneStore>,
    leads: bool,
}

impl LaneNotes {
    pub(super) fn new(run: Arc<dyn LaneStore>, leads: bool) -> Self {
        Self { run, leads }
    }
}

impl LaneStore for LaneNotes {
    fn dir(&self) -> &RunDir {
        self.run.dir()
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        match note {
            Note::Checkpoint(_) if !self.leads => Ok(0),
            note => self.run.note(note),
        }
    }

    fn last_saved(&self) -> Result<Option<SavedRun>, StateError> {
        self.run.last_saved()
    }

    fn kept_checkpoint(&self) -> Result<KeptCheckpoint, StateError> {
        self.run.kept_checkpoint()
    }

    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        self.run.supervisors()
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.run.write_artifact(artifact, text)
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        self.run.read_artifact(artifact)
    }

    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError> {
        self.run.lock_loop(holder)
    }

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        self.run.loop_holder()
    }

    fn keeps_records(&self) -> bool {
        self.leads && self.run.keeps_records()
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        self.run.append_record(run, part, lines)
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        self.run.read_record(run, part, from)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        self.run.recorded_runs()
    }

    fn watch_record(&self, run: &str) -> Watch {
        self.run.watch_record(run)
    }
}
