//! Writing a [`Value`], and making one of any serde type.

use serde::ser::{Serialize, Serializer};

use super::{Map, NUMBER_KEY, Value};
use crate::{
    error::Result,
    from_str_with,
    number::Number,
    options::{DecodeOptions, Limits, NumberText},
    to_string,
};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(values) => serializer.collect_seq(values),
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Numbers beyond serde's types become the digits as a number in TOON and as
/// a string in other formats.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.is_text() {
            return serializer.serialize_newtype_struct(NUMBER_KEY, &self.to_string());
        }
        if let Some(value) = self.as_u64() {
            serializer.serialize_u64(value)
        } else if let Some(value) = self.as_i64() {
            serializer.serialize_i64(value)
        } else if let Some(value) = self.as_u128() {
            serializer.serialize_u128(value)
        } else if let Some(value) = self.as_i128() {
            serializer.serialize_i128(value)
        } else {
            serializer.serialize_f64(self.as_f64())
        }
    }
}

/// Makes a [`Value`] of anything serde can serialize: what the encoder writes, read back.
///
/// # Errors
/// As [`to_string`](crate::to_string).
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    let limits = Limits { depth: usize::MAX, columns: usize::MAX, cells: usize::MAX, ..Limits::default() };
    // Where a key is written twice, the last one counts.
    let options =
        DecodeOptions { strict: false, numbers: NumberText::AsWritten, limits, ..Default::default() };
    from_str_with(&to_string(value)?, options)
}
