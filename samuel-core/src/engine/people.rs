//! What people ask of a run from other processes, by its own token.
//!
//! [`People`] is whom that token leads to. Commands go to the machine with the name of who asks; what
//! is looked at comes from the [`Hub`]. An agent's token has none of these verbs.

use std::{
    future::ready,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    sync::{Mutex, OwnedSemaphorePermit},
    time::timeout,
};

use super::{
    handle::Controller,
    hub::{Events, Hub},
    refusals::{Refusals, Refused},
    socket::{
        ApproveVerb, Ask, AskForEvents, CancelVerb, DenyVerb, EventBatch, EventsVerb, LookVerb, Nothing,
        PauseVerb, Peer, Receipt, Refusal, Replied, ResumeVerb, Routes, Serve, SteerVerb, StopVerb, Welcome,
    },
};
use crate::{
    event::{Event, EventRecord},
    machine::Command,
    model::{Doing, ErrorCode, LiveState},
    text::is_odd,
};

/// How long it is waited at most for the next event, so that a connection is never idle for too long.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// How many bytes of events one answer holds, well below the most that an answer may have.
const MAX_BATCH_BYTES: usize = 512 << 10;
/// How much is kept of the name of who asks, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Whom the run's own token leads to.
pub(super) struct People {
    hub: Arc<Hub>,
    control: Controller,
    refusals: Arc<Refusals>,
}

impl People {
    pub(super) fn new(hub: Arc<Hub>, control: Controller, refusals: Arc<Refusals>) -> Self {
        Self { hub, control, refusals }
    }

    /// Returns what answers a verb by giving commands.
    fn gives(
        &self,
        peer: Peer,
        commands: fn(Ask) -> Vec<Command>,
    ) -> impl Fn(Ask) -> std::future::Ready<Replied<LiveState>> + Send + Sync + 'static {
        let (hub, control) = (Arc::clone(&self.hub), self.control.clone());
        move |ask| {
            let by = name_of(&ask, peer);
            for command in commands(ask) {
                control.send_for(by.clone(), command);
            }
            ready((Ok(hub.live()), Receipt::none()))
        }
    }

    /// Returns what answers a verb by commands that depend on what waits.
    fn decides(
        &self,
        peer: Peer,
        commands: fn(&LiveState, Ask) -> Result<Vec<Command>, Refusal>,
    ) -> impl Fn(Ask) -> std::future::Ready<Replied<LiveState>> + Send + Sync + 'static {
        let (hub, control) = (Arc::clone(&self.hub), self.control.clone());
        move |ask| {
            let (by, live) = (name_of(&ask, peer), hub.live());
            let given = commands(&live, ask).map(|commands| {
                commands.into_iter().for_each(|command| control.send_for(by.clone(), command));
                live
            });
            ready((given, Receipt::none()))
        }
    }
}

/// Returns what approving leads to.
fn approval(live: &LiveState, ask: Ask) -> Result<Vec<Command>, Refusal> {
    let text = ask.text;
    match which(live, ask.call)? {
        Some(call) => Ok(vec![Command::Approve { call, text }]),
        None if live.doing == Doing::Paused => {
            Ok(text.map(Command::Steer).into_iter().chain([Command::Resume]).collect())
        }
        None => Err(nothing_waits()),
    }
}

/// Returns what denying leads to.
fn denial(live: &LiveState, ask: Ask) -> Result<Vec<Command>, Refusal> {
    let text = ask.text;
    which(live, ask.call)?.map(|call| vec![Command::Deny { call, text }]).ok_or_else(nothing_waits)
}

/// Returns the call that is meant; nothing where none waits and none is named.
fn which(live: &LiveState, named: Option<u64>) -> Result<Option<u64>, Refusal> {
    let waits = |call| live.approvals.iter().any(|waiting| waiting.call == call);
    match named {
        Some(call) if waits(call) => Ok(Some(call)),
        Some(call) => {
            let message = format!("no tool call {call} waits for approval");
            Err(Refusal::new(ErrorCode::CONTROL_NOTHING_WAITS, message))
        }
        None if live.approvals.is_empty() => Ok(None),
        None => {
            let calls: Vec<String> = live.approvals.iter().map(|waiting| waiting.call.to_string()).collect();
            let message = format!("say which tool call is meant; {} waits", calls.join(", "));
            Err(Refusal::new(ErrorCode::CONTROL_WHICH_CALL, message))
        }
    }
}

fn nothing_waits() -> Refusal {
    Refusal::new(ErrorCode::CONTROL_NOTHING_WAITS, "nothing waits for approval")
}

impl Serve for People {
    fn open(&self, peer: Peer) -> (Welcome, Routes) {
        let (looked_at, watched) = (Arc::clone(&self.hub), Arc::clone(&self.hub));
        let reader: Arc<Mutex<Option<Reader>>> = Arc::default();
        let routes = Routes::default()
            .with::<PauseVerb, _>(self.gives(peer, |_| vec![Command::Pause]))
            .with::<ResumeVerb, _>(self.gives(peer, |ask| {
                let told = ask.text.map(Command::Steer);
                told.into_iter().chain([Command::Resume]).collect()
            }))
            .with::<SteerVerb, _>(self.gives(peer, |ask| ask.text.map(Command::Steer).into_iter().collect()))
            .with::<CancelVerb, _>(self.gives(peer, |_| vec![Command::Cancel]))
            .with::<StopVerb, _>(self.gives(peer, |_| vec![Command::Stop]))
            .with::<ApproveVerb, _>(self.decides(peer, approval))
            .with::<DenyVerb, _>(self.decides(peer, denial))
            .with::<LookVerb, _>(move |Nothing {}| ready((Ok(looked_at.live()), Receipt::none())))
            .with::<EventsVerb, _>(move |AskForEvents { wait_ms }| {
                let (hub, reader) = (Arc::clone(&watched), Arc::clone(&reader));
                let wait = Duration::from_millis(wait_ms).min(MAX_WAIT);
                async move {
                    let mut reader = reader.lock().await;
                    let reader = reader.get_or_insert_with(|| Reader::new(&hub));
                    (Ok(reader.read(wait).await), Receipt::none())
                }
            });
        (Welcome { run: self.hub.live().run, ..Welcome::default() }, routes)
    }

    /// Whoever holds this token may be an agent that read it.
    fn refused(&self, verb: Option<&str>, refusal: &Refusal) {
        self.refusals.tell(Refused { verb, ..Refused::default() }, refusal);
    }
}

/// Returns who asks, as far as it says so and as the system does.
fn name_of(ask: &Ask, peer: Peer) -> String {
    let told = ask.by.chars().filter(|c| !is_odd(*c)).take(MAX_NAME_CHARS).collect::<String>();
    match (told.trim(), peer.pid) {
        ("", Some(pid)) => format!("user {} (process {pid})", peer.uid),
        ("", None) => format!("user {}", peer.uid),
        (told, _) => told.to_owned(),
    }
}

/// Reads the events of a run for one connection.
struct Reader {
    events: Events,
    /// What did not fit into the last answer.
    left: Option<(usize, Value)>,
    has_ended: bool,
    /// Has the end of the run wait a moment until it is told.
    _watched: Option<OwnedSemaphorePermit>,
}

impl Reader {
    fn new(hub: &Hub) -> Self {
        let events = hub.subscribe();
        // Nothing follows on the end.
        let has_ended = hub.live().doing == Doing::Ended;
        Self { events, left: None, has_ended, _watched: hub.watched() }
    }

    /// Waits so long for an event, and takes those that there are, as many as an answer holds.
    async fn read(&mut self, wait: Duration) -> EventBatch {
        let mut batch = EventBatch::default();
        let deadline = Instant::now() + wait;
        let mut bytes = 0;
        while !self.has_ended || self.left.is_some() {
            let (size, event) = match self.left.take() {
                Some(left) => left,
                None => {
                    match self.next(if batch.events.is_empty() { deadline } else { Instant::now() }).await {
                        Next::Event(record) => {
                            self.has_ended = matches!(record.event, Event::RunFinished(_));
                            encoded(&record)
                        }
                        Next::Late => break,
                        Next::Ended => {
                            self.has_ended = true;
                            break;
                        }
                    }
                }
            };
            if bytes + size > MAX_BATCH_BYTES && !batch.events.is_empty() {
                self.left = Some((size, event));
                break;
            }
            bytes += size;
            batch.events.push(event);
        }
        batch.ended = self.has_ended && self.left.is_none();
        batch
    }

    async fn next(&mut self, deadline: Instant) -> Next {
        let left = deadline.saturating_duration_since(Instant::now());
        match timeout(left, self.events.next()).await {
            Ok(Some(record)) => Next::Event(Box::new(record)),
            Ok(None) => Next::Ended,
            Err(_) => Next::Late,
        }
    }
}

enum Next {
    Event(Box<EventRecord>),
    Late,
    Ended,
}

/// Returns an event as JSON, with its size. One that no answer holds is told as lost.
fn encoded(record: &EventRecord) -> (usize, Value) {
    let size = |record: &EventRecord| serde_json::to_vec(record).map_or(usize::MAX, |bytes| bytes.len());
    let lost = EventRecord { event: Event::Lagged { lost: 1 }, ..record.clone() };
    let (size, record) = match size(record) {
        bytes if bytes <= MAX_BATCH_BYTES => (bytes, record),
        _ => (size(&lost), &lost),
    };
    (size, serde_json::to_value(record).unwrap_or_default())
}
