//! Which branch a run with lanes made for its work, from one start to the next.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{WorkspaceError, record};

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
