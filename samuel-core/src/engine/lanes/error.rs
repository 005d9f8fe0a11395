//! What keeps a run from having several lanes.

use std::path::PathBuf;

use crate::model::{Coded, ErrorCode, Location, Remedy};

/// A run that cannot have several lanes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LanesError {
    /// There are more than there can be, or none.
    #[error("a run has from 1 to {most} lanes, not {jobs}")]
    Jobs {
        /// How many there were to be.
        jobs: u32,
        /// The most.
        most: u32,
    },
    /// A branch to land on was named for a run that has one lane.
    #[error("a branch to land on, {into}, is for runs with several lanes")]
    IntoAlone {
        /// The branch.
        into: String,
        /// Where samuel.toml says so, if it does.
        location: Option<Location>,
    },
    /// The branch that work is to land on cannot be used.
    #[error("work cannot land on {into}: {problem}")]
    Into {
        /// The branch.
        into: Box<str>,
        /// Why not.
        problem: Box<str>,
        /// What to do.
        help: Box<str>,
        /// Where samuel.toml says so, if it does.
        location: Option<Location>,
    },
    /// The branch that work landed on is gone.
    #[error("the branch {into}, which work lands on, is gone; its last commit was {commit}")]
    Gone {
        /// The branch.
        into: Box<str>,
        /// The commit that it was at last, as far as that is known.
        commit: Box<str>,
    },
    /// A file to copy cannot be copied.
    #[error("{path} cannot be copied into a clone: {problem}")]
    Copy {
        /// The path.
        path: Box<str>,
        /// Why not.
        problem: Box<str>,
        /// Where samuel.toml says so, if it does.
        location: Option<Location>,
    },
    /// There is no branch to merge, or none to merge it into.
    #[error("nothing was merged: {problem}")]
    Unmergeable {
        /// What is wrong.
        problem: Box<str>,
        /// What to do.
        help: Box<str>,
    },
    /// A branch was not merged into what is checked out, since something is wrong with the result.
    #[error("{branch} was not merged into {into}: {problem}")]
    NotMerged {
        /// The branch.
        branch: Box<str>,
        /// The branch that is checked out.
        into: Box<str>,
        /// What is wrong.
        problem: Box<str>,
        /// What to do.
        help: Box<str>,
    },
    /// A branch was not merged into what is checked out, since something is in the way there.
    #[error("{branch} was not merged into {into}: {reason}")]
    MergeHeld {
        /// The branch.
        branch: Box<str>,
        /// The branch that is checked out.
        into: Box<str>,
        /// What is in the way.
        reason: Box<str>,
    },
    /// The project is not what lanes can work on.
    #[error("{} cannot have several lanes: {problem}", root.display())]
    Unfit {
        /// The project.
        root: PathBuf,
        /// What is missing.
        problem: String,
        /// What to do.
        help: String,
    },
}

impl Coded for LanesError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unfit { .. } | Self::Gone { .. } => ErrorCode::LANES_UNFIT,
            Self::NotMerged { .. } => ErrorCode::MERGE_REFUSED,
            Self::MergeHeld { .. } => ErrorCode::MERGE_HELD,
            _ => ErrorCode::LANES_INVALID,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Jobs { most, .. } => format!("Give a number from 1 to {most}.").into(),
            Self::IntoAlone { .. } => Remedy::SayHowManyLanes,
            Self::Copy { .. } => "Name files that git does not track, none of them a link, from the project's root and \
                                  without \"..\"."
                .into(),
            Self::Into { help, .. } | Self::Unmergeable { help, .. } | Self::NotMerged { help, .. } => {
                help.to_string().into()
            }
            Self::MergeHeld { .. } => self.code().help.clone(),
            Self::Gone { into, commit } => format!(
                "`git branch {into} {commit}` makes it again. Where its work is on another branch by now, name that one to \
                 land on."
            )
            .into(),
            Self::Unfit { help, .. } => help.clone().into(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::IntoAlone { location, .. } | Self::Into { location, .. } | Self::Copy { location, .. } => {
                location.clone()
            }
            Self::Jobs { .. }
            | Self::Gone { .. }
            | Self::Unfit { .. }
            | Self::Unmergeable { .. }
            | Self::NotMerged { .. }
            | Self::MergeHeld { .. } => None,
        }
    }
}
