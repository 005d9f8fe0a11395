//! What `wit/v1/loop.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{Extensions, Mode, TaskBrief, TextItem, yes};
use crate::words;

/// `before:loop`: what a handler is given.
///
/// Gate. Fires once, before the first iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeLoopInput {
    /// The task file, absolute.
    #[cfg_attr(feature = "wasm", component(name = "prd-path"))]
    pub prd_path: String,
    /// How many iterations this run may make; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "max-iterations"))]
    pub max_iterations: Option<u32>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `before:loop`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeLoopOutput {
    /// Whether the loop may start.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for BeforeLoopOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

/// `before:iteration`: what a handler is given.
///
/// Gate, text. Fires at the start of each iteration. A
/// refusal fails the iteration before the agent is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeIterationInput {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The task it is for; absent in discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskBrief>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `before:iteration`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeIterationOutput {
    /// Whether the iteration may run.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Text for the agent.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for BeforeIterationOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// `iteration.gate`: what a handler is given.
///
/// Decide. Says whether the loop goes on, and in which mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct IterationGateInput {
    /// The iteration, from 1.
    pub iteration: u32,
    /// How many iterations in a row failed before this one.
    #[cfg_attr(feature = "wasm", component(name = "consec-fails"))]
    pub consec_fails: u32,
    /// How many tasks are pending.
    #[cfg_attr(feature = "wasm", component(name = "queue-size"))]
    pub queue_size: u32,
    /// The mode the iteration will have.
    pub mode: Mode,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `iteration.gate`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct IterationGateOutput {
    /// Whether the loop goes on; all handlers must agree.
    #[serde(rename = "continue")]
    #[cfg_attr(feature = "wasm", component(name = "continue"))]
    pub proceed: bool,
    /// Another mode for the iteration; the last handler's wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Why the loop ends, or why the mode changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for IterationGateOutput {
    fn default() -> Self {
        Self {
            proceed: true,
            mode: Default::default(),
            reason: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// A check that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct CheckFailure {
    /// The command, or the name of the check.
    pub command: String,
    /// What is wrong, in one line.
    pub message: String,
    /// The exit code, where a command ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "exit-code"))]
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub tail: String,
    /// The file that holds all of its output, relative to the project where it
    /// is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// `quality.check`: what a handler is given.
///
/// List, verdict. Fires after each agent call of an iteration.
/// Failures of all handlers are concatenated and reach the next prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct QualityCheckInput {
    /// The configured commands, in the order they run.
    pub commands: Vec<String>,
    /// The files that differ from the commit the iteration started at, relative to
    /// the project; without those below `.samuel`, `.system/logs` and
    /// `.system/cache`. Absent where that is unknown, as without a git repository or
    /// where what is checked is no iteration's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "changed-files"))]
    pub changed_files: Option<Vec<String>>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `quality.check`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct QualityCheckOutput {
    /// Whether all checks passed.
    pub ok: bool,
    /// Why not, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The checks that failed.
    #[serde(default)]
    pub failures: Vec<CheckFailure>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for QualityCheckOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            failures: Default::default(),
            extensions: Default::default(),
        }
    }
}

words! {
    /// How an iteration ended.
    #[derive(Default)]
    IterationOutcome ("iteration outcome") {
        /// The agent ended well and every check passed.
        #[default]
        Succeeded = "succeeded",
        /// Something failed; the failure counts.
        Failed = "failed",
        /// The caller ended it.
        Cancelled = "cancelled",
    }
}

/// `after:iteration`: what a handler is given.
///
/// Observe, text. Fires after each iteration, failed ones
/// included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterIterationInput {
    /// The iteration, from 1.
    pub iteration: u32,
    /// The task it was for; absent in discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskBrief>,
    /// How it ended.
    pub outcome: IterationOutcome,
    /// The files that differ from the commit the iteration started at, relative to
    /// the project; without those below `.samuel`, `.system/logs` and
    /// `.system/cache`. Absent where that is unknown, as without a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "changed-files"))]
    pub changed_files: Option<Vec<String>>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `after:iteration`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterIterationOutput {
    /// Whether the handler is content; `false` is a warning.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Text for the agent.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for AfterIterationOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// `iteration.error`: what a handler is given.
///
/// Observe, text. Fires when an iteration failed. Text is
/// sent to the agent at once, in one recovery turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct IterationErrorInput {
    /// What went wrong.
    pub error: String,
    /// The class of the failure, such as `agent-exit`.
    pub class: String,
    /// How many iterations in a row have failed, this one included.
    #[cfg_attr(feature = "wasm", component(name = "consec-fails"))]
    pub consec_fails: u32,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `iteration.error`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct IterationErrorOutput {
    /// Text for the recovery turn.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

words! {
    /// Who completed the task.
    #[derive(Default)]
    Actor ("actor") {
        /// The agent, through a mutation command.
        #[default]
        Agent = "agent",
        /// A user.
        User = "user",
        /// Samuel itself.
        Runtime = "runtime",
        /// Whoever changed the plan's file instead of asking Samuel.
        External = "external",
    }
}

/// `task.completed`: what a handler is given.
///
/// Observe, text. Fires once for each completion, while the
/// agent is still at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct TaskCompletedInput {
    /// The id of the task.
    #[cfg_attr(feature = "wasm", component(name = "task-id"))]
    pub task_id: String,
    /// Its title, and its description below.
    #[cfg_attr(feature = "wasm", component(name = "task-content"))]
    pub task_content: String,
    /// Who completed it.
    pub actor: Actor,
    /// Whether a failed quality check can still take it back.
    pub provisional: bool,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `task.completed`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct TaskCompletedOutput {
    /// Text for the agent.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `after:loop`: what a handler is given.
///
/// Observe. Fires once, after the last iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterLoopInput {
    /// How many iterations the run made.
    #[cfg_attr(feature = "wasm", component(name = "iterations-run"))]
    pub iterations_run: u32,
    /// Why the loop ended, such as `completed`.
    #[cfg_attr(feature = "wasm", component(name = "exit-reason"))]
    pub exit_reason: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `after:loop`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterLoopOutput {
    /// Whether the handler is content; `false` is a warning.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for AfterLoopOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}
