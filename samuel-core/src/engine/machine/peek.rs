//! What a machine would do next, for whoever only looks.

use super::{Effect, EffectResult, Input, Machine};
use crate::{
    model::{Plan, payload::TaskBrief},
    state::{self, Mutation},
};

impl Machine {
    /// Returns the text that waits for the next prompt, one for a task or none,
    /// framed as the agent would get it.
    pub fn pending_text(&self, task: Option<&TaskBrief>) -> String {
        self.waiting_text(task, &self.pending)
    }

    /// Returns how many iterations the run has made.
    pub fn iterations_made(&self) -> u32 {
        self.counters.iterations
    }

    /// Takes the first input and makes the changes that precede the first
    /// iteration to a plan that is not stored.
    pub(in crate::engine) fn settle(&mut self, first: Input, plan: &mut Plan, now: jiff::Timestamp) {
        let mut input = first;
        loop {
            let change = self.step(input).into_iter().find_map(|(id, effect)| match effect {
                Effect::Mutate(mutation) => Some((id, mutation)),
                _ => None,
            });
            let Some((id, mutation)) = change else { return };
            preview(plan, &mutation, now);
            input = Input::Done(id, EffectResult::Done);
        }
    }
}

fn preview(plan: &mut Plan, mutation: &Mutation, now: jiff::Timestamp) {
    // A change that is refused is left out by the driver, too.
    let _ = state::apply(plan, mutation, now);
}
