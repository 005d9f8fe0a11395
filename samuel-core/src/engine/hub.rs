//! The queue between a run and whoever watches it.
//!
//! State changes are kept until they are read; agent text is dropped once a
//! reader is too far behind, and the gap is told as [`Event::Lagged`].

use std::{
    borrow::Cow,
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{
    decisions::Decisions,
    live_state::{Holds, follow},
};
use crate::{
    agent::AgentEvent,
    clock::Clock,
    environment::Secrets,
    event::{EVENT_SCHEMA_VERSION, Event, EventRecord},
    model::{LiveState, QueuedWork},
};

/// How many events a reader may be behind before agent text is dropped.
const BACKLOG: usize = 1_024;
/// How many who watch from other processes are counted, more than may connect.
const MAX_WATCHERS: u16 = 128;
/// How long the end of a run waits until these have heard of it.
const HEARD_WAIT: Duration = Duration::from_secs(1);

/// Hands events to every stream.
#[derive(Debug)]
pub(super) struct Hub {
    run_id: Arc<str>,
    clock: Arc<dyn Clock>,
    /// The values that no event shows.
    secrets: Arc<Secrets>,
    /// The clock's reading when the run was built.
    built: Duration,
    state: Mutex<State>,
    /// Has a place for each who watches from another process.
    watchers: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct State {
    seq: u64,
    closed: bool,
    readers: Vec<Arc<Mutex<Reader>>>,
    live: LiveState,
    holds: Holds,
    decisions: Decisions,
}

#[derive(Debug, Default)]
struct Reader {
    queue: VecDeque<EventRecord>,
    lost: u64,
    closed: bool,
    waker: Option<Waker>,
}

impl Hub {
    pub(super) fn new(run_id: Arc<str>, clock: Arc<dyn Clock>, secrets: Arc<Secrets>) -> Self {
        let built = clock.elapsed();
        let watchers = Arc::new(Semaphore::new(MAX_WATCHERS.into()));
        Self { run_id, clock, secrets, built, state: Mutex::default(), watchers }
    }

    /// Hands out an event; never waits.
    pub(super) fn send(&self, event: Event) {
        self.send_of(None, event);
    }

    /// Hands out an event of a lane, without secrets; never waits.
    pub(super) fn send_of(&self, lane: Option<u32>, event: Event) {
        let event = self.hidden(event);
        let mut state = lock(&self.state);
        state.seq += 1;
        let elapsed = self.clock.elapsed().saturating_sub(self.built);
        let record = EventRecord {
            schema_version: EVENT_SCHEMA_VERSION,
            seq: state.seq,
            at: self.clock.now(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            run_id: Arc::clone(&self.run_id),
            lane,
            event,
        };
        let State { live, holds, decisions, .. } = &mut *state;
        follow(live, holds, &record);
        decisions.follow(&record.event);
        state.readers.retain(|reader| Arc::strong_count(reader) > 1);
        for reader in &state.readers {
            lock(reader).push(record.clone());
        }
    }

    /// Returns an event without secrets. Agents say so much that texts are not looked at as documents.
    fn hidden(&self, mut event: Event) -> Event {
        let Event::Agent { report: AgentEvent::Text { text }, .. } = &mut event else {
            return self.secrets.hidden(event);
        };
        if let Cow::Owned(hidden) = self.secrets.hide_values(text) {
            *text = hidden;
        }
        event
    }

    /// Returns the values that no event shows.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns what the run does now, as the last events tell.
    pub(super) fn live(&self) -> LiveState {
        LiveState { run: self.run_id.to_string(), ..lock(&self.state).live.clone() }
    }

    /// Takes down what a lane does of which no event is told.
    pub(super) fn untold(&self, lane: u32, event: &Event) {
        lock(&self.state).holds.take_of_lane(lane, event);
    }

    /// Says whether the loop holds until somebody lets it go on, or one of its lanes.
    pub(super) fn holds(&self) -> bool {
        lock(&self.state).holds.any()
    }

    /// Works with what became of tool calls that people decide on, and with what the run does now; no event comes in between.
    pub(super) fn decisions<R>(&self, work: impl FnOnce(&mut Decisions, &LiveState) -> R) -> R {
        let mut state = lock(&self.state);
        let State { decisions, live, .. } = &mut *state;
        work(decisions, live)
    }

    /// Takes down where submitted work is in the queue, what is in the way of its landing, and where it lands.
    pub(super) fn queue_is(&self, queue: Vec<QueuedWork>, held: Option<String>, into: &str) {
        let live = &mut lock(&self.state).live;
        (live.queue, live.held, live.into) = (queue, held, Some(into.to_owned()));
    }

    /// Counts somebody who watches from another process, as long as what is returned is kept.
    pub(super) fn watched(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.watchers).try_acquire_owned().ok()
    }

    /// Waits until all who watch from other processes have left, a moment at most.
    pub(super) async fn left_by_watchers(&self) {
        // Who does not read in time finds the connection closed.
        let _ = timeout(HEARD_WAIT, self.watchers.acquire_many(MAX_WATCHERS.into())).await;
    }

    /// Ends every stream once it has been read.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        for reader in state.readers.drain(..) {
            let mut reader = lock(&reader);
            reader.closed = true;
            reader.wake();
        }
    }

    /// Returns a stream of the events from now on.
    pub(super) fn subscribe(&self) -> Events {
        let mut state = lock(&self.state);
        let reader = Arc::new(Mutex::new(Reader { closed: state.closed, ..Reader::default() }));
        if !state.closed {
            state.readers.push(Arc::clone(&reader));
        }
        Events(reader)
    }
}

impl Reader {
    fn push(&mut self, record: EventRecord) {
        if self.queue.len() >= BACKLOG && record.event.may_be_lost() {
            self.lost += 1;
            return;
        }
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            self.queue.push_back(EventRecord { event: Event::Lagged { lost }, ..record.clone() });
        }
        self.queue.push_back(record);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The events of a run, as a stream that ends with the run.
#[derive(Debug)]
pub struct Events(Arc<Mutex<Reader>>);

impl Events {
    /// Waits for the next event; nothing once the run has ended.
    pub async fn next(&mut self) -> Option<EventRecord> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    /// Returns the next event, if there is one already.
    pub(super) fn ready(&mut self) -> Option<EventRecord> {
        lock(&self.0).queue.pop_front()
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Option<EventRecord>> {
        let mut reader = lock(&self.0);
        match reader.queue.pop_front() {
            Some(record) => Poll::Ready(Some(record)),
            None if reader.closed => Poll::Ready(None),
            None => {
                reader.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Stream for Events {
    type Item = EventRecord;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<EventRecord>> {
        self.poll(context)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::VirtualClock;

    fn hub() -> Hub {
        Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::default())
    }

    fn text(n: usize) -> Event {
        Event::Agent { iteration: 1, report: AgentEvent::Text { text: n.to_string() } }
    }

    #[tokio::test]
    async fn a_slow_reader_loses_agent_text_and_never_a_change_of_state() {
        let hub = hub();
        let mut events = hub.subscribe();
        for n in 0..BACKLOG + 10 {
            hub.send(text(n));
        }
        hub.send(Event::Paused);
        hub.close();
        let mut seen = Vec::new();
        while let Some(record) = events.next().await {
            seen.push(record);
        }
        assert_eq!(seen.len(), BACKLOG + 2);
        let tail: Vec<&Event> = seen.iter().rev().take(2).map(|record| &record.event).collect();
        assert_eq!(tail, [&Event::Paused, &Event::Lagged { lost: 10 }]);
    }

    #[tokio::test]
    async fn no_event_shows_a_secret() {
        let secrets = Secrets::of(&[("A_TOKEN".to_owned(), "made-up-1".to_owned())]);
        let hub = Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::new(secrets));
        let mut events = hub.subscribe();
        let text = || "it is made-up-1".to_owned();
        hub.send(Event::Agent { iteration: 1, report: AgentEvent::Text { text: text() } });
        hub.send(Event::Warning { message: text() });
        hub.close();
        while let Some(record) = events.next().await {
            let told = serde_json::to_string(&record).unwrap();
            assert!(told.contains("it is ***") && !told.contains("made-up-1"), "{told}");
        }
    }

    #[tokio::test]
    async fn a_stream_that_begins_after_the_end_is_empty() {
        let hub = hub();
        hub.close();
        assert_eq!(hub.subscribe().next().await, None);
    }
}
