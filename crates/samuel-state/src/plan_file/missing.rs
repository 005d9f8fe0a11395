//! Rows that a table of tasks announces and that are not in the file.
//!
//! A file that was cut short at the end of a row looks whole but for the number
//! above the table. Each save writes that number anew, so what is missing is
//! noted as a line that cannot be read: there may be tasks left to do.

use std::fmt;

use samuel_toon::{Action, ErrorKind};

/// How many rows are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    rows: u64,
    /// How many there should be.
    pub(super) declared: u64,
}

impl Missing {
    /// Finds in the faults of a file whether there are fewer rows than announced,
    /// besides those that are there and cannot be read.
    pub(super) fn among(faults: &[samuel_toon::Diagnostic]) -> Option<Self> {
        let of_tasks = |fault: &&samuel_toon::Diagnostic| fault.path == "tasks" || fault.path.is_empty();
        let counts = faults.iter().filter(of_tasks).find_map(|fault| match fault.kind {
            ErrorKind::CountMismatch { declared, found } => Some((declared, found)),
            _ => None,
        });
        let (declared, found) = counts?;
        let uncounted = faults.iter().filter(|fault| is_uncounted(fault)).count();
        let rows = declared.saturating_sub(found).saturating_sub(uncounted as u64);
        (rows > 0).then_some(Self { rows, declared })
    }

    /// Reads the note of an earlier save.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (rows, declared) = line.strip_suffix(SUFFIX)?.split_once(" of ")?;
        Some(Self { rows: rows.parse().ok()?, declared: declared.parse().ok()? })
    }
}

/// Says whether a fault is a line that may be a row, and was not counted as one. A row
/// that is recognised as one is counted, whatever is wrong with it.
fn is_uncounted(fault: &samuel_toon::Diagnostic) -> bool {
    let is_no_row =
        matches!(fault.kind, ErrorKind::InvalidUtf8 | ErrorKind::OverIndented { .. } | ErrorKind::StrayLine);
    fault.action == Action::Skipped && is_no_row
}

const SUFFIX: &str = " tasks are missing";

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}{SUFFIX}", self.rows, self.declared)
    }
}
