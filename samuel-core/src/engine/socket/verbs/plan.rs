//! The plan, as far as it is an agent's: its changes, and what is to be read of it.
//!
//! What each means, and who may ask for it, is docs/broker.md.

use serde::{Deserialize, Serialize};

use crate::{
    engine::socket::{
        RunClient, RunClientError,
        verb::{Holder, Verb, VerbSpec},
    },
    model::{Plan, TaskId},
    project::{ProjectStatus, TaskHistory},
    state::{Applied, Learned, Mutation, StateDiagnostic},
};

/// The verbs of this family.
pub(super) const VERBS: [VerbSpec; 5] = [
    VerbSpec::of::<MutateVerb>(),
    VerbSpec::of::<PlanVerb>(),
    VerbSpec::of::<StatusVerb>(),
    VerbSpec::of::<HistoryVerb>(),
    VerbSpec::of::<LearnVerb>(),
];

/// The most bytes of a request.
const MAX_REQUEST: usize = 64 << 10;

/// `mutate`: the plan is changed.
pub(in crate::engine) struct MutateVerb;

impl Verb for MutateVerb {
    type Request = Mutation;
    type Reply = Applied;
    const NAME: &'static str = "mutate";
    const REPLY: &'static str = "applied";
    const HOLDER: Holder = Holder::AgentCall;
    const MAX_REQUEST: usize = MAX_REQUEST;
    // What was begun happens.
    const IS_FINISHED: bool = true;
}

/// `plan`: the plan is read, a page at a time.
pub(in crate::engine) struct PlanVerb;

impl Verb for PlanVerb {
    type Request = ReadPlan;
    type Reply = PlanPage;
    const NAME: &'static str = "plan";
    const REPLY: &'static str = "page";
    const HOLDER: Holder = Holder::AgentCall;
    const MAX_REQUEST: usize = MAX_REQUEST;
}

/// `status`: where the project stands.
pub(in crate::engine) struct StatusVerb;

impl Verb for StatusVerb {
    type Request = ReadStatus;
    type Reply = ProjectStatus;
    const NAME: &'static str = "status";
    const REPLY: &'static str = "status";
    const HOLDER: Holder = Holder::AgentCall;
    const MAX_REQUEST: usize = MAX_REQUEST;
}

/// `history`: all that is known of a task.
pub(in crate::engine) struct HistoryVerb;

impl Verb for HistoryVerb {
    type Request = ReadHistory;
    type Reply = TaskHistory;
    const NAME: &'static str = "history";
    const REPLY: &'static str = "history";
    const HOLDER: Holder = Holder::AgentCall;
    const MAX_REQUEST: usize = MAX_REQUEST;
}

/// `learn`: a line is recorded in the progress log.
pub(in crate::engine) struct LearnVerb;

impl Verb for LearnVerb {
    type Request = Learned;
    type Reply = Learned;
    const NAME: &'static str = "learn";
    const REPLY: &'static str = "learned";
    const HOLDER: Holder = Holder::AgentCall;
    const MAX_REQUEST: usize = MAX_REQUEST;
    // What was begun happens.
    const IS_FINISHED: bool = true;

    fn check(request: &Learned) -> Result<(), String> {
        request.check().map_err(|error| error.to_string())
    }
}

/// Asks for the plan from a task on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPlan {
    /// How many tasks are left out, which were on earlier pages. Default: none.
    #[serde(default)]
    pub from: usize,
    /// How many lines of `unparsed` are left out, which were on earlier pages. Default: none.
    #[serde(default)]
    pub lines: usize,
}

/// As much of a plan as an answer holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanPage {
    /// The plan, with the tasks of this page alone, and without what its PRD said last.
    pub plan: Plan,
    /// How many tasks stand before those of the next page; absent on the last one. Where the plan's revision
    /// is another one there, the plan was changed in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// How many lines of `unparsed` stand before those of the next page; absent on the last one that has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_line: Option<usize>,
    /// What was wrong with its file; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<StateDiagnostic>,
    /// Lines of it that could not be understood, shortened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unparsed: Vec<String>,
}

/// Asks where the project stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadStatus {}

/// Asks for all that is known of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadHistory {
    /// The task.
    pub id: TaskId,
}

impl RunClient {
    /// Asks for a change of the plan. What is returned is on the disk of the run.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses. After any other error the change may have
    /// been made.
    pub fn mutate(&mut self, mutation: &Mutation) -> Result<Applied, RunClientError> {
        self.ask::<MutateVerb>(mutation)
    }

    /// Reads a page of the plan.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub fn plan(&mut self, read: ReadPlan) -> Result<PlanPage, RunClientError> {
        self.ask::<PlanVerb>(&read)
    }

    /// Asks where the project stands.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub fn status(&mut self) -> Result<ProjectStatus, RunClientError> {
        self.ask::<StatusVerb>(&ReadStatus {})
    }

    /// Asks for all that is known of a task.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, such as for an id that no task has, does not answer
    /// in time or is gone.
    pub fn history(&mut self, id: &TaskId) -> Result<TaskHistory, RunClientError> {
        self.ask::<HistoryVerb>(&ReadHistory { id: id.clone() })
    }

    /// Records a line in the progress log, as of the iteration and the task of the call. Returns the line.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, such as for the 101st line of a call. After any other
    /// error the line may have been recorded.
    pub fn learn(&mut self, learned: &Learned) -> Result<Learned, RunClientError> {
        self.ask::<LearnVerb>(learned)
    }
}
