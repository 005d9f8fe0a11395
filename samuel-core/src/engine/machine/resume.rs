//! How a run goes on from a saved state.

use super::{Ending, Machine, Moment, Side, Then, is_provisional};
use crate::{
    engine::event::Failure,
    model::{FailureClass, TaskId, payload::Actor},
    state::{Mutation, ProgressKind},
};

impl Machine {
    /// Lets the next check decide on completions of which nothing vouches that one has
    /// passed, and on those that the iteration under way knew of.
    pub fn doubt(&mut self, completed: Vec<TaskId>) {
        self.doubtful = completed;
        self.doubtful.append(&mut self.unchecked_outside);
        if let Some(iteration) = &mut self.iteration {
            self.doubtful.append(&mut iteration.checking);
            self.doubtful.append(&mut iteration.unchecked);
        }
        let mut known = std::collections::HashSet::new();
        self.doubtful.retain(|id| known.insert(id.clone()));
        self.check_age.outdate();
    }

    /// Goes on from a saved state. What was in flight is lost: the iteration
    /// under way is closed as interrupted, and what was completed since it
    /// began is taken back, because nothing checked it. Why the run was about
    /// to end is asked anew, since the caller wants it to go on; so is the last
    /// check, since nobody saw what happened in the meantime.
    pub(super) fn resume(&mut self, completed: Vec<TaskId>, committed: bool, began: bool) {
        self.resumed = true;
        self.check_age.outdate();
        self.announce();
        let moment = if began { Moment::UnderWay } else { self.moment() };
        self.forget_what_was_under_way();
        let mut doubtful: Vec<TaskId> = std::mem::take(&mut self.unchecked_outside);
        for mutation in std::mem::take(&mut self.mutations) {
            if let Mutation::TakeBack { ids, .. } = mutation {
                doubtful.extend(ids);
            }
        }
        // Whoever completed something, the rule is the same for all.
        if is_provisional(moment, Actor::User) {
            doubtful.extend(completed);
        }
        self.take_back(doubtful, vec!["interrupted before a check".to_owned()]);
        self.interrupt_iteration(committed);
        self.mutate(Then::StartSession);
    }

    fn forget_what_was_under_way(&mut self) {
        self.waits_for = None;
        self.side = Side::default();
        self.wish = None;
        self.hold = false;
        self.closing = None;
        self.agent_end = None;
        self.turn_failure = None;
        self.broken_by = None;
        self.ending = None::<Ending>;
        self.counters.stop_blocks = 0;
        self.end_checks = 0;
    }

    fn interrupt_iteration(&mut self, committed: bool) {
        let Some(iteration) = &mut self.iteration else { return };
        let in_flight = std::mem::take(&mut iteration.in_flight);
        let (began, settled, task) =
            (iteration.number <= self.counters.iterations, iteration.settled, iteration.task_id());
        if !settled {
            let message = "samuel ended in mid-iteration".to_owned();
            iteration.failure.get_or_insert(Failure { class: FailureClass::Interrupted, message });
        }
        self.put_back(in_flight);
        if began {
            self.log(ProgressKind::Error, task, "interrupted: samuel ended in mid-iteration");
            self.queue_commit();
            if committed {
                // It must not count twice.
                self.mutations.retain(|mutation| !matches!(mutation, Mutation::CommitIteration { .. }));
            }
        } else {
            self.drop_iteration();
        }
    }
}
