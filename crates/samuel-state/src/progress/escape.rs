//! Keeping any text on one line, and any word free of spaces.
//!
//! Backslashes stay what they are: agents write lines too, and theirs are
//! full of paths and expressions. So the signs that stand for a line feed, a
//! carriage return, a space and nothing are Unicode's control pictures, and
//! the sign for escape goes before one of them that is meant as it is. Whatever else is not seen, such as
//! what a terminal takes for a command, is written as the sign for escape with its number: `␛{1b}`.

use std::fmt::Write as _;

use samuel_model::text::is_odd;

const ESCAPE: char = '␛';
const NOTHING: char = '␀';
const SIGNS: [(char, char); 3] = [('\n', '␊'), ('\r', '␍'), (' ', '␠')];

/// Writes a text as a part of a line.
pub(super) fn text(text: &str) -> String {
    escape(text, |c| c != ' ')
}

/// Writes a text as one word of a line.
pub(super) fn word(text: &str) -> String {
    if text.is_empty() { NOTHING.into() } else { escape(text, |_| true) }
}

fn escape(text: &str, replace: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match SIGNS.iter().find(|(plain, _)| *plain == c) {
            Some((_, sign)) if replace(c) => line.push(*sign),
            // A tab moves nothing but what follows it.
            None if is_odd(c) && c != '\t' => _ = write!(line, "{ESCAPE}{{{:x}}}", u32::from(c)),
            _ => {
                if is_sign(c) {
                    line.push(ESCAPE);
                }
                line.push(c);
            }
        }
    }
    line
}

fn is_sign(c: char) -> bool {
    c == ESCAPE || c == NOTHING || SIGNS.iter().any(|(_, sign)| *sign == c)
}

/// Reads what [`text`] or [`word`] wrote.
pub(super) fn unescape(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match SIGNS.iter().find(|(_, sign)| *sign == c) {
            Some((plain, _)) => text.push(*plain),
            None if c == ESCAPE => match numbered(chars.as_str()) {
                Some((odd, rest)) => {
                    text.push(odd);
                    chars = rest.chars();
                }
                None => text.extend(chars.next()),
            },
            None if c == NOTHING => {}
            None => text.push(c),
        }
    }
    text
}

/// Reads the number of a character, and returns what follows it.
fn numbered(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = text.strip_prefix('{')?.split_once('}')?;
    let odd = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    Some((odd, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_takes_for_a_command_is_told_and_read_again() {
        let said = "a\u{1b}]0;pwn\u{7}\u{1b}[2J\u{9b}2J\0\u{7f}\u{202e}b\tc ␛{1b} {7} ␛␛";
        for line in [text(said), word(said)] {
            assert!(!line.chars().any(|c| is_odd(c) && c != '\t'), "{line:?}");
            assert_eq!(unescape(&line), said);
        }
        assert_eq!(text("\u{1b}[2J\n"), "␛{1b}[2J␊");
        // As it was written before there were numbers.
        assert_eq!(unescape("␛␛␛␊␛␠"), "␛␊␠");
    }
}
