//! Following the record of a run that is under way.

use std::{sync::Arc, time::Duration};

use super::{Entries, HistoryError, LogEntry, runs::is_under_way};
use crate::{
    event::Event,
    state::{LaneStore, Watch},
};

/// How long it takes at most until a loop that was killed is found to be gone: nothing tells when
/// that happens.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The events of a run, from the beginning of its record to the end of the run.
///
/// It ends with the event that the run has ended, or once everything is read of a run that is not
/// under way.
#[derive(Debug)]
pub struct Tail {
    lane: Arc<dyn LaneStore>,
    run: String,
    entries: Option<Entries>,
    watch: Watch,
    has_ended: bool,
    /// Whether the loop was found to be gone, and the rest of its record is read.
    is_gone: bool,
    /// Whether nothing tells of what is appended.
    is_deaf: bool,
}

impl Tail {
    pub(super) fn of(lane: Arc<dyn LaneStore>, run: &str) -> Self {
        // Before anything is read, so that nothing falls in between.
        let watch = lane.watch_record(run);
        let entries = Some(Entries::of(Arc::clone(&lane), run));
        let (run, has_ended, is_gone, is_deaf) = (run.to_owned(), false, false, false);
        Self { lane, run, entries, watch, has_ended, is_gone, is_deaf }
    }

    /// Waits for the next event; nothing once the run has ended, or its loop is gone.
    ///
    /// # Errors
    /// As [`Entries::next_entry`], and [`HistoryError::State`] where it cannot be found out whether
    /// the loop is still there.
    pub async fn next(&mut self) -> Result<Option<LogEntry>, HistoryError> {
        while !self.has_ended {
            let Some(mut entries) = self.entries.take() else { break };
            let read = tokio::task::spawn_blocking(move || {
                let entry = entries.next_entry();
                (entries, entry)
            });
            // The task ends by itself; only a panic in it would be an error.
            let Ok((entries, entry)) = read.await else { break };
            self.entries = Some(entries);
            match entry? {
                Some(entry) => {
                    self.has_ended = matches!(entry.record.event, Event::RunFinished(_));
                    return Ok(Some(entry));
                }
                None if self.is_gone => break,
                None => self.wait().await?,
            }
        }
        Ok(None)
    }

    /// Returns how many lines could not be read so far.
    pub fn unreadable(&self) -> u64 {
        self.entries.as_ref().map_or(0, Entries::unreadable)
    }

    /// Makes sure that an event was read so far.
    ///
    /// # Errors
    /// As [`Entries::check_told`].
    pub fn check_told(&self) -> Result<(), HistoryError> {
        self.entries.as_ref().map_or(Ok(()), Entries::check_told)
    }

    /// Waits until there may be more, or the loop is gone.
    async fn wait(&mut self) -> Result<(), HistoryError> {
        if !self.is_deaf
            && let Ok(is_told) = tokio::time::timeout(LOOK_AGAIN, self.watch.changed()).await
        {
            self.is_deaf = !is_told;
            return Ok(());
        }
        let (lane, run) = (Arc::clone(&self.lane), self.run.clone());
        let looked = tokio::task::spawn_blocking(move || is_under_way(&*lane, &run)).await;
        // What it wrote before it went is still to be read.
        self.is_gone = !looked.unwrap_or(Ok(false))?;
        if self.is_deaf && !self.is_gone {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}
