//! What a person wants of work that waits to be merged.
//!
//! A [`QueueOrder`] becomes the change of the plan that has it ([`Mutation::of_queue`]), so a merge queue that is at
//! work heeds it as it heeds the plan, and the journal tells whose it was. Agents may not.

use super::{Mutation, StateError};
use samuel_model::{ClaimPhase, ClaimTarget, Plan, ReleaseReason, TaskId};

/// What a person wants of work that waits to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueOrder {
    /// That it waits until they let go of it.
    Hold {
        /// Why, for the history.
        reason: Option<String>,
    },
    /// That it lands: whoever held it lets go.
    Release,
    /// That it does not land: its task is pending again, and the work stays on its branch.
    Drop {
        /// Why, for the history and the next attempt.
        reason: Option<String>,
    },
}

impl Mutation {
    /// Makes the change that a person makes of a submission in the merge queue.
    ///
    /// # Errors
    /// Returns [`StateError::TaskNotFound`] for a task that is not in the plan, [`StateError::NotInQueue`] for one
    /// that was not submitted, and [`StateError::Landing`] for one that is being landed.
    pub fn of_queue(plan: &Plan, id: &TaskId, order: QueueOrder) -> Result<Self, StateError> {
        let of = ClaimTarget::Task(id.clone());
        if plan.task(id).is_none() {
            return Err(StateError::no_task(plan, id));
        }
        let token = match plan.live_claim(id).filter(|claim| claim.worker.is_some()) {
            Some(claim) if claim.is_landing() => return Err(StateError::Landing { id: id.clone() }),
            Some(claim) if claim.phase != ClaimPhase::Working => claim.token,
            _ => return Err(StateError::NotInQueue { id: id.clone() }),
        };
        let task = id.clone();
        Ok(match order {
            QueueOrder::Hold { reason } => Self::Hold { task, token, reason },
            QueueOrder::Release => Self::Unhold { task, token },
            QueueOrder::Drop { reason } => {
                let reason = ReleaseReason::Asked { reason };
                Self::Release { task: of, token, reason, kept: None }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use jiff::Timestamp;

    use super::*;
    use crate::{LandingClaim, apply};
    use samuel_model::{Coded as _, Role, Status, Task};

    const COMMIT: &str = "1111111111111111111111111111111111111111";

    fn change(plan: &mut Plan, mutation: &Mutation) -> u64 {
        apply(plan, mutation, Timestamp::UNIX_EPOCH).unwrap();
        plan.revision += 1;
        plan.revision
    }

    /// A plan of two tasks: one is submitted, the other one is worked on.
    fn plan() -> (Plan, u64) {
        let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        let mut plan = Plan { tasks, ..Plan::default() };
        let mut claim = |id: &str| {
            let task = TaskId::new(id).into();
            change(&mut plan, &Mutation::Claim { task, worker: format!("r/lane-{id}") })
        };
        let (token, _) = (claim("1"), claim("2"));
        let submit = Mutation::Submit {
            task: TaskId::new("1"),
            token,
            branch: "b".to_owned(),
            commit: COMMIT.to_owned(),
            base: COMMIT.to_owned(),
            tree: None,
            iteration: None,
        };
        change(&mut plan, &submit);
        (plan, token)
    }

    fn phase(plan: &Plan) -> Option<ClaimPhase> {
        plan.live_claim(&TaskId::new("1")).map(|claim| claim.phase)
    }

    #[test]
    fn what_is_held_is_submitted_again_once_somebody_lets_go_of_it() {
        let (mut plan, _) = plan();
        let id = TaskId::new("1");
        let hold = Mutation::of_queue(&plan, &id, QueueOrder::Hold { reason: None }).unwrap();
        change(&mut plan, &hold);
        assert_eq!(phase(&plan), Some(ClaimPhase::Held));
        let again = apply(&mut plan, &hold, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(again, crate::TaskChange::Unchanged);
        let release = Mutation::of_queue(&plan, &id, QueueOrder::Release).unwrap();
        change(&mut plan, &release);
        assert_eq!(phase(&plan), Some(ClaimPhase::Submitted));
    }

    #[test]
    fn what_is_dropped_is_pending_and_keeps_its_branch() {
        let (mut plan, _) = plan();
        let id = TaskId::new("1");
        let drop = QueueOrder::Drop { reason: Some("not like this".to_owned()) };
        let drop = Mutation::of_queue(&plan, &id, drop).unwrap();
        change(&mut plan, &drop);
        assert_eq!(plan.task(&id).unwrap().status, Status::Pending);
        let kept = plan.claim(&id.into()).unwrap();
        assert_eq!((kept.branch.as_deref(), kept.why.as_deref()), (Some("b"), Some("not like this")));
    }

    #[test]
    fn what_was_not_submitted_or_is_being_landed_is_not_in_the_queue() {
        let (mut plan, token) = plan();
        let code = |plan: &Plan, id: &str, order: QueueOrder| {
            Mutation::of_queue(plan, &TaskId::new(id), order).unwrap_err().code().name
        };
        assert_eq!(code(&plan, "2", QueueOrder::Release), "E_CLAIM_VOID");
        assert_eq!(code(&plan, "9", QueueOrder::Release), "E_TASK_NOT_FOUND");
        let role = change(&mut plan, &Mutation::Claim { task: Role::Merge.into(), worker: "q".to_owned() });
        let landed = COMMIT.replace('1', "2");
        let commit = COMMIT.to_owned();
        let claims = vec![LandingClaim { task: TaskId::new("1"), token, commit, landed: landed.clone() }];
        let (into, old) = ("main".to_owned(), COMMIT.to_owned());
        change(&mut plan, &Mutation::Landing { role, into, old, new: landed, claims });
        assert_eq!(code(&plan, "1", QueueOrder::Hold { reason: None }), "E_TASK_LANDING");
        let hold = Mutation::Hold { task: TaskId::new("1"), token, reason: None };
        let refused = apply(&mut plan, &hold, Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(refused.code().name, "E_TASK_LANDING");
    }
}
