//! Lexical rules shared by encoder and decoder: quoting, escapes, bare keys.
//!
//! Nothing here knows about lines or structure. Numbers have their own file,
//! [`number`](super::number).

use std::borrow::Cow;

use super::{number, scan};

/// Bytes that force quotes around a value: controls and `: " \ [ ] { }`.
const SPECIAL: u8 = 1;
/// The three delimiters, each with a bit of its own.
const COMMA: u8 = 2;
const PIPE: u8 = 4;
/// Bytes that a bare key may hold after its first.
const KEY: u8 = 8;
/// Bytes that must be escaped inside quotes.
const ESCAPE: u8 = 16;

const CLASS: [u8; 256] = classes();

#[expect(
    clippy::indexing_slicing,
    reason = "the table is built at compile time, where a bad index is an error"
)]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            0..=0x1F | b'"' | b'\\' => SPECIAL | ESCAPE,
            b':' | b'[' | b']' | b'{' | b'}' => SPECIAL,
            b',' => COMMA,
            b'|' => PIPE,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' => KEY,
            _ => 0,
        };
        byte += 1;
    }
    table
}

#[inline]
#[expect(clippy::indexing_slicing, reason = "a byte cannot exceed a table of 256 entries")]
const fn class(byte: u8) -> u8 {
    CLASS[byte as usize]
}

/// Tells whether `text` must be quoted as a value under `delimiter` (section 7.2).
#[inline]
pub(super) fn needs_quotes(text: &str, delimiter: u8) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    if matches!(first, b' ' | b'-' | b'#') || last == b' ' {
        return true;
    }
    if first.is_ascii_digit() || first == b'+' {
        if number::looks_numeric(bytes) {
            return true;
        }
    } else if matches!(text, "true" | "false" | "null") {
        return true;
    }
    has_special(bytes, delimiter)
}

/// Looks at 16 or 8 bytes at once, at the end at some for a second time, which
/// is cheaper than a loop over single bytes.
#[inline]
fn has_special(bytes: &[u8], delimiter: u8) -> bool {
    if let Some(last) = bytes.last_chunk::<16>() {
        let (chunks, rest) = bytes.as_chunks::<16>();
        return chunks.iter().any(|chunk| any_special(chunk, delimiter))
            || (!rest.is_empty() && any_special(last, delimiter));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        return scan::has_special(first, delimiter) || scan::has_special(last, delimiter);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return scan::has_special(u64::from(first) << 32 | u64::from(last), delimiter);
    }
    let mask = SPECIAL
        | match delimiter {
            b',' => COMMA,
            b'|' => PIPE,
            _ => 0,
        };
    bytes.iter().any(|byte| class(*byte) & mask != 0)
}

/// Without a branch per byte the compiler compares all of them at once.
#[inline]
fn any_special(chunk: &[u8; 16], delimiter: u8) -> bool {
    let mut marks = [0_u8; 16];
    for (mark, &byte) in marks.iter_mut().zip(chunk) {
        *mark = u8::from(byte < 0x20)
            | u8::from(byte == b'"')
            | u8::from(byte == b':')
            | u8::from(byte.wrapping_sub(b'[') < 3)
            | u8::from(byte == b'{')
            | u8::from(byte == b'}')
            | u8::from(byte == delimiter);
    }
    marks != [0; 16]
}

/// Tells whether `key` may stand without quotes (section 7.3).
#[inline]
pub(super) fn is_bare_key(key: &str) -> bool {
    let bytes = key.as_bytes();
    matches!(bytes.first(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_'))
        && bytes.iter().all(|&b| class(b) & KEY != 0)
}

/// Appends `key` as a header, field or entry key.
pub(super) fn push_key(out: &mut String, key: &str) {
    if is_bare_key(key) {
        out.push_str(key);
    } else {
        push_quoted(out, key);
    }
}

/// Appends `text` in quotes, escaped (section 7.1).
pub(super) fn push_quoted(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    out.push('"');
    let (mut from, mut rest) = (0, bytes);
    while !rest.is_empty() {
        let (start, mut marks);
        if let Some((word, tail)) = rest.split_first_chunk::<8>() {
            (start, marks) = (bytes.len() - rest.len(), scan::escapes(u64::from_le_bytes(*word)));
            rest = tail;
        } else {
            (start, marks) = last_escapes(bytes, rest.len());
            rest = &[];
        }
        while marks != 0 {
            // Escaped bytes are ASCII, so all cuts fall between characters.
            let at = start + scan::first(marks);
            out.push_str(text.get(from..at).unwrap_or_default());
            from = push_escape(out, bytes, at);
            marks &= marks - 1;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push('"');
}

/// Marks what must be escaped in the last `count` bytes, less than eight;
/// returns where the marked bytes begin.
#[inline]
fn last_escapes(bytes: &[u8], count: usize) -> (usize, u64) {
    if let Some(last) = bytes.last_chunk::<8>() {
        let marks = scan::escapes(u64::from_le_bytes(*last));
        return (bytes.len() - 8, marks & (!0 << (64 - 8 * count)));
    }
    let mut marks = 0;
    for byte in bytes.iter().rev() {
        marks = marks << 8 | u64::from(class(*byte) & ESCAPE) << 3;
    }
    (0, marks)
}

/// Appends the escape of one byte, or just the backslash if the byte begins
/// the next piece of the text; returns where that piece begins.
#[inline]
fn push_escape(out: &mut String, bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"' | b'\\') => {
            out.push('\\');
            at
        }
        control => {
            push_control(out, control.copied().unwrap_or_default());
            at + 1
        }
    }
}

#[cold]
fn push_control(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        control => {
            out.push_str("\\u00");
            for digit in [control >> 4, control & 15] {
                out.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
    }
}

/// Resolves the escapes of a quoted token's inside (section 7.1).
///
/// # Errors
/// Returns the byte offset of the first escape outside the fixed set.
pub(super) fn unescape(raw: &str) -> Result<Cow<'_, str>, usize> {
    let bytes = raw.as_bytes();
    let find = |from| scan::find(bytes, from, [b'\\']);
    let mut at = find(0);
    if at == raw.len() {
        return Ok(Cow::Borrowed(raw));
    }
    let mut out = String::with_capacity(raw.len());
    let mut from = 0;
    while at < raw.len() {
        out.push_str(raw.get(from..at).unwrap_or_default());
        if matches!(bytes.get(at + 1), Some(b'"' | b'\\')) {
            // What is escaped stands for itself and begins the next piece.
            from = at + 1;
            at = find(at + 2);
        } else {
            let (character, length) = escape(raw.get(at..).unwrap_or_default()).ok_or(at)?;
            out.push(character);
            from = at + length;
            at = find(from);
        }
    }
    out.push_str(raw.get(from..).unwrap_or_default());
    Ok(Cow::Owned(out))
}

/// Reads the escape that a text begins with: the character and the bytes it took.
fn escape(text: &str) -> Option<(char, usize)> {
    Some(match text.as_bytes().get(1)? {
        b'n' => ('\n', 2),
        b'r' => ('\r', 2),
        b't' => ('\t', 2),
        b'"' => ('"', 2),
        b'\\' => ('\\', 2),
        b'u' => {
            let digits = text.get(2..6)?;
            // `from_str_radix` would also take a sign.
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            (char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 6)
        }
        _ => return None,
    })
}

/// Finds the quote that closes the one at the start of `bytes`.
pub(super) fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

/// Finds `wanted` outside quoted spans, which may open anywhere (specification 4.2).
pub(super) fn find_unquoted(bytes: &[u8], wanted: u8) -> Option<usize> {
    let mut quoted = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            _ if byte == wanted && !quoted => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    #[test]
    fn quotes_are_used_only_where_the_text_could_be_misread() {
        for plain in ["a", "hello world", "a-b", "x#y", "1.2.3", "über", "0x10", "+", "a|b", ".5", "nullx"] {
            assert!(!needs_quotes(plain, b','), "{plain:?}");
        }
        for odd in [
            "", " a", "a ", "-", "-x", "#", "#x", "true", "null", "05", "+1", "1e5", "a:b", "a,b", "a\tb",
            "[", "\u{1}",
        ] {
            assert!(needs_quotes(odd, b','), "{odd:?}");
        }
        assert!(needs_quotes("a|b", b'|') && !needs_quotes("a,b", b'|'));
    }

    #[test]
    fn a_special_byte_is_found_at_every_position_of_long_text() {
        for length in 1..50 {
            for at in 0..length {
                let mut text = vec![b'x'; length];
                assert!(!needs_quotes(std::str::from_utf8(&text).unwrap(), b','));
                *text.get_mut(at).unwrap() = b'}';
                assert!(needs_quotes(std::str::from_utf8(&text).unwrap(), b','));
            }
        }
    }

    #[test]
    fn a_byte_to_escape_is_found_at_every_position() {
        for length in 1..30 {
            for at in 0..length {
                for byte in [b'"', b'\\', 0, b'\n', 0x1F] {
                    let mut text = vec![b'!'; length];
                    *text.get_mut(at).unwrap() = byte;
                    let (text, mut quoted) = (std::str::from_utf8(&text).unwrap(), String::new());
                    push_quoted(&mut quoted, text);
                    assert_eq!(unescape(quoted.get(1..quoted.len() - 1).unwrap()).unwrap(), text);
                    assert_eq!(quoted.find('\\'), Some(at + 1));
                }
            }
        }
        let plain = "#[]]!~\u{7f}\u{80}üß€😀 ".repeat(3);
        let mut quoted = String::new();
        push_quoted(&mut quoted, &plain);
        assert_eq!(quoted, format!("\"{plain}\""));
    }

    #[test]
    fn escapes_round_trip() {
        let text = "a\"b\\c\nd\re\tf\u{1f}g\u{0}é😀";
        let mut quoted = String::new();
        push_quoted(&mut quoted, text);
        assert_eq!(quoted, "\"a\\\"b\\\\c\\nd\\re\\tf\\u001fg\\u0000é😀\"");
        assert_eq!(unescape(quoted.trim_matches('"')).unwrap(), text);
    }

    #[test]
    fn escapes_outside_the_set_are_refused_with_their_place() {
        for (raw, at) in
            [("a\\x", 1), ("\\", 0), ("ab\\u12", 2), ("\\ud800", 0), ("\\u+123", 0), ("\\u00é", 0)]
        {
            assert_eq!(unescape(raw), Err(at), "{raw:?}");
        }
    }
}
