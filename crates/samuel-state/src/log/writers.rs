//! Which records count.

use std::collections::BTreeMap;

/// What decides whether a record counts: the last number of each writer. Of records with one number the first counts, and none
/// counts after a higher one of its writer.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers {
    last: BTreeMap<String, u64>,
    counted: u64,
}

impl Writers {
    /// Returns the last number of a writer, 0 where it wrote nothing.
    pub(super) fn last_of(&self, writer: &str) -> u64 {
        self.last.get(writer).copied().unwrap_or_default()
    }

    /// Takes a number of a writer. Returns which of all records that count it is, from 1, and nothing where it does not.
    /// A log into which records were brought back has the same ones in the same order, whatever their numbers are there.
    pub(super) fn count(&mut self, writer: &str, n: u64) -> Option<u64> {
        if n <= self.last_of(writer) {
            return None;
        }
        self.last.insert(writer.to_owned(), n);
        self.counted += 1;
        Some(self.counted)
    }

    /// Returns the last number of each writer.
    pub(super) fn numbers(&self) -> &BTreeMap<String, u64> {
        &self.last
    }
}
