//! Types shared by every module: tasks, outcomes, usage and payload records.
//!
//! They are plain data, without behavior beyond parsing and ordering. Other
//! crates load, change and send them.
//!
//! ```
//! use samuel_model::{Plan, Priority, Task, TaskId};
//!
//! let mut plan = Plan::default();
//! plan.tasks.push(Task { priority: Priority::High, ..Task::new(TaskId::new("1.10"), "Write the parser") });
//! assert!(plan.task(&TaskId::new("1.10")).is_some());
//! assert!(TaskId::new("1.2") < TaskId::new("1.10"));
//! ```

mod agent_total;
mod blocking;
mod claim;
pub mod clock;
mod code;
mod completes;
mod counts;
mod digest;
pub mod environment;
mod family;
mod graph;
mod groups;
mod hex;
mod hook_status;
mod live;
mod mark;
mod no_work;
mod outcome;
mod plan;
mod prompt_task;
mod question;
mod queue_place;
mod redact;
mod remedy;
mod run_id;
mod scope;
mod severity;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
mod workspace_kind;

pub use agent_total::AgentTotal;
pub use agent_total::with_model;
pub use claim::{Claim, ClaimPhase, ClaimTarget, ReleaseReason, Role};
pub use claim::{MAX_BRANCH_BYTES, MAX_CONFLICT_FILES, MAX_WHY_BYTES};
pub use code::{Coded, ErrorCode, Location};
pub use completes::Completes;
pub use counts::TaskCounts;
pub use family::{Family, MAX_SIBLINGS};
pub use graph::cycles;
pub use groups::Groups;
pub use groups::settle;
pub use hook_status::{BreakClass, HookStatus};
pub use live::{Doing, LiveState, LiveWorker, QueuedWork, WaitingCall};
pub use mark::Mark;
pub use outcome::{ExitReason, FailureClass};
pub use plan::{PLAN_VERSION, Plan, PlanHeader, Progress, ProgressStatus, did_you_mean};
pub use question::{
    InvalidQuestion, MAX_ANSWER_CHARS, MAX_OPTION_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS, Question,
};
pub use queue_place::QueuePlace;
pub use redact::{redacted, without_credentials};
pub use remedy::Remedy;
pub use scope::{Scope, UnknownTask, UnknownTasks};
pub use severity::Severity;
pub use task::MAX_OWNER_CHARS;
pub use task::{InvalidTask, MAX_ID_CHARS, MAX_TITLE_CHARS, Source, Status, Task, TaskId, commit_hash};
pub use workspace_kind::{UnknownWorkspace, WorkspaceKind};

pub use blocking::run_blocking;
pub use digest::{Digesting, digest_of, digest_of_stream, is_digest};
pub use hex::hex;
pub use no_work::is_no_work;
pub use run_id::{began_at, is_run_id};
pub use samuel_contract::{
    ParseWordError,
    payload::{self, Complexity, IterationOutcome, Priority, Usage},
};
pub use samuel_contract::{payload::add_cost, plain_words as words};
