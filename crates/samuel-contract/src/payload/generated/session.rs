//! What `wit/v1/session.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{AbilityStatus, Extensions, HookResults, Json, TextItem, json_text, yes};
use crate::words;

words! {
    /// Whether the session is new or goes on after an interruption.
    #[derive(Default)]
    SessionSource ("session source") {
        /// A new session.
        #[default]
        Startup = "startup",
        /// A session that goes on after an interruption.
        Resume = "resume",
    }
}

/// `session.start`: what a handler is given.
///
/// Observe, text, results. Fires once, before the loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionStartInput {
    /// The name of the session.
    pub session: String,
    /// Whether it is new.
    pub source: SessionSource,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `session.start`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionStartOutput {
    /// Whether the handler is content; `false` is a warning.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Text for the agent.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// What a repository hook reports.
    #[serde(default)]
    pub results: HookResults,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for SessionStartOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            text: Default::default(),
            results: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// `session.stop`: what a handler is given.
///
/// Gate, results. Fires when the loop is about to end. A block
/// gives the agent one more turn with the reason, at most eight in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionStopInput {
    /// The exit reason the loop is about to end with.
    pub reason: String,
    /// The files that differ from the commit the run started at, relative to the
    /// project, also where it was cut off since; without those below `.samuel`,
    /// `.system/logs` and `.system/cache`. Absent where that is unknown, as without
    /// a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "changed-files"))]
    pub changed_files: Option<Vec<String>>,
    /// How many stops in a row were blocked before this one.
    #[cfg_attr(feature = "wasm", component(name = "stop-block-count"))]
    pub stop_block_count: u32,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `session.stop`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionStopOutput {
    /// Whether the loop should not end yet.
    pub block: bool,
    /// Why not, for the agent to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a repository hook reports.
    #[serde(default)]
    pub results: HookResults,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `session.end`: what a handler is given.
///
/// Observe. Fires once, as the last point of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionEndInput {
    /// Why the run ended, such as `completed`.
    #[cfg_attr(feature = "wasm", component(name = "exit-reason"))]
    pub exit_reason: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `session.end`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SessionEndOutput {
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

impl Default for SessionEndOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

/// `prompt.submit`: what a handler is given.
///
/// Gate, results. Fires before a prompt is put together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct PromptSubmitInput {
    /// Where the input comes from: `task` in the loop, else the caller's word.
    pub source: String,
    /// What was asked for; in the loop the brief of the task.
    #[cfg_attr(feature = "wasm", component(name = "user-raw-input"))]
    pub user_raw_input: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `prompt.submit`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct PromptSubmitOutput {
    /// Whether the prompt must not be sent; the iteration then fails.
    pub block: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a repository hook reports.
    #[serde(default)]
    pub results: HookResults,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `ability.before`: what a handler is given.
///
/// Transform, verdict, results. Fires before each tool call of the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityBeforeInput {
    /// The id of the ability, such as `Bash`.
    #[cfg_attr(feature = "wasm", component(name = "ability-id"))]
    pub ability_id: String,
    /// The agent's id for the call, the same before and after it; absent where
    /// it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "call-id"))]
    pub call_id: Option<String>,
    /// What the caller of a `Session` gave to group calls of one kind; absent
    /// for the calls of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "operation-key"))]
    pub operation_key: Option<String>,
    /// The arguments of the call.
    #[serde(with = "json_text")]
    pub input: Json,
    /// Who makes the call, such as `claude`.
    pub caller: String,
    /// Whether a block really prevents the call. Where Samuel only sees it in
    /// the agent's output, a block cancels the turn.
    pub enforced: bool,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `ability.before`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityBeforeOutput {
    /// Whether the call must not be made.
    pub block: bool,
    /// Why not, for the agent to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether a human should decide.
    #[serde(default)]
    pub ask: bool,
    /// Other arguments to make the call with.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_text::option")]
    #[cfg_attr(feature = "wasm", component(name = "updated-input"))]
    pub updated_input: Option<Json>,
    /// What a repository hook reports.
    #[serde(default)]
    pub results: HookResults,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `ability.after`: what a handler is given.
///
/// Observe, text, results. Fires after each tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityAfterInput {
    /// The id of the ability, such as `Bash`.
    #[cfg_attr(feature = "wasm", component(name = "ability-id"))]
    pub ability_id: String,
    /// The agent's id for the call, the same before and after it; absent where
    /// it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "call-id"))]
    pub call_id: Option<String>,
    /// What the caller of a `Session` gave to group calls of one kind; absent
    /// for the calls of agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "operation-key"))]
    pub operation_key: Option<String>,
    /// How the call ended.
    pub status: AbilityStatus,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "duration-ms"))]
    pub duration_ms: Option<u64>,
    /// The arguments, a JSON document shortened to 4 KiB; absent where the agent
    /// does not tell them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "input-summary"))]
    pub input_summary: Option<String>,
    /// The result, shortened to 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "output-summary"))]
    pub output_summary: Option<String>,
    /// The calls this one was made from, such as the one that started a subagent,
    /// by the agent's ids for them, outermost first.
    #[cfg_attr(feature = "wasm", component(name = "tool-call-path"))]
    pub tool_call_path: Vec<String>,
    /// The files that a file tool which succeeded names in its arguments, relative
    /// to the project where they are in it; without those below `.samuel`,
    /// `.system/logs` and `.system/cache`. Absent where that is unknown, as for
    /// shell commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "changed-files"))]
    pub changed_files: Option<Vec<String>>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `ability.after`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityAfterOutput {
    /// Text for the agent.
    #[serde(default)]
    pub text: Vec<TextItem>,
    /// What a repository hook reports.
    #[serde(default)]
    pub results: HookResults,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}
