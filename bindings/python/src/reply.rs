//! The way back from a handler in Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{
    Bound, Py, PyAny, PyResult, Python, intern, pyclass, pymethods,
    types::{PyAnyMethods, PyDict, PyModule},
};
use samuel_core::hook::{BreakClass, HookFailure, Point};
use tokio::sync::oneshot;

use crate::convert::from_python;

/// How many exceptions of handlers a run keeps.
const MAX_KEPT: usize = 16;

/// The exceptions that handlers raised, for whoever waits for the run.
pub(crate) type Raised = Arc<Mutex<Vec<Py<PyAny>>>>;

/// What came of a handler, of any point.
type Deliver = dyn Fn(Python<'_>, Result<&Bound<'_, PyAny>, HookFailure>) + Send + Sync;

/// Takes a handler's answer, once.
#[pyclass(frozen, module = "samuel")]
pub(crate) struct Reply {
    deliver: Box<Deliver>,
    is_wanted: Box<dyn Fn() -> bool + Send + Sync>,
    raised: Raised,
}

impl Reply {
    /// Makes a reply, and returns where the answer comes in.
    pub(crate) fn to<P: Point>(raised: &Raised) -> (Self, oneshot::Receiver<Result<P::Output, HookFailure>>) {
        let (sender, receiver) = oneshot::channel::<Result<P::Output, HookFailure>>();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let watched = Arc::clone(&sender);
        let reply = Self {
            deliver: Box::new(move |_, answer| {
                let answer = answer.and_then(read_output::<P>);
                if let Some(sender) = sender.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    // An answer after the deadline is nobody's.
                    let _ = sender.send(answer);
                }
            }),
            is_wanted: Box::new(move || {
                let sender = watched.lock().unwrap_or_else(PoisonError::into_inner);
                sender.as_ref().is_some_and(|sender| !sender.is_closed())
            }),
            raised: Arc::clone(raised),
        };
        (reply, receiver)
    }
}

#[pymethods]
impl Reply {
    /// Gives the answer.
    fn answer(&self, value: &Bound<'_, PyAny>) {
        (self.deliver)(value.py(), Ok(value));
    }

    /// Gives the exception that came instead.
    fn fail(&self, exception: &Bound<'_, PyAny>) {
        let failure = failure_of(exception, &self.raised);
        (self.deliver)(exception.py(), Err(failure));
    }

    /// Whether somebody still waits for it.
    #[getter]
    fn wanted(&self) -> bool {
        (self.is_wanted)()
    }
}

/// Reads what a handler returned as its point's output. None says nothing.
pub(crate) fn read_output<P: Point>(value: &Bound<'_, PyAny>) -> Result<P::Output, HookFailure> {
    if value.is_none() {
        return Ok(P::Output::default());
    }
    let expected = std::any::type_name::<P::Output>().rsplit("::").next().unwrap_or("output");
    let given = value.get_type().getattr(intern!(value.py(), "__name__"));
    let given: String = given.and_then(|name| name.extract()).unwrap_or_default();
    if given != expected && !value.is_instance_of::<PyDict>() {
        let message = format!("expected {expected} or None, got {given}");
        return Err(HookFailure::new(BreakClass::BadOutput, message));
    }
    from_python(value)
        .map_err(|error| HookFailure::new(BreakClass::BadOutput, format!("{expected}: {error}")))
}

/// Turns an exception into a failure, and keeps it.
pub(crate) fn failure_of(exception: &Bound<'_, PyAny>, raised: &Raised) -> HookFailure {
    let describe = || -> PyResult<(bool, String, Vec<String>)> {
        let workers = PyModule::import(exception.py(), intern!(exception.py(), "samuel._workers"))?;
        workers.call_method1(intern!(exception.py(), "describe"), (exception,))?.extract()
    };
    {
        // Let go before Python runs, which may wait for a thread that wants to read them.
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        if raised.len() < MAX_KEPT {
            raised.push(exception.clone().unbind());
        }
    }
    match describe() {
        Ok((is_exit, message, details)) => {
            let class = if is_exit { BreakClass::Panicked } else { BreakClass::Failed };
            HookFailure { details, ..HookFailure::new(class, message) }
        }
        Err(error) => HookFailure::new(BreakClass::Failed, error.to_string()),
    }
}
