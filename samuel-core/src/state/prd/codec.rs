//! From bytes to a document and back.

use std::path::Path;

use super::{Document, header};
use crate::{
    model::PLAN_VERSION,
    state::{Diagnostic, StateError},
};

pub(crate) use serde_json::Value;
pub(crate) type Map = serde_json::Map<String, Value>;

/// Writes a document with the header.
pub(crate) fn encode(document: &Document) -> Result<String, StateError> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|error| StateError::Encode { what: "plan", reason: error.to_string() })?;
    Ok(format!("{}{text}\n", header::HEADER))
}

/// Reads a document and what is wrong with it.
pub(crate) fn decode(path: &Path, content: &[u8]) -> Result<(Document, Vec<Diagnostic>), StateError> {
    let body = header::body(path, content)?;
    let document: Document = serde_json::from_str(&body.text).map_err(|error| StateError::Corrupt {
        path: path.to_owned(),
        line: Some(error.line() + body.lines_before),
        column: Some(error.column()),
        reason: error.to_string(),
    })?;
    if document.plan.version != PLAN_VERSION {
        let found = document.plan.version;
        return Err(StateError::Version { path: path.to_owned(), what: "plan version", found });
    }
    Ok((document, body.diagnostic.into_iter().collect()))
}
