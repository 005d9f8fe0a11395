//! What a repository hook is given: the context.

use serde::Serialize;
use serde_json::{Map, Value};

use super::EventType;
use crate::{
    hook::{Call, HookFailure, Point},
    model::payload::CallHeader,
};

/// Writes the context of a call: one JSON object of the point's input, `event_type` and `session_id`.
pub(super) fn encode<P: Point>(call: &Call<P>, event_type: EventType) -> Result<Vec<u8>, HookFailure> {
    Ok(serde_json::to_vec(&object(call.input(), event_type, call.header())?)?)
}

fn object(
    input: &impl Serialize,
    event_type: EventType,
    header: &CallHeader,
) -> Result<Map<String, Value>, serde_json::Error> {
    let mut context = Map::new();
    context.insert("event_type".to_owned(), event_type.as_str().into());
    context.insert("session_id".to_owned(), header.session.to_string().into());
    if let Value::Object(input) = serde_json::to_value(input)? {
        context.extend(input);
    }
    Ok(context)
}
