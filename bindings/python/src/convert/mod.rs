//! Records between Rust and Python, directly, without JSON in between.
//!
//! [`to_python`] and [`from_python`] are a serializer and a deserializer over
//! Python objects: a Rust record becomes the class of the same name in
//! `samuel.records`, found in the [`table`]. [`Plain`] is the other way to
//! write Python data: as what it is, for JSON and TOON.

mod from_python;
mod plain;
mod table;
mod to_python;

pub(crate) use from_python::{from_python, from_python_any_number};
pub(crate) use plain::{DEEPEST, Plain, Writing};
pub(crate) use to_python::{data_to_python, event_to_python, to_python};

use std::fmt;

use serde::{de, ser};

/// A value that cannot be converted: where, and why not.
#[derive(Debug)]
pub(crate) struct ConvertError(String);

impl ConvertError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Says within which field it went wrong.
    fn within(self, field: &str) -> Self {
        match self.0.split_once(": ") {
            Some((path, rest)) if path.starts_with('.') => Self(format!(".{field}{path}: {rest}")),
            _ => Self(format!(".{field}: {}", self.0)),
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_start_matches('.'))
    }
}

impl std::error::Error for ConvertError {}

impl ser::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl de::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl From<pyo3::PyErr> for ConvertError {
    fn from(error: pyo3::PyErr) -> Self {
        Self(error.to_string())
    }
}
