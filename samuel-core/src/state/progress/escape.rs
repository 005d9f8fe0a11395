//! Keeping any text on one line, and any word free of spaces.
//!
//! Backslashes stay what they are: agents write lines too, and theirs are
//! full of paths and expressions. So the signs that stand for a line feed, a
//! carriage return, a space and nothing are Unicode's control pictures, and
//! the sign for escape goes before one of them that is meant as it is.

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
            None if c == ESCAPE => text.extend(chars.next()),
            None if c == NOTHING => {}
            None => text.push(c),
        }
    }
    text
}
