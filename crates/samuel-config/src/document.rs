//! A TOML text that is being read, and what was found in it.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use samuel_model::Location;
use serde::Serialize;
use toml::de::DeTable;

use super::{ConfigError, Origin, Problem, ProblemKind, Problems, shorten, source::Source, table::Table};

/// A TOML text that is being read.
#[derive(Debug)]
pub struct Document {
    source: Source,
    found: RefCell<Found>,
    /// Whether durations may be numbers with a fraction, which a program gives.
    takes_fractions: bool,
}

/// What reading found.
#[derive(Debug, Default)]
struct Found {
    problems: Problems,
    /// The offset of each key that was read.
    keys: BTreeMap<String, usize>,
}

/// The keys of a document that was read, and where each is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    source: Source,
    keys: BTreeMap<String, usize>,
}

impl Origins {
    /// Returns where a key is set; quotes in its path do not count.
    pub fn get(&self, key: &str) -> Option<Origin> {
        self.keys.get(&key.replace('"', "")).map(|offset| self.source.origin(*offset))
    }

    /// Returns what follows a prefix in the keys that have it, each with its
    /// place, in the order of names.
    pub(crate) fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, Origin)> {
        let prefix = prefix.replace('"', "");
        let all = self.keys.range(prefix.clone()..);
        let below = all.map_while(move |(key, offset)| Some((key.strip_prefix(&prefix)?, *offset)));
        below.map(|(name, offset)| (name, self.source.origin(offset)))
    }
}

impl Document {
    /// The largest text that is read, in bytes.
    pub(crate) const MAX_BYTES: usize = 256 * 1024;

    /// Reads a text: `read` takes what it knows from the root table, and this
    /// reports what is left.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] with all problems of the text.
    pub fn read<T>(
        file: &Path,
        text: &str,
        read: impl FnOnce(&mut Table<'_>) -> T,
    ) -> Result<(T, Origins), ConfigError> {
        if text.len() > Self::MAX_BYTES {
            let document = Self::new(file, "");
            document.report(0, "", || ProblemKind::TooLarge { max_bytes: Self::MAX_BYTES });
            return Err(ConfigError::Invalid(document.found.into_inner().problems));
        }
        Self::new(file, text).read_with(read)
    }

    /// Reads what a program gives in place of a text.
    ///
    /// # Errors
    /// Returns [`ConfigError::Settings`] with all problems, none of which has a place.
    pub(crate) fn read_given<T>(
        given: &impl Serialize,
        read: impl FnOnce(&mut Table<'_>) -> T,
    ) -> Result<T, ConfigError> {
        let nowhere = Location { file: PathBuf::new(), line: None, column: None };
        let text = toml::to_string(given).map_err(|error| {
            let help = "Give text, numbers, true or false, lists and tables.".into();
            let kind = ProblemKind::Specific { what: error.to_string(), help };
            let problem = Problem { location: nowhere.clone(), key: "settings".to_owned(), kind };
            ConfigError::Settings(Problems { list: vec![problem], omitted: 0 })
        })?;
        let document = Self { takes_fractions: true, ..Self::new(Path::new(""), &text) };
        document.read_with(read).map(|(value, _)| value).map_err(|error| match error {
            ConfigError::Invalid(mut problems) => {
                problems.list.iter_mut().for_each(|problem| problem.location = nowhere.clone());
                ConfigError::Settings(problems)
            }
            error => error,
        })
    }

    fn read_with<T>(self, read: impl FnOnce(&mut Table<'_>) -> T) -> Result<(T, Origins), ConfigError> {
        let (root, errors) = DeTable::parse_recoverable(self.source.text());
        for error in &errors {
            self.report_syntax(error);
        }
        // What a parser guessed behind an error is not worth a second look.
        let value = errors.is_empty().then(|| {
            let mut table = Table::root(&self, root.get_ref());
            let value = read(&mut table);
            table.finish();
            value
        });
        drop(root);
        self.finish(value)
    }

    fn new(file: &Path, text: &str) -> Self {
        Self { source: Source::new(file, text), found: RefCell::default(), takes_fractions: false }
    }

    fn finish<T>(self, value: Option<T>) -> Result<(T, Origins), ConfigError> {
        let Found { mut problems, keys } = self.found.into_inner();
        match value {
            Some(value) if problems.list.is_empty() => Ok((value, Origins { source: self.source, keys })),
            _ => {
                problems.list.sort_by_key(|problem| (problem.location.line, problem.location.column));
                Err(ConfigError::Invalid(problems))
            }
        }
    }

    /// Notes a problem. Beyond the first ones of the text they are only counted, so
    /// that a hostile file costs no more than its size.
    pub(super) fn report(&self, offset: usize, key: &str, kind: impl FnOnce() -> ProblemKind) {
        let problems = &mut self.found.borrow_mut().problems;
        let location = self.source.origin(offset).into();
        if problems.list.len() >= Problems::MAX {
            problems.omitted += 1;
            let place = |at: &Location| (at.line, at.column);
            let last = problems.list.iter_mut().max_by_key(|problem| place(&problem.location));
            if let Some(last) = last.filter(|last| place(&location) < place(&last.location)) {
                *last = Problem { location, key: shorten(key), kind: kind() };
            }
            return;
        }
        problems.list.push(Problem { location, key: shorten(key), kind: kind() });
    }

    pub(super) fn takes_fractions(&self) -> bool {
        self.takes_fractions
    }

    /// Returns the place of a byte offset.
    pub(super) fn location(&self, offset: usize) -> Location {
        self.source.origin(offset).into()
    }

    /// Notes where a key is set.
    pub(super) fn note(&self, key: &str, offset: usize) {
        self.found.borrow_mut().keys.insert(key.to_owned(), offset);
    }

    fn report_syntax(&self, error: &toml::de::Error) {
        let offset = error.span().map_or(0, |span| span.start);
        self.report(offset, "", || {
            let line = self.source.line_at(offset).trim_start();
            let at_colon = self.source.text().get(offset..).is_some_and(|rest| rest.starts_with(':'));
            let unquoted_point = at_colon && line.starts_with('[') && line.contains("hooks.");
            ProblemKind::Syntax { message: error.message().to_owned(), unquoted_point }
        });
    }
}
