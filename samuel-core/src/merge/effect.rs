//! What the machine wants done, and what came of it.

use serde::{Deserialize, Serialize};

use super::{ClaimKey, Queue, Submission, UnsettledLanding};
use crate::{
    model::{ClaimTarget, Role},
    state::{Mutation, StateError},
};

/// What is to be done next. Each is answered by the [`MergeInput`] that it names.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MergeEffect {
    /// Read the plan: [`MergeInput::Queue`].
    Look,
    /// Merge work on the head of a branch, each on the one before, and leave out what cannot be:
    /// [`MergeInput::Built`]. Moves nothing.
    Build {
        /// The branch.
        into: String,
        /// The work, in the order in which it is merged.
        submissions: Vec<Submission>,
    },
    /// Check a commit: [`MergeInput::Checked`].
    Check {
        /// The commit.
        commit: String,
        /// Its tree.
        tree: String,
    },
    /// Change the plan: [`MergeInput::Changed`].
    Change(Mutation),
    /// Move a branch from a commit, and from no other, to one that follows it: [`MergeInput::Moved`].
    Move(UnsettledLanding),
    /// Find out whether a branch could be moved now, and move nothing: [`MergeInput::Way`].
    Try(UnsettledLanding),
    /// Find out how a branch stands to a landing: [`MergeInput::Stands`].
    Ask(UnsettledLanding),
    /// Wait until there may be something to merge, or what holds a landing is out of the way:
    /// [`MergeInput::Wake`].
    Wait,
    /// Stop: the role is somebody else's, or cannot be filled.
    End {
        /// Why, in one line.
        reason: String,
    },
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeInput {
    /// Begin, or go on.
    Wake,
    /// What the plan has.
    Queue(Queue),
    /// What was merged.
    Built(Built),
    /// What the checks said: what failed, one line each; nothing where all passed.
    Checked(Vec<String>),
    /// Whether the plan was changed.
    Changed(Result<(), ClaimRefusal>),
    /// What became of a branch.
    Moved(Moved),
    /// Whether a branch could be moved.
    Way(LandingWay),
    /// How a branch stands.
    Stands(BranchStanding),
    /// It could not be done, and whether it was is not known.
    Failed {
        /// Why, in one line.
        reason: String,
    },
}

/// Work that was merged on the head of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// The head of the branch.
    pub base: String,
    /// What was merged, in turn; the last has the commit that is checked.
    pub merged: Vec<MergedWork>,
    /// What was not, because it is in conflict.
    pub conflicts: Vec<Conflict>,
    /// What must not land.
    pub refused: Vec<RefusedSubmission>,
    /// Work that began at a commit that the branch does not have any more. It would bring that commit back.
    #[serde(default)]
    pub moved_back: Vec<ClaimKey>,
}

/// One submission that was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedWork {
    /// What it is of.
    pub key: ClaimKey,
    /// The commit that was submitted.
    pub commit: String,
    /// The commit that has it, and all that was merged before.
    pub landed: String,
    /// The tree of that.
    pub tree: String,
}

/// One submission that is in conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// What it is of.
    pub key: ClaimKey,
    /// The files in conflict.
    pub files: Vec<String>,
    /// Whether it is in conflict with the branch; else it is with what was merged before it.
    pub is_with_branch: bool,
}

/// One submission that must not land.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedSubmission {
    /// What it is of.
    pub key: ClaimKey,
    /// Why, in one line.
    pub reason: String,
}

/// Why the plan was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimRefusal {
    /// The role is somebody else's by now.
    RoleLost,
    /// What the change is about is not as it was: somebody released, settled or removed it.
    Void,
}

impl ClaimRefusal {
    /// Reads it of an error of a store; nothing of one that says nothing of the change.
    pub fn of(error: &StateError) -> Option<Self> {
        match error {
            StateError::ClaimVoid { of: ClaimTarget::Role(Role::Merge), .. } => Some(Self::RoleLost),
            StateError::ClaimVoid { .. }
            | StateError::ClaimPhase { .. }
            | StateError::Landing { .. }
            | StateError::TaskNotFound { .. }
            | StateError::IsGroup { .. } => Some(Self::Void),
            _ => None,
        }
    }
}

/// What became of a branch that was to be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moved {
    /// It is at the new commit.
    Done,
    /// It was not at the commit that it was to be moved from.
    Stale,
    /// Something is in the way that goes away by itself, such as changes of a file that are in no commit.
    Held {
        /// What, in one line, with the files where it is files.
        reason: String,
    },
}

/// Whether a branch can be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LandingWay {
    /// Nothing is in the way.
    Free,
    /// It is not at the commit that it was to be moved from.
    Stale,
    /// Something is in the way that goes away by itself.
    Held {
        /// What, in one line, with the files where it is files.
        reason: String,
    },
}

/// How a branch stands to a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BranchStanding {
    /// The new commit is the branch's, or among its ancestors.
    Landed,
    /// The branch is at the commit that it was to be moved from.
    Untouched,
    /// The branch went elsewhere.
    Elsewhere,
}
