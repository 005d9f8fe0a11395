//! Why a repository cannot be read.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::OwnerError;

/// A repository that cannot be read, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// A file or directory of it cannot be read.
    #[error("the repository cannot be read: {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said, or which limit it exceeds.
        #[source]
        source: io::Error,
    },
    /// A file of it does not say what it should.
    #[error("the repository cannot be read: {}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It is stored in a way that is not known here.
    #[error("the repository cannot be read: {}: {format} is not supported", path.display())]
    Unsupported {
        /// The file that says so.
        path: PathBuf,
        /// What it uses.
        format: String,
    },
    /// It belongs to another user.
    #[error("the repository cannot be read")]
    Owner(#[from] OwnerError),
    /// It was not read in time.
    #[error("the repository cannot be read within {limit:?}")]
    TimedOut {
        /// The time there was.
        limit: Duration,
    },
}

impl GitError {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Read { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, problem: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), problem }
    }
}
