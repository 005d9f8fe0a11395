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
    /// A line of its configuration is none, and git refuses it.
    #[error("the repository cannot be read: {}: line {line} is no setting", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
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
    /// What an index is called that lies in two files.
    pub(super) const SPLIT_INDEX: &str = "a split index";
    /// What references are called that lie in tables.
    pub(super) const REFTABLE: &str = "the reference storage \"reftable\"";
    /// What a `.git` is called that is a link.
    pub(super) const LINKED: &str = "a link in the place of this directory";
    /// What a `.git` is called that names a directory which does not lead back.
    pub(super) const SEPARATE: &str =
        "a directory of the repository elsewhere, which does not lead back here,";

    /// Says what to do so that the repository can be read.
    pub fn help(&self) -> String {
        let format = match self {
            Self::Unsupported { format, .. } => format.as_str(),
            Self::Owner(error) => return error.advice(),
            Self::Config { .. } => {
                return "Correct that line; `git config --list` says what is wrong.".to_owned();
            }
            Self::TimedOut { .. } => return "Start again when the disk is less busy.".to_owned(),
            _ => return "Check that `git status` and `git fsck` work here.".to_owned(),
        };
        match format {
            Self::SPLIT_INDEX => "Turn it off with `git update-index --no-split-index`.",
            Self::REFTABLE => "Store references in files with `git refs migrate --ref-format=files`.",
            Self::LINKED => "Put the directory itself in the place of the link.",
            Self::SEPARATE => {
                "Move that directory to .git and unset core.worktree, or work in a linked work tree (`git worktree \
                 add`)."
            }
            _ => "Clone the project anew with a git that stores it in the usual way.",
        }
        .to_owned()
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Read { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, problem: &'static str) -> Self {
        Self::Damaged { path: path.to_owned(), problem }
    }
}
