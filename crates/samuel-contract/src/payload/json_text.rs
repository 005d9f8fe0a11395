//! JSON documents kept as text, written into an envelope as documents.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

/// Reads a document; the empty text of a default record is none.
fn read<E: ser::Error>(text: &str) -> Result<Value, E> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(text).map_err(ser::Error::custom)
}

/// Writes a text as the document it is.
///
/// # Errors
/// Fails where it is no JSON.
pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    read::<S::Error>(text)?.serialize(serializer)
}

/// Reads a document as text.
///
/// # Errors
/// Fails where the source does.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Value::deserialize(deserializer)?.to_string())
}

/// The same for a document that may be absent.
pub mod option {
    use super::*;

    /// Writes a text as the document it is, and `null` for none.
    ///
    /// # Errors
    /// Fails where it is no JSON.
    pub fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        text.as_deref().map(read::<S::Error>).transpose()?.serialize(serializer)
    }

    /// Reads a document as text; `null` is none.
    ///
    /// # Errors
    /// Fails where the source does.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
        let value = Option::<Value>::deserialize(deserializer)?;
        Ok(value.map(|value| value.to_string()))
    }
}

/// The same for a list of documents.
pub(crate) mod list {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(texts: &[String], serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(texts.iter().map(|text| read::<S::Error>(text)).collect::<Result<Vec<Value>, _>>()?)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        let values = Vec::<Value>::deserialize(deserializer).map_err(de::Error::custom)?;
        Ok(values.iter().map(Value::to_string).collect())
    }
}
