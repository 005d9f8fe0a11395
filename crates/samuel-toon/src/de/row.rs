//! Rows of tables and their cells (sections 9.3 and 11).
//!
//! A line is split into its cells before a type sees the first one, so that a
//! row of another width, or a cell without its closing quote, is found for what
//! it is. [`Row`] pairs columns and cells; [`BufferedRow`] does so under
//! repeated field names and in recovery.

use std::{mem, slice};

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess};

use crate::{
    error::{Error, ErrorKind, Result},
    scan::{self, Marks},
};

use super::{
    cursor::Cursor,
    header::{Column, Columns, Header, Named},
    key::NameReader,
    reader::{Content, Node, Reader},
    token::{Form, Token, TokenReader},
};

/// One row, or one field group of a row; its cells are those of the cursor.
pub(crate) struct Row<'c, 'a, 'de> {
    cursor: &'c mut Cursor<'de>,
    columns: slice::Iter<'a, Column<'de>>,
    /// The column whose name was given, and its first cell.
    pending: Option<(&'a Column<'de>, usize)>,
    /// The first cell of the next column.
    cell: usize,
}

impl<'c, 'a, 'de> Row<'c, 'a, 'de> {
    #[inline]
    pub(crate) fn new(cursor: &'c mut Cursor<'de>, columns: &'a Columns<'de>, first: usize) -> Self {
        Self { cursor, columns: columns.list.iter(), pending: None, cell: first }
    }

    /// Moves to the next column; whatever it is, its cells are passed.
    #[inline]
    fn next_column(&mut self) -> Option<(&'a Column<'de>, usize)> {
        let column = self.columns.next()?;
        let cell = self.cell;
        self.cell += column.leaves();
        Some((column, cell))
    }

    /// Reads what stands in a column.
    #[inline]
    fn value<T: DeserializeSeed<'de>>(
        &mut self,
        column: &'a Column<'de>,
        cell: usize,
        seed: T,
    ) -> Result<T::Value> {
        let token = self.cursor.cells.get(cell).copied().unwrap_or(Token::EMPTY);
        let value = match &column.group {
            None => seed.deserialize(TokenReader { cursor: self.cursor, token }),
            Some(columns) => {
                let node = Node::Row { columns, first: cell };
                seed.deserialize(Reader { cursor: self.cursor, node })
            }
        };
        value.map_err(|error| error.or_at(token.start).in_key(&column.name))
    }
}

impl<'de> MapAccess<'de> for Row<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.pending = self.next_column();
        match self.pending {
            Some((column, _)) => seed.deserialize(NameReader(&column.name)).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        match self.pending.take() {
            Some((column, cell)) => self.value(column, cell, seed),
            None => Err(Error::custom("a value was asked for without a key")),
        }
    }
}

/// A row as its values alone, for a struct whose fields are the columns.
impl<'de> SeqAccess<'de> for Row<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        match self.next_column() {
            Some((column, cell)) => self.value(column, cell, seed).map(Some),
            None => Ok(None),
        }
    }
}

/// One row that does not read its cells in their order, or not all of them.
pub(crate) struct BufferedRow<'c, 'a, 'de> {
    cursor: &'c mut Cursor<'de>,
    columns: &'a Columns<'de>,
    cells: &'a [Token<'de>],
    /// The next column to deliver.
    next: usize,
    /// The column whose name was given, or the last of that name.
    pending: Option<usize>,
}

impl<'c, 'a, 'de> BufferedRow<'c, 'a, 'de> {
    pub(crate) fn new(
        cursor: &'c mut Cursor<'de>,
        columns: &'a Columns<'de>,
        cells: &'a [Token<'de>],
    ) -> Self {
        Self { cursor, columns, cells, next: 0, pending: None }
    }
}

impl<'de> MapAccess<'de> for BufferedRow<'_, '_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        while let Some(column) = self.columns.list.get(self.next) {
            let at = self.next;
            self.next += 1;
            // The last of those with one name counts, in the place of the first.
            self.pending = match column.named {
                Named::Once => Some(at),
                Named::First { last } => Some(last),
                Named::Again => continue,
            };
            return seed.deserialize(NameReader(&column.name)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let Some(column) = self.pending.take().and_then(|column| self.columns.list.get(column)) else {
            return Err(Error::custom("a value was asked for without a key"));
        };
        let cells = self.cells.get(column.cell..column.cell + column.leaves()).unwrap_or_default();
        let first = cells.first().copied().unwrap_or(Token::EMPTY);
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
        self.split_row(start, header.delimiter, columns.leaves)?;
        seed.deserialize(Reader { cursor: self, node: Node::Row { columns, first: 0 } })
    }

    /// Reads the cells of the row at `start`, as many as there are `leaves`, and
    /// ends its line.
    fn split_row(&mut self, start: usize, delimiter: u8, leaves: usize) -> Result<()> {
        if self.is_line_end(start) {
            return self.misfit(start, delimiter, leaves);
        }
        let mut cells = mem::take(&mut self.cells);
        cells.clear();
        let split = self.split_into(&mut cells, start, delimiter, leaves);
        let count = cells.len();
        self.cells = cells;
        match split? {
            Some(feed) if count == leaves => self.end_line(feed),
            _ => self.misfit(start, delimiter, leaves),
        }
    }

    /// Stops at the end of the line and returns its offset, or behind the last
    /// leaf if there are more cells.
    #[inline(always)]
    fn split_into(
        &self,
        cells: &mut Vec<Token<'de>>,
        start: usize,
        delimiter: u8,
        leaves: usize,
    ) -> Result<Option<usize>> {
        let mut marks = Marks::new(self.bytes, start, delimiter);
        let mut from = start;
        let mut at = marks.next();
        loop {
            let mut byte = self.byte(at);
            if byte == b'"' && self.is_cell_start(from, at) {
                let (open, mut escaped) = (at, false);
                at = marks.next();
                loop {
                    match self.byte(at) {
                        b'"' => break,
                        // A backslash cannot carry the scan over the end of the line.
                        b'\\' if self.byte(at + 1) != b'\n' => {
                            escaped = true;
                            at = marks.next_from(at + 2);
                        }
                        b'\\' | b'\n' => return Err(Error::at(ErrorKind::UnterminatedString, open)),
                        _ => at = marks.next(),
                    }
                }
                let close = at;
                at = marks.next();
                byte = self.byte(at);
                if at > close + 1 || (byte != delimiter && byte != b'\n') {
                    self.check_behind_quote(close + 1, at, delimiter)?;
                }
                let form = if escaped { Form::Escaped } else { Form::Quoted };
                cells.push(Token { text: self.slice(open + 1, close), start: open, form });
            } else {
                while byte != delimiter && byte != b'\n' {
                    // A quote opens a span at any position, but only one at the
                    // start makes the token a quoted one.
                    let least = if byte == b'"' { self.after_span(at) } else { at };
                    at = marks.next_from(least);
                    byte = self.byte(at);
                }
                let (mut start, mut end) = (from, at);
                if self.byte(from) == b' ' || matches!(self.byte(at.wrapping_sub(1)), b' ' | b'\r') {
                    (start, end) = self.trim_cell(from, at);
                }
                cells.push(Token { text: self.slice(start, end), start, form: Form::Bare });
            }
            if byte != delimiter {
                return Ok(Some(at));
            }
            if cells.len() == leaves {
                return Ok(None);
            }
            from = at + 1;
            at = marks.next();
        }
    }

    /// Tells whether only spaces precede `at` in its cell.
    #[inline(always)]
    fn is_cell_start(&self, from: usize, at: usize) -> bool {
        from == at || self.skip_spaces(from) == at
    }

    /// Requires that only spaces stand between a quoted cell and its end.
    #[cold]
    fn check_behind_quote(&self, from: usize, at: usize, delimiter: u8) -> Result<()> {
        let end = self.skip_spaces(from);
        let byte = self.byte(end);
        let ends = byte == delimiter || byte == b'\n' || (byte == b'\r' && self.byte(end + 1) == b'\n');
        if ends && end <= at { Ok(()) } else { Err(Error::at(ErrorKind::AfterQuote, from)) }
    }

    #[cold]
    fn trim_cell(&self, from: usize, at: usize) -> (usize, usize) {
        let start = self.skip_spaces(from).min(at);
        let end = if self.byte(at) == b'\n' { self.trim_end(start, at) } else { self.trim_spaces(start, at) };
        (start, end)
    }

    /// Counts the cells of a row that has not as many as there are fields.
    #[cold]
    fn misfit(&mut self, start: usize, delimiter: u8, fields: usize) -> Result<()> {
        self.set_pos(start);
        let (_, cells) = self.read_cells(delimiter, 0)?;
        Err(Error::at(ErrorKind::WidthMismatch { fields, cells }, start))
    }

    /// Reads the row on a line that may as well be none.
    #[inline]
    pub(super) fn row_or_stray<T: DeserializeSeed<'de>>(
        &mut self,
        header: &Header<'de>,
        columns: &Columns<'de>,
        start: usize,
        index: usize,
        seed: T,
    ) -> Result<T::Value> {
        let split = self.split_row(start, header.delimiter, columns.leaves);
        if (split.is_err() || !self.is_plainly_row()) && !self.is_row(start, header.delimiter) {
            return Err(Error::at(ErrorKind::StrayLine, start));
        }
        split
            .and_then(|()| seed.deserialize(Reader { cursor: self, node: Node::Row { columns, first: 0 } }))
            .map_err(|error| error.or_at(start).in_index(index))
    }

    /// Tells whether the first cell has no colon that could make it a key.
    #[inline]
    fn is_plainly_row(&self) -> bool {
        let first = self.cells.first().copied().unwrap_or(Token::EMPTY);
        first.form != Form::Bare || scan::find(first.text.as_bytes(), 0, [b':']) == first.text.len()
    }

    fn buffered_row<T: DeserializeSeed<'de>>(
        &mut self,
        header: &Header<'de>,
        columns: &Columns<'de>,
        start: usize,
        seed: T,
    ) -> Result<T::Value> {
        self.set_pos(start);
        let cells = self.row_cells(header.delimiter, columns.leaves)?;
        if let Some(repair) = &mut self.repair {
            repair.enter_row(header.start, &cells);
        }
        seed.deserialize(Reader { cursor: self, node: Node::Buffered { columns, cells: &cells } })
    }

    /// Tells whether nothing follows, which is no cell, not an empty one
    /// (section 11.2).
    fn is_line_end(&self, at: usize) -> bool {
        match self.byte(at) {
            b'\n' => true,
            b'\r' => self.byte(at + 1) == b'\n',
            _ => false,
        }
    }

    /// Reads the cells of the row at the cursor, as many as there are `leaves`,
    /// and ends its line.
    pub(crate) fn row_cells(&mut self, delimiter: u8, leaves: usize) -> Result<Vec<Token<'de>>> {
        let start = self.pos();
        let (cells, count) = self.read_cells(delimiter, leaves)?;
        if count != leaves {
            return Err(Error::at(ErrorKind::WidthMismatch { fields: leaves, cells: count }, start));
        }
        Ok(cells)
    }

    /// Reads the row at the cursor and ends its line. Returns its first cells,
    /// `most` of them, and how many there are: a line of commas takes no memory.
    fn read_cells(&mut self, delimiter: u8, most: usize) -> Result<(Vec<Token<'de>>, usize)> {
        let start = self.pos();
        self.row_open = !self.is_line_end(start);
        if !self.row_open {
            self.skip_line(start)?;
        }
        let (mut cells, mut count) = (Vec::new(), 0);
        while self.row_open {
            let cell = self.cell(delimiter)?;
            count += 1;
            if count <= most {
                cells.push(cell);
            }
        }
        Ok((cells, count))
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
