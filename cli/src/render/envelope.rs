//! The JSON document that every command prints with `--json`.

use std::borrow::Cow;

use samuel_core::model::{Location, redacted};
use serde::Serialize;
use serde_json::Value;

use super::safe_json;
use crate::{failure::Failure, reply::Reply};

/// The version of the document's form.
const SCHEMA_VERSION: u32 = 1;

/// The document: what a command answered, or why it could not.
#[derive(Debug, Serialize)]
pub(crate) struct Envelope<'a> {
    /// The version of the document's form.
    schema_version: u32,
    /// The command, such as `run status`.
    command: &'a str,
    /// Whether it did its work.
    ok: bool,
    /// What it answers; where it could not do its work, what is known in spite of that.
    data: &'a Value,
    /// What the user should know beside it.
    warnings: Vec<Cow<'a, str>>,
    /// Why it could not do its work.
    error: Option<ErrorDocument<'a>>,
}

/// Why a command could not do its work.
#[derive(Debug, Serialize)]
struct ErrorDocument<'a> {
    /// A stable name, `E_<AREA>_<NAME>`.
    code: &'static str,
    /// What failed, with its causes.
    message: String,
    /// What to do next.
    help: &'a str,
    /// The place that it is about.
    location: Option<&'a Location>,
}

impl<'a> Envelope<'a> {
    /// Puts the result of a command into a document.
    pub(crate) fn of(command: &'a str, result: &'a Result<Reply, Failure>) -> Self {
        let (data, warnings, error) = match result {
            Ok(reply) => {
                (&reply.data, reply.warnings.iter().map(|warning| redacted(warning)).collect(), None)
            }
            Err(failure) => {
                let error = ErrorDocument {
                    code: failure.code.name,
                    message: failure.whole_message(),
                    help: &failure.help,
                    location: failure.location.as_ref(),
                };
                (&failure.data, Vec::new(), Some(error))
            }
        };
        Self { schema_version: SCHEMA_VERSION, command, ok: error.is_none(), data, warnings, error }
    }

    /// Writes the document on one line.
    pub(crate) fn to_line(&self) -> String {
        let line = serde_json::to_string(self).expect("a document of texts and JSON values is JSON");
        // What a program asked for is exact; why it does not get it is a message.
        let line = if self.ok { line.into() } else { redacted(&line) };
        safe_json(&line).into_owned() + "\n"
    }
}
