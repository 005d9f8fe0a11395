//! Words of others as text of a page: they neither become elements nor hide anything.

use std::fmt::{Display, Write};

use crate::text::is_unseen;

/// Writes a text into HTML, as content or in a quoted attribute. Control characters, marks of
/// direction and invisible characters are shown as escapes.
pub(super) fn html(out: &mut String, text: &str) {
    text.chars().for_each(|c| escaped(out, c));
}

fn escaped(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        c => plain(out, c),
    }
}

/// Returns the beginning of somebody's words as text for HTML, with an ellipsis where it is not all of them: what is
/// written is no longer than so many bytes, whatever its characters become.
pub(super) fn beginning(words: &str, max_bytes: usize) -> String {
    let mut out = String::new();
    for c in words.chars() {
        let before = out.len();
        escaped(&mut out, c);
        if out.len() > max_bytes {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

/// Returns the end of somebody's words as text for HTML, no longer than so many bytes.
pub(super) fn ending(words: &str, max_bytes: usize) -> String {
    let (mut from, mut size, mut one) = (words.len(), 0, String::new());
    for (at, c) in words.char_indices().rev() {
        one.clear();
        escaped(&mut one, c);
        size += one.len();
        if size > max_bytes {
            break;
        }
        from = at;
    }
    text(words.get(from..).unwrap_or_default())
}

/// Returns a value as text for HTML.
pub(super) fn text(value: impl Display) -> String {
    let mut out = String::new();
    html(&mut out, &value.to_string());
    out
}

/// Returns somebody's words as text for Markdown, on one line: nothing in them is a mark, a link, a
/// mention or an element. It is no longer than so many bytes, and ends with an ellipsis where it is not all.
pub(super) fn markdown(words: &str, max_bytes: usize) -> String {
    let (mut out, words) = (String::new(), words.trim_start());
    // A list or a rule would begin.
    if words.starts_with(['-', '+', '=']) {
        out.push('\\');
    }
    let mut chars = words.chars().peekable();
    while let Some(c) = chars.next() {
        let before = out.len();
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention would tell somebody, and a number close an issue. Both are looked for in the text
            // that was made of this one, so that an escape alone keeps from neither.
            '@' | '#' => {
                let _ = write!(out, "&#{};&#8203;", u32::from(c));
            }
            // It would name an issue, too.
            '-' if is_gh(&out) && chars.peek().is_some_and(char::is_ascii_digit) => out.push_str("-&#8203;"),
            // An address would become a link, and a number begin a list.
            '.' if is_www(&out) => out.push_str("\\."),
            '.' if is_number(&out) && chars.peek().is_none_or(|next| next.is_whitespace()) => {
                out.push_str("\\.");
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '!' | '|' | '~' | '$' | ':' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => plain(&mut out, c),
        }
        if out.len() > max_bytes {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_www(text: &str) -> bool {
    ends_with(text, "www")
}

fn is_gh(text: &str) -> bool {
    ends_with(text, "gh")
}

fn ends_with(text: &str, word: &str) -> bool {
    text.get(text.len().saturating_sub(word.len())..).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

fn plain(out: &mut String, c: char) {
    match c {
        '\n' | '\t' => out.push(c),
        // Writing to a string cannot fail.
        c if c.is_control() || is_unseen(c) => _ = write!(out, "{}", c.escape_unicode()),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(words: &str) -> String {
        super::markdown(words, usize::MAX)
    }

    const HOSTILE: &str = "<script>alert(1)</script> \u{1b}[2J \u{202e}txt.exe \"'& @me #1 [a](http://x)`";

    #[test]
    fn hostile_words_stay_words() {
        let page = text(HOSTILE);
        assert!(!page.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}']), "{page}");
        assert!(page.contains("\\u{1b}[2J") && page.contains("\\u{202e}txt.exe"), "{page}");
        let words = markdown(HOSTILE);
        assert!(!words.contains(['<', '@', '\u{1b}', '\u{202e}']), "{words}");
        assert!(words.contains("\\[a\\]\\(http\\://x\\)\\`"), "{words}");
        assert!(words.contains("&#64;&#8203;me") && words.contains("&#35;&#8203;1"), "{words}");
        assert_eq!(markdown("one\ntwo"), "one two");
        assert_eq!(markdown("see WWW.evil.example"), "see WWW\\.evil.example");
        assert_eq!(markdown("Fixes GH-12, gh-3 and gh-x"), "Fixes GH-&#8203;12, gh-&#8203;3 and gh-x");
        assert_eq!(markdown("- [ ] 1.2"), "\\- \\[ \\] 1.2");
        assert_eq!((markdown("1. one"), markdown("1.2")), ("1\\. one".to_owned(), "1.2".to_owned()));
    }
    #[test]
    fn words_are_cut_by_what_they_become() {
        let hostile = "<&'\u{202e}".repeat(100);
        for max in [0, 3, 4, 50, 400] {
            let (begin, end) = (beginning(&hostile, max), ending(&hostile, max));
            assert!(begin.len() <= max + '…'.len_utf8() && begin.ends_with('…'), "{max}: {begin}");
            assert!(end.len() <= max && text(&hostile).ends_with(&end), "{max}: {end}");
            let text = super::markdown(&hostile, max);
            assert!(text.len() <= max + '…'.len_utf8() && text.ends_with('…'), "{max}: {text}");
        }
        assert_eq!((beginning("a<b", 6), ending("a<b", 6)), ("a&lt;b".to_owned(), "a&lt;b".to_owned()));
        assert_eq!((beginning("a<b", 5), ending("a<b", 5)), ("a&lt;…".to_owned(), "&lt;b".to_owned()));
        assert_eq!(
            (super::markdown("a@b", 14), super::markdown("a@b", 12)),
            ("a&#64;&#8203;b".to_owned(), "a…".to_owned())
        );
    }
}
