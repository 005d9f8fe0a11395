//! YAML with places.
//!
//! [`parse`] reads a document into [`Node`]s, each of which knows its line and column, so that a
//! problem of one entry is told where it is and the others are used. A mapping keeps its keys in
//! the order of the text, doubled ones too: what that means is for whoever reads it. Bytes, depth
//! and what aliases stand for are bounded.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{
    Location, Spanned, budget,
    options::{DuplicateKeyPolicy, MergeKeyPolicy},
};

/// How deep lists and mappings may stand in each other.
const MAX_DEPTH: usize = 32;
/// How many parts of a document aliases may stand for, all together.
const MAX_ALIASED: usize = 10_000;

/// A part of a document.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column in characters, from 1.
    pub(super) column: usize,
    pub(super) value: Value,
}

/// What a part of a document is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    /// Also whole numbers beyond [`i64`].
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

impl Value {
    /// Returns the word for what it is.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }
}

/// Why a text is no document.
#[derive(Debug)]
pub(super) struct NotYaml {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Reads a document; an empty one is [`Value::Null`].
pub(super) fn parse(text: &str) -> Result<Node, NotYaml> {
    // Editors of some systems put the mark before UTF-8, where it says nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = serde_saphyr::options! {
        budget: budget! { max_depth: MAX_DEPTH },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().unwrap_or(Location::UNKNOWN);
        let (line, column) = line_and_column(place);
        let message = message(&error);
        let (message, help) = if message.contains("multiple YAML documents") {
            ("there is more than one document".to_owned(), "Remove the line \"---\", and what follows it.")
        } else if message.contains("mapping values") {
            (message, "Correct the YAML here: put a command that holds \": \" in quotes.")
        } else {
            (message, "Correct the YAML here.")
        };
        NotYaml { line, column, message, help }
    })
}

/// Returns the parser's words on one line, without the place, which is told before them.
fn message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let text = text.lines().next().unwrap_or_default();
    let text = text.split(" at line ").next().unwrap_or(text);
    text.strip_prefix("error: ").unwrap_or(text).trim_end_matches([':', ',', '.']).to_owned()
}

fn line_and_column(place: Location) -> (usize, usize) {
    // What has no place is about the text as a whole.
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).max(1);
    (number(place.line()), number(place.column()))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::deserialize(deserializer)?;
        let (line, column) = line_and_column(referenced);
        Ok(Self { line, column, value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(part) = parts.next_element()? {
            list.push(part);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut mapping = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            mapping.push(entry);
        }
        Ok(Value::Mapping(mapping))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;

    #[test]
    fn parts_know_their_places_and_doubled_keys_stay() {
        let node = parse("\u{feff}a:\r\n  - b: 1\r\n    b: x\r\n").unwrap();
        let Value::Mapping(top) = node.value else { panic!("{node:?}") };
        let Value::List(list) = &top.first().unwrap().1.value else { panic!("{top:?}") };
        let Value::Mapping(entry) = &list.first().unwrap().value else { panic!("{list:?}") };
        let places: Vec<_> = entry.iter().map(|(key, value)| (key.line, key.column, value.column)).collect();
        assert_eq!(places, [(2, 5, 8), (3, 5, 8)]);
    }

    #[test]
    fn what_is_no_yaml_is_told_where_it_is() {
        let bomb = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            format!("{text}a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))
        });
        let deep = "[".repeat(10_000);
        for text in
            ["a: [", "a:\n\t- b\n", "a: b: c\n", "a: 'x\n", "a: *b\n", "a: 1\n---\nb: 1\n", &bomb, &deep]
        {
            let error = parse(text).unwrap_err();
            assert!(error.line > 0 && error.column > 0, "{error:?}");
            assert!(!error.message.is_empty() && !error.message.contains("line"), "{error:?}");
        }
        assert!(matches!(parse("").unwrap().value, Value::Null));
        assert!(matches!(parse("# nothing\n").unwrap().value, Value::Null));
    }
}
