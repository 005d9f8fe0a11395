//! Numbers without loss: the token grammar, canonical digits, [`Number`].
//!
//! A [`Number`] is an integer up to 128 bits, a float, or, beyond both, the
//! digits as written. [`push_f64`] writes floats the way the specification
//! wants them (section 2): shortest digits, no exponent between 1e-6 and 1e21.

use std::fmt;

/// What the number grammar of section 4 says about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Digits with an optional minus sign.
    Integer,
    /// With a fraction or an exponent.
    Decimal,
}

/// Classifies a token, or returns `None` when it is text.
pub(super) fn shape(token: &[u8]) -> Option<Shape> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let (shape, leading_zero) = scan(digits)?;
    (!leading_zero).then_some(shape)
}

/// Reads the usual float: up to 15 digits with at most one point. Both the
/// digits and the power of ten are exact then, and so is their quotient.
#[inline]
pub(super) fn short_decimal(token: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, body) = match token {
        [b'-', body @ ..] => (true, body),
        body => (false, body),
    };
    if body.len() > 16 || matches!(body, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let mut digits = 0_u64;
    let mut point = None;
    for (at, byte) in body.iter().enumerate() {
        match byte {
            b'0'..=b'9' => digits = digits * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() && at > 0 => point = Some(at),
            _ => return None,
        }
    }
    let decimals = point.map_or(Some(0), |at| (body.len() - at).checked_sub(2).map(|more| more + 1))?;
    if digits >= 1_000_000_000_000_000 || body.is_empty() || digits == 0 {
        return None;
    }
    let value = digits as f64 / POWERS.get(decimals)?;
    Some(if negative { -value } else { value })
}

/// Tells whether text must be quoted because it looks like a number (section
/// 7.2): the grammar of [`shape`] plus a `+` sign and leading zeros.
pub(super) fn looks_numeric(text: &[u8]) -> bool {
    let digits = match text.split_first() {
        Some((b'+' | b'-', rest)) => rest,
        _ => text,
    };
    scan(digits).is_some()
}

/// Reads unsigned digits, fraction and exponent; also tells of forbidden leading zeros.
fn scan(text: &[u8]) -> Option<(Shape, bool)> {
    let (integer, mut rest) = split_digits(text)?;
    let leading_zero = integer.len() > 1 && integer.first() == Some(&b'0');
    if rest.is_empty() {
        return Some((Shape::Integer, leading_zero));
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        rest = split_digits(fraction)?.1;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let digits = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        rest = split_digits(digits)?.1;
    }
    rest.is_empty().then_some((Shape::Decimal, leading_zero))
}

fn split_digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Appends a float in canonical form; what is not finite becomes `null` (section 3).
pub(super) fn push_f64(out: &mut String, value: f64) {
    if !value.is_finite() {
        out.push_str("null");
    } else {
        push_shortest(out, zmij::Buffer::new().format_finite(value));
    }
}

/// As [`push_f64`], with the digits that identify a single-precision float.
pub(super) fn push_f32(out: &mut String, value: f32) {
    if !value.is_finite() {
        out.push_str("null");
    } else {
        push_shortest(out, zmij::Buffer::new().format_finite(value));
    }
}

/// Rewrites shortest digits, which may use an exponent anywhere, canonically.
fn push_shortest(out: &mut String, shortest: &str) {
    if !shortest.contains('e') {
        let plain = shortest.strip_suffix(".0").unwrap_or(shortest);
        out.push_str(if plain == "-0" { "0" } else { plain });
        return;
    }
    let decimal = Decimal::read(shortest);
    decimal.push(out);
}

/// A decimal as its significant digits `d1 d2 …` and the power of ten of `0.d1d2…`.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    /// Reads a token that fits the number grammar.
    fn read(token: &str) -> Self {
        let (negative, body) = token.strip_prefix('-').map_or((false, token), |rest| (true, rest));
        let (mantissa, exponent) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
        // An exponent beyond i64 needs a document of its own; both ends saturate.
        let limit = if exponent.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
        let exponent = exponent.parse::<i64>().unwrap_or(limit).clamp(i64::MIN / 4, i64::MAX / 4);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let leading = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, point: 0 };
        }
        let point = whole.len() as i64 - leading as i64 + exponent;
        Self { negative, digits, point }
    }

    fn push(&self, out: &mut String) {
        if self.digits.is_empty() {
            out.push('0');
            return;
        }
        if self.negative {
            out.push('-');
        }
        let count = self.digits.len() as i64;
        match self.point {
            // 1e-6 is 0.1 times ten to the power of minus five.
            -5..=0 => {
                out.push_str("0.");
                out.extend(std::iter::repeat_n('0', self.point.unsigned_abs() as usize));
                out.push_str(&self.digits);
            }
            point @ 1..=21 if point >= count => {
                out.push_str(&self.digits);
                out.extend(std::iter::repeat_n('0', (point - count) as usize));
            }
            point @ 1..=21 => {
                let (whole, fraction) = self.digits.split_at(point as usize);
                out.push_str(whole);
                out.push('.');
                out.push_str(fraction);
            }
            point => {
                let (first, rest) = self.digits.split_at(1);
                out.push_str(first);
                if !rest.is_empty() {
                    out.push('.');
                    out.push_str(rest);
                }
                out.push_str(if point > 0 { "e+" } else { "e-" });
                out.push_str(itoa::Buffer::new().format((point - 1).unsigned_abs()));
            }
        }
    }
}

/// A number of any size, kept without loss.
///
/// Integers up to 128 bits and floats that survive a round trip are held as
/// such; anything else keeps its digits as written. Equality is mathematical:
/// `1`, `1.0` and `1e0` are equal.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    Whole(i128),
    /// Always above `i128::MAX`.
    Big(u128),
    /// Finite, and never a whole number below 1e21.
    Float(f64),
    /// Fits the number grammar.
    Text(Box<str>),
}

impl Number {
    /// Reads a token of the number grammar (section 4), or returns `None`.
    pub fn parse(token: &str) -> Option<Self> {
        Some(match shape(token.as_bytes())? {
            Shape::Integer => Self::from_integer(token),
            Shape::Decimal => Self::from_decimal(token),
        })
    }

    /// Reads a token and keeps its spelling when that is not the canonical one.
    pub(super) fn parse_as_written(token: &str) -> Option<Self> {
        let number = Self::parse(token)?;
        Some(if number.to_string() == token { number } else { Self(Repr::Text(token.into())) })
    }

    /// Converts a float, or returns `None` when it is not finite.
    pub fn from_f64(value: f64) -> Option<Self> {
        /// Above this, neighbouring floats are more than one apart.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !value.is_finite() {
            return None;
        }
        if value.trunc() != value || value.abs() >= 1e21 {
            return Some(Self(Repr::Float(value)));
        }
        if value.abs() < EXACT {
            return Some(Self::from(value as i64));
        }
        let mut digits = String::new();
        push_f64(&mut digits, value);
        Some(Self::from_integer(&digits))
    }

    fn from_integer(token: &str) -> Self {
        if let Ok(value) = token.parse::<i64>() {
            Self::from(value)
        } else if let Ok(value) = token.parse::<i128>() {
            Self::from(value)
        } else if let Ok(value) = token.parse::<u128>() {
            Self::from(value)
        } else {
            Self(Repr::Text(token.into()))
        }
    }

    fn from_decimal(token: &str) -> Self {
        // Fifteen digits always survive a double; only longer tokens need a look.
        const SAFE_DIGITS: usize = 15;
        let Ok(value) = token.parse::<f64>() else {
            return Self(Repr::Text(token.into()));
        };
        let Some(number) = Self::from_f64(value) else {
            return Self(Repr::Text(token.into()));
        };
        let exact = (token.len() <= SAFE_DIGITS && !token.contains(['e', 'E']))
            || Decimal::read(token) == Decimal::read(&number.to_string());
        if exact { number } else { Self(Repr::Text(token.into())) }
    }

    /// Returns the value when it is a whole number from 0 to `u64::MAX`.
    pub fn as_u64(&self) -> Option<u64> {
        self.whole()
    }

    /// Returns the value when it is a whole number within `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        self.whole()
    }

    /// Returns the value when it is a whole number within `u128`.
    pub fn as_u128(&self) -> Option<u128> {
        self.whole()
    }

    /// Returns the value when it is a whole number within `i128`.
    pub fn as_i128(&self) -> Option<i128> {
        self.whole()
    }

    fn whole<T: TryFrom<i128> + TryFrom<u128>>(&self) -> Option<T> {
        match &self.0 {
            Repr::Whole(value) => T::try_from(*value).ok(),
            Repr::Big(value) => T::try_from(*value).ok(),
            Repr::Float(_) => None,
            Repr::Text(text) => Self::parse(text).filter(|number| !number.is_text())?.whole(),
        }
    }

    /// Returns the nearest float, which is infinite for numbers beyond its range.
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            Repr::Whole(value) => *value as f64,
            Repr::Big(value) => *value as f64,
            Repr::Float(value) => *value,
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Tells whether the digits are kept as written because no type holds them
    /// or because the decoder was asked to keep the spelling.
    pub fn is_text(&self) -> bool {
        matches!(self.0, Repr::Text(_))
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.0, Repr::Whole(_) | Repr::Big(_))
    }

    /// Tells whether a type of 64 bits holds it, as every format of serde can.
    pub(super) fn fits_64(&self) -> bool {
        match self.0 {
            Repr::Whole(value) => u64::try_from(value).is_ok() || i64::try_from(value).is_ok(),
            Repr::Float(_) => true,
            Repr::Big(_) | Repr::Text(_) => false,
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(Repr::Whole(value.into()))
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Repr::Whole(value.into()))
    }
}

impl From<u128> for Number {
    fn from(value: u128) -> Self {
        Self(i128::try_from(value).map_or(Repr::Big(value), Repr::Whole))
    }
}

impl From<i128> for Number {
    fn from(value: i128) -> Self {
        Self(Repr::Whole(value))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Whole(value) => value.fmt(f),
            Repr::Big(value) => value.fmt(f),
            Repr::Float(value) => {
                let mut text = String::new();
                push_f64(&mut text, *value);
                f.write_str(&text)
            }
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Whole(a), Repr::Whole(b)) => a == b,
            (Repr::Float(a), Repr::Float(b)) => a == b,
            _ => Decimal::read(&self.to_string()) == Decimal::read(&other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    fn canonical(value: f64) -> String {
        let mut out = String::new();
        push_f64(&mut out, value);
        out
    }

    #[test]
    fn floats_are_plain_between_a_millionth_and_1e21() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (1e6, "1000000"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (1e-7, "1e-7"),
            (5e-324, "5e-324"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(canonical(value), text);
        }
    }

    #[test]
    fn the_short_way_reads_what_the_long_way_reads() {
        for text in ["1", "-1.5", "0.1", "123456789.125", "12345678901234.5", "0.000001", "-9.99", "100"] {
            assert_eq!(short_decimal(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for text in ["", "-", ".5", "1.", "1.2.3", "01", "00.5", "1e5", "1234567890123456", "x", "+1", "-.5"]
        {
            assert_eq!(short_decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn tokens_outside_the_grammar_are_text() {
        for text in
            ["", "-", ".5", "1.", "+5", "05", "-05", "1e", "1e+", "0x1", "1_0", "Infinity", "1.2.3", "٣"]
        {
            assert!(Number::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn equality_is_mathematical() {
        for (a, b) in
            [("1", "1.0"), ("1e3", "1000"), ("-0", "0"), ("1e21", "1000000000000000000000"), ("0.10", "0.1")]
        {
            assert_eq!(Number::parse(a), Number::parse(b), "{a} {b}");
        }
        assert_ne!(Number::parse("1"), Number::parse("1.0000000000000000001"));
    }

    #[test]
    fn digits_beyond_every_type_are_kept() {
        for text in
            ["340282366920938463463374607431768211456", "1e400", "0.12345678901234567890123", "1e-400"]
        {
            assert_eq!(Number::parse(text).unwrap().to_string(), text);
        }
        let most = u128::MAX.to_string();
        assert_eq!(Number::parse(&most).unwrap().as_u128(), Some(u128::MAX));
    }

    #[test]
    fn the_spelling_is_kept_on_request() {
        assert_eq!(Number::parse_as_written("1.10").unwrap().to_string(), "1.10");
        assert_eq!(Number::parse_as_written("1.10"), Number::parse("1.1"));
        assert_eq!(Number::parse_as_written("12").unwrap().as_u64(), Some(12));
    }
}
