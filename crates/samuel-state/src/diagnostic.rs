//! What was wrong with a file and could be worked around.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// One thing that is wrong with a file that could be read all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateDiagnostic {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The column in characters, from 1, where it is known.
    pub column: Option<usize>,
    /// What kind of thing it is.
    pub kind: DiagnosticKind,
    /// What is wrong, in words.
    pub reason: String,
    /// How many faults this stands for: 1, but for the last one of a file that
    /// has very many.
    pub count: usize,
}

impl StateDiagnostic {
    /// Says how many more faults a file has than those that are described.
    pub(crate) fn more(file: PathBuf, count: usize) -> Self {
        let reason = format!("and {count} more");
        Self { file, line: None, column: None, kind: DiagnosticKind::More, reason, count }
    }

    /// Says what is missing of a file that an earlier save has counted.
    pub(crate) fn of_gap(file: &Path, reason: String) -> Self {
        let kind = DiagnosticKind::CountMismatch;
        Self { file: file.to_owned(), line: None, column: None, kind, reason, count: 1 }
    }
}

/// Kinds of things that are wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// The version header is missing.
    MissingHeader,
    /// A row or a line was skipped; the next save keeps it as text.
    Skipped,
    /// A declared count disagrees with what follows.
    CountMismatch,
    /// Something is written in an unusual way and was understood.
    Unusual,
    /// Faults that are only counted.
    More,
}

impl fmt::Display for StateDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        for position in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{position}")?;
        }
        write!(f, ": {}", self.reason)
    }
}
