//! What a handler of `agent.invoke` in Python reports, and asks before a tool call.

use std::sync::{Arc, mpsc};

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyRuntimeError, PyTypeError},
    intern, pyclass, pyfunction, pymethods,
    types::{PyAnyMethods, PyModule, PyTuple},
};
use samuel_core::hook::{AbilityCall, AbilityResult, AgentEvent, AgentPort};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use crate::{
    convert::{from_python, to_python},
    gate,
};

/// How a handler waits for what takes time.
#[derive(Clone)]
pub(crate) enum Waits {
    /// It blocks its thread, which is no one else's.
    Blocking(Handle),
    /// It awaits, because its thread has an event loop.
    Awaiting(Handle),
    /// It cannot: it holds up the engine itself.
    Never,
}

/// Where a handler of `agent.invoke` reports its work, and asks before tool calls.
#[pyclass(frozen, name = "AgentPort", module = "samuel")]
pub(crate) struct PyAgentPort {
    port: Arc<dyn AgentPort>,
    waits: Waits,
}

impl PyAgentPort {
    pub(crate) fn new(port: Arc<dyn AgentPort>, waits: Waits) -> Self {
        Self { port, waits }
    }

    /// Waits for something that the engine does.
    fn wait<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> PyResult<T> {
        let Waits::Blocking(runtime) = &self.waits else {
            let message = match self.waits {
                Waits::Never => "a handler that is inline cannot wait: the engine would wait for itself",
                _ => "an async handler awaits the method of this name that begins with a",
            };
            return Err(PyRuntimeError::new_err(message));
        };
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move { sender.send(work.await) });
        let done = gate::detached(py, move || receiver.recv());
        done.map_err(|_| PyRuntimeError::new_err("the run has ended"))
    }

    /// Returns what waits in a thread of its own.
    fn in_thread<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        given: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let (Waits::Blocking(runtime) | Waits::Awaiting(runtime)) = &self.waits else {
            return Err(PyRuntimeError::new_err("a handler that is inline cannot wait"));
        };
        let port = Self::new(Arc::clone(&self.port), Waits::Blocking(runtime.clone()));
        let waiting = Py::new(py, port)?.into_bound(py).getattr(method)?;
        let called: Vec<_> = std::iter::once(&waiting).chain(given).collect();
        let called = PyTuple::new(py, called)?;
        PyModule::import(py, "asyncio")?.call_method1(intern!(py, "to_thread"), called)
    }
}

#[pymethods]
impl PyAgentPort {
    /// Reports something; never waits.
    ///
    /// Raises `TypeError` where it is no event of an agent.
    fn emit(&self, event: &Bound<'_, PyAny>) -> PyResult<()> {
        self.port.emit(event_of(event)?);
        Ok(())
    }

    /// Reports a process that sweeps the agent's processes when Samuel dies.
    fn supervised_by(&self, py: Python<'_>, pid: u32, start_time: u64) -> PyResult<()> {
        let port = Arc::clone(&self.port);
        self.wait(py, async move { port.supervised_by(pid, start_time).await })
    }

    /// Asks whether a tool call may be made, and waits for the handlers of `ability.before`.
    fn before_ability<'py>(&self, call: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, port, call) = (call.py(), Arc::clone(&self.port), read::<AbilityCall>(call)?);
        let decision = self.wait(py, async move { port.before_ability(call).await })?;
        to_python(py, &decision)
    }

    /// Reports how a call that was asked about ended, and waits for the handlers of `ability.after`.
    /// Returns what they said for the model, where `takes_text` is set.
    fn after_ability(&self, result: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let (py, port, result) = (result.py(), Arc::clone(&self.port), read::<AbilityResult>(result)?);
        self.wait(py, async move { port.after_ability(result).await })
    }

    /// The same as `before_ability`, to be awaited.
    fn abefore_ability<'py>(&self, call: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.in_thread(call.py(), "before_ability", std::slice::from_ref(call))
    }

    /// The same as `after_ability`, to be awaited.
    fn aafter_ability<'py>(&self, result: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.in_thread(result.py(), "after_ability", std::slice::from_ref(result))
    }

    /// The same as `supervised_by`, to be awaited.
    fn asupervised_by<'py>(
        &self,
        pid: &Bound<'py, PyAny>,
        start_time: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.in_thread(pid.py(), "supervised_by", &[pid.clone(), start_time.clone()])
    }
}

fn read<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    from_python(value).map_err(refused)
}

/// Reads an event; which one it is, its class says.
fn event_of(event: &Bound<'_, PyAny>) -> PyResult<AgentEvent> {
    let mut fields: Map<String, Value> = read(event)?;
    if let Ok((key, word)) =
        event.get_type().getattr(intern!(event.py(), "_tag")).and_then(|tag| tag.extract())
    {
        let (key, word): (String, String) = (key, word);
        fields.insert(key, Value::String(word));
    }
    serde_json::from_value(Value::Object(fields)).map_err(refused)
}

/// Writes what a handler in a process of its own reports, held against the same rules.
///
/// Raises `TypeError` where it is not what the report of this name holds.
#[pyfunction]
pub(crate) fn report_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = match name {
        "before_ability" => serde_json::to_string(&read::<AbilityCall>(value)?),
        "after_ability" => serde_json::to_string(&read::<AbilityResult>(value)?),
        _ => serde_json::to_string(&event_of(value)?),
    };
    text.map_err(refused)
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(error.to_string())
}
