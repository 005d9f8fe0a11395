//! The merge queue, as a worker drives it that has the role.

use std::num::{NonZeroU32, NonZeroUsize};

use super::FleetEffect;
use crate::{
    merge::{ClaimRefusal, MergeEffect, MergeInput, MergeMachine, MergeSetup, Queue},
    model::Plan,
    state::Mutation,
};

/// A machine of the merge queue, and what it waits for.
#[derive(Clone, Debug)]
pub(super) struct Merging {
    role: u64,
    machine: MergeMachine,
    effect: MergeEffect,
    /// Whether the effect is being carried out.
    is_under_way: bool,
    /// The revision of the plan in which there was nothing to do.
    waits_since: Option<u64>,
}

impl Merging {
    /// Begins to merge, by a claim of the role.
    pub(super) fn new(role: u64, into: &str, batch: NonZeroUsize, max_attempts: Option<NonZeroU32>) -> Self {
        let into = into.to_owned();
        // Whoever had the role before may only have stalled, and move the branch yet.
        let setup = MergeSetup { role, into, batch, max_attempts, is_alone: false };
        let mut machine = MergeMachine::new(setup);
        let effect = machine.step(MergeInput::Wake);
        Self { role, machine, effect, is_under_way: false, waits_since: None }
    }

    /// Returns the token of the role.
    pub(super) fn role(&self) -> u64 {
        self.role
    }

    /// Returns why the machine has ended, where it has.
    pub(super) fn end(&self) -> Option<&str> {
        match &self.effect {
            MergeEffect::End { reason } => Some(reason),
            _ => None,
        }
    }

    /// Says whether nothing is begun, so that somebody else can go on from what the plan has.
    pub(super) fn rests(&self) -> bool {
        matches!(self.effect, MergeEffect::Look | MergeEffect::Wait)
    }

    /// Goes on as far as the plan tells, and says what is to be done beside it.
    pub(super) fn advance(&mut self, plan: &Plan, effects: &mut Vec<FleetEffect>) {
        loop {
            match &self.effect {
                MergeEffect::Look => self.step(MergeInput::Queue(Queue::of(plan))),
                MergeEffect::Wait if self.waits_since.is_some_and(|since| since != plan.revision) => {
                    self.step(MergeInput::Wake);
                }
                MergeEffect::Wait => {
                    self.waits_since = Some(plan.revision);
                    return;
                }
                MergeEffect::Change(_) | MergeEffect::End { .. } => return,
                effect if !self.is_under_way => {
                    effects.push(FleetEffect::Merge { role: self.role, effect: effect.clone() });
                    self.is_under_way = true;
                    return;
                }
                _ => return,
            }
        }
    }

    /// Returns the change of the plan that is to be made.
    pub(super) fn change(&mut self) -> Option<Mutation> {
        match &self.effect {
            MergeEffect::Change(change) if !self.is_under_way => {
                self.is_under_way = true;
                Some(change.clone())
            }
            _ => None,
        }
    }

    /// Takes what came of that; nothing where nobody knows, so that the plan is asked.
    pub(super) fn changed(&mut self, changed: Option<Result<(), ClaimRefusal>>) {
        match changed {
            Some(changed) => self.step(MergeInput::Changed(changed)),
            None => {
                self.machine = self.machine.clone().resumed(self.role);
                self.step(MergeInput::Wake);
            }
        }
    }

    /// Takes what came of what was done beside the plan.
    pub(super) fn answered(&mut self, input: MergeInput) {
        if self.is_under_way && !matches!(self.effect, MergeEffect::Change(_)) {
            self.step(input);
        }
    }

    fn step(&mut self, input: MergeInput) {
        self.effect = self.machine.step(input);
        (self.is_under_way, self.waits_since) = (false, None);
    }
}
