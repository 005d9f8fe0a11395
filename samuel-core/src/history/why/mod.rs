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

use serde::Serialize;

use super::{EventRef, History, HistoryError, LogEntry, UnreadRun, event_line, fold::event_ref};
use crate::{
    model::TaskId,
    text::{counted, described},
};

/// How many runs are looked through for an answer, the last ones.
const MAX_RUNS: usize = 20;
/// How many events of a run are held at once that may matter, the last ones.
const MAX_HELD: usize = 20_000;

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
    /// The runs that were gone over, since their records cannot be read: what they would tell is not in the
    /// answer.
    pub unread: Vec<UnreadRun>,
}

impl Why {
    /// Makes an answer for which every record could be read.
    fn of(about: String, answer: String, reasons: Vec<WhyReason>) -> Self {
        Self { about, answer, reasons, unread: Vec::new() }
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
    /// records one that cannot be read is gone over ([`Why::unread`]).
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

    /// Returns the events of a run that matter, the last ones.
    fn held(&self, run: &str, matters: impl Fn(&LogEntry) -> bool) -> Result<Vec<LogEntry>, HistoryError> {
        let (mut entries, mut held) = (self.entries(run), Vec::new());
        while let Some(entry) = entries.next_entry()? {
            if matters(&entry) {
                held.push(entry);
            }
            leave_last(&mut held);
        }
        Ok(held)
    }
}

/// The runs that are gone over while an answer is looked for in several.
#[derive(Default)]
struct GoneOver {
    runs: Vec<UnreadRun>,
    first: Option<HistoryError>,
}

impl GoneOver {
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

    /// Returns the runs that were gone over, of so many that were looked at.
    ///
    /// # Errors
    /// Returns why the first could not be read, where none could.
    fn of(self, looked_at: usize) -> Result<Vec<UnreadRun>, HistoryError> {
        match self.first {
            Some(error) if self.runs.len() >= looked_at => Err(error),
            _ => Ok(self.runs),
        }
    }
}

/// Names the runs that were looked through.
fn the_last(runs: usize) -> String {
    if runs == 1 { "the last run".to_owned() } else { format!("the last {}", counted(runs, "run")) }
}

/// Lets go of the first of many events.
fn leave_last(held: &mut Vec<LogEntry>) {
    if held.len() > 2 * MAX_HELD {
        held.drain(..MAX_HELD);
    }
}
