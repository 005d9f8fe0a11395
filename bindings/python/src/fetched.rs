//! A plugin that was fetched and waits to be installed, as Python sees it.

use std::sync::{Mutex, PoisonError};

use pyo3::{Bound, Py, PyAny, PyResult, Python, exceptions::PyRuntimeError, pyclass, pymethods};
use samuel_core::plugin::{FetchedPlugin, Plugins};

use crate::{convert::to_python, gate::detached, plugins::raise_plugin};

/// A plugin that was fetched and waits to be installed.
#[pyclass(frozen, name = "FetchedPlugin", module = "samuel")]
pub(crate) struct PyFetchedPlugin {
    plugins: Plugins,
    fetched: Mutex<Option<FetchedPlugin>>,
    /// Its name.
    #[pyo3(get)]
    name: String,
    /// Its version.
    #[pyo3(get)]
    version: String,
    /// What it is made of, such as `wasm`.
    #[pyo3(get)]
    kind: &'static str,
    /// What it does, one line; may be empty.
    #[pyo3(get)]
    description: String,
    /// Where it comes from.
    #[pyo3(get)]
    source: String,
    /// The hook points that it handles.
    #[pyo3(get)]
    points: Vec<&'static str>,
    /// What it asks for: capabilities and their targets.
    #[pyo3(get)]
    capabilities: Py<PyAny>,
    /// What of it was not granted before.
    #[pyo3(get)]
    new_capabilities: Py<PyAny>,
    /// What follows from what it handles and asks for, in plain words.
    #[pyo3(get)]
    consequences: Vec<String>,
    /// What is installed under its name.
    #[pyo3(get)]
    before: Py<PyAny>,
    /// What its source has by now, where it should have stayed what was installed from it.
    #[pyo3(get)]
    moved: Py<PyAny>,
    /// Whether somebody has to be asked for another reason than that its source was moved.
    #[pyo3(get)]
    wants_more: bool,
    /// Whether somebody has to be asked.
    #[pyo3(get)]
    needs_consent: bool,
}

impl PyFetchedPlugin {
    /// Wraps a plugin that was fetched for a project.
    pub(crate) fn new(py: Python<'_>, plugins: Plugins, fetched: FetchedPlugin) -> PyResult<Self> {
        let manifest = fetched.manifest();
        Ok(Self {
            plugins,
            name: manifest.name.clone(),
            version: manifest.version.to_string(),
            kind: manifest.kind.as_str(),
            description: manifest.description.clone(),
            source: fetched.source().to_owned(),
            points: manifest.bindings.iter().map(|binding| binding.point.as_str()).collect(),
            capabilities: to_python(py, &manifest.capabilities)?.unbind(),
            new_capabilities: to_python(py, &fetched.new_capabilities())?.unbind(),
            consequences: fetched.consequences(),
            before: to_python(py, &fetched.before())?.unbind(),
            moved: to_python(py, &fetched.moved())?.unbind(),
            wants_more: fetched.wants_more(),
            needs_consent: fetched.needs_consent(),
            fetched: Mutex::new(Some(fetched)),
        })
    }
}

#[pymethods]
impl PyFetchedPlugin {
    /// Installs it with all it asks for, once.
    #[pyo3(name = "_install")]
    fn install<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fetched =
            fetched.ok_or_else(|| PyRuntimeError::new_err("the fetched plugin was taken before"))?;
        let granted = fetched.manifest().capabilities.clone();
        let done = detached(py, || self.plugins.install(fetched, &granted));
        to_python(py, &done.map_err(|error| raise_plugin(py, &error))?.entry)
    }

    /// Lets go of it, so that other plugins can be installed.
    #[pyo3(name = "_leave")]
    fn leave(&self) {
        drop(self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __repr__(&self) -> String {
        format!("<FetchedPlugin {} {}>", self.name, self.version)
    }
}
