//! The values a template works on: [`Value`].
//!
//! Lists, maps and most text are borrowed from the context or from the
//! template, so taking a value along costs nothing; only text that a function
//! built is owned, and shared.

use std::rc::Rc;

use serde_json::{Map, Value as Json};

/// A value of a rendering.
#[derive(Debug, Clone, Default)]
pub(crate) enum Value<'v> {
    /// What a path or a key led nowhere to.
    #[default]
    Undefined,
    Nil,
    Bool(bool),
    /// Wide enough for the signed and the unsigned integers of a context.
    Integer(i128),
    Float(f64),
    Text(&'v str),
    Built(Rc<str>),
    List(&'v [Json]),
    Map(&'v Map<String, Json>),
}

impl<'v> From<&'v Json> for Value<'v> {
    fn from(json: &'v Json) -> Value<'v> {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i128() {
                Some(integer) => Value::Integer(integer),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(items),
            Json::Object(map) => Value::Map(map),
        }
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Built(text.into())
    }
}

impl Value<'_> {
    /// Tells whether a value is undefined or nil.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Value::Undefined | Value::Nil)
    }

    /// Tells whether a condition holds, as Go does: zero and what is empty are false.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Value::Undefined | Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Integer(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::Built(text) => !text.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Map(map) => !map.is_empty(),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Built(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// Describes a value's kind for a message.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Value::Undefined => "an undefined value",
            Value::Nil => "nil",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number with a fraction",
            Value::Text(_) | Value::Built(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// Returns the entries of a map in the order of their keys.
pub(crate) fn sorted(map: &Map<String, Json>) -> Vec<(&str, &Json)> {
    let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_unstable_by_key(|&(key, _)| key);
    entries
}
