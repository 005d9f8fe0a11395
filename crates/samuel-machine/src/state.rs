//! Where a run is, with what is known there and nowhere else.
//!
//! A state waits for one main effect, is at rest, or waits for the side. What lasts
//! from one state to the next is in [`Core`](super::Core).

use samuel_model::payload::Turn;
use serde::{Deserialize, Serialize};

use super::{AgentEnd, Moment, WorkLeft, iteration::Iteration};
use crate::event::IterationFailure;

/// Where a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Nothing has happened yet.
    #[default]
    New,
    SessionStart,
    BeforeLoop,
    /// The plan is loaded, to see whether there is anything to pause for.
    Peek,
    Sleep,
    /// What is done is handed in before a lane holds.
    HandIn,
    /// Somebody asked to hold.
    Paused,
    Load,
    BeforeIteration(Proposed),
    Gate(Proposed),
    Iteration(Box<Iteration>, Phase),
    /// Completions are checked that no iteration had checked.
    Check,
    /// The plan is changed, one mutation after the other.
    Mutate(Then),
    SessionStop,
    /// The agent has an extra turn outside of iterations.
    Closing(Closing, AgentCall),
    /// The plan is loaded, to see whether a last turn undid what the run was
    /// about to say.
    LookAgain(Closing),
    AfterLoop,
    SessionEnd,
    Ended,
}

/// An iteration that is not counted yet, since the gate may say that there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Proposed {
    pub(super) iteration: Box<Iteration>,
    /// What the plan leaves to do.
    pub(super) loaded: Box<WorkLeft>,
}

/// How far an iteration is that began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    StartTask,
    /// The work tree is looked at, to see later whether looking for tasks changed it.
    TreeBefore,
    PromptSubmit,
    Snapshot,
    Progress,
    Task,
    Extra,
    Agent(AgentCall),
    TreeAfter,
    Quality,
    AfterIteration,
    IterationError,
    Fingerprint,
}

/// What follows when the plan was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    /// Go on from an interruption, once the iteration is closed that it cut off.
    CloseInterrupted(Box<Iteration>),
    StartSession,
    BeginIteration,
    AfterIteration(Box<Iteration>),
    AfterCheck,
    CloseIteration(Box<Iteration>),
    /// The books are in order before the last points fire.
    EndLoop,
    Finish,
}

/// An extra turn outside of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Closing {
    /// A stop was blocked; the agent hears why, and then the stop is tried
    /// again.
    Blocked,
    /// Text is left and delivered.
    Delivery,
}

/// A call of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentCall {
    pub(super) at: CallPhase,
    /// What ends the turn, whatever the agent itself says.
    pub(super) failure: Option<IterationFailure>,
}

/// How far a call of the agent is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallPhase {
    BeforeInvoke,
    Invoke,
    /// The agent is done, in this way; the side is not.
    Drain(Box<AgentEnd>),
    AfterInvoke,
}

/// Whose a turn of the agent is.
pub(super) enum Owner {
    Iteration(Box<Iteration>),
    Closing(Closing),
}

impl Owner {
    /// Returns the state in which the owner waits for a call.
    pub(super) fn calls(self, at: CallPhase, failure: Option<IterationFailure>) -> State {
        let call = AgentCall { at, failure };
        match self {
            Self::Iteration(iteration) => State::Iteration(iteration, Phase::Agent(call)),
            Self::Closing(closing) => State::Closing(closing, call),
        }
    }

    pub(super) fn iteration(&mut self) -> Option<&mut Iteration> {
        match self {
            Self::Iteration(iteration) => Some(iteration),
            Self::Closing(_) => None,
        }
    }

    pub(super) fn turn(&self) -> Turn {
        match self {
            Self::Iteration(iteration) => iteration.turn,
            Self::Closing(_) => Turn::Final,
        }
    }
}

impl State {
    /// Returns the iteration under way.
    pub(super) fn iteration(&self) -> Option<&Iteration> {
        match self {
            Self::BeforeIteration(proposed) | Self::Gate(proposed) => Some(&proposed.iteration),
            Self::Iteration(iteration, _)
            | Self::Mutate(
                Then::CloseInterrupted(iteration)
                | Then::AfterIteration(iteration)
                | Then::CloseIteration(iteration),
            ) => Some(iteration),
            _ => None,
        }
    }

    pub(super) fn iteration_mut(&mut self) -> Option<&mut Iteration> {
        match self {
            Self::BeforeIteration(proposed) | Self::Gate(proposed) => Some(&mut proposed.iteration),
            Self::Iteration(iteration, _)
            | Self::Mutate(
                Then::CloseInterrupted(iteration)
                | Then::AfterIteration(iteration)
                | Then::CloseIteration(iteration),
            ) => Some(iteration),
            _ => None,
        }
    }

    /// Returns the call of the agent that is under way.
    pub(super) fn call(&self) -> Option<&AgentCall> {
        match self {
            Self::Iteration(_, Phase::Agent(call)) | Self::Closing(_, call) => Some(call),
            _ => None,
        }
    }

    pub(super) fn call_mut(&mut self) -> Option<&mut AgentCall> {
        match self {
            Self::Iteration(_, Phase::Agent(call)) | Self::Closing(_, call) => Some(call),
            _ => None,
        }
    }

    /// Takes a call of the agent that is under way out of the state.
    pub(super) fn into_call(self) -> Result<(Owner, AgentCall), Self> {
        match self {
            Self::Iteration(iteration, Phase::Agent(call)) => Ok((Owner::Iteration(iteration), call)),
            Self::Closing(closing, call) => Ok((Owner::Closing(closing), call)),
            state => Err(state),
        }
    }

    /// Says whether the agent has ended and what happened beside it is still looked at.
    pub(super) fn is_draining(&self) -> bool {
        self.call().is_some_and(|call| matches!(call.at, CallPhase::Drain(_)))
    }

    /// Says whether the agent is at work.
    pub(super) fn is_invoking(&self) -> bool {
        self.call().is_some_and(|call| call.at == CallPhase::Invoke)
    }

    /// Returns the turn under way.
    pub(super) fn turn(&self) -> Turn {
        match self {
            Self::Closing(..) | Self::LookAgain(_) => Turn::Final,
            _ => self.iteration().map_or(Turn::Main, |iteration| iteration.turn),
        }
    }

    /// Returns when something happens that happens now.
    pub(super) fn moment(&self) -> Moment {
        match self {
            Self::Closing(..) | Self::LookAgain(_) => Moment::UnderWay,
            _ if self.iteration().is_some() => Moment::UnderWay,
            _ => Moment::Between,
        }
    }

    /// Says whether the state can be left before its time. The plan is changed
    /// whole, and the last points fire whatever happens.
    pub(super) fn gives_way(&self) -> bool {
        !matches!(self, Self::Mutate(_) | Self::AfterLoop | Self::SessionEnd)
    }
}
