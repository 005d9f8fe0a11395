//! Where submissions are in the queue, as the machine tells whoever watches.

use serde::{Deserialize, Serialize};

use super::{
    ClaimKey, MergeMachine,
    batch::{Batch, Group},
    machine::State,
};
use crate::{
    model::{QueuePlace, TaskId},
    state::Mutation,
};

/// A landing that something is in the way of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What, in one line, with the files where it is files.
    pub reason: String,
}

impl MergeMachine {
    /// Returns what is in the way of a landing, while something is.
    pub fn held(&self) -> Option<&Held> {
        match &self.state {
            State::Waiting(held) => held.as_ref(),
            State::Settling { held, .. } => held.as_ref(),
            State::Trying(_, held) => Some(held),
            State::Looking => self.waits.as_ref().map(|(_, held)| held),
            _ => None,
        }
    }

    /// Returns the tasks whose work is checked together, in the order in which it was merged; none while nothing is.
    pub fn checking(&self) -> Vec<TaskId> {
        let State::Checking(batch) = &self.state else { return Vec::new() };
        batch.merged.iter().map(|merged| merged.key.task.clone()).collect()
    }

    /// Says where a submission is in the queue.
    pub fn place(&self, key: &ClaimKey) -> QueuePlace {
        let in_group = |group: &Group| group.keys.contains(key);
        let in_batch = |batch: &Batch| batch.merged.iter().any(|merged| merged.key == *key);
        let is_suspect = self.groups.iter().any(|group| group.is_part && in_group(group));
        match &self.state {
            State::Merging { group, .. } if in_group(group) => QueuePlace::Merging,
            State::Checking(batch) if in_batch(batch) => QueuePlace::Checking,
            State::Announcing(batch) if in_batch(batch) => QueuePlace::Landing,
            State::Asking { own: Some(batch), .. } if in_batch(batch) => QueuePlace::Landing,
            State::Moving { own: Some(batch), .. } if in_batch(batch) => QueuePlace::Landing,
            State::Trying(batch, _) if in_batch(batch) => QueuePlace::Held,
            State::Returning { then: Some(batch), .. } if in_batch(batch) => QueuePlace::Merging,
            State::Returning { left, .. } if left.iter().any(|change| is_about(change, &key.task)) => {
                QueuePlace::Returning
            }
            State::Waiting(Some(_)) if self.groups.iter().any(in_group) => QueuePlace::Held,
            _ if self.waits.as_ref().is_some_and(|(batch, _)| in_batch(batch)) => QueuePlace::Held,
            _ if is_suspect => QueuePlace::Suspect,
            _ => QueuePlace::Waits,
        }
    }
}

fn is_about(change: &Mutation, task: &TaskId) -> bool {
    change.tasks().is_some_and(|tasks| tasks.contains(&task))
}
