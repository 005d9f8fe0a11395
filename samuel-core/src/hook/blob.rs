//! What a text that must be TOON may be.

use crate::toon;

/// Says what keeps a blob from being TOON.
pub(crate) fn not_toon(blob: &str) -> Option<String> {
    let body = without_version(blob);
    let error = toon::from_str::<toon::Value>(body).err().filter(|_| !body.trim().is_empty())?;
    Some(format!("the text is no TOON: {error}"))
}

/// Takes off the version line that TOON files open with.
pub(crate) fn without_version(text: &str) -> &str {
    match text.split_once('\n') {
        Some((header, body)) if header.starts_with("# toon ") => body,
        _ => text,
    }
}
