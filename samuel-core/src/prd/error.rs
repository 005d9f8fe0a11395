//! Why a PRD cannot be converted at all.
//!
//! [`PrdError`] is for documents that are refused as a whole. What is wrong
//! with single tasks is a [`Remark`](super::Remark) of the conversion.

use std::{io, path::PathBuf};

use super::Remark;
use crate::{
    fs::FileError,
    model::{Coded, ErrorCode, Location, Remedy},
    text::counted,
};

/// The largest document that is converted, in bytes.
pub const MAX_INPUT_BYTES: usize = 4 * 1024 * 1024;
/// The most tasks one document may have.
pub const MAX_TASKS: usize = 10_000;
/// How deep lists may be nested; a list that is in no other list has depth 1.
pub const MAX_DEPTH: usize = 32;

/// A document that cannot be converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrdError {
    /// There is no such file.
    #[error("{} not found", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be read, or is not UTF-8.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The document is larger than [`MAX_INPUT_BYTES`].
    #[error("{} has {bytes} bytes; at most {MAX_INPUT_BYTES} are converted", path.display())]
    TooLarge {
        /// The document.
        path: PathBuf,
        /// Its size in bytes.
        bytes: usize,
    },
    /// The document has more than [`MAX_TASKS`] tasks.
    #[error("{} has more than {MAX_TASKS} tasks", path.display())]
    TooManyTasks {
        /// The document.
        path: PathBuf,
        /// The line of the first task too many, from 1.
        line: usize,
    },
    /// Lists are nested deeper than [`MAX_DEPTH`].
    #[error("{} nests lists more than {MAX_DEPTH} deep", path.display())]
    TooDeep {
        /// The document.
        path: PathBuf,
        /// The line of the list that is too deep, from 1.
        line: usize,
    },
    /// The conversion found errors; see
    /// [`Conversion::require_valid`](super::Conversion::require_valid).
    #[error("{} has {} that must be corrected", path.display(), counted(errors.len(), "error"))]
    Invalid {
        /// The PRD.
        path: PathBuf,
        /// The errors, in the order of their lines; at least one.
        errors: Vec<Remark>,
    },
}

impl PrdError {
    /// Wraps what went wrong when a caller read a document.
    pub fn from_io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path, source },
            _ => Self::Unreadable { path, source },
        }
    }
}

impl Coded for PrdError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::PRD_NOT_FOUND,
            _ => ErrorCode::PRD_INVALID,
        }
    }

    fn help(&self) -> Remedy {
        let file = match self {
            Self::Unreadable { source, .. } => source.get_ref().and_then(|file| file.downcast_ref()),
            _ => None,
        };
        let of_file = match self {
            // It may be a whole project: nothing that is to be removed.
            _ if matches!(file, Some(FileError::NotAFile { .. })) => {
                Some("Give the path of a PRD, a Markdown file.")
            }
            Self::Unreadable { source, .. } => FileError::help_of(source),
            _ => None,
        };
        of_file.map_or_else(|| self.code().help.clone(), Remedy::from)
    }

    fn location(&self) -> Option<Location> {
        let at = |path: &PathBuf, line| Some(Location { file: path.clone(), line, column: None });
        match self {
            Self::NotFound { path, .. } | Self::Unreadable { path, .. } | Self::TooLarge { path, .. } => {
                at(path, None)
            }
            Self::TooManyTasks { path, line } | Self::TooDeep { path, line } => at(path, Some(*line)),
            Self::Invalid { path, errors } => {
                errors.first().map_or_else(|| at(path, None), |first| Some(first.location()))
            }
        }
    }
}
