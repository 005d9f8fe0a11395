//! Reading a [`Value`] from any format, and reading any type from a [`Value`].

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{
        Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{MapDeserializer, SeqDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{Map, NUMBER_KEY, VALUE_NAME, Value};
use crate::{
    de::{
        enums::MapEnum,
        token::{visit_exact, visit_number},
    },
    error::{Error, Result},
    number::Number,
};

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(VALUE_NAME, AnyVisitor)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => Ok(map),
            _ => {
                Err(D::Error::invalid_type(Unexpected::Other("a value that is not an object"), &"an object"))
            }
        }
    }
}

pub(crate) struct AnyVisitor;

macro_rules! visit_as_it_is {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E>(self, value: $type) -> std::result::Result<Value, E> {
            Ok(value.into())
        }
    )*};
}

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> std::result::Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> std::result::Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    visit_as_it_is! {
        visit_bool(bool) visit_u64(u64) visit_i64(i64) visit_u128(u128) visit_i128(i128) visit_f64(f64)
        visit_str(&str) visit_string(String)
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = access.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value: Value = access.next_value()?;
            // A document may have a key of this name as well.
            if key == NUMBER_KEY
                && let Value::String(digits) = &value
                && let Some(number) = Number::parse_as_written(digits)
            {
                return Ok(Value::Number(number));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A type that asks for a number gets the widest that fits.
macro_rules! number_methods {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self {
                Self::Number(number) => visit_number(&number, visitor),
                other => other.deserialize_any(visitor),
            }
        }
    )*};
}

/// Reads a type from a value, as [`from_value`](crate::from_value) does.
impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Number(number) => visit_exact(&number, visitor),
            Self::String(text) => visitor.visit_string(text),
            Self::Array(values) => {
                let mut access = SeqDeserializer::new(values.into_iter());
                let value = visitor.visit_seq(&mut access)?;
                access.end()?;
                Ok(value)
            }
            Self::Object(map) => {
                let mut access = entries(map);
                let value = visitor.visit_map(&mut access)?;
                access.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match self {
            Self::Number(number) if name == VALUE_NAME => visit_exact(&number, visitor),
            other => visitor.visit_newtype_struct(other),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self {
            Self::String(variant) => {
                let reader: StringDeserializer<Error> = variant.into_deserializer();
                reader.deserialize_enum(name, variants, visitor)
            }
            Self::Object(map) if map.len() == 1 => visitor.visit_enum(MapEnum(entries(map))),
            other => Err(Error::invalid_type(Unexpected::Other(kind(&other)), &visitor)),
        }
    }

    number_methods! {
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_i8
        deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

fn entries<'de>(map: Map) -> MapDeserializer<'de, impl Iterator<Item = (Key, Value)>, Error> {
    MapDeserializer::new(map.into_iter().map(|(key, value)| (Key(key), value)))
}

/// A key, which may spell a number or bool for a map that wants one.
struct Key(String);

impl IntoDeserializer<'_, Error> for Key {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! spelled_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match (Number::parse(&self.0), self.0.as_str()) {
                (Some(number), _) => visit_number(&number, visitor),
                (None, "true") => visitor.visit_bool(true),
                (None, "false") => visitor.visit_bool(false),
                _ => visitor.visit_string(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_string(self.0)
    }

    spelled_keys! {
        deserialize_bool deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_f32
        deserialize_f64
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let reader: StringDeserializer<Error> = self.0.into_deserializer();
        reader.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl IntoDeserializer<'_, Error> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
