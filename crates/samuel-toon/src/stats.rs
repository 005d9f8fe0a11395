//! How large a value is as TOON and as JSON, in bytes and in tokens.
//!
//! Tokens are estimated from the way tokenizers cut text first (words with the
//! space before them, digits by threes, punctuation in runs), because the real
//! count needs a model's vocabulary. The estimate serves the comparison of two
//! spellings of the same data, not billing.

use serde::Serialize;

use super::{error::Result, options::EncodeOptions, value::to_value};

/// Bytes and estimated tokens of one spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Length in bytes.
    pub bytes: usize,
    /// Estimated tokens.
    pub tokens: usize,
}

/// One value in three spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// As TOON, with the options given.
    pub toon: Size,
    /// As JSON without spaces.
    pub json: Size,
    /// As JSON with two spaces of indentation.
    pub json_pretty: Size,
}

impl Stats {
    /// Returns true when compact JSON needs fewer tokens than TOON, as it often
    /// does for nested data without uniform arrays.
    pub fn json_is_smaller(&self) -> bool {
        self.json.tokens < self.toon.tokens
    }
}

/// Measures a value as TOON and as JSON.
///
/// ```
/// use samuel_toon::{EncodeOptions, stats, toon};
///
/// let table = toon!([{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}, {"id": 3, "name": "Cid"}]);
/// assert!(!stats(&table, EncodeOptions::default())?.json_is_smaller());
/// # Ok::<(), samuel_toon::Error>(())
/// ```
///
/// # Errors
/// As [`to_string`](super::to_string).
pub fn stats<T: Serialize + ?Sized>(value: &T, options: EncodeOptions) -> Result<Stats> {
    let value = to_value(value)?;
    let toon = super::to_string_with(&value, options)?;
    Ok(Stats { toon: size(&toon), json: size(&value.to_json()), json_pretty: size(&value.to_json_pretty()) })
}

fn size(text: &str) -> Size {
    Size { bytes: text.len(), tokens: tokens(text) }
}

/// Letters that one token holds on average when a word is longer than common.
const LETTERS: usize = 8;
const DIGITS: usize = 3;
const MARKS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Space,
    Mark,
}

fn classify(character: char) -> Class {
    match character {
        _ if character.is_alphabetic() => Class::Letter,
        _ if character.is_numeric() => Class::Digit,
        _ if character.is_whitespace() => Class::Space,
        _ => Class::Mark,
    }
}

fn tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        let class = classify(first);
        let mut length = 1;
        while characters.next_if(|next| classify(*next) == class).is_some() {
            length += 1;
        }
        tokens += match class {
            Class::Letter => usize::div_ceil(length, LETTERS),
            Class::Digit => usize::div_ceil(length, DIGITS),
            Class::Mark => usize::div_ceil(length, MARKS),
            // A single space belongs to the word behind it.
            Class::Space => usize::from(length > 1 || first != ' '),
        };
    }
    tokens
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;
    use crate::{Value, toon};

    #[test]
    fn tables_are_smaller_as_toon_and_nested_lists_are_not() {
        let row = |id: u32| toon!({"id": id, "title": "Parse the file", "status": "pending", "owner": null});
        let table = Value::Array((0..20).map(row).collect());
        assert!(!stats(&table, EncodeOptions::default()).unwrap().json_is_smaller());
        let nested = toon!([[[[1], [2]], [[3], [4]]], [[[5], [6]], [[7], [8]]]]);
        assert!(stats(&nested, EncodeOptions::default()).unwrap().json_is_smaller());
    }
}
