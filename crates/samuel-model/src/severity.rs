//! How bad something is that was found in what a person or an agent wrote.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// What it was found in can be used; something may not be as it was meant.
    Warning,
    /// It must be corrected first.
    Error,
}
