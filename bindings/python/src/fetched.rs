//! A plugin that was fetched and waits to be installed, as Python sees it.

use std::sync::{Mutex, PoisonError};

use pyo3::{Bound, PyAny, PyResult, Python, exceptions::PyRuntimeError, pyclass, pymethods};
use samuel_core::plugin::{Capabilities, FetchedPlugin, Plugins};

use crate::{convert::to_python, gate::detached, plugins::raise_plugin};

/// A plugin that was fetched and waits to be installed.
#[pyclass(frozen, name = "FetchedPlugin", module = "samuel")]
pub(crate) struct PyFetchedPlugin {
    plugins: Plugins,
    fetched: Mutex<Option<FetchedPlugin>>,
    about: About,
}

/// What a fetched plugin says, also once it was taken.
struct About {
    name: String,
    version: String,
    kind: &'static str,
    description: String,
    source: String,
    points: Vec<&'static str>,
    capabilities: Capabilities,
    new_capabilities: Capabilities,
    consequences: Vec<String>,
    needs_consent: bool,
}

impl PyFetchedPlugin {
    /// Wraps a plugin that was fetched for a project.
    pub(crate) fn new(plugins: Plugins, fetched: FetchedPlugin) -> Self {
        let manifest = fetched.manifest();
        let about = About {
            name: manifest.name.clone(),
            version: manifest.version.to_string(),
            kind: manifest.kind.as_str(),
            description: manifest.description.clone(),
            source: fetched.source().to_owned(),
            points: manifest.bindings.iter().map(|binding| binding.point.as_str()).collect(),
            capabilities: manifest.capabilities.clone(),
            new_capabilities: fetched.new_capabilities(),
            consequences: fetched.consequences(),
            needs_consent: fetched.needs_consent(),
        };
        Self { plugins, fetched: Mutex::new(Some(fetched)), about }
    }
}

#[pymethods]
impl PyFetchedPlugin {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.about.name
    }

    /// Its version.
    #[getter]
    fn version(&self) -> &str {
        &self.about.version
    }

    /// What it is made of, such as `wasm`.
    #[getter]
    fn kind(&self) -> &str {
        self.about.kind
    }

    /// What it does, one line; may be empty.
    #[getter]
    fn description(&self) -> &str {
        &self.about.description
    }

    /// Where it comes from.
    #[getter]
    fn source(&self) -> &str {
        &self.about.source
    }

    /// The hook points that it handles.
    #[getter]
    fn points(&self) -> Vec<&'static str> {
        self.about.points.clone()
    }

    /// What it asks for: capabilities and their targets.
    #[getter]
    fn capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.about.capabilities)
    }

    /// What of it was not granted before.
    #[getter]
    fn new_capabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.about.new_capabilities)
    }

    /// What follows from what it handles and asks for, in plain words.
    #[getter]
    fn consequences(&self) -> Vec<String> {
        self.about.consequences.clone()
    }

    /// Whether somebody has to be asked: at the first time, and whenever an
    /// update asks for more, comes from elsewhere, or begins to stand between
    /// Samuel and the agent.
    #[getter]
    fn needs_consent(&self) -> bool {
        self.about.needs_consent
    }

    /// Installs it with all it asks for, once.
    #[pyo3(name = "_install")]
    fn install<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fetched =
            fetched.ok_or_else(|| PyRuntimeError::new_err("the fetched plugin was taken before"))?;
        let done = detached(py, || self.plugins.install(fetched, &self.about.capabilities));
        to_python(py, &done.map_err(|error| raise_plugin(py, &error))?.entry)
    }

    /// Lets go of it, so that other plugins can be installed.
    #[pyo3(name = "_leave")]
    fn leave(&self) {
        drop(self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __repr__(&self) -> String {
        format!("<FetchedPlugin {} {}>", self.about.name, self.about.version)
    }
}
