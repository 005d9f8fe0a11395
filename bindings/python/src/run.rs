//! Runs, built and under way.
//!
//! Nothing here waits: `samuel.run` waits in Python and asks again when the
//! notifier tells of news.

use std::{
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use pyo3::{
    Bound, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyRuntimeError, PyTypeError},
    pyclass, pymethods,
    types::{PyAnyMethods, PyList},
};
use samuel_core::{
    engine::{Controller, DecisionError, Events, Glance, Hooks, HooksError, Run, RunBuilder, RunError},
    hook::{HookPoint, UnknownPoint},
    machine::Command,
    model::{Coded, ErrorCode},
    trust::Executables,
};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    convert::{event_to_python, from_python, to_python},
    engine::Progress,
    error::{coded, raise},
    gate::detached,
    handler::{Registration, Shared, check_points},
    job::{Job, Made},
    notifier::Notifier,
    options::Options,
    plugins::PyLoaded,
    project::PyProject,
    reply::Raised,
    trust::{PyTrustStore, policy},
};

/// What is built of a project and handlers.
pub(crate) struct Built<T> {
    /// The project's root directory.
    pub(crate) root: PathBuf,
    pub(crate) built: T,
    /// Interrupts handlers that are left behind; whoever has it ends it.
    pub(crate) notifier: Arc<Notifier>,
    /// The exceptions of the handlers.
    pub(crate) raised: Raised,
}

/// Puts a project, options and handlers together, and builds what is made of them.
pub(crate) fn build<T: Send, E: Coded + Send + 'static>(
    py: Python<'_>,
    project: &PyProject,
    options: &Bound<'_, PyAny>,
    handlers: &[Registration],
    plugins: Option<&Py<PyLoaded>>,
    build: impl FnOnce(RunBuilder) -> Result<T, E> + Send,
) -> PyResult<Built<T>> {
    check_points(py, handlers)?;
    let options: Options<'_> = options.extract()?;
    let notifier = Notifier::start(py)?;
    let raised = Raised::default();
    let shared = Shared {
        notifier: Arc::clone(&notifier),
        raised: Arc::clone(&raised),
        supervisor: options.supervisor(),
        env: Arc::new(options.env.clone()),
    };
    let make = || -> PyResult<(PathBuf, T)> {
        let (project, failed) = project.of_run(py, &shared)?;
        let root = project.root().to_owned();
        let mut registered = Ok(());
        let builder = options.builder(py, project)?.register(|registry| {
            if let Some(plugins) = plugins {
                plugins.get().0.register(registry);
            }
            registered = handlers.iter().try_for_each(|handler| handler.register(py, &shared, registry));
        });
        registered?;
        let built = detached(py, || build(builder));
        let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let built = failed.map_or_else(|| built.map_err(|error| raise(py, &error)), Err)?;
        Ok((root, built))
    };
    let (root, built) = make().inspect_err(|_| notifier.end())?;
    Ok(Built { root, built, notifier, raised })
}

/// A run that is ready to start.
#[pyclass(frozen, name = "Run", module = "samuel._samuel")]
pub(crate) struct PyRun {
    run: Mutex<Option<Run>>,
    root: PathBuf,
    executables: Executables,
    notifier: Arc<Notifier>,
    raised: Raised,
}

#[pymethods]
impl PyRun {
    #[new]
    fn new(
        py: Python<'_>,
        project: &PyProject,
        options: &Bound<'_, PyAny>,
        handlers: Vec<Registration>,
        plugins: Option<Py<PyLoaded>>,
    ) -> PyResult<Self> {
        let built = build(py, project, options, &handlers, plugins.as_ref(), |builder| {
            let mut run = builder.build()?;
            let executables = run.executables()?.clone();
            Ok::<_, RunError>((run, executables))
        });
        let Built { root, built: (run, executables), notifier, raised } = built?;
        Ok(Self { root, executables, run: Mutex::new(Some(run)), notifier, raised })
    }

    /// What the run would execute.
    #[getter]
    fn executables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.executables)
    }

    /// Says what the next prompt consists of, or nothing where there is none; the run
    /// cannot be started then. Handlers that are not built in are called where it is
    /// `trusted`, and left out otherwise.
    fn prompt_stats(&self, trusted: bool) -> PyResult<Job> {
        let run = self.take()?;
        let glance = if trusted { Glance::Exact } else { Glance::Still };
        Job::begin(Arc::clone(&self.notifier), CancellationToken::new(), async move {
            let seen = run.preview(glance).await;
            let made: Made = Box::new(move |py| match &seen {
                // In a tuple: a job without a result is one that is under way.
                Ok(preview) => Ok(to_python(py, &[&preview.stats])?.unbind()),
                Err(error) => Err(raise(py, error)),
            });
            made
        })
    }

    /// Says what lanes have and left; the run cannot be started then.
    fn lanes(&self) -> PyResult<Job> {
        self.of_lanes(|run, _| async move { run.lanes().await })
    }

    /// Removes what runs left that is merged; the run cannot be started then.
    fn clean(&self) -> PyResult<Job> {
        self.of_lanes(|run, _| async move { run.clean().await })
    }

    /// Merges the work of a run into what is checked out, if what the checks execute is `trusted`; the run cannot be
    /// started then. It is stopped once nobody holds the job any more.
    fn merge(&self, branch: Option<String>, trusted: bool) -> PyResult<Job> {
        self.of_lanes(move |run, cancel| {
            run.trusting(policy(trusted, false, None)).merge(branch, |_| {}, cancel.cancelled_owned())
        })
    }

    /// Lands what lanes have submitted, where it is `trusted`; the run cannot be started then. It is stopped once
    /// nobody holds the job any more.
    fn land(&self, trusted: bool) -> PyResult<Job> {
        self.of_lanes(move |run, cancel| {
            run.trusting(policy(trusted, false, None)).land(|_| {}, cancel.cancelled_owned())
        })
    }

    /// The hooks of the run.
    fn hooks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        to_python(py, &run.as_ref().map(Run::hook_list))
    }

    /// Calls one hook with an event, where it is `trusted`; the run cannot be started then.
    fn test_hook(
        &self,
        py: Python<'_>,
        id: String,
        point: Option<&str>,
        event: Option<&Bound<'_, PyAny>>,
        trusted: bool,
    ) -> PyResult<Job> {
        let point = point.map(|point| parsed(py, point)).transpose()?;
        let event = event.map(read_event).transpose()?;
        let hooks = self.allowed_hooks(py, trusted)?;
        let point = hooks.find(&id, point).map_err(|error| raise(py, &error))?;
        Job::begin(Arc::clone(&self.notifier), CancellationToken::new(), async move {
            tried(hooks.test(point, &id, event).await)
        })
    }

    /// Fires a point with an event, where it is `trusted`; the run cannot be started then. Starts
    /// nothing in a `dry_run`.
    fn fire_hooks(
        &self,
        py: Python<'_>,
        point: &str,
        event: Option<&Bound<'_, PyAny>>,
        dry_run: bool,
        trusted: bool,
    ) -> PyResult<Job> {
        let point = parsed(py, point)?;
        let event = event.map(read_event).transpose()?;
        let hooks = self.allowed_hooks(py, trusted || dry_run)?;
        Job::begin(Arc::clone(&self.notifier), CancellationToken::new(), async move {
            tried(match dry_run {
                true => hooks.look(point, event),
                false => hooks.fire(point, event).await,
            })
        })
    }

    /// Checks that the agent can be called, as a start does before it asks anything.
    fn check_agent(&self, py: Python<'_>) -> PyResult<()> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        run.as_ref().map_or(Ok(()), Run::check_agent).map_err(|error| raise(py, &error))
    }

    /// Says whether what the run would execute is what a store has as trusted.
    fn is_trusted(&self, py: Python<'_>, store: &PyTrustStore) -> PyResult<bool> {
        store.allows(py, &self.root, &self.executables)
    }

    /// Keeps in a store that what the run would execute is trusted, without what the last
    /// run left changed.
    fn record_trust(&self, py: Python<'_>, store: &PyTrustStore) -> PyResult<()> {
        store.record(py, &self.root, &self.executables.without_changes())
    }

    /// Starts the run, once; whether it could start is told by the handle. Whether
    /// it is trusted was `decided` by somebody who saw what would run, or is what a
    /// `store` has. So many streams of events begin with the run.
    fn start(
        &self,
        trusted: bool,
        decided: bool,
        streams: usize,
        store: Option<&PyTrustStore>,
    ) -> PyResult<PyRunHandle> {
        let run = self.take()?.trusting(policy(trusted, decided, store));
        let progress = Progress::start(run, Arc::clone(&self.notifier), streams)?;
        Ok(PyRunHandle { progress, raised: Arc::clone(&self.raised) })
    }
}

/// Hands over what came of hooks that were tried out.
fn tried<T: Serialize + Send + 'static>(tried: Result<T, HooksError>) -> Made {
    Box::new(move |py| match &tried {
        Ok(tried) => Ok(to_python(py, tried)?.unbind()),
        Err(error) => Err(raise(py, error)),
    })
}

/// Reads the event that a hook is given, which is any value of JSON.
fn read_event(event: &Bound<'_, PyAny>) -> PyResult<Value> {
    from_python(event).map_err(|error| PyTypeError::new_err(format!("the event: {error}")))
}

fn parsed(py: Python<'_>, point: &str) -> PyResult<HookPoint> {
    point.parse().map_err(|error: UnknownPoint| coded(py, ErrorCode::HOOK_UNKNOWN, &error.to_string()))
}

impl PyRun {
    /// Takes the hooks of the run, where what it executes was allowed.
    fn allowed_hooks(&self, py: Python<'_>, trusted: bool) -> PyResult<Hooks> {
        if !trusted {
            return Err(coded(py, ErrorCode::TRUST_REFUSED, "nobody has allowed what this loop executes"));
        }
        let run = self.take()?;
        Ok(detached(py, || run.hooks()))
    }

    /// Does something about lanes on a thread of its own.
    fn of_lanes<T, F>(&self, work: impl FnOnce(Run, CancellationToken) -> F) -> PyResult<Job>
    where
        T: Serialize + Send + 'static,
        F: Future<Output = Result<T, RunError>> + Send + 'static,
    {
        let cancel = CancellationToken::new();
        let work = work(self.take()?, cancel.clone());
        Job::begin(Arc::clone(&self.notifier), cancel, async move {
            let done = work.await;
            let made: Made = Box::new(move |py| match &done {
                Ok(done) => Ok(to_python(py, done)?.unbind()),
                Err(error) => Err(raise(py, error)),
            });
            made
        })
    }

    fn take(&self) -> PyResult<Run> {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        run.ok_or_else(|| PyRuntimeError::new_err("the run was started before"))
    }
}

impl Drop for PyRun {
    fn drop(&mut self) {
        let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
        if run.is_some() {
            self.notifier.end();
        }
    }
}

/// The report of a run, the failures of its iterations, and the exceptions of
/// its handlers.
type Ended<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyList>);

/// A run that is under way, or has ended.
#[pyclass(frozen, name = "RunHandle", module = "samuel._samuel")]
pub(crate) struct PyRunHandle {
    progress: Arc<Progress>,
    raised: Raised,
}

impl PyRunHandle {
    fn send(&self, command: Command) {
        if let Some(control) = self.progress.control() {
            control.send(command);
        }
    }

    /// Decides on a tool call on a thread of its own, and says there what came of it.
    fn decide<F>(&self, py: Python<'_>, call: u64, decides: impl FnOnce(Controller) -> F) -> PyResult<Job>
    where
        F: Future<Output = Result<(), DecisionError>> + Send + 'static,
    {
        // Before it has started nothing waits.
        let decided = self.progress.control().map(decides);
        Job::begin(Notifier::start(py)?, CancellationToken::new(), async move {
            let decided = match decided {
                Some(decided) => decided.await,
                None => Err(DecisionError::NothingWaits { call }),
            };
            let made: Made = Box::new(move |py| match &decided {
                // None would be a job that is under way.
                Ok(()) => Ok(true.into_pyobject(py)?.to_owned().into_any().unbind()),
                Err(error) => Err(raise(py, error)),
            });
            made
        })
    }
}

pub(crate) fn raise_end(py: Python<'_>, error: &RunError) -> PyErr {
    let message = raise(py, error);
    if let RunError::Untrusted(refusal) = error {
        let lines = refusal.lines().join("\n");
        // The note is a help; without it the error says the same.
        let _ = message.value(py).as_any().call_method1("add_note", (lines,));
    }
    message
}

#[pymethods]
impl PyRunHandle {
    /// The number of notices so far.
    #[getter]
    fn version(&self) -> u64 {
        self.progress.notifier.version()
    }

    /// Leaves a callback for the next notice; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.progress.notifier.wait(callback, seen)
    }

    /// The run's id, once it has started.
    #[getter]
    fn run_id(&self) -> Option<String> {
        self.progress.run_id().map(|id| id.to_string())
    }

    /// Whether the run has ended, or could not start.
    #[getter]
    fn ended(&self) -> bool {
        self.progress.end(|_, _| ()).is_some()
    }

    /// Whether the run has started; raises what kept it from starting.
    fn started(&self, py: Python<'_>) -> PyResult<bool> {
        let failed =
            self.progress.end(|end, _| end.as_ref().err().map(|error| raise_end(py, error))).flatten();
        match (self.progress.run_id(), failed) {
            (None, Some(error)) => Err(error),
            (started, _) => Ok(started.is_some()),
        }
    }

    /// How the run ended: its report, the failures of its iterations and the
    /// exceptions of its handlers; None before the end.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Option<Ended<'py>>> {
        let ended = self.progress.end(|end, failures| match end {
            Ok(report) => Ok((report.clone(), failures.to_vec())),
            Err(error) => Err(raise_end(py, error)),
        });
        let Some(ended) = ended else { return Ok(None) };
        let (report, failures) = ended?;
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let raised = PyList::new(py, raised.iter().map(|error| error.bind(py)))?;
        Ok(Some((to_python(py, &report)?, to_python(py, &failures)?, raised)))
    }

    /// A stream of events; None once the run has ended.
    fn events(&self) -> Option<EventStream> {
        Some(EventStream::new(self.progress.events()?, &self.progress.notifier))
    }

    /// What the run does now; None before it has started and once it has ended.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.progress.live_state().map(|state| to_python(py, &state)).transpose()
    }

    /// Says that nobody will read the events from the beginning.
    fn ignore_events(&self) {
        self.progress.ignore_events();
    }

    fn pause(&self) {
        self.send(Command::Pause);
    }

    fn resume(&self) {
        self.send(Command::Resume);
    }

    fn steer(&self, text: String) {
        self.send(Command::Steer(text));
    }

    fn approve(&self, py: Python<'_>, call: u64, text: Option<String>) -> PyResult<Job> {
        self.decide(py, call, move |control| async move { control.approve(call, text).await })
    }

    fn deny(&self, py: Python<'_>, call: u64, text: Option<String>) -> PyResult<Job> {
        self.decide(py, call, move |control| async move { control.deny(call, text).await })
    }

    fn cancel(&self) {
        self.send(Command::Cancel);
    }

    fn stop(&self) {
        self.send(Command::Stop);
    }
}

/// Events of a run, as far as they have come.
#[pyclass(frozen, module = "samuel._samuel")]
pub(crate) struct EventStream {
    events: Mutex<Option<Events>>,
    waker: Waker,
}

impl EventStream {
    /// Wraps a stream, whose events are notices.
    pub(crate) fn new(events: Events, notifier: &Arc<Notifier>) -> Self {
        Self { events: Mutex::new(Some(events)), waker: Waker::from(Arc::clone(notifier)) }
    }
}

#[pymethods]
impl EventStream {
    /// Takes at most so many events; None after the last one.
    fn take<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let mut records = Vec::new();
        let mut has_ended = false;
        {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(stream) = events.as_mut() else { return Ok(None) };
            let mut context = Context::from_waker(&self.waker);
            while records.len() < most {
                match Pin::new(&mut *stream).poll_next(&mut context) {
                    Poll::Ready(Some(record)) => records.push(record),
                    Poll::Ready(None) => {
                        has_ended = true;
                        break;
                    }
                    Poll::Pending => break,
                }
            }
            if has_ended {
                *events = None;
            }
        }
        if has_ended && records.is_empty() {
            return Ok(None);
        }
        records.iter().map(|record| event_to_python(py, record)).collect::<PyResult<_>>().map(Some)
    }
}
