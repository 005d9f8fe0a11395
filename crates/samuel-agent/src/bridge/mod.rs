//! The agents' own hook protocols, one file each.
//!
//! Agents can start a command at points of their own and take its answer: before a tool call, after
//! it, when a prompt was submitted. A [`Protocol`] translates between what such a command is given
//! and prints, and the hook points: it [reads](Protocol::read) the agent's words as a
//! [`BridgeEvent`], and says a [`HookAnswer`] in them. The adapters of these agents wire the command for
//! one call where a run asks for it ([`AgentRequest::bridge`](super::AgentRequest::bridge)), without
//! a file of the user's or the repository's.
//!
//! ```
//! use samuel_agent::bridge::{self, HookAnswer, BridgeEvent};
//!
//! let claude = bridge::protocol("claude").expect("it is one of the four");
//! let stdin = br#"{"session_id": "s", "cwd": "/work", "hook_event_name": "PreToolUse",
//!     "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "rm -rf /"}}"#;
//! let asked = bridge::read(claude, stdin, None)?;
//! assert!(matches!(&asked.event, BridgeEvent::Before(call) if call.ability_id == "Bash"));
//!
//! let output = claude.answer(&asked, &HookAnswer::blocked("not on my disk"));
//! assert!(output.stdout.contains(r#""permissionDecision":"deny""#));
//! # Ok::<(), bridge::BridgeError>(())
//! ```
//!
//! Nothing here does I/O: who asks the run, or fires the points, is
//! the runner's, and who writes the files of a wiring is the agent's adapter.

mod claude;
mod codex;
mod copilot;
mod event;
mod gemini;
mod hook_json;
mod json_with_comments;
mod payload;
mod wiring;

use event::MAX_SESSION;
pub use event::{At, BridgeError, BridgeEvent, BridgeOutput, EndedCall, EventKind, HookAnswer, HookInput};
pub(crate) use wiring::{SettingsFiles, Wire, WireError, Wiring};

use serde_json::{Map, Value, json};

/// What is between an agent's hooks and the hook points.
pub trait Protocol: std::fmt::Debug + Send + Sync {
    /// Returns the agent's name, such as `claude`.
    fn name(&self) -> &'static str;

    /// Returns the agent's events, by its own names, with what each is.
    fn events(&self) -> &'static [(&'static str, EventKind)];

    /// Returns the variable in the environment of the agent's hooks that names the directory it was
    /// started in, wherever it works by now; nothing where it has none.
    fn directory_variable(&self) -> Option<&'static str> {
        None
    }

    /// Says whether texts that handlers leave after a tool call reach the model at once.
    fn takes_text(&self) -> bool {
        true
    }

    /// Reads what the agent says at one of its events.
    ///
    /// # Errors
    /// Returns [`BridgeError::Missing`] where a field is not there that the event cannot do without.
    fn read(&self, payload: &Value, at: At) -> Result<HookInput, BridgeError>;

    /// Says an answer in the agent's words; an answer that holds nothing prints nothing.
    fn answer(&self, asked: &HookInput, answer: &HookAnswer) -> BridgeOutput;
}

/// Every protocol.
const ALL: [&dyn Wire; 4] = [&claude::Claude, &codex::Codex, &gemini::Gemini, &copilot::Copilot];

/// Returns the names of the agents whose hooks can be bridged.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|protocol| protocol.name())
}

/// Returns the protocol of an agent.
pub fn protocol(name: &str) -> Option<&'static dyn Protocol> {
    wire(name).map(|protocol| protocol as &dyn Protocol)
}

/// Returns how the hooks of an agent are wired.
pub(crate) fn wire(name: &str) -> Option<&'static dyn Wire> {
    ALL.into_iter().find(|protocol| protocol.name() == name)
}

/// Reads what an agent says on the standard input of its hook. The event is the named one, else what
/// the agent says it is.
///
/// # Errors
/// Returns a [`BridgeError`] where the input is no JSON object, its event is none of the agent's,
/// a field is missing, or the session's name is longer than 1 KiB.
pub fn read(protocol: &dyn Protocol, stdin: &[u8], event: Option<&str>) -> Result<HookInput, BridgeError> {
    let payload: Value = serde_json::from_slice(stdin).map_err(|source| BridgeError::NoObject { source })?;
    let told = payload.get("hook_event_name").and_then(Value::as_str);
    let name = event.or(told).ok_or(BridgeError::Missing { field: "hook_event_name" })?;
    let read = protocol.read(&payload, at(protocol, name)?)?;
    match read.session_id.len() {
        0..=MAX_SESSION => Ok(read),
        length => Err(BridgeError::LongSession { length }),
    }
}

/// Finds an event by the agent's name for it.
///
/// # Errors
/// Returns [`BridgeError::UnknownEvent`] where the agent has none of that name.
pub fn at(protocol: &dyn Protocol, name: &str) -> Result<At, BridgeError> {
    let found = protocol.events().iter().find(|(known, _)| *known == name);
    let (name, kind) = found.ok_or_else(|| BridgeError::UnknownEvent {
        agent: protocol.name(),
        event: name.to_owned(),
        known: protocol.events().iter().map(|(known, _)| *known).collect(),
    })?;
    Ok(At { name, kind: *kind })
}

/// Adds lists of hooks by event to those of settings; `false` where these hold something else.
fn merge_hooks(settings: &mut Map<String, Value>, ours: Value) -> bool {
    let Some(hooks) = settings.entry("hooks").or_insert(json!({})).as_object_mut() else { return false };
    let Value::Object(ours) = ours else { return false };
    ours.into_iter().all(|(event, list)| match (hooks.entry(event).or_insert(json!([])), list) {
        (Value::Array(known), Value::Array(list)) => {
            known.extend(list);
            true
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests;
