//! The events of a run one after the other, each with the iteration and the task it belongs to.
//!
//! [`Entries`] reads a record in pieces, however long it is. Lines that cannot be read are gone over
//! and counted.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::HistoryError;
use crate::{
    event::{EVENT_SCHEMA_VERSION, Event, EventRecord},
    model::TaskId,
    state::{LaneStore, RecordPart, RecordPlace},
};

/// An event of a record, and where in the run it belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// The event.
    pub record: EventRecord,
    /// The iteration that it belongs to; nothing outside of one.
    pub iteration: Option<u32>,
    /// The task that it is about, or which the iteration is for.
    pub task: Option<TaskId>,
}

/// Which events are wanted. By default all are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Those of an iteration.
    pub iteration: Option<u32>,
    /// Those that are about a task, or of iterations for it.
    pub task: Option<TaskId>,
}

impl EntryFilter {
    /// Says whether an event is wanted.
    pub fn takes(&self, entry: &LogEntry) -> bool {
        let is_of_task =
            |task: &TaskId| entry.task.as_ref() == Some(task) || names(&entry.record.event, task);
        self.iteration.is_none_or(|iteration| entry.iteration == Some(iteration))
            && self.task.as_ref().is_none_or(is_of_task)
    }
}

/// The events of a run's record, from its beginning.
#[derive(Debug)]
pub struct Entries {
    lane: Arc<dyn LaneStore>,
    run: String,
    place: RecordPlace,
    /// The kinds of events that are wanted, where not all are.
    wanted: &'static [&'static str],
    waiting: VecDeque<LogEntry>,
    iteration: Option<u32>,
    task: Option<TaskId>,
    /// How many events were read, and how many lines could not be.
    events: u64,
    unreadable: u64,
    bytes: u64,
}

impl Entries {
    pub(super) fn of(lane: Arc<dyn LaneStore>, run: &str) -> Self {
        Self {
            lane,
            run: run.to_owned(),
            place: RecordPlace::default(),
            wanted: &[],
            waiting: VecDeque::new(),
            iteration: None,
            task: None,
            events: 0,
            unreadable: 0,
            bytes: 0,
        }
    }

    /// Reads only events of these kinds, and for `tool_call` the tool calls of agents. Others are not
    /// even parsed.
    pub(super) fn wanting(self, wanted: &'static [&'static str]) -> Self {
        Self { wanted, ..self }
    }

    /// Returns how many lines could not be read so far.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// Makes sure that an event was read so far: a record of which none can be tells nothing, and is no record of
    /// a run in which nothing happened.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRecord`] where none was.
    pub fn check_told(&self) -> Result<(), HistoryError> {
        match self.events {
            0 => Err(HistoryError::no_events(&self.run, self.unreadable)),
            _ => Ok(()),
        }
    }

    /// Returns how many bytes were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next event; nothing where there are no more by now. Later there may be. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::LaterVersion`] at a line of a later version, and
    /// [`HistoryError::State`] where the record cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<LogEntry>, HistoryError> {
        while self.waiting.is_empty() {
            let chunk = self.lane.read_record(&self.run, RecordPart::Events, self.place)?;
            if chunk.lines.is_empty() {
                return Ok(None);
            }
            self.place = chunk.next;
            self.bytes = self.bytes.saturating_add(chunk.lines.len() as u64);
            for line in chunk.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                self.take(line)?;
            }
        }
        Ok(self.waiting.pop_front())
    }

    fn take(&mut self, line: &[u8]) -> Result<(), HistoryError> {
        if !self.wanted.is_empty() && !is_one_of(line, self.wanted) {
            return Ok(());
        }
        let record: EventRecord = match serde_json::from_slice(line) {
            Ok(record) => record,
            Err(_) => {
                let value: Value = serde_json::from_slice(line).unwrap_or_default();
                self.check_version(value.get("schema_version").and_then(Value::as_u64).unwrap_or_default())?;
                self.unreadable += 1;
                return Ok(());
            }
        };
        self.check_version(record.schema_version.into())?;
        self.events += 1;
        if let Event::IterationStarted { iteration, task, .. } = &record.event {
            self.iteration = Some(*iteration);
            self.task = task.as_ref().map(|task| TaskId::new(task.id.clone()));
        }
        let (iteration, task) = (self.iteration, about(&record.event).or_else(|| self.task.clone()));
        if matches!(record.event, Event::IterationFinished { .. } | Event::RunFinished(_)) {
            (self.iteration, self.task) = (None, None);
        }
        self.waiting.push_back(LogEntry { record, iteration, task });
        Ok(())
    }

    fn check_version(&self, found: u64) -> Result<(), HistoryError> {
        match found > u64::from(EVENT_SCHEMA_VERSION) {
            true => Err(HistoryError::LaterVersion { run: self.run.clone(), found }),
            false => Ok(()),
        }
    }
}

/// Says whether a line tells of an event of one of these kinds; also of one that says nothing of its
/// kind, which cannot be read.
fn is_one_of(line: &[u8], wanted: &[&str]) -> bool {
    const KIND: &[u8] = b"\"event\":\"";
    let at = memchr::memmem::find(line, KIND).map(|at| at + KIND.len());
    let Some(kind) = at.and_then(|at| line.get(at..)) else { return true };
    let kind = memchr::memchr(b'"', kind).and_then(|end| kind.get(..end)).unwrap_or_default();
    let is_call = || kind == b"agent" && memchr::memmem::find(line, b"\"tool_call\"").is_some();
    wanted.iter().any(|word| kind == word.as_bytes() || (*word == "tool_call" && is_call()))
}

/// Returns the task that an event itself is about.
fn about(event: &Event) -> Option<TaskId> {
    match event {
        Event::TaskCompleted { task, .. } | Event::PlanChanged { task, .. } => Some(task.clone()),
        Event::RequestRefused { task, .. } => task.as_ref().map(|task| TaskId::new(task.clone())),
        _ => None,
    }
}

/// Says whether an event names a task among others.
fn names(event: &Event, task: &TaskId) -> bool {
    match event {
        Event::TasksTakenBack { tasks, .. } => tasks.contains(task),
        Event::IterationFinished { completed, .. } => completed.contains(task),
        _ => false,
    }
}
