//! Values of single cells and keys, read with some tolerance.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};

use samuel_model::Question;
use samuel_toon::Lenient;

/// Text, also where somebody left the quotes out: `1.10` is the text `1.10`.
pub(crate) struct Text(pub(crate) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The hint makes the decoder hand over an unquoted number as it
        // stands. A float that arrives all the same has lost its text.
        deserializer.deserialize_string(TextVisitor)
    }
}

/// Takes text, and whatever has but one spelling as text.
struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Text, E> {
        Ok(Text(text))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }
}

/// The name of a key or column, borrowed from the file where it can be: a
/// table asks for its columns once a row.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// A list of texts in one cell: a string that holds a JSON array. Where the
/// file has a real list instead, that does too.
pub(crate) struct ListCell(pub(crate) Vec<String>);

impl ListCell {
    /// Writes a list as the content of a cell.
    pub(crate) fn to_text<T: AsRef<str>>(items: &[T]) -> String {
        if items.is_empty() {
            return "[]".to_owned();
        }
        let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
        serde_json::to_string(&items).expect("texts are always JSON")
    }
}

/// The question of a task: a string that holds a JSON object. Where somebody wrote plain text, that is what
/// is asked.
pub(crate) struct QuestionCell(pub(crate) Option<Question>);

impl QuestionCell {
    /// Writes a question as the content of a cell.
    pub(crate) fn to_text(question: Option<&Question>) -> Option<String> {
        question.map(|question| serde_json::to_string(question).expect("texts are always JSON"))
    }
}

impl<'de> Deserialize<'de> for QuestionCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<Text>::deserialize(deserializer)?.map(|Text(text)| text);
        let question = |text: String| match serde_json::from_str(&text) {
            Ok(question) if text.starts_with('{') => question,
            _ => Question { text, ..Question::default() },
        };
        Ok(Self(text.filter(|text| !text.is_empty()).map(question)))
    }
}

/// Lines that were kept. One that is no text is left out by itself.
#[derive(Default)]
pub(crate) struct KeptLines(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for KeptLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinesVisitor;

        impl<'de> Visitor<'de> for LinesVisitor {
            type Value = KeptLines;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of lines")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<KeptLines, A::Error> {
                let mut lines = Vec::new();
                while let Some(line) = seq.next_element_seed(Lenient(PhantomData::<String>))? {
                    lines.extend(line);
                }
                Ok(KeptLines(lines))
            }
        }

        deserializer.deserialize_seq(LinesVisitor)
    }
}

/// An item of a list in JSON; whole numbers and words may go without quotes. Unlike
/// [`Text`] it asks for whatever is there, since JSON tells text from numbers.
struct Item(String);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(|Text(text)| Self(text))
    }
}

impl<'de> Deserialize<'de> for ListCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;

        impl<'de> Visitor<'de> for ListVisitor {
            type Value = ListCell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string that holds a JSON array of strings")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ListCell, E> {
                if matches!(text.trim(), "" | "[]") {
                    return Ok(ListCell(Vec::new()));
                }
                let items: Vec<Item> = serde_json::from_str(text)
                    .map_err(|_| E::custom("a list is a string that holds a JSON array of strings"))?;
                Ok(ListCell(items.into_iter().map(|Item(item)| item).collect()))
            }

            fn visit_unit<E: Error>(self) -> Result<ListCell, E> {
                Ok(ListCell(Vec::new()))
            }

            fn visit_none<E: Error>(self) -> Result<ListCell, E> {
                self.visit_unit()
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ListCell, A::Error> {
                let mut items = Vec::new();
                while let Some(Text(item)) = seq.next_element()? {
                    items.push(item);
                }
                Ok(ListCell(items))
            }
        }

        deserializer.deserialize_any(ListVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_list_is_json_in_a_string() {
        assert_eq!(ListCell::to_text(&["a,b", "\"c\"", "d\ne|#"]), r#"["a,b","\"c\"","d\ne|#"]"#);
        let read = |json: &str| serde_json::from_str::<ListCell>(json).map(|list| list.0);
        assert_eq!(read(r#""[\"1.10\", 2]""#).unwrap(), ["1.10", "2"]);
        assert_eq!(read(r#"["a", "b"]"#).unwrap(), ["a", "b"]);
        for empty in ["\"\"", "null", "\"[]\""] {
            assert_eq!(read(empty).unwrap(), [""; 0], "{empty}");
        }
        // As a number, 1.10 is the same as 1.1: nobody can tell which was meant.
        for other in [r#""[1.10]""#, r#""[null]""#, r#""[[]]""#] {
            assert!(read(other).is_err(), "{other}");
        }
        assert!(read(r#""a;b""#).is_err());
    }
}
