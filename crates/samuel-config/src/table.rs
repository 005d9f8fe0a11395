//! Reading TOML tables key by key, with every problem at its place.
//!
//! A [`Table`] hands out a [`Value`] for each key that is asked for, and
//! reports the keys nobody asked for when it is finished, so the known keys are
//! written down once: where they are read. A value that does not fit is
//! reported to the [`Document`] and counts as absent, so that reading goes on
//! and one pass finds every problem.

use std::borrow::Cow;

use samuel_contract::nearest;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{ProblemKind, document::Document, value::Value};

/// The path of a key, as it is looked up and as TOML writes it.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyPath {
    pub(super) plain: String,
    pub(super) quoted: String,
    /// How much of `quoted` is the path without the last key.
    pub(super) parent_len: usize,
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
            parent_len: self.quoted.len(),
        }
    }

    pub(super) fn index(&self, place: usize) -> Self {
        Self {
            plain: format!("{}[{place}]", self.plain),
            quoted: format!("{}[{place}]", self.quoted),
            parent_len: self.quoted.len(),
        }
    }
}

/// A table whose keys are asked for one by one.
#[derive(Debug)]
pub struct Table<'a> {
    document: &'a Document,
    path: KeyPath,
    /// Where the table is named.
    offset: usize,
    entries: &'a DeTable<'a>,
    asked: Vec<&'static str>,
    /// Keys that belong in another table, and which one that is.
    elsewhere: (Vec<&'static str>, String),
    accepts_all: bool,
}

impl<'a> Table<'a> {
    /// Takes the root table of a document.
    pub(super) fn root(document: &'a Document, entries: &'a DeTable<'a>) -> Self {
        Self::new(document, KeyPath::default(), 0, entries)
    }

    pub(super) fn new(
        document: &'a Document,
        path: KeyPath,
        offset: usize,
        entries: &'a DeTable<'a>,
    ) -> Self {
        Self {
            document,
            path,
            offset,
            entries,
            asked: Vec::new(),
            elsewhere: Default::default(),
            accepts_all: false,
        }
    }

    /// Returns a key's value, where the table has it.
    pub fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        let (name, value) = self.entries.get_key_value(key)?;
        let path = self.path.join(key);
        self.document.note(&path.plain, name.span().start);
        Some(Value { document: self.document, path, key_offset: name.span().start, value })
    }

    /// Returns a key's value, and reports it where it is missing.
    pub fn require(&mut self, key: &'static str) -> Option<Value<'a>> {
        let value = self.take(key);
        if value.is_none() {
            let missing = || ProblemKind::Missing { name: key };
            self.document.report(self.offset, &self.path.quoted, missing);
        }
        value
    }

    /// Returns all entries of a table whose keys are names, in the order of
    /// the text.
    pub fn entries(self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let value = |(name, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let key: &'a Cow<'a, str> = name.get_ref();
            let path = self.path.join(key);
            let key_offset = name.span().start;
            self.document.note(&path.plain, key_offset);
            (key.as_ref(), Value { document: self.document, path, key_offset, value })
        };
        entries.into_iter().map(value).collect()
    }

    /// Says whether the table has a key, without asking for it.
    pub fn has(&self, key: &str) -> bool {
        self.entries.get(key).is_some()
    }

    /// Says which keys that are not asked for belong in another table.
    pub(super) fn leave_to(&mut self, table: String, keys: impl IntoIterator<Item = &'static str>) {
        self.elsewhere = (keys.into_iter().collect(), table);
    }

    /// Gives up on the table without a word about its keys.
    pub fn accept_all(&mut self) {
        self.accepts_all = true;
    }

    /// Reports the keys that nobody asked for, and says whether there are none.
    pub fn finish(self) -> bool {
        let mut is_known = true;
        for (name, _) in self.entries {
            let key = name.get_ref().as_ref();
            if self.accepts_all || self.asked.contains(&key) {
                continue;
            }
            is_known = false;
            self.document.report(name.span().start, &self.path.join(key).quoted, || {
                let (keys, table) = &self.elsewhere;
                if keys.contains(&key) {
                    return ProblemKind::Misplaced { table: table.clone() };
                }
                let nearest = nearest(key, self.asked.iter().copied());
                // A key that is there already is not what was meant, nor is the second nearest.
                let is_set = nearest.is_some_and(|nearest| self.has(nearest));
                ProblemKind::UnknownKey { nearest, is_set, known: self.asked.clone() }
            });
        }
        is_known
    }
}
