//! What `wit/v1/agent.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{Extensions, Extra, TaskBrief, Usage, yes};
use crate::words;

/// `before:agent.invoke`: what a handler is given.
///
/// Transform, verdict. Changes what the agent is called with.
/// The environment's deny list is applied again after the last handler.
/// A plugin cannot choose another agent or sandbox.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeAgentInvokeInput {
    /// The agent, such as `claude`.
    pub agent: String,
    /// The prompt as it stands.
    pub prompt: String,
    /// The agent's variables with their values. A plugin is given those alone
    /// that its capability `env` covers.
    pub env: Vec<(String, String)>,
    /// The names of all the agent's variables.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "env-names"))]
    pub env_names: Vec<String>,
    /// The sandbox, such as `host`.
    pub sandbox: String,
    /// What `context.snapshot` made, TOON. This and the three below are what the
    /// prompt of a main turn is composed of, and empty in other turns.
    #[serde(default)]
    pub snapshot: String,
    /// What `context.progress` made, Markdown.
    #[serde(default)]
    pub progress: String,
    /// What `context.task` made, TOON.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "task-context"))]
    pub task_context: String,
    /// What `context.extra` made, in order.
    #[serde(default)]
    pub extras: Vec<Extra>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `before:agent.invoke`: what a handler answers.
///
/// What to change; an absent field stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct BeforeAgentInvokeOutput {
    /// Another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Another prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Variables to set, and those without a value to take away; the others
    /// stay as they are. A plugin needs `agent.env` for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, Option<String>)>,
    /// Another sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Whether the agent may be called; `false` fails the iteration.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for BeforeAgentInvokeOutput {
    fn default() -> Self {
        Self {
            agent: Default::default(),
            prompt: Default::default(),
            env: Default::default(),
            sandbox: Default::default(),
            ok: true,
            reason: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// `agent.invoke`: what a handler is given.
///
/// Replace. Runs the agent. Only the last handler in order is
/// called; the others are shadowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AgentInvokeInput {
    /// The agent, such as `claude`.
    pub agent: String,
    /// The prompt.
    pub prompt: String,
    /// The agent's variables with their values. A plugin is given those alone
    /// that its capability `env` covers.
    pub env: Vec<(String, String)>,
    /// The names of all the agent's variables.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "env-names"))]
    pub env_names: Vec<String>,
    /// The sandbox, such as `host`.
    pub sandbox: String,
    /// The task the call is about; absent in discovery and in the last turns of a
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskBrief>,
    /// The conversation that an extra turn goes on in: the session that this agent
    /// named when it was ready in an earlier turn of the iteration. Absent in main
    /// turns and where it named none. The prompt is for either: who cannot go on
    /// there begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

words! {
    /// What kind of failure it is.
    #[derive(Default)]
    AgentFailureClass ("agent failure class") {
        /// The agent could not be started.
        #[default]
        AgentStart = "agent-start",
        /// The agent did not come to its own end, or says itself that it failed.
        AgentExit = "agent-exit",
        /// The agent was ended by a clock.
        AgentTimeout = "agent-timeout",
        /// The agent's provider refused because of a usage limit. The run waits for
        /// its end, as it is configured.
        RateLimit = "rate-limit",
        /// The call was cancelled.
        Interrupted = "interrupted",
    }
}

/// How an agent failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AgentFailure {
    /// What kind of failure it is.
    pub class: AgentFailureClass,
    /// What happened, in one line.
    pub message: String,
    /// When a usage limit ends, such as `2026-11-21T10:00:00Z`, where the
    /// provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "resets-at"))]
    pub resets_at: Option<String>,
}

/// `agent.invoke`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AgentInvokeOutput {
    /// The agent's exit code; 0 is success.
    #[cfg_attr(feature = "wasm", component(name = "exit-code"))]
    pub exit_code: i32,
    /// What it printed, shortened to head and tail.
    #[serde(default)]
    pub stdout: String,
    /// What it printed as errors, shortened to head and tail.
    #[serde(default)]
    pub stderr: String,
    /// What the call consumed, also where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How the agent failed, where it did not run to its end; its exit code then
    /// says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<AgentFailure>,
    /// The files that hold all that it printed, relative to the project where
    /// they are in it. They are told where the call failed.
    #[serde(default)]
    pub logs: Vec<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `after:agent.invoke`: what a handler is given.
///
/// Observe. Fires after each agent call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterAgentInvokeInput {
    /// The agent's exit code; 0 is success.
    #[cfg_attr(feature = "wasm", component(name = "exit-code"))]
    pub exit_code: i32,
    /// What it printed, shortened to head and tail.
    pub stdout: String,
    /// What it printed as errors, shortened to head and tail.
    pub stderr: String,
    /// How long the call took, in milliseconds.
    #[cfg_attr(feature = "wasm", component(name = "duration-ms"))]
    pub duration_ms: u64,
    /// What the call consumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `after:agent.invoke`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AfterAgentInvokeOutput {
    /// Whether the handler is content; `false` fails the iteration where the
    /// point is strict.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for AfterAgentInvokeOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}
