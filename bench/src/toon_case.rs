//! One case of the TOON oracle: what the reference answered, and the comparison.
//!
//! Shared with the test suite, which replays the committed sample.

use anyhow::{Context, Result, bail, ensure};
use samuel_toon::{self as toon, DecodeOptions, Delimiter, EncodeOptions, Map, Number, Value};
use serde::Deserialize;
use serde_json::Value as Json;

/// One answer of the reference; a decode without output is an error.
#[derive(Deserialize)]
pub(crate) struct Case {
    k: Kind,
    #[serde(default)]
    d: Option<char>,
    i: usize,
    #[serde(rename = "in")]
    input: Json,
    #[serde(default, rename = "out", deserialize_with = "present")]
    output: Option<Json>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[serde(rename = "e")]
    Encode,
    #[serde(rename = "s")]
    Strict,
    #[serde(rename = "n")]
    NonStrict,
}

/// Distinguishes an output of `null` from no output.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl Case {
    /// Tells whether the reference refused the text.
    pub(crate) fn is_error(&self) -> bool {
        self.output.is_none()
    }

    /// Compares the codec's answer with the reference's.
    pub(crate) fn compare(&self) -> Result<()> {
        let input = exact(&self.input)?;
        if self.k == Kind::Encode {
            let delimiter = match self.d {
                Some('\t') => Delimiter::Tab,
                Some('|') => Delimiter::Pipe,
                _ => Delimiter::Comma,
            };
            let text = toon::to_string_with(&input, EncodeOptions { indent_size: self.i, delimiter })?;
            let expected = self.output.as_ref().and_then(Json::as_str).unwrap_or_default();
            ensure!(text == expected, "encoded {text:?}\nexpected {expected:?}");
            return Ok(());
        }
        let options =
            DecodeOptions { indent_size: self.i, strict: self.k == Kind::Strict, ..DecodeOptions::default() };
        let text = input.as_str().context("a decode without text")?;
        let expected = self.output.as_ref().map(exact).transpose()?;
        match (toon::from_str_with::<Value>(text, options), &expected) {
            (Ok(value), Some(expected)) if same(&value, expected) => Ok(()),
            (Err(_), None) => Ok(()),
            (Ok(value), Some(expected)) => bail!("decoded {value:?}\nexpected {expected:?}"),
            (Ok(value), None) => bail!("decoded {value:?}\nexpected an error"),
            (Err(error), Some(expected)) => bail!("failed with {error}\nexpected {expected:?}"),
        }
    }
}

/// Restores numbers that travelled as text behind U+0001.
fn exact(json: &Json) -> Result<Value> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => Value::from(number.as_i64().context("a number that is no small integer")?),
        Json::String(text) => match text.strip_prefix('\u{1}') {
            Some(digits) => Value::Number(Number::parse(digits).context("text that is no number")?),
            None => Value::from(text.as_str()),
        },
        Json::Array(values) => Value::Array(values.iter().map(exact).collect::<Result<_>>()?),
        Json::Object(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                map.insert(key, exact(value)?);
            }
            Value::Object(map)
        }
    })
}

/// Compares as JavaScript sees it: numbers are doubles, what exceeds them is
/// text, and objects whose keys look like integers are in another order there.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Number(a), Value::String(b)) => a.as_f64().is_infinite() && a.to_string() == *b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let moved = a.keys().any(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()));
            a.len() == b.len()
                && (moved || a.keys().eq(b.keys()))
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => ours == theirs,
    }
}
