//! `samuel.records` and the signatures of `hook` in Python.
//!
//! The payloads and the prompt context come from the contract. What runs tell
//! and what files hold is no part of it: those classes mirror types of
//! samuel-core, whose sources [`engine`] reads.

mod engine;
mod payload;
mod write;

use anyhow::Result;

use super::model::Contract;

/// A class, or a name for several words or classes.
enum Item {
    Record(Record),
    Words(Words),
    Union(Union),
}

/// A class.
struct Record {
    name: String,
    /// Its name in Rust.
    rust: String,
    docs: String,
    fields: Vec<Field>,
    /// The key and the word by which JSON tells it from its siblings.
    tag: Option<(String, String)>,
    base: &'static str,
}

/// A field of a class.
#[derive(Clone)]
struct Field {
    name: String,
    /// Its name in JSON.
    wire: String,
    kind: Kind,
    docs: String,
    /// What stands where no argument is given.
    default: Option<String>,
}

/// The type of a field, and the function that makes it of an argument.
#[derive(Clone)]
struct Kind {
    python: String,
    coerce: &'static str,
}

/// One of several words.
struct Words {
    name: String,
    docs: String,
    words: Vec<(String, String)>,
}

/// One of several classes.
struct Union {
    name: String,
    docs: String,
    cases: Vec<String>,
}

/// Writes `records.py` and `_registering.pyi`.
///
/// # Errors
/// Fails at a type that has no counterpart in Python.
pub(super) fn files(contract: &Contract) -> Result<[(String, String); 2]> {
    let items = engine::items(contract, payload::items(contract))?;
    let package = "bindings/python/python/samuel";
    Ok([
        (format!("{package}/records.py"), write::records(contract, &items)),
        (format!("{package}/_registering.pyi"), write::registering(contract)),
    ])
}

impl Item {
    fn name(&self) -> &str {
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
