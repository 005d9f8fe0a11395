//! Answers of commands that cannot be used.

use crate::hook::{BreakClass, HookFailure};

/// How much of a bad answer is shown, in characters.
pub(crate) const SHOWN_CHARS: usize = 200;

/// Words a bad answer: what is wrong with it, and how it begins, `quoted_chars` of it in the message
/// itself, which is one line.
pub(crate) fn bad_output(problem: &str, bytes: &[u8], quoted_chars: usize) -> HookFailure {
    // A character has four bytes at most.
    let beginning = bytes.get(..SHOWN_CHARS * 4).unwrap_or(bytes);
    let shown: String = String::from_utf8_lossy(beginning).chars().take(SHOWN_CHARS).collect();
    let mut quoted: String = shown.trim().chars().take(quoted_chars).collect();
    if quoted.len() < shown.trim().len() {
        quoted.push('…');
    }
    let message =
        format!("what was printed cannot be used as an answer: {problem}; it begins with {quoted:?}");
    let mut failure = HookFailure::new(BreakClass::BadOutput, message);
    failure.details.push(shown);
    failure
}
