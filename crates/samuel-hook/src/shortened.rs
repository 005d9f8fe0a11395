//! What is kept of long arguments and results of tool calls.
//!
//! Events are for watching and for hooks, so long arguments are reported by their beginning. Beside it
//! stands a hash of each field, so that they can still be told from others.

use std::collections::BTreeSet;

use samuel_model::{hex, payload::Json, text::excerpt};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Bytes kept of a tool call's arguments.
pub(crate) const MAX_INPUT: usize = 64 << 10;
/// The most bytes that are kept of a tool call's result, of the beginning of longer arguments, of a denial and of an
/// error message.
pub const MAX_SUMMARY: usize = 4 << 10;
/// How many fields are told apart; more of them are one.
const MAX_FIELDS: usize = 64;
/// The fields of arguments that were shortened: their beginning, and the hashes of their fields.
const SHORTENED: [&str; 2] = ["truncated", "sha256"];

/// Returns the arguments of a tool call as a JSON document. Arguments over 64 KiB become
/// `{"truncated": START, "sha256": [HASH]}`, with their first 4 KiB and a hash for each field.
pub fn arguments(input: &Value) -> Json {
    let text = input.to_string();
    match text.len() {
        0..=MAX_INPUT => text,
        _ => shortened(&text, input),
    }
}

/// As [`arguments`], of a text that may be no JSON.
pub(crate) fn arguments_of_text(input: Json) -> Json {
    match serde_json::from_str::<Value>(&input) {
        Ok(_) if input.len() <= MAX_INPUT => input,
        Ok(value) => shortened(&input, &value),
        Err(_) => shortened(&input, &Value::from(input.as_str())),
    }
}

fn shortened(text: &str, input: &Value) -> Json {
    let [beginning, of_fields] = SHORTENED;
    json!({beginning: excerpt(text, MAX_SUMMARY), of_fields: hashes(input)}).to_string()
}

/// Returns one hash for each field of some arguments, except fields that are `null`. The order of fields does not matter.
///
/// Arguments that are no object or have more than 64 fields get a single hash, and `null` gets none. Arguments that [`arguments`] shortened
/// have the hashes of the whole.
pub fn field_hashes(input: &str) -> BTreeSet<String> {
    match serde_json::from_str::<Value>(input) {
        Ok(input) => of_shortened(&input).unwrap_or_else(|| hashes(&input)),
        Err(_) => hashes(&Value::from(input)),
    }
}

/// Returns the hashes that shortened arguments have, of which there is at least one: arguments of no field
/// are never long, so a list without any is a field of the call's own.
fn of_shortened(input: &Value) -> Option<BTreeSet<String>> {
    let fields = input.as_object().filter(|fields| fields.len() == SHORTENED.len())?;
    let [beginning, of_fields] = SHORTENED.map(|name| fields.get(name));
    beginning?.as_str()?;
    let hashes = of_fields?.as_array().filter(|hashes| !hashes.is_empty())?;
    hashes.iter().map(|hash| hash.as_str().map(str::to_owned)).collect()
}

fn hashes(input: &Value) -> BTreeSet<String> {
    let hash = |mut part: Value| {
        part.sort_all_objects();
        hex(&Sha256::digest(part.to_string()))
    };
    match input {
        Value::Null => BTreeSet::new(),
        Value::Object(fields) if fields.len() <= MAX_FIELDS => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            given.map(|(name, value)| hash(json!([name, value]))).collect()
        }
        value => BTreeSet::from([hash(value.clone())]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn arguments_stay_a_document_when_they_are_shortened() {
        let long = arguments(&json!({"content": "x".repeat(MAX_INPUT)}));
        assert!(long.len() < 5 << 10, "{}", long.len());
        assert!(serde_json::from_str::<Value>(&long).unwrap().get("truncated").is_some());
        let long = arguments_of_text("\"".repeat(MAX_INPUT));
        assert!(serde_json::from_str::<Value>(&long).unwrap().get("truncated").is_some());
        assert_eq!(arguments_of_text("{\"a\": 1}".to_owned()), "{\"a\": 1}");
    }

    #[test]
    fn shortened_arguments_have_the_hashes_of_the_whole() {
        let long = json!({"content": "x".repeat(MAX_INPUT), "deep": {"b": 1, "a": 2}, "none": null});
        let whole = long.to_string();
        assert_eq!(field_hashes(&arguments(&long)), field_hashes(&whole));
        assert_eq!(field_hashes(&whole).len(), 2);
        let other = whole.replacen("xx\"", "xy\"", 1);
        assert_eq!(field_hashes(&arguments_of_text(other)).intersection(&field_hashes(&whole)).count(), 1);
        assert_ne!(field_hashes(r#"{"truncated":"ls"}"#), field_hashes(r#"{"truncated":"rm"}"#));
        assert_eq!(field_hashes(r#"{"truncated":"ls","sha256":[]}"#).len(), 2, "fields of the call's own");
    }
}
