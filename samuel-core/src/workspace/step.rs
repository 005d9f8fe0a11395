//! The steps of a workspace, of which whoever asks is told: an embedder that shows them, and tests that end the
//! process at each.

use std::{fmt, sync::Arc};

/// A step of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkspaceStep {
    /// The clone was made, without its files.
    Cloned,
    /// Its files are those of the user's branch.
    CheckedOut,
    /// It is known that the agent may write from now on.
    TurnBegan,
    /// The clone was looked at.
    Inspected,
    /// What the agent left was committed.
    Committed,
    /// What there is beyond the user's branch was written to a bundle.
    Bundled,
    /// The bundle was taken in.
    TakenIn,
    /// It is known that it was.
    Collected,
    /// Work has a reference of its own that stays.
    Kept,
    /// The user's branch is about to be moved.
    Landing,
    /// It was.
    Landed,
    /// The clone has gone from its place, and nothing is known of it any more; its files are about to be removed.
    Removing,
}

impl WorkspaceStep {
    /// Every step, in the order in which they are made.
    pub const ALL: [Self; 12] = [
        Self::Cloned,
        Self::CheckedOut,
        Self::TurnBegan,
        Self::Inspected,
        Self::Committed,
        Self::Bundled,
        Self::TakenIn,
        Self::Collected,
        Self::Kept,
        Self::Landing,
        Self::Landed,
        Self::Removing,
    ];
}

/// Is told of steps.
#[derive(Clone)]
pub struct OnStep(Arc<dyn Fn(WorkspaceStep) + Send + Sync>);

impl OnStep {
    /// Calls a function at each step.
    pub fn new(call: impl Fn(WorkspaceStep) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    /// Tells of a step.
    pub(super) fn tell(&self, step: WorkspaceStep) {
        (self.0)(step);
    }
}

impl fmt::Debug for OnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStep")
    }
}
