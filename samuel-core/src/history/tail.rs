//! Following the record of a run that is under way.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::Instant};

use super::{Entries, HistoryError, LogEntry, runs::is_under_way};
use crate::{
    event::Event,
    model::run_blocking,
    state::{LaneStore, Watch},
};

/// How long it takes at most until a loop that was killed is found to be gone: nothing tells when
/// that happens.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

type Read = Result<Option<LogEntry>, HistoryError>;

/// The events of a run, from the beginning of its record to the end of the run.
///
/// It ends with the event that the run has ended, or once everything is read of a run that is not
/// under way.
#[derive(Debug)]
pub struct Tail {
    lane: Arc<dyn LaneStore>,
    run: String,
    entries: Option<Entries>,
    reading: Option<JoinHandle<(Entries, Read)>>,
    watch: Watch,
    look_again: Instant,
    has_ended: bool,
    /// Whether the loop was found to be gone, and the rest of its record is read.
    is_gone: bool,
    /// Whether nothing tells of what is appended.
    is_deaf: bool,
    /// How many lines could not be read, and whether an event was, before a read that may be under way.
    unreadable: u64,
    has_told: bool,
}

impl Tail {
    pub(super) fn of(lane: Arc<dyn LaneStore>, run: &str) -> Self {
        // Before anything is read, so that nothing falls in between.
        let watch = lane.watch_record(run);
        let entries = Some(Entries::of(Arc::clone(&lane), run));
        let (run, look_again) = (run.to_owned(), Instant::now() + LOOK_AGAIN);
        let (has_ended, is_gone, is_deaf) = (false, false, false);
        let (unreadable, has_told) = (0, false);
        Self {
            lane,
            run,
            entries,
            reading: None,
            watch,
            look_again,
            has_ended,
            is_gone,
            is_deaf,
            unreadable,
            has_told,
        }
    }

    /// Waits for the next event; nothing once the run has ended, or its loop is gone. Nothing is lost where the
    /// wait is given up, such as for a time that is over.
    ///
    /// # Errors
    /// As [`Entries::next_entry`], [`HistoryError::State`] where it cannot be found out whether the loop is still
    /// there, and [`HistoryError::Broken`] where the store that reads the record panics; then there is nothing more.
    pub async fn next(&mut self) -> Result<Option<LogEntry>, HistoryError> {
        while !self.has_ended {
            match self.read().await? {
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

    /// Reads the next event that is there already.
    async fn read(&mut self) -> Read {
        if let Some(mut entries) = self.entries.take() {
            self.reading = Some(tokio::task::spawn_blocking(move || {
                let entry = entries.next_entry();
                (entries, entry)
            }));
        }
        let read = match &mut self.reading {
            Some(reading) => reading.await.ok(),
            None => None,
        };
        self.reading = None;
        let Some((entries, entry)) = read else {
            // It was a panic. Nothing more can be read.
            self.has_ended = true;
            return Err(HistoryError::Broken { run: self.run.clone() });
        };
        (self.unreadable, self.has_told) = (entries.unreadable(), entries.check_told().is_ok());
        self.entries = Some(entries);
        entry
    }

    /// Returns how many lines could not be read so far.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Says whether it came to its end although the run did not: its loop is gone, and no end of it is recorded.
    pub fn is_cut_off(&self) -> bool {
        self.is_gone && !self.has_ended
    }

    /// Makes sure that an event was read so far.
    ///
    /// # Errors
    /// As [`Entries::check_told`].
    pub fn check_told(&self) -> Result<(), HistoryError> {
        if self.has_told { Ok(()) } else { Err(HistoryError::no_events(&self.run, self.unreadable)) }
    }

    /// Waits until there may be more, or the loop is gone.
    async fn wait(&mut self) -> Result<(), HistoryError> {
        if !self.is_deaf
            && let Ok(is_told) = tokio::time::timeout_at(self.look_again, self.watch.changed()).await
        {
            self.is_deaf = !is_told;
            return Ok(());
        }
        let (lane, run) = (Arc::clone(&self.lane), self.run.clone());
        let looked = run_blocking(move || is_under_way(&*lane, &run)).await;
        // What it wrote before it went is still to be read.
        self.is_gone = !looked.unwrap_or(Ok(false))?;
        self.look_again = Instant::now() + LOOK_AGAIN;
        if self.is_deaf && !self.is_gone {
            tokio::time::sleep_until(self.look_again).await;
        }
        Ok(())
    }
}
