//! Reading TOML tables key by key, with every problem at its place.
//!
//! A [`Document`] is the text and what was found in it so far. A [`Table`]
//! hands out a [`Value`] for each key that is asked for, and reports the keys
//! nobody asked for when it is finished, so the known keys are written down
//! once: where they are read. A value that does not fit is reported and counts
//! as absent, so that reading goes on and one pass finds every problem.

use std::{cell::RefCell, collections::BTreeMap, ops::RangeInclusive, path::Path, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{ConfigError, Origin, Problem, ProblemKind, Problems, duration, shorten, source::Source};
use crate::hook::nearest;

/// A TOML text that is being read.
#[derive(Debug)]
pub(crate) struct Document {
    source: Source,
    found: RefCell<Found>,
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
pub(crate) struct Origins {
    source: Source,
    keys: BTreeMap<String, usize>,
}

impl Origins {
    /// Returns where a key is set; quotes in its path do not count.
    pub(crate) fn get(&self, key: &str) -> Option<Origin> {
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
    pub(crate) const MAX_BYTES: usize = 1024 * 1024;

    /// Reads a text: `read` takes what it knows from the root table, and this
    /// reports what is left.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] with all problems of the text.
    pub(crate) fn read<T>(
        file: &Path,
        text: &str,
        read: impl FnOnce(&mut Table<'_>) -> T,
    ) -> Result<(T, Origins), ConfigError> {
        if text.len() > Self::MAX_BYTES {
            let document = Self::new(file, "");
            document.report(0, "", || ProblemKind::TooLarge { max_bytes: Self::MAX_BYTES });
            return Err(ConfigError::Invalid(document.found.into_inner().problems));
        }
        let document = Self::new(file, text);
        let (root, errors) = DeTable::parse_recoverable(document.source.text());
        for error in &errors {
            document.report_syntax(error);
        }
        // What a parser guessed behind an error is not worth a second look.
        let value = errors.is_empty().then(|| {
            let mut table = Table::new(&document, KeyPath::default(), 0, root.get_ref());
            let value = read(&mut table);
            table.finish();
            value
        });
        drop(root);
        document.finish(value)
    }

    fn new(file: &Path, text: &str) -> Self {
        Self { source: Source::new(file, text), found: RefCell::default() }
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

    /// Notes a problem. Beyond the first ones they are only counted, so that a
    /// hostile file costs no more than its size.
    fn report(&self, offset: usize, key: &str, kind: impl FnOnce() -> ProblemKind) {
        let problems = &mut self.found.borrow_mut().problems;
        if problems.list.len() >= Problems::MAX {
            problems.omitted += 1;
            return;
        }
        let location = self.source.origin(offset).into();
        problems.list.push(Problem { location, key: shorten(key), kind: kind() });
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

/// The path of a key, as it is looked up and as TOML writes it.
#[derive(Clone, Debug, Default)]
struct KeyPath {
    plain: String,
    quoted: String,
}

impl KeyPath {
    fn join(&self, key: &str) -> Self {
        let bare =
            !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        let dot = if self.plain.is_empty() { "" } else { "." };
        Self {
            plain: format!("{}{dot}{key}", self.plain),
            quoted: if bare {
                format!("{}{dot}{key}", self.quoted)
            } else {
                format!("{}{dot}\"{}\"", self.quoted, key.escape_debug())
            },
        }
    }

    fn index(&self, place: usize) -> Self {
        Self { plain: format!("{}[{place}]", self.plain), quoted: format!("{}[{place}]", self.quoted) }
    }
}

/// A table whose keys are asked for one by one.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    document: &'a Document,
    path: KeyPath,
    /// Where the table is named.
    offset: usize,
    entries: &'a DeTable<'a>,
    asked: Vec<&'static str>,
    accepts_all: bool,
}

impl<'a> Table<'a> {
    fn new(document: &'a Document, path: KeyPath, offset: usize, entries: &'a DeTable<'a>) -> Self {
        Self { document, path, offset, entries, asked: Vec::new(), accepts_all: false }
    }

    /// Returns a key's value, where the table has it.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        let (name, value) = self.entries.get_key_value(key)?;
        let path = self.path.join(key);
        self.document.found.borrow_mut().keys.insert(path.plain.clone(), name.span().start);
        Some(Value { document: self.document, path, key_offset: name.span().start, value })
    }

    /// Returns a key's value, and reports it where it is missing.
    pub(crate) fn require(&mut self, key: &'static str) -> Option<Value<'a>> {
        let value = self.take(key);
        if value.is_none() {
            let missing = || ProblemKind::Missing { name: key };
            self.document.report(self.offset, &self.path.quoted, missing);
        }
        value
    }

    /// Returns all entries of a table whose keys are names, in the order of
    /// the text.
    pub(crate) fn entries(self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let value = |(name, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let key: &'a std::borrow::Cow<'a, str> = name.get_ref();
            let path = self.path.join(key);
            let key_offset = name.span().start;
            self.document.found.borrow_mut().keys.insert(path.plain.clone(), key_offset);
            (key.as_ref(), Value { document: self.document, path, key_offset, value })
        };
        entries.into_iter().map(value).collect()
    }

    /// Gives up on the table without a word about its keys.
    pub(crate) fn accept_all(&mut self) {
        self.accepts_all = true;
    }

    /// Reports the keys that nobody asked for.
    pub(crate) fn finish(self) {
        for (name, _) in self.entries {
            let key = name.get_ref().as_ref();
            if self.accepts_all || self.asked.contains(&key) {
                continue;
            }
            self.document.report(name.span().start, &self.path.join(key).quoted, || {
                ProblemKind::UnknownKey {
                    nearest: nearest(key, self.asked.iter().copied()),
                    known: self.asked.clone(),
                }
            });
        }
    }
}

/// A key's value.
#[derive(Clone, Debug)]
pub(crate) struct Value<'a> {
    document: &'a Document,
    path: KeyPath,
    key_offset: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Value<'a> {
    /// Reports a problem at the value.
    pub(crate) fn refuse(&self, kind: impl Into<ProblemKind>) {
        // The text of a table is its header, which says less than its name.
        let offset = match self.value.get_ref() {
            DeValue::Table(_) => self.key_offset,
            _ => self.value.span().start,
        };
        self.document.report(offset, &self.path.quoted, || kind.into());
    }

    /// Reports a problem at the key.
    pub(crate) fn refuse_key(&self, kind: impl Into<ProblemKind>) {
        self.document.report(self.key_offset, &self.path.quoted, || kind.into());
    }

    /// Returns the key's path as TOML writes it.
    pub(crate) fn path(&self) -> &str {
        &self.path.quoted
    }

    fn wrong_type<T>(&self, expected: &'static str) -> Option<T> {
        self.refuse(ProblemKind::WrongType { expected, found: type_name(self.value.get_ref()) });
        None
    }

    /// Returns the value without a word where it is a table.
    pub(crate) fn as_table(&self) -> Option<&'a DeTable<'a>> {
        self.value.get_ref().as_table()
    }

    /// Reads text.
    pub(crate) fn string(&self) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.wrong_type("text"))
    }

    /// Reads text with something other than space in it.
    pub(crate) fn filled(&self) -> Option<&'a str> {
        let text = self.string()?;
        if text.trim().is_empty() {
            self.refuse(ProblemKind::Empty);
            return None;
        }
        Some(text)
    }

    /// Reads one of some names.
    pub(crate) fn one_of(&self, what: &'static str, names: &[&'static str]) -> Option<&'static str> {
        let text = self.string()?;
        let known = names.iter().copied().find(|name| *name == text);
        if known.is_none() {
            self.refuse(ProblemKind::UnknownName {
                what,
                name: shorten(text),
                nearest: nearest(text, names.iter().copied()).map(str::to_owned),
                known: names.iter().map(|name| (*name).to_owned()).collect(),
            });
        }
        known
    }

    /// Reads true or false.
    pub(crate) fn boolean(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.wrong_type("true or false"))
    }

    /// Reads a whole number of at least `min` that fits the type asked for.
    pub(crate) fn integer<T: TryFrom<i64> + Bounded>(&self, min: i64) -> Option<T> {
        let DeValue::Integer(integer) = self.value.get_ref() else {
            return self.wrong_type("a whole number");
        };
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let fits = number.filter(|number| *number >= min).and_then(|number| T::try_from(number).ok());
        if fits.is_none() {
            let expected = format!("a whole number from {min} to {}", T::MAX);
            self.refuse(ProblemKind::OutOfRange { found: shorten(&integer.to_string()), expected });
        }
        fits
    }

    /// Reads a number above 0.
    pub(crate) fn positive(&self) -> Option<f64> {
        let (number, text) = match self.value.get_ref() {
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (number.map(|number| number as f64), integer.to_string())
            }
            DeValue::Float(float) => (float.as_str().parse().ok(), float.to_string()),
            _ => return self.wrong_type("a number"),
        };
        let fits = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
        if fits.is_none() {
            let expected = "a number above 0".to_owned();
            self.refuse(ProblemKind::OutOfRange { found: shorten(&text), expected });
        }
        fits
    }

    /// Reads a duration: text such as `5m`, or whole seconds.
    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (read, found) = match self.value.get_ref() {
            DeValue::String(text) => match duration::parse_duration(text) {
                Ok(duration) => (Some(duration), duration::format_duration(duration)),
                Err(error) => {
                    self.refuse(ProblemKind::NoDuration { text: error.text, problem: error.problem });
                    return None;
                }
            },
            DeValue::Integer(integer) => {
                let seconds = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (seconds.map(Duration::from_secs), integer.to_string())
            }
            // Numbers such as 1e9 are too much rather than of a wrong type.
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(seconds)
                    if seconds > range.end().as_secs_f64() || seconds < range.start().as_secs_f64() =>
                {
                    (None, float.to_string())
                }
                _ => return self.wrong_type("text such as \"5m\", or whole seconds"),
            },
            _ => return self.wrong_type("text such as \"5m\", or whole seconds"),
        };
        let fits = read.filter(|duration| range.contains(duration));
        if fits.is_none() {
            let [start, end] = [range.start(), range.end()].map(|limit| duration::format_duration(*limit));
            let expected = format!("a duration from {start} to {end}");
            self.refuse(ProblemKind::OutOfRange { found: shorten(&found), expected });
        }
        fits
    }

    /// Reads a table.
    pub(crate) fn table(&self) -> Option<Table<'a>> {
        let Some(entries) = self.as_table() else { return self.wrong_type("a table") };
        Some(Table::new(self.document, self.path.clone(), self.key_offset, entries))
    }

    /// Reads a list.
    pub(crate) fn list(&self) -> Option<Vec<Value<'a>>> {
        let Some(items) = self.value.get_ref().as_array() else { return self.wrong_type("a list") };
        let item = |(place, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let path = self.path.index(place);
            let key_offset = value.span().start;
            self.document.found.borrow_mut().keys.insert(path.plain.clone(), key_offset);
            Value { document: self.document, path, key_offset, value }
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// Reads a list of texts.
    pub(crate) fn strings(&self) -> Option<Vec<String>> {
        let texts = self.list()?.into_iter().map(|value| value.string().map(str::to_owned));
        // Every item is looked at, so that each wrong one is reported.
        texts.collect::<Vec<_>>().into_iter().collect()
    }
}

/// Whole numbers with a largest one.
pub(crate) trait Bounded {
    /// The largest one that TOML can write.
    const MAX: i64;
}

impl Bounded for i32 {
    const MAX: i64 = i32::MAX as i64;
}

impl Bounded for u32 {
    const MAX: i64 = u32::MAX as i64;
}

impl Bounded for u64 {
    const MAX: i64 = i64::MAX;
}

/// Returns what a message calls a value's type.
fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
