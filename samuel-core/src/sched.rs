//! The next task of a lane while several work on one plan: the module `sched` of the crate `samuel-state`.
//!
//! ```
//! use samuel_core::model::{Plan, Task, TaskId};
//! use samuel_core::sched::{Claimant, Overlap, choose};
//!
//! let task = |id: &str| Task::new(TaskId::new(id), "t");
//! let plan = Plan { tasks: vec![task("1"), task("2")], ..Plan::default() };
//! let first = choose(&plan, &Claimant { lane: 0, jobs: 2, ..Claimant::default() }, Overlap::Wait);
//! let second = choose(&plan, &Claimant { lane: 1, jobs: 2, ..Claimant::default() }, Overlap::Wait);
//! assert_eq!((first.tasks[0].as_str(), second.tasks[0].as_str()), ("1", "2"));
//! ```

pub use samuel_state::sched::{
    Cap, ClaimChoice, Claimant, LaneStep, LeftOut, Overlap, SharedBooks, SharedCaps, WhyLeftOut, choose,
    overlapping, step,
};
