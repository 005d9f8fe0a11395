//! A log in memory that is as bad as a log may be.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use super::Seeded;
use crate::{LogError, MAX_LOG_RECORD_BYTES, PlanLog, ReadOn, Watch};

/// How often a [`MemoryLog`] does what a log may do, each in percent of the records that are appended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFaults {
    /// It stores the record, and says that it could not be reached.
    pub lost_acks: u64,
    /// It does not store the record.
    pub lost: u64,
    /// It stores the record twice.
    pub twice: u64,
    /// It says that it could not be reached, and stores the record later: after others, and never before another
    /// record of anybody was appended.
    pub delayed: u64,
    /// It leaves out a number.
    pub gaps: u64,
}

/// A log in memory, which can lose acknowledgements, store records twice, later and in another order, forget its
/// end and be cut off. Clones are the same connection; [`client`](Self::client) makes another one.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    shared: Arc<Mutex<Shared>>,
    is_cut_off: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shared {
    records: Vec<(u64, Vec<u8>)>,
    /// The number of the next record.
    next: u64,
    delayed: Vec<Vec<u8>>,
    listeners: Vec<ReadOn>,
    faults: LogFaults,
    random: Seeded,
}

impl MemoryLog {
    /// Makes a log without records and without faults.
    pub fn new() -> Self {
        Self::with_faults(0, LogFaults::default())
    }

    /// Makes a log without records that has faults, which a seed decides.
    pub fn with_faults(seed: u64, faults: LogFaults) -> Self {
        let shared = Shared {
            records: Vec::new(),
            next: 1,
            delayed: Vec::new(),
            listeners: Vec::new(),
            faults,
            random: Seeded::new(seed),
        };
        Self { shared: Arc::new(Mutex::new(shared)), is_cut_off: Arc::default() }
    }

    /// Makes another connection to the same log.
    #[must_use]
    pub fn client(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), is_cut_off: Arc::default() }
    }

    /// Sets how the log fails from now on.
    pub fn set_faults(&self, faults: LogFaults) {
        self.shared().faults = faults;
    }

    /// Cuts this connection off, or no more.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::SeqCst);
    }

    /// Stores what somebody else appends, whatever it is, and returns its number.
    pub fn put(&self, record: impl Into<Vec<u8>>) -> u64 {
        self.shared().store(record.into())
    }

    /// Stores everything that is delayed.
    pub fn deliver(&self) {
        let mut shared = self.shared();
        for record in std::mem::take(&mut shared.delayed) {
            shared.store(record);
        }
    }

    /// Forgets the last records, as a server does whose store is put back. New ones get their numbers.
    pub fn forget(&self, records: usize) {
        let mut shared = self.shared();
        let left = shared.records.len().saturating_sub(records);
        shared.records.truncate(left);
        shared.next = shared.records.last().map_or(1, |(number, _)| number + 1);
        shared.delayed.clear();
    }

    /// Returns all records with their numbers.
    pub fn records(&self) -> Vec<(u64, Vec<u8>)> {
        self.shared().records.clone()
    }

    /// Returns the records after a number, with their numbers. Also works if the connection is cut off.
    #[doc(hidden)]
    pub fn records_after(&self, number: u64) -> Vec<(u64, Vec<u8>)> {
        let shared = self.shared();
        let first = shared.records.partition_point(|(other, _)| *other <= number);
        shared.records.iter().skip(first).cloned().collect()
    }

    /// Returns the number of the last record, or 0 if there is none. Also works if the connection is cut off.
    #[doc(hidden)]
    pub fn head_number(&self) -> u64 {
        self.shared().records.last().map_or(0, |(number, _)| *number)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self) -> Result<MutexGuard<'_, Shared>, LogError> {
        match self.is_cut_off.load(Ordering::SeqCst) {
            true => Err(unreachable("it is cut off")),
            false => Ok(self.shared()),
        }
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

fn unreachable(reason: &str) -> LogError {
    LogError::Unreachable { place: "memory".to_owned(), reason: reason.to_owned() }
}

impl Shared {
    fn store(&mut self, record: Vec<u8>) -> u64 {
        let number = self.next + u64::from(self.random.chance(self.faults.gaps));
        self.records.push((number, record));
        self.next = number + 1;
        self.listeners.retain(ReadOn::tell);
        number
    }

    /// Stores some of what is delayed, in any order.
    fn deliver_some(&mut self) {
        while !self.delayed.is_empty() && self.random.chance(40) {
            let place = self.random.below(self.delayed.len() as u64);
            let record = self.delayed.swap_remove(usize::try_from(place).unwrap_or_default());
            self.store(record);
        }
    }
}

impl PlanLog for MemoryLog {
    fn append(&self, record: &[u8], _deadline: Instant) -> Result<u64, LogError> {
        let mut shared = self.reached()?;
        if record.len() > MAX_LOG_RECORD_BYTES {
            let reason = format!("the record has {} bytes", record.len());
            return Err(LogError::Denied { place: "memory".to_owned(), reason });
        }
        shared.deliver_some();
        let faults = shared.faults;
        if shared.random.chance(faults.lost) {
            return Err(unreachable("it did not answer"));
        }
        if shared.random.chance(faults.delayed) {
            shared.delayed.push(record.to_vec());
            return Err(unreachable("it did not answer yet"));
        }
        let mut number = shared.store(record.to_vec());
        if shared.random.chance(faults.twice) {
            // Either copy may be the one that is acknowledged.
            let second = shared.store(record.to_vec());
            number = if shared.random.chance(50) { second } else { number };
        }
        match shared.random.chance(faults.lost_acks) {
            true => Err(unreachable("its answer was lost")),
            false => Ok(number),
        }
    }

    fn read(&self, after: u64, max: usize) -> Result<Vec<(u64, Vec<u8>)>, LogError> {
        let shared = self.reached()?;
        let first = shared.records.partition_point(|(number, _)| *number <= after);
        Ok(shared.records.iter().skip(first).take(max).cloned().collect())
    }

    fn head(&self) -> Result<u64, LogError> {
        Ok(self.reached()?.records.last().map_or(0, |(number, _)| *number))
    }

    fn watch(&self, after: u64) -> Result<Watch, LogError> {
        let mut shared = self.reached()?;
        let (read_on, watch) = Watch::new();
        if shared.records.last().is_some_and(|(number, _)| *number > after) {
            read_on.tell();
        }
        shared.listeners.push(read_on);
        Ok(watch)
    }
}
