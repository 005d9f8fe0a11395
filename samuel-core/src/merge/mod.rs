//! The merge queue: what was submitted is merged, the result is checked, and what passes lands.
//!
//! [`MergeMachine`] decides, and does no I/O: [`step`](MergeMachine::step) takes the [`MergeInput`] that
//! came of its last [`MergeEffect`] and returns the next one, one at a time. Between two steps it is plain
//! data. What waits to be merged is in the plan alone, as [claims](crate::model::Claim) that are
//! submitted; the machine reads it anew before each batch ([`Queue::of`]) and keeps no second list of
//! it, so nothing has to be reconciled after a crash.
//!
//! # What it does
//!
//! Up to [`batch`](MergeSetup::batch) submissions, the critical ones first and then those that wait
//! longest, are merged one on the other on the head of the branch, and checked together.
//!
//! - One in conflict with the branch goes back with the files. One in conflict with another of its
//!   batch waits for the next one: what it is in conflict with may not land.
//! - If the checks fail they run once more, then the batch is halved until a single one is found that
//!   fails by itself, twice. That one goes back with the failures, and the others land.
//! - What passes is written down as [`Landing`](crate::state::Mutation::Landing), the branch is moved
//!   from the commit that the batch was built on and from no other, and then the tasks are completed.
//!   A tree that has passed is not checked again.
//! - Where something is in the way of the branch, what has passed waits as it is until the way is free.
//! - One whose attempts are used up is blocked by the change that gives it back.
//!
//! # What a crash leaves
//!
//! Whoever has the role `@merge` next finds in the plan that something was being landed, and asks
//! the branch: where the commit is among its ancestors it has landed, whatever came on top since;
//! where the branch is as before it is moved now; else it will never be, and the batch is built anew.
//! Whoever had the role before may not be dead, but stalled at the move of the branch, and move it in any
//! moment. So a landing that another one began is never given up while the branch is as before, and
//! whoever is told that the branch was not where it was to be moved from asks it again.
//!
//! [`MergeRepository`] merges and moves branches with git, without a work tree. Who runs checks and
//! changes the plan is the driver's.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use samuel_core::merge::{MergeEffect, MergeInput, MergeMachine, MergeSetup, Queue};
//!
//! let batch = NonZeroUsize::new(4).expect("it is not 0");
//! let setup = MergeSetup { role: 7, into: "main".to_owned(), batch, max_attempts: None, is_alone: false };
//! let mut machine = MergeMachine::new(setup);
//! assert_eq!(machine.step(MergeInput::Wake), MergeEffect::Look);
//! assert_eq!(machine.step(MergeInput::Queue(Queue::default())), MergeEffect::Wait, "nothing was submitted");
//! ```

mod at_once;
mod batch;
mod branch_merge;
mod branches;
mod commits;
mod effect;
mod inspection;
mod lost;
mod machine;
mod place;
mod repository;
mod strategy;
mod submission;
mod waiting;

#[cfg(test)]
mod tests;

pub(crate) use branch_merge::BranchMerge;
pub use branches::HasBranch;
pub use effect::{
    BranchStanding, Built, ClaimRefusal, Conflict, LandingWay, MergeEffect, MergeInput, MergedWork, Moved,
    RefusedSubmission,
};
pub(crate) use inspection::is_hash;
pub(crate) use lost::MissingCommits;
pub use machine::{MergeMachine, MergeSetup};
pub use place::Held;
pub use repository::{MergeRepository, RepositorySetup};
pub use strategy::{CLAIM_TRAILER, MergeStrategy, TASK_TRAILER};
pub use submission::{ClaimKey, Queue, Submission, UnsettledLanding};
