//! What an agent reports while it works.

use samuel_model::{
    Usage,
    payload::{AbilityStatus, Json},
};
use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

/// One thing an agent reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The agent is up; some name their own session, and some of them only at its end. A later
    /// turn goes on in the one that was named last.
    Ready {
        /// The agent's name for its session.
        session_id: Option<String>,
        /// The model it uses.
        model: Option<String>,
    },
    /// The agent says something. A slow consumer may lose these.
    Text {
        /// What it says, capped by the adapter.
        text: String,
    },
    /// The agent calls a tool, which Samuel sees but cannot prevent.
    ToolCall(AbilityCall),
    /// A tool call ended.
    ToolResult(AbilityResult),
    /// What was consumed so far by this call of the agent, as a running total.
    Usage(Usage),
    /// The agent asked for something it may not do.
    PermissionDenied {
        /// The tool, such as `Bash`.
        tool: String,
        /// What it was refused, capped by the adapter.
        message: String,
    },
    /// The provider refuses because of a usage limit.
    RateLimited {
        /// When the limit ends, where the provider says.
        resets_at: Option<jiff::Timestamp>,
        /// The provider's words.
        message: String,
    },
    /// The wall clock will end the agent soon.
    SoftDeadline {
        /// Milliseconds that are left.
        remaining_ms: u64,
    },
    /// A line of the stream the adapter could not read, which it went over.
    Unreadable {
        /// The start of the line.
        line: String,
    },
}

/// A tool call of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityCall {
    /// The agent's id for the call, unique within one call of the agent.
    #[cfg_attr(feature = "wasm", component(name = "call-id"))]
    pub call_id: String,
    /// The tool, such as `Bash`.
    #[cfg_attr(feature = "wasm", component(name = "ability-id"))]
    pub ability_id: String,
    /// The arguments, a JSON document.
    #[serde(with = "samuel_model::payload::json_text")]
    pub input: Json,
    /// The agent's id for the call that this one was made from, such as the one that started a
    /// subagent; nothing where the agent itself made it, or does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "wasm", component(name = "parent-id"))]
    pub parent_id: Option<String>,
}

/// How a tool call of an agent ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct AbilityResult {
    /// The agent's id for the call.
    #[cfg_attr(feature = "wasm", component(name = "call-id"))]
    pub call_id: String,
    /// The tool, such as `Bash`.
    #[cfg_attr(feature = "wasm", component(name = "ability-id"))]
    pub ability_id: String,
    /// How it ended.
    #[serde(default)]
    pub status: AbilityStatus,
    /// How long it took, in milliseconds, where that is known.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "duration-ms"))]
    pub duration_ms: Option<u64>,
    /// The result, capped by the adapter.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "output-summary"))]
    pub output_summary: Option<String>,
    /// The arguments, a JSON document; needed only where nobody reported or asked about the call
    /// before it was made.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "samuel_model::payload::json_text::option"
    )]
    pub input: Option<Json>,
    /// Whether whoever reports this hands the model at once what handlers say about it. Else it
    /// waits for the next prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "wasm", component(name = "takes-text"))]
    pub takes_text: bool,
}

/// What the handlers of `ability.before` decided about an enforced call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum AbilityDecision {
    /// The call is made with these arguments.
    Allow {
        /// The arguments, as handlers left them.
        #[serde(with = "samuel_model::payload::json_text")]
        input: Json,
    },
    /// The call is not made.
    Block {
        /// Why not, for the agent to read.
        reason: String,
    },
}
