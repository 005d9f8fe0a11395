//! What wakes the threads of Python that wait for a run.
//!
//! They wait in Python, with a callback left here; a [`Notifier`] is told from
//! Rust, from any thread and with any lock held, because a thread of its own
//! makes the calls. So neither the engine nor an agent's output ever waits for
//! the interpreter.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::Wake,
};

use pyo3::{
    Py, PyAny, PyResult, Python, intern,
    types::{PyAnyMethods, PyModule},
};

use crate::{gate, logging};

/// What the thread is told.
enum Notice {
    /// Something is new.
    Wake,
    /// A job is no longer wanted: the callback interrupts it.
    Interrupt(Py<PyAny>),
    /// Nothing more will come.
    End,
}

/// Wakes whoever waits, and interrupts what is left behind.
#[derive(Debug)]
pub(crate) struct Notifier {
    /// Grows with every notice, so that none is missed between looking and waiting.
    version: AtomicU64,
    callbacks: Mutex<Vec<Py<PyAny>>>,
    sender: mpsc::Sender<Notice>,
}

impl std::fmt::Debug for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notice")
    }
}

impl Notifier {
    /// Starts a notifier, with its thread, which ends at [`end`](Self::end). Before
    /// any thread can enter the interpreter, its end is looked after.
    pub(crate) fn start(py: Python<'_>) -> PyResult<Arc<Self>> {
        PyModule::import(py, intern!(py, "samuel._exit"))?.call_method0(intern!(py, "prepare"))?;
        logging::install();
        let (sender, notices) = mpsc::channel();
        let notifier = Arc::new(Self { version: AtomicU64::new(0), callbacks: Mutex::default(), sender });
        let notifying = Arc::clone(&notifier);
        std::thread::Builder::new()
            .name("samuel-notifier".to_owned())
            .spawn(move || gate::keep_state(move || notifying.follow(&notices)))?;
        Ok(notifier)
    }

    fn follow(&self, notices: &mpsc::Receiver<Notice>) {
        loop {
            match notices.recv() {
                Ok(Notice::Wake) => self.call_back(),
                Ok(Notice::Interrupt(interrupt)) => {
                    gate::attach(|py| {
                        if let Err(error) = interrupt.call0(py) {
                            error.write_unraisable(py, None);
                        }
                    });
                }
                Ok(Notice::End) | Err(_) => return self.call_back(),
            }
        }
    }

    fn call_back(&self) {
        let waiting = std::mem::take(&mut *self.callbacks());
        if waiting.is_empty() {
            return;
        }
        gate::attach(|py| {
            for callback in waiting {
                // Whoever waited may have gone, such as a closed event loop.
                if let Err(error) = callback.call0(py)
                    && !error.is_instance_of::<pyo3::exceptions::PyRuntimeError>(py)
                {
                    error.write_unraisable(py, None);
                }
            }
        });
    }

    /// Wakes everybody.
    pub(crate) fn notify(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
        if !self.callbacks().is_empty() {
            // Without its thread nobody is left to be woken.
            let _ = self.sender.send(Notice::Wake);
        }
    }

    /// Has a job interrupted.
    pub(crate) fn interrupt(&self, callback: Py<PyAny>) {
        let _ = self.sender.send(Notice::Interrupt(callback));
    }

    /// Wakes everybody for the last time.
    pub(crate) fn end(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
        let _ = self.sender.send(Notice::End);
    }

    /// Returns the number of notices so far.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Leaves a callback for the next notice; says no if there was one since.
    pub(crate) fn wait(&self, callback: Py<PyAny>, seen: u64) -> bool {
        let mut callbacks = self.callbacks();
        if self.version() != seen {
            return false;
        }
        callbacks.push(callback);
        true
    }

    fn callbacks(&self) -> std::sync::MutexGuard<'_, Vec<Py<PyAny>>> {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event that comes in is a notice.
impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}
