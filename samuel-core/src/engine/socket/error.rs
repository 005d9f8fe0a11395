//! What keeps a run from listening.

use std::{io, path::PathBuf};

use crate::model::{Coded, ErrorCode, Remedy};

/// A run that cannot listen on a socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// The path of the socket would be longer than the system allows.
    #[error("the socket of the run would be {path}, which is {length} bytes long; the system allows {limit}", path = path.display(), length = path.as_os_str().len())]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// How long one may be, in bytes.
        limit: usize,
    },
    /// The directory or the socket cannot be made.
    #[error("the run cannot listen in {path}", path = path.display())]
    Io {
        /// The directory that was given.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Coded for SocketError {
    fn code(&self) -> ErrorCode {
        ErrorCode::SOCKET_UNAVAILABLE
    }

    fn help(&self) -> Remedy {
        match self {
            Self::PathTooLong { .. } => {
                Remedy::Say("Give a directory with a shorter path, for example by XDG_RUNTIME_DIR.")
            }
            Self::Io { .. } => self.code().help.clone(),
        }
    }
}
