//! What a lane works on next, while several work on one plan.
//!
//! [`choose`] is one pure function of the plan and of who asks: it returns the tasks that the lane may
//! [claim](crate::Mutation::Claim), in the order in which it is to try, and says of each other
//! one that is ready why it is left out. Whether a claim takes effect is the plan's to decide; a lane
//! that comes too late tries the next one. [`step`] says whether the lane claims one of them, looks for
//! tasks, waits or ends. [`SharedBooks`] are what all lanes of a run have in common:
//! its caps, and what they have used of them.
//!
//! ```
//! use samuel_model::{Plan, Task, TaskId};
//! use samuel_state::sched::{Claimant, Overlap, choose};
//!
//! let task = |id: &str| Task::new(TaskId::new(id), "t");
//! let plan = Plan { tasks: vec![task("1"), task("2")], ..Plan::default() };
//! let first = choose(&plan, &Claimant { lane: 0, jobs: 2, ..Claimant::default() }, Overlap::Wait);
//! let second = choose(&plan, &Claimant { lane: 1, jobs: 2, ..Claimant::default() }, Overlap::Wait);
//! assert_eq!((first.tasks[0].as_str(), second.tasks[0].as_str()), ("1", "2"));
//! ```

mod books;
mod choice;
mod files;
mod step;

pub use books::{Cap, SharedBooks, SharedCaps};
pub use choice::{ClaimChoice, Claimant, LeftOut, Overlap, WhyLeftOut, choose, overlapping};
pub use step::{LaneStep, step};
