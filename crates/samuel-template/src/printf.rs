//! The function `printf`, with the verbs of Go that make sense for a context.
//!
//! Verbs: `%v %+v %s %q %d %b %o %x %X %c %U %t %e %E %f %F %g %G %%`, with the
//! flags `-`, `+`, `0`, `#` and space, a width and a precision. Where Go writes
//! a complaint into the text (`%!d(string=x)`), this is an error, because
//! nobody proof-reads a prompt. A value that is not there is empty under any
//! verb.

use std::fmt::Write;

use crate::{
    builtins::Call,
    problem::{EvaluationProblem, Failure},
    text::{Text, float_text, signed_exponent, write_value},
    value::Value,
};

/// The largest width and precision.
const WIDEST: usize = 1000;

/// One `%` of a format.
#[derive(Debug, Default)]
struct Directive {
    minus: bool,
    plus: bool,
    zero: bool,
    sharp: bool,
    space: bool,
    width: usize,
    precision: Option<usize>,
    verb: char,
    spelling: String,
}

/// Formats the arguments after the first by the format that the first is.
pub(crate) fn printf<'v>(call: &Call<'_, 'v>) -> Result<Value<'v>, Failure> {
    let format = call.argument(0);
    let format = format.as_str().ok_or_else(|| call.wrong_kind("a string as format", format))?;
    call.charge(format.len())?;
    let mut values = call.arguments.iter().skip(1);
    let mut rest = format;
    let mut text = call.text();
    while let Some(at) = rest.find('%') {
        let (plain, from) = rest.split_at(at);
        text.write_str(plain)?;
        let (directive, length) = Directive::parse(from)?;
        rest = from.get(length..).unwrap_or("");
        if directive.verb == '%' {
            text.write_char('%')?;
            continue;
        }
        let value = values.next().ok_or_else(|| directive.fault("has no argument"))?;
        directive.write(&mut text, value)?;
    }
    text.write_str(rest)?;
    if values.next().is_some() {
        let (verb, reason) = (format.to_owned(), "has fewer verbs than arguments");
        return Err(EvaluationProblem::BadFormat { verb, reason }.into());
    }
    Ok(text.into_string().into())
}

impl Directive {
    /// Reads a directive from its `%` on; returns it with its length.
    fn parse(from: &str) -> Result<(Directive, usize), Failure> {
        let mut directive = Directive::default();
        let mut at = 1;
        let next = |at: usize| from.get(at..).and_then(|rest| rest.chars().next());
        while let Some(flag) = next(at) {
            match flag {
                '-' => directive.minus = true,
                '+' => directive.plus = true,
                '0' => directive.zero = true,
                '#' => directive.sharp = true,
                ' ' => directive.space = true,
                _ => break,
            }
            at += 1;
        }
        let width = leading_number(from, &mut at);
        let mut precision = None;
        if next(at) == Some('.') {
            at += 1;
            precision = Some(leading_number(from, &mut at));
        }
        directive.spelling = from.get(..at).unwrap_or(from).to_owned();
        directive.verb = next(at).ok_or_else(|| directive.fault("has no verb"))?;
        directive.spelling.push(directive.verb);
        if width > WIDEST || precision.is_some_and(|precision| precision > WIDEST) {
            return Err(directive.fault("is wider than 1000"));
        }
        directive.width = width;
        directive.precision = precision;
        let length = at + directive.verb.len_utf8();
        Ok((directive, length))
    }

    fn fault(&self, reason: &'static str) -> Failure {
        let verb = self.spelling.clone();
        EvaluationProblem::BadFormat { verb, reason }.into()
    }

    fn write(&self, out: &mut Text<'_>, value: &Value<'_>) -> Result<(), Failure> {
        if value.is_nothing() {
            return self.pad(out, "");
        }
        match self.verb {
            'v' => match value {
                Value::Integer(_) => self.integer(out, value),
                Value::Float(_) if self.precision.is_some() => self.float(out, value, 'g'),
                _ => self.general(out, value),
            },
            's' => match value {
                Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {
                    Err(self.fault("needs text, not a number or boolean"))
                }
                _ => self.general(out, value),
            },
            'q' => self.quoted(out, value),
            't' if matches!(value, Value::Bool(_)) => self.general(out, value),
            't' => Err(self.fault("needs a boolean")),
            'x' | 'X' if let Some(text) = value.as_str() => self.hexadecimal(out, text),
            'd' | 'b' | 'o' | 'x' | 'X' => self.integer(out, value),
            'c' | 'U' => self.character(out, value),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => self.float(out, value, self.verb),
            _ => Err(self.fault("is not known")),
        }
    }

    /// Writes any value as `%v` does, cut to the precision.
    fn general(&self, out: &mut Text<'_>, value: &Value<'_>) -> Result<(), Failure> {
        if self.width == 0 && self.precision.is_none() {
            return Ok(write_value(out, value)?);
        }
        let mut text = out.sibling();
        write_value(&mut text, value)?;
        let text = text.into_string();
        let kept = self.precision.and_then(|count| text.char_indices().nth(count));
        self.pad(out, kept.and_then(|(end, _)| text.get(..end)).unwrap_or(&text))
    }

    fn quoted(&self, out: &mut Text<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let Some(text) = value.as_str() else {
            return Err(self.fault("needs a string"));
        };
        let mut quoted = out.sibling();
        quoted.write_char('"')?;
        for c in text.chars() {
            match c {
                '"' | '\\' => write!(quoted, "\\{c}")?,
                '\n' => quoted.write_str("\\n")?,
                '\r' => quoted.write_str("\\r")?,
                '\t' => quoted.write_str("\\t")?,
                c if c.is_ascii_control() => write!(quoted, "\\x{:02x}", u32::from(c))?,
                c if c.is_control() => write!(quoted, "\\u{:04x}", u32::from(c))?,
                c => quoted.write_char(c)?,
            }
        }
        quoted.write_char('"')?;
        self.pad(out, &quoted.into_string())
    }

    fn hexadecimal(&self, out: &mut Text<'_>, text: &str) -> Result<(), Failure> {
        let mut digits = out.sibling();
        for byte in text.bytes() {
            match self.verb {
                'X' => write!(digits, "{byte:02X}")?,
                _ => write!(digits, "{byte:02x}")?,
            }
        }
        self.pad(out, &digits.into_string())
    }

    fn integer(&self, out: &mut Text<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let number = value.as_integer().ok_or_else(|| self.fault("needs an integer"))?;
        let size = number.unsigned_abs();
        let (prefix, mut digits) = match self.verb {
            'b' => ("0b", format!("{size:b}")),
            'o' => ("0", format!("{size:o}")),
            'x' => ("0x", format!("{size:x}")),
            'X' => ("0X", format!("{size:X}")),
            _ => ("", size.to_string()),
        };
        if let Some(precision) = self.precision {
            digits = format!("{digits:0>precision$}");
        }
        let prefix = if self.sharp { prefix } else { "" };
        self.signed(out, number < 0, prefix, &digits)
    }

    fn character(&self, out: &mut Text<'_>, value: &Value<'_>) -> Result<(), Failure> {
        let point = value.as_integer().and_then(|point| u32::try_from(point).ok());
        let c = point.and_then(char::from_u32);
        let c = c.ok_or_else(|| self.fault("needs a character"))?;
        match self.verb {
            'c' => self.pad(out, c.encode_utf8(&mut [0; 4])),
            _ => self.pad(out, &format!("U+{:04X}", u32::from(c))),
        }
    }

    fn float(&self, out: &mut Text<'_>, value: &Value<'_>, verb: char) -> Result<(), Failure> {
        let number = match value {
            Value::Float(number) => *number,
            // Go refuses integers here; a context that turned `2.0` into `2` must not.
            Value::Integer(number) => *number as f64,
            _ => return Err(self.fault("needs a number")),
        };
        let size = number.abs();
        if !size.is_finite() {
            return self.pad(out, &float_text(number));
        }
        let digits = match verb {
            'e' | 'E' => scientific(size, Some(self.precision.unwrap_or(6))),
            'f' | 'F' => format!("{size:.*}", self.precision.unwrap_or(6)),
            _ => shortest(size, self.precision),
        };
        let digits = if verb.is_ascii_uppercase() { digits.to_uppercase() } else { digits };
        self.signed(out, number.is_sign_negative(), "", &digits)
    }

    /// Writes sign, prefix and digits, filling with zeros between where asked.
    fn signed(&self, out: &mut Text<'_>, negative: bool, prefix: &str, digits: &str) -> Result<(), Failure> {
        let sign = match negative {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        };
        let fill = self.width.saturating_sub(sign.len() + prefix.len() + digits.len());
        let zeros = if self.zero && !self.minus { fill } else { 0 };
        self.pad(out, &format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)))
    }

    /// Fills up to the width, counted in characters.
    fn pad(&self, out: &mut Text<'_>, text: &str) -> Result<(), Failure> {
        let fill = match self.width {
            0 => 0,
            width => width.saturating_sub(text.chars().count()),
        };
        let (before, after) = if self.minus { (0, fill) } else { (fill, 0) };
        write!(out, "{:before$}{text}{:after$}", "", "")?;
        Ok(())
    }
}

/// Reads digits at `at` and steps over them; too many read as too large.
fn leading_number(from: &str, at: &mut usize) -> usize {
    let rest = from.get(*at..).unwrap_or("");
    let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    *at += length;
    match rest.get(..length) {
        None | Some("") => 0,
        Some(digits) => digits.parse().unwrap_or(usize::MAX),
    }
}

/// Writes a float with an exponent; without precision, as short as possible.
fn scientific(size: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{size:.precision$e}"),
        None => format!("{size:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e{}", signed_exponent(exponent.parse().unwrap_or(0)))
}

/// Writes a float as `%g` does: with an exponent only where it is long without.
fn shortest(size: f64, precision: Option<usize>) -> String {
    let Some(precision) = precision else {
        return float_text(size);
    };
    let digits = precision.max(1);
    let exponential = scientific(size, Some(digits - 1));
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let most = i32::try_from(digits).unwrap_or(i32::MAX);
    if (-4..most).contains(&exponent) {
        let decimals = usize::try_from(most - 1 - exponent).unwrap_or(0);
        without_trailing_zeros(&format!("{size:.decimals$}")).to_owned()
    } else {
        format!("{}e{}", without_trailing_zeros(mantissa), signed_exponent(exponent))
    }
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}
