//! The records of the journal.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path, time::SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{Actor, Edit, Mutation, Replaced, StateError, TaskChange};
use samuel_model::{AgentTotal, ExitReason, Scope, Status, TaskId, Usage, payload::Turn, with_model};

/// The longest record, as a line of the journal.
pub const MAX_RECORD_BYTES: usize = 4 << 20;

/// The highest revision of a plan, and the highest number of a record: the
/// highest integer that JSON represents exactly. Counting never reaches it.
pub(crate) const MAX_REVISION: u64 = 1 << 53;

/// Returns the revision after another one. This is the next number, or 1 if an external edit
/// set a revision that is too high to count on.
pub(crate) fn revision_after(before: u64) -> u64 {
    if before < MAX_REVISION { before + 1 } else { 1 }
}

/// One record of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalRecord {
    /// The number of the record, from 1; increases by one.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The revision of the plan after the record.
    pub revision: u64,
    /// The SHA-256 of the plan's file as Samuel last wrote it, in hexadecimal
    /// digits; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The content of the record.
    #[serde(flatten)]
    pub entry: JournalEntry,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JournalEntry {
    /// The plan was changed.
    Mutation {
        /// Who asked for it.
        actor: Actor,
        /// The revision it was applied to.
        base: u64,
        /// The requested change.
        mutation: Mutation,
        /// The result.
        change: TaskChange,
        /// The name of the asker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The replaced content, if the change can be undone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Box<Replaced>>,
    },
    /// A whole plan was stored.
    Imported {
        /// Who asked for it.
        actor: Actor,
        /// How many tasks it has.
        tasks: usize,
        /// The file name of the backup of the previous plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        backup: Option<String>,
    },
    /// An external edit changed the plan's file without the store, and the change
    /// was taken over.
    Edited {
        /// Always [`Actor::External`].
        actor: Actor,
        /// The differences.
        edits: Vec<Edit>,
    },
    /// A state from which the loop can continue.
    Checkpoint(Checkpoint),
    /// The usage of a run.
    Used(Used),
    /// An agent call began.
    Called(Called),
    /// An iteration began in one of several lanes.
    Begun(Begun),
    /// The work of several lanes of a run so far.
    Books(LaneBooks),
    /// A supervisor process was started.
    Supervisor(SupervisorProcess),
    /// A supervisor process has ended.
    SupervisorEnded(SupervisorProcess),
    /// An event that is worth recording.
    Event(NotedEvent),
    /// The journal continues from another file.
    Rotated,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

impl JournalEntry {
    /// Returns the status of a task before and after the entry. Each is `None` if the entry does not contain it.
    #[doc(hidden)]
    pub fn standing_of(&self, task: &TaskId) -> (Option<Status>, Option<Status>) {
        let edits = match self {
            Self::Mutation { change, .. } => match change {
                TaskChange::Task { id, from, to } if id == task && from != to => {
                    return (Some(*from), Some(*to));
                }
                TaskChange::TakenBack { ids } if ids.contains(task) => {
                    return (Some(Status::Completed), Some(Status::Pending));
                }
                change => change.edits(),
            },
            Self::Edited { edits, .. } => edits,
            _ => &[],
        };
        match edits.iter().find(|edit| edit.task() == Some(task)) {
            Some(Edit::Status { from, to, .. }) => (Some(*from), Some(*to)),
            Some(Edit::Added { status, .. }) => (None, Some(*status)),
            _ => (None, None),
        }
    }

    /// Sets the work tree of the supervisor process, if the entry records one.
    pub(crate) fn in_tree(self, tree: Option<WorkTreeId>) -> Self {
        match self {
            Self::Supervisor(supervisor) => Self::Supervisor(SupervisorProcess { tree, ..supervisor }),
            Self::SupervisorEnded(supervisor) => {
                Self::SupervisorEnded(SupervisorProcess { tree, ..supervisor })
            }
            entry => entry,
        }
    }
}

/// An entry that can be appended to the journal in addition to changes of the plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// A state from which the loop can continue; stored durably.
    Checkpoint(Checkpoint),
    /// The usage of a run. Survives the death of this process, but not a power
    /// failure.
    Used(Used),
    /// An agent call begins. Survives the death of this process, but not a power
    /// failure.
    Called(Called),
    /// An iteration begins in one of several lanes. Survives the death of this process, but not a power
    /// failure.
    Begun(Begun),
    /// The work of several lanes of a run so far. Survives the death of this process, but not a power failure.
    Books(LaneBooks),
    /// A supervisor was started. Survives the death of this process, but not a
    /// power failure, after which there is nothing to supervise.
    Supervisor(SupervisorProcess),
    /// A supervisor has ended.
    SupervisorEnded(SupervisorProcess),
    /// An event that is worth recording; stored durably.
    Event(NotedEvent),
}

impl Note {
    /// Returns whether the note must be on the disk before Samuel continues.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self, Self::Checkpoint(_) | Self::Event(_))
    }
}

impl From<Note> for JournalEntry {
    fn from(note: Note) -> Self {
        match note {
            Note::Checkpoint(checkpoint) => Self::Checkpoint(checkpoint),
            Note::Used(used) => Self::Used(used),
            Note::Called(called) => Self::Called(called),
            Note::Begun(begun) => Self::Begun(begun),
            Note::Books(books) => Self::Books(books),
            Note::Supervisor(supervisor) => Self::Supervisor(supervisor),
            Note::SupervisorEnded(supervisor) => Self::SupervisorEnded(supervisor),
            Note::Event(event) => Self::Event(event),
        }
    }
}

/// A state from which the loop can continue. The store does not look into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The run it belongs to.
    pub run_id: String,
    /// The state.
    pub state: Value,
    /// The time until which the run waits because of a usage limit, if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<jiff::Timestamp>,
    /// The end of the run; `None` if the run has not ended, or if an older version of Samuel
    /// wrote the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// The scope of the run: the tasks that it may work on.
    #[serde(default, skip_serializing_if = "Scope::is_all")]
    pub scope: Scope,
    /// What the calls of each agent consumed in all runs of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentTotal>,
    /// The iterations that had begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
    /// The agent calls in progress of workers other than the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Called>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// Why.
    pub reason: ExitReason,
    /// What led to it, in one line, with the limit where one was reached.
    pub detail: Option<String>,
}

/// The usage of a run, including its agent call in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// The run it belongs to.
    pub run_id: String,
    /// The total usage since the run began.
    pub usage: Usage,
    /// The part of it that belongs to workers other than the first one. The store does not look into it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub workers: Value,
}

/// A call of the agent, as it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// The run it belongs to.
    pub run_id: String,
    /// The worker that makes it, from 1; `None` in a run without workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The iteration, from 1.
    pub iteration: u32,
    /// The turn.
    pub turn: Turn,
    /// The agent that is called, whoever chose it.
    pub agent: String,
    /// Its model, where the call has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why it is this one, such as `route 1: complexity complex`.
    #[serde(default)]
    pub why: String,
}

impl Called {
    /// Returns the agent with its model: `claude (opus)`.
    pub fn name(&self) -> String {
        with_model(&self.agent, self.model.as_deref())
    }

    /// Returns whether the first worker makes it, which saves the run, or a run without workers.
    #[doc(hidden)]
    pub fn is_of_first(&self) -> bool {
        self.worker.is_none_or(|worker| worker == 1)
    }
}

/// The iterations of a run that began, over all of its lanes if it has some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The highest number of an iteration.
    pub last: u32,
    /// The number of iterations, including those from before an interruption of the run.
    pub count: u32,
    /// The number of iterations, including those of all previous runs of the plan.
    #[serde(default)]
    pub total: u64,
}

impl Begun {
    /// Returns the larger figures of the two, because each figure only grows.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        Self {
            last: self.last.max(other.last),
            count: self.count.max(other.count),
            total: self.total.max(other.total),
        }
    }
}

/// The work of several lanes of a run so far. The store does not look into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneBooks {
    /// The run.
    pub run_id: String,
    /// Its books.
    pub books: Value,
    /// The agent calls in progress of workers other than the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Called>,
}

/// A process that supervises other processes and ends them if Samuel dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SupervisorProcess {
    /// Its process id.
    pub pid: u32,
    /// The start time, in the system's own unit. Distinguishes the process from a
    /// later one with the same id.
    pub start_time: u64,
    /// The role in a run. Default: [`SupervisorRole::Supervisor`].
    #[serde(default)]
    pub role: SupervisorRole,
    /// The work tree for which it works. A store sets it in its journal, and returns only
    /// the processes of its own tree. It has no meaning for the callers of a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<WorkTreeId>,
}

/// The identity of the root directory of a work tree, which distinguishes it from a copy
/// and from another directory at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WorkTreeId {
    dev: u64,
    ino: u64,
    /// The creation time, if the file system knows it. Needed because file systems reuse inode numbers.
    created: Option<SystemTime>,
}

impl WorkTreeId {
    /// Returns the identity of the directory at a path.
    ///
    /// # Errors
    /// Returns the error of the system if the metadata of the directory cannot be read.
    pub(crate) fn of(root: &Path) -> io::Result<Self> {
        let found = fs::metadata(root)?;
        Ok(Self { dev: found.dev(), ino: found.ino(), created: found.created().ok() })
    }
}

/// The role of a process that supervises others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorRole {
    /// Supervises one command. Ends by itself after it has killed the leftover processes.
    #[default]
    Supervisor,
    /// Runs the loop. After its death, the leftover processes of its commands are found by
    /// the mark that they carry.
    Loop,
}

/// An event that is worth recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotedEvent {
    /// The name of the event.
    pub name: String,
    /// The data of the event.
    #[serde(default)]
    pub data: Value,
}

impl JournalRecord {
    /// Encodes the record as one line, including the line end.
    ///
    /// # Errors
    /// Returns [`StateError::TooLarge`] beyond [`MAX_RECORD_BYTES`], and
    /// [`StateError::Encode`] if a value cannot be encoded as JSON.
    pub(crate) fn to_line(&self) -> Result<Vec<u8>, StateError> {
        let mut line = serde_json::to_vec(self)
            .map_err(|error| StateError::Encode { what: "journal record", reason: error.to_string() })?;
        if line.len() >= MAX_RECORD_BYTES {
            let (bytes, max) = (line.len() as u64, MAX_RECORD_BYTES as u64);
            return Err(StateError::TooLarge { what: "journal record", bytes, max });
        }
        line.push(b'\n');
        Ok(line)
    }

    /// Parses a record, as far as this version can. A record with a number or revision that is
    /// too high to count on was not written by Samuel.
    pub(super) fn from_line(line: &[u8]) -> Option<Self> {
        let known = serde_json::from_slice(line).ok().or_else(|| {
            let Numbers { seq, revision, digest, at } = serde_json::from_slice(line).ok()?;
            Some(Self { seq, at, revision, digest, entry: JournalEntry::Unknown })
        });
        known.filter(|record: &Self| record.seq < MAX_REVISION && record.revision <= MAX_REVISION)
    }
}

/// The fields that every record has, including records of a later version.
#[derive(Deserialize)]
struct Numbers {
    seq: u64,
    revision: u64,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    at: Timestamp,
}

/// Returns the supervisors in the records that have not ended, in the order of the records.
pub(crate) fn active_supervisors<'a>(
    records: impl IntoIterator<Item = &'a JournalRecord>,
) -> Vec<SupervisorProcess> {
    let mut active = Vec::new();
    for record in records {
        match record.entry {
            JournalEntry::Supervisor(supervisor) if !active.contains(&supervisor) => active.push(supervisor),
            JournalEntry::SupervisorEnded(ended) => active.retain(|other| *other != ended),
            _ => {}
        }
    }
    active
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn record(entry: JournalEntry) -> JournalRecord {
        JournalRecord { seq: 7, at: Timestamp::UNIX_EPOCH, revision: 3, digest: None, entry }
    }

    #[test]
    fn a_record_is_one_line_of_flat_json() {
        let mutation =
            Mutation::Done { id: TaskId::new("1.10"), commit_sha: Some("abc".into()), iteration: None };
        let (actor, change) = (Actor::Agent, TaskChange::Unchanged);
        let entry = JournalEntry::Mutation { actor, base: 2, mutation, change, by: None, replaced: None };
        let line = record(entry.clone()).to_line().unwrap();
        insta::assert_snapshot!(String::from_utf8(line.clone()).unwrap(), @r#"{"seq":7,"at":"1970-01-01T00:00:00Z","revision":3,"kind":"mutation","actor":"agent","base":2,"mutation":{"type":"done","id":"1.10","commit_sha":"abc"},"change":{"type":"unchanged"}}"#);
        assert_eq!(serde_json::from_slice::<JournalRecord>(&line).unwrap(), record(entry));
    }

    #[test]
    fn a_kind_of_a_later_version_is_read_as_unknown() {
        let line = r#"{"seq":7,"at":"1970-01-01T00:00:00Z","revision":3,"kind":"telepathy","to":"all"}"#;
        assert_eq!(serde_json::from_str::<JournalRecord>(line).unwrap(), record(JournalEntry::Unknown));
    }

    #[test]
    fn a_record_beyond_the_size_limit_is_refused() {
        let state = Value::String("x".repeat(MAX_RECORD_BYTES));
        let entry = JournalEntry::Checkpoint(Checkpoint {
            run_id: "r".into(),
            state,
            waits_until: None,
            end: None,
            scope: Scope::All,
            agents: Vec::new(),
            begun: None,
            calls: Vec::new(),
        });
        assert!(matches!(record(entry).to_line(), Err(StateError::TooLarge { .. })));
    }

    #[test]
    fn of_what_began_each_figure_is_the_greater_one() {
        let (some, others) = (Begun { last: 9, count: 4, total: 20 }, Begun { last: 7, count: 5, total: 30 });
        let greatest = Begun { last: 9, count: 5, total: 30 };
        assert_eq!((some.at_least(others), others.at_least(some)), (greatest, greatest));
    }

    fn supervisor(start_time: u64) -> SupervisorProcess {
        SupervisorProcess { pid: 1, start_time, role: SupervisorRole::Supervisor, tree: None }
    }

    #[test]
    fn a_supervisor_is_active_until_it_is_noted_as_ended() {
        let (first, second) = (supervisor(5), supervisor(9));
        let records = [
            record(JournalEntry::Supervisor(first)),
            record(JournalEntry::Supervisor(second)),
            record(JournalEntry::SupervisorEnded(first)),
        ];
        assert_eq!(active_supervisors(&records), [second]);
    }
}
