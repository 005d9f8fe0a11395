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
    /// Something else of the run does not go together with lanes.
    #[error("several lanes do not go together with {what}")]
    Apart {
        /// What.
        what: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A branch to land on was named for a run that has one lane.
    #[error("a branch to land on, {into}, is for runs with several lanes")]
    IntoAlone {
        /// The branch.
        into: String,
    },
    /// The branch that work is to land on cannot be used.
    #[error("work cannot land on {into}: {problem}")]
    Into {
        /// The branch.
        into: String,
        /// Why not.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A file to copy lies outside of the project.
    #[error("{path} cannot be copied into a work tree: it is not the path of a file within the project")]
    Copy {
        /// The path.
        path: String,
        /// Where samuel.toml says so, if it does.
        location: Option<Location>,
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
            Self::Unfit { .. } => ErrorCode::LANES_UNFIT,
            _ => ErrorCode::LANES_INVALID,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Jobs { most, .. } => format!("Give a number from 1 to {most}.").into(),
            Self::Apart { help, .. } => (*help).into(),
            Self::IntoAlone { .. } => {
                "Say how many lanes there are with --jobs, or leave the branch out.".into()
            }
            Self::Copy { .. } => "Name it from the project's root, without \"..\".".into(),
            Self::Into { help, .. } | Self::Unfit { help, .. } => help.clone().into(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Copy { location, .. } => location.clone(),
            _ => None,
        }
    }
}
