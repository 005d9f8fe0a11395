//! What is next, and why.
//!
//! [`Work::of`] reads from a plan what it leaves to do, and [`next`] makes of that
//! what a run does: an iteration, the checks, or its end. Both are pure. A loop
//! asks them, a preview does as it is the loop without the agent, and where a
//! project stands is what the plan leaves. [`TaskList`] lists tasks with what
//! [`Readiness`] says of them, as a [`TaskTree`] where there are groups. What is known of who works on a plan,
//! [`WorkUnderWay`] has.
//!
//! ```
//! use std::num::NonZeroU32;
//! use samuel_model::{Plan, Scope, Task, TaskId, payload::Mode};
//! use samuel_state::plan::{Evidence, Next, Standing, Work, next};
//!
//! let tasks = vec![Task::new(TaskId::new("1"), "Write the parser")];
//! let work = Work::of(&Plan { tasks, ..Plan::default() }, &[], &Scope::All);
//! let begins = Standing::new(NonZeroU32::new(20), 3, Evidence::NoChecks);
//! let Next::Iteration { task } = next(&work, Mode::Implementation, &begins) else { unreachable!() };
//! assert_eq!(task.map(|task| task.title).as_deref(), Some("Write the parser"));
//! ```

mod choice;
mod discovery;
mod list;
mod long;
mod next;
mod remedy;
mod tree;
mod under_way;
mod work;

pub use choice::{Candidate, CandidateStanding, TaskChoice};
pub(crate) use discovery::MAX_EMPTY;
pub use discovery::{Discoveries, Pilot};
pub use list::{GroupState, ListForm, ListRow, TaskFilter, TaskList};
pub use long::LongPlan;
pub use next::{Evidence, Next, Standing, next};
pub use next::{MAX_REPEATS, UNCHECKED};
pub use remedy::WorkRemedy;
pub use tree::{TaskTree, TreeRow};
pub use under_way::{LoopAtWork, WorkUnderWay};
pub use work::{Readiness, Work};
