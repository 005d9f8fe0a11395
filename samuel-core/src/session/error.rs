//! What can keep a session from doing what it is told.

use crate::{
    engine::RunError,
    model::{Coded, ErrorCode, Location, Remedy},
    text::counted,
};

/// A session that cannot be opened, or cannot do what it is told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// It cannot be built or opened, as a run could not.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It has ended.
    #[error("the session {session} has ended")]
    Ended {
        /// Its name.
        session: String,
    },
    /// A text is longer than handlers are given.
    #[error("{what} has {}, and at most {most} are passed on", counted(*.bytes, "byte"))]
    TooLong {
        /// What it is, such as `the prompt`.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// A call ended that did not begin in the session, and nobody says of which ability.
    #[error("no call {call_id} has begun in the session")]
    UnknownCall {
        /// The id of the call.
        call_id: String,
    },
    /// What was kept of a session cannot be gone on with.
    #[error("what was kept of the session cannot be used: {problem}")]
    State {
        /// Why not.
        problem: String,
    },
}

impl Coded for SessionError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Run(error) => error.code(),
            Self::State { .. } => ErrorCode::STATE_VERSION,
            _ => ErrorCode::USAGE,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Run(error) => error.help(),
            Self::Ended { .. } => "Open another session.".into(),
            Self::TooLong { .. } => "Pass on a shorter text, or the path of a file that holds it.".into(),
            Self::UnknownCall { .. } => {
                "Name the call as it was named before it was made, or say which ability was called.".into()
            }
            Self::State { .. } => "Begin another session.".into(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Run(error) => error.location(),
            _ => None,
        }
    }
}
