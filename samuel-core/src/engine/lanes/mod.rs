//! Several loops on one plan: lanes, and the queue that lands what they make.
//!
//! A [`Lane`] is a machine with its driver, as a single loop is, in a clone of its own. What makes
//! it a lane is around the machine, not in it:
//!
//! - `view` is the plan as the lane sees it: what its agent says is done is not completed, but
//!   submitted once the check has passed.
//! - `lane` answers the question what is next, and waits while others work on what it would need;
//!   `claiming` takes tasks, hands in what is done and gives back what is not, `around` sees to what the points do
//!   in the work tree.
//! - `discovering` has one lane at a time look for tasks.
//! - `queue` merges what was submitted and lands what passes; `queue_check` checks it and tells of that.
//! - `shared` is what they have in common: the caps, why the run ends, and what fires once; `begun` counts their iterations,
//!   and `kept` is what of all that a run has that goes on after a kill.
//! - `check` says whether a run can have lanes, `into` where its work lands, and `left_over` puts in order what a run
//!   left that was cut off; `open` makes all of it ready, and `parts` gives each lane what is its own.
//! - `queue_list` and `lane_list` say from outside of a run what waits and what lanes left, and `land` lands without a
//!   loop; `merge_branch` merges the work of a run into what is checked out.
//! - `notes` keeps the books of lanes apart from those of the run.
//!
//! The first lane leads: the points of the session and of the loop fire there, the run's checkpoints are
//! its own, and its report is the run's. It fires the last points once all others have ended and
//! the queue is empty. Which task is claimed is [`sched`](crate::sched)'s to choose, and how work is merged
//! [`merge`](crate::merge)'s.

mod around;
mod begun;
mod check;
mod claiming;
mod discovering;
mod error;
mod into;
mod kept;
mod land;
mod lane;
mod lane_list;
mod left_over;
mod lost;
mod merge_branch;
mod notes;
mod open;
mod parts;
mod queue;
mod queue_check;
mod queue_list;
mod shared;
mod user_texts;
mod view;
mod watchers;

pub use error::LanesError;
pub(super) use kept::{CutOff, KeptBooks, together};
pub use land::{LandReport, LandedWork, ReturnedWork};
pub(super) use lane::Lane;
pub(super) use lane_list::Looker;
pub use lane_list::{CleanedLanes, KeptOfLanes, LaneBranch, LaneList, LaneStanding, LaneWorkTree};
pub(super) use lost::{keep_lost, merged_onto};
pub use merge_branch::MergeReport;
pub(super) use open::OpenedLanes;
pub(super) use parts::LaneParts;
pub use queue_list::{QueueEntry, QueueList};
