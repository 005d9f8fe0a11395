//! What people ask of a run from other processes, by its own token.
//!
//! [`People`] is whom that token leads to. Commands go to the machine with the name of who asks; what
//! is looked at comes from the [`Hub`]. Who decides on a tool call first is said in `decisions`. An agent's token has none of
//! these verbs.

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
    decisions::Decision,
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
        let control = self.control.clone();
        move |ask| {
            let by = name_of(&ask, peer);
            ready((given(&control, &by, commands(ask)), Receipt::none()))
        }
    }
}

/// Gives commands, and returns what the run does. One whose machine has ended takes none any more.
fn given(control: &Controller, by: &str, commands: Vec<Command>) -> Result<LiveState, Refusal> {
    match commands.into_iter().all(|command| control.send_for(by, command)) {
        true => Ok(control.hub.live()),
        false => Err(has_ended()),
    }
}

fn has_ended() -> Refusal {
    Refusal::new(ErrorCode::CONTROL_NO_LOOP, "the run has ended")
}

/// Answers who approves or denies: the tool call that is named. Approving without one lets a run that holds go on.
async fn decided(control: Controller, peer: Peer, is_approved: bool, ask: Ask) -> Replied<LiveState> {
    let (by, hub) = (name_of(&ask, peer), &control.hub);
    let Ask { text, call, .. } = ask;
    let answer = match call {
        Some(call) => {
            let made = control.decide(Some(&by), Decision { call, is_approved, text }).await;
            made.map(|()| hub.live()).map_err(|error| Refusal::of(&error))
        }
        None if !control.takes_commands() => Err(has_ended()),
        None => match which_call(&hub.live()) {
            None if is_approved && hub.holds() => {
                let told = text.map(Command::Steer);
                given(&control, &by, told.into_iter().chain([Command::Resume]).collect())
            }
            refusal => Err(refusal.unwrap_or_else(nothing_waits)),
        },
    };
    (answer, Receipt::none())
}

/// Refuses a decision that names no call, where calls wait.
fn which_call(live: &LiveState) -> Option<Refusal> {
    let calls: Vec<String> = live.approvals.iter().map(|waiting| waiting.call.to_string()).collect();
    let message = format!("say which tool call is meant; {} waits", calls.join(", "));
    (!calls.is_empty()).then(|| Refusal::new(ErrorCode::CONTROL_WHICH_CALL, message))
}

fn nothing_waits() -> Refusal {
    Refusal::new(ErrorCode::CONTROL_NOTHING_WAITS, "nothing waits for approval")
}

impl Serve for People {
    fn open(&self, peer: Peer) -> (Welcome, Routes) {
        let (looked_at, watched) = (Arc::clone(&self.hub), Arc::clone(&self.hub));
        let (approves, denies) = (self.control.clone(), self.control.clone());
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
            .with::<ApproveVerb, _>(move |ask| decided(approves.clone(), peer, true, ask))
            .with::<DenyVerb, _>(move |ask| decided(denies.clone(), peer, false, ask))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::{
        machine::Input,
        model::ExitReason,
        testing::{Bench, VirtualClock},
    };

    const PEER: Peer = Peer { uid: 1, pid: None };

    /// Makes a run that people ask, and takes the commands that they give.
    fn people() -> (Arc<Hub>, People, UnboundedReceiver<Input>) {
        let hub = Arc::new(Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::default()));
        let (inputs, taken) = unbounded_channel();
        let refusals = Arc::new(Refusals::new(Arc::clone(&hub), Bench::with_tasks(&[]).unwrap().lane()));
        let control = Controller::new(inputs, Arc::clone(&hub));
        let people = People::new(Arc::clone(&hub), control, refusals);
        (hub, people, taken)
    }

    #[tokio::test]
    async fn a_run_that_has_ended_takes_no_command_any_more() {
        let (hub, people, mut taken) = people();
        let tells = people.gives(PEER, |_| vec![Command::Steer("so".to_owned())]);
        let approves = |ask| decided(people.control.clone(), PEER, true, ask);
        let code = |answer: Result<LiveState, Refusal>| answer.err().map(|refusal| refusal.code);
        let no_loop = || Some(ErrorCode::CONTROL_NO_LOOP.name.to_owned());
        assert_eq!(code(tells(Ask::default()).await.0), None);
        hub.untold(2, &Event::Paused);
        assert_eq!(code(approves(Ask::default()).await.0), None);
        hub.send(Event::Stopping { reason: ExitReason::Cancelled, detail: None });
        let waits_no_more = code(approves(Ask::default()).await.0);
        assert_eq!(waits_no_more, Some(ErrorCode::CONTROL_NOTHING_WAITS.name.to_owned()));
        // Its machine has ended, and nobody was told yet.
        taken.close();
        assert_eq!(code(tells(Ask::default()).await.0), no_loop());
        for call in [None, Some(57)] {
            assert_eq!(code(approves(Ask { call, ..Ask::default() }).await.0), no_loop(), "{call:?}");
        }
    }

    #[tokio::test]
    async fn of_two_who_decide_on_one_call_the_second_is_told_who_came_first() {
        let (hub, people, mut taken) = people();
        let decides = |by: &str, call, is_approved| {
            let ask = Ask { by: by.to_owned(), call, text: None };
            decided(people.control.clone(), PEER, is_approved, ask)
        };
        for call in [57, 58] {
            hub.send(Event::ApprovalAsked {
                iteration: 1,
                call,
                ability_id: "Bash".to_owned(),
                input: "{}".to_owned(),
                reason: "a command".to_owned(),
                wait_ms: 1,
            });
        }
        let unnamed = decides("1000/pts-1", None, true).await.0.unwrap_err();
        assert_eq!(unnamed.message, "say which tool call is meant; 57, 58 waits");
        // The run tells of a call after both have decided on it.
        let tells = async { hub.send(Event::ApprovalGiven { call: 57, approved: true, reason: None }) };
        let (first, second, ()) = tokio::join!(
            decides("1000/pts-1", Some(57), true),
            decides("1000/pts-2", Some(57), false),
            tells,
        );
        assert!(first.0.is_ok_and(|state| state.approvals.iter().all(|waiting| waiting.call != 57)));
        let second = second.0.unwrap_err();
        assert_eq!(second.code, ErrorCode::CONTROL_NOTHING_WAITS.name);
        assert_eq!(second.message, "tool call 57 was approved already, by 1000/pts-1");
        // Nor is there a second one where the program that started the run decides.
        let program = people.control.approve(57, None).await.unwrap_err();
        assert_eq!(program.to_string(), second.message);
        assert!(taken.try_recv().is_ok());
        assert!(taken.try_recv().is_err(), "the machine is given no command of who came second");
    }
}
