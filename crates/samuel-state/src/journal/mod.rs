//! The journal: what happened to a plan, record by record.
//!
//! A [`JournalRecord`] is one line of `journal.jsonl`: every change with its
//! revision and who asked for it, the engine's checkpoints, supervisors of
//! running processes, and events worth keeping. [`JournalFile`] appends them
//! durably, drops a tail that a crash tore, and rotates the file.

mod file;
mod merges;
mod record;
mod reverse;
mod rotation;

pub(crate) use file::{After, JournalFile, ROTATE_BYTES, Tail};
pub use merges::{RecordedMerge, with_merges};
pub use record::{
    Begun, Called, Checkpoint, JournalEntry, JournalRecord, LaneBooks, MAX_RECORD_BYTES, Note, NotedEvent,
    RunEnd, SupervisorProcess, SupervisorRole, Used, WorkTreeId,
};
pub(crate) use record::{MAX_REVISION, active_supervisors, revision_after};
