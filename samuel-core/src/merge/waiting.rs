//! A landing that something is in the way of, and how it is tried again.
//!
//! What was merged and checked is kept while it waits. Before it is announced once more, the branch is asked whether it
//! can be moved by now, which writes nothing: neither objects nor the journal grow while nothing changes.

use super::{
    LandingWay, MergeEffect, MergeMachine, MergedWork, Queue, batch::Batch, machine::State, place::Held,
};

impl MergeMachine {
    /// Waits with what has passed, where it is this machine's own, until nothing is in the way.
    pub(super) fn wait(&mut self, own: Option<Batch>, held: Held) -> MergeEffect {
        self.waits = own.map(|batch| (batch, held.clone()));
        self.to(State::Waiting(Some(held)), MergeEffect::Wait)
    }

    /// Asks whether what waits can land by now, where all of it is still in the queue; else it is built without what
    /// is gone.
    pub(super) fn try_again(&mut self, queue: &Queue) -> Option<MergeEffect> {
        let (batch, held) = self.waits.take()?;
        let is_there = |merged: &MergedWork| {
            queue.submissions.iter().any(|work| work.key == merged.key && work.commit == merged.commit)
        };
        if !batch.merged.iter().all(is_there) {
            self.groups.push(batch.group());
            return None;
        }
        let landing = batch.landing(&self.setup.into);
        Some(self.to(State::Trying(batch, held), MergeEffect::Try(landing)))
    }

    pub(super) fn tried(&mut self, batch: Batch, way: LandingWay) -> MergeEffect {
        match way {
            LandingWay::Free => self.announce(batch),
            LandingWay::Held { reason } => self.wait(Some(batch), Held { reason }),
            LandingWay::Stale => {
                self.groups.push(batch.group());
                self.look()
            }
        }
    }
}
