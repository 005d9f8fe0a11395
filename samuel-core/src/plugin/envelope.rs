//! The JSON envelope: how calls cross into processes and back (docs/plugins.md).
//!
//! One document goes in, one comes out. It is the same for every point: the
//! records are those of [`model::payload`](crate::model::payload), and what a
//! handler contributes and warns of stands beside the fields of its output.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use crate::{
    context::ContextView,
    hook::{BreakClass, Call, HookFailure, Point},
    model::payload::CallHeader,
    script,
};

/// The version of the envelope.
pub const PROTOCOL: u32 = 1;
/// The largest answer that is read, in bytes.
pub const MAX_ANSWER_BYTES: usize = 8 << 20;
/// The largest contributed value, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 256 << 10;
/// All contributed values of a call together, in bytes of JSON.
const MAX_CONTRIBUTED_BYTES: usize = 1 << 20;
/// The most keys a call may contribute.
const MAX_KEYS: usize = 256;

/// How much of a bad answer is shown in the message itself, which is one line.
const QUOTED_CHARS: usize = 60;

/// What a handler is given.
#[derive(Serialize)]
struct Question<'a, P: Point> {
    protocol: u32,
    call: &'a CallHeader,
    input: &'a P::Input,
    previous: Option<&'a P::Output>,
    context: &'a ContextView,
    /// What the user set for the plugin.
    config: &'a RawValue,
}

/// Writes what the user set for a plugin, once for all of its calls.
pub(super) fn encode_config(config: &Map<String, Value>) -> Box<RawValue> {
    // What came as text can be written as text.
    to_raw_value(config).unwrap_or_default()
}

/// Writes a call.
pub(super) fn encode<P: Point>(call: &Call<P>, config: &RawValue) -> Result<Vec<u8>, HookFailure> {
    let question = Question::<P> {
        protocol: PROTOCOL,
        call: call.header(),
        input: call.input(),
        previous: call.previous(),
        context: call.context(),
        config,
    };
    Ok(serde_json::to_vec(&question)?)
}

/// What a handler answered and contributed.
#[derive(Debug)]
pub(super) struct Answer<O> {
    pub(super) output: O,
    pub(super) contributed: BTreeMap<String, Value>,
    pub(super) warnings: Vec<String>,
}

/// Reads an answer: one JSON object with the fields of the point's output.
/// Fields it does not have are ignored.
///
/// # Errors
/// Returns a failure of the class [`BreakClass::BadOutput`] for everything
/// else, with the beginning of the answer.
pub(super) fn decode<P: Point>(bytes: &[u8]) -> Result<Answer<P::Output>, HookFailure> {
    let bad = |problem: String| bad_output(&problem, bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(HookFailure::new(
            BreakClass::BadOutput,
            "nothing was printed, where an answer in JSON is expected",
        ));
    }
    // The parser refuses what is nested too deeply, and what follows.
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| bad(format!("it is not one JSON document: {error}")))?;
    let Value::Object(fields) = value else { return Err(bad("it is not a JSON object".to_owned())) };
    answer_of::<P>(fields).map_err(bad)
}

/// Does the same with the fields of the object.
pub(super) fn decode_fields<P: Point>(fields: Map<String, Value>) -> Result<Answer<P::Output>, HookFailure> {
    // Only a bad answer is written down again.
    answer_of::<P>(fields).map_err(|problem| bad_output(&problem, b""))
}

fn answer_of<P: Point>(mut fields: Map<String, Value>) -> Result<Answer<P::Output>, String> {
    let contributed = contributed(&mut fields)?;
    let warnings = fields.remove("warnings").unwrap_or_default();
    let warnings = Option::<Vec<String>>::deserialize(warnings)
        .map_err(|error| format!("`warnings` is no list of texts: {error}"))?;
    let output = serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
    Ok(Answer { output, contributed, warnings: warnings.unwrap_or_default() })
}

/// Takes what is contributed. The namespace is the handler's own, so whatever
/// aims at another one is refused.
fn contributed(fields: &mut Map<String, Value>) -> Result<BTreeMap<String, Value>, String> {
    if let Some(group) = ["context", "Plugins", "plugins"].iter().find(|name| fields.contains_key(**name)) {
        return Err(format!(
            "`{group}` cannot be written; a handler contributes to its own namespace, by `contribute`"
        ));
    }
    let values = match fields.remove("contribute") {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values,
        Some(_) => return Err("`contribute` is not an object".to_owned()),
    };
    if values.len() > MAX_KEYS {
        return Err(format!("`contribute` has more than {MAX_KEYS} keys"));
    }
    let mut total = 0;
    for (key, value) in &values {
        let bytes = value.to_string().len();
        total += bytes;
        if key.is_empty() || bytes > MAX_VALUE_BYTES || total > MAX_CONTRIBUTED_BYTES {
            return Err("`contribute` has an empty key, or is too large".to_owned());
        }
    }
    Ok(values.into_iter().collect())
}

/// Words a bad answer: what is wrong with it, and how it begins.
pub(super) fn bad_output(problem: &str, bytes: &[u8]) -> HookFailure {
    script::bad_output(problem, bytes, QUOTED_CHARS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::hook::points;

    fn refusal<P: Point>(text: &str) -> HookFailure {
        let failure = decode::<P>(text.as_bytes()).map(|answer| answer.output).unwrap_err();
        assert_eq!(failure.class, BreakClass::BadOutput, "{failure}");
        failure
    }

    #[test]
    fn an_answer_is_one_object_and_nothing_else() {
        for text in
            ["not json", "[]", "{\"ok\":true}{\"ok\":true}", "{\"ok\":true}\ndone", "\"ok\"", "{\"ok\":tr"]
        {
            let failure = refusal::<points::BeforeLoop>(text);
            assert_eq!(failure.details, [text.to_owned()]);
        }
        let nothing = "nothing was printed, where an answer in JSON is expected";
        assert_eq!(refusal::<points::BeforeLoop>(" \n").message, nothing);
        assert_eq!(
            refusal::<points::BeforeLoop>("nothing to do\nbye\n").message,
            "what was printed cannot be used as an answer: it is not one JSON document: expected ident at line 1 \
             column 2; it begins with \"nothing to do\\nbye\""
        );
        let long = refusal::<points::BeforeLoop>(&"x".repeat(1_000)).message;
        assert!(long.ends_with(&format!("{}…\"", "x".repeat(QUOTED_CHARS))), "{long}");
        let deep = format!("{{\"ok\":true,\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(refusal::<points::BeforeLoop>(&deep).details[0].chars().count(), 200);
    }

    #[test]
    fn gates_must_say_their_verdict_and_types_must_fit() {
        assert!(refusal::<points::BeforeLoop>("{}").message.contains("ok"));
        assert!(refusal::<points::IterationGate>("{\"ok\":true}").message.contains("continue"));
        assert!(refusal::<points::BeforeLoop>("{\"ok\":\"yes\"}").message.contains("boolean"));
        let answer = decode::<points::BeforeLoop>(b"{\"ok\":false,\"later\":{\"field\":1}}\n").unwrap();
        assert!(!answer.output.ok);
        assert!(decode::<points::AfterLoop>(b"{}").is_ok());
    }

    #[test]
    fn what_is_contributed_is_the_handlers_own() {
        let answer = decode::<points::AfterLoop>(b"{\"contribute\":{\"Venv\":\".venv\",\"N\":1}}").unwrap();
        assert_eq!(answer.contributed.len(), 2);
        for foreign in ["context", "Plugins", "plugins"] {
            let text = format!("{{\"{foreign}\":{{\"other\":{{\"Key\":1}}}}}}");
            assert!(refusal::<points::AfterLoop>(&text).message.contains("own namespace"));
        }
        assert!(refusal::<points::AfterLoop>("{\"contribute\":[1]}").message.contains("not an object"));
        let large = format!("{{\"contribute\":{{\"a\":\"{}\"}}}}", "x".repeat(MAX_VALUE_BYTES));
        assert!(refusal::<points::AfterLoop>(&large).message.contains("too large"));
        assert!(refusal::<points::AfterLoop>("{\"contribute\":{\"\":1}}").message.contains("empty key"));
    }

    #[test]
    fn a_beginning_that_is_no_text_is_shown_all_the_same() {
        let failure = decode::<points::AfterLoop>(b"\xff\xfe{").unwrap_err();
        assert_eq!(failure.details, ["\u{fffd}\u{fffd}{"]);
    }
}
