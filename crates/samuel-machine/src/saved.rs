//! How a saved machine is read: in its form of today, and in the one before.
//!
//! In that one a machine was flat: a phase, and beside it an iteration or a last turn
//! that might be there. A run goes on from either in the same way, since what was under
//! way is lost.

use serde::Deserialize;

use super::{Closing, Core, Machine, Proposed, State, Then, WorkLeft, iteration::Iteration};

/// A machine as it was saved.
#[derive(Deserialize)]
pub(super) struct Form {
    #[serde(flatten)]
    core: Core,
    state: Option<State>,
    // What the form before has in place of a state.
    phase: Option<serde_json::Value>,
    iteration: Option<FlatIteration>,
    closing: Option<Closing>,
}

#[derive(Deserialize)]
struct FlatIteration {
    #[serde(flatten)]
    iteration: Box<Iteration>,
    offer: Option<Box<WorkLeft>>,
}

impl From<Form> for Machine {
    fn from(form: Form) -> Self {
        let Form { core, state, phase, iteration, closing } = form;
        let is_ended = phase.is_some_and(|phase| phase == "ended");
        let flat = || match (iteration, closing) {
            _ if is_ended => State::Ended,
            (Some(FlatIteration { iteration, offer: Some(loaded) }), _)
                if iteration.number > core.counters.iterations =>
            {
                State::Gate(Proposed { iteration, loaded })
            }
            (Some(begun), _) => State::Mutate(Then::CloseInterrupted(begun.iteration)),
            (None, Some(closing)) => State::LookAgain(closing),
            (None, None) => State::Mutate(Then::StartSession),
        };
        let state = state.unwrap_or_else(flat);
        Self { core, state }
    }
}
