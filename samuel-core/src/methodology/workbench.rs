//! What the handlers of one iteration share with the runtime.
//!
//! The runtime puts the folded context here, and the default handlers take it
//! from here to compose the prompt; the agent's default handler leaves how the
//! call ended in more detail than its output can hold.

use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{
    FailureClass, Plan, Usage,
    payload::{CheckFailure, Extra, TaskBrief},
};

/// A desk that the runtime and the default handlers share.
#[derive(Debug, Default)]
pub struct Workbench(Mutex<Desk>);

/// What lies on the desk.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    /// The plan as it was loaded last.
    pub plan: Arc<Plan>,
    /// The folded project snapshot, TOON.
    pub snapshot: String,
    /// The folded progress context, Markdown.
    pub progress: String,
    /// The folded task context, TOON.
    pub task_context: String,
    /// The sections that handlers added.
    pub extras: Vec<Extra>,
    /// The task of the iteration.
    pub task: Option<TaskBrief>,
    /// The checks that failed last.
    pub last_failures: Vec<CheckFailure>,
    /// How the last call of the agent failed, if it did.
    pub agent_fault: Option<AgentFault>,
    /// The files that hold what the last call of the agent printed, relative to the
    /// project where they are in it; none that is empty.
    pub agent_logs: Vec<String>,
    /// What the default handlers want the user to know.
    pub warnings: Vec<String>,
    /// How many lines of the plan cannot be read.
    pub unread: usize,
    /// What was done in the iteration so far.
    pub counts: Counts,
    /// The failed commands of the check under way, and the files that hold all of
    /// their output, relative to the project where they are in it.
    pub check_logs: Vec<(String, String)>,
    /// What the default handlers may do beside answering.
    pub access: Access,
}

/// What was done in one iteration, by which the files of its logs are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The iteration, from 1; 0 before the first.
    pub iteration: u32,
    /// How often the agent was called.
    pub calls: u32,
    /// How many checks were made.
    pub checks: u32,
}

impl Desk {
    /// Returns the counts of an iteration. What comes after it and before the next
    /// one, such as a last turn, goes on counting.
    pub fn counts_of(&mut self, iteration: u32) -> &mut Counts {
        if self.counts.iteration != iteration {
            self.counts = Counts { iteration, ..Counts::default() };
        }
        &mut self.counts
    }
}

/// What default handlers may do beside answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// What a run does: write, and start processes.
    #[default]
    Full,
    /// Read, and start processes that read.
    Read,
    /// Read, and start nothing.
    ReadAlone,
}

/// How a call of the agent failed.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFault {
    /// The kind of failure.
    pub class: FailureClass,
    /// What happened, in one line.
    pub message: String,
    /// When a usage limit ends.
    pub resets_at: Option<jiff::Timestamp>,
    /// What the call consumed.
    pub usage: Option<Usage>,
}

impl Workbench {
    /// Reads or changes what lies on the desk. The closure must not wait.
    pub fn with<R>(&self, work: impl FnOnce(&mut Desk) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
