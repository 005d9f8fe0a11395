//! Sessions without a loop, built and open.
//!
//! Each point that fires is a [`Job`], which waits for the handlers; Python waits for the job. The
//! abilities between two points are called in Python.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    pyclass, pymethods,
    types::PyList,
};
use samuel_core::{
    model::payload::{IterationErrorInput, SessionSource, TaskCompletedInput},
    session::{
        AbilityReport, AbilityRequest, ReadySession, Session, SessionBuilder, SessionError, SessionState,
    },
    trust::Executables,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::sync::CancellationToken;

use crate::{
    convert::{data_to_python, from_python, to_python},
    error::raise,
    handler::Registration,
    job::{Job, Made},
    notifier::Notifier,
    plugins::PyLoaded,
    project::PyProject,
    reply::Raised,
    run::{Built, EventStream, build, raise_end},
    trust::{PyTrustStore, policy},
};

/// A session, once it is open, of whichever runtime.
type Live = Arc<OnceLock<Session>>;

/// A session of a project.
#[pyclass(frozen, name = "Session", module = "samuel._samuel")]
pub(crate) struct PySession {
    ready: Mutex<Option<ReadySession>>,
    live: Live,
    root: PathBuf,
    executables: Executables,
    notifier: Arc<Notifier>,
    raised: Raised,
}

#[pymethods]
impl PySession {
    #[new]
    fn new(
        py: Python<'_>,
        project: &PyProject,
        options: &Bound<'_, PyAny>,
        handlers: Vec<Registration>,
        plugins: Option<Py<PyLoaded>>,
    ) -> PyResult<Self> {
        let built = build(py, project, options, &handlers, plugins.as_ref(), |builder| {
            let mut ready = SessionBuilder::from(builder).build()?;
            let executables = ready.executables()?;
            Ok::<_, SessionError>((ready, executables))
        });
        let Built { root, built: (ready, executables), notifier, raised } = built?;
        Ok(Self {
            ready: Mutex::new(Some(ready)),
            live: Live::default(),
            root,
            executables,
            notifier,
            raised,
        })
    }

    /// What the session would execute.
    #[getter]
    fn executables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.executables)
    }

    /// Says whether what the session would execute is what a store has as trusted.
    fn is_trusted(&self, py: Python<'_>, store: &PyTrustStore) -> PyResult<bool> {
        store.allows(py, &self.root, &self.executables)
    }

    /// Opens the session, or goes on with one that was kept; trust is as for a run.
    fn open(
        &self,
        py: Python<'_>,
        trusted: bool,
        decided: bool,
        store: Option<&PyTrustStore>,
        state: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Job> {
        let state: Option<SessionState> = state.map(|state| read("the state", state)).transpose()?;
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ready = ready.ok_or_else(|| PyRuntimeError::new_err("the session was opened before"))?;
        let (ready, live) = (ready.trusting(policy(trusted, decided, store)), Arc::clone(&self.live));
        Job::begin(Notifier::start(py)?, CancellationToken::new(), async move {
            let opened = match state {
                Some(state) => ready.resume(state).await,
                None => ready.open().await,
            };
            Box::new(move |py: Python<'_>| match opened {
                Ok(session) => {
                    let _ = live.set(session);
                    Ok(true.into_pyobject(py)?.to_owned().into_any().unbind())
                }
                Err(error) => Err(raised(py, &error)),
            }) as Made
        })
    }

    /// Fires `session.start`.
    fn start(&self, py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Job> {
        let source: SessionSource = read("the source", source)?;
        self.fire(py, async move |session| session.start(source).await)
    }

    /// Fires `prompt.submit`.
    fn submit_prompt(&self, py: Python<'_>, source: String, text: String) -> PyResult<Job> {
        self.fire(py, async move |session| session.submit_prompt(&source, &text).await)
    }

    /// Fires `ability.before`.
    fn before(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Job> {
        let request: AbilityRequest = read("the call", request)?;
        self.fire(py, async move |session| session.before(request).await)
    }

    /// Fires `ability.after`, for a moment only where the caller has given up.
    fn after(&self, py: Python<'_>, report: &Bound<'_, PyAny>, given_up: bool) -> PyResult<Job> {
        let report: AbilityReport = read("the report", report)?;
        self.fire(py, async move |session| {
            let cancelled = CancellationToken::new();
            cancelled.cancel();
            let session = if given_up { session.cancelled_by(cancelled) } else { session };
            session.after(report).await
        })
    }

    /// Fires `task.completed`.
    fn task_completed(&self, py: Python<'_>, task: &Bound<'_, PyAny>) -> PyResult<Job> {
        let task: TaskCompletedInput = read("the task", task)?;
        self.fire(py, async move |session| session.task_completed(task).await)
    }

    /// Fires `iteration.error`.
    fn iteration_error(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> PyResult<Job> {
        let error: IterationErrorInput = read("the error", error)?;
        self.fire(py, async move |session| session.iteration_error(error).await)
    }

    /// Fires `session.stop`.
    fn stop(&self, py: Python<'_>, reason: String, changed_files: Option<Vec<String>>) -> PyResult<Job> {
        self.fire(py, async move |session| session.stop(&reason, changed_files).await)
    }

    /// Fires `session.end`, once.
    fn end(&self, py: Python<'_>, exit_reason: String) -> PyResult<Job> {
        self.fire(py, async move |session| session.end(&exit_reason).await)
    }

    /// The id that events and the log of hooks carry.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.session()?.id().to_owned())
    }

    /// The name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.session()?.name().to_owned())
    }

    /// What is to be known of the chains and of the hook files.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.session()?.warnings().to_vec())
    }

    /// What goes on in another process, as a dict.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        data_to_python(py, &serde_json::to_value(self.session()?.state()).map_err(bad_value)?)
    }

    /// A stream of events, which are notices.
    fn events(&self) -> PyResult<EventStream> {
        Ok(EventStream::new(self.session()?.events(), &self.notifier))
    }

    /// The exceptions of handlers so far; the first 16.
    fn exceptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        PyList::new(py, raised.iter().map(|error| error.bind(py)))
    }

    /// The number of notices so far.
    #[getter]
    fn version(&self) -> u64 {
        self.notifier.version()
    }

    /// Leaves a callback for the next notice; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.notifier.wait(callback, seen)
    }
}

impl PySession {
    fn session(&self) -> PyResult<&Session> {
        self.live.get().ok_or_else(|| PyRuntimeError::new_err("the session is not open"))
    }

    /// Fires a point as a job, which ends its handlers where nobody holds it any more.
    fn fire<T, F>(&self, py: Python<'_>, fire: impl FnOnce(Session) -> F) -> PyResult<Job>
    where
        T: Serialize + Send + 'static,
        F: Future<Output = Result<T, SessionError>> + Send + 'static,
    {
        let cancel = CancellationToken::new();
        let fired = fire(self.session()?.cancelled_by(cancel.clone()));
        Job::begin(Notifier::start(py)?, cancel, async move {
            let fired = fired.await;
            Box::new(move |py: Python<'_>| match &fired {
                Ok(told) => Ok(to_python(py, told)?.unbind()),
                Err(error) => Err(raised(py, error)),
            }) as Made
        })
    }
}

impl Drop for PySession {
    fn drop(&mut self) {
        self.notifier.end();
    }
}

fn raised(py: Python<'_>, error: &SessionError) -> PyErr {
    match error {
        SessionError::Run(error) => raise_end(py, error),
        error => raise(py, error),
    }
}

fn read<T: DeserializeOwned>(what: &str, given: &Bound<'_, PyAny>) -> PyResult<T> {
    from_python(given).map_err(|error| PyTypeError::new_err(format!("{what}: {error}")))
}

fn bad_value(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
