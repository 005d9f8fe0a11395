//! How values become text, by the rules of Go's `%v`.
//!
//! Main entry: [`write_value`], which also writes whatever a template prints.
//! Strings stand as they are, lists as `[a b]`, maps as `map[a:1 b:2]` with
//! sorted keys; what is not there is empty.

use std::fmt::{self, Write};

use crate::{
    builtins::Call,
    limits::Budget,
    problem::Failure,
    value::{Value, sorted},
};

/// Deeper values end in `…`; serialised contexts never come near.
const DEPTH: usize = 128;

/// Text under construction that stops at what its budget has left.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    text: String,
    left: &'a Budget,
}

impl<'a> Text<'a> {
    pub(crate) fn new(left: &'a Budget) -> Text<'a> {
        Text { text: String::new(), left }
    }

    /// Starts another text within the same budget.
    pub(crate) fn sibling(&self) -> Text<'a> {
        Text::new(self.left)
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.left.spend(part.len()).ok_or(fmt::Error)?;
        self.text.push_str(part);
        Ok(())
    }
}

impl From<fmt::Error> for Failure {
    /// A function's text fails only when it is out of budget.
    fn from(_: fmt::Error) -> Failure {
        Failure::TooMuchWork
    }
}

/// Writes a value as `%v` does.
pub(crate) fn write_value(out: &mut dyn Write, value: &Value<'_>) -> fmt::Result {
    write_nested(out, value, 0)
}

fn write_nested(out: &mut dyn Write, value: &Value<'_>, depth: usize) -> fmt::Result {
    if depth > DEPTH {
        return out.write_char('…');
    }
    match value {
        Value::Undefined | Value::Nil => Ok(()),
        Value::Bool(value) => write!(out, "{value}"),
        Value::Integer(value) => write!(out, "{value}"),
        Value::Float(value) => out.write_str(&float_text(*value)),
        Value::Text(text) => out.write_str(text),
        Value::Built(text) => out.write_str(text),
        Value::List(items) => {
            out.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                separate(out, at)?;
                write_nested(out, &item.into(), depth + 1)?;
            }
            out.write_char(']')
        }
        Value::Map(map) => {
            out.write_str("map[")?;
            for (at, (key, value)) in sorted(map).into_iter().enumerate() {
                separate(out, at)?;
                write_nested(out, &Value::Text(key), depth + 1)?;
                out.write_char(':')?;
                write_nested(out, &value.into(), depth + 1)?;
            }
            out.write_char(']')
        }
    }
}

fn separate(out: &mut dyn Write, at: usize) -> fmt::Result {
    if at > 0 { out.write_char(' ') } else { Ok(()) }
}

/// Makes the shortest decimal that reads back as `value`, with an exponent where Go has one.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        value.to_string()
    } else {
        format!("{digits}e{}", signed_exponent(exponent))
    }
}

/// Writes an exponent with its sign and at least two digits.
pub(crate) fn signed_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// The function `print`: values next to each other, with a space where neither is a string.
pub(crate) fn print<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let mut text = call.text();
    let mut after_text = true;
    for argument in call.arguments {
        let is_text = argument.as_str().is_some() || argument.is_nothing();
        if !after_text && !is_text {
            text.write_char(' ')?;
        }
        write_value(&mut text, argument)?;
        after_text = is_text;
    }
    Ok(text.into_string().into())
}

/// The function `println`: values with a space between them and a newline after them.
pub(crate) fn println<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let mut text = call.text();
    for (at, argument) in call.arguments.iter().enumerate() {
        separate(&mut text, at)?;
        write_value(&mut text, argument)?;
    }
    text.write_char('\n')?;
    Ok(text.into_string().into())
}
