//! Any TOON value: [`Value`], its ordered [`Map`] and the `toon!` macro.
//!
//! A [`Value`] holds what the specification's data model holds (section 2). It
//! loses nothing on the way through serde: numbers beyond serde's types travel
//! under a private key, see [`NUMBER_KEY`].

mod de;
mod json;
mod macros;
mod map;
mod ser;

pub(super) use de::AnyVisitor;
pub use map::Map;
pub use ser::to_value;

use super::number::Number;

/// The only key of the map in which a number without a serde type travels.
pub(super) const NUMBER_KEY: &str = "$samuel::toon::Number";

/// Tells this crate's deserializer that the target is a [`Value`].
pub(super) const VALUE_NAME: &str = "$samuel::toon::Value";

/// Reads any serde type from a value.
///
/// # Errors
/// Fails when the value does not fit `T`.
pub fn from_value<T: serde::de::DeserializeOwned>(value: Value) -> super::Result<T> {
    T::deserialize(value)
}

/// Any value of the TOON data model.
///
/// ```
/// use samuel_toon::Value;
///
/// let value: Value = samuel_toon::from_str("tags[2]: a,b")?;
/// assert_eq!(value["tags"][1].as_str(), Some("b"));
/// assert_eq!(samuel_toon::to_string(&value)?, "tags[2]: a,b");
/// # Ok::<(), samuel_toon::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number of any size.
    Number(Number),
    /// Text.
    String(String),
    /// A sequence of values.
    Array(Vec<Value>),
    /// Keys and values in order.
    Object(Map),
}

impl Value {
    /// Returns true for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the entries, if this is an object.
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the value at a key of an object or `None`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }
}

static NULL: Value = Value::Null;

/// Returns the value at a key, or [`Value::Null`] when there is none.
impl std::ops::Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }
}

/// Returns the element at an index, or [`Value::Null`] when there is none.
impl std::ops::Index<usize> for Value {
    type Output = Value;

    fn index(&self, index: usize) -> &Value {
        self.as_array().and_then(|values| values.get(index)).unwrap_or(&NULL)
    }
}

macro_rules! from_integer {
    ($($type:ty as $wide:ty)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Number(Number::from(<$wide>::from(value)))
            }
        }
    )*};
}

from_integer! { u8 as u64 u16 as u64 u32 as u64 u64 as u64 u128 as u128 i8 as i64 i16 as i64 i32 as i64 i64 as i64 i128 as i128 }

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Number(Number::from(value as u64))
    }
}

/// Converts a float; what is not finite becomes null (section 3).
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

macro_rules! from_variant {
    ($($type:ty as $variant:ident)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
    )*};
}

from_variant! { bool as Bool Number as Number String as String Map as Object }

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
