//! A plan that several machines share, as a log of its changes.
//!
//! Each change is a [`LogRecord`] that its writer appends to one totally ordered [`PlanLog`], whatever
//! others append at the same time. Whether it takes effect is decided by its place: a [`LogFold`]
//! applies one record after the other by the same pure [`apply`](super::apply()) as every store, so all
//! who read the log come to the same plan. [`LogStore`] is a [`PlanStore`](super::PlanStore) over it.
//!
//! A log may lose an acknowledgement and may store a record twice. A writer has one record outstanding and
//! numbers its records, so it appends the same one again until it has seen it, and the first copy counts.
//! A log may also lose what it has acknowledged, such as a server whose store was put back. Each store keeps
//! what it has folded in a [`LogMirror`], finds out, and stops; [`recover`] brings the records back.
//!
//! ```
//! use std::sync::Arc;
//! use samuel_model::{
//!     Plan,
//!     clock::{Clock as _, SystemClock},
//! };
//! use samuel_state::{
//!     Actor, Existing, LogMirror, LogSetup, LogStore, Mutation, NewTask, PlanStore, testing::MemoryLog,
//! };
//!
//! let log = MemoryLog::new();
//! let open = |worker: &str| {
//!     let clock = SystemClock::new();
//!     let setup = LogSetup::new("parser", worker, clock.now());
//!     LogStore::open(log.client(), setup, LogMirror::in_memory(), Arc::new(clock))
//! };
//! let (one, other) = (open("one")?, open("other")?);
//! one.import(Plan::default(), Actor::User, Existing::Refuse)?;
//! other.mutate(Mutation::Enqueue { task: NewTask::new("Write the parser") }, Actor::User)?;
//! assert_eq!(one.load()?.plan.tasks.len(), 1);
//! # Ok::<(), samuel_state::StateError>(())
//! ```
//!
//! Where the log is, and how a worker over it decides, is the business of others
//! (`samuel_core::fleet`).

mod attempts;
mod contact;
mod error;
mod fold;
mod import;
mod journal;
mod mirror;
mod mirror_lock;
mod plan_log;
mod record;
mod recover;
mod replica;
mod store;
#[cfg(test)]
mod tests;
mod void;
mod writers;

pub use error::LogError;
#[cfg(any(test, feature = "testing"))]
pub use fold::FoldRule;
pub use fold::{LogFold, LogOutcome, ReadRecord};
pub use mirror::{LogMirror, MirroredRecord};
pub use plan_log::PlanLog;
pub use record::{ImportPart, LOG_FORMAT, LogContent, LogRecord, MAX_LOG_RECORD_BYTES};
pub use recover::{LogRecovery, recover};
pub use store::{LogSetup, LogStore};
pub use void::{VoidReason, VoidRecord};
