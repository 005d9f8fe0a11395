//! Texts of an answer that hold parts of what the handler was given.

use samuel_plugin::context;
use serde_json::Value;

/// Fills every `${path}` in the texts of a value.
pub fn fill(value: Value, envelope: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(&text, envelope)),
        Value::Array(items) => items.into_iter().map(|item| fill(item, envelope)).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (name, fill(value, envelope))).collect())
        }
        other => other,
    }
}

fn fill_text(text: &str, envelope: &Value) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (path, tail) = after.split_once('}').expect("a part ends");
        filled.push_str(before);
        match part(path, envelope) {
            Some(Value::String(text)) => filled.push_str(&text),
            Some(Value::Null) | None => {}
            Some(other) => filled.push_str(&other.to_string()),
        }
        rest = tail;
    }
    filled + rest
}

/// Finds a part by its path. The prompt context is asked for group by group,
/// the others were handed over.
fn part(path: &str, envelope: &Value) -> Option<Value> {
    let Some(rest) = path.strip_prefix("context.") else { return at(envelope, path) };
    let (group, path) = rest.split_once('.').unwrap_or((rest, ""));
    at(&context::group(group).expect("a group is JSON")?, path)
}

fn at(value: &Value, path: &str) -> Option<Value> {
    let pointer: String =
        path.split('.').filter(|name| !name.is_empty()).map(|name| format!("/{name}")).collect();
    value.pointer(&pointer).cloned()
}
