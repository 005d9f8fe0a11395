//! The journal as a file.
//!
//! Only whoever holds the run directory's lock appends. What is asked for most
//! is near the end, so everything is read from there.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use jiff::Timestamp;
use rustix::fs::OFlags;

use super::{
    JournalEntry, JournalRecord, MAX_RECORD_BYTES, MAX_REVISION, SupervisorProcess, active_supervisors,
    reverse::{Line, LinesFromEnd},
};
use crate::{RunDir, StateError};
use samuel_fs::found;

/// Past this size the journal goes on in a new file.
pub(crate) const ROTATE_BYTES: u64 = 8 << 20;

/// The journal of a run directory.
#[derive(Debug)]
pub(crate) struct JournalFile<'a> {
    pub(super) dir: &'a RunDir,
    rotate_bytes: u64,
}

/// Where a journal ends.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// The number of the last record, 0 without one.
    pub(crate) seq: u64,
    /// The revision of the plan after it.
    pub(crate) revision: u64,
    /// The digest of the plan's file that the last record names.
    pub(crate) digest: Option<String>,
    /// The last record.
    pub(crate) last: Option<JournalEntry>,
    /// When it was written.
    pub(crate) at: Timestamp,
    /// Where the file ends, without a last line that a crash tore.
    end: u64,
}

/// A record that was appended, and can be taken back as long as the lock is
/// held.
#[derive(Debug)]
pub(crate) struct Appended {
    pub(crate) seq: u64,
    file: File,
    before: u64,
}

/// How the plan stands after a record.
#[derive(Clone, Debug)]
pub(crate) struct After {
    pub(crate) revision: u64,
    pub(crate) digest: Option<String>,
}

impl Tail {
    /// Says how the plan stands after a record that does not change it.
    pub(crate) fn unchanged(&self) -> After {
        After { revision: self.revision, digest: self.digest.clone() }
    }
}

impl<'a> JournalFile<'a> {
    pub(crate) fn new(dir: &'a RunDir, rotate_bytes: u64) -> Self {
        Self { dir, rotate_bytes }
    }

    /// Finds the end of the journal.
    pub(crate) fn tail(&self) -> Result<Tail, StateError> {
        let path = self.dir.journal();
        let mut end = 0;
        let mut last = None;
        self.scan(&path, |line, record| {
            end = end.max(if line.complete { line.end } else { line.end - line.bytes.len() as u64 });
            last = record;
            last.is_none()
        })?;
        if last.is_none() {
            // A crash in the middle of a rotation, or none has happened.
            self.scan(&self.dir.old_journal(), |_, record| {
                last = record;
                last.is_none()
            })?;
        }
        let Some(JournalRecord { seq, at, revision, digest, entry }) = last else {
            return Ok(Tail { end, ..Tail::default() });
        };
        Ok(Tail { seq, revision, digest, last: Some(entry), at, end })
    }

    /// Appends a record after the tail. A durable one is on the disk when this
    /// returns. After an error the journal is as it was, as far as the system
    /// allows.
    pub(crate) fn append(
        &self,
        tail: &Tail,
        at: Timestamp,
        after: After,
        entry: JournalEntry,
        durable: bool,
    ) -> Result<Appended, StateError> {
        let rotated;
        let tail = if tail.end > self.rotate_bytes {
            self.rotate(tail, at)?;
            rotated = self.tail()?;
            &rotated
        } else {
            tail
        };
        let After { revision, digest } = after;
        let path = self.dir.journal();
        let record = JournalRecord { seq: number_after(tail.seq, &path)?, at, revision, digest, entry };
        let line = record.to_line()?;
        let file = self.dir.root().open_own(&path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE);
        let file = file.map_err(StateError::file("open", &path))?;
        let mut appended = Appended { seq: record.seq, file, before: tail.end };
        let stored = appended.store(&line, durable);
        if let Err(error) = stored {
            appended.retract();
            return Err(StateError::io("append to", path)(error));
        }
        if tail.end == 0 && durable {
            self.dir.root().sync_parent(&path).map_err(StateError::file("sync", &path))?;
        }
        Ok(appended)
    }

    /// Returns the records after a number, oldest first.
    pub(crate) fn since(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError> {
        let mut records = Vec::new();
        self.scan_all(|record| {
            let wanted = record.seq > seq;
            if wanted {
                records.push(record);
            }
            wanted
        })?;
        records.reverse();
        Ok(records)
    }

    /// Returns the last checkpoint.
    pub(crate) fn last_checkpoint(&self) -> Result<Option<JournalRecord>, StateError> {
        let mut found = None;
        for path in [self.dir.journal(), self.dir.old_journal()] {
            self.scan(&path, |_, record| {
                found = record.filter(|record| matches!(record.entry, JournalEntry::Checkpoint(_)));
                found.is_none()
            })?;
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the supervisors that have not ended.
    pub(crate) fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        Ok(active_supervisors(&self.supervisor_records()?))
    }

    /// Returns all records of supervisors, oldest first; a carried one may
    /// come twice.
    pub(super) fn supervisor_records(&self) -> Result<Vec<JournalRecord>, StateError> {
        let mut records = Vec::new();
        for path in [self.dir.journal(), self.dir.old_journal()] {
            self.scan(&path, |_, record| {
                records.extend(record.filter(|record| {
                    matches!(record.entry, JournalEntry::Supervisor(_) | JournalEntry::SupervisorEnded(_))
                }));
                true
            })?;
        }
        records.reverse();
        records.sort_by_key(|record| record.seq);
        records.dedup();
        Ok(records)
    }

    /// Returns those after a number, oldest first.
    pub(crate) fn supervisor_records_after(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError> {
        let mut records = self.supervisor_records()?;
        records.retain(|record| record.seq > seq);
        Ok(records)
    }

    /// Visits the records of both files, last first, each once, until told to
    /// stop.
    fn scan_all(&self, mut visit: impl FnMut(JournalRecord) -> bool) -> Result<(), StateError> {
        let mut stopped = false;
        self.scan(&self.dir.journal(), |_, record| {
            // What stands before the mark was carried over from the old file.
            let at_mark = record.as_ref().is_some_and(|record| record.entry == JournalEntry::Rotated);
            stopped = record.is_some_and(|record| !visit(record));
            !stopped && !at_mark
        })?;
        if stopped {
            return Ok(());
        }
        self.scan(&self.dir.old_journal(), |_, record| {
            // And the old file may itself open with what was carried over.
            let at_mark = record.as_ref().is_some_and(|record| record.entry == JournalEntry::Rotated);
            record.is_none_or(&mut visit) && !at_mark
        })
    }

    /// Visits the lines of a file, last first, until told to stop. Lines that are
    /// no records come without one, and so does a last line without an end.
    fn scan(
        &self,
        path: &Path,
        mut visit: impl FnMut(&Line, Option<JournalRecord>) -> bool,
    ) -> Result<(), StateError> {
        let opened = found(self.dir.root().open(path)).map_err(StateError::file("open", path))?;
        let Some(mut file) = opened else { return Ok(()) };
        let mut lines =
            LinesFromEnd::new(&mut file, MAX_RECORD_BYTES).map_err(StateError::io("read", path))?;
        loop {
            match lines.next_line() {
                Ok(None) => return Ok(()),
                Ok(Some(line)) => {
                    let record = if line.complete { JournalRecord::from_line(&line.bytes) } else { None };
                    if !visit(&line, record) {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let reason = error.to_string();
                    return Err(StateError::Corrupt {
                        path: path.to_owned(),
                        line: None,
                        column: None,
                        reason,
                    });
                }
                Err(error) => return Err(StateError::io("read", path)(error)),
            }
        }
    }
}

impl Appended {
    fn store(&mut self, line: &[u8], durable: bool) -> io::Result<()> {
        // This drops a torn last line.
        self.file.set_len(self.before)?;
        self.file.write_all(line)?;
        if durable { self.file.sync_data() } else { Ok(()) }
    }

    /// Takes the record back, because what it announces did not happen. If
    /// the system refuses that too, the next change completes what the record
    /// announces.
    pub(crate) fn retract(self) {
        let _ = self.file.set_len(self.before).and_then(|()| self.file.sync_data());
    }
}

/// Returns the number of the record after another one. One that nobody would read
/// is not written.
pub(super) fn number_after(seq: u64, path: &Path) -> Result<u64, StateError> {
    if seq + 1 < MAX_REVISION {
        return Ok(seq + 1);
    }
    let reason = format!("no record follows one with the number {seq}");
    Err(StateError::Corrupt { path: path.to_owned(), line: None, column: None, reason })
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
    use std::fs;

    use super::*;
    use crate::NotedEvent;

    pub(in super::super) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    pub(in super::super) fn event(name: &str) -> JournalEntry {
        JournalEntry::Event(NotedEvent { name: name.into(), data: serde_json::Value::Null })
    }

    pub(in super::super) fn add(journal: &JournalFile<'_>, entry: JournalEntry) -> u64 {
        let tail = journal.tail().unwrap();
        journal.append(&tail, NOW, tail.unchanged(), entry, true).unwrap().seq
    }

    fn names(records: &[JournalRecord]) -> Vec<String> {
        let name = |record: &JournalRecord| match &record.entry {
            JournalEntry::Event(event) => format!("{} {}", record.seq, event.name),
            other => format!("{} {other:?}", record.seq),
        };
        records.iter().map(name).collect()
    }

    pub(in super::super) fn in_new_dir() -> (tempfile::TempDir, RunDir) {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::at(root.path());
        (root, dir)
    }

    #[test]
    fn records_are_numbered_and_read_back_from_a_number_on() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, ROTATE_BYTES);
        assert_eq!(journal.tail().unwrap().seq, 0);
        for name in ["a", "b", "c"] {
            add(&journal, event(name));
        }
        assert_eq!(names(&journal.since(0).unwrap()), ["1 a", "2 b", "3 c"]);
        assert_eq!(names(&journal.since(2).unwrap()), ["3 c"]);
        assert_eq!(names(&journal.since(9).unwrap()), [""; 0]);
    }

    #[test]
    fn a_tail_that_a_crash_tore_is_dropped_at_every_byte() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, ROTATE_BYTES);
        add(&journal, event("kept"));
        let kept = fs::read(dir.journal()).unwrap();
        add(&journal, event("torn"));
        let whole = fs::read(dir.journal()).unwrap();
        for length in kept.len()..whole.len() {
            fs::write(dir.journal(), &whole[..length]).unwrap();
            assert_eq!(names(&journal.since(0).unwrap()), ["1 kept"], "{length} bytes");
            assert_eq!(add(&journal, event("next")), 2);
            assert_eq!(names(&journal.since(0).unwrap()), ["1 kept", "2 next"]);
        }
    }

    #[test]
    fn zeros_at_the_end_are_a_torn_tail_and_strange_lines_are_stepped_over() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, ROTATE_BYTES);
        add(&journal, event("a"));
        let mut bytes = fs::read(dir.journal()).unwrap();
        bytes
            .extend(b"somebody was here\n{\"seq\":2,\"revision\":5,\"kind\":\"mutation\",\"mutation\":{}}\n");
        bytes.extend([0; 300]);
        fs::write(dir.journal(), bytes).unwrap();
        assert_eq!(journal.tail().unwrap().revision, 5);
        assert_eq!(add(&journal, event("b")), 3);
        assert_eq!(names(&journal.since(0).unwrap()), ["1 a", "2 Unknown", "3 b"]);
        assert!(fs::read_to_string(dir.journal()).unwrap().contains("somebody was here\n"));
    }

    #[test]
    fn a_retracted_record_leaves_no_trace() {
        let (_root, dir) = in_new_dir();
        let journal = JournalFile::new(&dir, ROTATE_BYTES);
        add(&journal, event("a"));
        let before = fs::read(dir.journal()).unwrap();
        let tail = journal.tail().unwrap();
        journal.append(&tail, NOW, tail.unchanged(), event("b"), true).unwrap().retract();
        assert_eq!(fs::read(dir.journal()).unwrap(), before);
    }

    #[test]
    fn a_line_no_writer_can_have_written_is_corruption_and_not_read_into_memory() {
        let (_root, dir) = in_new_dir();
        let file = File::create(dir.journal()).unwrap();
        file.set_len(1 << 40).unwrap();
        let error = JournalFile::new(&dir, ROTATE_BYTES).tail().unwrap_err();
        let StateError::Corrupt { reason, .. } = error else { panic!("{error}") };
        assert_eq!(reason, "a line is longer than 4194304 bytes");
    }
}
