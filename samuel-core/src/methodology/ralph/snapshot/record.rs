//! What a snapshot says, as `project-snapshot.toon` has it.

use serde::{Deserialize, Serialize};

/// What the agent is told of the project (design, run directory).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProjectSnapshot {
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The project in a few numbers.
    pub summary: SnapshotSummary,
    /// Files, by path: all of them, or a selection that covers the
    /// directories; `summary.notes` says which.
    pub files: Vec<SnapshotFile>,
    /// Source files that seem to have no tests, the longest first.
    pub test_gaps: Vec<String>,
    /// Code files longer than the guardrail, the longest first.
    pub large_files: Vec<LargeFile>,
    /// Files with the words TODO, FIXME or HACK, the most first.
    pub todo_counts: Vec<TodoCount>,
    /// The latest commits, the newest first.
    pub git_log: Vec<LogEntry>,
}

impl ProjectSnapshot {
    /// Returns the snapshot as a TOON object, without the header of a file.
    pub fn to_toon(&self) -> String {
        crate::toon::to_string(self).expect("a record of text, numbers and lists always has a TOON form")
    }
}

/// A project in a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSummary {
    /// How many files there are.
    pub files: u64,
    /// How many lines their text has.
    pub lines: u64,
    /// The languages of the code, the one with most files first.
    pub languages: Vec<String>,
    /// What was left out, and why; one sentence each.
    pub notes: Vec<String>,
}

/// A file of the inventory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SnapshotFile {
    /// Its path, relative to the project.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// What it is for, such as `source`.
    pub kind: String,
}

/// A file that is longer than the guardrail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LargeFile {
    /// Its path, relative to the project.
    pub path: String,
    /// Its lines.
    pub lines: u32,
}

/// A file with marks of unfinished work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TodoCount {
    /// Its path, relative to the project.
    pub path: String,
    /// How many marks it has.
    pub count: u32,
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Its abbreviated id.
    pub sha: String,
    /// The day it was made.
    pub date: String,
    /// The first line of its message, at most 100 characters.
    pub subject: String,
}
