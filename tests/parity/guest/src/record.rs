//! The records of the contract as JSON, and back.
//!
//! The table is JSON and components are typed: [`record!`] takes the fields of
//! a record, which `table.rs` has, for both ways. `extensions` are in no row and
//! are left out.

use samuel_plugin::*;
use serde_json::{Map, Value, json};

/// What can be written as JSON.
pub trait ToJson {
    fn to_json(&self) -> Value;
}

/// What can be read from JSON; `null` stands for what a row leaves out.
pub trait FromJson: Sized {
    fn from_json(value: Value) -> Result<Self, HookFailure>;
}

/// What a point answers.
pub trait Output: Default {
    /// Sets a field by its name in JSON.
    fn set(&mut self, name: &str, value: Value) -> Result<(), HookFailure>;
}

/// Implements the traits for a record. A field has its own name in JSON or the
/// one behind `as`; `: json` marks documents, which cross as text.
macro_rules! record {
    (input $record:ident { $($field:ident $(as $name:literal)? $(: $json:ident)?),* $(,)? }) => {
        impl $crate::record::ToJson for $record {
            fn to_json(&self) -> serde_json::Value {
                let mut fields = serde_json::Map::new();
                $(fields.insert(
                    record!(@name $field $($name)?).to_owned(),
                    record!(@to self.$field, $($json)?),
                );)*
                serde_json::Value::Object(fields)
            }
        }
    };
    (output $record:ident { $($field:ident $(as $name:literal)? $(: $json:ident)?),+ $(,)? }) => {
        record!(input $record { $($field $(as $name)? $(: $json)?),+ });

        impl $crate::record::Output for $record {
            fn set(&mut self, name: &str, value: serde_json::Value) -> Result<(), HookFailure> {
                $(if name == record!(@name $field $($name)?) {
                    self.$field = record!(@from value, $($json)?)?;
                    return Ok(());
                })+
                Err($crate::record::unknown(name))
            }
        }
    };
    (part $record:ident { $($field:ident $(: $json:ident)?),+ $(,)? }) => {
        record!(input $record { $($field $(: $json)?),+ });

        impl $crate::record::FromJson for $record {
            fn from_json(value: serde_json::Value) -> Result<Self, HookFailure> {
                let mut fields = $crate::record::fields_of(value)?;
                let record = Self {
                    $($field: record!(
                        @from fields.remove(record!(@name $field)).unwrap_or_default(), $($json)?
                    )?,)+
                };
                match fields.keys().next() {
                    None => Ok(record),
                    Some(name) => Err($crate::record::unknown(name)),
                }
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@to $value:expr,) => { $crate::record::ToJson::to_json(&$value) };
    (@to $value:expr, json) => { $crate::record::Documents::read(&$value) };
    (@from $value:expr,) => { $crate::record::FromJson::from_json($value) };
    (@from $value:expr, json) => { $crate::record::Documents::write($value) };
}
pub(crate) use record;

/// Reads what should be a record.
pub fn fields_of(value: Value) -> Result<Map<String, Value>, HookFailure> {
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        other => Err(HookFailure::new(format!("{other} is no record"))),
    }
}

/// Says that a row names what the contract does not have.
pub fn unknown(name: &str) -> HookFailure {
    HookFailure::new(format!("there is no {name}"))
}

/// JSON documents in the places where the contract has them.
pub trait Documents: Sized {
    fn read(&self) -> Value;
    fn write(value: Value) -> Result<Self, HookFailure>;
}

impl Documents for String {
    fn read(&self) -> Value {
        serde_json::from_str(self).expect("the host hands over JSON")
    }

    fn write(value: Value) -> Result<Self, HookFailure> {
        Ok(value.to_string())
    }
}

impl Documents for Option<String> {
    fn read(&self) -> Value {
        self.as_ref().map(Documents::read).unwrap_or_default()
    }

    fn write(value: Value) -> Result<Self, HookFailure> {
        Ok(Some(value).filter(|value| !value.is_null()).map(|value| value.to_string()))
    }
}

impl Documents for Vec<String> {
    fn read(&self) -> Value {
        self.iter().map(Documents::read).collect()
    }

    fn write(value: Value) -> Result<Self, HookFailure> {
        Vec::from_json(value).map(|items: Vec<Value>| items.iter().map(Value::to_string).collect())
    }
}

/// Implements the traits for what JSON has itself.
macro_rules! plain {
    ($($type:ty),+) => {
        $(
            impl ToJson for $type {
                fn to_json(&self) -> Value {
                    json!(self)
                }
            }

            impl FromJson for $type {
                fn from_json(value: Value) -> Result<Self, HookFailure> {
                    match value {
                        Value::Null => Ok(Self::default()),
                        value => Ok(serde_json::from_value(value)?),
                    }
                }
            }
        )+
    };
}

plain! { bool, i32, u32, u64, f64, String, (String, String), (String, Option<String>), Value }

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map(T::to_json).unwrap_or_default()
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(value: Value) -> Result<Self, HookFailure> {
        match value {
            Value::Null => Ok(None),
            value => T::from_json(value).map(Some),
        }
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(T::to_json).collect()
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, HookFailure> {
        match value {
            Value::Array(items) => items.into_iter().map(T::from_json).collect(),
            Value::Null => Ok(Self::new()),
            other => Err(HookFailure::new(format!("{other} is no list"))),
        }
    }
}

/// Implements the traits for an enum. What a row leaves out is its first case.
macro_rules! words {
    ($type:ident { $first:ident $first_word:literal $(, $case:ident $word:literal)* }) => {
        impl $crate::record::ToJson for $type {
            fn to_json(&self) -> serde_json::Value {
                match self {
                    Self::$first => $first_word.into(),
                    $(Self::$case => $word.into(),)*
                }
            }
        }

        impl $crate::record::FromJson for $type {
            fn from_json(value: serde_json::Value) -> Result<Self, HookFailure> {
                match value.as_str() {
                    Some($first_word) => Ok(Self::$first),
                    None if value.is_null() => Ok(Self::$first),
                    $(Some($word) => Ok(Self::$case),)*
                    _ => Err(HookFailure::new(format!("{value} is no {}", stringify!($type)))),
                }
            }
        }
    };
}
pub(crate) use words;
