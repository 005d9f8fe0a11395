//! Types shared by every module: tasks, outcomes, usage and payload records.
//!
//! ```
//! use samuel_core::model::{Plan, Priority, Task, TaskId};
//!
//! let mut plan = Plan::default();
//! plan.tasks.push(Task { priority: Priority::High, ..Task::new(TaskId::new("1.10"), "Write the parser") });
//! assert!(plan.task(&TaskId::new("1.10")).is_some());
//! assert!(TaskId::new("1.2") < TaskId::new("1.10"));
//! ```

pub use samuel_model::{
    AgentTotal, Claim, ClaimPhase, ClaimTarget, Coded, Completes, Complexity, Doing, ErrorCode, ExitReason,
    FailureClass, Family, Groups, InvalidQuestion, InvalidTask, IterationOutcome, LiveState, LiveWorker,
    Location, MAX_ANSWER_CHARS, MAX_ID_CHARS, MAX_OPTION_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS,
    MAX_SIBLINGS, MAX_TITLE_CHARS, Mark, PLAN_VERSION, ParseWordError, Plan, PlanHeader, Priority, Progress,
    ProgressStatus, Question, QueuePlace, QueuedWork, ReleaseReason, Remedy, Role, Scope, Severity, Source,
    Status, Task, TaskCounts, TaskId, UnknownTask, UnknownTasks, Usage, WaitingCall, commit_hash,
    did_you_mean, payload, redacted, without_credentials,
};
pub(crate) use samuel_model::{
    Digesting, began_at, digest_of, digest_of_stream, hex, is_digest, is_no_work, is_run_id, run_blocking,
    settle, with_model, words,
};
