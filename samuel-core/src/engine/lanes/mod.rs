//! Several loops on one plan: lanes, and the queue that lands what they make.
//!
//! A [`Lane`] is a machine with its driver, as a single loop is, in a work tree of its own. What makes
//! it a lane is around the machine, not in it:
//!
//! - `view` is the plan as the lane sees it: what its agent says is done is not completed, but
//!   submitted once the check has passed.
//! - `lane` answers the question what is next, and waits while others work on what it would need;
//!   `claiming` takes tasks, hands in what is done and gives back what is not, `around` sees to what the points do
//!   in the work tree.
//! - `queue` merges what was submitted, checks the result and lands it.
//! - `shared` is what they have in common: the caps, why the run ends, and what fires once.
//! - `open` makes all of it ready, and puts in order what a run left that was cut off.
//! - `notes` keeps the books of lanes apart from those of the run.
//!
//! The first lane leads: the points of the session and of the loop fire there, the run's checkpoints are
//! its own, and its report is the run's. It fires the last points once all others have ended and
//! the queue is empty. Which task is claimed is [`sched`](crate::sched)'s to choose, and how work is merged
//! [`merge`](crate::merge)'s.

mod around;
mod claiming;
mod error;
mod lane;
mod notes;
mod open;
mod queue;
mod shared;
mod view;

pub use error::LanesError;
pub(super) use lane::Lane;
pub(super) use open::{LaneParts, OpenedLanes};
