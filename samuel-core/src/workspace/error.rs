//! What goes wrong with a workspace.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::CloneProblem;
use crate::{
    git::{GitError, program::GitProgramError},
    model::{Coded, ErrorCode, Location, Remedy},
    text::counted,
};

/// How many files of a list are named.
const MAX_NAMED: usize = 10;

/// A workspace that cannot be used, or work that does not come out of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The project is not what a clone can be made of.
    #[error("{} cannot have a clone as its workspace: {problem}", root.display())]
    Unfit {
        /// The project.
        root: PathBuf,
        /// What is missing.
        problem: String,
        /// What to do.
        help: String,
    },
    /// The user's tree holds what a clone of its commit would not.
    #[error(
        "the work tree has changes that are in no commit, which a clone would not have: {}",
        listed(files)
    )]
    Dirty {
        /// The files, relative to the project's root.
        files: Vec<String>,
    },
    /// The agent left something in its clone that makes git start programs.
    #[error("the work was refused: the clone holds {}; it was moved to {}", listed(found), kept.display())]
    Planted {
        /// What was found.
        found: Vec<CloneProblem>,
        /// Where the clone is now.
        kept: PathBuf,
    },
    /// What the agent made must not reach the user's repository.
    #[error("the work was refused: {refusal}; it is kept in the clone {}, as {name}", clone.display())]
    Refused {
        /// Why.
        refusal: RefusedWork,
        /// The clone.
        clone: PathBuf,
        /// The reference in it, or its directory.
        name: String,
    },
    /// The user's branch did not move.
    #[error(
        "the work passed its check and did not reach the branch {branch}: {problem}; it is kept as {kept}"
    )]
    NotLanded {
        /// The branch.
        branch: String,
        /// Why.
        problem: String,
        /// The reference in the user's repository.
        kept: String,
    },
    /// A fast-forward was cut off, and what it had written was changed since.
    #[error(
        "Samuel was ended while it moved {branch} to {new}, and these files were changed since: {}",
        listed(files)
    )]
    CutOff {
        /// The branch.
        branch: String,
        /// The commit.
        new: String,
        /// The files, from the top of the repository.
        files: Vec<String>,
    },
    /// A command failed that gets a workspace ready.
    #[error("the workspace could not be set up: `{command}` failed: {why}")]
    SetUp {
        /// The command line.
        command: String,
        /// How, with the last line that it wrote.
        why: String,
    },
    /// git tracks by now what is to be copied into a workspace.
    #[error("{path} is not copied into the workspace: git tracks it by now")]
    Tracked {
        /// The path, from the top of the repository.
        path: String,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] GitError),
    /// git could not do it.
    #[error(transparent)]
    Git(#[from] GitProgramError),
    /// A file or directory of the workspace cannot be used.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Why work must not reach the user's repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedWork {
    /// There is more of it than may come at once.
    #[error("its bundle has {bytes} bytes, more than the {limit} that are taken")]
    TooLarge {
        /// The size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// There are more commits, or changes in them, than are looked at.
    #[error("it changes more than is looked at: {what}")]
    TooMany {
        /// What there is too much of.
        what: String,
    },
    /// It is no bundle, or git finds fault with an object.
    #[error("git does not take it: {complaint}")]
    Damaged {
        /// What git said.
        complaint: String,
    },
    /// It does not begin at the commit that the clone was made from.
    #[error("its history does not begin at {base}, the commit that the workspace was made from")]
    Rewritten {
        /// The commit.
        base: String,
    },
    /// It adds or changes a link to another repository.
    #[error("it adds or changes the submodule {path}")]
    Gitlink {
        /// Where.
        path: String,
    },
    /// It holds a repository among its files.
    #[error("it holds a repository among its files: {path}")]
    Embedded {
        /// Where.
        path: String,
    },
    /// It was committed where nobody takes it from, and the branch that is checked out has nothing new.
    #[error("it is on {branch}, which is not checked out: the branch that is has nothing new")]
    Elsewhere {
        /// The branch, or `stash`.
        branch: String,
    },
    /// It changes files that decide what runs.
    #[error("it changes files that decide what runs: {}", listed(files))]
    ControlFiles {
        /// The files, relative to the project's root.
        files: Vec<String>,
    },
    /// Its commits have files that Samuel put into the clone.
    #[error("its commits have files that Samuel put into the workspace: {}", listed(files))]
    Own {
        /// The files, from the top of the repository.
        files: Vec<String>,
    },
}

/// Names some of a list.
pub(super) fn listed<T: ToString>(all: &[T]) -> String {
    let named: Vec<String> = all.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = all.len().saturating_sub(named.len());
    match more {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), counted(more, "other")),
    }
}

impl WorkspaceError {
    /// Says that there is no directory for a clone.
    pub(crate) fn no_place(root: &Path) -> Self {
        Self::Unfit {
            root: root.to_owned(),
            problem: "no directory outside of the project is known for it".to_owned(),
            help: "Set HOME or XDG_STATE_HOME, or, without a sandbox, work in place: set workspace = \"in-place\" below [sandbox] in \
                   samuel.toml."
                .to_owned(),
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(super) fn file<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        move |error| Self::Io { action, path: path.to_owned(), source: error.into() }
    }

    /// Says whether the work is to blame: the iteration fails, and the run goes on.
    pub fn is_of_the_work(&self) -> bool {
        matches!(self, Self::Planted { .. } | Self::Refused { .. } | Self::NotLanded { .. })
    }
}

impl Coded for WorkspaceError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unfit { .. } => ErrorCode::WORKSPACE_UNFIT,
            Self::Dirty { .. } => ErrorCode::WORKSPACE_DIRTY,
            Self::Planted { .. } => ErrorCode::WORKSPACE_PLANTED,
            Self::Refused { .. } => ErrorCode::WORKSPACE_REFUSED,
            Self::NotLanded { .. } => ErrorCode::WORKSPACE_NOT_LANDED,
            Self::CutOff { .. } => ErrorCode::WORKSPACE_CUT_OFF,
            Self::SetUp { .. } | Self::Tracked { .. } => ErrorCode::WORKSPACE_SETUP,
            Self::Repository(GitError::Owner(error)) => error.code(),
            Self::Git(error) if error.is_not_found() => ErrorCode::GIT_NOT_FOUND,
            Self::Repository(_) | Self::Git(_) | Self::Io { .. } => ErrorCode::WORKSPACE_FAILED,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Unfit { help, .. } => help.clone().into(),
            Self::Repository(error) => error.help().into(),
            Self::Tracked { path } => {
                format!("Take {path} out of `copy` below [methodology.<name>.parallel], or out of the repository.").into()
            }
            Self::CutOff { new, .. } => format!(
                "Look at the files. To have the checked work, restore them and run `git merge --ff-only {new}`; to \
                 do without it, restore them all the same. Then start again."
            )
            .into(),
            Self::NotLanded { kept, .. } => {
                format!("To take it over yourself, run `git merge {kept}`; else let the run try again.").into()
            }
            _ => self.code().help.clone(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Io { path, .. } => Some(Location { file: path.clone(), line: None, column: None }),
            _ => None,
        }
    }
}
