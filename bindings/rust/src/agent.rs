//! In the agent's place: what a handler of `agent.invoke` reports while it works, and asks
//! before it uses a tool. No capability is needed.
//!
//! ```no_run
//! use samuel_plugin::{AgentInvoke, AgentInvokeInput, AgentInvokeOutput, CallHeader, HookFailure, agent};
//!
//! struct Own;
//!
//! impl AgentInvoke for Own {
//!     fn agent_invoke(_: CallHeader, _: AgentInvokeInput) -> Result<AgentInvokeOutput, HookFailure> {
//!         agent::say("I begin")?;
//!         match agent::before_ability("1", "Write", &serde_json::json!({ "path": "notes.md" }))? {
//!             agent::Decision::Allow(_) => { /* write the file, then agent::after_ability */ }
//!             agent::Decision::Block(reason) => agent::say(reason)?,
//!         }
//!         Ok(AgentInvokeOutput::default())
//!     }
//! }
//! ```
//!
//! At other points every function is [`HostError::Unsupported`]; outside of a run nobody
//! hears it, and every tool call may be made. One call reports at most 10,000 times and
//! 64 MiB; the rest is left out.

use serde_core::Serialize;

#[doc(inline)]
pub use crate::host::bindings::samuel::plugin::agent_port::{Decision, ToolCall, ToolResult};
use crate::{HookFailure, Usage, failure::HostError, host::bindings::samuel::plugin::agent_port as port};

/// Reports that the agent is up, with its own name for its session and its model.
///
/// # Errors
/// Returns [`HostError::Unsupported`] at another point, as all of them do.
pub fn ready(session_id: Option<&str>, model: Option<&str>) -> Result<(), HostError> {
    Ok(port::ready(session_id, model)?)
}

/// Reports what the agent says; 16 KiB are kept.
///
/// # Errors
/// As [`ready`].
pub fn say(text: impl AsRef<str>) -> Result<(), HostError> {
    Ok(port::say(text.as_ref())?)
}

/// Reports a tool call that is made without asking.
///
/// # Errors
/// As [`ready`], and [`HostError::Invalid`] where its input is no JSON.
pub fn tool_called(call: &ToolCall) -> Result<(), HostError> {
    Ok(port::tool_called(call)?)
}

/// Reports how such a call ended.
///
/// # Errors
/// As [`ready`].
pub fn tool_ended(ended: &ToolResult) -> Result<(), HostError> {
    Ok(port::tool_ended(ended)?)
}

/// Reports what this call consumed so far, as a running total. It counts for the
/// budget at once.
///
/// # Errors
/// As [`ready`].
pub fn consumed(so_far: Usage) -> Result<(), HostError> {
    Ok(port::consumed(so_far)?)
}

/// Reports that the agent asked for something it may not do.
///
/// # Errors
/// As [`ready`].
pub fn permission_denied(tool: &str, message: &str) -> Result<(), HostError> {
    Ok(port::permission_denied(tool, message)?)
}

/// Reports that the provider refuses because of a usage limit, and when that ends, such
/// as `2026-11-21T10:00:00Z`.
///
/// # Errors
/// As [`ready`], and [`HostError::Invalid`] for what is no time.
pub fn rate_limited(resets_at: Option<&str>, message: &str) -> Result<(), HostError> {
    Ok(port::rate_limited(resets_at, message)?)
}

/// Asks whether a tool call may be made, and waits for the handlers of `ability.before`.
///
/// # Errors
/// As [`ready`], and the serializer's error where the input is not JSON.
pub fn before_ability(call_id: &str, tool: &str, input: &impl Serialize) -> Result<Decision, HookFailure> {
    let input = serde_json::to_string(input)?;
    let call = ToolCall { call_id: call_id.to_owned(), ability_id: tool.to_owned(), input, parent_id: None };
    Ok(port::before_ability(&call).map_err(HostError::from)?)
}

/// Reports how a call that was asked about ended, and waits for the handlers of
/// `ability.after`. Returns what they said for the model, each text framed with who said it,
/// where `takes_text` is set; else that waits for the next prompt.
///
/// # Errors
/// As [`ready`].
pub fn after_ability(ended: &ToolResult) -> Result<Vec<String>, HostError> {
    Ok(port::after_ability(ended)?)
}
