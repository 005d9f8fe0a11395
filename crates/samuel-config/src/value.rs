//! One value of a TOML table, read as what its key takes.

use std::{ops::RangeInclusive, time::Duration};

use samuel_model::Location;
use serde_json::Value as Json;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    ProblemKind,
    document::Document,
    duration, shorten,
    table::{KeyPath, Table},
};

/// A key's value.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    pub(super) document: &'a Document,
    pub(super) path: KeyPath,
    pub(super) key_offset: usize,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// Reports a problem at the value.
    pub fn refuse(&self, kind: impl Into<ProblemKind>) {
        // The text of a table is its header, which says less than its name.
        let offset = match self.value.get_ref() {
            DeValue::Table(_) => self.key_offset,
            _ => self.value.span().start,
        };
        self.document.report(offset, &self.path.quoted, || kind.into());
    }

    /// Reports a problem at the key.
    pub fn refuse_key(&self, kind: impl Into<ProblemKind>) {
        self.document.report(self.key_offset, &self.path.quoted, || kind.into());
    }

    /// Returns the path of the table the key is in, as TOML writes it.
    pub(crate) fn parent(&self) -> &str {
        self.path.quoted.get(..self.path.parent_len).unwrap_or_default()
    }

    fn wrong_type<T>(&self, expected: &'static str) -> Option<T> {
        self.refuse(ProblemKind::WrongType { expected, found: type_name(self.value.get_ref()) });
        None
    }

    /// Returns where the value is.
    pub fn location(&self) -> Location {
        self.document.location(self.value.span().start)
    }

    /// Returns the value without a word where it is text.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    /// Returns the value without a word where it is true or false.
    pub(crate) fn as_boolean(&self) -> Option<bool> {
        self.value.get_ref().as_bool()
    }

    /// Returns the value without a word where it is a table.
    pub fn as_table(&self) -> Option<&'a DeTable<'a>> {
        self.value.get_ref().as_table()
    }

    /// Reads text. Much of it becomes part of a command line, which holds no NUL byte.
    pub fn string(&self) -> Option<&'a str> {
        let Some(text) = self.as_text() else { return self.wrong_type("text") };
        if text.contains('\0') {
            self.refuse(ProblemKind::Nul);
            return None;
        }
        Some(text)
    }

    /// Reads text with something other than space in it.
    pub fn filled(&self) -> Option<&'a str> {
        let text = self.string()?;
        if text.trim().is_empty() {
            self.refuse(ProblemKind::Empty);
            return None;
        }
        Some(text)
    }

    /// Reads one of some names.
    pub fn one_of(&self, what: &'static str, names: &[&'static str]) -> Option<&'static str> {
        let text = self.string()?;
        let known = names.iter().copied().find(|name| *name == text);
        if known.is_none() {
            self.refuse(ProblemKind::unknown_name(what, text, names));
        }
        known
    }

    /// Reads true or false.
    pub fn boolean(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.wrong_type("true or false"))
    }

    /// Reads a whole number within a range.
    pub(crate) fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        let (number, text) = match self.value.get_ref() {
            DeValue::Integer(integer) => {
                (i64::from_str_radix(integer.as_str(), integer.radix()).ok(), integer.to_string())
            }
            // A program's whole number that TOML cannot write came as this.
            DeValue::Float(float) if self.document.takes_fractions() => match float.as_str().parse::<f64>() {
                Ok(large) if large.is_finite() && large.abs() >= i64::MAX as f64 => {
                    (None, format!("{large:.0}"))
                }
                _ => return self.wrong_type("a whole number"),
            },
            _ => return self.wrong_type("a whole number"),
        };
        let fits = number.filter(|number| range.contains(number));
        if fits.is_none() {
            let is_less = number.map_or(text.starts_with('-'), |number| number < *range.start());
            let expected = match is_less {
                // Whoever is below one end is told of the other as well, where it is no end of the type.
                _ if *range.end() < i32::MAX.into() => {
                    format!("a whole number from {} to {}", range.start(), range.end())
                }
                true => at_least(*range.start()),
                false => format!("a whole number of at most {}", range.end()),
            };
            self.refuse(ProblemKind::OutOfRange { found: shorten(&text), expected });
        }
        fits
    }

    /// Reads the order of a handler.
    pub fn order(&self) -> Option<i32> {
        self.integer(i32::MIN.into()..=i32::MAX.into()).and_then(|order| order.try_into().ok())
    }

    /// Reads text of at most so many bytes.
    pub(crate) fn string_of(&self, most: usize) -> Option<&'a str> {
        let text = self.string()?;
        if text.len() > most {
            let found = format!("text of {} bytes", text.len());
            self.refuse(ProblemKind::OutOfRange { found, expected: at_most_bytes(most) });
            return None;
        }
        Some(text)
    }

    /// Reads a number above 0.
    pub(crate) fn positive(&self) -> Option<f64> {
        let (number, text) = match self.value.get_ref() {
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (number.map(|number| number as f64), integer.to_string())
            }
            DeValue::Float(float) => (float.as_str().parse().ok(), float.to_string()),
            _ => return self.wrong_type("a number"),
        };
        let fits = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
        if fits.is_none() {
            self.refuse(ProblemKind::OutOfRange { found: shorten(&text), expected: above_zero() });
        }
        fits
    }

    /// Reads a duration: text such as `5m`, or whole seconds.
    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (read, found) = match self.value.get_ref() {
            DeValue::String(text) => match duration::parse_duration(text) {
                Ok(duration) => (Some(duration), duration::format_duration(duration)),
                Err(error) => {
                    self.refuse(error);
                    return None;
                }
            },
            DeValue::Integer(integer) => {
                let seconds = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (seconds.map(Duration::from_secs), integer.to_string())
            }
            // Numbers such as 1e9 are too much rather than of a wrong type.
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(seconds) if self.document.takes_fractions() && !seconds.is_nan() => {
                    (Duration::try_from_secs_f64(seconds).ok(), float.to_string())
                }
                Ok(seconds)
                    if seconds > range.end().as_secs_f64() || seconds < range.start().as_secs_f64() =>
                {
                    (None, float.to_string())
                }
                _ => return self.wrong_type("text such as \"5m\", or whole seconds"),
            },
            _ => return self.wrong_type("text such as \"5m\", or whole seconds"),
        };
        let fits = read.filter(|duration| range.contains(duration));
        if fits.is_none() {
            self.refuse(ProblemKind::OutOfRange { found: shorten(&found), expected: within(&range) });
        }
        fits
    }

    /// Reads a table.
    pub fn table(&self) -> Option<Table<'a>> {
        self.table_or("a table")
    }

    /// Reads a table; `expected` is what the key takes beside it.
    pub(crate) fn table_or(&self, expected: &'static str) -> Option<Table<'a>> {
        let Some(entries) = self.as_table() else { return self.wrong_type(expected) };
        Some(Table::new(self.document, self.path.clone(), self.key_offset, entries))
    }

    /// Reads a list.
    pub fn list(&self) -> Option<Vec<Value<'a>>> {
        let Some(items) = self.value.get_ref().as_array() else { return self.wrong_type("a list") };
        let item = |(place, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let path = self.path.index(place);
            let key_offset = value.span().start;
            self.document.note(&path.plain, key_offset);
            Value { document: self.document, path, key_offset, value }
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Reads a table of any content as JSON; dates and times become text.
    pub(crate) fn json_table(&self) -> Option<serde_json::Map<String, Json>> {
        let Some(entries) = self.as_table() else { return self.wrong_type("a table") };
        Some(json_entries(entries))
    }

    /// Reads a list of texts.
    pub fn strings(&self) -> Option<Vec<String>> {
        let texts = self.list()?.into_iter().map(|value| value.string().map(str::to_owned));
        // Every item is looked at, so that each wrong one is reported.
        texts.collect::<Vec<_>>().into_iter().collect()
    }
}

fn json_entries(entries: &DeTable<'_>) -> serde_json::Map<String, Json> {
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_by_key(|(name, _)| name.span().start);
    sorted.into_iter().map(|(name, value)| (name.get_ref().to_string(), json_of(value.get_ref()))).collect()
}

/// Turns a TOML value into JSON. Numbers that JSON lacks become text.
fn json_of(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Boolean(yes) => Json::from(*yes),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Json::from(number),
            Err(_) => Json::from(integer.to_string()),
        },
        DeValue::Float(float) => {
            let number = float.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map_or_else(|| Json::from(float.to_string()), Json::from)
        }
        DeValue::Datetime(time) => Json::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(entries) => Json::Object(json_entries(entries)),
    }
}

/// What a whole number with a least one should be.
pub(super) fn at_least(least: i64) -> String {
    format!("a whole number of at least {least}")
}

/// What an amount should be.
pub(super) fn above_zero() -> String {
    "a number above 0".to_owned()
}

/// What a text of limited length should be.
pub(super) fn at_most_bytes(most: usize) -> String {
    format!("text of at most {most} bytes")
}

/// What a duration within a range should be.
pub(super) fn within(range: &RangeInclusive<Duration>) -> String {
    let [start, end] = [range.start(), range.end()].map(|limit| duration::format_duration(*limit));
    format!("a duration from {start} to {end}")
}

/// Returns what a message calls a value's type.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
