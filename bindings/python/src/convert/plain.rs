//! Python data as what it is: dicts, lists, text, numbers.
//!
//! [`Plain`] lets any serializer read a Python object, so that TOON and JSON
//! are written straight from it. What a serializer cannot carry through, the
//! exception of Python, stays with [`Writing`].

use std::cell::{Cell, RefCell};

use pyo3::{
    Bound, PyAny, PyErr, PyResult,
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    types::{
        PyAnyMethods, PyBool, PyDict, PyDictMethods, PyFloat, PyFloatMethods, PyInt, PyList, PyListMethods,
        PyString, PyStringMethods, PyTuple, PyTupleMethods,
    },
};
use samuel_core::toon::Number;
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap, SerializeSeq},
};

use super::table::Table;

/// The most levels of nesting that fit into the stack of any thread.
pub(crate) const DEEPEST: usize = 512;

/// What one writing of data shares.
pub(crate) struct Writing<'py> {
    /// Turns an object of an unknown class into one of a known class.
    pub(crate) default: Option<Bound<'py, PyAny>>,
    /// Whether the keys of dicts are sorted.
    pub(crate) sort_keys: bool,
    /// Whether `nan` and infinities are written, as `null`, or refused.
    pub(crate) allow_nan: bool,
    /// Whether integers of more than 64 bits are written, which JSON of serde cannot, or refused.
    pub(crate) wide: bool,
    /// How deep data may be nested; deeper data is taken for circular.
    pub(crate) max_depth: usize,
    depth: Cell<usize>,
    raised: RefCell<Option<PyErr>>,
}

impl Default for Writing<'_> {
    fn default() -> Self {
        Self {
            default: None,
            sort_keys: false,
            allow_nan: true,
            wide: false,
            max_depth: DEEPEST,
            depth: Cell::default(),
            raised: RefCell::default(),
        }
    }
}

impl<'py> Writing<'py> {
    /// Returns the exception that ended the writing, if one did.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.borrow_mut().take()
    }

    fn fail<E: Error>(&self, error: PyErr) -> E {
        let message = error.to_string();
        *self.raised.borrow_mut() = Some(error);
        E::custom(message)
    }

    fn unwrap<T, E: Error>(&self, result: PyResult<T>) -> Result<T, E> {
        result.map_err(|error| self.fail(error))
    }
}

/// A Python object, to be written.
pub(crate) struct Plain<'a, 'py> {
    /// The object.
    pub(crate) value: &'a Bound<'py, PyAny>,
    /// What the writing shares.
    pub(crate) writing: &'a Writing<'py>,
}

impl<'py> Plain<'_, 'py> {
    fn inner<'b>(&'b self, value: &'b Bound<'py, PyAny>) -> Plain<'b, 'py> {
        Plain { value, writing: self.writing }
    }

    fn nested<S: Serializer>(
        &self,
        write: impl FnOnce() -> Result<S::Ok, S::Error>,
    ) -> Result<S::Ok, S::Error> {
        let depth = self.writing.depth.get();
        let max_depth = self.writing.max_depth;
        if depth >= max_depth {
            let message = format!("circular reference, or more than {max_depth} levels of nesting");
            return Err(self.writing.fail(PyValueError::new_err(message)));
        }
        self.writing.depth.set(depth + 1);
        let written = write();
        self.writing.depth.set(depth);
        written
    }

    fn dict<S: Serializer>(&self, dict: &Bound<'py, PyDict>, serializer: S) -> Result<S::Ok, S::Error> {
        let len = dict.len();
        let mut map = serializer.serialize_map(Some(len))?;
        if self.writing.sort_keys {
            let keys = dict.keys();
            self.writing.unwrap(keys.sort())?;
            for key in keys {
                if let Some(value) = self.writing.unwrap(dict.get_item(&key))? {
                    self.entry(&mut map, &key, &value)?;
                }
            }
        } else {
            // Writing calls Python, and the iterator would panic at a dict that has changed.
            for (key, value) in dict.iter().take(len) {
                self.entry(&mut map, &key, &value)?;
                if dict.len() != len {
                    let message = "dictionary changed size during iteration";
                    return Err(self.writing.fail(PyRuntimeError::new_err(message)));
                }
            }
        }
        map.end()
    }

    #[inline]
    fn entry<M: SerializeMap>(
        &self,
        map: &mut M,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> Result<(), M::Error> {
        let value = self.inner(value);
        if let Ok(text) = key.cast::<PyString>() {
            return map.serialize_entry(self.writing.unwrap(text.to_str())?, &value);
        }
        let text = self.key(key)?;
        // Nobody could read both, and a reader of TOON takes neither.
        if self.writing.unwrap(self.value.contains(&text))? {
            let message =
                format!("the key \"{text}\" is there twice, as str and as {}", Table::class_name(key));
            return Err(self.writing.fail(PyValueError::new_err(message)));
        }
        map.serialize_entry(&text, &value)
    }

    /// Returns a key that is no text as JSON writes it.
    fn key<E: Error>(&self, key: &Bound<'py, PyAny>) -> Result<String, E> {
        if let Ok(truth) = key.cast::<PyBool>() {
            let truth: bool = self.writing.unwrap(truth.extract())?;
            Ok(if truth { "true" } else { "false" }.to_owned())
        } else if key.is_none() {
            Ok("null".to_owned())
        } else if key.is_instance_of::<PyInt>() || key.is_instance_of::<PyFloat>() {
            let text = self.writing.unwrap(key.str())?;
            Ok(self.writing.unwrap(text.to_str())?.to_owned())
        } else {
            let message =
                format!("keys must be str, int, float, bool or None, not {}", Table::class_name(key));
            Err(self.writing.fail(PyTypeError::new_err(message)))
        }
    }

    fn list<S: Serializer>(
        &self,
        items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(items.len()))?;
        for item in items {
            seq.serialize_element(&self.inner(&item))?;
        }
        seq.end()
    }

    fn int<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(number) = self.value.extract::<i64>() {
            serializer.serialize_i64(number)
        } else if let Ok(number) = self.value.extract::<u64>() {
            serializer.serialize_u64(number)
        } else if self.writing.wide {
            // The digits are those of the integer also where a subclass prints as something else.
            let digits = self.value.py().get_type::<PyInt>().call_method1("__repr__", (self.value,));
            let digits = self.writing.unwrap(digits.and_then(|digits| digits.extract::<String>()))?;
            let number = Number::parse(&digits).ok_or_else(|| S::Error::custom("not an integer"))?;
            number.serialize(serializer)
        } else {
            let message = "an integer of more than 64 bits cannot be written without loss";
            Err(self.writing.fail(PyValueError::new_err(message)))
        }
    }

    fn float<S: Serializer>(&self, number: f64, serializer: S) -> Result<S::Ok, S::Error> {
        if !number.is_finite() && !self.writing.allow_nan {
            let message = format!("{} is no number that TOON has", self.value);
            return Err(self.writing.fail(PyValueError::new_err(message)));
        }
        serializer.serialize_f64(number)
    }

    /// Writes an object of a class that has no form of its own.
    fn other<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let writing = self.writing;
        let py = self.value.py();
        if self.value.hasattr(pyo3::intern!(py, "__match_args__")).unwrap_or(false)
            && let Ok(to_dict) = self.value.getattr(pyo3::intern!(py, "to_dict"))
        {
            let plain = writing.unwrap(to_dict.call0())?;
            return self.nested::<S>(|| self.inner(&plain).serialize(serializer));
        }
        match &writing.default {
            Some(default) => {
                let plain = writing.unwrap(default.call1((self.value,)))?;
                self.nested::<S>(|| self.inner(&plain).serialize(serializer))
            }
            None => {
                let name = Table::class_name(self.value);
                let message = format!("Object of type {name} is not TOON serializable");
                Err(writing.fail(PyTypeError::new_err(message)))
            }
        }
    }
}

impl Serialize for Plain<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        if let Ok(text) = value.cast::<PyString>() {
            serializer.serialize_str(self.writing.unwrap(text.to_str())?)
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            serializer.serialize_bool(self.writing.unwrap(truth.extract())?)
        } else if value.is_instance_of::<PyInt>() {
            self.int(serializer)
        } else if let Ok(number) = value.cast::<PyFloat>() {
            self.float(number.value(), serializer)
        } else if value.is_none() {
            serializer.serialize_unit()
        } else if let Ok(dict) = value.cast::<PyDict>() {
            self.nested::<S>(|| self.dict(dict, serializer))
        } else if let Ok(list) = value.cast::<PyList>() {
            self.nested::<S>(|| self.list(list.iter(), serializer))
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            self.nested::<S>(|| self.list(tuple.iter(), serializer))
        } else {
            self.other(serializer)
        }
    }
}
