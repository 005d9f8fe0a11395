//! What one machine needs to carry on, in memory.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
};

use super::{
    Artifact, Holder, JournalEntry, JournalRecord, LaneStore, LoopLock, Note, ReadOn, RecordChunk,
    RecordPart, RecordPlace, RunDir, SavedRun, StateError, SupervisorProcess, Watch, journal, locked::locked,
    plan_file, run_record::whole_lines,
};
use samuel_model::clock::Clock;

/// Keeps in memory what a loop needs to carry on in this process; for tests and previews.
/// Clones share their state.
#[derive(Clone, Debug)]
pub struct MemoryLane {
    dir: RunDir,
    clock: Arc<dyn Clock>,
    notes: Arc<Mutex<Notes>>,
    holder: Arc<Mutex<Option<Holder>>>,
    record: Arc<Mutex<Records>>,
}

/// How much of the records of runs is kept, in bytes.
const MAX_RECORD_BYTES: usize = 64 << 20;
/// How much of a record is returned at once, where a line is not longer.
const CHUNK_BYTES: usize = 1 << 20;

/// The records of runs.
#[derive(Debug, Default)]
struct Records {
    runs: BTreeMap<String, HashMap<RecordPart, Vec<u8>>>,
    bytes: usize,
    watching: Vec<(String, ReadOn)>,
}

#[derive(Debug, Default)]
struct Notes {
    records: Vec<JournalRecord>,
    artifacts: HashMap<Artifact, String>,
}

impl MemoryLane {
    /// Creates a store without notes. Programs still find and leave files in `dir`.
    pub fn new(dir: RunDir, clock: Arc<dyn Clock>) -> Self {
        Self { dir, clock, notes: Arc::default(), holder: Arc::default(), record: Arc::default() }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        locked(&self.notes)
    }
}

impl LaneStore for MemoryLane {
    fn dir(&self) -> &RunDir {
        &self.dir
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        let mut notes = self.notes();
        let seq = notes.records.len() as u64 + 1;
        let record =
            JournalRecord { seq, at: self.clock.now(), revision: 0, digest: None, entry: note.into() };
        // Keeps the limits of the file store.
        record.to_line()?;
        notes.records.push(record);
        Ok(seq)
    }

    fn last_saved(&self) -> Result<Option<SavedRun>, StateError> {
        let mut saved: Option<SavedRun> = None;
        for record in &self.notes().records {
            match (&record.entry, &mut saved) {
                (JournalEntry::Checkpoint(checkpoint), saved) => {
                    *saved = Some(SavedRun::of(checkpoint.clone(), record.seq));
                }
                (later, Some(saved)) => saved.follow(later.clone()),
                (_, None) => {}
            }
        }
        Ok(saved)
    }

    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        Ok(journal::active_supervisors(&self.notes().records))
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        let text = plan_file::with_header(artifact, text);
        self.notes().artifacts.insert(artifact, text.into_owned());
        Ok(())
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        Ok(self.notes().artifacts.get(&artifact).cloned())
    }

    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError> {
        let mut held = locked(&self.holder);
        if held.is_some() {
            return Err(StateError::LoopRunning {
                holder: held.clone().map(Box::new),
                path: self.dir.loop_lock(),
            });
        }
        *held = Some(holder.clone());
        Ok(Arc::new(MemoryLock(Arc::clone(&self.holder))))
    }

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        Ok(locked(&self.holder).clone().map(Some))
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        let mut records = locked(&self.record);
        let bytes = records.bytes.saturating_add(lines.len());
        if bytes > MAX_RECORD_BYTES {
            return Err(StateError::TooLarge {
                what: "records of runs",
                bytes: bytes as u64,
                max: MAX_RECORD_BYTES as u64,
            });
        }
        records.bytes = bytes;
        let parts = records.runs.entry(run.to_owned()).or_default();
        parts.entry(part).or_default().extend_from_slice(lines);
        records.watching.retain(|(watched, read_on)| watched != run || read_on.tell());
        Ok(())
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        let records = locked(&self.record);
        let all = records.runs.get(run).and_then(|parts| parts.get(&part)).map_or(&[][..], Vec::as_slice);
        let rest = usize::try_from(from.offset).ok().and_then(|read| all.get(read..)).unwrap_or_default();
        let mut lines = rest.get(..CHUNK_BYTES).unwrap_or(rest).to_vec();
        whole_lines(&mut lines);
        if lines.is_empty() {
            let line = memchr::memchr(b'\n', rest).map_or(0, |end| end + 1);
            lines = rest.get(..line).unwrap_or_default().to_vec();
        }
        let next = RecordPlace { offset: from.offset.saturating_add(lines.len() as u64), ..from };
        Ok(RecordChunk { lines, next, left_out: 0 })
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        Ok(locked(&self.record).runs.keys().cloned().collect())
    }

    fn watch_record(&self, run: &str) -> Watch {
        let (read_on, watch) = Watch::new();
        locked(&self.record).watching.push((run.to_owned(), read_on));
        watch
    }
}

/// Holds the loop of a lane in memory, which nobody takes away.
#[derive(Debug)]
struct MemoryLock(Arc<Mutex<Option<Holder>>>);

impl LoopLock for MemoryLock {
    fn keep(&self) -> Result<Vec<String>, StateError> {
        Ok(Vec::new())
    }

    fn listens_at(&self, socket: &Path) -> Result<(), StateError> {
        if let Some(holder) = &mut *locked(&self.0) {
            holder.socket = Some(socket.to_owned());
        }
        Ok(())
    }
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        *locked(&self.0) = None;
    }
}
