//! State: the plan, its history, and the locks around it.
//!
//! A [`PlanStore`] holds a [`Plan`](samuel_model::Plan) with its journal and progress
//! log, which several machines may share. A [`LaneStore`] holds what one machine needs to
//! continue after a crash. [`FileStore`] implements both in a run directory, where people and
//! agents can read the state. [`LogStore`] keeps a plan in a log that several machines write to.
//! [`MemoryStore`] and [`MemoryLane`] are for tests and for programs that keep state elsewhere. All
//! stores change plans through [`apply()`].
//!
//! ```
//! use samuel_model::Plan;
//! use samuel_state::{Actor, Existing, MemoryStore, Mutation, NewTask, PlanStore};
//!
//! let store = MemoryStore::new(std::sync::Arc::new(samuel_model::clock::SystemClock::new()));
//! store.import(Plan::default(), Actor::User, Existing::Refuse)?;
//! let task = NewTask::new("Write the parser");
//! let applied = store.mutate(Mutation::Enqueue { task }, Actor::User)?;
//! assert_eq!(applied.task.map(|task| task.title).as_deref(), Some("Write the parser"));
//! assert_eq!(store.load()?.plan.tasks.len(), 1);
//! # Ok::<(), samuel_state::StateError>(())
//! ```
//!
//! The engine decides who may change the plan, when a loop runs and which hooks are
//! called. Make blocking calls on a blocking thread.

mod acknowledged;
mod apply;
mod baseline;
mod blocked;
mod catch_up;
mod change;
mod claims;
mod context;
mod diagnostic;
mod edit;
mod error;
mod file;
mod file_lane;
mod files;
mod found;
mod half;
mod hook_log;
mod import;
mod journal;
mod kept;
mod kept_checkpoint;
mod kept_tasks;
mod known_claims;
mod known_credits;
mod known_log;
mod lane_store;
mod last_read;
mod lock;
mod locked;
mod log;
mod logs;
mod loop_lock;
mod memory;
mod memory_lane;
mod merge;
mod mutation;
mod new_task;
pub mod plan;
mod plan_file;
mod plan_store;
mod progress;
mod put_back;
mod queue_order;
mod refused;
mod regroup;
mod repair;
mod repository_log;
mod restore;
mod revise;
mod rewrite;
mod room;
mod rotated;
mod run_dir;
mod run_record;
pub mod sched;
mod scratch;
mod stores;
mod task_question;
mod task_status;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod told;
mod turn_files;
mod undo;
mod unversioned;
mod validate;
mod watch;
mod watched_files;

pub use apply::apply;
pub use baseline::set_baseline;
pub use claims::LandingClaim;
pub use context::{
    CommitLine, CurrentTask, FamilyTask, LargeFile, ProjectSnapshot, RecentCompletion, SnapshotFile,
    SnapshotSummary, TaskContext, TaskLine, TaskSummary, TodoCount,
};
pub use diagnostic::{DiagnosticKind, StateDiagnostic};
pub use edit::Edit;
pub use error::StateError;
pub use file::FileStore;
pub(crate) use half::is_gap;
pub use hook_log::{HookLog, HookLogFilter, HookLogLine};
pub(crate) use journal::MAX_REVISION;
pub use journal::{
    Begun, Called, Checkpoint, JournalEntry, JournalRecord, LaneBooks, MAX_RECORD_BYTES, Note, NotedEvent,
    RecordedMerge, RunEnd, SupervisorProcess, SupervisorRole, Used, WorkTreeId, with_merges,
};
pub use kept::{KeptPlan, KeptPlans};
pub use kept_checkpoint::KeptCheckpoint;
pub use lane_store::{LaneStore, LoopLock, SavedRun};
pub use lock::FileLock;
pub use lock::{Holder, LOCK_WAIT};
#[cfg(any(test, feature = "testing"))]
pub use log::FoldRule;
pub use log::{
    ImportPart, LOG_FORMAT, LogContent, LogError, LogFold, LogMirror, LogOutcome, LogRecord, LogRecovery,
    LogSetup, LogStore, MAX_LOG_RECORD_BYTES, MirroredRecord, PlanLog, ReadRecord, VoidReason, VoidRecord,
    recover,
};
pub use logs::{KeptLogs, Pruned, of_iteration, prune};
pub use memory::MemoryStore;
pub use memory_lane::MemoryLane;
pub use merge::{Merged, Orphans, OtherPrd, TaskTitle, merge};
pub use mutation::{Actor, Mutation, NewTask, TaskChange, TaskCredit};
pub use plan_store::{
    Applied, Asker, CaughtUp, Existing, Imported, JournalPart, LastWritten, LoadedPlan, PlanStore,
    UnlandedWork,
};
pub use progress::{
    CUT_OFF, InvalidLearned, Learned, LearnedKind, MAX_LEARNED_CHARS, ParseProgressError, ProgressBody,
    ProgressEntry, ProgressKind, ProgressLine, ProgressLog,
};
pub use queue_order::QueueOrder;
pub use refused::refused_in_discovery;
pub use repair::{LeftRow, Repair, RestoredRow};
pub use repository_log::RepositoryLog;
pub use repository_log::{RepositoryLogLine, RepositoryTraceLine};
pub use restore::Restored;
pub use revise::{AddedTask, ChangedTask, Parts, Place, PlanUpdate, RemovedTask, TaskEdit};
pub use rewrite::Rewritten;
pub use rotated::append_rotated;
pub use run_dir::{Artifact, RunDir};
pub use run_record::{RecordChunk, RecordPart, RecordPlace};
pub use stores::Stores;
pub use told::{ToldCause, ToldError};
pub use turn_files::TurnFiles;
pub use undo::{NotUndone, Replaced};
pub use unversioned::{IGNORE, IGNORE_FILE, unversioned_directory, write_ignore_file};
pub use validate::{PlanProblem, validate};
pub use watch::{ReadOn, Watch};
