//! Reasons on one line.

use super::control_files::ControlFileChange;

/// How many reasons are told.
const REASONS: usize = 5;

/// Writes the first of some reasons, and how many more there are.
pub(super) fn listed(reasons: &[String]) -> String {
    let told: Vec<&str> = reasons.iter().take(REASONS).map(String::as_str).collect();
    let more = reasons.len().saturating_sub(REASONS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    told.join("; ") + &more
}

/// Writes the first of some changes, and how many more there are.
pub(super) fn listed_changes(changes: &[ControlFileChange]) -> String {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    listed(&changes)
}
