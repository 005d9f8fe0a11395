//! What happened in runs, read from their records.
//!
//! [`History`] is the way in: it lists the runs of a project, reads what one told as
//! [`Entries`] or as a whole ([`RunHistory`]), answers [questions](WhyQuestion) with the events that
//! the answer rests on ([`Why`]), tells all that is known of a task ([`History::task`]), counts what runs
//! cost ([`Activity`]), makes a page of a run ([`RunPage`]) and replays its inputs ([`Replay`](crate::machine::Replay)). Reading changes
//! nothing, starts nothing, and takes no lock.
//!
//! A record tells what was written before a crash and nothing else: what it does not tell is said
//! to be unknown, never guessed. Its words are those of agents, hooks and files, so whoever shows
//! them escapes them. Writing is the engine's.
//!
//! ```
//! use samuel_core::{
//!     history::{History, WhyQuestion},
//!     testing::{Bench, completes_each_task},
//! };
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let bench = Bench::with_tasks(&[("1", "Greet the world")])?;
//! bench.play(bench.run(completes_each_task())).await?;
//!
//! let history = History::of(bench.project());
//! let run = history.resolve(None)?;
//! let why = history.why(&WhyQuestion::Run(Some(run.clone())))?;
//! assert!(why.answer.contains("completed"), "{}", why.answer);
//! assert!(history.replay(&run)?.equal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod entries;
mod error;
mod eta;
mod fold;
mod numbers;
mod report;
mod run_history;
mod runs;
mod tail;
mod task;
mod why;
mod words;

pub use activity::{Activity, AgentShare, FailureNote, Now, StatusReport, TaskFigures};
pub use entries::{Entries, EntryFilter, LogEntry};
pub use error::HistoryError;
pub use eta::Eta;
pub use report::{ChangedFile, ReportedChange, RunPage, TaskOutcome};
pub use run_history::{
    CheckHistory, EventRef, HeldBackTask, HistoryNote, HookFigures, IterationHistory, LandedTask, RecordGaps,
    ReturnedTask, RunHistory, RunKind, RunState, TurnHistory,
};
pub use runs::{History, RunList, RunSummary, UnreadRun};
pub use tail::Tail;
pub use why::{Why, WhyQuestion, WhyReason};
pub use words::{LOST_ITS_TASK, attempt_of_return, command_words, event_line, event_name, left_uncommitted};
