//! Objects: the fields of one scope, line by line (section 8).
//!
//! [`Fields`] is the map access of a root, a nested object and an object in a
//! list item. It also finds keys that occur twice: an error in strict mode;
//! otherwise the survey of [`repair`](super::repair) has noted them, and the
//! first occurrence delivers the last value.

use std::{borrow::Cow, collections::HashMap, marker::PhantomData};

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess};

use crate::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line, Mark},
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
    /// Where the field under way starts, and where its colon or bracket stands.
    pending: Option<(usize, usize)>,
    count: u64,
    done: bool,
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
        Self { cursor, floor, depth, inline, keys, pending: None, count: 0, done: false }
    }

    /// Finds the next field of this scope and takes its line.
    #[inline(always)]
    fn next_start(&mut self) -> Result<Option<usize>> {
        if let Some(start) = self.inline.take() {
            return Ok(Some(start));
        }
        if let Some(depth) = self.depth
            && let Some(start) = self.cursor.take_at(depth)
        {
            return Ok(Some(start));
        }
        self.next_line()
    }

    #[inline(never)]
    fn next_line(&mut self) -> Result<Option<usize>> {
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

    /// Finds the next field outside strict mode; in recovery, drops lines without a key.
    #[cold]
    fn next_mended_start(&mut self) -> Result<Option<usize>> {
        while let Some(start) = self.next_start()? {
            if self.is_dropped(start)? {
                continue;
            }
            let checked = self.cursor.key_mark(start).and_then(|mark| {
                if self.cursor.recovering() {
                    self.cursor.vet_value(start, mark, self.depth.unwrap_or(self.floor))?;
                }
                Ok(())
            });
            match checked {
                Ok(()) => return Ok(Some(start)),
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
    fn is_dropped(&mut self, start: usize) -> Result<bool> {
        let line = Line { start, depth: self.depth() };
        if self.cursor.discard_broken(line)? {
            return Ok(true);
        }
        if !self.cursor.is_superseded(start) {
            return Ok(false);
        }
        let mark = self.cursor.key_mark(start)?;
        self.skip_value(mark)?;
        self.cursor.note_replaced(self.cursor.key(start, mark), self.cursor.pos());
        Ok(true)
    }

    fn skip_value(&mut self, mark: usize) -> Result<()> {
        let depth = self.depth();
        self.cursor.value(mark, depth, PhantomData::<IgnoredAny>).map(drop)
    }

    /// Goes to the last occurrence of a repeated key; returns its colon or
    /// bracket and the place to come back to.
    #[cold]
    fn follow_redirect(&mut self, start: usize, mark: usize) -> Result<(usize, Option<Mark>)> {
        let Some(target) = self.cursor.redirect(start) else {
            return Ok((mark, None));
        };
        self.skip_value(mark)?;
        self.cursor.note_replaced(self.cursor.key(start, mark), self.cursor.pos());
        self.cursor.peek()?;
        let back = self.cursor.mark();
        self.cursor.jump(target);
        Ok((self.cursor.key_mark(target)?, Some(back)))
    }

    /// Says which field an error is about.
    #[cold]
    fn in_field(&self, error: Error, start: usize, mark: usize) -> Error {
        let key = self.cursor.key(start, mark);
        let name = key.unescape().unwrap_or(Cow::Borrowed(key.text));
        error.or_at(start).in_key(&name)
    }
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.done {
            return Ok(None);
        }
        let mended = self.cursor.repair.is_some();
        let Some(start) = (if mended { self.next_mended_start()? } else { self.next_start()? }) else {
            self.keys.close(self.cursor);
            self.done = true;
            return Ok(None);
        };
        let mark = self.cursor.key_mark(start)?;
        let key = self.cursor.key(start, mark);
        self.count += 1;
        self.cursor.check_rows(self.count)?;
        self.keys.admit(self.cursor, key)?;
        self.pending = Some((start, mark));
        if mended {
            self.cursor.open_unit_key(key);
        }
        seed.deserialize(KeyReader(key)).map(Some).map_err(|error| error.or_at(start))
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some((start, own_mark)) = self.pending.take() else {
            return Err(serde::de::Error::custom("a value was asked for without a key"));
        };
        let (mut mark, mut back) = (own_mark, None);
        if self.cursor.repair.is_some() {
            (mark, back) = self.follow_redirect(start, mark)?;
        }
        let depth = self.depth();
        let value = match self.cursor.value(mark, depth, seed) {
            Ok(value) => value,
            Err(error) => return Err(self.in_field(error, start, own_mark)),
        };
        if self.cursor.repair.is_some() {
            self.cursor.close_unit();
            if let Some(back) = back {
                self.cursor.restore(back);
            }
        }
        Ok(value)
    }
}

/// The keys of one scope that were seen so far.
///
/// Few keys stay on the cursor's shared stack and are hardly ever compared;
/// more, and keys with escapes, go into a map of their own, so that reading
/// stays linear.
pub(crate) struct Keys<'de> {
    from: usize,
    /// One bit for each key so far, by [`filter_bit`]; all of them once there
    /// is a map.
    filter: u64,
    #[expect(clippy::box_collection, reason = "rarely there, and every object being read holds one")]
    many: Option<Box<HashMap<Cow<'de, str>, usize>>>,
}

/// Up to here comparing is cheaper than hashing.
const FEW: usize = 24;

impl<'de> Keys<'de> {
    #[inline]
    pub(crate) fn new(cursor: &Cursor<'de>) -> Self {
        Self { from: cursor.keys.len(), filter: 0, many: None }
    }

    /// Adds a key, refusing or recording one that is there already (section 14.3).
    #[inline(always)]
    pub(crate) fn admit(&mut self, cursor: &mut Cursor<'de>, key: Token<'de>) -> Result<()> {
        let bit = filter_bit(key.text);
        if self.filter & bit == 0 && key.form != Form::Escaped {
            self.filter |= bit;
            cursor.keys.push((key.text, key.start));
            return Ok(());
        }
        self.admit_alike(cursor, key)
    }

    /// Adds a key that looks like one that is there.
    #[inline(never)]
    fn admit_alike(&mut self, cursor: &mut Cursor<'de>, key: Token<'de>) -> Result<()> {
        if !cursor.options.strict && !cursor.surveying() {
            return Ok(());
        }
        let scope = cursor.keys.get(self.from..).unwrap_or_default();
        if self.many.is_some() || key.form == Form::Escaped || scope.len() >= FEW {
            return self.admit_to_map(cursor, key);
        }
        if let Some((_, first)) = scope.iter().find(|(seen, _)| *seen == key.text) {
            let first = *first;
            return repeated(cursor, key.text, first, key.start);
        }
        cursor.keys.push((key.text, key.start));
        Ok(())
    }

    #[inline(never)]
    fn admit_to_map(&mut self, cursor: &mut Cursor<'de>, key: Token<'de>) -> Result<()> {
        let name = key.unescape()?;
        // From now on every key comes here.
        self.filter = u64::MAX;
        let many = self.many.get_or_insert_with(|| {
            let few = cursor.keys.drain(self.from..);
            Box::new(few.map(|(name, start)| (Cow::Borrowed(name), start)).collect())
        });
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

/// Returns one of 64 bits for a key. Keys that differ in length, first or last
/// byte mostly have different ones, so few keys are ever compared.
#[inline]
fn filter_bit(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let (first, last) = (bytes.first().copied(), bytes.last().copied());
    let mixed = u32::from(first.unwrap_or(0)) * 31 + u32::from(last.unwrap_or(0)) * 7 + bytes.len() as u32;
    1 << (mixed % 64)
}

#[cold]
fn repeated(cursor: &mut Cursor<'_>, name: &str, first: usize, again: usize) -> Result<()> {
    match &mut cursor.repair {
        Some(repair) => {
            repair.record_repeat(first, again);
            Ok(())
        }
        None => Err(Error::at(ErrorKind::DuplicateKey { key: name.to_owned() }, again)),
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
