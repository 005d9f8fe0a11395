//! What a run refused over its socket, told and written down.
//!
//! Each refusal is an event, and a note in the journal. Whoever asks without end fills neither:
//! of each code the first ten are told one by one, then the 16th, the 32nd and so on, each with how many
//! there were by then.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::json;
use tokio::task::JoinSet;

use super::{hub::Hub, socket::Refusal};
use crate::{
    event::Event,
    state::{LaneStore, Note, NotedEvent},
    text::excerpt,
};

/// The name of the notes in the journal.
const NOTE: &str = "request_refused";
/// How the codes of what is told begin.
const AREAS: [&str; 2] = ["E_SOCKET_", "E_BROKER_"];
/// How many refusals of one code are told one by one.
const ONE_BY_ONE: u64 = 10;
/// How much is told of a verb and of what is wrong, in bytes: both can repeat what was asked.
const MAX_VERB_BYTES: usize = 64;
const MAX_MESSAGE_BYTES: usize = 1 << 10;

/// The refusals of a run.
pub(super) struct Refusals {
    hub: Arc<Hub>,
    lane: Arc<dyn LaneStore>,
    /// How many there were, by code.
    counts: Mutex<BTreeMap<String, u64>>,
    /// The notes that are under way.
    pending: Mutex<JoinSet<()>>,
}

/// To whom something was refused, and what.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refused<'a> {
    /// The iteration of the agent's call; 0 where it is a person's, or nobody's who is known.
    pub(super) iteration: u32,
    /// The task of the call.
    pub(super) task: Option<&'a str>,
    /// The verb, as far as one was named.
    pub(super) verb: Option<&'a str>,
}

impl Refusals {
    pub(super) fn new(hub: Arc<Hub>, lane: Arc<dyn LaneStore>) -> Self {
        Self { hub, lane, counts: Mutex::default(), pending: Mutex::default() }
    }

    /// Tells of a refusal, and has it written down; what the store refuses is an answer as any other. Does not wait. Has to be called within a runtime.
    pub(super) fn tell(&self, refused: Refused<'_>, refusal: &Refusal) {
        if !AREAS.iter().any(|area| refusal.code.starts_with(area)) {
            return;
        }
        let count = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(refusal.code.clone()).or_default();
            *count += 1;
            *count
        };
        if count > ONE_BY_ONE && !count.is_power_of_two() {
            return;
        }
        let Refused { iteration, task, verb } = refused;
        let secrets = self.hub.secrets();
        let verb = verb.map(|verb| excerpt(&secrets.hide(verb), MAX_VERB_BYTES));
        let message = excerpt(&secrets.hide(&refusal.message), MAX_MESSAGE_BYTES);
        let code = refusal.code.clone();
        let data = json!({
            "iteration": iteration, "task": task, "verb": verb, "code": code, "message": message, "count": count,
        });
        let lane = Arc::clone(&self.lane);
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are written are none any more.
        while pending.try_join_next().is_some() {}
        pending.spawn_blocking(move || {
            // The event tells of it all the same.
            let _ = lane.note(Note::Event(NotedEvent { name: NOTE.to_owned(), data }));
        });
        drop(pending);
        let task = task.map(str::to_owned);
        self.hub.send(Event::RequestRefused { iteration, task, verb, code, message, count });
    }

    /// Waits until what was told is written down.
    pub(super) async fn settle(&self) {
        let mut pending = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *pending)
        };
        while pending.join_next().await.is_some() {}
    }
}

impl fmt::Debug for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusals").field("counts", &self.counts).finish_non_exhaustive()
    }
}
