//! The thread that a run lives on.
//!
//! Each run has one, with a runtime of its own, so that a program may fork,
//! use another event loop or none. What it tells the threads of Python is in
//! [`Progress`]; they are woken by the [`Notifier`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samuel_core::{
    Controller, Event, EventRecord, Events, Run, RunError, RunHandle, RunReport, event::IterationFailure,
    model::LiveState,
};

use crate::{gate, notifier::Notifier};

/// The most failures of iterations that a result names.
const MAX_FAILURES: usize = 1_000;

/// How far a run is, as seen from Python.
pub(crate) struct Progress {
    /// Rung whenever something changes.
    pub(crate) notifier: Arc<Notifier>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    handle: Option<RunHandle>,
    control: Option<Controller>,
    run_id: Option<Arc<str>>,
    /// Streams that were asked for before the run started.
    first: Vec<Events>,
    failures: Vec<IterationFailure>,
    end: Option<Result<RunReport, RunError>>,
}

impl Progress {
    /// Starts a run on a thread of its own, with so many streams that begin
    /// with the run.
    pub(crate) fn start(run: Run, notifier: Arc<Notifier>, streams: usize) -> std::io::Result<Arc<Self>> {
        let progress = Arc::new(Self { notifier, state: Mutex::default() });
        let engine = Arc::clone(&progress);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("samuel-run".to_owned()).spawn(move || {
            gate::keep_state(|| {
                runtime.block_on(engine.live(run, streams));
                runtime.shutdown_background();
                engine.notifier.end();
            });
        })?;
        Ok(progress)
    }

    async fn live(&self, run: Run, streams: usize) {
        let mut handle = match run.start().await {
            Ok(handle) => handle,
            Err(error) => {
                self.state().end = Some(Err(error));
                return;
            }
        };
        // All begin with the run, which has not taken a step yet.
        let mut watched = handle.events();
        let first = (0..streams).map(|_| handle.events()).collect();
        {
            let mut state = self.state();
            state.control = Some(handle.controller());
            state.run_id = Some(handle.run_id().into());
            state.first = first;
            state.handle = Some(handle);
        }
        self.notifier.notify();
        while let Some(record) = watched.next().await {
            self.take_note(&record);
        }
        let handle = self.state().handle.take();
        if let Some(handle) = handle {
            let end = handle.wait().await;
            self.state().end = Some(end);
        }
    }

    fn take_note(&self, record: &EventRecord) {
        if let Event::IterationFinished { failure: Some(failure), .. } = &record.event {
            let mut state = self.state();
            if state.failures.len() < MAX_FAILURES {
                state.failures.push(failure.clone());
            }
        }
    }

    /// Returns the run's id, once it has started.
    pub(crate) fn run_id(&self) -> Option<Arc<str>> {
        self.state().run_id.clone()
    }

    /// Returns what commands are given through, once the run has started.
    pub(crate) fn control(&self) -> Option<Controller> {
        self.state().control.clone()
    }

    /// Returns a stream of events: the first ones begin with the run, later
    /// ones with the moment; nothing once the run has ended.
    pub(crate) fn events(&self) -> Option<Events> {
        let mut state = self.state();
        state.first.pop().or_else(|| state.handle.as_mut().map(RunHandle::events))
    }

    /// Returns what the run does now; nothing before it has started and once it has ended.
    pub(crate) fn live_state(&self) -> Option<LiveState> {
        self.state().handle.as_ref().map(RunHandle::state)
    }

    /// Lets go of the first streams, for which nobody will ask.
    pub(crate) fn ignore_events(&self) {
        self.state().first.clear();
    }

    /// Looks at how the run ended, and at the failures of its iterations.
    pub(crate) fn end<R>(
        &self,
        look: impl FnOnce(&Result<RunReport, RunError>, &[IterationFailure]) -> R,
    ) -> Option<R> {
        let state = self.state();
        state.end.as_ref().map(|end| look(end, &state.failures))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
