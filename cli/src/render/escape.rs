//! Text of others, so that it can be shown.
//!
//! Titles, messages and file names come from files and agents. Control
//! characters would act on a terminal, directional ones would show another text
//! than there is, and invisible ones would hide in it, so all of them are shown
//! as escapes. Renderers use [`safe`] for what has to stay on one line; what
//! leaves the process goes through [`safe_lines`] in any case
//! ([`terminal`](crate::terminal)). JSON has escapes of its own, with which it
//! reads the same as before ([`safe_json`]).

use std::{borrow::Cow, fmt::Write};

use samuel_core::text::is_unseen;

/// Returns a text as one line without anything that acts on a terminal.
pub(crate) fn safe(text: &str) -> String {
    escaped(text, |_| false).into_owned()
}

/// Does the same for somebody's words, whose line breaks are no more than spaces.
pub(crate) fn safe_words(text: &str) -> String {
    safe(&text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Does the same for several lines: line breaks and tabs stay.
pub(crate) fn safe_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Escapes in JSON what is in its texts. Outside of them there is nothing to
/// escape but line breaks and tabs, so it is the same JSON.
pub(crate) fn safe_json(json: &str) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_unseen(c) || is_joiner(c));
    if json.chars().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_plain(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| !stays(c) && (c.is_control() || is_unseen(c) || is_joiner(c));
    // Most texts hold nothing of the kind.
    if !text.chars().any(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = is_joiner(c) && joinable(before) && joinable(chars.peek().copied());
        if bad(c) && !joins {
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Says whether a character is a joiner or a non-joiner, which emoji and some
/// scripts are written with.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Says whether a joiner beside this character may be one that is needed.
fn joinable(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_ascii() && !c.is_control() && !is_unseen(c) && !is_joiner(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_would_act_on_a_terminal_is_shown_instead() {
        assert_eq!(safe("a\u{1b}[2J\rb\u{9b}0m\u{7f}"), "a\\u{1b}[2J\\u{d}b\\u{9b}0m\\u{7f}");
        assert_eq!(safe_words("too big\n\n  for \u{7}one\r\n"), "too big for \\u{7}one");
        assert_eq!(safe("x\u{202e}fdp.exe"), "x\\u{202e}fdp.exe");
        assert_eq!(safe("one\ntwo\u{2028}"), "one\\u{a}two\\u{2028}");
        assert_eq!(safe("a\u{200d}b\u{200b}\u{e0041}"), "a\\u{200d}b\\u{200b}\\u{e0041}");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        let text = "naïve 日本語 🚀 «quoted» family 👩\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم";
        assert_eq!(safe(text), text);
        assert_eq!(safe_lines("one\n\ttwo"), "one\n\ttwo");
    }

    #[test]
    fn json_says_the_same_in_other_letters() {
        let json = "{\n  \"a\u{9b}\": \"\u{202e}\u{200d}\u{e0041}\u{7f} 👩\"\n}";
        let escaped = "{\n  \"a\\u009b\": \"\\u202e\\u200d\\udb40\\udc41\\u007f 👩\"\n}";
        assert_eq!(safe_json(json), escaped);
    }

    fn acts(c: char) -> bool {
        !matches!(c, '\n' | '\t') && (c.is_control() || is_unseen(c))
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left_of_any_text(text in any::<String>(), hostile in "[\\x00-\\x9f\\u200b-\\u2069\\ufeff\\u{e0020}é]{0,20}") {
            for text in [text, hostile] {
                prop_assert!(!safe_lines(&text).chars().any(acts));
                prop_assert!(!safe(&text).chars().any(|c| acts(c) || matches!(c, '\n' | '\t')));
                // What was shown once can be shown again.
                prop_assert_eq!(safe(&safe(&text)), safe(&text));
                let json = serde_json::to_string(&text).unwrap_or_default();
                let shown = safe_json(&json);
                prop_assert!(!shown.chars().any(|c| acts(c) || is_joiner(c)));
                prop_assert_eq!(serde_json::from_str::<String>(&shown).ok(), Some(text));
            }
        }
    }
}
