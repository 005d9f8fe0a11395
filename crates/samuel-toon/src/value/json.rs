//! A [`Value`] as JSON text.
//!
//! Numbers beyond serde's types have no way through a serde serializer but as
//! strings; here their digits stay numbers, as they are in TOON.

use super::Value;
use crate::text;

impl Value {
    /// Returns the value as JSON without spaces.
    ///
    /// ```
    /// let value: samuel_toon::Value = samuel_toon::from_str("big: 1e400")?;
    /// assert_eq!(value.to_json(), r#"{"big":1e400}"#);
    /// # Ok::<(), samuel_toon::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        push_json(&mut out, self, None);
        out
    }

    /// Returns the value as JSON with two spaces of indentation.
    pub fn to_json_pretty(&self) -> String {
        let mut out = String::new();
        push_json(&mut out, self, Some(0));
        out
    }
}

/// Writes JSON, on one line or indented from `depth` on.
fn push_json(out: &mut String, value: &Value, depth: Option<usize>) {
    let inner = depth.map(|depth| depth + 1);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => text::push_quoted(out, text),
        Value::Array(values) => {
            push_container(out, ['[', ']'], values, depth, |out, value| push_json(out, value, inner));
        }
        Value::Object(map) => {
            let entries: Vec<_> = map.iter().collect();
            push_container(out, ['{', '}'], &entries, depth, |out, (key, value)| {
                text::push_quoted(out, key);
                out.push_str(if depth.is_some() { ": " } else { ":" });
                push_json(out, value, inner);
            });
        }
    }
}

fn push_container<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    depth: Option<usize>,
    mut push: impl FnMut(&mut String, &T),
) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if let Some(depth) = depth {
            line(out, depth + 1);
        }
        push(out, item);
    }
    if let Some(depth) = depth.filter(|_| !items.is_empty()) {
        line(out, depth);
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use crate::toon;

    #[test]
    fn json_is_written_as_others_write_it() {
        let value = toon!({"a": [1, {"b": "c\n"}, []], "d": {}, "e": 1.5});
        assert_eq!(value.to_json(), serde_json::to_string(&value).unwrap());
        assert_eq!(value.to_json_pretty(), serde_json::to_string_pretty(&value).unwrap());
    }
}
