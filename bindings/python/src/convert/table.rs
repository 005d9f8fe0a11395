//! The classes of `samuel.records`, by the names that Rust knows them by.

use std::{collections::HashMap, sync::Arc};

use pyo3::{
    Bound, Py, PyAny, PyResult, Python, intern,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyBool, PyDict, PyModule, PyString, PyTuple, PyType, PyTypeMethods},
};

/// A class and its fields.
pub(super) struct Shape {
    class: Py<PyAny>,
    pub(super) fields: Vec<Slot>,
}

/// One field of a class.
pub(super) struct Slot {
    /// Its name in JSON.
    pub(super) wire: String,
    /// Its name in Python.
    pub(super) name: Py<PyString>,
    /// Puts a value into the field, past the class's immutability.
    set: Py<PyAny>,
    /// What it holds where Rust leaves it out.
    absent: Absent,
}

/// What stands for nothing, by a field's type.
enum Absent {
    None,
    False,
    Tuple,
    Mapping,
}

impl Absent {
    fn of(annotation: &str) -> Self {
        match annotation {
            optional if optional.ends_with("| None") => Self::None,
            "bool" => Self::False,
            list if list.starts_with("tuple[") => Self::Tuple,
            map if map.starts_with("Mapping[") => Self::Mapping,
            _ => Self::None,
        }
    }

    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        match self {
            Self::None => py.None(),
            Self::False => PyBool::new(py, false).to_owned().into_any().unbind(),
            Self::Tuple => PyTuple::empty(py).into_any().unbind(),
            Self::Mapping => PyDict::new(py).into_any().unbind(),
        }
    }
}

/// Every class.
pub(super) struct Table {
    by_name: HashMap<String, Arc<Shape>>,
    by_tag: HashMap<(String, String), Arc<Shape>>,
    by_class: HashMap<usize, Arc<Shape>>,
    /// Makes an object of a class without calling `__init__`.
    new: Py<PyAny>,
    /// The fields that all events have: number, time, run, lane.
    pub(super) event: [Py<PyAny>; 5],
}

static TABLE: PyOnceLock<Table> = PyOnceLock::new();

impl Table {
    /// Returns the table, which is read from the classes once.
    pub(super) fn get(py: Python<'_>) -> PyResult<&Self> {
        TABLE.get_or_try_init(py, || Self::read(py))
    }

    fn read(py: Python<'_>) -> PyResult<Self> {
        let records = PyModule::import(py, "samuel.records")?;
        let base = PyModule::import(py, "samuel._record")?;
        let record = base.getattr("Record")?;
        let event = base.getattr("EventBase")?;
        let setter = |class: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>| -> PyResult<Py<PyAny>> {
            let own: Bound<'_, PyAny> = class.getattr("__dict__")?.get_item(name)?;
            Ok(own.getattr("__set__")?.unbind())
        };
        let new = PyModule::import(py, "builtins")?.getattr("object")?.getattr("__new__")?.unbind();
        let of_event = |name: &str| setter(&event, PyString::new(py, name).as_any());
        let mut table = Self {
            by_name: HashMap::new(),
            by_tag: HashMap::new(),
            by_class: HashMap::new(),
            new,
            event: [
                of_event("seq")?,
                of_event("at")?,
                of_event("elapsed_ms")?,
                of_event("run_id")?,
                of_event("lane")?,
            ],
        };
        for name in records.getattr("__all__")?.try_iter()? {
            let name: String = name?.extract()?;
            let class = records.getattr(name.as_str())?;
            if !class.is_instance_of::<PyType>() || !class.cast::<PyType>()?.is_subclass(&record)? {
                continue;
            }
            let aliases = class.getattr("_wire")?.cast_into::<PyDict>()?;
            let mut wires: HashMap<String, String> = HashMap::new();
            for (wire, name) in &aliases {
                wires.insert(name.extract()?, wire.extract()?);
            }
            let annotations = class.getattr("__annotations__")?;
            let mut fields = Vec::new();
            for name in class.getattr("__slots__")?.try_iter()? {
                let name = name?;
                let text: String = name.extract()?;
                let annotation: String = annotations.get_item(&name)?.extract()?;
                fields.push(Slot {
                    wire: wires.remove(&text).unwrap_or(text),
                    set: setter(&class, &name)?,
                    name: name.cast_into::<PyString>()?.unbind(),
                    absent: Absent::of(&annotation),
                });
            }
            let shape = Arc::new(Shape { class: class.clone().unbind(), fields });
            table.by_class.insert(class.as_ptr() as usize, Arc::clone(&shape));
            let tag: Option<(String, String)> = class.getattr("_tag")?.extract()?;
            let rust: String = class.getattr("_rust")?.extract()?;
            match tag {
                Some(tag) => drop(table.by_tag.insert(tag, shape)),
                None => drop(table.by_name.insert(if rust.is_empty() { name } else { rust }, shape)),
            }
        }
        Ok(table)
    }

    /// Returns the class of a Rust record.
    pub(super) fn named(&self, name: &str) -> Option<&Arc<Shape>> {
        self.by_name.get(name)
    }

    /// Returns the class of a case of a Rust enum.
    pub(super) fn tagged(&self, key: &str, value: &str) -> Option<&Arc<Shape>> {
        self.by_tag.get(&(key.to_owned(), value.to_owned()))
    }

    /// Returns the fields of an object, if it is a record.
    pub(super) fn of(&self, value: &Bound<'_, PyAny>) -> Option<&Arc<Shape>> {
        self.by_class.get(&(value.get_type().as_ptr() as usize))
    }

    /// Makes a record of its fields' values.
    pub(super) fn make<'py>(
        &self,
        py: Python<'py>,
        shape: &Shape,
        values: Vec<Option<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = self.new.bind(py).call1((shape.class.bind(py),))?;
        for (slot, value) in shape.fields.iter().zip(values) {
            let value = value.unwrap_or_else(|| slot.absent.value(py).into_bound(py));
            slot.set.bind(py).call1((&made, value))?;
        }
        Ok(made)
    }

    /// Returns the name of an object's class, for messages.
    pub(super) fn class_name(value: &Bound<'_, PyAny>) -> String {
        let name = value.get_type().getattr(intern!(value.py(), "__name__"));
        name.and_then(|name| name.extract()).unwrap_or_else(|_| "object".to_owned())
    }
}
