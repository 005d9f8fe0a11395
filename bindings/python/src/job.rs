//! Work on a thread of its own, outside a run: handlers that are dispatched
//! for a test, plugins that are fetched or loaded.
//!
//! As with runs, whoever waits for a [`Job`] does so in Python, and asks for
//! the result when the bell rings. A job that nobody holds any more is
//! cancelled.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{Py, PyAny, PyResult, Python, exceptions::PyRuntimeError, pyclass, pymethods};
use tokio_util::sync::CancellationToken;

use crate::{bell::Bell, gate};

/// What came of the work, made into Python objects when Python asks.
pub(crate) type Made = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Work that is under way.
#[pyclass(frozen, generic, module = "samuel._samuel")]
pub(crate) struct Job {
    bell: Arc<Bell>,
    made: Arc<Mutex<Option<Made>>>,
    cancel: CancellationToken,
}

impl Job {
    /// Does some work on a thread of its own. `cancel` tells the work that
    /// nobody wants it any more.
    pub(crate) fn begin(
        bell: Arc<Bell>,
        cancel: CancellationToken,
        work: impl Future<Output = Made> + Send + 'static,
    ) -> PyResult<Self> {
        let started = Self::spawn(Arc::clone(&bell), work);
        let made = started.inspect_err(|_| bell.end())?;
        Ok(Self { bell, made, cancel })
    }

    fn spawn(
        bell: Arc<Bell>,
        work: impl Future<Output = Made> + Send + 'static,
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
            bell.end();
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
    /// The number of rings so far.
    #[getter]
    fn version(&self) -> u64 {
        self.bell.version()
    }

    /// Leaves a callback for the next ring; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.bell.wait(callback, seen)
    }

    /// What came of it, once; None before the end.
    fn result(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).take();
        made.map(|make| make(py)).transpose()
    }
}
