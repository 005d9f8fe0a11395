//! Reading the fields of what an agent gives its hooks.

use std::path::PathBuf;

use serde_json::Value;

use super::BridgeError;
use crate::{
    agent::{stream::Fields, text},
    hook::AbilityCall,
    model::payload::{Json, SessionSource},
};

/// Returns the name of a tool.
pub(super) fn tool(payload: &Value, field: &'static str) -> Result<String, BridgeError> {
    let name = payload.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or(BridgeError::Missing { field })
}

/// Returns a tool call that is about to be made, with all its arguments.
pub(super) fn call(
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
pub(super) fn source(payload: &Value) -> SessionSource {
    match payload.text_at("/source") {
        "resume" => SessionSource::Resume,
        _ => SessionSource::Startup,
    }
}

/// Returns a flag, which is not set where it is missing.
pub(super) fn flag(payload: &Value, field: &str) -> bool {
    payload.get(field).and_then(Value::as_bool).unwrap_or(false)
}
