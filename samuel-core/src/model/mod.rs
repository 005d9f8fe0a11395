//! Types shared by every module: tasks, outcomes, usage and payload records.
//!
//! They are plain data without behaviour of their own beyond parsing and
//! ordering; who loads, changes or sends them lives elsewhere.

mod code;
mod hex;
mod outcome;
pub mod payload;
mod plan;
mod redact;
mod task;
mod usage;

pub use code::{Coded, ErrorCode, Location};
pub use outcome::{ExitReason, FailureClass, IterationOutcome};
pub use plan::{PLAN_VERSION, Plan, Progress, ProgressStatus, Project};
pub use redact::{redacted, without_credentials};
pub use task::{
    Complexity, InvalidTask, MAX_ID_CHARS, MAX_TITLE_CHARS, ParseWordError, Priority, Source, Status, Task,
    TaskId, commit_hash,
};
pub use usage::Usage;
pub(crate) use usage::add_cost;

pub(crate) use hex::hex;
pub(crate) use task::words;
