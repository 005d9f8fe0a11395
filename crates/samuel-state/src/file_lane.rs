//! What a run directory holds of one machine.

use std::sync::{Arc, PoisonError};

use super::{
    Artifact, FileStore, Holder, JournalEntry, KeptCheckpoint, LaneStore, LoopLock, Note, RecordChunk,
    RecordPart, RecordPlace, RunDir, SavedRun, StateError, SupervisorProcess, Watch, files,
    loop_lock::FileLoopLock, plan_file, run_record,
};
use samuel_fs::Durability;

impl LaneStore for FileStore {
    fn dir(&self) -> &RunDir {
        FileStore::dir(self)
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        self.dir().create()?;
        let _lock = self.lock("note")?;
        self.heal_tail()?;
        let tail = self.journal().tail()?;
        let durable = note.is_durable();
        if let Note::Checkpoint(checkpoint) = &note {
            self.keep_checkpoint(tail.seq.saturating_add(1), checkpoint);
        }
        let entry = JournalEntry::from(note).in_tree(self.tree().ok());
        let appended = self.journal().append(&tail, self.now(), tail.unchanged(), entry, durable)?;
        Ok(appended.seq)
    }

    fn last_saved(&self) -> Result<Option<SavedRun>, StateError> {
        let _lock = self.lock_shared()?;
        let Some(record) = self.journal().last_checkpoint()? else { return Ok(None) };
        let JournalEntry::Checkpoint(checkpoint) = record.entry else { return Ok(None) };
        let mut saved = SavedRun::of(checkpoint, record.seq);
        self.journal().since(record.seq)?.into_iter().for_each(|later| saved.follow(later.entry));
        Ok(Some(saved))
    }

    fn kept_checkpoint(&self) -> Result<KeptCheckpoint, StateError> {
        let _lock = self.lock_shared()?;
        self.compare_kept_checkpoint()
    }

    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        let _lock = self.lock_shared()?;
        let (mut supervisors, tree) = (self.journal().supervisors()?, self.tree().ok());
        // Others were noted in a directory of which this one is a copy.
        supervisors.retain(|supervisor| supervisor.tree.is_none() || supervisor.tree == tree);
        supervisors.iter_mut().for_each(|supervisor| supervisor.tree = None);
        Ok(supervisors)
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.dir().create()?;
        let _lock = self.lock(artifact.file_name())?;
        // Each iteration makes it anew, and waiting for the disk would be most
        // of what that costs.
        files::write(
            self.dir().root(),
            &self.dir().artifact(artifact),
            plan_file::with_header(artifact, text).as_bytes(),
            Durability::Unsynced,
        )
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        let content = files::read(self.dir().root(), &self.dir().artifact(artifact))?;
        Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
    }

    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError> {
        let lock = FileLoopLock::acquire(self.dir(), holder)?;
        // What was done to the files while no loop was at work is somebody's, and stands.
        *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.known_log.forget();
        Ok(Arc::new(lock))
    }

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        FileLoopLock::holder(self.dir())
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        run_record::append_to(self.dir(), run, part, lines)
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        run_record::read_from(self.dir(), run, part, from)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        run_record::recorded_in(self.dir())
    }

    fn watch_record(&self, run: &str) -> Watch {
        run_record::watch(self.dir(), run)
    }
}
