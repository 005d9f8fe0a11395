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
pub use outcome::{ExitReason, FailureClass};
pub use payload::{Complexity, IterationOutcome, Priority, Usage};
pub use plan::{PLAN_VERSION, Plan, Progress, ProgressStatus, Project};
pub use redact::{redacted, without_credentials};
pub use task::{
    InvalidTask, MAX_ID_CHARS, MAX_TITLE_CHARS, ParseWordError, Source, Status, Task, TaskId, commit_hash,
};
pub(crate) use usage::add_cost;

pub(crate) use hex::hex;
pub(crate) use task::words;
