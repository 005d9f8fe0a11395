//! What a run that is under way does now.
//!
//! Plain data: the engine keeps it up to date from a run's events, and tells it to whoever asks
//! (`LiveRun::look`).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{QueuePlace, TaskId};

/// What a run does now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveState {
    /// The run's id.
    pub run: String,
    /// What it does.
    pub doing: Doing,
    /// What each of its workers does, in their order; a run without workers has one. Empty before the first iteration.
    pub workers: Vec<LiveWorker>,
    /// The tool calls that wait for a person to approve them.
    pub approvals: Vec<WaitingCall>,
    /// Until when it waits, where that is known.
    pub until: Option<Timestamp>,
    /// The tasks whose work waits to be landed, in a run with lanes, in no order.
    pub queue: Vec<QueuedWork>,
    /// What is in the way of the landing, where something is.
    pub held: Option<String>,
    /// The branch that work lands on, in a run with lanes.
    pub into: Option<String>,
}

/// What a worker of a run does now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveWorker {
    /// The worker, from 1; nothing in a run without workers.
    pub worker: Option<u32>,
    /// What it does.
    pub doing: Doing,
    /// The iteration under way, else the last one.
    pub iteration: u32,
    /// The task of that iteration; nothing where it looks for tasks, and between iterations.
    pub task: Option<String>,
    /// The title of the task.
    pub title: Option<String>,
}

/// Work that waits to be landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedWork {
    /// The task.
    pub task: TaskId,
    /// Where it is.
    pub place: QueuePlace,
}

/// A tool call that waits for a person to approve it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitingCall {
    /// The number by which it is approved or denied.
    pub call: u64,
    /// The tool, such as `Bash`.
    pub ability_id: String,
    /// Its arguments in one line, shortened.
    pub input: String,
    /// Why a person is asked, in the handler's words.
    pub reason: String,
}

/// What a run does, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Doing {
    /// It gets ready, or is between two iterations.
    #[default]
    GettingReady,
    /// An iteration works on a task.
    Working,
    /// An iteration looks for tasks.
    Discovering,
    /// It waits: in a pause, or for a usage limit.
    Waiting,
    /// It holds until it is resumed.
    Paused,
    /// It is about to end.
    Ending,
    /// It has ended.
    Ended,
}

impl Doing {
    /// Returns the word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GettingReady => "getting_ready",
            Self::Working => "working",
            Self::Discovering => "discovering",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Ending => "ending",
            Self::Ended => "ended",
        }
    }
}
