//! The plugins that a project has installed: changing which they are, and
//! loading them for a run.
//!
//! What takes long is a [`Job`]: git that fetches, a component that is
//! compiled. Whom to ask before one is installed is the facade's.

use std::{path::PathBuf, sync::Arc};

use pyo3::{
    Bound, IntoPyObjectExt, Py, PyAny, PyErr, PyResult, Python, pyclass, pyfunction, types::PyAnyMethods,
};
use samuel_core::{
    plugin::{
        Catalog, FetchOptions, InstallSource, LoadOptions, LoadedPlugins, PluginError, Plugins,
        RegistryLogins,
    },
    sandbox::Containers,
};
use tokio_util::sync::CancellationToken;

use crate::{
    convert::to_python,
    error::raise,
    fetched::PyFetchedPlugin,
    gate::detached,
    job::{Job, Made},
    notifier::Notifier,
    options::supervisor_of,
    project::PyProject,
};

/// Handlers of installed plugins, ready for a run.
#[pyclass(frozen, name = "LoadedPlugins", module = "samuel._samuel")]
pub(crate) struct PyLoaded(pub(crate) Arc<LoadedPlugins>);

/// What plugins get of this process.
#[derive(pyo3::FromPyObject)]
pub(crate) struct Surroundings {
    env: Vec<(String, String)>,
    supervisor: Vec<String>,
    /// Where compiled components are kept.
    cache_dir: Option<PathBuf>,
    /// Where their key is, and scripts are run from.
    state_dir: Option<PathBuf>,
}

impl Surroundings {
    /// Returns where the containers of images come from: their first process is the one that `SAMUEL_GUEST` names, and
    /// their sockets are in the private directory.
    fn containers(&self) -> Option<Containers> {
        let sockets = self.state_dir.as_ref()?.join("run");
        let is_named = self.env.iter().any(|(name, value)| name == "SAMUEL_GUEST" && !value.is_empty());
        is_named.then(|| Containers::of_env(&self.env, PathBuf::new(), sockets))
    }
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

/// Fetches and checks a plugin: a job whose result is the fetched plugin.
#[pyfunction]
pub(crate) fn plugins_fetch(
    py: Python<'_>,
    project: &PyProject,
    source: &str,
    base: PathBuf,
    surroundings: Surroundings,
) -> PyResult<Job> {
    let source = InstallSource::parse(source, &base).map_err(|error| raise_plugin(py, &error))?;
    let (plugins, cancel) = (installed(project), CancellationToken::new());
    let containers = surroundings.containers();
    let mut options = FetchOptions {
        containers,
        env: surroundings.env,
        supervisor: supervisor_of(&surroundings.supervisor),
        cancel: cancel.clone(),
        cache_dir: surroundings.cache_dir,
        state_dir: surroundings.state_dir,
        ..FetchOptions::default()
    };
    job(py, cancel, async move {
        options.registry_logins = RegistryLogins::kept(&options.env);
        let fetched = plugins.fetch(&source, &options).await;
        move |py: Python<'_>| {
            PyFetchedPlugin::new(py, plugins, fetched.map_err(|error| raise_plugin(py, &error))?)?
                .into_py_any(py)
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
    let containers = surroundings.containers();
    let options = LoadOptions {
        env: surroundings.env,
        supervisor: supervisor_of(&surroundings.supervisor),
        cache_dir: surroundings.cache_dir,
        state_dir: surroundings.state_dir,
        store: Some(project.plan_store()),
        containers,
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
    let notifier = Notifier::start(py)?;
    Job::begin(notifier, cancel, async { Box::new(work.await) as Made })
}

/// Turns an error into an exception; of a plugin that was changed, with how.
pub(crate) fn raise_plugin(py: Python<'_>, error: &PluginError) -> PyErr {
    let raised = raise(py, error);
    if let PluginError::Changed { changes, .. } = error {
        for change in changes {
            // Without the note the error still says which plugin it is.
            let _ = raised.value(py).as_any().call_method1("add_note", (change.to_string(),));
        }
    }
    raised
}
