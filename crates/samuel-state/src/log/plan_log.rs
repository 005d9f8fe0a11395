//! The interface between a store and whatever keeps a log.

use std::{fmt, time::Instant};

use super::LogError;
use crate::Watch;

/// Keeps records of any bytes in one order that is the same for everybody.
///
/// Each record has a number, from 1; numbers grow, not necessarily by one. Methods block, each for a few
/// seconds at most where nothing else is said. What every log does is checked by
/// `testing::log_suite::plan_log`.
pub trait PlanLog: fmt::Debug + Send + Sync {
    /// Appends a record, and returns its number once it is stored so that the log does not lose it.
    ///
    /// At least once: after an error the record may have been stored, may be stored later, and may be stored
    /// several times. Records of [`MAX_LOG_RECORD_BYTES`](super::MAX_LOG_RECORD_BYTES) are taken.
    ///
    /// # Errors
    /// Returns [`LogError::Unreachable`] where it was not acknowledged until the deadline, and
    /// [`LogError::Denied`] where the log refuses it for good.
    fn append(&self, record: &[u8], deadline: Instant) -> Result<u64, LogError>;

    /// Returns the records after a number in their order, `max` at most; 0 stands for all. Fewer say that
    /// there were no more. Whatever was acknowledged before is among them.
    ///
    /// # Errors
    /// Returns [`LogError::Unreachable`] and [`LogError::Denied`].
    fn read(&self, after: u64, max: usize) -> Result<Vec<(u64, Vec<u8>)>, LogError>;

    /// Returns the number of the last record, 0 where there is none.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn head(&self) -> Result<u64, LogError>;

    /// Begins to watch for records after a number: the [`Watch`] says when there may be some, also where
    /// there are some already. One that says nothing costs promptness alone.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn watch(&self, after: u64) -> Result<Watch, LogError>;
}

impl<L: PlanLog + ?Sized> PlanLog for std::sync::Arc<L> {
    fn append(&self, record: &[u8], deadline: Instant) -> Result<u64, LogError> {
        (**self).append(record, deadline)
    }

    fn read(&self, after: u64, max: usize) -> Result<Vec<(u64, Vec<u8>)>, LogError> {
        (**self).read(after, max)
    }

    fn head(&self) -> Result<u64, LogError> {
        (**self).head()
    }

    fn watch(&self, after: u64) -> Result<Watch, LogError> {
        (**self).watch(after)
    }
}
