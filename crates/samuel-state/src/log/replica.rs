//! One worker's copy of a log: what it has folded, what it mirrors, and the record that it waits for.

use std::{collections::VecDeque, time::Instant};

use jiff::Timestamp;

use super::{
    LogError, LogFold, LogMirror, LogOutcome, MirroredRecord, ReadRecord, VoidRecord, mirror::MirrorWriter,
    mirror_lock::MirrorLock,
};
use crate::StateError;

/// How many void records are remembered.
const MAX_VOID: usize = 100;

/// What a worker knows of a log.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) plan: String,
    writer: String,
    pub(super) fold: LogFold,
    pub(super) mirror: MirrorWriter,
    _lock: MirrorLock,
    /// The last record that was mirrored, from which the log is read on: while it is there, nothing was lost.
    pub(super) anchor: Option<Anchor>,
    /// The number up to which the log was read.
    pub(super) read_to: u64,
    /// When the log was last read to its end by this process.
    pub(super) read_at: Option<Instant>,
    /// Why nothing is read or appended any more.
    pub(super) fault: Option<LogError>,
    own: Option<Own>,
    voids: VecDeque<VoidRecord>,
    repeated: u64,
}

/// A record by which one log is told from another.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    pub(super) number: u64,
    pub(super) record: Vec<u8>,
}

/// The record that this writer waits for.
#[derive(Debug)]
struct Own {
    n: u64,
    record: Vec<u8>,
    outcome: Option<Result<LogOutcome, StateError>>,
}

impl Replica {
    /// Begins with what a mirror has, which is this replica's from now on.
    ///
    /// # Errors
    /// Returns [`LogError::MirrorHeld`], [`LogError::Mirror`], [`LogError::MirrorIo`] and [`LogError::Format`].
    pub(super) fn open(
        fold: LogFold,
        plan: &str,
        writer: &str,
        mirror: LogMirror,
        now: Timestamp,
    ) -> Result<Self, LogError> {
        let _lock = mirror.hold(now)?;
        let mut replica = Self {
            plan: plan.to_owned(),
            writer: writer.to_owned(),
            fold,
            mirror: MirrorWriter::anew(mirror.clone(), plan),
            _lock,
            anchor: None,
            read_to: 0,
            read_at: None,
            fault: None,
            own: None,
            voids: VecDeque::new(),
            repeated: 0,
        };
        let end = mirror.each(plan, |MirroredRecord { number, record }| {
            let read = replica.fold.fold(number, record.as_bytes())?;
            replica.note_void(number, &read);
            replica.anchor = Some(Anchor { number, record: record.into_bytes() });
            replica.read_to = number;
            Ok(())
        })?;
        replica.mirror = MirrorWriter::after(mirror, plan, end);
        Ok(replica)
    }

    /// Takes the next record of the log.
    ///
    /// # Errors
    /// Returns [`LogError::Format`] and [`LogError::WriterTaken`], after which nothing is taken any more.
    pub(super) fn take(&mut self, number: u64, bytes: &[u8]) -> Result<(), LogError> {
        let read = self.fold.fold(number, bytes).inspect_err(|error| self.fault = Some(error.clone()))?;
        self.note_void(number, &read);
        self.read_to = number;
        match read {
            ReadRecord::Counted { writer, n, outcome } => self.count(number, bytes, &writer, n, outcome),
            ReadRecord::Void { writer: Some(writer), n: Some(n), why } => {
                let void = StateError::log(LogError::Void { number, why });
                self.count(number, bytes, &writer, n, Err(void))
            }
            ReadRecord::Repeated { .. } => {
                self.repeated += 1;
                Ok(())
            }
            ReadRecord::Void { .. } => Ok(()),
        }
    }

    /// Keeps a record that counts, and what came of it where it is the own one.
    fn count(
        &mut self,
        number: u64,
        bytes: &[u8],
        writer: &str,
        n: u64,
        outcome: Result<LogOutcome, StateError>,
    ) -> Result<(), LogError> {
        // A record that counts was read as text.
        self.mirror.push(number, &String::from_utf8_lossy(bytes));
        self.anchor = Some(Anchor { number, record: bytes.to_vec() });
        if writer != self.writer {
            return Ok(());
        }
        match &mut self.own {
            Some(own) if own.n == n && own.record == bytes => own.outcome = Some(outcome),
            // One that was given up, and came late.
            Some(own) if own.n > n => {}
            _ => {
                let taken = LogError::WriterTaken { writer: writer.to_owned() };
                self.fault = Some(taken.clone());
                return Err(taken);
            }
        }
        Ok(())
    }

    /// Writes to the mirror what was taken; durably where somebody is told of it.
    ///
    /// # Errors
    /// Returns [`LogError::MirrorIo`]. Where the mirror could not be synced nothing is taken any more.
    pub(super) fn write_mirror(&mut self, is_told: bool) -> Result<(), LogError> {
        let written = self.mirror.flush(is_told);
        if let Err(error) = &written
            && self.mirror.is_doubtful()
        {
            self.fault = Some(error.clone());
        }
        written
    }

    fn note_void(&mut self, number: u64, read: &ReadRecord) {
        if let ReadRecord::Void { writer, why, .. } = read {
            self.voids.push_back(VoidRecord { number, writer: writer.clone(), why: why.clone() });
            if self.voids.len() > MAX_VOID {
                self.voids.pop_front();
            }
        }
    }

    /// Waits for a record of this writer from now on.
    pub(super) fn expect(&mut self, n: u64, bytes: &[u8]) {
        self.own = Some(Own { n, record: bytes.to_vec(), outcome: None });
    }

    /// Says whether the record that is waited for was seen.
    pub(super) fn has_outcome(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.outcome.is_some())
    }

    /// Takes what came of the record that is waited for.
    pub(super) fn take_outcome(&mut self) -> Option<Result<LogOutcome, StateError>> {
        self.own.as_mut()?.outcome.take()
    }

    pub(super) fn voids(&self) -> impl Iterator<Item = &VoidRecord> {
        self.voids.iter()
    }

    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }
}
