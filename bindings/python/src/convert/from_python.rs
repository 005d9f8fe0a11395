//! From Python objects to Rust records.
//!
//! A record is read from its class or from a dict with the names of the JSON
//! form. Nothing is guessed: a number is no text, and `1` is no truth.

use std::sync::Arc;

use pyo3::{
    Bound, PyAny,
    types::{
        PyAnyMethods, PyBool, PyDict, PyDictMethods, PyFloat, PyInt, PyList, PyListMethods, PyString,
        PyStringMethods, PyTuple, PyTupleMethods,
    },
};
use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::{
    ConvertError,
    table::{Shape, Table},
};

/// Reads a record from an object. Numbers that JSON lacks are refused.
pub(crate) fn from_python<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> Result<T, ConvertError> {
    T::deserialize(Reader { value: value.clone(), depth: 0, takes_any_number: false })
}

/// Reads what may hold any number that Python has; a whole one of more than 64 bits is given
/// as nearly as a float has it.
pub(crate) fn from_python_any_number<T: DeserializeOwned>(
    value: &Bound<'_, PyAny>,
) -> Result<T, ConvertError> {
    T::deserialize(Reader { value: value.clone(), depth: 0, takes_any_number: true })
}

/// How deep data may be nested.
const MAX_DEPTH: usize = 128;

/// Reads one value.
struct Reader<'py> {
    value: Bound<'py, PyAny>,
    depth: usize,
    /// Whether numbers may be those that JSON lacks.
    takes_any_number: bool,
}

impl<'py> Reader<'py> {
    fn inner(&self, value: Bound<'py, PyAny>) -> Result<Self, ConvertError> {
        if self.depth >= MAX_DEPTH {
            return Err(ConvertError::new(format!("more than {MAX_DEPTH} levels of nesting")));
        }
        Ok(Self { value, depth: self.depth + 1, takes_any_number: self.takes_any_number })
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        let items: Vec<Bound<'py, PyAny>> = if let Ok(list) = self.value.cast::<PyList>() {
            list.iter().collect()
        } else if let Ok(tuple) = self.value.cast::<PyTuple>() {
            tuple.iter().collect()
        } else {
            return self.deserialize_other(visitor);
        };
        visitor.visit_seq(Items { items: items.into_iter(), place: 0, reader: self })
    }

    fn record<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        if let Some(shape) = Table::get(self.value.py())?.of(&self.value) {
            let shape = Arc::clone(shape);
            return visitor.visit_map(Record { reader: self, shape, place: 0 });
        }
        if let Ok(dict) = self.value.cast::<PyDict>() {
            let mut entries = Vec::with_capacity(dict.len());
            for (key, value) in dict {
                let key =
                    key.cast_into::<PyString>().map_err(|_| ConvertError::new("a key that is not text"))?;
                entries.push((key, value));
            }
            return visitor.visit_map(Entries { reader: self, entries: entries.into_iter(), value: None });
        }
        self.deserialize_other(visitor)
    }

    /// Reads what is neither a list nor a record, so that a visitor that
    /// expects one of these says what is wrong.
    fn deserialize_other<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        let value = &self.value;
        if value.is_none() {
            visitor.visit_unit()
        } else if let Ok(truth) = value.cast::<PyBool>() {
            visitor.visit_bool(truth.extract()?)
        } else if let Ok(text) = value.cast::<PyString>() {
            visitor.visit_str(text.to_str()?)
        } else if value.is_instance_of::<PyInt>() {
            match value.extract::<i64>() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) if self.takes_any_number => visitor.visit_f64(value.extract().unwrap_or(f64::MAX)),
                Err(_) => visitor
                    .visit_u64(value.extract().map_err(|_| ConvertError::new("a number that is too large"))?),
            }
        } else if value.is_instance_of::<PyFloat>() {
            match value.extract::<f64>()? {
                number if number.is_finite() || self.takes_any_number => visitor.visit_f64(number),
                number => Err(ConvertError::new(format!("{number} is no number that JSON has"))),
            }
        } else {
            Err(ConvertError::new(format!("a {} is not expected here", Table::class_name(value))))
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = ConvertError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        let value = &self.value;
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            self.list(visitor)
        } else {
            self.record(visitor)
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        if self.value.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConvertError> {
        let text = self.value.cast::<PyString>();
        let text = text.map_err(|_| {
            ConvertError::new(format!("expected a word, got a {}", Table::class_name(&self.value)))
        })?;
        let word: StrDeserializer<'_, ConvertError> = text.to_str()?.into_deserializer();
        visitor.visit_enum(word)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConvertError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// The values of a list.
struct Items<'py> {
    items: std::vec::IntoIter<Bound<'py, PyAny>>,
    place: usize,
    reader: Reader<'py>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = ConvertError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ConvertError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        self.place += 1;
        let read = seed.deserialize(self.reader.inner(item)?);
        read.map(Some).map_err(|error| error.within(&(self.place - 1).to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The entries of a dict.
struct Entries<'py> {
    reader: Reader<'py>,
    entries: std::vec::IntoIter<(Bound<'py, PyString>, Bound<'py, PyAny>)>,
    value: Option<(Bound<'py, PyString>, Bound<'py, PyAny>)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = ConvertError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ConvertError> {
        self.value = self.entries.next();
        let Some((key, _)) = &self.value else { return Ok(None) };
        let key: StrDeserializer<'_, ConvertError> = key.to_str()?.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ConvertError> {
        let (key, value) = self.value.take().ok_or_else(|| ConvertError::new("a value without a key"))?;
        let read = seed.deserialize(self.reader.inner(value)?);
        read.map_err(|error| error.within(&key.to_string_lossy()))
    }
}

/// The fields of a record.
struct Record<'py> {
    reader: Reader<'py>,
    shape: Arc<Shape>,
    place: usize,
}

impl<'de> MapAccess<'de> for Record<'_> {
    type Error = ConvertError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ConvertError> {
        let Some(slot) = self.shape.fields.get(self.place) else { return Ok(None) };
        let key: StrDeserializer<'_, ConvertError> = slot.wire.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ConvertError> {
        let slot = self.shape.fields.get(self.place).ok_or_else(|| ConvertError::new("no such field"))?;
        self.place += 1;
        let name = slot.name.bind(self.reader.value.py());
        let value = self.reader.value.getattr(name)?;
        let read = seed.deserialize(self.reader.inner(value)?);
        read.map_err(|error| error.within(&name.to_string_lossy()))
    }
}
