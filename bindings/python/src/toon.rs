//! TOON to and from Python objects, with no value in between.

use std::{cell::RefCell, collections::HashMap, fmt};

use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyValueError,
    intern, pyfunction,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyList, PyModule, PyString},
};
use samuel_core::toon::{self, Action, DecodeOptions, Delimiter, EncodeOptions, Limits};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

use crate::convert::{Plain, Writing, data_to_python};

/// Writes an object as TOON.
#[pyfunction]
pub(crate) fn toon_dumps(
    value: &Bound<'_, PyAny>,
    indent: usize,
    delimiter: &str,
    default: Option<Bound<'_, PyAny>>,
    sort_keys: bool,
) -> PyResult<String> {
    let delimiter = match delimiter {
        "," => Delimiter::Comma,
        "\t" => Delimiter::Tab,
        "|" => Delimiter::Pipe,
        other => {
            return Err(PyValueError::new_err(format!("delimiter must be ',', '\\t' or '|', not {other:?}")));
        }
    };
    let writing = Writing::new(default, sort_keys);
    let plain = Plain { value, writing: &writing };
    toon::to_string_with(&plain, EncodeOptions { indent_size: indent, delimiter })
        .map_err(|error| writing.raised().unwrap_or_else(|| PyValueError::new_err(error.to_string())))
}

/// Reads an object from TOON.
#[pyfunction]
pub(crate) fn toon_loads<'py>(
    py: Python<'py>,
    text: &str,
    indent: usize,
    strict: bool,
    max_depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let limits = Limits { depth: max_depth.min(DEEPEST), ..Limits::default() };
    let options = DecodeOptions { indent_size: indent, strict, limits, ..DecodeOptions::default() };
    let build = Build { py, keys: &Keys::default() };
    let read = toon::Deserializer::from_str_with(text, options)
        .and_then(|mut reader| build.deserialize(&mut reader));
    read.map_err(|error| decode_error(py, text, &error))
}

/// The most levels that fit into the stack of any thread.
const DEEPEST: usize = 512;

fn decode_error(py: Python<'_>, text: &str, error: &toon::Error) -> PyErr {
    let place = text.get(..error.offset()).map_or(0, |before| before.chars().count());
    let message = match error.path() {
        "" => error.kind().to_string(),
        path => format!("{} (at {path})", error.kind()),
    };
    let made = PyModule::import(py, intern!(py, "samuel.toon")).and_then(|module| {
        let class = module.getattr(intern!(py, "ToonDecodeError"))?;
        class.call1((message, text, place))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

/// A value, the faults that are described, how many more there are, and the
/// text that was left out.
type Recovered<'py> = (Bound<'py, PyAny>, Bound<'py, PyList>, usize, Bound<'py, PyList>);

/// Reads what can be read of a document.
#[pyfunction]
pub(crate) fn toon_recover<'py>(py: Python<'py>, text: &[u8], indent: usize) -> PyResult<Recovered<'py>> {
    let options = DecodeOptions { indent_size: indent, ..DecodeOptions::default() };
    let recovered = toon::recover_with::<toon::Value>(text, options);
    let value = data_to_python(py, &recovered.value)?;
    let faults = recovered.diagnostics.iter().map(|fault| {
        let action = match fault.action {
            Action::Kept => "kept",
            Action::Skipped => "skipped",
            _ => "stopped",
        };
        (fault.code(), fault.kind.to_string(), fault.line, fault.column, &fault.path, action)
    });
    let skipped = recovered.skipped.iter().map(|left_out| (left_out.line, &left_out.raw));
    let faults = PyList::new(py, faults.collect::<Vec<_>>())?;
    Ok((value, faults, recovered.more, PyList::new(py, skipped.collect::<Vec<_>>())?))
}

/// The keys met so far, by their place in the text: all rows of a table share
/// those of its header.
#[derive(Default)]
struct Keys(RefCell<HashMap<(usize, usize), Py<PyString>, Places>>);

/// A hasher for places, which need no protection.
#[derive(Clone, Default)]
struct Places(u64);

impl std::hash::BuildHasher for Places {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl std::hash::Hasher for Places {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// Builds an object.
#[derive(Clone, Copy)]
struct Build<'a, 'py> {
    py: Python<'py>,
    keys: &'a Keys,
}

impl<'de, 'py> DeserializeSeed<'de> for Build<'_, 'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bound<'py, PyAny>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! visit {
    ($($method:ident $type:ty;)+) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<Bound<'py, PyAny>, E> {
            Ok(value.into_pyobject(self.py).map_err(E::custom)?.to_owned().into_any())
        })+
    };
}

impl<'de, 'py> Visitor<'de> for Build<'_, 'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    visit! { visit_bool bool; visit_i64 i64; visit_u64 u64; visit_f64 f64; }

    fn visit_unit<E: Error>(self) -> Result<Bound<'py, PyAny>, E> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bound<'py, PyAny>, E> {
        Ok(PyString::new(self.py, text).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bound<'py, PyAny>, A::Error> {
        let mut built = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            built.push(item);
        }
        Ok(PyList::new(self.py, built).map_err(A::Error::custom)?.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Bound<'py, PyAny>, A::Error> {
        let dict = PyDict::new(self.py);
        while let Some(key) = entries.next_key_seed(Key(self))? {
            let value = entries.next_value_seed(self)?;
            dict.set_item(key, value).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}

/// Builds a key.
struct Key<'a, 'py>(Build<'a, 'py>);

impl<'de, 'py> DeserializeSeed<'de> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bound<'py, PyString>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, 'py> Visitor<'de> for Key<'_, 'py> {
    type Value = Bound<'py, PyString>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bound<'py, PyString>, E> {
        Ok(PyString::new(self.0.py, text))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Bound<'py, PyString>, E> {
        let py = self.0.py;
        let place = (text.as_ptr() as usize, text.len());
        let mut keys = self.0.keys.0.borrow_mut();
        let key = keys.entry(place).or_insert_with(|| PyString::new(py, text).unbind());
        Ok(key.bind(py).clone())
    }
}
