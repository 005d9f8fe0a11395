//! Locks among the threads of one process.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also after somebody panicked who had it: no store panics between two changes that belong together.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
