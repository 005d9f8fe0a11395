//! How a run goes on from a saved state.

use super::{Ending, Machine, Side, Then};
use crate::{
    engine::event::Failure,
    model::{FailureClass, TaskId},
    state::{Mutation, ProgressKind},
};

impl Machine {
    /// Goes on from a saved state. What was in flight is lost: the iteration
    /// under way is closed as interrupted, and what it completed is taken
    /// back, because nothing checked it. Why the run was about to end is asked
    /// anew, since the caller wants it to go on.
    pub(super) fn resume(&mut self, completed: Vec<TaskId>, committed: bool) {
        self.resumed = true;
        self.check_is_old = true;
        self.announce();
        let was_closing = self.closing.is_some();
        self.forget_what_was_under_way();
        let mut doubtful: Vec<TaskId> = std::mem::take(&mut self.unchecked_outside);
        for mutation in std::mem::take(&mut self.mutations) {
            if let Mutation::TakeBack { ids, .. } = mutation {
                doubtful.extend(ids);
            }
        }
        if self.iteration.is_some() || was_closing {
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
