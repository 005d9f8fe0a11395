//! What a handler in Python is called with.

use std::sync::Arc;

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyclass, pymethods,
    sync::PyOnceLock,
};
use samuel_core::{
    context::ContextView,
    hook::{AgentPort, Call, Point},
    model::payload::CallHeader,
};
use serde_json::Value;

use crate::{
    context::PyPromptContext,
    convert::{Plain, Writing, to_python},
    port::{PyAgentPort, Waits},
};

/// One call of a handler, of any point.
trait Face: Send + Sync {
    fn header(&self) -> &CallHeader;
    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    fn previous<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
    fn context(&self) -> &ContextView;
    fn contribute(&self, key: String, value: Value) -> Result<(), serde_json::Error>;
    fn warn(&self, message: String);
    fn port(&self) -> Option<Arc<dyn AgentPort>>;
    fn is_cancelled(&self) -> bool;
}

impl<P: Point> Face for Call<P> {
    fn header(&self) -> &CallHeader {
        self.header()
    }

    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.input())
    }

    fn previous<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.previous())
    }

    fn context(&self) -> &ContextView {
        self.context()
    }

    fn contribute(&self, key: String, value: Value) -> Result<(), serde_json::Error> {
        self.contribute(key, value)
    }

    fn warn(&self, message: String) {
        self.warn(message);
    }

    fn port(&self) -> Option<Arc<dyn AgentPort>> {
        self.port().cloned()
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled().is_cancelled()
    }
}

/// One call of a handler: what it is about, and what it can read and add.
#[pyclass(frozen, generic, name = "Call", module = "samuel")]
pub(crate) struct PyCall {
    face: Box<dyn Face>,
    waits: Waits,
    input: PyOnceLock<Py<PyAny>>,
    context: PyOnceLock<Py<PyPromptContext>>,
}

impl PyCall {
    /// Wraps a call.
    pub(crate) fn new<P: Point>(call: Call<P>, waits: Waits) -> Self {
        Self { face: Box::new(call), waits, input: PyOnceLock::new(), context: PyOnceLock::new() }
    }
}

#[pymethods]
impl PyCall {
    /// The point's input.
    #[getter]
    fn input<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.input.get_or_try_init(py, || self.face.input(py).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }

    /// What the handlers before this one answered, folded; None at points that
    /// do not pass it on.
    #[getter]
    fn previous<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.face.previous(py)
    }

    /// The prompt context with what was contributed so far.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyPromptContext>> {
        let view = || Py::new(py, PyPromptContext::new(self.face.context().clone()));
        Ok(self.context.get_or_try_init(py, view)?.bind(py).clone())
    }

    /// Who is called, where and until when.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.face.header())
    }

    /// The id of the hook point.
    #[getter]
    fn point(&self) -> &str {
        &self.face.header().point
    }

    /// The iteration, from 1; 0 outside an iteration.
    #[getter]
    fn iteration(&self) -> u32 {
        self.face.header().iteration
    }

    /// Whether the answer is no longer wanted: the deadline has passed, or the
    /// run is being stopped.
    #[getter]
    fn cancelled(&self) -> bool {
        self.face.is_cancelled()
    }

    /// In the agent's place: where the work is reported, and asked before tool calls; None at other
    /// points.
    #[getter]
    fn port(&self) -> Option<PyAgentPort> {
        self.face.port().map(|port| PyAgentPort::new(port, self.waits.clone()))
    }

    /// Warns beside the answer: the progress log and whoever watches the run get it, under the
    /// handler's id. The first 20 of a call count, each up to 1000 characters.
    fn warn(&self, message: String) {
        self.face.warn(message);
    }

    /// Contributes to the handler's own namespace of the prompt context, where
    /// later handlers and templates see it if this handler succeeds.
    ///
    /// Raises `TypeError` or `ValueError` where the value is not JSON.
    fn contribute(&self, key: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let writing = Writing::default();
        let plain = serde_json::to_value(Plain { value, writing: &writing });
        let plain = plain.map_err(|error| match writing.raised() {
            Some(raised) => raised,
            None => PyTypeError::new_err(error.to_string()),
        })?;
        self.face
            .contribute(key, plain)
            .map_err(|error| -> PyErr { PyValueError::new_err(error.to_string()) })
    }

    fn __repr__(&self) -> String {
        let header = self.face.header();
        format!("<Call of {} at {}, iteration {}>", header.handler_id, header.point, header.iteration)
    }
}
