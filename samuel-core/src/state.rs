//! Plans, what happened to them, and the locks around them: the crate `samuel-state`.
//!
//! ```
//! use samuel_core::model::Plan;
//! use samuel_core::state::{Actor, Existing, MemoryStore, Mutation, NewTask, PlanStore};
//!
//! let store = MemoryStore::new(std::sync::Arc::new(samuel_core::clock::SystemClock::new()));
//! store.import(Plan::default(), Actor::User, Existing::Refuse)?;
//! let task = NewTask::new("Write the parser");
//! let applied = store.mutate(Mutation::Enqueue { task }, Actor::User)?;
//! assert_eq!(applied.task.map(|task| task.title).as_deref(), Some("Write the parser"));
//! assert_eq!(store.load()?.plan.tasks.len(), 1);
//! # Ok::<(), samuel_core::state::StateError>(())
//! ```

#[cfg(test)]
pub(crate) use samuel_state::FoldRule;
pub use samuel_state::{
    Actor, AddedTask, Applied, Artifact, Asker, Begun, Called, CaughtUp, ChangedTask, Checkpoint, CommitLine,
    CurrentTask, DiagnosticKind, Edit, Existing, FamilyTask, FileStore, Holder, HookLog, HookLogFilter,
    HookLogLine, ImportPart, Imported, InvalidLearned, JournalEntry, JournalPart, JournalRecord,
    KeptCheckpoint, KeptPlan, KeptPlans, LOCK_WAIT, LOG_FORMAT, LandingClaim, LaneBooks, LaneStore,
    LargeFile, LastWritten, Learned, LearnedKind, LeftRow, LoadedPlan, LogContent, LogError, LogFold,
    LogMirror, LogOutcome, LogRecord, LogRecovery, LogSetup, LogStore, LoopLock, MAX_LEARNED_CHARS,
    MAX_LOG_RECORD_BYTES, MAX_RECORD_BYTES, MemoryLane, MemoryStore, Merged, MirroredRecord, Mutation,
    NewTask, NotUndone, Note, NotedEvent, Orphans, OtherPrd, ParseProgressError, Parts, Place, PlanLog,
    PlanProblem, PlanStore, PlanUpdate, ProgressBody, ProgressEntry, ProgressKind, ProgressLine, ProgressLog,
    ProjectSnapshot, QueueOrder, ReadOn, ReadRecord, RecentCompletion, RecordChunk, RecordPart, RecordPlace,
    RemovedTask, Repair, Replaced, RepositoryLogLine, RepositoryTraceLine, Restored, RestoredRow, RunDir,
    RunEnd, SavedRun, SnapshotFile, SnapshotSummary, StateDiagnostic, StateError, SupervisorProcess,
    SupervisorRole, TaskChange, TaskContext, TaskCredit, TaskEdit, TaskLine, TaskSummary, TaskTitle,
    TodoCount, ToldCause, ToldError, UnlandedWork, Used, VoidReason, VoidRecord, Watch, WorkTreeId, apply,
    merge, recover, set_baseline, validate,
};
pub(crate) use samuel_state::{
    FileLock, IGNORE, IGNORE_FILE, KeptLogs, RepositoryLog, Rewritten, Stores, TurnFiles, append_rotated,
    of_iteration, prune, refused_in_discovery, unversioned_directory, with_merges, write_ignore_file,
};
