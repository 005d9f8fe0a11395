//! What texts in an answer may be that must be of one form.

use samuel_model::payload::AgentFailure;
use samuel_toon as toon;

/// Says what keeps a blob from being TOON.
pub(crate) fn not_toon(blob: &str) -> Option<String> {
    let body = without_version(blob);
    let error = toon::from_str::<toon::Value>(body).err().filter(|_| !body.trim().is_empty())?;
    Some(format!("the text is no TOON: {error}"))
}

/// Says what keeps the end of a usage limit from being a moment.
pub(crate) fn not_a_moment(failure: &AgentFailure) -> Option<String> {
    let resets_at = failure.resets_at.as_deref()?;
    let error = resets_at.parse::<jiff::Timestamp>().err()?;
    Some(format!("failure.resets_at is not a timestamp such as 2026-11-21T10:00:00Z: {error}"))
}

/// Returns the text of a TOON file without its version line (`# toon ...`). A text without such a line is returned whole.
pub fn without_version(text: &str) -> &str {
    match text.split_once('\n') {
        Some((header, body)) if header.starts_with("# toon ") => body,
        _ => text,
    }
}
