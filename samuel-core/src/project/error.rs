//! What can go wrong with a project.

use std::{io, path::PathBuf};

use crate::{
    config::{ConfigError, InvalidMethodologyName, Problem, ProblemKind, UnknownMethodology},
    git::OwnerError,
    model::{Coded, ErrorCode, Location, Remedy},
    plugin::PluginError,
    prd::PrdError,
    state::{OtherPrd, StateError},
};

/// A project that cannot be opened or initialised.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// It belongs to another user, whom the caller does not trust.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The methodology does not exist.
    #[error(transparent)]
    Methodology(#[from] UnknownMethodology),
    /// The methodology that a plan was made for is not there any more.
    #[error("methodology not found: \"{name}\", for which the plan at {} was made", plan.display())]
    MethodologyGone {
        /// The plan.
        plan: PathBuf,
        /// The methodology.
        name: String,
    },
    /// The methodology that the program brings cannot have its name.
    #[error(transparent)]
    MethodologyName(#[from] InvalidMethodologyName),
    /// A plugin that may provide the methodology cannot be used.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The PRD cannot be used.
    #[error(transparent)]
    Prd(#[from] PrdError),
    /// A plan is to follow a PRD that looks like another one.
    #[error("{other}; the plan was not changed")]
    OtherPrd {
        /// How it looks so.
        other: OtherPrd,
    },
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A file of the project cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ProjectError {
    /// Says whether nothing is wrong but that methodologies are not here, whose names are near none
    /// that is.
    pub(super) fn may_be_of_a_program(&self) -> bool {
        let is_one = |problem: &Problem| {
            matches!(problem.kind, ProblemKind::UnknownName { what: "methodology", nearest: None, .. })
        };
        match self {
            Self::Methodology(unknown) => unknown.nearest.is_none(),
            Self::Config(error) => !error.problems().is_empty() && error.problems().iter().all(is_one),
            _ => false,
        }
    }
}

impl Coded for ProjectError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Owner(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Methodology(error) => error.code(),
            Self::MethodologyName(error) => error.code(),
            Self::MethodologyGone { .. } => ErrorCode::METHODOLOGY_NOT_FOUND,
            Self::Plugin(error) => error.code(),
            Self::Prd(error) => error.code(),
            Self::OtherPrd { .. } => ErrorCode::PRD_INVALID,
            Self::State(error) => error.code(),
            Self::Write { .. } => ErrorCode::STATE_IO,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Owner(error) => error.location(),
            Self::Config(error) => error.location(),
            Self::Methodology(error) => error.location(),
            Self::Plugin(error) => error.location(),
            Self::Prd(error) => error.location(),
            Self::State(error) => error.location(),
            Self::MethodologyName(_) | Self::OtherPrd { .. } => None,
            Self::MethodologyGone { plan: path, .. } | Self::Write { path, .. } => {
                Some(Location { file: path.clone(), line: None, column: None })
            }
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Owner(error) => error.help(),
            Self::Config(error) => error.help(),
            Self::State(error) => error.help(),
            Self::Prd(error) => error.help(),
            Self::Plugin(error) => error.help(),
            Self::Methodology(UnknownMethodology { nearest: Some(nearest), .. }) => {
                self.code().help.clone().after(format!("Did you mean \"{nearest}\"?"))
            }
            Self::Methodology(error) => {
                self.code().help.clone().after(format!("Methodologies here: {}.", error.known.join(", ")))
            }
            Self::OtherPrd { .. } => Remedy::TakeOtherPrd,
            Self::MethodologyGone { .. } => Remedy::Say(
                "Install the plugin that provides it, or run the loop by the program that brings it; the plan \
                 can be read and changed without it.",
            ),
            Self::MethodologyName(_) => Remedy::Say("Give the program's methodology another name or alias."),
            Self::Write { .. } => self.code().help.clone(),
        }
    }
}
