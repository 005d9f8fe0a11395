//! What is next, and why: the module `plan` of the crate `samuel-state`.
//!
//! ```
//! use std::num::NonZeroU32;
//! use samuel_core::model::{Plan, Scope, Task, TaskId, payload::Mode};
//! use samuel_core::plan::{Evidence, Next, Standing, Work, next};
//!
//! let tasks = vec![Task::new(TaskId::new("1"), "Write the parser")];
//! let work = Work::of(&Plan { tasks, ..Plan::default() }, &[], &Scope::All);
//! let begins = Standing::new(NonZeroU32::new(20), 3, Evidence::NoChecks);
//! let Next::Iteration { task } = next(&work, Mode::Implementation, &begins) else { unreachable!() };
//! assert_eq!(task.map(|task| task.title).as_deref(), Some("Write the parser"));
//! ```

pub use samuel_state::plan::{
    Candidate, CandidateStanding, Discoveries, Evidence, GroupState, ListForm, ListRow, LongPlan, LoopAtWork,
    Next, Pilot, Readiness, Standing, TaskChoice, TaskFilter, TaskList, TaskTree, TreeRow, Work, WorkRemedy,
    WorkUnderWay, next,
};
