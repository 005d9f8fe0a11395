//! The progress log that is gone.
//!
//! Nobody can put back what it said: it begins anew, with a line that says so, and
//! whoever [catches up](super::PlanStore::catch_up) is told once.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use super::{FileStore, ProgressEntry, ProgressKind, StateError};

/// What a log begins with that somebody removed.
const BEGINS_ANEW: &str = "progress.md was removed while a loop was at work, and begins anew: what it said \
                           before is lost, and so may be what is beside it in logs";

/// What a store knows of the progress log.
#[derive(Debug, Default)]
pub(super) struct KnownLog {
    /// Whether there was one.
    is_known: AtomicBool,
    /// The warning that it was begun again, until it is reported.
    untold: Mutex<Option<String>>,
}

impl KnownLog {
    /// Takes down that there is one.
    pub(super) fn know(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    /// Takes down that none is known: who removes one now does so beside no loop.
    pub(super) fn forget(&self) {
        self.is_known.store(false, Ordering::Relaxed);
    }
}

impl FileStore {
    /// Returns whether the progress log that was there is gone or unusable.
    fn is_log_lost(&self) -> Result<bool, StateError> {
        let path = self.dir().progress();
        let has = || self.dir().root().has_own(&path).map_err(StateError::file("look for", &path));
        Ok(self.known_log.is_known.load(Ordering::Relaxed) && !has()?)
    }

    /// Returns what the next lines of the progress log come after, with a line end.
    /// Renames or removes an unusable log. The caller holds the lock.
    pub(super) fn first_line(&self) -> Result<String, StateError> {
        if !self.is_log_lost()? {
            return Ok(String::new());
        }
        let aside = self.clear_the_way(&self.dir().progress())?;
        let warning = aside.unwrap_or_else(|| BEGINS_ANEW.to_owned());
        let mut untold = self.known_log.untold.lock().unwrap_or_else(PoisonError::into_inner);
        // The warning of an attempt before that failed has the new path.
        let warning = untold.get_or_insert(warning);
        Ok(format!("{}\n", ProgressEntry::note(self.now(), ProgressKind::Error, warning.as_str())))
    }

    /// Begins the log anew where it is gone, and returns what is to be told of it, once.
    pub(super) fn lost_log(&self) -> Result<Option<String>, StateError> {
        if self.is_log_lost()? {
            self.log_lines("")?;
        }
        Ok(self.known_log.untold.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}
