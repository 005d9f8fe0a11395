//! Arrays: inline values and lists of items (sections 9.1, 9.2, 9.4 and 10).
//!
//! Tables have their own file, [`table`](super::table). What all scopes under
//! a header share is here as well: the depth rule and the count check.

use serde::de::{DeserializeSeed, SeqAccess};

use crate::{
    error::{Error, ErrorKind, Result},
    text,
};

use super::{
    cursor::{Cursor, Line},
    header::Header,
    reader::{Content, Node},
    token::TokenReader,
};

impl<'de> Cursor<'de> {
    /// After a header without field list: stands on the first inline value and
    /// returns true, or ends the line and returns false.
    #[inline]
    pub(crate) fn open_inline(&mut self) -> Result<bool> {
        let at = self.skip_spaces(self.pos());
        let feed = match self.byte(at) {
            b'\n' => at,
            b'\r' if self.byte(at + 1) == b'\n' => at + 1,
            _ => {
                self.set_pos(at);
                self.row_open = true;
                return Ok(true);
            }
        };
        self.end_line(feed)?;
        Ok(false)
    }

    /// Decides whether a line at `floor` or deeper belongs to the scope whose
    /// depth the first line fixes (section 8). Recovery drops what does not.
    #[inline]
    pub(crate) fn admit(&mut self, line: Line, floor: usize, depth: &mut Option<usize>) -> Result<bool> {
        let expected = match *depth {
            Some(depth) => depth,
            None => {
                *depth = Some(line.depth);
                floor
            }
        };
        if line.depth == expected { Ok(true) } else { self.misplaced(line, expected, *depth) }
    }

    #[cold]
    fn misplaced(&mut self, line: Line, expected: usize, depth: Option<usize>) -> Result<bool> {
        let kind = ErrorKind::OverIndented { expected, found: line.depth };
        let opens = depth == Some(line.depth);
        if opens && self.lenient() {
            self.note_read(kind, line.start, line.start);
            return Ok(true);
        }
        let fault = Error::at(kind, line.start);
        if !self.recovering() {
            return Err(fault);
        }
        self.discard(line, fault)?;
        Ok(false)
    }

    /// Compares the number of values with the declared one (section 14.1).
    #[inline]
    pub(crate) fn check_count(&mut self, header: &Header<'de>, found: u64) -> Result<()> {
        match header.declared {
            Some(declared) if declared != found => self.miscounted(header, declared, found),
            _ => Ok(()),
        }
    }

    #[cold]
    fn miscounted(&mut self, header: &Header<'de>, declared: u64, found: u64) -> Result<()> {
        let kind = ErrorKind::CountMismatch { declared, found };
        if self.options.strict {
            return Err(Error::at(kind, header.start));
        }
        self.note_read(kind, header.start, header.start + 1);
        Ok(())
    }
}

/// The values behind a header on its own line.
pub(crate) struct Inline<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    room: usize,
    count: u64,
    counted: bool,
}

impl<'c, 'h, 'de> Inline<'c, 'h, 'de> {
    pub(crate) fn new(cursor: &'c mut Cursor<'de>, header: &'h Header<'de>) -> Self {
        let room = cursor.make_room(header.declared);
        Self { cursor, header, room, count: 0, counted: false }
    }
}

impl<'de> SeqAccess<'de> for Inline<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if !self.cursor.row_open {
            if !self.counted {
                self.counted = true;
                self.cursor.check_count(self.header, self.count)?;
            }
            return Ok(None);
        }
        let index = self.count;
        self.count += 1;
        self.cursor.check_rows(self.count)?;
        self.cursor.check_cells(self.count)?;
        let token = self.cursor.cell(self.header.delimiter)?;
        seed.deserialize(TokenReader { cursor: self.cursor, token })
            .map(Some)
            .map_err(|error| error.or_at(token.start).in_index(index as usize))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.room)
    }
}

/// The items of a list, each behind a hyphen.
pub(crate) struct Items<'c, 'h, 'de> {
    cursor: &'c mut Cursor<'de>,
    header: &'h Header<'de>,
    room: usize,
    base: usize,
    depth: Option<usize>,
    count: u64,
    started: bool,
    span: bool,
    done: bool,
}

impl<'c, 'h, 'de> Items<'c, 'h, 'de> {
    pub(crate) fn new(cursor: &'c mut Cursor<'de>, header: &'h Header<'de>, base: usize) -> Self {
        let room = cursor.make_room(header.declared);
        Self { cursor, header, room, base, depth: None, count: 0, started: false, span: false, done: false }
    }

    /// Takes the next item's line; the cursor's reading goes on behind the hyphen.
    fn next_item(&mut self) -> Result<Option<Line>> {
        let floor = self.base + 1;
        loop {
            let Some(line) = self.cursor.peek_in(floor)? else {
                self.cursor.close_span(self.span);
                self.done = true;
                self.cursor.check_count(self.header, self.count)?;
                return Ok(None);
            };
            if !self.cursor.admit(line, floor, &mut self.depth)? {
                continue;
            }
            if self.cursor.discard_broken(line)? {
                self.count += 1;
                continue;
            }
            if !self.cursor.is_item(line.start) {
                let fault = Error::at(ErrorKind::StrayLine, line.start);
                if !self.cursor.recovering() {
                    return Err(fault);
                }
                self.cursor.discard(line, fault)?;
                continue;
            }
            self.cursor.take(line);
            if !self.started {
                self.started = true;
                self.span = self.cursor.open_span(self.base);
            }
            self.count += 1;
            self.cursor.check_rows(self.count)?;
            return Ok(Some(line));
        }
    }
}

impl<'de> SeqAccess<'de> for Items<'_, '_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.done {
            return Ok(None);
        }
        let Some(line) = self.next_item()? else {
            return Ok(None);
        };
        let index = self.count as usize - 1;
        if self.cursor.repair.is_some() {
            self.cursor.open_unit_index(line.start, index);
            self.cursor.expect_item(Some(line));
        }
        let content = self.cursor.item_node(line).map_err(|error| error.or_at(line.start).in_index(index))?;
        let value =
            content.read(self.cursor, seed).map_err(|error| error.or_at(line.start).in_index(index))?;
        if self.cursor.repair.is_some() {
            self.cursor.drop_failed(line, line.depth)?;
            self.cursor.close_unit();
        }
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.room)
    }
}

impl<'de> Cursor<'de> {
    /// Tells whether the content at `start` is `-` or begins with a hyphen and a space.
    pub(crate) fn is_item(&self, start: usize) -> bool {
        self.byte(start) == b'-'
            && match self.byte(start + 1) {
                b' ' | b'\n' => true,
                b'\r' => self.byte(start + 2) == b'\n',
                _ => false,
            }
    }

    /// Decides the value of an item at `line` (sections 9.4 and 10).
    pub(crate) fn item_node<'a>(&mut self, line: Line) -> Result<Content<'a, 'de>> {
        let start = self.skip_spaces(line.start + 1);
        let mark = self.find(start, [b':', b'"', b'[', b'\n']);
        if self.byte(mark) == b':' {
            return Ok(Content::Node(Node::Item { start, depth: line.depth + 1 }));
        }
        let (end, feed) = self.content_end(start);
        let content = self.slice(start, end);
        if content.is_empty() {
            self.end_line(feed)?;
            return Ok(Content::Node(Node::EmptyObject));
        }
        if content == "[]" {
            self.end_line(feed)?;
            return Ok(Content::Node(Node::EmptyArray));
        }
        if text::find_unquoted(content.as_bytes(), b':').is_none() {
            return Ok(Content::Token(self.rest_token(start)?));
        }
        if !content.starts_with('[') {
            return Ok(Content::Node(Node::Item { start, depth: line.depth + 1 }));
        }
        let header = self.header(start)?;
        if header.columns.is_some() {
            return Err(Error::at(ErrorKind::MisplacedHeader, start));
        }
        Ok(Content::Node(Node::Array { header, base: line.depth }))
    }
}
