//! `wit/points.toml`: what the package cannot say of points, records and words.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::workspace::root;

/// Where it is.
pub(crate) const PATH: &str = "wit/points.toml";

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The points, in their order.
    #[serde(rename = "point")]
    pub(crate) points: Vec<PointRow>,
    /// Records of which JSON may leave out more than what is optional.
    #[serde(rename = "record")]
    pub(crate) records: BTreeMap<String, RecordRow>,
    /// Words whose first one is not the default, or that have an order.
    pub(crate) words: BTreeMap<String, WordsRow>,
    /// What several examples show, by the name that they have it by.
    shown: BTreeMap<String, String>,
}

/// A hook point.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PointRow {
    /// Its id, such as `before:loop`.
    pub(crate) id: String,
    /// How outcomes become one.
    pub(crate) kind: Kind,
    /// The field of the output that says no: `ok`, `continue` or `block`.
    pub(crate) verdict: Option<String>,
    /// The fields that an answer in JSON must have; the verdict if absent.
    pub(crate) required: Option<Vec<String>>,
    /// The fields that an input in JSON may lack beside the optional ones.
    #[serde(default)]
    pub(crate) later: Vec<String>,
    /// Whether `Output` is implemented by hand, since no other point combines so.
    #[serde(default)]
    pub(crate) combined_by_hand: bool,
    /// Whether a handler is given what those before it answered.
    #[serde(default)]
    pub(crate) previous: bool,
    /// What a handler that breaks does where nothing is configured.
    #[serde(default = "warn")]
    pub(crate) on_failure: Failure,
    /// What it does where the point is strict.
    #[serde(default = "abort_iteration")]
    pub(crate) strict: Failure,
    /// Why a chain cannot be kept to iterations of one mode; absent where it can.
    pub(crate) every_mode: Option<String>,
    /// What a no means, for the documentation; absent where none can be said.
    pub(crate) no: Option<String>,
    /// An input as JSON, with every field.
    pub(crate) given: String,
    /// An answer as JSON.
    pub(crate) answered: String,
}

/// How the outcomes of a point's handlers become one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Gate,
    Observe,
    Decide,
    Blob,
    List,
    Transform,
    Replace,
}

/// What a broken handler does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Failure {
    Warn,
    AbortIteration,
    AbortLoop,
    AbortCommand,
}

/// A record that points share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordRow {
    /// The fields that JSON must have.
    pub(crate) required: Vec<String>,
    /// Whether what is absent is written as null.
    #[serde(default)]
    pub(crate) nulls: bool,
}

/// One of several words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordsRow {
    /// The word that stands where none is given; the first if absent.
    pub(crate) default: Option<String>,
    /// Whether earlier words are less than later ones.
    #[serde(default)]
    pub(crate) ordered: bool,
}

/// Reads the table.
///
/// # Errors
/// Fails where it is not there or not as it should be; the error has the line.
pub(crate) fn read() -> Result<Table> {
    let text = fs::read_to_string(root().join(PATH)).with_context(|| format!("{PATH} cannot be read"))?;
    let mut table: Table = toml::from_str(&text).with_context(|| format!("{PATH} is not as it should be"))?;
    for (name, text) in &table.shown {
        let text = text.trim().replace('\n', "\n  ");
        for point in &mut table.points {
            for example in [&mut point.given, &mut point.answered] {
                *example = example.replace(&format!("${name}"), &text);
            }
        }
    }
    Ok(table)
}

fn warn() -> Failure {
    Failure::Warn
}

fn abort_iteration() -> Failure {
    Failure::AbortIteration
}

impl PointRow {
    /// Says whether an answer in JSON must have a field.
    pub(crate) fn requires(&self, field: &str) -> bool {
        match &self.required {
            Some(required) => required.iter().any(|name| name == field),
            None => self.verdict.as_deref() == Some(field),
        }
    }
}

impl Kind {
    /// Returns the word that listings use.
    pub(crate) fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

impl Failure {
    /// Returns the word that samuel.toml uses.
    pub(crate) fn word(self) -> String {
        super::text::snake(&format!("{self:?}"))
    }
}
