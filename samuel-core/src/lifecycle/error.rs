//! What can go wrong with a lifecycle command.

use std::{io, path::PathBuf};

use super::section::SectionError;
use crate::{
    config::ConfigError,
    context::template::{EvaluationProblem, TemplateError},
    fs::FileError,
    hook::{HookFailure, HookPoint, RegistryError},
    methodology::TemplatesError,
    model::{Coded, ErrorCode, Location, Remedy},
    project::ProjectError,
};

/// A lifecycle command that ended. Unless it says that something was written,
/// nothing was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// There is no project to bring up to date.
    #[error("{} holds neither samuel.toml nor .samuel", root.display())]
    NotInitialised {
        /// The directory.
        root: PathBuf,
    },
    /// A handler of a gate refused.
    #[error("{point} refused: {reason}")]
    Refused {
        /// The gate.
        point: HookPoint,
        /// The first handler's reason.
        reason: String,
    },
    /// A handler broke where that ends the command. At the `after` points the
    /// command has written by then.
    #[error("the handler {handler} of {point} broke: {failure}")]
    Broke {
        /// The point.
        point: HookPoint,
        /// The handler's id.
        handler: String,
        /// How it broke.
        failure: HookFailure,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The handlers of a point cannot be put in order.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] ProjectError),
    /// A template cannot be loaded.
    #[error(transparent)]
    Template(#[from] TemplatesError),
    /// A template cannot be filled.
    #[error("the template \"{}\" cannot be filled", path.display())]
    Render {
        /// The template.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<TemplateError>,
    },
    /// What a template gave cannot be placed.
    #[error("what the template \"{}\" gives cannot be placed", path.display())]
    Body {
        /// The template.
        path: PathBuf,
        /// Why not.
        source: SectionError,
    },
    /// Samuel's markers in a file cannot be understood.
    #[error("{} has markers that cannot be understood", path.display())]
    Markers {
        /// The file.
        path: PathBuf,
        /// What is wrong with them.
        source: SectionError,
    },
    /// A link leads out of the project.
    #[error("{} leads out of the project, to {}", path.display(), target.display())]
    Outside {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Somebody wrote a file while the command was at work.
    #[error("{} changed while it was brought up to date", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read or written. Others may have been written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The command itself broke.
    #[error("the command broke: {message}")]
    Broken {
        /// What happened.
        message: String,
    },
}

impl Coded for LifecycleError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotInitialised { .. } => ErrorCode::STATE_NOT_INITIALISED,
            Self::Refused { .. } => ErrorCode::HOOK_REFUSED,
            Self::Broke { failure, .. } => failure.class.code(),
            Self::Config(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::Template(error) => error.code(),
            Self::Render { .. } | Self::Body { .. } => ErrorCode::TEMPLATE_INVALID,
            Self::Markers { .. } => ErrorCode::SYNC_MARKERS,
            Self::Outside { .. } | Self::Changed { .. } => ErrorCode::SYNC_REFUSED,
            Self::File { .. } => ErrorCode::STATE_IO,
            Self::Broken { .. } => ErrorCode::INTERNAL,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::NotInitialised { .. } => Remedy::MakeProject,
            Self::Config(error) => error.help(),
            Self::Render { source, .. } => match **source {
                TemplateError::Evaluation { problem: EvaluationProblem::WrongKind { .. }, .. } => {
                    Remedy::ListVariables.after(source.help())
                }
                _ => source.help().into(),
            },
            Self::Outside { .. } => "Replace the link by a file, or by a link within the project.".into(),
            Self::Changed { .. } => "Run the command again.".into(),
            Self::Plan(error) => error.help(),
            Self::Template(error) => error.help(),
            Self::File { source, .. } => {
                FileError::help_of(source).map_or_else(|| self.code().help.clone(), Remedy::from)
            }
            _ => self.code().help.clone(),
        }
    }

    fn location(&self) -> Option<Location> {
        let at = |file: &PathBuf, line, column| Some(Location { file: file.clone(), line, column });
        match self {
            Self::Config(error) => error.location(),
            Self::Plan(error) => error.location(),
            Self::Template(error) => error.location(),
            Self::Render { path, source } => {
                let place = source.location();
                at(path, place.map(|place| place.line), place.map(|place| place.column))
            }
            Self::Markers { path, source } => at(path, Some(source.line()), None),
            Self::Body { path, .. }
            | Self::Outside { path, .. }
            | Self::Changed { path }
            | Self::File { path, .. } => at(path, None, None),
            _ => None,
        }
    }
}
