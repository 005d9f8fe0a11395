//! What the machine is told and what it asks for.

use samuel_agent::{AbilityCall, AbilityDecision, AbilityResult, ConversationId, ToolCallFacts};
use samuel_hook::{HookCall, Outcome, Said};
use samuel_model::{
    Question, Scope, TaskId, Usage,
    payload::{Actor, AgentInvokeOutput, BeforeAgentInvokeInput, CheckFailure, Json, Mode, Turn},
};
use samuel_state::{Mutation, ProgressKind, RunEnd, plan::Work};
use serde::{Deserialize, Serialize};

use super::PlanChanged;
use crate::event::{Event, IterationFailure, RunFault};

/// The number of an effect within its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EffectId(pub u64);

/// Something the machine is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", content = "data", rename_all = "snake_case")]
pub enum Input {
    /// Begin.
    Start,
    /// Go on from a saved state; what was in flight is lost.
    Resume {
        /// The tasks completed since the state was saved, by whomever.
        completed: Vec<TaskId>,
        /// The tasks that an edit of prd.toon skipped since then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<TaskId>,
        /// Whether the iteration under way was committed since then.
        committed: bool,
        /// Whether an iteration began since then, which was not saved.
        began: bool,
    },
    /// An effect was carried out.
    Done(EffectId, EffectResult),
    /// The program that holds the run wants something of it.
    Command(Command),
    /// Somebody whose name is told wants something of the run.
    CommandOf {
        /// What is wanted.
        command: Command,
        /// Who wants it.
        by: String,
    },
    /// A task was completed.
    TaskCompleted(Completion),
    /// Somebody else changed the plan in another way.
    PlanChanged(PlanChanged),
    /// Nothing was changed for tasks that the check under way was to decide on: they are reopened, and the iteration
    /// fails. The check decides on the others.
    Unchanged {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Why they are reopened.
        why: String,
    },
    /// Something may have been completed that nobody tells of: a whole plan was
    /// stored, or the journal cannot be read.
    Unheard,
    /// The agent is about to call a tool.
    AbilityBefore(AbilityNotice),
    /// A tool call ended.
    AbilityAfter(EndedAbility),
    /// Whoever asked about a tool call, by this ticket, waits no more.
    AbilityGivenUp(u64),
    /// What handlers said was to be handed to the model at once, and did not reach it.
    Undelivered(Vec<Said>),
    /// What the user said waits here still, and agents of other lanes were given it.
    DeliveredElsewhere(Vec<String>),
    /// The task of the iteration under way is not this lane's any more: somebody settled it, or gave it back.
    /// Its agent is stopped, and no attempt is counted.
    Unclaimed,
    /// What the agent call under way consumed so far.
    UsageSoFar(Usage),
    /// The time of the whole run is up.
    WallClock,
}

/// What somebody wants of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Hold after the iteration.
    Pause,
    /// Go on.
    Resume,
    /// Tell the agent something with the next prompt.
    Steer(String),
    /// End after the iteration.
    Cancel,
    /// End now: the agent is stopped.
    Stop,
    /// Let a tool call be made that waits for approval.
    Approve {
        /// Its number, as [`Event::ApprovalAsked`] tells it.
        call: u64,
        /// What the agent is told with the next prompt.
        text: Option<String>,
    },
    /// Keep a tool call back that waits for approval.
    Deny {
        /// Its number, as [`Event::ApprovalAsked`] tells it.
        call: u64,
        /// Why, for the agent to read.
        text: Option<String>,
    },
}

impl Command {
    /// Returns the word for it, as in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Steer(_) => "steer",
            Self::Cancel => "cancel",
            Self::Stop => "stop",
            Self::Approve { .. } => "approve",
            Self::Deny { .. } => "deny",
        }
    }

    /// Returns what the agent is told.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Steer(text) => Some(text),
            Self::Approve { text, .. } | Self::Deny { text, .. } => text.as_deref(),
            _ => None,
        }
    }
}

/// A task that was completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Who says to have completed it.
    pub actor: Actor,
    /// The number of the journal's record.
    pub seq: u64,
    /// Whether an agent completed it by a command that this run carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_call: bool,
    /// Whether an edit of prd.toon completed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_edit: bool,
    /// Whether agents of other workers are at work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_at_work: bool,
}

/// A tool call that is about to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbilityNotice {
    /// The call.
    pub call: AbilityCall,
    /// Who makes it.
    pub caller: String,
    /// Whom to answer, where a block really prevents the call.
    pub ticket: Option<u64>,
}

/// A tool call that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndedAbility {
    /// How it ended.
    pub result: AbilityResult,
    /// What there is to know of the call beside that.
    #[serde(default)]
    pub facts: ToolCallFacts,
    /// Whom to answer once the handlers ran, where somebody waits.
    pub ticket: Option<u64>,
}

/// What is answered to whoever waits for the handlers of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbilityAnswer {
    /// Those of `ability.before` decided.
    Decided(AbilityDecision),
    /// Those of `ability.after` said this for the model.
    Told(AtOnce),
}

/// What is said to the model at once. Where it cannot be handed on so it is empty, and what handlers
/// said waits for the next prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtOnce {
    /// Each text, framed with who said it.
    pub text: Vec<String>,
    /// The same, for [`Input::Undelivered`].
    pub said: Vec<Said>,
}

/// Something the machine asks for. Those up to `Delivered` are carried out in
/// order and at once; the others take time and end with [`Input::Done`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", content = "data", rename_all = "snake_case")]
pub enum Effect {
    /// Tell whoever watches.
    Emit(Event),
    /// Append to the progress log.
    Log(LogLine),
    /// Save the machine as it is now.
    Checkpoint,
    /// Stop carrying out an effect.
    Interrupt(EffectId),
    /// Answer a tool call.
    Answer {
        /// Who waits.
        ticket: u64,
        /// The answer.
        answer: AbilityAnswer,
    },
    /// Reopen tasks that were completed or skipped in a way that does not count.
    Reopen {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// Why.
        reasons: Vec<String>,
    },
    /// Take down, in one of several lanes, that its agent was given what the user said.
    Delivered(Vec<String>),
    /// Hand in what is done, in one of several lanes, so that it lands while the lane holds.
    HandIn,
    /// Load the plan and say what it leaves to do of the run's tasks.
    Load(Scope),
    /// Change the plan.
    Mutate(Mutation),
    /// Fire a hook point.
    Dispatch {
        /// The point and its input.
        call: Box<HookCall>,
        /// The turn it fires in.
        turn: Turn,
    },
    /// Take a fingerprint of the work tree.
    Fingerprint,
    /// Wait.
    Sleep(Wait),
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// So many milliseconds.
    For(u64),
    /// Until a moment.
    Until(jiff::Timestamp),
}

/// A line for the progress log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// What it is about.
    pub kind: ProgressKind,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The words.
    pub text: String,
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", content = "data", rename_all = "snake_case")]
pub enum EffectResult {
    /// It is done, and there is nothing to say.
    Done,
    /// The plan, as far as the machine needs it.
    Loaded(Box<WorkLeft>),
    /// A hook point fired.
    Hook(Box<HookReply>),
    /// The fingerprint of the work tree.
    Fingerprint(String),
    /// The quality check was not made, or does not count, because what decides
    /// what runs was changed.
    ControlFilesChanged {
        /// The files.
        files: String,
        /// Whether they were as they should be before the check.
        during_check: bool,
    },
    /// The plan does not allow the change, for this reason; the run goes on.
    Refused(String),
    /// It failed in a way that the run cannot go on from.
    Failed(RunFault),
}

/// What a plan leaves to do, as it was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkLeft {
    /// What is left.
    pub work: Work,
    /// What was asked about the task that is next and answered since, which its agent was not given yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Question>,
    /// The control files that were changed, in one line, where any were: the run ends.
    pub changed: Option<String>,
    /// How many of the run's tasks are pending or in progress.
    pub queue_size: u32,
    /// The mode the iteration will have unless a handler of the gate says
    /// otherwise.
    pub mode: Mode,
    /// How long the run has been under way, in milliseconds; the driver knows it.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// What the scheduler adds, in a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneWork>,
}

/// What the scheduler adds to what a plan leaves to do for one of several lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneWork {
    /// The number that an iteration gets, which no other lane has.
    pub iteration: u32,
    /// How many attempts at the task have failed, over all lanes: iterations, and landings that came back.
    pub attempts: u32,
    /// Why the lane ends, where it does whatever is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<RunEnd>,
    /// How many discovery iterations in a row found nothing, over all lanes; 0 unless the lane is the one that ends the
    /// run for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty_discoveries: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What the handlers of a point answered, as far as the machine needs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HookReply {
    /// What they said and did.
    pub outcome: Outcome,
    /// What is particular to the point.
    pub data: ReplyData,
}

/// What is particular to a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyData {
    /// Nothing.
    #[default]
    Nothing,
    /// `iteration.gate`: the mode the iteration gets.
    Mode(Option<Mode>),
    /// `before:agent.invoke`: what the agent is called with.
    Invocation(Box<BeforeAgentInvokeInput>),
    /// `agent.invoke`: how the call ended.
    Agent(Box<AgentEnd>),
    /// `quality.check`: the checks that failed.
    Checks(Vec<CheckFailure>),
    /// `ability.before`: the arguments as handlers left them.
    Ability(Option<Json>),
    /// `ability.before` where a human should decide: the arguments as handlers left them.
    AbilityAsks(Option<Json>),
}

/// How a call of the agent ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentEnd {
    /// The agent that was called.
    #[serde(default)]
    pub agent: String,
    /// What it answered, where it ran to its end.
    pub output: Option<AgentInvokeOutput>,
    /// How it failed, where it did not.
    pub failure: Option<IterationFailure>,
    /// The conversation it was in, where it named one.
    #[serde(default)]
    pub conversation: Option<ConversationId>,
    /// When a usage limit ends.
    pub resets_at: Option<jiff::Timestamp>,
    /// The time of day when the call ended.
    #[serde(default)]
    pub ended_at: jiff::Timestamp,
    /// What it consumed.
    pub usage: Usage,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl AgentEnd {
    /// Returns the exit code of an agent that ran to its end.
    pub(super) fn exit_code(&self) -> Option<i32> {
        let ended = self.output.as_ref().filter(|output| output.failure.is_none());
        ended.map(|output| output.exit_code)
    }
}
