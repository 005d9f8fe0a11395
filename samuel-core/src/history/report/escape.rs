//! Words of others as text of a page: they neither become elements nor hide anything.

use std::fmt::{Display, Write};

use crate::text::is_unseen;

/// Writes a text into HTML, as content or in a quoted attribute. Control characters, marks of
/// direction and invisible characters are shown as escapes.
pub(super) fn html(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => plain(out, c),
        }
    }
}

/// Returns a value as text for HTML.
pub(super) fn text(value: impl Display) -> String {
    let mut out = String::new();
    html(&mut out, &value.to_string());
    out
}

/// Returns somebody's words as text for Markdown, on one line: nothing in them is a mark, a link, a
/// mention or an element.
pub(super) fn markdown(value: impl Display) -> String {
    let (mut out, words) = (String::new(), value.to_string());
    let words = words.trim_start();
    // A list or a rule would begin.
    if words.starts_with(['-', '+', '=']) {
        out.push('\\');
    }
    let mut chars = words.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention would tell somebody, and a number close an issue. Both are looked for in the text
            // that was made of this one, so that an escape alone keeps from neither.
            '@' | '#' => {
                let _ = write!(out, "&#{};&#8203;", u32::from(c));
            }
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
    }
    out
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_www(text: &str) -> bool {
    text.get(text.len().saturating_sub(3)..).is_some_and(|end| end.eq_ignore_ascii_case("www"))
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
        assert_eq!(markdown("- [ ] 1.2"), "\\- \\[ \\] 1.2");
        assert_eq!((markdown("1. one"), markdown("1.2")), ("1\\. one".to_owned(), "1.2".to_owned()));
    }
}
