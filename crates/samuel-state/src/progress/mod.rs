//! The progress log: what happened, for people and prompts.
//!
//! `progress.md` holds one [`ProgressEntry`] a line. Agents may append lines
//! of their own, so a [`ProgressLog`] keeps what it does not understand as it
//! is. Old lines move to an archive; what was learned stays.

mod entry;
mod escape;
mod learned;
mod log;

pub use entry::{CUT_OFF, ParseProgressError, ProgressBody, ProgressEntry, ProgressKind};
pub use learned::{InvalidLearned, Learned, LearnedKind, MAX_LEARNED_CHARS};
pub(crate) use log::{MAX_LOG_BYTES, split_for_rotation};
pub use log::{ProgressLine, ProgressLog};
