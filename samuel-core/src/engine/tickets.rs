//! Tool calls that wait for what handlers answer.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::services::Services;
use crate::{
    hook::Said,
    machine::{AbilityAnswer, Input},
};

/// How many questions may be open for an agent's hooks to ask another.
const MAX_OPEN: usize = 64;

/// The tickets that the machine has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<AbilityAnswer>>,
}

impl Tickets {
    /// Says whether so many questions are open that hooks may not ask another.
    pub(super) fn are_out(&self) -> bool {
        self.open().waiting.len() >= MAX_OPEN
    }

    fn draw(&self) -> (u64, oneshot::Receiver<AbilityAnswer>) {
        let (sender, receiver) = oneshot::channel();
        let mut open = self.open();
        open.last += 1;
        let number = open.last;
        open.waiting.insert(number, sender);
        (number, receiver)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who waits for an answer, until this is dropped: then the machine hears that nobody does any more.
pub(super) struct Waiting {
    services: Arc<Services>,
    ticket: u64,
    answer: oneshot::Receiver<AbilityAnswer>,
    has_heard: bool,
}

impl Waiting {
    pub(super) fn new(services: &Arc<Services>) -> Self {
        let (ticket, answer) = services.tickets.draw();
        Self { services: Arc::clone(services), ticket, answer, has_heard: false }
    }

    pub(super) fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Returns the answer; nothing where the run is over.
    pub(super) async fn answer(&mut self) -> Option<AbilityAnswer> {
        let answer = (&mut self.answer).await.ok();
        self.has_heard = true;
        answer
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.has_heard {
            return;
        }
        self.answer.close();
        match self.answer.try_recv() {
            Ok(answer) => self.services.nobody_heard(answer),
            // The run is over where nobody takes it.
            Err(_) => _ = self.services.inputs.send(Input::AbilityGivenUp(self.ticket)),
        }
    }
}

impl Services {
    /// Answers whoever waits with a ticket.
    pub(super) fn answer(&self, ticket: u64, answer: AbilityAnswer) {
        let sender = self.tickets.open().waiting.remove(&ticket);
        if let Some(Err(unheard)) = sender.map(|sender| sender.send(answer)) {
            self.nobody_heard(unheard);
        }
    }

    fn nobody_heard(&self, answer: AbilityAnswer) {
        if let AbilityAnswer::Told(at_once) = answer {
            self.undelivered(at_once.said);
        }
    }

    /// Hands back what was to reach the model at once and did not, so that it waits for the next prompt.
    pub(super) fn undelivered(&self, said: Vec<Said>) {
        if !said.is_empty() {
            // The run is over where nobody takes it.
            let _ = self.inputs.send(Input::Undelivered(said));
        }
    }
}
