//! The lanes of a worker: what each has under way.

use super::{AgentWork, FleetEffect, HeldTask, Rule};
use crate::model::{ClaimPhase, Plan};

/// What a lane has under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FleetLane {
    /// Nothing.
    Idle,
    /// A task whose agent is to be started.
    Claimed(HeldTask),
    /// An agent works.
    Working(HeldTask),
    /// The agent is being ended.
    Stopping(HeldTask),
    /// Work that is to be brought to where it can be fetched.
    Made { work: HeldTask, made: AgentWork },
    /// It is on its way.
    Pushing { work: HeldTask, made: AgentWork },
    /// It is there, and can be handed in.
    Pushed { work: HeldTask, made: AgentWork },
    /// There is none, and the task is to be given back.
    Failed { work: HeldTask, reason: String },
}

impl FleetLane {
    fn work(&self) -> Option<&HeldTask> {
        match self {
            Self::Idle => None,
            Self::Claimed(work)
            | Self::Working(work)
            | Self::Stopping(work)
            | Self::Made { work, .. }
            | Self::Pushing { work, .. }
            | Self::Pushed { work, .. }
            | Self::Failed { work, .. } => Some(work),
        }
    }
}

/// All lanes of a worker.
#[derive(Clone, Debug)]
pub(super) struct FleetLanes(Vec<FleetLane>);

impl FleetLanes {
    pub(super) fn new(lanes: usize) -> Self {
        Self(vec![FleetLane::Idle; lanes])
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &FleetLane> {
        self.0.iter()
    }

    pub(super) fn set(&mut self, lane: usize, state: FleetLane) {
        if let Some(lane) = self.0.get_mut(lane) {
            *lane = state;
        }
    }

    /// Says whether one of them works for a claim.
    pub(super) fn has(&self, token: u64) -> bool {
        self.0.iter().filter_map(FleetLane::work).any(|work| work.token == token)
    }

    /// Lets go of work whose claim is not the present one any more, and ends its agents.
    pub(super) fn stop_void(&mut self, plan: &Plan, effects: &mut Vec<FleetEffect>) {
        for (lane, state) in self.0.iter_mut().enumerate() {
            let Some(work) = state.work().cloned() else { continue };
            let now = plan.live_claim(&work.task);
            let is_current =
                now.is_some_and(|claim| claim.token == work.token && claim.phase == ClaimPhase::Working);
            // A plan that was read before the claim was made says nothing of it.
            if is_current || plan.revision < work.token {
                continue;
            }
            *state = match state {
                FleetLane::Working(_) => {
                    effects.push(FleetEffect::Stop { lane, work: work.clone() });
                    FleetLane::Stopping(work)
                }
                FleetLane::Stopping(_) => continue,
                // What was made stays where it is.
                _ => FleetLane::Idle,
            };
        }
    }

    /// Begins what a lane does next by itself: its agent, or bringing the work to where it can be fetched.
    pub(super) fn push_made(&mut self, effects: &mut Vec<FleetEffect>) {
        for (lane, state) in self.0.iter_mut().enumerate() {
            match state.clone() {
                FleetLane::Claimed(work) => {
                    effects.push(FleetEffect::Work { lane, work: work.clone() });
                    *state = FleetLane::Working(work);
                }
                FleetLane::Made { work, made } => {
                    effects.push(FleetEffect::Push { lane, work: work.clone(), made: made.clone() });
                    *state = match Rule::PushFirst.is_kept() {
                        true => FleetLane::Pushing { work, made },
                        false => FleetLane::Pushed { work, made },
                    };
                }
                _ => {}
            }
        }
    }

    pub(super) fn worked(&mut self, lane: usize, token: u64, made: Result<AgentWork, String>) {
        let Some(state) = self.of(lane, token) else { return };
        if let FleetLane::Working(work) = state.clone() {
            *state = match made {
                Ok(made) => FleetLane::Made { work, made },
                Err(reason) => FleetLane::Failed { work, reason },
            };
        }
    }

    pub(super) fn pushed(&mut self, lane: usize, token: u64, failed: Option<String>) {
        let Some(state) = self.of(lane, token) else { return };
        if let FleetLane::Pushing { work, made } = state.clone() {
            *state = match failed {
                None => FleetLane::Pushed { work, made },
                Some(reason) => FleetLane::Failed { work, reason },
            };
        }
    }

    pub(super) fn stopped(&mut self, lane: usize, token: u64) {
        let Some(state) = self.of(lane, token) else { return };
        if matches!(state, FleetLane::Stopping(_)) {
            *state = FleetLane::Idle;
        }
    }

    /// Returns a lane that works for a claim.
    fn of(&mut self, lane: usize, token: u64) -> Option<&mut FleetLane> {
        self.0.get_mut(lane).filter(|state| state.work().is_some_and(|work| work.token == token))
    }
}
