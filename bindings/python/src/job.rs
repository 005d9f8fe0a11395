//! Work on a thread of its own, outside a run: handlers that are dispatched
//! for a test, plugins that are fetched or loaded.
//!
//! As with runs, whoever waits for a [`Job`] does so in Python, and asks for
//! the result when the notifier tells of it. A job is cancelled by whoever gives up
//! the wait, and where nobody holds it any more.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{Py, PyAny, PyResult, Python, exceptions::PyRuntimeError, pyclass, pymethods};
use tokio_util::sync::CancellationToken;

use crate::{gate, notifier::Notifier};

/// What came of the work, made into Python objects when Python asks.
pub(crate) type Made = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Work that is under way.
#[pyclass(frozen, generic, module = "samuel._samuel")]
pub(crate) struct Job {
    notifier: Arc<Notifier>,
    made: Arc<Mutex<Option<Made>>>,
    cancel: CancellationToken,
}

impl Job {
    /// Does some work on a thread of its own. `cancel` tells the work that
    /// nobody wants it any more.
    pub(crate) fn begin(
        notifier: Arc<Notifier>,
        cancel: CancellationToken,
        work: impl Future<Output = Made> + Send + 'static,
    ) -> PyResult<Self> {
        let started = Self::spawn(Arc::clone(&notifier), Box::pin(work));
        let made = started.inspect_err(|_| notifier.end())?;
        Ok(Self { notifier, made, cancel })
    }

    fn spawn(
        notifier: Arc<Notifier>,
        work: Pin<Box<dyn Future<Output = Made> + Send>>,
    ) -> std::io::Result<Arc<Mutex<Option<Made>>>> {
        let made: Arc<Mutex<Option<Made>>> = Arc::default();
        let told = Arc::clone(&made);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let life = move || {
            let done = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
            runtime.shutdown_background();
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(done.unwrap_or_else(|_| {
                Box::new(|_| {
                    Err(PyRuntimeError::new_err("Samuel panicked; what it said is on standard error"))
                })
            }));
            notifier.end();
        };
        std::thread::Builder::new().name("samuel-job".to_owned()).spawn(move || gate::keep_state(life))?;
        Ok(made)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[pymethods]
impl Job {
    /// The number of notices so far.
    #[getter]
    fn version(&self) -> u64 {
        self.notifier.version()
    }

    /// Leaves a callback for the next notice; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.notifier.wait(callback, seen)
    }

    /// Tells the work that nobody waits for it any more.
    fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What came of it, once; None before the end.
    fn result(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.map(|make| make(py)).transpose()
    }
}
