//! Why something is as it is, with the events that say so.
//!
//! A [`WhyQuestion`] gets a [`Why`]: one line, and reasons that each name the events they rest on. What
//! is next is explained by [`TaskChoice`](crate::plan::TaskChoice), which is how it is chosen; everything
//! else comes from the record. What no event tells is said to be unknown.

mod check;
mod handler;
mod next;
mod run;
mod task;

use std::collections::VecDeque;

use serde::Serialize;

use super::{EventRef, History, HistoryError, LogEntry, UnreadRun, event_line, fold::event_ref};
use crate::{
    event::Event,
    model::{Remedy, TaskId},
    plan::WorkRemedy,
    text::{counted, described},
};

/// How many runs are looked through for an answer, the last ones.
const MAX_RUNS: usize = 20;
/// How many events of a run are held at once that may matter, the last ones.
const MAX_HELD: usize = 20_000;
/// How many bytes their lines have together at most, but for the last one.
const MAX_HELD_BYTES: usize = 64 << 20;

/// What is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyQuestion {
    /// What is next, and why nothing else.
    Next,
    /// Where a task stands.
    Task(TaskId),
    /// How the last check went.
    Check,
    /// Why a run stopped; the last one where none is named. It may be the beginning of an id.
    Run(Option<String>),
    /// Why a handler was not called, by its id.
    Handler(String),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// What it is about, such as `task 2` or `the last check`.
    pub about: String,
    /// The answer, on one line.
    pub answer: String,
    /// The reasons, the most important one first.
    pub reasons: Vec<WhyReason>,
    /// The runs whose records cannot be read, or lines of them: what those would tell is not in the answer.
    pub unread: Vec<UnreadRun>,
    /// What has work go on that does not go on by itself.
    pub remedies: Vec<WorkRemedy>,
}

impl Why {
    /// Makes an answer for which every record could be read.
    fn of(about: String, answer: String, reasons: Vec<WhyReason>) -> Self {
        Self { about, answer, reasons, unread: Vec::new(), remedies: Vec::new() }
    }

    /// Returns what to do about work that does not go on by itself.
    pub fn help(&self) -> Option<Remedy> {
        WorkRemedy::help_of(&self.remedies)
    }
}

/// A reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyReason {
    /// The reason, on one line.
    pub text: String,
    /// What there is to see of it, such as the end of what a check printed; one line each.
    pub details: Vec<String>,
    /// The events that it rests on; none where it follows from the plan.
    pub events: Vec<EventRef>,
}

impl WhyReason {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), details: Vec::new(), events: Vec::new() }
    }

    /// Makes a reason of an event, in its own words.
    fn of(entry: &LogEntry) -> Self {
        let event = event_ref(&entry.record);
        let text = event_line(&entry.record.event).unwrap_or_else(|| event.event.clone());
        // Events that name neither their iteration nor their task are told apart by their lane.
        let is_nameless = matches!(
            entry.record.event,
            Event::AgentStarted { .. } | Event::AgentFinished { .. } | Event::QualityChecked { .. }
        );
        let text = match entry.record.lane.filter(|_| is_nameless) {
            Some(lane) => format!("lane {lane}: {text}"),
            None => text,
        };
        let words: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Self { events: vec![event], ..Self::new(words.join(" ")) }
    }
}

impl History {
    /// Answers a question. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRuns`] and its siblings where there is no record to answer from or none that
    /// can be read, and [`HistoryError::State`] where the plan cannot be read, or there is no such task. Of several
    /// records one that cannot be read is passed over ([`Why::unread`]).
    pub fn why(&self, question: &WhyQuestion) -> Result<Why, HistoryError> {
        match question {
            WhyQuestion::Next => self.why_next(),
            WhyQuestion::Task(task) => self.why_task(task),
            WhyQuestion::Check => self.why_check(),
            WhyQuestion::Run(run) => self.why_run(&self.resolve(run.as_deref())?),
            WhyQuestion::Handler(handler) => self.why_handler(handler),
        }
    }

    /// Returns the runs to look through, the newest first.
    fn last_runs(&self) -> Result<Vec<String>, HistoryError> {
        let runs = self.recorded()?;
        Ok(runs.into_iter().rev().take(MAX_RUNS).collect())
    }

    /// Returns the events of a run that matter, the last ones, and whether lines of its record cannot be read.
    fn held(
        &self,
        run: &str,
        matters: impl Fn(&LogEntry) -> bool,
    ) -> Result<(Vec<LogEntry>, Option<UnreadRun>), HistoryError> {
        let (mut entries, mut held) = (self.entries(run), Held::default());
        while let Some(entry) = entries.next_entry()? {
            if matters(&entry) {
                held.push(entry, entries.line_bytes());
            }
        }
        self.check_there(run, &entries)?;
        Ok((held.into_entries(), damaged(run, entries.unreadable())))
    }
}

/// Says that lines of a run's record cannot be read, where there are some.
fn damaged(run: &str, lines: u64) -> Option<UnreadRun> {
    let problem = || format!("{} of its record cannot be read", counted(lines, "line"));
    (lines > 0).then(|| UnreadRun { run: run.to_owned(), problem: problem() })
}

/// The runs that are passed over while an answer is looked for in several.
#[derive(Default)]
struct PassedOver {
    runs: Vec<UnreadRun>,
    /// Those of which lines are missing.
    damaged: Vec<UnreadRun>,
    first: Option<HistoryError>,
}

impl PassedOver {
    /// Returns what was read of a run; nothing where its record cannot be read.
    fn read<T>(&mut self, run: &str, read: Result<T, HistoryError>) -> Option<T> {
        let error = match read {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        self.runs.push(UnreadRun { run: run.to_owned(), problem: described(&error) });
        self.first.get_or_insert(error);
        None
    }

    /// Returns how many of so many runs that were looked at could be read, and those that could not, or not wholly.
    ///
    /// # Errors
    /// Returns why the first could not be read, where none could.
    fn of(self, looked_at: usize) -> Result<(usize, Vec<UnreadRun>), HistoryError> {
        match self.first {
            Some(error) if self.runs.len() >= looked_at => Err(error),
            _ => Ok((looked_at - self.runs.len(), self.all())),
        }
    }

    fn all(self) -> Vec<UnreadRun> {
        self.runs.into_iter().chain(self.damaged).collect()
    }
}

/// Names the runs that were looked through.
fn the_last(runs: usize) -> String {
    if runs == 1 { "the last run".to_owned() } else { format!("the last {}", counted(runs, "run")) }
}

/// The last events of a run that may matter: as many as are held at once, however long their lines are.
#[derive(Default)]
struct Held {
    /// Each with the length of its line, in bytes.
    entries: VecDeque<(LogEntry, usize)>,
    bytes: usize,
}

impl Held {
    /// Holds one more, and lets go of the first of too many.
    fn push(&mut self, entry: LogEntry, bytes: usize) {
        self.entries.push_back((entry, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        while self.entries.len() > MAX_HELD || self.bytes > MAX_HELD_BYTES && self.entries.len() > 1 {
            let first = self.entries.pop_front();
            self.bytes = self.bytes.saturating_sub(first.map_or(0, |(_, bytes)| bytes));
        }
    }

    fn into_entries(self) -> Vec<LogEntry> {
        self.entries.into_iter().map(|(entry, _)| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::{EVENT_SCHEMA_VERSION, EventRecord};

    /// Returns the numbers of those that are held of so many whose lines are so long.
    fn held(count: u64, bytes: usize) -> Vec<u64> {
        let mut held = Held::default();
        for seq in 1..=count {
            let record = EventRecord {
                schema_version: EVENT_SCHEMA_VERSION,
                seq,
                at: jiff::Timestamp::UNIX_EPOCH,
                elapsed_ms: 0,
                run_id: Arc::from("r"),
                lane: None,
                event: Event::Paused,
            };
            held.push(LogEntry { record, iteration: None, task: None }, bytes);
        }
        held.into_entries().iter().map(|entry| entry.record.seq).collect()
    }

    #[test]
    fn the_last_events_are_held_as_far_as_their_number_and_their_lines_allow() {
        assert_eq!(held(3, 100), [1, 2, 3]);
        assert_eq!(held(20_500, 1), (501..=20_500).collect::<Vec<u64>>());
        assert_eq!(held(10, 20 << 20), [8, 9, 10]);
        assert_eq!(held(10, 100 << 20), [10], "the last one is held whatever it is");
    }
}
