//! What a run tells whoever watches it.
//!
//! One [`Event`] enum is the whole interface between the engine and a terminal,
//! an editor or a service. As JSON an event is one flat object, an
//! [`EventRecord`] with the schema version, the time and the run.
//!
//! ```
//! use samuel_machine::event::EventRecord;
//!
//! let line = r#"{"schema_version": 1, "seq": 7, "at": "2026-01-01T00:00:00Z", "run_id": "r",
//!                "event": "warning", "message": "the disk is nearly full"}"#;
//! let record: EventRecord = serde_json::from_str(line)?;
//! assert_eq!((record.seq, &*record.run_id), (7, "r"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod report;

use std::num::NonZeroU32;

use samuel_agent::AgentEvent;
use samuel_hook::{HookPoint, Outcome};
use samuel_model::{
    ExitReason, FailureClass, IterationOutcome, Mark, TaskId, Usage,
    payload::{Actor, CheckFailure, Mode, TaskBrief, Turn},
};
use samuel_process::Process;
use serde::{Deserialize, Serialize};

pub use report::{RunFault, RunReport};

/// The version of the events' JSON form.
pub const EVENT_SCHEMA_VERSION: u32 = 1;

/// An event with what belongs to every event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// The version of the form; see [`EVENT_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The number of the event within its run, from 1. Events that a slow
    /// consumer lost leave a gap.
    pub seq: u64,
    /// When it happened, by the time of day. That may be set back in between:
    /// `elapsed_ms` says how long something took.
    pub at: jiff::Timestamp,
    /// Milliseconds since this part of the run was built. Never goes back.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// The run.
    pub run_id: std::sync::Arc<str>,
    /// The lane in which it happened, from 1; nothing where it is of the whole run, and in a run without lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl EventRecord {
    /// Returns the lane whose doing this is: none of what a person changed in the plan, whichever lane saw it first.
    pub fn doer(&self) -> Option<u32> {
        let is_of_person = matches!(self.event, Event::PlanChanged { actor: Actor::User, .. });
        self.lane.filter(|_| !is_of_person)
    }
}

/// Something that ends a run, or takes a task out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// Its setting, such as `session_budget.max_cost_usd`.
    pub setting: String,
    /// What it allows, such as `$5.00 a run`.
    pub words: String,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The run started, or goes on after an interruption.
    RunStarted {
        /// Whether it goes on.
        resumed: bool,
        /// The agent's name.
        agent: String,
        /// Its model, where one is configured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Which other agents and models its calls can have, on one line; nothing where none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        routing: Option<String>,
        /// How many iterations it may make; nothing where there is no limit.
        max_iterations: Option<NonZeroU32>,
        /// The tasks that it is for, beside what they depend on; none where it is for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
        /// What can end it, or take a task out of it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        guards: Vec<Guard>,
        /// The commit that was checked out then, where there was one; with lanes the head of the branch that work
        /// lands on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The id that the run had before it was interrupted, where it goes on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goes_on_from: Option<String>,
    },
    /// A landing without a loop starts, which tells nothing of what only loops do.
    LandingStarted {
        /// The branch that work lands on.
        into: String,
    },
    /// An iteration started.
    IterationStarted {
        /// The iteration, from 1.
        iteration: u32,
        /// What it is for.
        mode: Mode,
        /// The task it is for.
        task: Option<TaskBrief>,
    },
    /// The handlers of a point ran.
    HookFired {
        /// The point.
        point: HookPoint,
        /// The iteration, from 1; 0 outside one.
        iteration: u32,
        /// The turn it fired in.
        turn: Turn,
        /// What came of it.
        outcome: Outcome,
    },
    /// The agent is being called.
    AgentStarted {
        /// The iteration, from 1.
        iteration: u32,
        /// The turn.
        turn: Turn,
        /// The agent's name.
        agent: String,
        /// Its model, where the call has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Why it is this one, such as `route 1: complexity complex`.
        #[serde(default)]
        why: String,
    },
    /// The agent reported something.
    Agent {
        /// The iteration, from 1.
        iteration: u32,
        /// What it reported.
        report: AgentEvent,
    },
    /// The call of the agent ended.
    AgentFinished {
        /// The iteration, from 1.
        iteration: u32,
        /// The turn.
        turn: Turn,
        /// Its exit code, where it ran to its end.
        exit_code: Option<i32>,
        /// How it failed, where it did.
        failure: Option<IterationFailure>,
        /// What it consumed.
        usage: Usage,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// Where it failed, the files that hold what it printed, stdout before stderr and
        /// none that is empty, relative to the project's root.
        #[serde(default)]
        logs: Vec<String>,
    },
    /// A task was completed; a failed check can still take it back.
    TaskCompleted {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
        /// Whether a failed check can still take it back.
        provisional: bool,
        /// What is unusual about the completion, as far as it is known by then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        marks: Vec<Mark>,
    },
    /// A lane has begun to work on a task.
    TaskClaimed {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
        /// Which attempt it is, from 1: returned landings count.
        attempt: u32,
        /// Its branch.
        branch: String,
        /// The commit that the work begins at.
        base: String,
    },
    /// The work on a task is done and passed its check; it waits to be merged.
    TaskSubmitted {
        /// The task.
        task: TaskId,
        /// Its branch.
        branch: String,
        /// Its last commit.
        commit: String,
    },
    /// The work on a task is on the branch that work lands on: the task is completed.
    TaskLanded {
        /// The task.
        task: TaskId,
        /// The branch.
        into: String,
        /// The commit with its work there.
        commit: String,
    },
    /// Work did not land, and its task is free again, or blocked after its last attempt.
    TaskReturned {
        /// The task.
        task: TaskId,
        /// Which attempt it was, from 1.
        attempt: u32,
        /// Why, with the files in conflict or the failures.
        reason: String,
        /// Where its work is.
        kept: Option<String>,
        /// Whether the attempt does not count, as after a conflict.
        #[serde(default)]
        excused: bool,
    },
    /// Something is in the way of a landing, which is tried again.
    LandingHeld {
        /// The branch.
        into: String,
        /// What, with the files where it is files.
        reason: String,
    },
    /// The plan was changed beside the loop: by the agent, or by somebody else.
    PlanChanged {
        /// What became of it.
        change: PlanChange,
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
        /// Why, as far as whoever did it said so.
        reason: Option<String>,
        /// Who did it, as far as that is known.
        actor: Actor,
    },
    /// Completions were taken back.
    TasksTakenBack {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Why, one line each.
        reasons: Vec<String>,
    },
    /// The quality checks ran.
    QualityChecked {
        /// The iteration, from 1; 0 before the first, and with lanes where it is of none.
        iteration: u32,
        /// Whether the work stands: all passed, or what did not is only advice.
        ok: bool,
        /// How they went.
        #[serde(default)]
        result: CheckResult,
        /// Those that failed.
        failures: Vec<CheckFailure>,
        /// Which handler refused the work that named no failed check, and why, in its
        /// words: `lint:check.sh: 3 warnings`.
        #[serde(default)]
        reason: Option<String>,
        /// The commit that was checked out then, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The tasks whose work was merged and checked together, where the queue of a run with lanes checked it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        merged: Vec<TaskId>,
    },
    /// A handler kept the agent from calling a tool, or ended its turn because of
    /// a call.
    AbilityBlocked {
        /// The iteration, from 1.
        iteration: u32,
        /// The tool, such as `Bash`.
        ability_id: String,
        /// Why, in the handler's words.
        reason: String,
        /// Whether the call was prevented. Else it was seen too late, and the turn
        /// ended with it.
        prevented: bool,
    },
    /// The run refused what was asked over its socket: to an agent, or to somebody whom it does not know.
    RequestRefused {
        /// The iteration of the agent's call, from 1; 0 where it is not known whose call it is.
        iteration: u32,
        /// The task of that call, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
        /// The verb, as far as one was named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verb: Option<String>,
        /// The code, such as `E_BROKER_SCOPE`.
        code: String,
        /// What is wrong, in words.
        message: String,
        /// How many refusals of this code there were in the run by then. After the tenth only some are told:
        /// the 16th, the 32nd and so on.
        count: u64,
    },
    /// An iteration ended.
    IterationFinished {
        /// The iteration, from 1.
        iteration: u32,
        /// How it ended.
        outcome: IterationOutcome,
        /// How it failed, where it did.
        failure: Option<IterationFailure>,
        /// Tasks that stand completed because of it.
        completed: Vec<TaskId>,
        /// What it consumed.
        usage: Usage,
        /// How many iterations in a row have failed.
        consecutive_failures: u32,
        /// Whether it counts as no failure: it met a usage limit of the agent, or somebody settled its task or gave it
        /// back.
        #[serde(default)]
        excused: bool,
        /// Whether the agent ended well without saying what became of the task: it
        /// neither recorded it as done nor put it aside.
        #[serde(default)]
        unrecorded: bool,
        /// The commit that was checked out then, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The files that the agent left uncommitted, at most 100.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        uncommitted: Vec<String>,
        /// The commit in which Samuel stored these files, in a workspace of Samuel's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        committed_for_agent: Option<String>,
    },
    /// The run waits: for the pause between iterations, or for a usage limit.
    Waiting {
        /// How long, in milliseconds.
        wait_ms: u64,
        /// What for.
        reason: String,
        /// The end of the usage limit that is waited for; nothing in a pause.
        #[serde(default)]
        until: Option<jiff::Timestamp>,
    },
    /// Somebody asked something of the run from another process, or a signal of it.
    Commanded {
        /// What: `pause`, `resume`, `steer`, `cancel`, `stop`, `approve` or `deny`.
        command: String,
        /// Who: the user and the session, as `samuel` names them, or the signal, such as `SIGTERM`.
        by: String,
        /// What the agent is told with the next prompt.
        text: Option<String>,
    },
    /// A tool call waits for a person to approve it.
    ApprovalAsked {
        /// The iteration, from 1.
        iteration: u32,
        /// The number by which it is approved or denied.
        call: u64,
        /// The tool, such as `Bash`.
        ability_id: String,
        /// Its arguments in one line, shortened.
        input: String,
        /// Why a person is asked, in the handler's words.
        reason: String,
        /// How long it waits, in milliseconds.
        wait_ms: u64,
    },
    /// A tool call waits for a person no more.
    ApprovalGiven {
        /// Its number.
        call: u64,
        /// Whether it may be made.
        approved: bool,
        /// Why not.
        reason: Option<String>,
    },
    /// The run holds until it is resumed.
    Paused,
    /// The run goes on.
    Resumed,
    /// The run will end: after the iteration, or at once.
    Stopping {
        /// Why.
        reason: ExitReason,
        /// What led to it, in one line.
        detail: Option<String>,
    },
    /// Something the user should know.
    Warning {
        /// What there is to know.
        message: String,
    },
    /// Processes were ended, or could not be, without the supervisor that was to do
    /// that: it was killed.
    Swept {
        /// Whether all are gone for certain.
        swept: bool,
        /// Those that were ended, where they are known.
        ended: Vec<Process>,
        /// Those that could not be ended, where they are known.
        left: Vec<Process>,
    },
    /// Agent text was lost, because it was not read in time.
    Lagged {
        /// How many events.
        lost: u64,
    },
    /// The run ended. The last event.
    RunFinished(RunReport),
}

impl Event {
    /// Says whether a slow consumer may lose the event: only what the agent
    /// says, never a change of state.
    pub fn may_be_lost(&self) -> bool {
        matches!(self, Self::Agent { report: AgentEvent::Text { .. } | AgentEvent::Unreadable { .. }, .. })
    }

    /// Says whether it is the end of an iteration whose agent was stopped because its task was no longer the
    /// lane's: somebody settled it or gave it back. That is excused, as is what met a usage limit.
    pub fn lost_its_task(&self) -> bool {
        match self {
            Self::IterationFinished { excused: true, failure: Some(failure), .. } => {
                !matches!(failure.class, FailureClass::RateLimit | FailureClass::AgentStart)
            }
            _ => false,
        }
    }
}

/// What became of a task that was changed beside the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanChange {
    /// It is left out.
    Skipped,
    /// It cannot be worked on until somebody resets it.
    Blocked,
    /// It is pending again.
    Reset,
    /// It is new.
    Added,
    /// It was completed and is not any more, but is being worked on.
    Reopened,
    /// It says something else.
    Changed,
    /// It is in the plan no more.
    Removed,
    /// It waits for an answer to the question that is the reason.
    Asked,
    /// Its question was answered with the reason, and it is pending again.
    Answered,
    /// Its submitted work is not to be merged until somebody lets go of it.
    Held,
    /// Its submitted work, which somebody held, waits to be merged again.
    LetGo,
}

impl PlanChange {
    /// Says whether the task stands elsewhere because of it.
    #[doc(hidden)]
    pub fn moves(self) -> bool {
        !matches!(self, Self::Added | Self::Changed | Self::Removed | Self::Held | Self::LetGo)
    }

    /// Says whether it is about the work that was submitted for the task, and not the task.
    #[doc(hidden)]
    pub fn is_of_queue(self) -> bool {
        matches!(self, Self::Held | Self::LetGo)
    }
}

/// How the quality checks went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckResult {
    /// All passed.
    #[default]
    Passed,
    /// Something failed, and what the iteration completed was taken back.
    Failed,
    /// Something failed, and `strict = false` makes that advice.
    Advisory,
    /// They were cancelled, and say nothing about the work.
    Cancelled,
    /// Nothing is there that could be asked.
    Unverified,
}

/// How an iteration or an agent call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationFailure {
    /// The kind of thing that failed.
    pub class: FailureClass,
    /// What failed, in one line.
    pub message: String,
}
