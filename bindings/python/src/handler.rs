//! Handlers that are written in Python.
//!
//! A function runs where its registration says: on a worker thread of Python
//! or on the event loop of one (both of `samuel._workers`), in a process of its
//! own ([`isolated`](crate::isolated)), or inline, on the thread of the engine.
//! A worker is a thread that Python made, never one of ours, because only such
//! a thread can be left behind when the interpreter ends.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pyo3::{
    FromPyObject, Py, PyAny, PyResult, Python, intern,
    types::{PyAnyMethods, PyModule},
};
use samuel_core::{
    hook::{
        BreakClass, Call, Handler, HookFailure, HookPoint, PluginSource, Point, PointVisitor,
        RegistryBuilder, Tier,
    },
    process::Supervisor,
};
use tokio::runtime::Handle;

use crate::{
    call::PyCall,
    gate,
    isolated::Isolated,
    notifier::Notifier,
    port::Waits,
    reply::{Raised, Reply, failure_of, read_output},
};

/// A registration, as `samuel._registering.Registration` has it.
#[derive(FromPyObject)]
pub(crate) struct Registration {
    point: String,
    name: String,
    plugin: Option<(String, String, u32)>,
    order: Option<i32>,
    timeout: Option<f64>,
    strict: Option<bool>,
    tier: String,
    function: Py<PyAny>,
    target: Option<(String, String)>,
}

/// What the handlers of one run share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Interrupts what is left behind.
    pub(crate) notifier: Arc<Notifier>,
    /// The exceptions that handlers raised.
    pub(crate) raised: Raised,
    /// Looks after the processes of isolated handlers.
    pub(crate) supervisor: Supervisor,
    /// The environment of isolated handlers.
    pub(crate) env: Arc<Vec<(String, String)>>,
}

impl Registration {
    /// Says at which point.
    pub(crate) fn point(&self) -> Option<HookPoint> {
        self.point.parse().ok()
    }

    /// Adds the handler to a registry.
    pub(crate) fn register(
        &self,
        py: Python<'_>,
        shared: &Shared,
        registry: &mut RegistryBuilder,
    ) -> PyResult<()> {
        let Some(point) = self.point() else { return Ok(()) };
        let handler = PyHandler {
            function: self.function.clone_ref(py),
            place: self.place(py, shared)?,
            timeout: self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            strict: self.strict,
            shared: shared.clone(),
        };
        point.visit(Register { registration: self, handler, registry });
        Ok(())
    }

    fn place(&self, py: Python<'_>, shared: &Shared) -> PyResult<Place> {
        let submit = |name: &str| -> PyResult<Py<PyAny>> {
            Ok(PyModule::import(py, "samuel._workers")?.getattr(name)?.unbind())
        };
        Ok(match self.tier.as_str() {
            "inline" => Place::Inline,
            "async" => Place::Loop(submit("submit_async")?),
            "process" => {
                let isolated = Isolated::new(py, self.target.clone().unwrap_or_default(), shared)?;
                Place::Process(Box::new(isolated))
            }
            _ => Place::Worker(submit("submit")?),
        })
    }
}

/// A registration, until its point is a type.
struct Register<'a> {
    registration: &'a Registration,
    handler: PyHandler,
    registry: &'a mut RegistryBuilder,
}

impl PointVisitor for Register<'_> {
    type Out = ();

    fn visit<P: Point>(self) {
        let Registration { plugin, name, order, .. } = self.registration;
        match (plugin, name.as_str()) {
            (Some((owner, namespace, place)), name) => {
                let plugin = PluginSource { name: owner, namespace, place: *place };
                self.registry.plugin::<P, _>(&plugin, name, *order, self.handler);
            }
            (None, "default") => self.registry.default_handler::<P, _>(self.handler),
            (None, name) => self.registry.api::<P, _>(name, *order, self.handler),
        }
    }
}

/// Where a handler runs.
enum Place {
    /// On the thread of the engine, which waits for it.
    Inline,
    /// On a worker thread.
    Worker(Py<PyAny>),
    /// On the event loop of a worker thread.
    Loop(Py<PyAny>),
    /// In a process of its own.
    Process(Box<Isolated>),
}

/// A function of Python as a handler of any point.
struct PyHandler {
    function: Py<PyAny>,
    place: Place,
    timeout: Option<Duration>,
    strict: Option<bool>,
    shared: Shared,
}

#[async_trait]
impl<P: Point> Handler<P> for PyHandler {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        match &self.place {
            Place::Inline => gate::attach(|py| self.inline(py, call)).unwrap_or_else(|| Err(ending())),
            Place::Worker(submit) | Place::Loop(submit) => self.submitted(submit, call).await,
            Place::Process(isolated) => isolated.call(&call).await,
        }
    }

    fn tier(&self) -> Tier {
        match self.place {
            Place::Inline | Place::Loop(_) => Tier::PythonAsync,
            Place::Worker(_) => Tier::Python,
            Place::Process(_) => Tier::PythonProcess,
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn strict(&self) -> Option<bool> {
        self.strict
    }
}

impl PyHandler {
    fn inline<P: Point>(&self, py: Python<'_>, call: Call<P>) -> Result<P::Output, HookFailure> {
        let answer = Py::new(py, PyCall::new(call, Waits::Never))
            .and_then(|call| self.function.bind(py).call1((call,)));
        match answer {
            Ok(value) => read_output::<P>(&value),
            Err(error) => Err(failure_of(error.into_value(py).bind(py).as_any(), &self.shared.raised)),
        }
    }

    async fn submitted<P: Point>(&self, submit: &Py<PyAny>, call: Call<P>) -> Result<P::Output, HookFailure> {
        let (reply, answer) = Reply::to::<P>(&self.shared.raised);
        let waits = match self.place {
            Place::Loop(_) => Waits::Awaiting(Handle::current()),
            _ => Waits::Blocking(Handle::current()),
        };
        let handed = gate::attach(|py| -> PyResult<Py<PyAny>> {
            let (call, reply) = (Py::new(py, PyCall::new(call, waits))?, Py::new(py, reply)?);
            submit.call1(py, (self.function.clone_ref(py), call, reply))
        });
        let interrupt = match handed {
            Some(Ok(interrupt)) => interrupt,
            Some(Err(error)) => return Err(HookFailure::new(BreakClass::Spawn, error.to_string())),
            None => return Err(ending()),
        };
        let mut job = Job { interrupt: Some(interrupt), notifier: Arc::clone(&self.shared.notifier) };
        let answer = answer.await;
        job.interrupt = None;
        answer.unwrap_or_else(|_| {
            Err(HookFailure::new(BreakClass::Failed, "the worker ended without an answer"))
        })
    }
}

fn ending() -> HookFailure {
    HookFailure::new(BreakClass::Cancelled, "the interpreter is ending")
}

/// A job under way: dropped before its answer, it is interrupted.
struct Job {
    interrupt: Option<Py<PyAny>>,
    notifier: Arc<Notifier>,
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(interrupt) = self.interrupt.take() {
            self.notifier.interrupt(interrupt);
        }
    }
}

/// Reads the registrations of a run; an unknown point is an error with the
/// nearest one.
pub(crate) fn check_points(py: Python<'_>, registrations: &[Registration]) -> PyResult<()> {
    for registration in registrations {
        if let Err(unknown) = registration.point.parse::<HookPoint>() {
            let help = unknown.nearest.map(|point| format!("Did you mean \"{point}\"?"));
            let errors = PyModule::import(py, intern!(py, "samuel.errors"))?;
            let made = errors.call_method1(
                intern!(py, "_make"),
                ("E_HOOK_UNKNOWN", unknown.to_string(), help.unwrap_or_default(), false, py.None()),
            )?;
            return Err(pyo3::PyErr::from_value(made));
        }
    }
    Ok(())
}
