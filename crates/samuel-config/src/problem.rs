//! What can be wrong in a configuration file.
//!
//! A [`Problem`] has a place, the key it is about, and a [`ProblemKind`] that
//! words it and knows what to do next.

use std::fmt;

use samuel_contract::nearest;
use samuel_hook::HookPoint;
use samuel_model::{Location, Remedy};

use super::DurationError;

/// One thing that is wrong in a configuration file, or of settings that a caller gives.
///
/// It displays without its place, which is in `location`.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where it is; in a file, line and column are always known.
    pub location: Location,
    /// The key it is about as TOML writes it, such as
    /// `hooks."quality.check".timeout`; empty where the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

impl Problem {
    /// Returns what to do next.
    pub fn help(&self) -> Remedy {
        match &self.kind {
            ProblemKind::Specific { help, .. } => help.clone(),
            kind => kind.help().into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ProblemKind::Syntax { .. } | ProblemKind::NotUtf8 | ProblemKind::TooLarge { .. } => {}
            _ if self.key.is_empty() => {}
            _ => write!(f, "{}: ", self.key)?,
        }
        self.kind.fmt(f)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file is too large to be read.
    #[error("the file is larger than {max_bytes} bytes")]
    TooLarge {
        /// The largest size that is read.
        max_bytes: usize,
    },
    /// The file is not UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NotUtf8,
    /// The text is no TOML.
    #[error("{message}")]
    Syntax {
        /// The parser's words.
        message: String,
        /// Whether a hook point without quotes is the likely cause.
        unquoted_point: bool,
    },
    /// The table has no such key.
    #[error("unknown key")]
    UnknownKey {
        /// The nearest key, where one is near.
        nearest: Option<&'static str>,
        /// Whether that one is set in the table already.
        is_set: bool,
        /// The keys the table has.
        known: Vec<&'static str>,
    },
    /// There is no such hook point.
    #[error("unknown hook point \"{name}\"")]
    UnknownPoint {
        /// The name as it was given.
        name: String,
        /// The nearest point, where one is near.
        nearest: Option<HookPoint>,
        /// Whether that one is set beside it already.
        is_set: bool,
    },
    /// A setting of a methodology stands outside of its table.
    #[error("belongs in {table}")]
    Misplaced {
        /// The table.
        table: String,
    },
    /// A hook point is not quoted, so that TOML takes its dots for tables.
    #[error("the hook point {point} is not quoted")]
    UnquotedPoint {
        /// The point that is meant.
        point: HookPoint,
        /// How to write the table.
        quoted: String,
    },
    /// The value has another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What the key takes.
        expected: &'static str,
        /// What it was given.
        found: &'static str,
    },
    /// The value is too small or too large.
    #[error("{found} is out of range, expected {expected}")]
    OutOfRange {
        /// The value as it was given.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// The text is not a duration.
    #[error(transparent)]
    NoDuration(#[from] DurationError),
    /// The value is none of the names the key takes.
    #[error("unknown {what} \"{name}\"")]
    UnknownName {
        /// What the name should be of, such as `agent`.
        what: &'static str,
        /// The name as it was given.
        name: String,
        /// The nearest name, where one is near.
        nearest: Option<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// The text cannot be a name.
    #[error("\"{name}\" cannot be the name of a {what}: {rule}")]
    InvalidName {
        /// What the name should be of.
        what: &'static str,
        /// The name as it was given.
        name: String,
        /// What names look like.
        rule: &'static str,
    },
    /// A methodology has a table under its alias.
    #[error("\"{alias}\" is another name of the methodology {name}")]
    Alias {
        /// The alias.
        alias: String,
        /// The name proper.
        name: String,
    },
    /// The name is there already.
    #[error("{what} \"{name}\" is listed twice")]
    Doubled {
        /// What is listed.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The chain of this point cannot be kept to the iterations of one mode.
    #[error("{point} has no mode: {why}")]
    NoMode {
        /// The point.
        point: HookPoint,
        /// Why not.
        why: &'static str,
    },
    /// A key that must be there is not.
    #[error("{name} is missing")]
    Missing {
        /// The key.
        name: &'static str,
    },
    /// The value is empty.
    #[error("must not be empty")]
    Empty,
    /// The text holds a NUL byte, which no command line can.
    #[error("holds a NUL byte")]
    Nul,
    /// The file has another schema.
    #[error("version \"{found}\" is not supported")]
    Version {
        /// The version as it was given.
        found: String,
    },
    /// What only this kind of file can have wrong, such as a plugin's manifest.
    #[error("{what}")]
    Specific {
        /// What it is.
        what: String,
        /// What to do about it.
        help: Remedy,
    },
}

impl ProblemKind {
    /// Makes the problem of a name that is none of those there are.
    #[doc(hidden)]
    pub fn unknown_name(what: &'static str, name: &str, known: &[&str]) -> Self {
        Self::UnknownName {
            what,
            name: shorten(name),
            nearest: nearest(name, known.iter().copied()).map(str::to_owned),
            known: known.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn help(&self) -> String {
        match self {
            Self::TooLarge { .. } => "Remove what does not belong there.".to_owned(),
            Self::NotUtf8 => "Save the file as UTF-8.".to_owned(),
            Self::Syntax { unquoted_point: true, .. } => {
                "Quote hook points, as in [hooks.\"before:loop\"].".to_owned()
            }
            Self::Syntax { .. } => "Correct the TOML here.".to_owned(),
            Self::UnknownKey { nearest: Some(set), is_set: true, .. } => {
                format!("Correct or remove it: {set} is set already.")
            }
            Self::UnknownKey { nearest, known, .. } => suggest(*nearest, known),
            Self::UnknownPoint { nearest: Some(set), is_set: true, .. } => {
                format!("Correct or remove it: {set} is set already.")
            }
            Self::Misplaced { .. } => "Move it there.".to_owned(),
            Self::UnknownPoint { name, .. } if is_reserved_point(name) => {
                "Names that begin with extension. or methodology. are reserved; remove it.".to_owned()
            }
            Self::UnknownPoint { nearest: Some(point), .. } => format!("Did you mean \"{point}\"?"),
            Self::UnknownPoint { nearest: None, .. } => {
                let points: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
                suggest(None, &points)
            }
            Self::UnquotedPoint { quoted, .. } => format!("Write {quoted}."),
            Self::WrongType { expected: "text", .. } => "Put it in quotes.".to_owned(),
            Self::WrongType { expected: "a list", found: "text" } => {
                "Write a list in brackets, or remove the key.".to_owned()
            }
            Self::WrongType { expected: "a list", found: "a table" } => {
                "Give each table of the list a header in double brackets, as in [[...]].".to_owned()
            }
            // What is expected was said.
            Self::WrongType { .. } | Self::OutOfRange { .. } => {
                "Change the value, or remove the key.".to_owned()
            }
            Self::NoDuration(_) => {
                "Write text such as \"30s\", \"5m\" or \"1h30m\", or whole seconds as a number.".to_owned()
            }
            Self::UnknownName { what, known, .. } if known.is_empty() => {
                format!("Remove it: there is no {what} that could be named here.")
            }
            Self::UnknownName { nearest, known, .. } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                suggest(nearest.as_deref(), &known)
            }
            Self::InvalidName { .. } => "Choose another name.".to_owned(),
            Self::Alias { name, .. } => format!("Use {name} here."),
            Self::Doubled { .. } => "Remove one of the two.".to_owned(),
            Self::NoMode { .. } => {
                "Remove it; handlers are told the mode of each call, where there is one.".to_owned()
            }
            Self::Missing { name } => format!("Add {name}."),
            Self::Empty => "Give a value, or remove the key.".to_owned(),
            Self::Nul => "Remove it.".to_owned(),
            Self::Version { .. } => "Write version = \"2\".".to_owned(),
            Self::Specific { help, .. } => help.prose(),
        }
    }
}

/// Asks whether the nearest name was meant, or lists those there are.
pub(super) fn suggest(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(name) => format!("Did you mean \"{name}\"?"),
        None => match known {
            [only] => format!("Use \"{only}\"."),
            known => format!("Use one of {}.", known.join(", ")),
        },
    }
}

/// Shortens text from a file for a message.
pub fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Says whether a name of a hook point is reserved for a later version.
fn is_reserved_point(name: &str) -> bool {
    ["extension.", "methodology."].iter().any(|prefix| name.starts_with(prefix))
}
