//! Why a PRD cannot be converted at all.
//!
//! [`PrdError`] is for documents that are refused as a whole. What is wrong
//! with single tasks is a [`Remark`](super::Remark) of the conversion.

use std::{io, path::PathBuf};

use super::{Form, Remark, UnknownForm};
use samuel_fs::FileError;
use samuel_model::{Coded, ErrorCode, Location, Remedy, text::counted};

/// The largest document that is converted, in bytes.
pub const MAX_INPUT_BYTES: usize = 16 * 1024 * 1024;
/// The most tasks one document may have.
pub const MAX_TASKS: usize = 50_000;
/// How many characters of markup, such as `*` and `[`, a document may have
/// beside one for every [`BYTES_PER_MARK`] of its bytes: each takes much more
/// memory than itself while the document is read.
pub const MAX_MARKS: usize = 1 << 18;
/// See [`MAX_MARKS`].
pub const BYTES_PER_MARK: usize = 32;
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
    /// The document has more markup than [`MAX_MARKS`] allows.
    #[error("{} is mostly markup: it has {marks} characters such as `*` and `[`", path.display())]
    TooManyMarks {
        /// The document.
        path: PathBuf,
        /// How many there are.
        marks: usize,
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
    /// The document starts as JSON does, and is none, or has a key twice.
    #[error("{} cannot be read as JSON", path.display())]
    Json {
        /// The document.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The document is in another encoding.
    #[error("{} is not UTF-8 in line {line}: {found}", path.display())]
    Encoding {
        /// The document.
        path: PathBuf,
        /// The first line that is not, from 1.
        line: usize,
        /// What is there instead, such as `the byte 0xe9`.
        found: String,
    },
    /// The document has a character that no text has.
    #[error("{} has the character U+0000 in line {line}: it is no text", path.display())]
    Nul {
        /// The document.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The document is a page of the web.
    #[error("{} is HTML, not Markdown", path.display())]
    Html {
        /// The document.
        path: PathBuf,
    },
    /// A form was asked for that needs a companion, and there is none.
    #[error("{} has no companion: no tasks-<name>.md is beside it", path.display())]
    NoCompanion {
        /// The PRD.
        path: PathBuf,
    },
    /// The plan remembers a form for it that there is not.
    #[error("the plan says in which form {} is to be read, and there is no such form", path.display())]
    UnknownForm {
        /// The PRD.
        path: PathBuf,
        /// The form.
        source: UnknownForm,
    },
    /// No task was found; see
    /// [`Conversion::require_tasks`](super::Conversion::require_tasks).
    #[error("{}: {reason}", path.display())]
    NoTasks {
        /// The PRD.
        path: PathBuf,
        /// The line of what came closest, from 1.
        line: usize,
        /// What was looked for.
        reason: String,
        /// The forms that come nearest, the nearest first.
        nearest: Vec<Form>,
        /// Those among them as which it has tasks, if it is forced.
        readable: Vec<Form>,
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
        if matches!(self, Self::UnknownForm { .. }) {
            return Remedy::NameForm;
        }
        if matches!(self, Self::Encoding { .. }) {
            return Remedy::from("Save it as UTF-8.");
        }
        if let Self::NoTasks { nearest, readable, .. } = self {
            let listed = |forms: &[Form]| {
                let forms = forms.iter().map(|form| format!("{form} ({})", form.description()));
                forms.collect::<Vec<_>>().join("; ")
            };
            let mut advice: Vec<Remedy> = match readable.as_slice() {
                [] => {
                    vec![format!("Nearest are {}. Write the tasks as one of them.", listed(nearest)).into()]
                }
                some => vec![format!("It has tasks as {}.", listed(some)).into(), Remedy::NameForm],
            };
            advice.push(Remedy::AllowEmptyPlan);
            return Remedy::All(advice);
        }
        of_file.map_or_else(|| self.code().help.clone(), Remedy::from)
    }

    fn location(&self) -> Option<Location> {
        let at = |path: &PathBuf, line| Some(Location { file: path.clone(), line, column: None });
        match self {
            Self::NotFound { path, .. }
            | Self::Unreadable { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Html { path }
            | Self::TooManyMarks { path, .. }
            | Self::UnknownForm { path, .. }
            | Self::NoCompanion { path } => at(path, None),
            Self::TooManyTasks { path, line }
            | Self::TooDeep { path, line }
            | Self::Encoding { path, line, .. }
            | Self::Nul { path, line }
            | Self::NoTasks { path, line, .. } => at(path, Some(*line)),
            Self::Json { path, line, column, .. } => {
                Some(Location { file: path.clone(), line: Some(*line), column: Some(*column) })
            }
            Self::Invalid { path, errors } => {
                errors.first().map_or_else(|| at(path, None), |first| Some(first.location()))
            }
        }
    }
}
