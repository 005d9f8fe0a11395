//! The plugins that a project has installed: changing which they are, and
//! loading them for a run.
//!
//! What takes long is a [`Job`]: git that fetches, a component that is
//! compiled. Whom to ask before one is installed is the facade's.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    Bound, IntoPyObjectExt, Py, PyAny, PyErr, PyResult, Python, exceptions::PyRuntimeError, pyclass,
    pyfunction, pymethods, types::PyAnyMethods,
};
use samuel_core::plugin::{
    Capabilities, Catalog, FetchOptions, LoadOptions, Loaded, Offer, PluginError, Plugins, Source,
};
use tokio_util::sync::CancellationToken;

use crate::{
    bell::Bell,
    convert::to_python,
    error::raise,
    gate::detached,
    job::{Job, Made},
    options::supervisor_of,
    project::PyProject,
};

/// Handlers of installed plugins, ready for a run.
#[pyclass(frozen, name = "LoadedPlugins", module = "samuel._samuel")]
pub(crate) struct PyLoaded(pub(crate) Arc<Loaded>);

/// What plugins get of this process.
#[derive(pyo3::FromPyObject)]
pub(crate) struct Surroundings {
    env: Vec<(String, String)>,
    supervisor: Vec<String>,
    /// Where compiled components are kept.
    cache_dir: Option<PathBuf>,
}

/// Lists what is installed, and what samuel.toml lists.
#[pyfunction]
pub(crate) fn plugins_list<'py>(py: Python<'py>, project: &PyProject) -> PyResult<Bound<'py, PyAny>> {
    let listed = detached(py, || installed(project).list());
    to_python(py, &listed.map_err(|error| raise_plugin(py, &error))?)
}

/// Compares the files of plugins with what was installed.
#[pyfunction]
pub(crate) fn plugins_verify<'py>(
    py: Python<'py>,
    project: &PyProject,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let verified = detached(py, || installed(project).verify(name));
    to_python(py, &verified.map_err(|error| raise_plugin(py, &error))?)
}

/// Removes a plugin.
#[pyfunction]
pub(crate) fn plugins_uninstall(py: Python<'_>, project: &PyProject, name: &str) -> PyResult<()> {
    let removed = detached(py, || installed(project).uninstall(name));
    removed.map(drop).map_err(|error| raise_plugin(py, &error))
}

/// Fetches and checks a plugin: a job whose result is an offer.
#[pyfunction]
pub(crate) fn plugins_fetch(
    py: Python<'_>,
    project: &PyProject,
    source: &str,
    base: PathBuf,
    surroundings: Surroundings,
) -> PyResult<Job> {
    let source = Source::parse(source, &base).map_err(|error| raise_plugin(py, &error))?;
    let (plugins, cancel) = (installed(project), CancellationToken::new());
    let options = FetchOptions {
        env: surroundings.env,
        supervisor: supervisor_of(&surroundings.supervisor),
        cancel: cancel.clone(),
        cache_dir: surroundings.cache_dir,
        ..FetchOptions::default()
    };
    job(py, cancel, async move {
        let fetched = plugins.fetch(&source, &options).await;
        move |py: Python<'_>| {
            PyOffer::new(plugins, fetched.map_err(|error| raise_plugin(py, &error))?).into_py_any(py)
        }
    })
}

/// Loads the plugins that samuel.toml lists, but for those the program brings
/// itself: a job whose result is given to a run. None where there are none.
#[pyfunction]
pub(crate) fn plugins_load(
    py: Python<'_>,
    project: &PyProject,
    brought: Vec<String>,
    surroundings: Surroundings,
) -> PyResult<Option<Job>> {
    let project = &project.0;
    if project.config().plugins.iter().all(|listed| brought.contains(&listed.name)) {
        return Ok(None);
    }
    let options = LoadOptions {
        env: surroundings.env,
        supervisor: supervisor_of(&surroundings.supervisor),
        cache_dir: surroundings.cache_dir,
        store: Some(Arc::new(project.store())),
    };
    let project = project.clone();
    job(py, CancellationToken::new(), async move {
        let catalog = Catalog::read_without(project.root(), project.config(), &brought);
        let loaded = catalog.and_then(|catalog| catalog.load(&options));
        move |py: Python<'_>| {
            let loaded = loaded.map_err(|error| raise_plugin(py, &error))?;
            PyLoaded(Arc::new(loaded)).into_py_any(py)
        }
    })
    .map(Some)
}

fn installed(project: &PyProject) -> Plugins {
    Plugins::of(project.0.root())
}

/// Begins a job of what makes its result in Python.
fn job<M>(
    py: Python<'_>,
    cancel: CancellationToken,
    work: impl Future<Output = M> + Send + 'static,
) -> PyResult<Job>
where
    M: FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
{
    let bell = Bell::hang(py)?;
    Job::begin(bell, cancel, async { Box::new(work.await) as Made })
}

/// Turns an error into an exception; of a plugin that was changed, with how.
fn raise_plugin(py: Python<'_>, error: &PluginError) -> PyErr {
    let raised = raise(py, error);
    if let PluginError::Changed { changes, .. } = error {
        for change in changes {
            // Without the note the error still says which plugin it is.
            let _ = raised.value(py).as_any().call_method1("add_note", (change.to_string(),));
        }
    }
    raised
}

/// A plugin that was fetched and waits to be installed.
#[pyclass(frozen, name = "PluginOffer", module = "samuel")]
pub(crate) struct PyOffer {
    plugins: Plugins,
    offer: Mutex<Option<Offer>>,
    about: About,
}

/// What an offer says, also once it was taken.
struct About {
    name: String,
    version: String,
    kind: &'static str,
    description: String,
    source: String,
    points: Vec<&'static str>,
    capabilities: Capabilities,
    new_capabilities: Capabilities,
    needs_consent: bool,
}

impl PyOffer {
    fn new(plugins: Plugins, offer: Offer) -> Self {
        let manifest = offer.manifest();
        let about = About {
            name: manifest.name.clone(),
            version: manifest.version.to_string(),
            kind: manifest.kind.as_str(),
            description: manifest.description.clone(),
            source: offer.source().to_owned(),
            points: manifest.bindings.iter().map(|binding| binding.point.as_str()).collect(),
            capabilities: manifest.capabilities.clone(),
            new_capabilities: offer.new_capabilities(),
            needs_consent: offer.needs_consent(),
        };
        Self { plugins, offer: Mutex::new(Some(offer)), about }
    }
}

#[pymethods]
impl PyOffer {
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

    /// Whether somebody has to be asked: at the first time, and whenever an
    /// update asks for more or comes from elsewhere.
    #[getter]
    fn needs_consent(&self) -> bool {
        self.about.needs_consent
    }

    /// Installs it with all it asks for, once.
    #[pyo3(name = "_install")]
    fn install<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let offer = self.offer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let offer = offer.ok_or_else(|| PyRuntimeError::new_err("the offer was taken before"))?;
        let done = detached(py, || self.plugins.install(offer, &self.about.capabilities));
        to_python(py, &done.map_err(|error| raise_plugin(py, &error))?.entry)
    }

    /// Lets go of it, so that other plugins can be installed.
    #[pyo3(name = "_leave")]
    fn leave(&self) {
        drop(self.offer.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __repr__(&self) -> String {
        format!("<PluginOffer {} {}>", self.about.name, self.about.version)
    }
}
