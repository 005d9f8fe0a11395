//! TOON to and from Python objects, with no value in between.

use std::{cell::RefCell, collections::HashMap, fmt};

use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyValueError,
    intern, pyfunction,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyFloat, PyInt, PyList, PyModule, PyString},
};
use samuel_core::toon::{self, Action, DecodeOptions, Delimiter, EncodeOptions, Limits, NumberText};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

use crate::convert::{DEEPEST, Plain, Writing};

/// Writes an object as TOON.
#[pyfunction]
pub(crate) fn toon_dumps(
    value: &Bound<'_, PyAny>,
    indent: usize,
    delimiter: &str,
    default: Option<Bound<'_, PyAny>>,
    sort_keys: bool,
    allow_nan: bool,
    max_depth: usize,
) -> PyResult<String> {
    let delimiter = match delimiter {
        "," => Delimiter::Comma,
        "\t" => Delimiter::Tab,
        "|" => Delimiter::Pipe,
        other => {
            return Err(PyValueError::new_err(format!("delimiter must be ',', '\\t' or '|', not {other:?}")));
        }
    };
    let max_depth = max_depth.min(DEEPEST);
    let mut writing = Writing::default();
    (writing.default, writing.sort_keys, writing.allow_nan) = (default, sort_keys, allow_nan);
    (writing.wide, writing.max_depth) = (true, max_depth);
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
    hooks: (Hook<'py>, Hook<'py>, Hook<'py>, Hook<'py>),
) -> PyResult<Bound<'py, PyAny>> {
    let (object, pairs, int, float) = hooks;
    let hooks = Hooks { object, pairs, int, float, raised: RefCell::default() };
    let limits = Limits { depth: max_depth.min(DEEPEST), ..Limits::default() };
    let numbers = match (&hooks.int, &hooks.float) {
        (None, None) => NumberText::Wide,
        _ => NumberText::Tokens,
    };
    let options = DecodeOptions { indent_size: indent, strict, limits, numbers };
    read(py, text, options, &hooks)
        .map_err(|error| hooks.raised.take().unwrap_or_else(|| decode_error(py, text, &error)))
}

fn read<'py>(
    py: Python<'py>,
    text: &str,
    options: DecodeOptions,
    hooks: &Hooks<'py>,
) -> toon::Result<Bound<'py, PyAny>> {
    let build = Build { py, keys: &Keys::default(), hooks };
    build.deserialize(&mut toon::Deserializer::from_str_with(text, options)?)
}

/// A function of the caller.
type Hook<'py> = Option<Bound<'py, PyAny>>;

/// What makes objects of what is read, where it is not what Python has.
#[derive(Default)]
struct Hooks<'py> {
    /// Makes an object of a dict.
    object: Hook<'py>,
    /// Makes an object of the keys with their values; goes before `object`.
    pairs: Hook<'py>,
    /// Makes a number of the text of an integer.
    int: Hook<'py>,
    /// Makes a number of the text of any other number.
    float: Hook<'py>,
    /// What a function raised.
    raised: RefCell<Option<PyErr>>,
}

impl<'py> Hooks<'py> {
    /// Calls one of the functions. What it raises ends the reading and reaches the caller as it is.
    fn call<E: Error>(
        &self,
        hook: &Bound<'py, PyAny>,
        argument: Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, E> {
        hook.call1((argument,)).map_err(|error| {
            let message = error.to_string();
            *self.raised.borrow_mut() = Some(error);
            E::custom(message)
        })
    }

    /// Makes a number of its text.
    fn number<E: Error>(&self, py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>, E> {
        let is_whole = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        let hook = if is_whole { &self.int } else { &self.float };
        match hook {
            Some(hook) => self.call(hook, PyString::new(py, text).into_any()),
            // Python refuses integers of thousands of digits.
            None if is_whole => whole(py, text).map_err(E::custom),
            None => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(PyFloat::new(py, value).into_any()),
                _ => Err(E::custom(format!("{text} is beyond the range of a float"))),
            },
        }
    }
}

/// Makes an integer of its digits.
fn whole<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PyInt>().call1((digits,))
}

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
    let value = match &recovered.value {
        Some(value) => plain(py, value)?,
        None => py.None().into_bound(py),
    };
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

/// Makes an object of a value. Numbers are what reading makes of them; where it refuses one, its
/// text.
fn plain<'py>(py: Python<'py>, value: &toon::Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        toon::Value::Null => py.None().into_bound(py),
        toon::Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        toon::Value::String(text) => PyString::new(py, text).into_any(),
        toon::Value::Number(number) => {
            let text = number.to_string();
            let options = DecodeOptions { numbers: NumberText::Wide, ..DecodeOptions::default() };
            read(py, &text, options, &Hooks::default())
                .unwrap_or_else(|_| PyString::new(py, &text).into_any())
        }
        toon::Value::Array(values) => {
            let items = values.iter().map(|value| plain(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        toon::Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map.iter() {
                dict.set_item(key, plain(py, value)?)?;
            }
            dict.into_any()
        }
    })
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
    hooks: &'a Hooks<'py>,
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

    fn visit_newtype_struct<D: Deserializer<'de>>(self, number: D) -> Result<Bound<'py, PyAny>, D::Error> {
        self.hooks.number(self.py, <&str>::deserialize(number)?)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Bound<'py, PyAny>, A::Error> {
        let mut built = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            built.push(item);
        }
        Ok(PyList::new(self.py, built).map_err(A::Error::custom)?.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Bound<'py, PyAny>, A::Error> {
        if let Some(hook) = &self.hooks.pairs {
            let mut pairs = Vec::new();
            while let Some(key) = entries.next_key_seed(Key(self))? {
                pairs.push((key, entries.next_value_seed(self)?));
            }
            let pairs = PyList::new(self.py, pairs).map_err(A::Error::custom)?;
            return self.hooks.call(hook, pairs.into_any());
        }
        let dict = PyDict::new(self.py);
        while let Some(key) = entries.next_key_seed(Key(self))? {
            let value = entries.next_value_seed(self)?;
            dict.set_item(key, value).map_err(A::Error::custom)?;
        }
        match &self.hooks.object {
            Some(hook) => self.hooks.call(hook, dict.into_any()),
            None => Ok(dict.into_any()),
        }
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
