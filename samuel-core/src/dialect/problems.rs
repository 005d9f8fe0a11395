//! Problems of a hook file, each at its place.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_contract::nearest;

use super::yaml::{Node, Value};
use crate::{
    config::{Problem, ProblemKind, format_duration, parse_duration, shorten},
    fs::FileError,
    hook::ChainSpec,
    model::Location,
};

/// Collects what is wrong in a file.
#[derive(Debug)]
pub(super) struct Problems {
    file: PathBuf,
    list: Vec<Problem>,
    /// How many more there are.
    more: usize,
    /// What works, and may not be what was meant.
    warnings: Vec<Problem>,
}

/// Words for true and false.
const YES: [&str; 3] = ["yes", "on", "true"];
const NO: [&str; 3] = ["no", "off", "false"];

/// How many problems, and how many warnings, are kept of a file.
const MAX: usize = 1_000;

impl Problems {
    /// Starts with none. `file` is how messages name it.
    pub(super) fn of(file: &Path) -> Self {
        Self { file: file.to_owned(), list: Vec::new(), more: 0, warnings: Vec::new() }
    }

    /// Adds a problem at a place.
    pub(super) fn add(&mut self, at: &Node, key: &str, kind: impl Into<ProblemKind>) {
        match self.list.len() {
            0..MAX => self.list.push(problem(&self.file, (at.line, at.column), key, kind.into())),
            _ => self.more += 1,
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len() + self.more
    }

    /// Returns the problems, how many more there are, and the warnings.
    pub(super) fn into_parts(self) -> (Vec<Problem>, usize, Vec<Problem>) {
        (self.list, self.more, self.warnings)
    }

    /// Adds what works, and may not be what was meant.
    pub(super) fn warn(&mut self, at: &Node, key: &str, what: impl Into<String>, help: impl Into<String>) {
        if self.warnings.len() < MAX {
            let help: String = help.into();
            let kind = ProblemKind::Specific { what: what.into(), help: help.into() };
            self.warnings.push(problem(&self.file, (at.line, at.column), key, kind));
        }
    }

    /// Adds a problem that only hook files have.
    pub(super) fn tell(&mut self, at: &Node, key: &str, what: impl Into<String>, help: impl Into<String>) {
        let help: String = help.into();
        self.add(at, key, ProblemKind::Specific { what: what.into(), help: help.into() });
    }

    /// Adds that a value is of another type than its key takes.
    pub(super) fn wrong_type(&mut self, at: &Node, key: &str, expected: &'static str) {
        self.add(at, key, ProblemKind::WrongType { expected, found: at.value.kind() });
    }

    /// Reads the keys of a mapping: each with what it says, in the order of `known`. Keys that are
    /// unknown, doubled or no text are told of; `unknown` may know better what to say of one.
    pub(super) fn keys<'a, const N: usize>(
        &mut self,
        mapping: &'a [(Node, Node)],
        path: &str,
        known: &[&'static str; N],
        unknown: impl Fn(&str) -> Option<(String, String)>,
    ) -> [Option<&'a (Node, Node)>; N] {
        let mut found: [Option<&'a (Node, Node)>; N] = [None; N];
        let is_text = |(key, _): &'a (Node, Node)| {
            if let Value::Text(name) = &key.value { Some(name.as_str()) } else { None }
        };
        let given: BTreeSet<&str> = mapping.iter().filter_map(is_text).collect();
        for entry in mapping {
            let (key, _) = entry;
            let Value::Text(name) = &key.value else {
                self.wrong_type(key, path, "a name");
                continue;
            };
            let at = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, shorten(name));
            let place = known.iter().position(|known| known == name);
            match place.and_then(|place| found.get_mut(place)) {
                Some(free) if free.is_none() => *free = Some(entry),
                Some(Some((first, _))) => {
                    let what = format!("is given twice, first in line {}", first.line);
                    self.tell(key, &at, what, "Remove one of the two.");
                }
                _ if name == "<<" => {
                    self.tell(key, &at, "merge keys are not supported", "Write the keys out.");
                }
                _ => match unknown(name) {
                    Some((what, help)) => self.tell(key, &at, what, help),
                    None => {
                        let nearest = nearest(name, known.iter().copied());
                        let is_set = nearest.is_some_and(|nearest| given.contains(nearest));
                        let nearest = known.iter().copied().find(|known| Some(*known) == nearest);
                        self.add(
                            key,
                            &at,
                            ProblemKind::UnknownKey { nearest, is_set, known: known.to_vec() },
                        );
                    }
                },
            }
        }
        found
    }

    /// Reads a text.
    pub(super) fn text<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        let Value::Text(text) = &node.value else {
            self.wrong_type(node, key, "text");
            return None;
        };
        if text.contains('\0') {
            self.add(node, key, ProblemKind::Nul);
            return None;
        }
        Some(text)
    }

    /// Reads a boolean; `false` where there is none.
    pub(super) fn flag(&mut self, node: Option<&Node>, key: &str) -> Option<bool> {
        match node.map(|node| (node, &node.value)) {
            None => Some(false),
            Some((_, Value::Boolean(flag))) => Some(*flag),
            // The words of YAML 1.1.
            Some((_, Value::Text(word))) if YES.contains(&word.to_ascii_lowercase().as_str()) => Some(true),
            Some((_, Value::Text(word))) if NO.contains(&word.to_ascii_lowercase().as_str()) => Some(false),
            Some((node, _)) => {
                self.wrong_type(node, key, "true or false");
                None
            }
        }
    }

    /// Reads how long a command may take.
    pub(super) fn timeout(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let timeout = match &node.value {
            Value::Integer(seconds) => {
                u64::try_from(*seconds).map_err(|_| seconds.to_string()).map(Duration::from_secs)
            }
            Value::Float(number) if number.fract() != 0.0 || number.abs() < 1e6 => {
                let expected = "a whole number of seconds or a text such as \"30s\"";
                self.wrong_type(node, key, expected);
                return None;
            }
            Value::Float(number) => Err(number.to_string()),
            Value::Text(text) => match parse_duration(text) {
                Ok(duration) => Ok(duration),
                Err(error) => {
                    self.add(node, key, error);
                    return None;
                }
            },
            _ => {
                self.wrong_type(node, key, "a whole number of seconds or a text such as \"30s\"");
                return None;
            }
        };
        let found = match timeout {
            Ok(timeout) if (ChainSpec::MIN_TIMEOUT..=ChainSpec::MAX_TIMEOUT).contains(&timeout) => {
                return Some(timeout);
            }
            Ok(timeout) => format_duration(timeout),
            Err(found) => found,
        };
        let expected = "whole seconds, 1s to 24h".to_owned();
        self.add(node, key, ProblemKind::OutOfRange { found, expected });
        None
    }
}

/// Makes a problem at a place in a file.
pub(super) fn problem(file: &Path, (line, column): (usize, usize), key: &str, kind: ProblemKind) -> Problem {
    let location = Location { file: file.to_owned(), line: Some(line), column: Some(column) };
    Problem { location, key: key.to_owned(), kind }
}

/// Makes a problem of a file as a whole.
pub(super) fn whole(file: &Path, what: String, help: &'static str) -> Problem {
    problem(file, (1, 1), "", ProblemKind::Specific { what, help: help.into() })
}

/// Makes the problem of a file that cannot be read.
pub(super) fn unreadable(file: &Path, error: &FileError) -> Problem {
    let help = error.help().unwrap_or("Make it readable, or remove it.");
    whole(file, format!("it cannot be read: {error}"), help)
}
