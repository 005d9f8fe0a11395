//! The clock of the engine.
//!
//! Guest code looks at the engine's epoch on every loop and call; a thread
//! moves it on every [`TICK`], so that a guest that never calls the host is
//! interrupted all the same. While no call runs, the thread sleeps.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, Thread},
    time::Duration,
};

use wasmtime::Engine;

/// How long an epoch is.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// How many ticks without a call it takes until the thread sleeps.
const IDLE_TICKS: u32 = 200;

/// What the thread and the calls share.
#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    is_asleep: AtomicBool,
    is_over: AtomicBool,
}

/// The thread that moves the engine's epoch, for as long as this lives.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Ticker {
    /// Starts the thread.
    pub(super) fn start(engine: &Engine) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let engine = engine.clone();
        let thread = thread::Builder::new()
            .name("samuel-wasm-ticker".to_owned())
            .spawn(move || tick(&engine, &theirs))?
            .thread()
            .clone();
        Ok(Self { shared, thread })
    }

    /// Keeps the epoch moving until what it returns is dropped.
    pub(super) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.is_asleep.load(SeqCst) {
            self.thread.unpark();
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.is_over.store(true, SeqCst);
        self.thread.unpark();
    }
}

/// A call that is running.
#[derive(Debug)]
pub(super) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

fn tick(engine: &Engine, shared: &Shared) {
    let mut idle = 0;
    while !shared.is_over.load(SeqCst) {
        if shared.running.load(SeqCst) > 0 {
            idle = 0;
        } else {
            idle += 1;
        }
        if idle < IDLE_TICKS {
            thread::park_timeout(TICK);
        } else {
            // A call that starts between the two lines sees that we sleep, or
            // we see it running.
            shared.is_asleep.store(true, SeqCst);
            if shared.running.load(SeqCst) == 0 && !shared.is_over.load(SeqCst) {
                thread::park();
            }
            shared.is_asleep.store(false, SeqCst);
            idle = 0;
        }
        engine.increment_epoch();
    }
}
