//! Reading a log on, and finding out that it is not the one that was read before.

use std::time::Instant;

use super::{
    LogError, PlanLog,
    fold::newer,
    mirror::MirrorWriter,
    record::{Decoded, decode},
    replica::Replica,
    writers::Writers,
};

/// How many records are read at once.
pub(super) const BATCH: usize = 256;

/// A log that is not the one that was read before.
struct Other {
    /// The number of its last record.
    head: u64,
}

impl Replica {
    /// Reads the log to its end, folds what is new and mirrors it.
    ///
    /// # Errors
    /// Returns what the log and the mirror return, [`LogError::Lost`] where records are gone that were read
    /// before, and [`LogError::Format`] and [`LogError::WriterTaken`]. After the last three nothing is read any more,
    /// nor after a mirror that could not be synced.
    pub(super) fn read_on(&mut self, log: &(impl PlanLog + ?Sized)) -> Result<(), LogError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        // What was read before is mirrored before more is.
        self.write_mirror(self.has_outcome())?;
        if let Err(Other { head }) = self.read_batches(log)? {
            self.renumber(log, head)?;
        }
        self.read_at = Some(Instant::now());
        Ok(())
    }

    fn read_batches(&mut self, log: &(impl PlanLog + ?Sized)) -> Result<Result<(), Other>, LogError> {
        let mut after = self.anchor.as_ref().map_or(0, |anchor| anchor.number.saturating_sub(1));
        let mut is_first = true;
        loop {
            let batch = log.read(after, BATCH)?;
            let is_checked = std::mem::take(&mut is_first);
            if let Some(anchor) = self.anchor.as_ref().filter(|_| is_checked) {
                match batch.first() {
                    Some((number, bytes)) if *number == anchor.number && *bytes == anchor.record => {}
                    Some(_) => return Ok(Err(Other { head: log.head()? })),
                    None => {
                        let head = log.head()?;
                        if head < anchor.number {
                            return Ok(Err(Other { head }));
                        }
                        let reason = "it does not have what it says it has".to_owned();
                        return Err(LogError::Unreachable { place: self.plan.clone(), reason });
                    }
                }
            }
            let is_last = batch.len() < BATCH;
            after = batch.last().map_or(after, |(number, _)| *number);
            let taken = self.take_all(batch);
            self.write_mirror(self.has_outcome())?;
            taken?;
            if is_last {
                return Ok(Ok(()));
            }
        }
    }

    fn take_all(&mut self, batch: Vec<(u64, Vec<u8>)>) -> Result<(), LogError> {
        let read_to = self.read_to;
        batch
            .into_iter()
            .filter(|(number, _)| *number > read_to)
            .try_for_each(|(number, bytes)| self.take(number, &bytes))
    }

    /// Takes over the numbers of a log into which the same records were brought back. That is looked for when a
    /// process reads the log first; whoever is at work stops.
    fn renumber(&mut self, log: &(impl PlanLog + ?Sized), head: u64) -> Result<(), LogError> {
        let folded = self.anchor.as_ref().map_or(0, |anchor| anchor.number);
        let lost = LogError::Lost { plan: self.plan.clone(), folded, found: head };
        if self.read_at.is_some() {
            self.fault = Some(lost.clone());
            return Err(lost);
        }
        let counted = counted(log, &self.plan)?;
        let mirror = self.mirror.mirror().clone();
        let known = mirror.records(&self.plan)?;
        let mut pairs = known.iter().zip(&counted);
        let is_same = known.len() <= counted.len()
            && pairs.all(|(known, (_, bytes))| known.record.as_bytes() == bytes.as_slice());
        if !is_same {
            self.fault = Some(lost.clone());
            return Err(lost);
        }
        self.fold = self.fold.anew();
        self.mirror = MirrorWriter::anew(mirror, &self.plan);
        (self.anchor, self.read_to) = (None, 0);
        for (number, bytes) in counted {
            self.take(number, &bytes)?;
        }
        self.write_mirror(true)
    }
}

/// Returns the records of a log that count, each once.
///
/// # Errors
/// Returns what the log returns, and [`LogError::Format`].
pub(super) fn counted(log: &(impl PlanLog + ?Sized), plan: &str) -> Result<Vec<(u64, Vec<u8>)>, LogError> {
    let (mut writers, mut after, mut counted) = (Writers::default(), 0, Vec::new());
    loop {
        let batch = log.read(after, BATCH)?;
        let is_last = batch.len() < BATCH;
        after = batch.last().map_or(after, |(number, _)| *number);
        for (number, bytes) in batch {
            let counts = match decode(&bytes, plan) {
                Decoded::Newer { format } => return Err(newer(plan, number, format)),
                Decoded::Void(_) => false,
                Decoded::Numbered { numbered, .. } => writers.count(&numbered.writer, numbered.n).is_some(),
            };
            if counts {
                counted.push((number, bytes));
            }
        }
        if is_last {
            return Ok(counted);
        }
    }
}
