//! A methodology that is written in Python.
//!
//! [`PyMethodology`] stands for the object. What it says of itself is read when a project
//! is opened; its handlers are asked for when a run is built, with the kit of that run
//! (`samuel.methodology`).

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python, intern,
    types::{PyAnyMethods, PyDict, PyModule},
};
use samuel_core::{
    config::MethodologySettings,
    hook::RegistryBuilder,
    methodology::{Kit, Methodology, built_in},
};

use crate::{
    convert::to_python,
    error::raise,
    gate,
    handler::{Registration, Shared},
    options::read_settings,
};

/// What a methodology says of itself: name, aliases, templates and settings.
type About<'py> = (String, Vec<String>, Vec<(String, String)>, Bound<'py, PyAny>);

/// A methodology that is written in Python.
#[derive(Clone)]
pub(crate) struct PyMethodology {
    object: Arc<Py<PyAny>>,
    name: String,
    aliases: Vec<String>,
    templates: Vec<(String, String)>,
    settings: MethodologySettings,
    /// The run it registers handlers for, if any.
    run: Option<(Shared, Failed)>,
}

/// The exception that kept a methodology from registering its handlers.
pub(crate) type Failed = Arc<Mutex<Option<PyErr>>>;

impl PyMethodology {
    /// Reads what an object says of itself.
    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let built_in = built_in();
        let known: Vec<&str> = built_in.templates().into_iter().map(|(name, _)| name).collect();
        let (name, aliases, templates, given): About<'_> =
            facade(py)?.call_method1(intern!(py, "about"), (object, known))?.extract()?;
        let mut settings = MethodologySettings::default();
        settings.set(&read_settings(&given)?).map_err(|error| raise(py, &error))?;
        let object = Arc::new(object.clone().unbind());
        Ok(Self { object, name, aliases, templates, settings, run: None })
    }

    /// Returns the same for one run, and what keeps it from registering its handlers.
    pub(crate) fn of_run(&self, shared: Shared) -> (Self, Failed) {
        let failed = Failed::default();
        (Self { run: Some((shared, Arc::clone(&failed))), ..self.clone() }, failed)
    }

    fn register_all(
        &self,
        py: Python<'_>,
        kit: &Kit,
        shared: &Shared,
        registry: &mut RegistryBuilder,
    ) -> PyResult<()> {
        let arguments = (self.object.bind(py), shown(py, kit)?);
        // Nothing stands for what is built in.
        let steps: Vec<Option<Registration>> =
            facade(py)?.call_method1(intern!(py, "collect"), arguments)?.extract()?;
        steps.iter().try_for_each(|step| match step {
            Some(registration) => registration.register(py, shared, registry),
            None => {
                built_in().register(kit.clone(), registry);
                Ok(())
            }
        })
    }
}

fn facade(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    PyModule::import(py, intern!(py, "samuel.methodology"))
}

/// Returns what of a kit Python is given.
fn shown<'py>(py: Python<'py>, kit: &Kit) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    let text = |path: &Path| path.display().to_string();
    shown.set_item("project_root", text(&kit.project_root))?;
    shown.set_item("run_dir", text(kit.run_dir.path()))?;
    shown.set_item("run_id", &*kit.run_id)?;
    shown.set_item("binary", &kit.binary)?;
    shown.set_item("settings", to_python(py, &kit.settings)?)?;
    shown.set_item("guardrails", to_python(py, &kit.guardrails)?)?;
    shown.set_item("env", kit.env.iter().cloned().collect::<BTreeMap<_, _>>())?;
    Ok(shown)
}

impl fmt::Debug for PyMethodology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyMethodology").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Methodology for PyMethodology {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> Vec<&str> {
        self.aliases.iter().map(String::as_str).collect()
    }

    fn settings(&self) -> MethodologySettings {
        self.settings.clone()
    }

    fn templates(&self) -> Vec<(&str, &str)> {
        self.templates.iter().map(|(name, text)| (&**name, &**text)).collect()
    }

    fn register(&self, kit: Kit, registry: &mut RegistryBuilder) {
        let Some((shared, failed)) = &self.run else { return };
        let registered = gate::attach(|py| self.register_all(py, &kit, shared, registry));
        if let Some(Err(error)) = registered {
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}
