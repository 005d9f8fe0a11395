//! The way into the interpreter, which closes before the interpreter ends.
//!
//! A thread that asks for the interpreter while it is being taken down is
//! ended by it, in the middle of Rust, which aborts the process. So every
//! entry is counted; the facade closes the gate when Python exits, and goes on
//! only when nobody is inside. A thread that comes too late does without
//! Python ([`attach`] answers nothing) or stays where it is ([`keep_state`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::{Python, pyfunction};

static INSIDE: AtomicUsize = AtomicUsize::new(0);
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Says that a thread is inside until it is dropped.
struct Pass;

impl Pass {
    fn take() -> Option<Self> {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let pass = Self;
        (!CLOSED.load(Ordering::SeqCst)).then_some(pass)
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does something in the interpreter; nothing once the gate is closed.
pub(crate) fn attach<R>(work: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    let _pass = Pass::take()?;
    Python::try_attach(work)
}

/// Runs the life of a thread of ours. The thread keeps its Python state all
/// the while, which makes each [`attach`] twenty times cheaper.
pub(crate) fn keep_state(life: impl FnOnce() + Send) {
    let Some(pass) = Pass::take() else { return life() };
    Python::try_attach(|py| {
        py.detach(|| {
            drop(pass);
            life();
            // Going back needs a pass, which is given back below.
            match Pass::take() {
                Some(pass) => std::mem::forget(pass),
                None => loop {
                    std::thread::park();
                },
            }
        });
    });
    drop(Pass);
}

/// Lets other threads of Python run while this one works in Rust.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    match Pass::take() {
        Some(_pass) => py.detach(work),
        // The interpreter is ending: whoever lets go of it now does not get it back.
        None => work(),
    }
}

/// Closes the gate for good.
#[pyfunction]
pub(crate) fn close() {
    CLOSED.store(true, Ordering::SeqCst);
}

/// Returns how many threads are inside.
#[pyfunction]
pub(crate) fn inside() -> usize {
    INSIDE.load(Ordering::SeqCst)
}

/// Forgets the threads that a forked process does not have.
#[pyfunction]
pub(crate) fn forked() {
    INSIDE.store(0, Ordering::SeqCst);
}
