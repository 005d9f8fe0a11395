//! What a repository hook answers: the result.

use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    hook::{BreakClass, HookFailure},
    model::payload::HookResults,
    script::{self, SHOWN_CHARS, ScriptOutput},
};

/// The largest result that is read, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Reads what a command printed, which has exited with 0. Nothing printed is a result with nothing in it.
///
/// # Errors
/// Returns a failure of the class [`BreakClass::BadOutput`] with the first 200 characters where it is
/// anything but one JSON object, is larger than 1 MiB or nested deeper than 128 levels, or where a field
/// is of another type.
pub(super) fn of_output(id: &str, output: &ScriptOutput) -> Result<HookResults, HookFailure> {
    let printed = [output.stdout.head.as_slice(), &output.stdout.tail].concat();
    match output.stdout.is_truncated() {
        true => Err(bad(&format!("it is longer than {MAX_BYTES} bytes"), &printed)),
        false => decode(id, &printed),
    }
}

fn decode(id: &str, printed: &[u8]) -> Result<HookResults, HookFailure> {
    if printed.iter().all(u8::is_ascii_whitespace) {
        return Ok(HookResults::default());
    }
    if printed.len() > MAX_BYTES {
        return Err(bad(&format!("it is longer than {MAX_BYTES} bytes"), printed));
    }
    // The parser refuses what is nested too deeply, and what follows.
    let value: Value = serde_json::from_slice(printed)
        .map_err(|error| bad(&format!("it is not one JSON document: {error}"), printed))?;
    let Value::Object(fields) = &value else { return Err(bad("it is not a JSON object", printed)) };
    let results = HookResults::deserialize(&value).map_err(|error| bad(&error.to_string(), printed))?;
    if tracing::enabled!(tracing::Level::DEBUG)
        && let Ok(Value::Object(known)) = serde_json::to_value(&results)
    {
        for field in fields.keys().filter(|name| !known.contains_key(*name)) {
            tracing::debug!(hook = id, field, "a field of the result is not known, and ignored");
        }
    }
    Ok(results)
}

fn bad(problem: &str, printed: &[u8]) -> HookFailure {
    let failure = script::bad_output(problem, printed, SHOWN_CHARS);
    debug_assert_eq!(failure.class, BreakClass::BadOutput);
    failure
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_no_result_is_bad_output_with_its_first_200_characters() {
        let deep = format!("{{\"new_intent\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let large = format!("{{\"logs\":[\"{}\"]}}", "x".repeat(20 << 20));
        let wrong =
            ["{\"logs\":\"one\"}", "{\"block_execution\":\"yes\"}", "{\"suggested_abilities\":[{\"id\":1}]}"];
        let not_one = ["not json", "[]", "{}{}", "{}\ndone", "\"x\"", "{\"logs\":[", &deep, &large];
        for printed in not_one.iter().chain(&wrong) {
            let failure = decode("x", printed.as_bytes()).unwrap_err();
            assert_eq!(failure.class, BreakClass::BadOutput, "{failure}");
            let first: String = printed.chars().take(200).collect();
            assert_eq!(failure.details, [first], "{failure}");
        }
    }

    #[test]
    fn nothing_printed_says_nothing_and_unknown_fields_are_ignored() {
        assert!(decode("x", b" \n").unwrap().is_empty());
        let results = decode("x", b"{\"logs\":[\"a\"],\"later\":{\"x\":1},\"new_intent\":null}\n").unwrap();
        assert_eq!(results.logs, ["a"]);
        assert!(results.new_intent.is_none());
    }
}
