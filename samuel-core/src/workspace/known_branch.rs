//! Which branch a run with lanes made for its work, or landed it on, from one start to the next.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{WorkspaceError, record};

/// What is noted of the branches of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneNote {
    /// The branch that the last run with lanes landed on, whoever named it.
    Last,
    /// The branch that a run made.
    Made,
}

impl LaneNote {
    /// All there are, the latest first.
    pub(crate) const ALL: [Self; 2] = [Self::Last, Self::Made];

    /// Returns the file of the note in the directory where lanes work.
    pub(crate) fn file_in(self, directory: &Path) -> PathBuf {
        directory.join(match self {
            Self::Last => "last.json",
            Self::Made => "lanes.json",
        })
    }
}

/// A branch that was made for the work of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownBranch {
    /// When the plan was made.
    pub(crate) made_at: Option<Timestamp>,
    /// The branch, without `refs/heads/`.
    pub(crate) into: String,
}

/// Reads it; nothing where none was made.
pub(crate) fn known_branch(note: &Path) -> Option<KnownBranch> {
    record::read(note)
}

/// Writes it down.
///
/// # Errors
/// Returns [`WorkspaceError::Io`].
pub(crate) fn know_branch(note: &Path, known: &KnownBranch) -> Result<(), WorkspaceError> {
    record::write(note, known)
}
