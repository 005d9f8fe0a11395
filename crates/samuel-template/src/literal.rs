//! The literals of Go: strings, characters and numbers.
//!
//! Functions return `None` for what is no literal; [`scan`](crate::scan) knows
//! the place and makes the error.

use serde_json::{Number, Value as Json};

/// Finds the length of a quoted literal's body, up to its closing quote.
///
/// Only raw strings go over several lines or take a backslash as it is.
pub(crate) fn quoted_length(body: &str, quote: char) -> Option<usize> {
    if quote == '`' {
        return body.find(quote);
    }
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Resolves the escapes of an interpreted string.
pub(crate) fn unescape(body: &str, quote: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((unit, length)) = next_unit(rest, quote) {
        match unit {
            Unit::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Byte(byte) => bytes.push(byte),
        }
        rest = rest.get(length..)?;
    }
    if !rest.is_empty() {
        return None;
    }
    // Byte escapes may build any bytes, but prompts are text.
    String::from_utf8(bytes).ok()
}

/// Reads the body of a character literal as its code point.
pub(crate) fn character(body: &str) -> Option<i64> {
    let (unit, length) = next_unit(body, '\'')?;
    (length == body.len()).then_some(match unit {
        Unit::Char(c) => i64::from(u32::from(c)),
        Unit::Byte(byte) => i64::from(byte),
    })
}

enum Unit {
    Char(char),
    Byte(u8),
}

/// Reads one character or escape; returns it with the bytes it took.
fn next_unit(text: &str, quote: char) -> Option<(Unit, usize)> {
    let first = text.chars().next()?;
    if first != '\\' {
        return Some((Unit::Char(first), first.len_utf8()));
    }
    let kind = text.get(1..)?.chars().next()?;
    let simple = |c| Some((Unit::Char(c), 2));
    match kind {
        'a' => simple('\x07'),
        'b' => simple('\x08'),
        'f' => simple('\x0c'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\x0b'),
        '\\' => simple('\\'),
        _ if kind == quote => simple(quote),
        'x' => digits(text, 2, 2, 16).and_then(byte_unit(4)),
        '0'..='7' => digits(text, 1, 3, 8).and_then(byte_unit(4)),
        'u' => digits(text, 2, 4, 16).and_then(char_unit(6)),
        'U' => digits(text, 2, 8, 16).and_then(char_unit(10)),
        _ => None,
    }
}

fn digits(text: &str, start: usize, count: usize, radix: u32) -> Option<u32> {
    let digits = text.get(start..start + count)?;
    digits.chars().all(|c| c.is_digit(radix)).then_some(())?;
    u32::from_str_radix(digits, radix).ok()
}

fn byte_unit(length: usize) -> impl Fn(u32) -> Option<(Unit, usize)> {
    move |value| Some((Unit::Byte(u8::try_from(value).ok()?), length))
}

fn char_unit(length: usize) -> impl Fn(u32) -> Option<(Unit, usize)> {
    move |value| Some((Unit::Char(char::from_u32(value)?), length))
}

/// Finds the length of what looks like a number, right or wrong.
pub(crate) fn number_length(text: &str) -> usize {
    let unsigned = text.trim_start_matches(['+', '-']);
    let hexadecimal = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let mut previous = None;
    for (at, c) in text.char_indices() {
        let exponent = match previous {
            Some('e' | 'E') => !hexadecimal,
            Some('p' | 'P') => hexadecimal,
            _ => at == 0,
        };
        let belongs = c.is_alphanumeric() || matches!(c, '.' | '_') || (exponent && matches!(c, '+' | '-'));
        if !belongs {
            return at;
        }
        previous = Some(c);
    }
    text.len()
}

/// Reads a number as Go does: `0x`, `0b`, `0o` and a leading zero choose the base.
pub(crate) fn number(text: &str) -> Option<Json> {
    if text.starts_with('_') || text.ends_with('_') || text.contains("__") {
        return None;
    }
    let plain = text.replace('_', "");
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let (radix, digits) = match unsigned.get(..2) {
        Some("0x" | "0X") => (16, unsigned.get(2..)?),
        Some("0b" | "0B") => (2, unsigned.get(2..)?),
        Some("0o" | "0O") => (8, unsigned.get(2..)?),
        _ if unsigned.starts_with('0') && unsigned.chars().all(|c| c.is_ascii_digit()) => (8, unsigned),
        _ => (10, unsigned),
    };
    let sign = if plain.starts_with('-') { "-" } else { "" };
    if digits.chars().all(|c| c.is_digit(radix)) {
        return i64::from_str_radix(&format!("{sign}{digits}"), radix).ok().map(Json::from);
    }
    // What Rust reads beyond Go's decimal floats (`inf`, `nan`) has other letters.
    let decimal = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if radix != 10 || !decimal {
        return None;
    }
    Number::from_f64(plain.parse().ok()?).map(Json::Number)
}
