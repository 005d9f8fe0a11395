//! How much a plugin has written in a run.

use std::sync::{Arc, Mutex, PoisonError};

use super::HostError;
use crate::plugin::wasm::WriteLimits;

/// Counts what the calls of one plugin write, run by run.
#[derive(Debug)]
pub(in crate::plugin::wasm) struct Written {
    limits: WriteLimits,
    count: Mutex<Count>,
}

/// What was written in a run so far.
#[derive(Debug, Default)]
struct Count {
    run_id: Arc<str>,
    bytes: u64,
    files: u64,
}

impl Written {
    pub(in crate::plugin::wasm) fn new(limits: WriteLimits) -> Self {
        Self { limits, count: Mutex::default() }
    }

    /// Adds what is about to be written. What then fails stays counted: it may
    /// have reached the disk.
    pub(super) fn add(&self, run_id: &Arc<str>, files: usize, bytes: usize) -> Result<(), HostError> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if count.run_id != *run_id {
            *count = Count { run_id: Arc::clone(run_id), ..Count::default() };
        }
        let add = |held: u64, more: usize| held.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        let (bytes, files) = (add(count.bytes, bytes), add(count.files, files));
        if bytes > self.limits.max_bytes {
            return Err(HostError::quota("bytes written in a run", self.limits.max_bytes));
        }
        if files > self.limits.max_files {
            return Err(HostError::quota("files written in a run", self.limits.max_files));
        }
        (count.bytes, count.files) = (bytes, files);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_its_bytes_and_files_and_the_next_one_has_them_again() {
        let written = Written::new(WriteLimits { max_bytes: 10, max_files: 3 });
        let (first, second): (Arc<str>, Arc<str>) = ("r1".into(), "r2".into());
        assert_eq!(written.add(&first, 1, 6), Ok(()));
        assert_eq!(written.add(&first, 1, 5), Err(HostError::quota("bytes written in a run", 10)));
        assert_eq!(written.add(&first, 1, 4), Ok(()));
        assert_eq!(written.add(&first, 2, 0), Err(HostError::quota("files written in a run", 3)));
        assert_eq!(written.add(&first, 1, 0), Ok(()));
        assert_eq!(written.add(&second, 3, 10), Ok(()));
    }
}
