//! From Rust records to Python objects.
//!
//! Records become classes, lists tuples, maps dicts with lists inside, words
//! and times text, durations seconds.

use std::sync::Arc;

use pyo3::{
    Bound, IntoPyObject, PyAny, PyResult, Python,
    types::{PyAnyMethods, PyBytes, PyDict, PyDictMethods, PyList, PyString, PyTuple},
};
use samuel_core::event::EventRecord;
use serde::{Serialize, ser};

use super::{
    ConvertError,
    table::{Shape, Table},
};

/// Turns a record into an object.
pub(crate) fn to_python<'py, T: Serialize + ?Sized>(
    py: Python<'py>,
    value: &T,
) -> PyResult<Bound<'py, PyAny>> {
    written(py, value, false)
}

/// Turns data into dicts and lists.
pub(crate) fn data_to_python<'py, T: Serialize + ?Sized>(
    py: Python<'py>,
    value: &T,
) -> PyResult<Bound<'py, PyAny>> {
    written(py, value, true)
}

fn written<'py, T: Serialize + ?Sized>(
    py: Python<'py>,
    value: &T,
    lists: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let writer = Writer { py, table: Table::get(py)?, lists };
    value.serialize(writer).map_err(|error| pyo3::exceptions::PyTypeError::new_err(error.to_string()))
}

/// Turns an event into an object, with what every event has.
pub(crate) fn event_to_python<'py>(py: Python<'py>, record: &EventRecord) -> PyResult<Bound<'py, PyAny>> {
    let event = to_python(py, &record.event)?;
    let [seq, at, elapsed_ms, run_id, lane] = &Table::get(py)?.event;
    seq.bind(py).call1((&event, record.seq))?;
    at.bind(py).call1((&event, record.at.to_string()))?;
    elapsed_ms.bind(py).call1((&event, record.elapsed_ms))?;
    run_id.bind(py).call1((&event, &*record.run_id))?;
    lane.bind(py).call1((&event, record.lane))?;
    Ok(event)
}

/// Writes one value.
#[derive(Clone, Copy)]
struct Writer<'a, 'py> {
    py: Python<'py>,
    table: &'a Table,
    /// Whether lists stay lists, as within JSON data.
    lists: bool,
}

type Object<'py> = Bound<'py, PyAny>;

impl<'py> Writer<'_, 'py> {
    fn seq(self, values: Vec<Object<'py>>) -> Result<Object<'py>, ConvertError> {
        Ok(match self.lists {
            true => PyList::new(self.py, values)?.into_any(),
            false => PyTuple::new(self.py, values)?.into_any(),
        })
    }
}

macro_rules! plain {
    ($($method:ident $type:ty;)+) => {
        $(fn $method(self, value: $type) -> Result<Object<'py>, ConvertError> {
            Ok(value.into_pyobject(self.py).map_err(|_| ConvertError::new("no Python object"))?.to_owned().into_any())
        })+
    };
}

impl<'a, 'py> ser::Serializer for Writer<'a, 'py> {
    type Ok = Object<'py>;
    type Error = ConvertError;
    type SerializeSeq = Items<'a, 'py>;
    type SerializeTuple = Items<'a, 'py>;
    type SerializeTupleStruct = Items<'a, 'py>;
    type SerializeTupleVariant = ser::Impossible<Object<'py>, ConvertError>;
    type SerializeMap = Entries<'a, 'py>;
    type SerializeStruct = Fields<'a, 'py>;
    type SerializeStructVariant = ser::Impossible<Object<'py>, ConvertError>;

    plain! {
        serialize_bool bool; serialize_i8 i8; serialize_i16 i16; serialize_i32 i32; serialize_i64 i64;
        serialize_u8 u8; serialize_u16 u16; serialize_u32 u32; serialize_u64 u64; serialize_f32 f32;
        serialize_f64 f64; serialize_char char;
    }

    fn serialize_str(self, value: &str) -> Result<Object<'py>, ConvertError> {
        Ok(PyString::new(self.py, value).into_any())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Object<'py>, ConvertError> {
        Ok(PyBytes::new(self.py, value).into_any())
    }

    fn serialize_none(self) -> Result<Object<'py>, ConvertError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Object<'py>, ConvertError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Object<'py>, ConvertError> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Object<'py>, ConvertError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        word: &'static str,
    ) -> Result<Object<'py>, ConvertError> {
        Ok(PyString::intern(self.py, word).into_any())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Object<'py>, ConvertError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        word: &'static str,
        value: &T,
    ) -> Result<Object<'py>, ConvertError> {
        let dict = PyDict::new(self.py);
        dict.set_item(word, value.serialize(self)?)?;
        Ok(dict.into_any())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items<'a, 'py>, ConvertError> {
        Ok(Items { writer: self, items: Vec::with_capacity(length.unwrap_or_default()) })
    }

    fn serialize_tuple(self, length: usize) -> Result<Items<'a, 'py>, ConvertError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items<'a, 'py>, ConvertError> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ConvertError> {
        Err(ConvertError::new(format!("{name} has no class in Python")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a, 'py>, ConvertError> {
        Ok(Entries { writer: Writer { lists: true, ..self }, dict: PyDict::new(self.py), key: None })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'a, 'py>, ConvertError> {
        let shape = self.table.named(name).cloned();
        let values = shape.as_ref().map(|shape| vec![None; shape.fields.len()]).unwrap_or_default();
        Ok(Fields { writer: self, name, shape, values, next: 0, other: Vec::new() })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, ConvertError> {
        Err(ConvertError::new(format!("{name} has no class in Python")))
    }
}

/// A list being written.
pub(super) struct Items<'a, 'py> {
    writer: Writer<'a, 'py>,
    items: Vec<Object<'py>>,
}

macro_rules! items {
    ($($trait:ident $method:ident;)+) => {
        $(impl<'py> ser::$trait for Items<'_, 'py> {
            type Ok = Object<'py>;
            type Error = ConvertError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
                self.items.push(value.serialize(self.writer)?);
                Ok(())
            }

            fn end(self) -> Result<Object<'py>, ConvertError> {
                self.writer.seq(self.items)
            }
        })+
    };
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
}

/// A map being written.
pub(super) struct Entries<'a, 'py> {
    writer: Writer<'a, 'py>,
    dict: Bound<'py, PyDict>,
    key: Option<Object<'py>>,
}

impl<'py> ser::SerializeMap for Entries<'_, 'py> {
    type Ok = Object<'py>;
    type Error = ConvertError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConvertError> {
        self.key = Some(key.serialize(self.writer)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConvertError> {
        let key = self.key.take().ok_or_else(|| ConvertError::new("a value without a key"))?;
        self.dict.set_item(key, value.serialize(self.writer)?)?;
        Ok(())
    }

    fn end(self) -> Result<Object<'py>, ConvertError> {
        Ok(self.dict.into_any())
    }
}

/// A record being written.
pub(super) struct Fields<'a, 'py> {
    writer: Writer<'a, 'py>,
    name: &'static str,
    shape: Option<Arc<Shape>>,
    values: Vec<Option<Object<'py>>>,
    /// The field that comes next, as a rule.
    next: usize,
    /// The fields of a record without a class.
    other: Vec<(&'static str, Object<'py>)>,
}

impl<'py> Fields<'_, 'py> {
    /// Puts a field where the class has it; the same code for fields of every type.
    fn put(&mut self, key: &'static str, value: Object<'py>) -> Result<(), ConvertError> {
        if self.next == 0
            && matches!(key, "event" | "type" | "kind" | "decision")
            && let Ok(word) = value.extract::<&str>()
            && let Some(shape) = self.writer.table.tagged(key, word)
        {
            self.values = vec![None; shape.fields.len()];
            self.shape = Some(Arc::clone(shape));
            return Ok(());
        }
        let Some(shape) = &self.shape else {
            self.other.push((key, value));
            return Ok(());
        };
        let is_next = shape.fields.get(self.next).is_some_and(|slot| slot.wire == key);
        let place = match is_next {
            true => Some(self.next),
            false => shape.fields.iter().position(|slot| slot.wire == key),
        };
        let place = place.ok_or_else(|| ConvertError::new(format!("{} has no field {key}", self.name)))?;
        self.next = place + 1;
        if let Some(free) = self.values.get_mut(place) {
            *free = Some(value);
        }
        Ok(())
    }
}

impl<'py> ser::SerializeStruct for Fields<'_, 'py> {
    type Ok = Object<'py>;
    type Error = ConvertError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), ConvertError> {
        let value = value.serialize(self.writer)?;
        self.put(key, value)
    }

    fn end(self) -> Result<Object<'py>, ConvertError> {
        let py = self.writer.py;
        if let Some(shape) = &self.shape {
            return Ok(self.writer.table.make(py, shape, self.values)?);
        }
        if self.name == "Duration"
            && let [(_, secs), (_, nanos)] = self.other.as_slice()
        {
            let seconds = secs.extract::<f64>()? + nanos.extract::<f64>()? / 1e9;
            return Ok(seconds.into_pyobject(py).map_err(|_| ConvertError::new("no float"))?.into_any());
        }
        let dict = PyDict::new(py);
        for (key, value) in self.other {
            dict.set_item(key, value)?;
        }
        Ok(dict.into_any())
    }
}
