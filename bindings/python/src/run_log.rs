//! The events of a run's record, read once or followed to the run's end.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use pyo3::{Bound, PyAny, PyRef, PyResult, Python, pyclass, pymethods};
use samuel_core::history::{Entries, EntryFilter, HistoryError, LogEntry, Tail};
use tokio::runtime::{self, Runtime};

use crate::{convert::event_to_python, error::raise, gate::detached};

/// How many events come in one list at most.
const BATCH: usize = 256;
/// How long more is waited for once there is something.
const AT_ONCE: Duration = Duration::from_millis(5);
/// How long is waited in one call at most.
const LONGEST: f64 = 60.0;

/// The events of a run's record, one after the other.
#[pyclass(frozen, module = "samuel._samuel")]
pub(crate) struct RunLog(Mutex<Entries>, EntryFilter);

impl RunLog {
    pub(crate) fn of(entries: Entries, filter: EntryFilter) -> Self {
        Self(Mutex::new(entries), filter)
    }
}

#[pymethods]
impl RunLog {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = detached(py, || {
            let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match entries.next_entry()? {
                    Some(entry) if !self.1.takes(&entry) => {}
                    Some(entry) => return Ok::<Option<LogEntry>, HistoryError>(Some(entry)),
                    None => return entries.check_told().map(|()| None),
                }
            }
        });
        let next = next.map_err(|error| raise(py, &error))?;
        next.map(|entry| event_to_python(py, &entry.record)).transpose()
    }
}

/// The events of a run's record from its beginning to the end of the run, which may be under way.
#[pyclass(frozen, module = "samuel._samuel")]
pub(crate) struct RunTail {
    following: Mutex<Following>,
    filter: EntryFilter,
}

struct Following {
    runtime: Runtime,
    tail: Tail,
    /// What went wrong behind the events of the last list.
    error: Option<HistoryError>,
}

impl RunTail {
    pub(crate) fn of(tail: Tail, filter: EntryFilter) -> PyResult<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { following: Mutex::new(Following { runtime, tail, error: None }), filter })
    }
}

#[pymethods]
impl RunTail {
    /// Waits so many seconds at most for what is told next; an empty list where nothing was, `None` at the end.
    fn read<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let until = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST));
        let read = detached(py, || {
            let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
            let Following { runtime, tail, error } = &mut *following;
            if let Some(error) = error.take() {
                return Err(error);
            }
            let mut read = Vec::new();
            // What is there already comes in one list.
            let mut wait = until;
            while read.len() < BATCH {
                let next = async { tokio::time::timeout_at(wait.into(), tail.next()).await };
                match runtime.block_on(next) {
                    Ok(Ok(Some(entry))) if self.filter.takes(&entry) => {
                        read.push(entry);
                        wait = Instant::now() + AT_ONCE;
                    }
                    Ok(Ok(Some(_))) => {}
                    Ok(Ok(None)) if read.is_empty() => return tail.check_told().map(|()| None),
                    Ok(Err(failed)) if read.is_empty() => return Err(failed),
                    Ok(Err(failed)) => {
                        *error = Some(failed);
                        break;
                    }
                    Ok(Ok(None)) | Err(_) => break,
                }
            }
            Ok::<_, HistoryError>(Some(read))
        });
        let Some(read) = read.map_err(|error| raise(py, &error))? else { return Ok(None) };
        read.iter().map(|entry| event_to_python(py, &entry.record)).collect::<PyResult<_>>().map(Some)
    }
}
