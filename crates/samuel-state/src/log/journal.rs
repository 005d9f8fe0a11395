//! The journal of a fold: what its records came to.

use std::{collections::VecDeque, io};

use crate::{JournalPart, JournalRecord};

/// How many records are kept.
const MAX_RECORDS: usize = 10_000;
/// How much the records that are kept have together, in bytes as JSON: what they replaced is much of it.
const MAX_BYTES: usize = 32 << 20;

/// The last records, which are the same for all who fold the same log.
#[derive(Clone, Debug, Default)]
pub(super) struct FoldedJournal {
    records: VecDeque<(usize, JournalRecord)>,
    bytes: usize,
    /// The number of the last record that is not kept any more.
    forgotten: u64,
}

impl FoldedJournal {
    /// Appends what came of a record of the log.
    pub(super) fn push(&mut self, record: JournalRecord) {
        let bytes = bytes_of(&record);
        self.bytes += bytes;
        self.records.push_back((bytes, record));
        while self.records.len() > MAX_RECORDS || self.bytes > MAX_BYTES {
            let Some((bytes, gone)) = self.records.pop_front() else { break };
            self.bytes -= bytes;
            self.forgotten = gone.seq;
        }
    }

    pub(super) fn since(&self, seq: u64) -> JournalPart {
        let first = self.records.partition_point(|(_, record)| record.seq <= seq);
        let records = self.records.range(first..).map(|(_, record)| record.clone()).collect();
        JournalPart { records, has_gap: seq < self.forgotten }
    }

    /// Returns the last record.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn last(&self) -> Option<&JournalRecord> {
        self.records.back().map(|(_, record)| record)
    }

    pub(super) fn all(&self) -> Vec<JournalRecord> {
        self.since(0).records
    }
}

/// Counts what is written.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn bytes_of(record: &JournalRecord) -> usize {
    let mut counter = Counter(0);
    // A record consists of what JSON has.
    let _ = serde_json::to_writer(&mut counter, record);
    counter.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use super::*;
    use crate::{Actor, Existing, MemoryStore, Mutation, Parts, PlanStore as _};
    use samuel_model::{Plan, Task, TaskId, clock::SystemClock};

    #[test]
    fn what_records_replaced_is_weighed_with_them() {
        let store = MemoryStore::new(Arc::new(SystemClock::new()));
        let task = Task { description: "x".repeat(100_000), ..Task::new(TaskId::new("1"), "t") };
        let plan = Plan { tasks: vec![task], ..Plan::default() };
        store.import(plan, Actor::User, Existing::Refuse).unwrap();
        store
            .mutate(Mutation::Remove { ids: vec![TaskId::new("1")], parts: Parts::Refuse }, Actor::User)
            .unwrap();
        let record = store.journal_since(1).unwrap().records.pop().unwrap();
        let mut journal = FoldedJournal::default();
        for seq in 1..=1_000 {
            journal.push(JournalRecord { seq, ..record.clone() });
        }
        let part = journal.since(0);
        assert!(part.has_gap && (200..336).contains(&part.records.len()), "{}", part.records.len());
    }
}
