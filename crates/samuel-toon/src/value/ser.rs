//! Writing a [`Value`], and making one of any serde type.

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::{Map, NUMBER_KEY, Value};
use crate::{
    error::{Error, ErrorKind, Result},
    number::Number,
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

/// Makes a [`Value`] of anything serde can serialize.
///
/// # Errors
/// Fails when `value`'s implementation does, or has a map key that is no
/// string, number or bool.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(ValueSerializer)
}

struct ValueSerializer;

macro_rules! numbers {
    ($($method:ident: $type:ty;)*) => {$(
        fn $method(self, value: $type) -> Result<Value> {
            Ok(Value::from(value))
        }
    )*};
}

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    numbers! {
        serialize_bool: bool; serialize_u8: u8; serialize_u16: u16; serialize_u32: u32; serialize_u64: u64;
        serialize_u128: u128; serialize_i8: i8; serialize_i16: i16; serialize_i32: i32; serialize_i64: i64;
        serialize_i128: i128; serialize_f64: f64; serialize_str: &str;
    }

    fn serialize_f32(self, value: f32) -> Result<Value> {
        let mut text = String::new();
        crate::number::push_f32(&mut text, value);
        Ok(Number::parse(&text).map_or(Value::Null, Value::Number))
    }

    fn serialize_char(self, value: char) -> Result<Value> {
        Ok(Value::String(value.to_string()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Value> {
        Ok(Value::from(value.to_vec()))
    }

    fn serialize_none(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<Value> {
        let value = value.serialize(self)?;
        match &value {
            Value::String(digits) if name == NUMBER_KEY => Number::parse_as_written(digits)
                .map(Value::Number)
                .ok_or_else(|| Error::custom("digits that are not a number")),
            _ => Ok(value),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value> {
        Ok(wrap(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements> {
        Ok(Elements::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements> {
        Ok(Elements { variant: Some(variant), ..Elements::default() })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries> {
        Ok(Entries::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries> {
        Ok(Entries::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries> {
        Ok(Entries { variant: Some(variant), ..Entries::default() })
    }
}

/// Puts a variant's content under the variant's name.
fn wrap(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::Object(Map::from_iter([(name, value)])),
        None => value,
    }
}

#[derive(Default)]
struct Elements {
    values: Vec<Value>,
    variant: Option<&'static str>,
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.values.push(to_value(value)?);
        Ok(())
    }

    fn done(self) -> Result<Value> {
        Ok(wrap(self.variant, Value::Array(self.values)))
    }
}

macro_rules! elements {
    ($($trait:ident::$method:ident;)*) => {$(
        impl $trait for Elements {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.push(value)
            }

            fn end(self) -> Result<Value> {
                self.done()
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

#[derive(Default)]
struct Entries {
    map: Map,
    key: String,
    variant: Option<&'static str>,
}

impl Entries {
    fn done(self) -> Result<Value> {
        Ok(wrap(self.variant, Value::Object(self.map)))
    }
}

macro_rules! entries {
    ($($trait:ident;)*) => {$(
        impl $trait for Entries {
            type Ok = Value;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
                self.map.insert(key, to_value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value> {
                self.done()
            }
        }
    )*};
}

entries! { SerializeStruct; SerializeStructVariant; }

impl SerializeMap for Entries {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key = match key.serialize(ValueSerializer)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null => return Err(Error::new(ErrorKind::Unsupported { what: "a key that is null" })),
            Value::Array(_) | Value::Object(_) => {
                return Err(Error::new(ErrorKind::Unsupported { what: "a key that is a container" }));
            }
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.map.insert(std::mem::take(&mut self.key), to_value(value)?);
        Ok(())
    }

    fn end(self) -> Result<Value> {
        self.done()
    }
}
