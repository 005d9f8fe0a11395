//! A worker of a fleet, as a machine without I/O.
//!
//! Several machines work on one plan that is kept in a log ([`LogStore`](crate::state::LogStore)). On each a
//! [`FleetWorker`] says what is next: it claims tasks for its lanes, hands in what their agents made, merges where it
//! has the role, gives back what it claimed and nothing works on, and what others hold that are gone. It is plain
//! data with a monotonic clock that is passed in, so a campaign plays thousands of schedules of it in a minute.
//!
//! What keeps work from being lost or landed twice:
//!
//! - Each change of a claim names its token, and is void once that is not the present one.
//! - A commit is where whoever merges can fetch it before the plan says that it is done.
//! - [`Ears`] judge who is gone: by what one observer hears, and never by somebody's clock. A wrong judgement costs a
//!   turn of an agent, and no result.
//! - A landing is written down before the branch is moved by compare-and-set.
//!
//! Whoever carries out what it wants (starts agents, pushes, merges, changes the plan, sends beats) is a driver.
//!
//! ```
//! use std::{num::NonZeroUsize, time::Duration};
//! use samuel_core::{
//!     fleet::{FleetEffect, FleetInput, FleetSetup, FleetWorker, PlanAnswer},
//!     model::{Plan, Task, TaskId},
//!     sched::Overlap,
//!     state::Mutation,
//! };
//!
//! let plan = Plan { tasks: vec![Task::new(TaskId::new("1"), "Write the parser")], ..Plan::default() };
//! let setup = FleetSetup {
//!     worker: "left".to_owned(),
//!     lanes: 1,
//!     lease: Duration::from_secs(60),
//!     into: None,
//!     batch: NonZeroUsize::MIN,
//!     max_attempts: None,
//!     overlap: Overlap::Wait,
//! };
//! let mut worker = FleetWorker::new(setup, Duration::ZERO);
//! let effects = worker.next(Duration::ZERO, &plan);
//! assert_eq!(effects[0], FleetEffect::Beat);
//! assert!(matches!(&effects[1], FleetEffect::Change(Mutation::Claim { .. })));
//! worker.input(Duration::ZERO, FleetInput::Changed(PlanAnswer::Made { revision: 1 }));
//! assert!(matches!(worker.next(Duration::ZERO, &plan)[..], [FleetEffect::Work { lane: 0, .. }]));
//! ```

mod ears;
mod effect;
mod lane;
mod merging;
mod rule;
mod worker;

#[cfg(test)]
mod tests;

pub use ears::Ears;
pub use effect::{AgentWork, FleetEffect, FleetInput, HeldTask, PlanAnswer, PlanRefusal};
use rule::Rule;
pub use worker::{FleetSetup, FleetWorker};
