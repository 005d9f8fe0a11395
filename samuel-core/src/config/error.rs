//! A configuration that is refused.

use std::{fmt, io, path::PathBuf};

use super::{Problem, ProblemKind};
use crate::{
    fs::FileError,
    model::{Coded, ErrorCode, Location, Remedy},
};

/// A configuration that is refused, whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file has problems.
    #[error("{0}")]
    Invalid(Problems),
    /// A setting that a caller gives cannot be.
    #[error("{key}: {kind}")]
    Setting {
        /// The key, as in `[methodology.<name>]`.
        key: String,
        /// What is wrong with it.
        kind: ProblemKind,
    },
    /// The file cannot be read.
    #[error("{} cannot be read", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl ConfigError {
    /// Returns what is wrong in the file, in the order of the text; nothing
    /// where no file was read.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid(problems) => &problems.list,
            Self::Setting { .. } | Self::Io { .. } => &[],
        }
    }

    /// Returns what to do next; of a file that the system refuses, what is given.
    pub(crate) fn help_or(&self, refused: &Remedy) -> Remedy {
        match (self, self.problems()) {
            (Self::Setting { kind, .. }, _) => kind.help().into(),
            (Self::Io { source, .. }, _) => {
                FileError::help_of(source).map_or_else(|| refused.clone(), Remedy::from)
            }
            (Self::Invalid(_), [only]) => only.help().into(),
            (Self::Invalid(_), _) => "Correct each of the places named above.".into(),
        }
    }
}

impl Coded for ConfigError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) | Self::Setting { .. } => ErrorCode::CONFIG_INVALID,
            Self::Io { .. } => ErrorCode::CONFIG_IO,
        }
    }

    fn help(&self) -> Remedy {
        self.help_or(self.code().help)
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Invalid(problems) => problems.list.first().map(|problem| problem.location.clone()),
            Self::Setting { .. } => None,
            Self::Io { file, .. } => Some(Location { file: file.clone(), line: None, column: None }),
        }
    }
}

/// The problems of a file, in the order of the text.
///
/// Displays one line each, with its place, and with what helps where there are
/// several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problems {
    /// The first problems, at most [`Problems::MAX`].
    pub list: Vec<Problem>,
    /// How many more there are.
    pub omitted: usize,
}

impl Problems {
    /// How many problems of a file are kept.
    pub const MAX: usize = 100;

    /// Puts problems into the order of the text and keeps the first ones.
    pub(super) fn of(mut list: Vec<Problem>) -> Self {
        list.sort_by_key(|problem| (problem.location.line, problem.location.column));
        let omitted = list.len().saturating_sub(Self::MAX);
        list.truncate(Self::MAX);
        Self { list, omitted }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.list.iter().enumerate() {
            let Location { file, line, column } = &problem.location;
            let (line, column) = (line.unwrap_or(1), column.unwrap_or(1));
            let separator = if place == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{line}:{column}: {problem}", file.display())?;
            // What helps with a single one stands in a line of its own.
            if self.list.len() > 1 {
                write!(f, ". {}", problem.help())?;
            }
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
