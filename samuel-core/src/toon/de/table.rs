//! Tables: rows under a header, with or without keys (sections 9.3 and 9.5).
//!
//! The header's [`Columns`] are parsed once; a row is a map access that pairs
//! them with cells straight from the text. [`BufferedRow`] serves rows that had
//! to be read ahead: under repeated field names, and during recovery, which
//! looks at a whole row before it trusts it.

use std::slice;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess};

use crate::toon::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line},
    header::{Column, Columns, Header},
    key::{KeyReader, NameReader},
    object::Keys,
    reader::{Content, Node, Reader},
    token::{Form, Token, TokenReader},
};

/// One row, or one field group of a row.
pub(crate) struct Row<'c, 'a, 'de> {
    cursor: &'c mut Cursor<'de>,
    columns: slice::Iter<'a, Column<'de>>,
    pending: Option<&'a Column<'de>>,
    delimiter: u8,
    /// Where the row's first cell begins.
    start: usize,
}

impl<'c, 'a, 'de> Row<'c, 'a, 'de> {
    #[inline]
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        columns: &'a Columns<'de>,
        delimiter: u8,
        start: usize,
    ) -> Self {
        Self { cursor, columns: columns.list.iter(), pending: None, delimiter, start }
    }
}

impl<'de> MapAccess<'de> for Row<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.pending = self.columns.next();
        match self.pending {
            Some(column) => seed.deserialize(NameReader(&column.name)).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some(column) = self.pending.take() else {
            return Err(Error::custom("a value was asked for without a key"));
        };
        if let Some(columns) = &column.group {
            let offset = self.cursor.pos();
            let node = Node::Row { columns, delimiter: self.delimiter, start: self.start };
            return seed
                .deserialize(Reader { cursor: self.cursor, node })
                .map_err(|error| error.or_at(offset).in_key(&column.name));
        }
        // A missing cell becomes a width error where the row is complete.
        if !self.cursor.row_open {
            return Err(Error::at(ErrorKind::WidthMismatch { fields: 0, cells: 0 }, self.start));
        }
        let token = self.cursor.cell(self.delimiter)?;
        seed.deserialize(TokenReader { cursor: self.cursor, token })
            .map_err(|error| error.or_at(token.start).in_key(&column.name))
    }
}

/// One row whose cells were read ahead.
pub(crate) struct BufferedRow<'c, 'a, 'de> {
    cursor: &'c mut Cursor<'de>,
    columns: &'a Columns<'de>,
    cells: &'a [Token<'de>],
    /// The next column to deliver.
    next: usize,
    pending: Option<(usize, usize)>,
}

impl<'c, 'a, 'de> BufferedRow<'c, 'a, 'de> {
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        columns: &'a Columns<'de>,
        cells: &'a [Token<'de>],
    ) -> Self {
        Self { cursor, columns, cells, next: 0, pending: None }
    }

    /// Returns the last column named like `column`, whose value wins (section 14.3).
    fn last_named(&self, at: usize, column: &Column<'de>) -> usize {
        if !self.columns.repeated {
            return at;
        }
        self.columns.list.iter().rposition(|other| other.name == column.name).unwrap_or(at)
    }

    fn is_repeat(&self, at: usize, column: &Column<'de>) -> bool {
        self.columns.repeated && self.columns.list.iter().take(at).any(|other| other.name == column.name)
    }
}

impl<'de> MapAccess<'de> for BufferedRow<'_, '_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        while let Some(column) = self.columns.list.get(self.next) {
            let at = self.next;
            self.next += 1;
            if self.is_repeat(at, column) {
                continue;
            }
            let chosen = self.last_named(at, column);
            let cell = self.columns.list.iter().take(chosen).map(Column::leaves).sum();
            self.pending = Some((chosen, cell));
            return seed.deserialize(NameReader(&column.name)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let chosen = self.pending.take();
        let Some((column, cell)) =
            chosen.and_then(|(column, cell)| Some((self.columns.list.get(column)?, cell)))
        else {
            return Err(Error::custom("a value was asked for without a key"));
        };
        let cells = self.cells.get(cell..cell + column.leaves()).unwrap_or_default();
        let first = cells.first().copied().unwrap_or(Token { text: "", start: 0, form: Form::Bare });
        let content = match &column.group {
            None => Content::Token(first),
            Some(columns) => Content::Node(Node::Buffered { columns, cells }),
        };
        let result = content.read(self.cursor, seed);
        result.map_err(|error| {
            if let Some(repair) = &mut self.cursor.repair
                && column.group.is_none()
            {
                repair.blame(first.start);
            }
            error.or_at(first.start).in_key(&column.name)
        })
    }
}

impl Column<'_> {
    fn leaves(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.leaves)
    }
}

impl<'de> Cursor<'de> {
    /// Reads the row whose first cell is at the cursor into `seed`.
    #[inline]
    pub(crate) fn row<T: DeserializeSeed<'de>>(
        &mut self,
        header: &Header<'de>,
        columns: &Columns<'de>,
        start: usize,
        seed: T,
    ) -> Result<T::Value> {
        if columns.repeated || self.recovering() {
            return self.buffered_row(header, columns, start, seed);
        }
        let node = Node::Row { columns, delimiter: header.delimiter, start };
        self.open_row(start);
        let value = match seed.deserialize(Reader { cursor: self, node }) {
            Ok(value) if !self.row_open => return Ok(value),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        // A row that is too short also misses a field for serde; the width is the cause.
        self.set_pos(start);
        let cells = self.cells(header.delimiter)?.len();
        match value {
            Some(error) if cells == columns.leaves => Err(error),
            _ => Err(Error::at(ErrorKind::WidthMismatch { fields: columns.leaves, cells }, start)),
        }
    }

    fn buffered_row<T: DeserializeSeed<'de>>(
        &mut self,
        header: &Header<'de>,
        columns: &Columns<'de>,
        start: usize,
        seed: T,
    ) -> Result<T::Value> {
        self.set_pos(start);
        let cells = self.cells(header.delimiter)?;
        if cells.len() != columns.leaves {
            let kind = ErrorKind::WidthMismatch { fields: columns.leaves, cells: cells.len() };
            return Err(Error::at(kind, start));
        }
        if let Some(repair) = &mut self.repair {
            repair.enter_row(header.start, &cells);
        }
        seed.deserialize(Reader { cursor: self, node: Node::Buffered { columns, cells: &cells } })
    }

    /// An empty cell sequence is no cell, not an empty one (section 11.2).
    #[inline]
    fn open_row(&mut self, start: usize) {
        self.set_pos(start);
        self.row_open = !self.is_line_end(start);
    }

    fn is_line_end(&self, at: usize) -> bool {
        match self.byte(at) {
            b'\n' => true,
            b'\r' => self.byte(at + 1) == b'\n',
            _ => false,
        }
    }

    /// Reads all cells of the row at the cursor and ends its line.
    pub(crate) fn cells(&mut self, delimiter: u8) -> Result<Vec<Token<'de>>> {
        let start = self.pos();
        self.open_row(start);
        if !self.row_open {
            self.skip_line(start)?;
        }
        let mut cells = Vec::new();
        while self.row_open {
            cells.push(self.cell(delimiter)?);
        }
        Ok(cells)
    }

    /// A line is a row unless a colon precedes the first delimiter (section 9.3).
    #[inline]
    pub(crate) fn is_row(&self, start: usize, delimiter: u8) -> bool {
        let mut at = start;
        loop {
            at = self.find(at, [delimiter, b':', b'"', b'\n']);
            match self.byte(at) {
                b':' => return false,
                b'"' => at = self.after_span(at),
                _ => return true,
            }
        }
    }
}

/// The rows of a table.
pub(crate) struct Rows<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    columns: &'h Columns<'de>,
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
        Self { cursor, header, columns, scope: Scope::new(base) }
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
            let index = self.scope.count as usize - 1;
            if self.cursor.repair.is_some() {
                self.cursor.open_unit_index(line.start, index);
            }
            let value = self
                .cursor
                .row(self.header, self.columns, line.start, seed)
                .map_err(|error| error.or_at(line.start).in_index(index))?;
            if self.cursor.repair.is_some() {
                self.cursor.close_unit();
            }
            return Ok(Some(value));
        }
    }
}

/// The entries of a keyed table.
pub(crate) struct Entries<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    columns: &'h Columns<'de>,
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
        Self { cursor, header, columns, scope: Scope::new(base), keys, pending: None }
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
