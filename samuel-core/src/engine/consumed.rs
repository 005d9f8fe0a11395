//! Writing down which agents the run calls and what it has consumed, so that it is known although
//! this process may be killed before it saves the machine.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};

use super::{error::described, services::Services};
use crate::{
    event::Event,
    model::Usage,
    state::{Called, Note, Used},
};

/// How long the loop waits until what the agent consumed is written.
const NOTE_WAIT: Duration = Duration::from_millis(250);

/// What writes down what the run has consumed.
pub(super) struct Consumed {
    newest: watch::Sender<Usage>,
    written: watch::Receiver<Usage>,
    noting: JoinHandle<()>,
}

impl Consumed {
    /// Begins with what was consumed so far. What is told while one is written is
    /// written as one.
    pub(super) fn begin(services: &Arc<Services>, used: Usage) -> Self {
        let (newest, mut told) = watch::channel(used);
        let (write, written) = watch::channel(used);
        let services = Arc::clone(services);
        let noting = tokio::spawn(async move {
            while told.changed().await.is_ok() {
                let usage = *told.borrow_and_update();
                services.note_used(usage).await;
                write.send_replace(usage);
            }
        });
        Self { newest, written, noting }
    }

    /// Has it written, and waits for that a moment: not for as long as somebody may
    /// hold the lock.
    pub(super) async fn note(&mut self, used: Usage) {
        self.newest.send_replace(used);
        let written = self.written.wait_for(|written| *written == used);
        // What is not written by then is written later.
        let _ = tokio::time::timeout(NOTE_WAIT, written).await;
    }

    /// Waits until all is written.
    pub(super) async fn end(self) {
        drop(self.newest);
        let _ = self.noting.await;
    }
}

impl Services {
    /// Writes down a call of the agent, where an event tells of one that begins. That of a worker ends with its event.
    pub(super) async fn note_call(self: &Arc<Self>, event: &Event) {
        let lane = self.in_lane.as_ref();
        let Event::AgentStarted { iteration, turn, agent, model, why } = event else {
            if let Some(lane) = lane.filter(|_| matches!(event, Event::AgentFinished { .. })) {
                lane.shared.calls_agent(lane.number, None);
            }
            return;
        };
        let called = Called {
            run_id: self.run_id.to_string(),
            worker: lane.map(|lane| lane.number),
            iteration: *iteration,
            turn: *turn,
            agent: agent.clone(),
            model: model.clone(),
            why: why.clone(),
        };
        // Books that are written meanwhile have it, or come before.
        let _writing = match lane {
            Some(lane) => {
                lane.shared.calls_agent(lane.number, Some(called.clone()));
                Some(lane.shared.beginnings.to_write().await)
            }
            None => None,
        };
        let noted = self.blocking(move |services| services.lane.note(Note::Called(called))).await;
        if let Err(error) = noted.and_then(|noted| noted) {
            self.warn(format!("which agent is called could not be saved: {}", described(&error)));
        }
    }

    async fn note_used(self: &Arc<Self>, usage: Usage) {
        let run_id = self.run_id.to_string();
        // Each lane writes what all have consumed: as of now, so that nothing older comes behind what is newer.
        let (used, _writing) = match &self.in_lane {
            Some(lane) => {
                let (used, writing) = lane.used_to_write(run_id).await;
                (used, Some(writing))
            }
            None => (Used { run_id, usage, workers: Value::Null }, None),
        };
        let noted = self.blocking(move |services| services.lane.note(Note::Used(used)));
        if let Err(error) = noted.await.and_then(|noted| noted) {
            self.warn(format!("what the agent consumed could not be saved: {}", described(&error)));
        }
    }
}
