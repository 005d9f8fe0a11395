//! Options of the encoder and the decoder, and the limits of the decoder.
//!
//! The defaults are the specification's: two spaces, comma, strict (section 13).

/// Separates cells, inline values and field names (section 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Delimiter {
    /// `,`, which headers do not spell out.
    #[default]
    Comma,
    /// The character U+0009.
    Tab,
    /// `|`.
    Pipe,
}

impl Delimiter {
    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Pipe => b'|',
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Comma => ",",
            Self::Tab => "\t",
            Self::Pipe => "|",
        }
    }

    /// Returns what a bracket segment says about this delimiter.
    pub(super) const fn marker(self) -> &'static str {
        match self {
            Self::Comma => "",
            Self::Tab => "\t",
            Self::Pipe => "|",
        }
    }
}

/// The most spaces of one indentation level: a deep document must not grow without bound by them.
const MAX_INDENT: usize = 16;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Spaces of one indentation level; 2 by default, 0 counts as 1, and more than 16 as 16.
    pub indent_size: usize,
    /// The delimiter of the whole document; comma by default.
    pub delimiter: Delimiter,
}

impl EncodeOptions {
    /// Returns the spaces of one level, within their bounds.
    pub(crate) fn indent(self) -> usize {
        self.indent_size.clamp(1, MAX_INDENT)
    }
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { indent_size: 2, delimiter: Delimiter::Comma }
    }
}

/// How text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Spaces of one indentation level; 2 by default, 0 counts as 1, and more than 16 as 16.
    pub indent_size: usize,
    /// Whether every rule is enforced (the default) or the five recoveries of
    /// the specification apply: advisory lengths, last duplicate wins, tabs as
    /// indentation, blank lines inside arrays, and blocks that start too deep.
    pub strict: bool,
    /// Bounds on what a document may ask for.
    pub limits: Limits,
    /// What self-describing targets see of an unusually written number.
    pub numbers: NumberText,
}

impl DecodeOptions {
    /// Returns the spaces of one level, within their bounds.
    pub(crate) fn indent(self) -> usize {
        self.indent_size.clamp(1, MAX_INDENT)
    }
}

impl Default for DecodeOptions {
    fn default() -> Self {
        Self { indent_size: 2, strict: true, limits: Limits::default(), numbers: NumberText::Canonical }
    }
}

/// Whether a [`Value`](super::Value) remembers how a number was written.
///
/// Typed targets are not affected: a `String` always receives the token as
/// written and an `f64` its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum NumberText {
    /// `1.10` is the number 1.1. The default of the decoders.
    #[default]
    Canonical,
    /// `1.10` stays `1.10` in a [`Value`](super::Value) and is written back as
    /// such, also below `#[serde(flatten)]`. Other self-describing types see a
    /// map with one entry. The default of [`recover`](super::recover()).
    AsWritten,
    /// As `Canonical`, but integers of more than 64 bits, and numbers beyond the range of an
    /// `f64`, reach other self-describing types whole: as the text of the token, given to
    /// [`visit_newtype_struct`](serde::de::Visitor::visit_newtype_struct). For languages whose
    /// integers have no end.
    Wide,
    /// Every number reaches other self-describing types as the text of its token, given to
    /// [`visit_newtype_struct`](serde::de::Visitor::visit_newtype_struct). For targets that read
    /// numbers themselves, as decimals for instance.
    Tokens,
}

/// Bounds on what a document may ask for; each excess is a typed error, but for
/// that of [`diagnostics`](Self::diagnostics).
///
/// Declared lengths make room for no more values in all than the document has
/// bytes, so these bound time and stack rather than memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nesting of objects and arrays; 128 by default, as in `serde_json`.
    pub depth: usize,
    /// Bytes of the document; unlimited by default.
    pub bytes: usize,
    /// Values of one array or entries of one object; unlimited by default.
    pub rows: usize,
    /// Bytes of one line; unlimited by default for text in memory. Streaming
    /// readers hold one line, so they replace an unlimited value by 16 MiB.
    pub line_length: usize,
    /// Columns of one table, those of its field groups included; 4,096 by
    /// default.
    pub columns: usize,
    /// Values of an array on one line; 1,048,576 by default. A row has as many
    /// cells as its table has columns, which [`columns`](Self::columns) bounds.
    pub cells: usize,
    /// Faults that a recovery describes; 100 by default. It counts the others.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 128,
            bytes: usize::MAX,
            rows: usize::MAX,
            line_length: usize::MAX,
            columns: 4_096,
            cells: 1 << 20,
            diagnostics: 100,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeMap;

    use super::*;
    use crate::{from_str_with, to_string_with};

    #[test]
    fn an_indentation_beyond_its_bounds_is_the_nearest_within() {
        let inner = BTreeMap::from([("b".to_owned(), BTreeMap::from([("c".to_owned(), 1)]))]);
        let nested = BTreeMap::from([("a".to_owned(), inner)]);
        for (asked, spaces) in [(0, 1), (16, 16), (17, 16), (usize::MAX, 16)] {
            let options = EncodeOptions { indent_size: asked, ..EncodeOptions::default() };
            let text = to_string_with(&nested, options).unwrap();
            let (one, two) = (" ".repeat(spaces), " ".repeat(2 * spaces));
            assert_eq!(text, format!("a:\n{one}b:\n{two}c: 1"));
            let options = DecodeOptions { indent_size: asked, ..DecodeOptions::default() };
            assert_eq!(from_str_with::<BTreeMap<_, _>>(&text, options).unwrap(), nested);
        }
    }
}
