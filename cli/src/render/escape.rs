//! Text of others on a terminal.
//!
//! Titles, messages and file names come from files and agents. Control
//! characters would move the cursor, and bidirectional overrides would show
//! another text than there is, so both are shown as escapes.

use std::fmt::Write;

/// Returns a text as one line without anything that acts on a terminal.
pub(crate) fn safe(text: &str) -> String {
    escaped(text, |_| false)
}

/// Does the same for several lines: line breaks and tabs stay.
pub(crate) fn safe_lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !stays(c) && (c.is_control() || is_deceptive(c)) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Says whether a character is invisible or changes the direction of text.
fn is_deceptive(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
            | '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_shown_instead() {
        assert_eq!(safe("a\u{1b}[2J\rb"), "a\\u{1b}[2J\\u{d}b");
        assert_eq!(safe("x\u{202e}fdp.exe"), "x\\u{202e}fdp.exe");
        assert_eq!(safe("one\ntwo"), "one\\u{a}two");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "naïve 日本語 🚀 «quoted» family 👩\u{200d}👩";
        assert_eq!(safe(text), text);
        assert_eq!(safe_lines("one\n\ttwo"), "one\n\ttwo");
    }
}
