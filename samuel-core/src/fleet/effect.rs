//! What a worker wants done, and what came of it.

use crate::{
    merge::{ClaimRefusal, MergeEffect, MergeInput},
    model::TaskId,
    state::{Applied, LogError, Mutation, StateError},
};

/// What is to be done. Each is answered by the [`FleetInput`] that it names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FleetEffect {
    /// Tell everybody, also this worker, that it is there. Answered by nothing.
    Beat,
    /// Change the plan: [`FleetInput::Changed`]. There is one at a time.
    Change(Mutation),
    /// Have an agent work on a task: [`FleetInput::Worked`].
    Work {
        /// The lane, from 0.
        lane: usize,
        /// The task.
        work: HeldTask,
    },
    /// Bring a commit to where whoever merges can fetch it: [`FleetInput::Pushed`].
    Push {
        /// The lane.
        lane: usize,
        /// The task.
        work: HeldTask,
        /// The commit.
        made: AgentWork,
    },
    /// End the agent of a lane, whose claim is void, and keep what it did under a reference of its own:
    /// [`FleetInput::Stopped`].
    Stop {
        /// The lane.
        lane: usize,
        /// The task.
        work: HeldTask,
    },
    /// Do something of the merge queue, other than to look at the plan, change it or wait: [`FleetInput::Merged`].
    Merge {
        /// The token of the role that it is done for.
        role: u64,
        /// What.
        effect: MergeEffect,
    },
    /// Tell people that the merge queue ended and the role is given back: this worker takes it again after a lease at
    /// the earliest. Answered by nothing.
    MergeEnded {
        /// The token of the role.
        role: u64,
        /// Why, in one line.
        reason: String,
    },
}

/// What came of something.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetInput {
    /// A worker has beaten.
    Heard {
        /// Its name.
        worker: String,
    },
    /// The log could not be reached.
    OutOfTouch,
    /// What came of a change of the plan.
    Changed(PlanAnswer),
    /// The agent of a lane has ended.
    Worked {
        /// The lane.
        lane: usize,
        /// The token of the claim that it worked for.
        token: u64,
        /// What it made, or why that is nothing, in one line.
        made: Result<AgentWork, String>,
    },
    /// A commit was brought to where it can be fetched, or why it was not.
    Pushed {
        /// The lane.
        lane: usize,
        /// The token of its claim.
        token: u64,
        /// Nothing where it was; else why it was not, in one line.
        failed: Option<String>,
    },
    /// The agent of a lane was ended.
    Stopped {
        /// The lane.
        lane: usize,
        /// The token of the claim that it worked for.
        token: u64,
    },
    /// What came of something of the merge queue.
    Merged {
        /// The token of the role that it was done for.
        role: u64,
        /// What came of it.
        input: MergeInput,
    },
    /// Begin nothing any more, and end what is under way.
    Drain,
}

/// A task that a lane has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTask {
    /// The task.
    pub task: TaskId,
    /// The token of its claim.
    pub token: u64,
}

/// Work that an agent has committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentWork {
    /// The branch with it.
    pub branch: String,
    /// The commit at its head.
    pub commit: String,
    /// The commit that it began at.
    pub base: String,
    /// The tree that has passed the checks, where one has.
    pub tree: Option<String>,
}

/// What the log said to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    /// It took effect, or the plan was so already.
    Made {
        /// The revision that the plan has since; of a claim, its token.
        revision: u64,
    },
    /// The plan was not as the change takes.
    Refused(PlanRefusal),
    /// Nobody knows: its record was not acknowledged within the patience of its writer.
    Unknown,
}

/// Why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanRefusal {
    /// What it is about is claimed otherwise, or not at all.
    Claim(ClaimRefusal),
    /// For another reason.
    Other,
}

impl PlanAnswer {
    /// Reads it of what a store has answered; nothing of an error that says nothing of the change.
    pub fn of(answer: &Result<Applied, StateError>) -> Option<Self> {
        let refused = match answer {
            Ok(applied) => return Some(Self::Made { revision: applied.revision }),
            Err(StateError::Log(error)) if is_final(error) => PlanRefusal::Other,
            Err(StateError::Log(_) | StateError::Io { .. }) => return None,
            Err(error) => ClaimRefusal::of(error).map_or(PlanRefusal::Other, PlanRefusal::Claim),
        };
        Some(Self::Refused(refused))
    }
}

/// Says whether a change did not happen and never will: its record is void, or none that a log takes.
fn is_final(error: &LogError) -> bool {
    matches!(error, LogError::Void { .. } | LogError::TooLarge { .. } | LogError::Name { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::VoidReason;

    #[test]
    fn what_a_log_refused_for_good_did_not_happen_and_of_the_rest_nobody_knows() {
        let of = |error: LogError| PlanAnswer::of(&Err(StateError::log(error)));
        let (plan, reason) = ("parser".to_owned(), "it is busy".to_owned());
        let refused = Some(PlanAnswer::Refused(PlanRefusal::Other));
        assert_eq!(of(LogError::Void { number: 3, why: VoidReason::ImportPart }), refused);
        assert_eq!(of(LogError::TooLarge { what: "submit".to_owned(), bytes: 2, max: 1 }), refused);
        assert_eq!(of(LogError::Name { what: "writer", name: String::new() }), refused);
        assert_eq!(of(LogError::Unreachable { place: plan.clone(), reason: reason.clone() }), None);
        assert_eq!(of(LogError::Unacknowledged { plan, waited: std::time::Duration::ZERO, reason }), None);
    }
}
