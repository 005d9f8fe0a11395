//! Lexical rules shared by encoder and decoder: quoting, escapes, bare keys.
//!
//! Nothing here knows about lines or structure. Numbers have their own file,
//! [`number`](super::number).

use std::borrow::Cow;

use super::number;

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
            0..=0x1F => SPECIAL | ESCAPE,
            b'"' | b'\\' => SPECIAL | ESCAPE,
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

#[inline]
fn has_special(bytes: &[u8], delimiter: u8) -> bool {
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        if any_special(chunk, delimiter) {
            return true;
        }
    }
    // Overlapping what was looked at before is cheaper than a loop over single bytes.
    if let (false, Some(last)) = (chunks.is_empty(), bytes.last_chunk::<16>()) {
        return !rest.is_empty() && any_special(last, delimiter);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return any_special(first, delimiter) || any_special(last, delimiter);
    }
    let mask = SPECIAL
        | match delimiter {
            b',' => COMMA,
            b'|' => PIPE,
            _ => 0,
        };
    let mut seen = 0;
    for &byte in rest {
        seen |= class(byte);
    }
    seen & mask != 0
}

/// Without a branch per byte the compiler compares all of them at once.
#[inline]
fn any_special<const N: usize>(chunk: &[u8; N], delimiter: u8) -> bool {
    let mut marks = [0_u8; N];
    for (mark, &byte) in marks.iter_mut().zip(chunk) {
        *mark = u8::from(byte < 0x20)
            | u8::from(byte == b'"')
            | u8::from(byte == b':')
            | u8::from(byte.wrapping_sub(b'[') < 3)
            | u8::from(byte == b'{')
            | u8::from(byte == b'}')
            | u8::from(byte == delimiter);
    }
    marks != [0; N]
}

/// Returns the place of the first byte that must be escaped, eight at a time.
#[inline]
fn find_escape(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let controls = word.wrapping_sub(LOW * 0x20) & !word & HIGH;
        let found = controls | zeros(word ^ (LOW * b'"' as u64)) | zeros(word ^ (LOW * b'\\' as u64));
        if found != 0 {
            // The lowest mark is exact; borrows spoil only those above it.
            return Some(bytes.len() - rest.len() + (found.trailing_zeros() / 8) as usize);
        }
        rest = tail;
    }
    let at = rest.iter().position(|byte| class(*byte) & ESCAPE != 0)?;
    Some(bytes.len() - rest.len() + at)
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
    out.push('"');
    let mut rest = text;
    while let Some(at) = find_escape(rest.as_bytes()) {
        // Escaped bytes are ASCII, so both cuts fall between characters.
        let (clean, tail) = rest.split_at(at);
        out.push_str(clean);
        let byte = tail.as_bytes().first().copied().unwrap_or_default();
        push_escape(out, byte);
        rest = tail.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escape(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
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
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else {
        return Ok(Cow::Borrowed(raw));
    };
    let mut out = String::with_capacity(raw.len());
    let mut done = 0;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(raw.get(done..at).unwrap_or_default());
        let (character, length) = escape(raw.get(at + 1..).unwrap_or_default()).ok_or(at)?;
        out.push(character);
        done = at + 1 + length;
        let tail = raw.as_bytes().get(done..).unwrap_or_default();
        next = memchr::memchr(b'\\', tail).map(|found| done + found);
    }
    out.push_str(raw.get(done..).unwrap_or_default());
    Ok(Cow::Owned(out))
}

/// Reads what follows a backslash: the character and the bytes it took.
fn escape(after: &str) -> Option<(char, usize)> {
    Some(match after.as_bytes().first()? {
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'"' => ('"', 1),
        b'\\' => ('\\', 1),
        b'u' => {
            let digits = after.get(1..5)?;
            // `from_str_radix` would also take a sign.
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            (char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 5)
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
                    text.push(b'"');
                    *text.get_mut(at).unwrap() = byte;
                    assert_eq!(find_escape(&text), Some(at));
                }
            }
        }
        assert_eq!(find_escape("#[]]!~\u{7f}\u{80}üß€😀 ".repeat(3).as_bytes()), None);
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
