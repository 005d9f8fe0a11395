//! The iterations that worked on a task, as journal and progress log tell of them.
//!
//! The journal says when a task was begun, by which run, and how it stood when the
//! iteration's figures were written; the progress log says what failed. What an agent
//! writes into either is believed no further than that it is shown.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    model::{Status, TaskId, Usage, words},
    state::{
        CUT_OFF, Called, JournalEntry, JournalRecord, Mutation, ProgressBody, ProgressEntry, ProgressKind,
        ProgressLog,
    },
    text::excerpt,
};

/// How much is kept of one failure, in bytes.
const MAX_FAILURE_BYTES: usize = 500;
/// How many failures of one attempt are told.
const MAX_FAILURES: usize = 10;
/// How many agents of one attempt are told.
const MAX_AGENTS: usize = 10;
/// How far the times of the two logs may be apart: one has whole seconds, and a plan may be
/// busy for ten.
const MAX_APART: SignedDuration = SignedDuration::from_secs(15);

words! {
    /// What became of an attempt.
    AttemptEnd ("end of an attempt") {
        /// It is under way.
        UnderWay = "under_way",
        /// The task was completed when the iteration ended. What became of it later, such as
        /// by `undo` or `reset`, is among the changes.
        Completed = "completed",
        /// The task was left out.
        Skipped = "skipped",
        /// The task was marked as one that cannot be worked on.
        Blocked = "blocked",
        /// The task was completed, and taken back: no check has passed.
        TakenBack = "taken_back",
        /// The iteration failed.
        Failed = "failed",
        /// The iteration ended, and the task was open as before.
        Open = "open",
        /// Nobody wrote down how it ended: its run was cut off.
        CutOff = "cut_off",
    }
}

/// One iteration that worked on a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The run, where that is known.
    pub run: Option<String>,
    /// The iteration within the run, from 1, where that is known.
    pub iteration: Option<u32>,
    /// Who worked on it: the run, or what its caller is called.
    pub owner: Option<String>,
    /// The agents that were called, with their models, such as `codex (gpt-5)`: one for each call, of
    /// several in a row that are the same the first; at most 10.
    pub agents: Vec<String>,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended. None if that is unknown, for example after a kill.
    pub ended_at: Option<Timestamp>,
    /// What became of it.
    pub end: AttemptEnd,
    /// What failed, the checks' failures among it, one line each; at most 10.
    pub failures: Vec<String>,
    /// What its agent calls consumed, where that is known.
    pub usage: Option<Usage>,
    /// The files with what its agents were given and printed, and with what its checks
    /// printed, as far as they are kept; at most 100.
    pub logs: Vec<PathBuf>,
}

impl Attempt {
    fn begun(at: Timestamp, owner: Option<&String>) -> Self {
        Self {
            run: None,
            iteration: None,
            owner: owner.cloned(),
            agents: Vec::new(),
            began_at: at,
            ended_at: None,
            end: AttemptEnd::CutOff,
            failures: Vec::new(),
            usage: None,
            logs: Vec::new(),
        }
    }

    fn call(&mut self, call: &Called) {
        self.run.get_or_insert_with(|| call.run_id.clone());
        self.iteration.get_or_insert(call.iteration);
        let name = excerpt(&call.name(), MAX_FAILURE_BYTES);
        if self.agents.last() != Some(&name) && self.agents.len() < MAX_AGENTS {
            self.agents.push(name);
        }
    }

    fn fail(&mut self, failure: &str) {
        let line = excerpt(&failure.lines().collect::<Vec<_>>().join(" "), MAX_FAILURE_BYTES);
        // One log names what failed, the other what kind of failure it was too.
        let is_told = self.failures.iter().any(|told| told.contains(&line) || line.ends_with(told));
        if !is_told && self.failures.len() < MAX_FAILURES {
            self.failures.push(line);
        }
    }
}

/// Finds the attempts at a task in records, oldest first.
pub(super) fn attempts(id: &TaskId, records: &[JournalRecord], log: &ProgressLog) -> Vec<Attempt> {
    let mut found = Found { id, all: Vec::new(), open: false, stands: Status::InProgress };
    for record in records {
        found.read(record);
    }
    let mut attempts = found.all;
    add_told(id, &mut attempts, log);
    attempts
}

/// What is found so far.
struct Found<'a> {
    id: &'a TaskId,
    all: Vec<Attempt>,
    /// Whether the last one has not ended.
    open: bool,
    /// Where the task stands in it.
    stands: Status,
}

impl Found<'_> {
    fn read(&mut self, record: &JournalRecord) {
        match &record.entry {
            // Its tasks are others, whatever they are called.
            JournalEntry::Imported { .. } => (self.all, self.open) = (Vec::new(), false),
            JournalEntry::Mutation { mutation: Mutation::StartTask { id, owner }, .. } => {
                self.open = id == self.id;
                if self.open {
                    self.stands = Status::InProgress;
                    self.all.push(Attempt::begun(record.at, owner.as_ref()));
                }
            }
            entry if self.open => {
                let (stands, id) = (&mut self.stands, self.id);
                let Some(attempt) = self.all.last_mut() else { return };
                match entry {
                    JournalEntry::Checkpoint(saved) => {
                        attempt.run.get_or_insert_with(|| saved.run_id.clone());
                    }
                    JournalEntry::Called(call) => attempt.call(call),
                    JournalEntry::Mutation { mutation: Mutation::TakeBack { ids, failures }, .. } => {
                        if ids.contains(id) {
                            attempt.end = AttemptEnd::TakenBack;
                            failures.iter().for_each(|failure| attempt.fail(failure));
                            *stands = Status::Pending;
                        }
                    }
                    JournalEntry::Mutation {
                        mutation: Mutation::CommitIteration { iteration, usage, .. },
                        ..
                    } => {
                        attempt.iteration = Some(*iteration);
                        attempt.usage = Some(*usage);
                        attempt.ended_at = Some(record.at);
                        attempt.end = match (*stands, attempt.end) {
                            (Status::Completed, _) => AttemptEnd::Completed,
                            (Status::Skipped, _) => AttemptEnd::Skipped,
                            (Status::Blocked, _) => AttemptEnd::Blocked,
                            (_, AttemptEnd::TakenBack) => AttemptEnd::TakenBack,
                            _ => AttemptEnd::Open,
                        };
                        self.open = false;
                    }
                    entry => *stands = entry.standing_of(id).1.unwrap_or(*stands),
                }
            }
            _ => {}
        }
    }
}

/// Adds what the progress log tells of attempts: their number, and what failed.
fn add_told(id: &TaskId, attempts: &mut [Attempt], log: &ProgressLog) {
    let entries: Vec<&ProgressEntry> =
        log.entries().filter(|entry| entry.task.as_ref() == Some(id)).collect();
    let is_start =
        |entry: &&ProgressEntry| matches!(entry.body, ProgressBody::Note { kind: ProgressKind::Started, .. });
    // Each begins with a line of its own, so they are told apart from the last on.
    let mut rest = &entries[..];
    for attempt in attempts.iter_mut().rev() {
        while let Some(start) = rest.iter().rposition(is_start) {
            let (before, told) = rest.split_at(start);
            let Some(first) = told.first() else { break };
            let apart = first.at.duration_since(attempt.began_at).abs();
            let is_it = apart <= MAX_APART && attempt.iteration.is_none_or(|n| first.iteration == Some(n));
            if !is_it && first.at < attempt.began_at {
                // It is of an earlier one.
                break;
            }
            rest = before;
            if is_it {
                attempt.iteration = attempt.iteration.or(first.iteration);
                told.iter().for_each(|entry| attempt.note(entry));
                break;
            }
        }
    }
}

impl Attempt {
    fn note(&mut self, entry: &ProgressEntry) {
        let ProgressBody::Note { kind: ProgressKind::Error, text } = &entry.body else { return };
        if entry.iteration == self.iteration {
            self.fail(text);
            if text == CUT_OFF {
                // The entry is written when the run resumes, which may be long after the attempt ended.
                self.ended_at = None;
            }
            if self.end == AttemptEnd::Open {
                self.end = AttemptEnd::Failed;
            }
        }
    }
}
