//! Tables: rows under a header, with or without keys (sections 9.3 and 9.5).
//!
//! The header's [`Columns`] are parsed once; [`row`](super::row) reads each line
//! below it. This file finds those lines and ends the table.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess};

use crate::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line},
    header::{Columns, Header},
    key::KeyReader,
    object::Keys,
    token::Token,
};

/// The rows of a table.
pub(crate) struct Rows<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    columns: &'h Columns<'de>,
    room: usize,
    scope: Scope,
}

/// What rows and entries track alike.
struct Scope {
    base: usize,
    depth: Option<usize>,
    /// Lines that stand for a value, whether or not recovery could read them.
    count: u64,
    started: bool,
    span: bool,
    done: bool,
}

impl Scope {
    fn new(base: usize) -> Self {
        Self { base, depth: None, count: 0, started: false, span: false, done: false }
    }

    /// Takes the next line if it stands where the last one stood, right behind it.
    #[inline]
    fn next_alike(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<usize>> {
        let depth = self.depth.filter(|_| self.started && cursor.repair.is_none());
        let Some(start) = depth.and_then(|depth| cursor.take_at(depth)) else {
            return Ok(None);
        };
        self.count += 1;
        cursor.check_rows(self.count)?;
        Ok(Some(start))
    }

    /// Takes the next line of the scope, or ends it.
    #[inline]
    fn next<'de>(
        &mut self,
        cursor: &mut Cursor<'de>,
        header: &Header<'de>,
        fits: impl Fn(&Cursor<'de>, Line) -> Option<ErrorKind>,
    ) -> Result<Option<Line>> {
        let floor = self.base + 1;
        loop {
            let Some(line) = cursor.peek_in(floor)? else {
                cursor.close_span(self.span);
                self.done = true;
                cursor.check_count(header, self.count)?;
                return Ok(None);
            };
            if cursor.recovering() {
                // A row is a row at any depth below its header.
                let expected = self.depth.replace(line.depth).unwrap_or(floor);
                if line.depth != expected {
                    let kind = ErrorKind::OverIndented { expected, found: line.depth };
                    cursor.note_read(kind, line.start, line.start);
                }
            }
            if !cursor.admit(line, floor, &mut self.depth)? {
                continue;
            }
            if let Some(kind) = fits(cursor, line) {
                let fault = Error::at(kind, line.start);
                if !cursor.recovering() {
                    return Err(fault);
                }
                cursor.discard_row(line, fault)?;
                self.count += 1;
                continue;
            }
            self.count += 1;
            cursor.check_rows(self.count)?;
            if cursor.repair.is_some() && cursor.discard_broken_row(line)? {
                continue;
            }
            cursor.take(line);
            if !self.started {
                self.started = true;
                self.span = cursor.open_span(self.base);
            }
            return Ok(Some(line));
        }
    }
}

impl<'c, 'h, 'de> Rows<'c, 'h, 'de> {
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        header: &'h Header<'de>,
        columns: &'h Columns<'de>,
        base: usize,
    ) -> Self {
        let room = cursor.make_room(header.declared);
        Self { cursor, header, columns, room, scope: Scope::new(base) }
    }

    #[inline]
    fn value<T: DeserializeSeed<'de>>(&mut self, start: usize, seed: T) -> Result<T::Value> {
        self.cursor
            .row(self.header, self.columns, start, seed)
            .map_err(|error| error.or_at(start).in_index(self.scope.count as usize - 1))
    }

    /// In recovery, drops rows that no reading can save before the type sees them.
    fn is_sound(&mut self, line: Line) -> Result<bool> {
        match self.cursor.vet_row(self.header, self.columns, line.start) {
            Ok(()) => {
                self.cursor.take(line);
                Ok(true)
            }
            Err(fault) => {
                self.cursor.discard_row(line, fault)?;
                Ok(false)
            }
        }
    }
}

impl<'de> SeqAccess<'de> for Rows<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.scope.done {
            return Ok(None);
        }
        let delimiter = self.header.delimiter;
        if !self.columns.repeated
            && let Some(start) = self.scope.next_alike(self.cursor)?
        {
            let index = self.scope.count as usize - 1;
            let row = self.cursor.row_or_stray(self.header, self.columns, start, index, seed);
            return row.map(Some);
        }
        loop {
            let line = self.scope.next(self.cursor, self.header, |cursor, line| {
                (!cursor.is_row(line.start, delimiter)).then_some(ErrorKind::StrayLine)
            })?;
            let Some(line) = line else {
                return Ok(None);
            };
            if self.cursor.recovering() && !self.is_sound(line)? {
                continue;
            }
            if self.cursor.repair.is_some() {
                self.cursor.open_unit_index(line.start, self.scope.count as usize - 1);
                self.cursor.expect_item(None);
            }
            let value = self.value(line.start, seed)?;
            if self.cursor.repair.is_some() {
                self.cursor.drop_failed(line, usize::MAX)?;
                self.cursor.close_unit();
            }
            return Ok(Some(value));
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.room)
    }
}

/// The entries of a keyed table.
pub(crate) struct Entries<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    columns: &'h Columns<'de>,
    room: usize,
    scope: Scope,
    keys: Keys<'de>,
    pending: Option<(Token<'de>, usize)>,
}

impl<'c, 'h, 'de> Entries<'c, 'h, 'de> {
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        header: &'h Header<'de>,
        columns: &'h Columns<'de>,
        base: usize,
    ) -> Self {
        let keys = Keys::new(cursor);
        let room = cursor.make_room(header.declared);
        Self { cursor, header, columns, room, scope: Scope::new(base), keys, pending: None }
    }

    fn next_entry(&mut self) -> Result<Option<(Token<'de>, usize)>> {
        loop {
            let line = self.scope.next(self.cursor, self.header, |cursor, line| {
                cursor.entry(line.start).err().map(Error::into_kind)
            })?;
            let Some(line) = line else {
                return Ok(None);
            };
            let (key, cells) = self.cursor.entry(line.start)?;
            if self.cursor.recovering()
                && let Err(fault) = self.cursor.vet_row(self.header, self.columns, cells)
            {
                self.cursor.discard_row(line, fault)?;
                continue;
            }
            if self.cursor.is_superseded(line.start) {
                self.cursor.skip_line(line.start)?;
                self.cursor.note_replaced(key, self.cursor.pos());
                continue;
            }
            return Ok(Some((key, cells)));
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_, '_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if self.scope.done {
            return Ok(None);
        }
        let Some((key, cells)) = self.next_entry()? else {
            self.keys.close(self.cursor);
            return Ok(None);
        };
        self.keys.admit(self.cursor, key)?;
        if self.cursor.repair.is_some() {
            self.cursor.open_unit_key(key);
        }
        self.pending = Some((key, cells));
        seed.deserialize(KeyReader(key)).map(Some).map_err(|error| error.or_at(key.start))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some((key, cells)) = self.pending.take() else {
            return Err(Error::custom("a value was asked for without a key"));
        };
        let last = self.cursor.redirect(key.start);
        let (start, back) = match last {
            Some(last) => {
                self.cursor.skip_line(cells)?;
                self.cursor.note_replaced(key, self.cursor.pos());
                self.cursor.peek()?;
                let back = self.cursor.mark();
                self.cursor.jump(last);
                let (_, cells) = self.cursor.entry(last)?;
                (cells, Some(back))
            }
            None => (cells, None),
        };
        let value = self.cursor.row(self.header, self.columns, start, seed).map_err(|error| {
            let name = key.unescape().unwrap_or_default();
            error.or_at(start).in_key(&name)
        })?;
        if let Some(back) = back {
            self.cursor.restore(back);
        }
        if self.cursor.repair.is_some() {
            self.cursor.close_unit();
        }
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.room)
    }
}

impl<'de> Cursor<'de> {
    /// Splits an entry row at its first unquoted colon: its key and where its cells begin.
    pub(crate) fn entry(&self, start: usize) -> Result<(Token<'de>, usize)> {
        let colon = if self.byte(start) == b'"' {
            self.skip_spaces(self.quoted(start)?.offset())
        } else {
            let mut at = start;
            while !matches!(self.byte(at), b':' | b'\n') {
                at = if self.byte(at) == b'"' { self.after_span(at) } else { at + 1 };
            }
            at
        };
        if self.byte(colon) != b':' {
            return Err(Error::at(ErrorKind::MissingColon, start));
        }
        Ok((self.key(start, colon), self.skip_spaces(colon + 1)))
    }
}
