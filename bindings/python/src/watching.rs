//! Watching a run of another process.
//!
//! A thread of its own asks the run for events and keeps them until Python takes them; whoever waits
//! does so in Python, for the notifier. One that nobody holds any more leaves the run, which goes on.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use samuel_core::{
    engine::{Attached, LiveError},
    event::{Event, EventRecord},
    model::LiveState,
};

use crate::{
    convert::{event_to_python, to_python},
    error::raise,
    gate,
    notifier::Notifier,
};

/// How long the run is asked for an event at most before it is seen whether anybody still wants any.
const WAIT: Duration = Duration::from_secs(5);
/// How many events may wait before what the agent says is left out.
const BACKLOG: usize = 1_024;

/// A run of another process that is watched.
#[pyclass(frozen, name = "Watching", module = "samuel._samuel")]
pub(crate) struct Watching {
    notifier: Arc<Notifier>,
    told: Arc<Told>,
    state: LiveState,
}

/// What the run has told, and whether anybody wants more.
#[derive(Default)]
struct Told {
    waiting: Mutex<Waiting>,
    is_left: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<EventRecord>,
    /// How many events were left out since the last one.
    lost: u64,
    end: Option<Result<(), LiveError>>,
}

impl Watching {
    /// Begins to read what a run tells.
    pub(crate) fn begin(attached: Attached, notifier: Arc<Notifier>) -> std::io::Result<Self> {
        let (told, state) = (Arc::<Told>::default(), attached.state().clone());
        let (reads, rings) = (Arc::clone(&told), Arc::clone(&notifier));
        let life = move || {
            reads.read(attached, &rings);
            rings.end();
        };
        let started = std::thread::Builder::new().name("samuel-watch".to_owned());
        started.spawn(move || gate::keep_state(life)).inspect_err(|_| notifier.end())?;
        Ok(Self { notifier, told, state })
    }
}

impl Told {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut attached: Attached, notifier: &Notifier) {
        let end = loop {
            if self.is_left.load(Ordering::Relaxed) {
                break Ok(());
            }
            let batch = match attached.next(WAIT) {
                Ok(batch) => batch,
                Err(error) => break Err(error),
            };
            // A later version may tell of what this one does not know.
            let known = batch.events.into_iter().filter_map(|event| serde_json::from_value(event).ok());
            let has_ended = self.waiting().keep(known) || batch.ended;
            if has_ended {
                break Ok(());
            }
            notifier.notify();
        };
        self.waiting().end = Some(end);
    }
}

impl Waiting {
    /// Keeps events until they are taken, and says whether one of them is the run's last.
    fn keep(&mut self, events: impl Iterator<Item = EventRecord>) -> bool {
        let mut has_ended = false;
        for record in events {
            has_ended |= matches!(record.event, Event::RunFinished(_));
            if self.events.len() >= BACKLOG && record.event.may_be_lost() {
                self.lost += 1;
                continue;
            }
            let lost = std::mem::take(&mut self.lost);
            if lost > 0 {
                self.events.push_back(EventRecord { event: Event::Lagged { lost }, ..record.clone() });
            }
            self.events.push_back(record);
        }
        has_ended
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.told.is_left.store(true, Ordering::Relaxed);
    }
}

#[pymethods]
impl Watching {
    /// The number of notices so far.
    #[getter]
    fn version(&self) -> u64 {
        self.notifier.version()
    }

    /// Leaves a callback for the next notice; False if there was one since.
    fn wake(&self, callback: Py<PyAny>, seen: u64) -> bool {
        self.notifier.wait(callback, seen)
    }

    /// What the run did when the watching began.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.state)
    }

    /// Takes at most so many events; None after the last one. Raises where the run can be asked no more,
    /// and has not told that it ended.
    fn take<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let (records, has_ended) = {
            let mut waiting = self.told.waiting();
            let count = most.min(waiting.events.len());
            let records: Vec<EventRecord> = waiting.events.drain(..count).collect();
            match (records.is_empty(), &waiting.end) {
                (true, Some(Err(error))) => return Err(raise(py, error)),
                (true, Some(Ok(()))) => (records, true),
                _ => (records, false),
            }
        };
        if has_ended {
            return Ok(None);
        }
        records.iter().map(|record| event_to_python(py, record)).collect::<PyResult<_>>().map(Some)
    }
}
