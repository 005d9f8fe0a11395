//! The events of a run one after the other, each with the iteration and the task it belongs to.
//!
//! [`Entries`] reads a record in pieces, however long it is, and parses a line when it is asked for. Lines that cannot be
//! read, or are of a lane that no run has, are passed over and counted; at one of a later version it ends. In a run with several lanes an event belongs to the iteration of its own lane, and one that is of the
//! whole run to none.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{HistoryError, runs::nothing_of};
use crate::{
    event::{EVENT_SCHEMA_VERSION, Event, EventRecord},
    machine::MAX_LANES,
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
    /// Lines that were read, and how many bytes of them were looked at.
    lines: Vec<u8>,
    looked_at: usize,
    /// How long the line of the last event was, in bytes.
    line_bytes: usize,
    /// The iterations under way, by lane: their numbers and tasks.
    open: BTreeMap<Option<u32>, (u32, Option<TaskId>)>,
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
            lines: Vec::new(),
            looked_at: 0,
            line_bytes: 0,
            open: BTreeMap::new(),
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
    /// Returns [`HistoryError::NoRecord`] where none was, and [`HistoryError::NothingYet`] of a run that gets ready.
    pub fn check_told(&self) -> Result<(), HistoryError> {
        match self.events {
            0 => Err(nothing_of(&*self.lane, &self.run, self.unreadable)),
            _ => Ok(()),
        }
    }

    /// Returns how many bytes were read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns how long the line of the last event was that was returned, in bytes.
    pub(super) fn line_bytes(&self) -> usize {
        self.line_bytes
    }

    /// Returns the next event; nothing where there are no more by now. Later there may be. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::LaterVersion`] at a line of a later version, behind which nothing is read any more, and
    /// [`HistoryError::State`] where the record cannot be read.
    pub fn next_entry(&mut self) -> Result<Option<LogEntry>, HistoryError> {
        loop {
            let lines = std::mem::take(&mut self.lines);
            let found = self.next_of(&lines);
            self.lines = lines;
            if let Some(entry) = found? {
                return Ok(Some(entry));
            }
            (self.lines, self.looked_at) = (Vec::new(), 0);
            let chunk = self.lane.read_record(&self.run, RecordPart::Events, self.place)?;
            self.unreadable = self.unreadable.saturating_add(chunk.left_out);
            // A store that has nothing more may say nothing of where to read on.
            if !chunk.lines.is_empty() || chunk.left_out > 0 {
                self.place = chunk.next;
            }
            if chunk.lines.is_empty() {
                return Ok(None);
            }
            self.bytes = self.bytes.saturating_add(chunk.lines.len() as u64);
            self.lines = chunk.lines;
        }
    }

    /// Returns the next event of lines that were read. One of a later version is not passed: each time it is the error.
    fn next_of(&mut self, lines: &[u8]) -> Result<Option<LogEntry>, HistoryError> {
        while let Some(rest) = lines.get(self.looked_at..).filter(|rest| !rest.is_empty()) {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest.get(..end).filter(|line| !line.is_empty());
            let entry = line.map(|line| self.take(line)).transpose()?.flatten();
            self.looked_at += end + 1;
            if entry.is_some() {
                self.line_bytes = end;
                return Ok(entry);
            }
        }
        Ok(None)
    }

    /// Takes a line; nothing where it is none of the wanted, or cannot be read.
    fn take(&mut self, line: &[u8]) -> Result<Option<LogEntry>, HistoryError> {
        if !self.wanted.is_empty() && !is_one_of(line, self.wanted) {
            return Ok(None);
        }
        let record: EventRecord = match serde_json::from_slice(line) {
            Ok(record) => record,
            Err(_) => {
                let value: Value = serde_json::from_slice(line).unwrap_or_default();
                self.check_version(value.get("schema_version").and_then(Value::as_u64).unwrap_or_default())?;
                self.unreadable += 1;
                return Ok(None);
            }
        };
        self.check_version(record.schema_version.into())?;
        if record.lane.is_some_and(|lane| lane > MAX_LANES) {
            self.unreadable += 1;
            return Ok(None);
        }
        self.events += 1;
        let lane = record.doer();
        if let Event::IterationStarted { iteration, task, .. } = &record.event {
            let task = task.as_ref().map(|task| TaskId::new(task.id.clone()));
            self.open.insert(lane, (*iteration, task));
        }
        let (mut iteration, of) = self.open.get(&lane).cloned().unzip();
        if let Event::IterationFinished { iteration: number, .. } = &record.event {
            // One that was interrupted ends in the run that goes on, and began in the one before.
            iteration.get_or_insert(*number);
        }
        let task = about(&record.event).or(of.flatten());
        match record.event {
            Event::IterationFinished { .. } => _ = self.open.remove(&lane),
            Event::RunFinished(_) => self.open.clear(),
            _ => {}
        }
        Ok(Some(LogEntry { record, iteration, task }))
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
        Event::TaskCompleted { task, .. }
        | Event::TaskClaimed { task, .. }
        | Event::TaskSubmitted { task, .. }
        | Event::TaskLanded { task, .. }
        | Event::TaskReturned { task, .. }
        | Event::PlanChanged { task, .. } => Some(task.clone()),
        Event::RequestRefused { task, .. } => task.as_ref().map(|task| TaskId::new(task.clone())),
        _ => None,
    }
}

/// Says whether an event names a task among others.
fn names(event: &Event, task: &TaskId) -> bool {
    match event {
        Event::TasksTakenBack { tasks, .. } => tasks.contains(task),
        Event::IterationFinished { completed, .. } => completed.contains(task),
        Event::QualityChecked { merged, .. } => merged.contains(task),
        _ => false,
    }
}
