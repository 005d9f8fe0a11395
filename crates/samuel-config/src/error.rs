//! A configuration that is refused.

use std::{fmt, io, path::PathBuf};

use samuel_fs::FileError;
use samuel_model::{Coded, ErrorCode, Location, Remedy};

use super::Problem;

/// A configuration that is refused, whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file has problems.
    #[error("{0}")]
    Invalid(Problems),
    /// Settings that a caller gives cannot be. Their keys are those of
    /// `[methodology.<name>]`, and they have no place.
    #[error("{0}")]
    Settings(Problems),
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
    /// Returns what is wrong, in the order of the text; nothing where no file was
    /// read.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid(problems) | Self::Settings(problems) => &problems.list,
            Self::Io { .. } => &[],
        }
    }

    /// Returns what to do next; of a file that the system refuses, what is given.
    #[doc(hidden)]
    pub fn help_or(&self, refused: &Remedy) -> Remedy {
        match (self, self.problems()) {
            (Self::Io { source, .. }, _) => {
                FileError::help_of(source).map_or_else(|| refused.clone(), Remedy::from)
            }
            (_, [only]) => only.help(),
            (Self::Settings(_), _) => "Correct each of the settings named above.".into(),
            (Self::Invalid(_), _) => "Correct each of the places named above.".into(),
        }
    }
}

impl Coded for ConfigError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) | Self::Settings(_) => ErrorCode::CONFIG_INVALID,
            Self::Io { .. } => ErrorCode::CONFIG_IO,
        }
    }

    fn help(&self) -> Remedy {
        self.help_or(self.code().help)
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Invalid(problems) => problems.list.first().map(|problem| problem.location.clone()),
            Self::Settings(_) => None,
            Self::Io { file, .. } => Some(Location { file: file.clone(), line: None, column: None }),
        }
    }
}

/// The problems of a file, in the order of the text, or of settings that a caller
/// gives.
///
/// Displays one line each, with its place where it has one, and with what helps
/// where there are several.
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
    #[doc(hidden)]
    pub fn of(mut list: Vec<Problem>) -> Self {
        list.sort_by_key(|problem| (problem.location.line, problem.location.column));
        let omitted = list.len().saturating_sub(Self::MAX);
        list.truncate(Self::MAX);
        Self { list, omitted }
    }
}

impl Problem {
    /// Returns its place, `samuel.toml:3:1: `; empty where it has none.
    #[doc(hidden)]
    pub fn place(&self) -> String {
        match &self.location {
            Location { file, line: Some(line), column: Some(column) } => {
                format!("{}:{line}:{column}: ", file.display())
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.list.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            write!(f, "{}{problem}", problem.place())?;
            // What helps with a single one stands in a line of its own.
            if self.list.len() > 1 {
                write!(f, ". {}", problem.help().prose())?;
            }
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
