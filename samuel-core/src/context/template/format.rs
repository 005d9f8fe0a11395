//! How values become text, by the rules of Go's `%v`.
//!
//! Main entry: [`write_value`], which is also minijinja's formatter for
//! whatever a template prints. Strings stand as they are, lists as `[a b]`,
//! maps as `map[a:1 b:2]` with sorted keys; what is not there is empty.

use std::fmt::{self, Write};

use minijinja::value::{Value, ValueKind};

use super::{
    builtins::is_nothing,
    runtime::{Failure, Meter},
};

/// Deeper values end in `…`; serialised contexts never come near.
const DEPTH: usize = 128;

/// Describes a value's kind for a message.
pub(super) fn describe(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "an undefined value",
        ValueKind::None => "nil",
        ValueKind::Bool => "a boolean",
        ValueKind::Number if value.is_integer() => "an integer",
        ValueKind::Number => "a number with a fraction",
        ValueKind::String => "a string",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a map",
        _ => "a value of another kind",
    }
}

/// Writes a value as `%v` does.
pub(super) fn write_value(out: &mut dyn Write, value: &Value) -> fmt::Result {
    write_nested(out, value, 0)
}

fn write_nested(out: &mut dyn Write, value: &Value, depth: usize) -> fmt::Result {
    if depth > DEPTH {
        return out.write_char('…');
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(()),
        ValueKind::Bool => out.write_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::String => out.write_str(value.as_str().unwrap_or("")),
        ValueKind::Number if !value.is_integer() => out.write_str(&float_text(to_float(value))),
        ValueKind::Seq | ValueKind::Iterable => {
            out.write_char('[')?;
            for (at, item) in value.try_iter().into_iter().flatten().enumerate() {
                separate(out, at)?;
                write_nested(out, &item, depth + 1)?;
            }
            out.write_char(']')
        }
        ValueKind::Map => {
            out.write_str("map[")?;
            let mut keys: Vec<Value> = value.try_iter().into_iter().flatten().collect();
            keys.sort();
            for (at, key) in keys.iter().enumerate() {
                separate(out, at)?;
                write_nested(out, key, depth + 1)?;
                out.write_char(':')?;
                write_nested(out, &value.get_item(key).unwrap_or_default(), depth + 1)?;
            }
            out.write_char(']')
        }
        _ => write!(out, "{value}"),
    }
}

fn separate(out: &mut dyn Write, at: usize) -> fmt::Result {
    if at > 0 { out.write_char(' ') } else { Ok(()) }
}

/// Reads any number as a float.
pub(super) fn to_float(value: &Value) -> f64 {
    f64::try_from(value.clone()).unwrap_or(f64::NAN)
}

/// Makes the shortest decimal that reads back as `value`, with an exponent where Go has one.
pub(super) fn float_text(value: f64) -> String {
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
pub(super) fn signed_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.unsigned_abs())
}

/// Text under construction that stops at what the budget has left.
pub(super) struct Text {
    text: String,
    left: usize,
}

impl Text {
    pub(super) fn new(meter: &Meter<'_>) -> Text {
        Text { text: String::new(), left: meter.left() }
    }

    /// Starts another text within the same budget.
    pub(super) fn sibling(&self) -> Text {
        Text { text: String::new(), left: self.left }
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }

    /// Charges for the text and makes it a value.
    pub(super) fn finish(self, meter: &Meter<'_>) -> Result<Value, Failure> {
        meter.charge(self.text.len())?;
        Ok(Value::from(self.text))
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.left = self.left.checked_sub(part.len()).ok_or(fmt::Error)?;
        self.text.push_str(part);
        Ok(())
    }
}

impl From<fmt::Error> for Failure {
    /// A formatter fails only when its text is out of budget.
    fn from(_: fmt::Error) -> Failure {
        Failure::TooMuchWork
    }
}

/// The function `print`: values next to each other, with a space where neither is a string.
pub(super) fn print(arguments: &[Value], meter: &Meter<'_>) -> Result<Value, Failure> {
    let mut text = Text::new(meter);
    let mut previous: Option<&Value> = None;
    let textual = |value: &Value| value.kind() == ValueKind::String || is_nothing(value);
    for argument in arguments {
        if previous.is_some_and(|previous| !textual(previous) && !textual(argument)) {
            text.write_char(' ')?;
        }
        write_value(&mut text, argument)?;
        previous = Some(argument);
    }
    text.finish(meter)
}

/// The function `println`: values with a space between them and a newline after them.
pub(super) fn println(arguments: &[Value], meter: &Meter<'_>) -> Result<Value, Failure> {
    let mut text = Text::new(meter);
    for (at, argument) in arguments.iter().enumerate() {
        separate(&mut text, at)?;
        write_value(&mut text, argument)?;
    }
    text.write_char('\n')?;
    text.finish(meter)
}
