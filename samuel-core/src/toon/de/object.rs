//! Objects: the fields of one scope, line by line (section 8).
//!
//! [`Fields`] is the map access of a root, a nested object and an object in a
//! list item. It also finds keys that occur twice: an error in strict mode;
//! otherwise the survey of [`repair`](super::repair) has noted them, and the
//! first occurrence delivers the last value.

use std::{borrow::Cow, collections::HashMap, marker::PhantomData};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess};

use crate::toon::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line},
    header::{KeyLine, Rest},
    key::KeyReader,
    repair::Redirect,
    token::{Form, Token},
};

pub(crate) struct Fields<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    /// Lines above this depth end the scope.
    floor: usize,
    /// The depth of every field, once known.
    depth: Option<usize>,
    /// The first field of a list item, which stands behind its hyphen.
    inline: Option<usize>,
    keys: Keys<'de>,
    pending: Option<KeyLine<'de>>,
    count: u64,
}

impl<'c, 'de> Fields<'c, 'de> {
    #[inline]
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        floor: usize,
        depth: Option<usize>,
        inline: Option<usize>,
    ) -> Self {
        let keys = Keys::new(cursor);
        Self { cursor, floor, depth, inline, keys, pending: None, count: 0 }
    }

    /// Finds the next field of this scope and takes its line.
    #[inline]
    fn next_start(&mut self) -> Result<Option<usize>> {
        if let Some(start) = self.inline.take() {
            return Ok(Some(start));
        }
        loop {
            let Some(line) = self.cursor.peek_in(self.floor)? else {
                return Ok(None);
            };
            if self.cursor.admit(line, self.floor, &mut self.depth)? {
                self.cursor.take(line);
                return Ok(Some(line.start));
            }
        }
    }

    fn depth(&self) -> usize {
        self.depth.unwrap_or(self.floor)
    }

    /// Splits the line into key and rest; in recovery, drops lines that have none.
    fn next_field(&mut self) -> Result<Option<KeyLine<'de>>> {
        while let Some(start) = self.next_start()? {
            if self.cursor.repair.is_some() && self.is_dropped(start)? {
                continue;
            }
            let line = self.cursor.key_line(start).and_then(|line| {
                if self.cursor.recovering() {
                    self.cursor.vet_value(&line, self.depth.unwrap_or(self.floor))?;
                }
                Ok(line)
            });
            match line {
                Ok(line) => return Ok(Some(line)),
                Err(fault) if self.cursor.recovering() => {
                    let line = Line { start, depth: self.depth() };
                    self.cursor.discard(line, fault)?;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(None)
    }

    /// Passes over a field that recovery gave up, or that a later one replaces.
    #[cold]
    fn is_dropped(&mut self, start: usize) -> Result<bool> {
        let line = Line { start, depth: self.depth() };
        if self.cursor.discard_broken(line)? {
            return Ok(true);
        }
        if !self.cursor.is_superseded(start) {
            return Ok(false);
        }
        let field = self.cursor.key_line(start)?;
        self.skip_value(field.rest)?;
        self.cursor.note_replaced(field.key, self.cursor.pos());
        Ok(true)
    }

    fn skip_value(&mut self, rest: Rest) -> Result<()> {
        let depth = self.depth();
        let content = self.cursor.value_node(rest, depth)?;
        content.read(self.cursor, PhantomData::<IgnoredAny>).map(drop)
    }

    /// Goes to the last occurrence of a repeated key; returns the place to come back to.
    #[cold]
    fn follow_redirect(&mut self, field: &mut KeyLine<'de>) -> Result<Option<super::cursor::Mark>> {
        let Some(target) = self.cursor.redirect(field.key.start) else {
            return Ok(None);
        };
        self.skip_value(field.rest)?;
        self.cursor.note_replaced(field.key, self.cursor.pos());
        self.cursor.peek()?;
        let back = self.cursor.mark();
        self.cursor.jump(target);
        *field = self.cursor.key_line(target)?;
        Ok(Some(back))
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some(line) = self.next_field()? else {
            self.keys.close(self.cursor);
            return Ok(None);
        };
        self.count += 1;
        self.cursor.check_rows(self.count)?;
        self.keys.admit(self.cursor, line.key)?;
        let key = line.key;
        self.pending = Some(line);
        if self.cursor.repair.is_some() {
            self.cursor.open_unit_key(key);
        }
        seed.deserialize(KeyReader(key)).map(Some).map_err(|error| error.or_at(key.start))
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some(mut line) = self.pending.take() else {
            return Err(serde::de::Error::custom("a value was asked for without a key"));
        };
        let back = if self.cursor.repair.is_some() { self.follow_redirect(&mut line)? } else { None };
        let depth = self.depth();
        let content = self.cursor.value_node(line.rest, depth).map_err(|error| in_field(error, line.key))?;
        let value = content.read(self.cursor, seed).map_err(|error| in_field(error, line.key))?;
        if self.cursor.repair.is_some() {
            self.cursor.close_unit();
            if let Some(back) = back {
                self.cursor.restore(back);
            }
        }
        Ok(value)
    }
}

#[cold]
fn in_field(error: Error, key: Token<'_>) -> Error {
    let name = key.unescape().unwrap_or(Cow::Borrowed(key.text));
    error.or_at(key.start).in_key(&name)
}

/// The keys of one scope that were seen so far.
///
/// Few keys are compared one by one on the cursor's shared stack; more go
/// into a map of their own, so that reading stays linear.
pub(crate) struct Keys<'de> {
    from: usize,
    #[expect(clippy::box_collection, reason = "rarely there, and every object being read holds one")]
    many: Option<Box<HashMap<Cow<'de, str>, usize>>>,
}

/// Up to here comparing is cheaper than hashing.
const FEW: usize = 24;

impl<'de> Keys<'de> {
    #[inline]
    pub(crate) fn new(cursor: &Cursor<'de>) -> Self {
        Self { from: cursor.keys.len(), many: None }
    }

    /// Adds a key, refusing or recording one that is there already (section 14.3).
    #[inline]
    pub(crate) fn admit(&mut self, cursor: &mut Cursor<'de>, key: Token<'de>) -> Result<()> {
        if !cursor.options.strict && !cursor.surveying() {
            return Ok(());
        }
        let name = if key.form == Form::Escaped { key.unescape()? } else { Cow::Borrowed(key.text) };
        if self.many.is_some() {
            return self.admit_to_map(cursor, name, key);
        }
        let scope = cursor.keys.get(self.from..).unwrap_or_default();
        // Most keys differ in length or in their last byte.
        let last = name.as_bytes().last();
        let same = |seen: &str| seen.len() == name.len() && seen.as_bytes().last() == last && *seen == *name;
        if let Some((_, first)) = scope.iter().find(|(seen, _)| same(seen)) {
            let first = *first;
            return repeated(cursor, &name, first, key.start);
        }
        if scope.len() >= FEW {
            self.many = Some(Box::new(cursor.keys.drain(self.from..).collect()));
            return self.admit_to_map(cursor, name, key);
        }
        cursor.keys.push((name, key.start));
        Ok(())
    }

    fn admit_to_map(&mut self, cursor: &mut Cursor<'de>, name: Cow<'de, str>, key: Token<'de>) -> Result<()> {
        let many = self.many.get_or_insert_default();
        if let Some(first) = many.get(&name).copied() {
            return repeated(cursor, &name, first, key.start);
        }
        many.insert(name, key.start);
        Ok(())
    }

    #[inline]
    pub(crate) fn close(&mut self, cursor: &mut Cursor<'de>) {
        cursor.keys.truncate(self.from);
    }
}

#[cold]
fn repeated(cursor: &mut Cursor<'_>, name: &str, first: usize, again: usize) -> Result<()> {
    let kind = ErrorKind::DuplicateKey { key: name.to_owned() };
    match &mut cursor.repair {
        Some(repair) => {
            repair.record_repeat(first, again, kind);
            Ok(())
        }
        None => Err(Error::at(kind, again)),
    }
}

impl Cursor<'_> {
    pub(crate) fn is_superseded(&self, start: usize) -> bool {
        matches!(self.repair.as_ref().and_then(|repair| repair.redirect(start)), Some(Redirect::Skip))
    }

    pub(crate) fn redirect(&self, start: usize) -> Option<usize> {
        match self.repair.as_ref()?.redirect(start)? {
            Redirect::Last(target) => Some(target),
            Redirect::Skip => None,
        }
    }
}
