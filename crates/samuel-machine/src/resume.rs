//! How a run goes on from a saved state.

use std::collections::BTreeMap;

use samuel_model::{FailureClass, TaskId, Usage, payload::Actor};
use samuel_state::{CUT_OFF, Mutation, ProgressKind};

use super::{
    BEFORE_CHECK, Core, Machine, Moment, State, Then, command::Requests, is_provisional,
    iteration::Iteration, plan_changes::SKIPPED_BY_EDIT, side::Side,
};
use crate::event::IterationFailure;

impl Machine {
    /// Takes over what other lanes of the run did before it was interrupted: what they consumed, which the plan has,
    /// what each of their agents consumed, how many of their iterations failed and how many of these were cut off, how
    /// many failed with each task in whichever lane, and the tasks that are completed since their work has landed or a
    /// person said so.
    pub fn take_over(
        &mut self,
        usage: Usage,
        agents: &BTreeMap<String, Usage>,
        [failed, cut_off]: [u32; 2],
        attempts: &BTreeMap<TaskId, u32>,
        completed: Vec<TaskId>,
    ) {
        let core = &mut self.core;
        core.counters.usage += usage;
        core.counters.failed = core.counters.failed.saturating_add(failed);
        core.counters.interrupted = core.counters.interrupted.saturating_add(cut_off);
        core.counters.completed = completed;
        for (agent, usage) in agents {
            core.agents.count(agent, *usage);
        }
        for (task, attempts) in attempts {
            core.guards.tried_in_lanes(task.clone(), *attempts);
        }
    }

    /// Lets the next check decide on completions of which nothing vouches that one has
    /// passed, and on those that the iteration under way knew of.
    pub fn doubt(&mut self, completed: Vec<TaskId>) {
        let checks = &mut self.core.checks;
        checks.doubtful = completed;
        checks.doubtful.append(&mut checks.unchecked_outside);
        if let Some(iteration) = self.state.iteration_mut() {
            checks.doubtful.append(&mut iteration.checking);
            checks.doubtful.append(&mut iteration.unchecked);
        }
        let mut known = std::collections::HashSet::new();
        checks.doubtful.retain(|id| known.insert(id.clone()));
        checks.check_age.outdate();
    }
}

impl Core {
    /// Goes on from a saved state. What was in flight is lost: the iteration
    /// under way is closed as interrupted, and what was completed since it
    /// began is taken back, because nothing checked it. So is what an edit of
    /// prd.toon skipped, by the rule that holds during a run. Why the run was about
    /// to end is asked anew, since the caller wants it to go on; so is the last
    /// check, since nobody saw what happened in the meantime.
    pub(super) fn resume(
        &mut self,
        state: State,
        [completed, skipped]: [Vec<TaskId>; 2],
        committed: bool,
        began: bool,
    ) -> State {
        self.resumed = true;
        self.checks.check_age.outdate();
        self.announce();
        let moment = if began { Moment::UnderWay } else { state.moment() };
        self.forget_what_was_under_way();
        let mut doubtful: Vec<TaskId> = std::mem::take(&mut self.checks.unchecked_outside);
        for mutation in std::mem::take(&mut self.mutations) {
            match mutation {
                Mutation::TakeBack { ids, .. } => doubtful.extend(ids),
                // An agent was given the answer, and a mark changes only what is still completed.
                kept @ (Mutation::Heard { .. } | Mutation::Mark { .. }) => self.mutations.push_back(kept),
                _ => {}
            }
        }
        // Whoever completed something, the rule is the same for all.
        if is_provisional(moment, Actor::User) {
            doubtful.extend(completed);
        }
        self.take_back(doubtful, vec![BEFORE_CHECK.to_owned()]);
        if self.refuses_skip_by_edit(moment) {
            skipped.into_iter().for_each(|task| self.reopen(task, SKIPPED_BY_EDIT));
        }
        match state {
            State::BeforeIteration(proposed) | State::Gate(proposed) => {
                self.drop_iteration(proposed.iteration);
            }
            State::Iteration(iteration, _)
            | State::Mutate(
                Then::AfterIteration(iteration)
                | Then::CloseIteration(iteration)
                | Then::CloseInterrupted(iteration),
            ) => return self.close_interrupted(iteration, committed),
            _ => {}
        }
        self.mutate(Then::StartSession)
    }

    fn forget_what_was_under_way(&mut self) {
        // Nobody knows whether the agent of the last turn got it.
        let delivering = std::mem::take(&mut self.texts.delivering);
        self.put_back(delivering);
        self.waiting = None;
        self.side = Side::default();
        self.requests = Requests::default();
        self.ending = None;
        self.counters.stop_blocks = 0;
        self.checks.end_checks = 0;
    }

    fn close_interrupted(&mut self, mut iteration: Box<Iteration>, committed: bool) -> State {
        if !iteration.settled {
            let message = "samuel ended in mid-iteration".to_owned();
            iteration.failure.get_or_insert(IterationFailure { class: FailureClass::Interrupted, message });
        }
        self.put_back(std::mem::take(&mut iteration.in_flight));
        self.log(ProgressKind::Error, iteration.task_id(), CUT_OFF);
        self.guard_task(&mut iteration, None);
        self.queue_commit(&mut iteration);
        if committed {
            // It must not count twice.
            self.mutations.retain(|mutation| !matches!(mutation, Mutation::CommitIteration { .. }));
        }
        self.mutate(Then::CloseInterrupted(iteration))
    }
}
