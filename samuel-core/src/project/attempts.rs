//! The iterations that worked on a task. `history` finds them in the records of runs.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    model::{Usage, words},
    text::excerpt,
};

/// How much is kept of one failure, in bytes.
const MAX_FAILURE_BYTES: usize = 500;
/// How many failures of one attempt are told.
const MAX_FAILURES: usize = 10;
/// How many agents of one attempt are told.
const MAX_AGENTS: usize = 10;

words! {
    /// What became of an attempt.
    AttemptEnd ("end of an attempt") {
        /// It is under way.
        UnderWay = "under_way",
        /// The task was completed when the iteration ended, or when the work of a worker was
        /// merged. What became of it later, such as by `undo` or `reset`, is among the changes.
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
        /// The work was submitted and did not land.
        Returned = "returned",
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
    /// Who worked on it: the run, or a worker of it such as `run-1/lane-2`.
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
    /// Creates an attempt that has not ended.
    pub(crate) fn begun(run: &str, iteration: u32, began_at: Timestamp) -> Self {
        Self {
            run: Some(run.to_owned()),
            iteration: Some(iteration),
            owner: Some(run.to_owned()),
            agents: Vec::new(),
            began_at,
            ended_at: None,
            end: AttemptEnd::CutOff,
            failures: Vec::new(),
            usage: None,
            logs: Vec::new(),
        }
    }

    /// Adds a call of an agent.
    pub(crate) fn call(&mut self, agent: &str) {
        let name = excerpt(agent, MAX_FAILURE_BYTES);
        if self.agents.last() != Some(&name) && self.agents.len() < MAX_AGENTS {
            self.agents.push(name);
        }
    }

    /// Adds what failed, unless an earlier failure already says so.
    pub(crate) fn fail(&mut self, failure: &str) {
        let line = excerpt(&failure.lines().collect::<Vec<_>>().join(" "), MAX_FAILURE_BYTES);
        // The failure of the iteration repeats that of its check, after its class.
        let is_told = self.failures.iter().any(|told| told.contains(&line) || line.ends_with(told));
        if !is_told && self.failures.len() < MAX_FAILURES {
            self.failures.push(line);
        }
    }
}
