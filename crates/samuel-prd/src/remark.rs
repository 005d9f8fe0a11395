//! What a conversion found: warnings and errors with their lines.
//!
//! A [`Remark`] is one of them; `Remarks` collects those of one document
//! while it is read and keeps their number bounded.

use std::{fmt, path::PathBuf};

use serde::Serialize;

use super::source::{Place, Source};
use samuel_model::{Location, Severity};

/// The most warnings, and the most errors, that one document gets. What is
/// beyond is counted in a last remark of kind [`RemarkKind::MoreRemarks`].
pub const MAX_REMARKS: usize = 100;

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RemarkKind {
    /// No task was found.
    NoTasks,
    /// The companion has no checklist lines, so the PRD was used.
    EmptyCompanion,
    /// Two tasks have the same id; the second is left out.
    DuplicateId,
    /// An id has characters it must not have, or too many; the task is left out.
    InvalidId,
    /// A title is empty or too long; the task is left out.
    InvalidTitle,
    /// A title has characters that are invisible or change the direction of text.
    OddTitle,
    /// An id such as `3.2` without a task `3`; the task has no parent.
    DanglingParent,
    /// A dependency on a task that is not there; it is left out.
    DanglingDependency,
    /// Tasks that wait for each other.
    DependencyCycle,
    /// A priority that is none; the task has medium priority.
    UnknownPriority,
    /// A complexity that is none; the task has medium complexity.
    UnknownComplexity,
    /// An entry of a list of files that names no file; it is left out.
    UnreadableFile,
    /// A heading below or between tasks that is no task; its text is left out.
    IgnoredHeading,
    /// A checklist item below tasks that is none itself.
    IgnoredChecklist,
    /// A numbered line below tasks that is none itself.
    IgnoredItem,
    /// A row of a table below tasks that is none itself.
    IgnoredRow,
    /// A field of a JSON document that has no place in a task.
    IgnoredField,
    /// Prompts cannot quote the document, such as one outside of the project.
    NotQuoted,
    /// There were more remarks than [`MAX_REMARKS`].
    MoreRemarks,
}

/// Something the author of a document should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The document: the PRD or its companion.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What it is about.
    pub kind: RemarkKind,
    /// How bad it is: with a warning the tasks can be used, though something may not be
    /// as the author meant it; after an error the document must be corrected first.
    pub severity: Severity,
    /// What is wrong, a lowercase fragment.
    pub message: String,
    /// Other lines of the document that have to do with it, from 1: the first
    /// task with the id, the tasks of a cycle. Often empty.
    pub related_lines: Vec<usize>,
}

impl Remark {
    /// Makes a warning about a whole document.
    #[doc(hidden)]
    pub fn warning(file: PathBuf, kind: RemarkKind, message: &str) -> Self {
        Self {
            file,
            line: Place::START.line,
            column: Place::START.column,
            kind,
            severity: Severity::Warning,
            message: message.to_owned(),
            related_lines: Vec::new(),
        }
    }

    /// Returns the place in the document.
    pub fn location(&self) -> Location {
        Location { file: self.file.clone(), line: Some(self.line), column: Some(self.column) }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)
    }
}

/// The remarks of one document so far.
#[derive(Debug)]
pub(super) struct Remarks {
    file: PathBuf,
    warnings: Vec<Remark>,
    errors: Vec<Remark>,
    dropped_warnings: usize,
    dropped_errors: usize,
}

impl Remarks {
    /// Creates an empty collection for a document.
    pub(super) fn new(source: &Source<'_>) -> Self {
        Self {
            file: source.path.to_owned(),
            warnings: Vec::new(),
            errors: Vec::new(),
            dropped_warnings: 0,
            dropped_errors: 0,
        }
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, kind: RemarkKind, place: Place, message: impl Into<String>) {
        if self.warnings.len() < MAX_REMARKS {
            let remark = self.remark(Severity::Warning, kind, place, message.into());
            self.warnings.push(remark);
        } else {
            self.dropped_warnings += 1;
        }
    }

    /// Adds an error, with the other lines that have to do with it.
    pub(super) fn error(
        &mut self,
        kind: RemarkKind,
        place: Place,
        message: impl Into<String>,
        related_lines: Vec<usize>,
    ) {
        if self.errors.len() < MAX_REMARKS {
            let remark = self.remark(Severity::Error, kind, place, message.into());
            self.errors.push(Remark { related_lines, ..remark });
        } else {
            self.dropped_errors += 1;
        }
    }

    /// Returns warnings and errors, each in the order of their lines.
    pub(super) fn finish(mut self) -> (Vec<Remark>, Vec<Remark>) {
        self.warnings.sort_by_key(|remark| (remark.line, remark.column));
        self.errors.sort_by_key(|remark| (remark.line, remark.column));
        let more = |dropped: usize| match dropped {
            1 => "1 more of this document is not listed".to_owned(),
            dropped => format!("{dropped} more of this document are not listed"),
        };
        if self.dropped_warnings > 0 {
            let message = more(self.dropped_warnings);
            let last =
                self.remark(Severity::Warning, RemarkKind::MoreRemarks, Place::last(&self.warnings), message);
            self.warnings.push(last);
        }
        if self.dropped_errors > 0 {
            let message = more(self.dropped_errors);
            let last =
                self.remark(Severity::Error, RemarkKind::MoreRemarks, Place::last(&self.errors), message);
            self.errors.push(last);
        }
        (self.warnings, self.errors)
    }

    fn remark(&self, severity: Severity, kind: RemarkKind, place: Place, message: String) -> Remark {
        Remark {
            file: self.file.clone(),
            line: place.line,
            column: place.column,
            kind,
            severity,
            message,
            related_lines: Vec::new(),
        }
    }
}

impl Place {
    fn last(remarks: &[Remark]) -> Place {
        remarks.last().map_or(Place::START, |remark| Place { line: remark.line, column: remark.column })
    }
}
