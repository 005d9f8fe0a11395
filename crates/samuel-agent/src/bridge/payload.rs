//! Reading the fields of what an agent gives its hooks.

use std::path::PathBuf;

use samuel_hook::AbilityCall;
use samuel_model::payload::{Json, SessionSource};
use serde_json::Value;

use super::{BridgeError, BridgeEvent, EndedCall, EventKind};
use crate::{stream::Fields, text};

/// The fields of a tool call that most agents have: the tool, its arguments and the call's id.
pub(super) const TOOL: [&str; 3] = ["tool_name", "tool_input", "tool_use_id"];

/// Reads an event whose tool call stands in these fields, and whose end is read by `ended`.
pub(super) fn event(
    payload: &Value,
    kind: EventKind,
    tool: [&'static str; 3],
    ended: impl FnOnce() -> Result<EndedCall, BridgeError>,
) -> Result<BridgeEvent, BridgeError> {
    Ok(match kind {
        EventKind::SessionStart => BridgeEvent::SessionStart { source: source(payload) },
        EventKind::PromptSubmit => BridgeEvent::PromptSubmit { prompt: text_of(payload, "prompt") },
        EventKind::Before => BridgeEvent::Before(call(payload, tool)?),
        EventKind::After | EventKind::Failed => BridgeEvent::After(ended()?),
        EventKind::Stop => BridgeEvent::Stop,
        EventKind::SessionEnd => BridgeEvent::SessionEnd { reason: text_of(payload, "reason") },
    })
}

/// Returns the name of a tool.
pub(super) fn tool(payload: &Value, field: &'static str) -> Result<String, BridgeError> {
    let name = payload.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or(BridgeError::Missing { field })
}

/// Returns a tool call that is about to be made, with all its arguments.
fn call(
    payload: &Value,
    [tool_field, input_field, id_field]: [&'static str; 3],
) -> Result<AbilityCall, BridgeError> {
    let input = payload.get(input_field).ok_or(BridgeError::Missing { field: input_field })?;
    Ok(AbilityCall {
        call_id: text_of(payload, id_field),
        ability_id: tool(payload, tool_field)?,
        input: input.to_string(),
        ..AbilityCall::default()
    })
}

/// Returns the arguments of a call that ended, shortened.
pub(super) fn arguments(payload: &Value, field: &str) -> Json {
    text::arguments(payload.get(field).unwrap_or(&Value::Null))
}

/// Returns a result, shortened: a text as it is, anything else as JSON.
pub(super) fn summary(result: &Value) -> Option<String> {
    let text = match result {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(text::excerpt(&text, text::MAX_SUMMARY))
}

/// Returns a text, or the empty one.
pub(super) fn text_of(payload: &Value, field: &str) -> String {
    payload.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the directory an agent works in.
pub(super) fn cwd(payload: &Value) -> Option<PathBuf> {
    payload.some_text_at("/cwd").map(PathBuf::from)
}

/// Returns whether a session goes on with an earlier one.
fn source(payload: &Value) -> SessionSource {
    match payload.text_at("/source") {
        "resume" => SessionSource::Resume,
        _ => SessionSource::Startup,
    }
}

/// Returns a flag, which is not set where it is missing.
pub(super) fn flag(payload: &Value, field: &str) -> bool {
    payload.get(field).and_then(Value::as_bool).unwrap_or(false)
}
