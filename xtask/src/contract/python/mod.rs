//! `samuel.records` and the signatures of `hook` in Python.
//!
//! The payloads and the prompt context come from the contract. What runs tell
//! and what files hold is no part of it: those classes mirror types of
//! samuel-core, of which [`engine`] has a list. The schemas of what commands print
//! ([`documents`](super::documents)) are made of the same classes.

mod engine;
mod payload;
mod reader;
mod syntax;
mod write;

use anyhow::Result;

use super::model::Contract;

/// A class, or a name for several words or classes.
pub(super) enum Item {
    Record(Record),
    Words(Words),
    Union(Union),
}

/// A class.
pub(super) struct Record {
    pub(super) name: String,
    /// Its name in Rust.
    pub(super) rust: String,
    pub(super) docs: String,
    pub(super) fields: Vec<Field>,
    /// The key and the word by which JSON tells it from its siblings.
    pub(super) tag: Option<(String, String)>,
    pub(super) base: &'static str,
}

/// A field of a class.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: String,
    /// Its name in JSON.
    pub(super) wire: String,
    pub(super) kind: Kind,
    pub(super) docs: String,
    /// What stands where no argument is given.
    pub(super) default: Option<String>,
    /// Whether JSON may be without it.
    pub(super) may_lack: bool,
}

/// The type of a field, and the function that makes it of an argument.
#[derive(Clone)]
pub(super) struct Kind {
    pub(super) python: String,
    pub(super) coerce: &'static str,
}

/// One of several words.
pub(super) struct Words {
    pub(super) name: String,
    pub(super) docs: String,
    pub(super) words: Vec<(String, String)>,
}

/// One of several classes.
pub(super) struct Union {
    pub(super) name: String,
    pub(super) docs: String,
    pub(super) cases: Vec<String>,
}

/// Writes `records.py` and `_registering.pyi`.
///
/// # Errors
/// Fails at a type that has no counterpart in Python.
pub(super) fn files(contract: &Contract) -> Result<[(String, String); 2]> {
    let items = reader::items(contract, payload::items(contract))?;
    let package = "bindings/python/python/samuel";
    Ok([
        (format!("{package}/records.py"), write::records(contract, &items)),
        (format!("{package}/_registering.pyi"), write::registering(contract)),
    ])
}

/// Reads every class, those that only documents of commands have among them.
///
/// # Errors
/// As [`files`].
pub(super) fn with_documents(contract: &Contract) -> Result<Vec<Item>> {
    reader::with_documents(contract, payload::items(contract))
}

impl Item {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Record(record) => &record.name,
            Self::Words(words) => &words.name,
            Self::Union(union) => &union.name,
        }
    }
}

impl Kind {
    fn plain(python: impl Into<String>) -> Self {
        Self { python: python.into(), coerce: "" }
    }

    fn optional(self) -> Self {
        let coerce = match self.coerce {
            "items" => "items_or_none",
            other => other,
        };
        match self.python == "Any" {
            true => self,
            false => Self { python: format!("{} | None", self.python), coerce },
        }
    }

    fn list(&self) -> Self {
        Self { python: format!("tuple[{}, ...]", self.python), coerce: "items" }
    }

    fn is_optional(&self) -> bool {
        self.python.ends_with("| None")
    }

    /// Returns what stands for nothing; `words` are the names of words and the
    /// word that each has by default.
    fn zero(&self, words: &dyn Fn(&str) -> Option<String>) -> String {
        match self.python.as_str() {
            kind if kind.ends_with("| None") => "None".to_owned(),
            kind if kind.starts_with("tuple[") => "()".to_owned(),
            "str" => "\"\"".to_owned(),
            "bool" => "False".to_owned(),
            "int" => "0".to_owned(),
            "float" => "0.0".to_owned(),
            "HookResults" => "HookResults()".to_owned(),
            kind => words(kind).map_or_else(|| "None".to_owned(), |word| format!("\"{word}\"")),
        }
    }
}

/// Reserved words of Python have another name.
fn ident(name: &str) -> String {
    if name == "class" { "class_".to_owned() } else { name.to_owned() }
}
