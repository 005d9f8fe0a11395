//! The one forward cursor over the text: lines, depths, blanks and comments.
//!
//! A [`Cursor`] looks at one line ahead ([`Cursor::peek`]) and otherwise moves
//! forward over bytes; there is no line vector and no tree. Scopes live on the
//! call stack of the deserializer. What a line means is decided by
//! [`object`](super::object), [`array`](super::array) and [`table`](super::table).

use std::rc::Rc;

use crate::{
    error::{Error, ErrorKind, LimitKind, Result},
    options::{DecodeOptions, NumberText},
    scan,
};

use super::{
    header::Columns,
    repair::{Found, Repair},
    token::Token,
};

/// The first line that is not blank and not a comment, without its indentation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// Byte offset of the first character after the indentation.
    pub(crate) start: usize,
    /// Indentation levels.
    pub(crate) depth: usize,
}

/// A place to return to, for keys whose last occurrence wins.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    pos: usize,
    ahead: Option<Line>,
    depth: usize,
}

/// What is open, to go back to after a failure within it.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    depth: usize,
    span: Option<usize>,
    keys: usize,
    pub(super) found: Found,
}

pub(crate) struct Cursor<'de> {
    pub(crate) text: &'de str,
    pub(crate) bytes: &'de [u8],
    /// The next unread byte; always a line start while a line is looked for.
    pos: usize,
    /// The line that [`Cursor::peek`] found and nobody took yet.
    ahead: Option<Line>,
    /// Where the line being read begins, indentation included.
    line_start: usize,
    /// Base depth of the outermost array or keyed object that has begun; a
    /// blank line followed by something deeper interrupts it.
    span: Option<usize>,
    pub(crate) options: DecodeOptions,
    indent_size: usize,
    depth: usize,
    /// Keys of the objects being read, innermost last; each scope looks only
    /// at its own.
    pub(crate) keys: Vec<(&'de str, usize)>,
    /// Present in the modes that go on after a fault.
    pub(crate) repair: Option<Box<Repair<'de>>>,
    /// Whether another cell or inline value follows the one read last.
    pub(crate) row_open: bool,
    /// The cells of the row that is being read.
    pub(crate) cells: Vec<Token<'de>>,
    /// How many more values declared lengths may make room for: as many in all
    /// as the text has bytes.
    room: usize,
    /// Whether rows go to structs by position, and whether some did: a failure
    /// may be the struct's then, and the document is read again by name.
    pub(crate) by_position: bool,
    pub(crate) went_by_position: bool,
    /// Field lists that were parsed lately, with their text behind the brace.
    pub(crate) field_lists: Vec<(&'de str, u8, Rc<Columns<'de>>)>,
    /// Columns of the header that is being parsed, at all its levels.
    pub(crate) header_leaves: usize,
}

impl<'de> Cursor<'de> {
    pub(crate) fn new(text: &'de str, options: DecodeOptions) -> Result<Self> {
        if text.len() > options.limits.bytes {
            return Err(limit(LimitKind::Bytes, options.limits.bytes, 0));
        }
        let start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        Ok(Self {
            text,
            bytes: text.as_bytes(),
            pos: start,
            ahead: None,
            line_start: start,
            span: None,
            options,
            indent_size: options.indent(),
            depth: 0,
            keys: Vec::new(),
            repair: None,
            row_open: false,
            cells: Vec::new(),
            room: text.len(),
            by_position: false,
            went_by_position: false,
            field_lists: Vec::new(),
            header_leaves: 0,
        })
    }

    /// Returns the offset of the next byte that is one of `wanted`, or of the end.
    #[inline]
    pub(crate) fn find<const N: usize>(&self, from: usize, wanted: [u8; N]) -> usize {
        scan::find(self.bytes, from, wanted)
    }

    /// Returns the offset of the next byte, from `from` on, that is no space.
    #[inline]
    pub(crate) fn skip_spaces(&self, from: usize) -> usize {
        scan::skip_spaces(self.bytes, from)
    }

    /// Returns the byte at `at`; the end of the text reads as a line feed, which
    /// no token can hold, so scanning loops need no second condition.
    #[inline]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        match self.bytes.get(at) {
            Some(byte) => *byte,
            None => b'\n',
        }
    }

    #[inline]
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'de str {
        self.text.get(from..to).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn bytes_from(&self, from: usize) -> &'de [u8] {
        self.bytes.get(from..).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline]
    pub(crate) fn set_pos(&mut self, pos: usize) {
        self.pos = pos;
    }

    /// True in the modes other than strict.
    #[inline]
    pub(crate) fn lenient(&self) -> bool {
        !self.options.strict
    }

    /// True when faults are collected instead of ending the decoding.
    #[inline]
    pub(crate) fn recovering(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.collects())
    }

    pub(crate) fn numbers(&self) -> NumberText {
        self.options.numbers
    }

    /// Looks at the next line with content, without taking it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<Line>> {
        if self.ahead.is_none() {
            self.ahead = self.find_line()?;
        }
        Ok(self.ahead)
    }

    /// Takes the line that was looked at: the cursor stands on its first character.
    #[inline]
    pub(crate) fn take(&mut self, line: Line) {
        self.ahead = None;
        self.pos = line.start;
    }

    /// Goes to a line elsewhere in the text.
    pub(crate) fn jump(&mut self, start: usize) {
        self.ahead = None;
        self.pos = start;
        self.line_start = start;
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { pos: self.pos, ahead: self.ahead, depth: self.depth }
    }

    pub(crate) fn restore(&mut self, mark: Mark) {
        self.pos = mark.pos;
        self.ahead = mark.ahead;
        self.depth = mark.depth;
    }

    pub(crate) fn scope(&self) -> Scope {
        let found = self.repair.as_ref().map(|repair| repair.found()).unwrap_or_default();
        Scope { depth: self.depth, span: self.span, keys: self.keys.len(), found }
    }

    /// Closes what was opened since, and forgets what was found within it.
    pub(crate) fn leave_to(&mut self, scope: Scope) {
        (self.depth, self.span) = (scope.depth, scope.span);
        self.row_open = false;
        self.keys.truncate(scope.keys);
        if let Some(repair) = &mut self.repair {
            repair.forget_since(scope.found);
        }
    }

    /// Takes the next line and returns where it starts, if it stands at just
    /// this depth and right here, as the lines of one scope mostly do. Whatever
    /// else comes is left to [`Cursor::peek`].
    #[inline(always)]
    pub(crate) fn take_at(&mut self, depth: usize) -> Option<usize> {
        if self.ahead.is_some() {
            return None;
        }
        let at = self.skip_spaces(self.pos);
        if at - self.pos.min(at) != depth * self.indent_size || !begins_content(self.byte(at)) {
            return None;
        }
        self.line_start = self.pos;
        self.pos = at;
        Some(at)
    }

    #[inline]
    fn find_line(&mut self) -> Result<Option<Line>> {
        let from = self.pos;
        let at = self.skip_spaces(from);
        if !begins_content(self.byte(at)) {
            return self.find_line_further();
        }
        self.line_start = from;
        self.indented(from, at)
    }

    /// Passes over blank lines and comments.
    fn find_line_further(&mut self) -> Result<Option<Line>> {
        let mut blank = None;
        loop {
            let from = self.pos;
            self.line_start = from;
            if from >= self.bytes.len() {
                return Ok(None);
            }
            let at = self.skip_spaces(from);
            match self.byte(at) {
                b'\n' => {
                    blank = Some(from);
                    self.end_line(at)?;
                    continue;
                }
                b'\r' if self.byte(at + 1) == b'\n' => {
                    blank = Some(from);
                    self.end_line(at + 1)?;
                    continue;
                }
                b'#' => {
                    self.skip_line(at)?;
                    continue;
                }
                _ => {}
            }
            let Some(line) = self.indented(from, at)? else {
                blank = Some(from);
                continue;
            };
            if let Some(blank) = blank {
                self.check_blank(blank, line)?;
            }
            return Ok(Some(line));
        }
    }

    /// Computes the depth of a line that has content or a tab at `at`.
    #[inline]
    fn indented(&mut self, from: usize, at: usize) -> Result<Option<Line>> {
        if self.byte(at) == b'\t' {
            return self.tab_indented(from, at);
        }
        let spaces = at - from;
        let depth = if self.indent_size == 2 { spaces / 2 } else { spaces / self.indent_size };
        if depth * self.indent_size != spaces {
            self.uneven(from, spaces)?;
        }
        Ok(Some(Line { start: at, depth }))
    }

    #[cold]
    fn uneven(&mut self, from: usize, spaces: usize) -> Result<()> {
        let kind = ErrorKind::UnevenIndentation { spaces, indent_size: self.indent_size };
        if self.options.strict {
            return Err(Error::at(kind, from));
        }
        self.note_read(kind, from, from + spaces);
        Ok(())
    }

    /// Outside strict mode a tab counts one level and spaces are floored.
    #[cold]
    fn tab_indented(&mut self, from: usize, at: usize) -> Result<Option<Line>> {
        if self.options.strict {
            return Err(Error::at(ErrorKind::TabIndentation, at));
        }
        let mut end = from;
        let mut tabs = 0;
        while matches!(self.byte(end), b' ' | b'\t') {
            tabs += usize::from(self.byte(end) == b'\t');
            end += 1;
        }
        let spaces = end - from - tabs;
        if self.byte(end) == b'\n' || (self.byte(end) == b'\r' && self.byte(end + 1) == b'\n') {
            self.note_read(ErrorKind::TabIndentation, at, end);
            self.skip_line(end)?;
            return Ok(None);
        }
        self.note_read(ErrorKind::TabIndentation, at, end);
        Ok(Some(Line { start: end, depth: tabs + spaces / self.indent_size }))
    }

    fn check_blank(&mut self, blank: usize, line: Line) -> Result<()> {
        if self.span.is_some_and(|base| line.depth > base) {
            if self.options.strict {
                return Err(Error::at(ErrorKind::BlankLine, blank));
            }
            self.note_read(ErrorKind::BlankLine, blank, blank);
        }
        Ok(())
    }

    /// Marks that the array or keyed object at `base` has begun; the caller
    /// gives the result to [`Cursor::close_span`].
    #[inline]
    pub(crate) fn open_span(&mut self, base: usize) -> bool {
        let outermost = self.span.is_none();
        if outermost {
            self.span = Some(base);
        }
        outermost
    }

    #[inline]
    pub(crate) fn close_span(&mut self, opened: bool) {
        if opened {
            self.span = None;
        }
    }

    /// Returns where the content of the current line ends, from `from` on, and
    /// where its line feed stands. Trailing spaces and one CR are no content.
    #[inline]
    pub(crate) fn content_end(&self, from: usize) -> (usize, usize) {
        let feed = scan::line_feed(self.bytes, from);
        (self.trim_end(from, feed), feed)
    }

    #[inline]
    pub(crate) fn trim_end(&self, from: usize, feed: usize) -> usize {
        let mut end = feed;
        if end > from && self.byte(end - 1) == b'\r' {
            end -= 1;
        }
        while end > from && self.byte(end - 1) == b' ' {
            end -= 1;
        }
        end
    }

    /// Moves behind the line feed at `feed`.
    #[inline]
    pub(crate) fn end_line(&mut self, feed: usize) -> Result<()> {
        self.pos = feed + 1;
        if feed - self.line_start.min(feed) > self.options.limits.line_length {
            return Err(limit(LimitKind::LineLength, self.options.limits.line_length, self.line_start));
        }
        Ok(())
    }

    /// Moves behind the line that holds `from`.
    pub(crate) fn skip_line(&mut self, from: usize) -> Result<()> {
        self.end_line(scan::line_feed(self.bytes, from))
    }

    /// Counts one level of nesting; [`Cursor::leave`] takes it back.
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > self.options.limits.depth {
            return Err(limit(LimitKind::Depth, self.options.limits.depth, self.pos));
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Checks one more value of an array or object against the limit.
    #[inline]
    pub(crate) fn check_rows(&self, count: u64) -> Result<()> {
        if count > self.options.limits.rows as u64 {
            return Err(limit(LimitKind::Rows, self.options.limits.rows, self.pos));
        }
        Ok(())
    }

    /// Checks one more value on a line against the limit.
    #[inline]
    pub(crate) fn check_cells(&self, count: u64) -> Result<()> {
        if count > self.options.limits.cells as u64 {
            return Err(limit(LimitKind::Cells, self.options.limits.cells, self.pos));
        }
        Ok(())
    }

    /// Returns how many values to make room for under a declared length. All of
    /// a document's together are not more than it could hold; and outside strict
    /// mode, which may not notice that they are missing, there are none.
    #[inline]
    pub(crate) fn make_room(&mut self, declared: Option<u64>) -> usize {
        if self.lenient() {
            return 0;
        }
        let wanted = declared.and_then(|declared| usize::try_from(declared).ok()).unwrap_or(0);
        let granted = wanted.min(self.room);
        self.room -= granted;
        granted
    }

    /// Forgets the reading state of an abandoned attempt.
    pub(crate) fn rewind(&mut self) {
        self.pos = if self.text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        self.ahead = None;
        self.line_start = self.pos;
        self.span = None;
        self.depth = 0;
        self.row_open = false;
        self.keys.clear();
    }

    /// Records a fault that recovery read over; a no-op in other modes.
    pub(crate) fn note_read(&mut self, kind: ErrorKind, from: usize, to: usize) {
        if let Some(repair) = &mut self.repair {
            repair.note_read(kind, from, to);
        }
    }
}

/// Tells whether a byte behind the indentation surely begins a line with
/// content: no blank, no comment, no tab.
#[inline]
const fn begins_content(byte: u8) -> bool {
    byte > b'#' || byte == b'"'
}

#[cold]
pub(crate) fn limit(limit: LimitKind, maximum: usize, offset: usize) -> Error {
    Error::at(ErrorKind::Limit { limit, maximum }, offset)
}
