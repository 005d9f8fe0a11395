//! JSON documents, with the place of each value.
//!
//! [`Json`] keeps the values as they are written, so that a reader knows the
//! line of each and reads only what it needs.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::error::PrdError;
use super::source::Source;
use samuel_model::text::excerpt;

/// How many characters are shown of a key.
const SHOWN_KEY: usize = 100;

/// A JSON document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<'a> {
    /// The value that it is, as it is written.
    pub(super) root: &'a RawValue,
}

impl<'a> Json<'a> {
    /// Parses a document. Returns nothing for one that is no JSON.
    pub(super) fn parse(source: &Source<'a>) -> Result<Option<Self>, PrdError> {
        let text = source.text.trim_start();
        let is_named =
            source.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let is_object = text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'));
        if !(is_object || text.starts_with(['{', '['])) {
            return Ok(None);
        }
        let refused = |error: serde_json::Error| PrdError::Json {
            path: source.path.to_owned(),
            line: error.line(),
            column: error.column(),
            source: error,
        };
        match serde_json::from_str(source.text) {
            Ok(root) => {
                serde_json::from_str::<UniqueKeys>(source.text).map_err(refused)?;
                Ok(Some(Self { root }))
            }
            Err(error) if is_named || is_object => Err(refused(error)),
            Err(_) => Ok(None),
        }
    }
}

/// A value in which no object has a key twice: tools do not agree on
/// which of the two counts.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut values: S) -> Result<UniqueKeys, S::Error> {
        while values.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<UniqueKeys, M::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                let key = excerpt(&key, SHOWN_KEY);
                return Err(de::Error::custom(format_args!("the key \"{key}\" is there twice")));
            }
            keys.insert(key);
            map.next_value::<UniqueKeys>()?;
        }
        Ok(UniqueKeys)
    }
}

/// The fields of an object, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads the fields of a value; nothing if it is no object.
    pub(super) fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// Returns the first field that has one of the names.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'a RawValue> {
        let found =
            self.0.iter().find(|(name, value)| names.contains(&name.as_str()) && value.get() != "null");
        found.map(|(_, value)| *value)
    }

    /// Returns the first field that has one of the names, if it is a list.
    pub(super) fn list(&self, names: &[&str]) -> Option<Vec<&'a RawValue>> {
        list(self.get(names)?)
    }
}

/// Reads the values of a list; nothing if it is none.
pub(super) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok())?
}

/// Returns a value as text: a string as it is, a list with commas, anything
/// else as it is written.
pub(super) fn text(value: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<String>(value.get()) {
        return text;
    }
    match list(value) {
        Some(values) => values.into_iter().map(text).collect::<Vec<_>>().join(", "),
        None => serde_json::from_str(value.get())
            .map_or_else(|_| value.get().to_owned(), |value: serde_json::Value| value.to_string()),
    }
}

/// Returns the texts of a list, or the one that stands for it.
pub(super) fn texts(value: &RawValue) -> Vec<String> {
    let texts =
        list(value).map_or_else(|| vec![text(value)], |values| values.into_iter().map(text).collect());
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            fields.push((name, value));
        }
        Ok(Fields(fields))
    }
}
