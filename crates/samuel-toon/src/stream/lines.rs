//! Lines of a stream, one at a time, within the limits.
//!
//! Shared by the row iterator and the event reader, which hold one line each.

use std::io::{BufRead, Read};

use crate::{
    de::cursor::{self, Cursor, Line},
    error::{Error, ErrorKind, LimitKind, Result},
    options::{DecodeOptions, Limits},
};

/// What a stream may hold of a line when its limit is unlimited: 16 MiB.
const MAX_LINE: usize = 16 << 20;

/// Reads lines and counts where they stand in the whole.
pub(crate) struct Lines<R> {
    reader: R,
    limits: Limits,
    tabs: Tabs,
    /// The current line without its line feed.
    buffer: Vec<u8>,
    /// Bytes and lines before the current line.
    pub(crate) offset: usize,
    pub(crate) number: usize,
    next_offset: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, options: DecodeOptions) -> Self {
        let tabs = if options.strict { Tabs::Content } else { Tabs::Indentation };
        Self {
            reader,
            limits: options.limits,
            tabs,
            buffer: Vec::new(),
            offset: 0,
            number: 0,
            next_offset: 0,
        }
    }

    /// Reads the next line; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let most = self.limits.line_length.min(MAX_LINE);
        if self.next_offset > 0 {
            self.number += 1;
        }
        self.offset = self.next_offset;
        self.buffer.clear();
        let mut limited = (&mut self.reader).take(most as u64 + 2);
        let read = limited.read_until(b'\n', &mut self.buffer).map_err(Error::io)?;
        if read == 0 {
            return Ok(false);
        }
        self.next_offset += read;
        if self.next_offset > self.limits.bytes {
            return Err(self.place(cursor::limit(LimitKind::Bytes, self.limits.bytes, 0), &[]));
        }
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        }
        if self.buffer.len() > most {
            return Err(self.place(cursor::limit(LimitKind::LineLength, most, 0), &[]));
        }
        if self.offset == 0 && self.buffer.starts_with("\u{FEFF}".as_bytes()) {
            self.buffer.drain(.."\u{FEFF}".len());
        }
        Ok(true)
    }

    /// Reads to the next line with content; false at the end. Also tells
    /// whether blank lines came before it.
    pub(crate) fn advance_to_content(&mut self) -> Result<Option<Blank>> {
        let mut blank = Blank::No;
        while self.advance()? {
            let text = self.text()?;
            // In strict mode a tab is content, and an error further on.
            let content = match self.tabs {
                Tabs::Content => text.trim_start_matches(' '),
                Tabs::Indentation => text.trim_start_matches([' ', '\t']),
            };
            match content.as_bytes() {
                [] | [b'\r'] => blank = Blank::Before,
                [b'#', ..]
                    if !text.get(..text.len() - content.len()).is_some_and(|lead| lead.contains('\t')) => {}
                _ => return Ok(Some(blank)),
            }
        }
        Ok(None)
    }

    /// Takes the current line out, so that it can be read while the owner of
    /// the lines changes; [`Lines::give_back`] keeps its memory in use.
    pub(crate) fn take(&mut self) -> Result<String> {
        let line = String::from_utf8(std::mem::take(&mut self.buffer));
        line.map_err(|error| {
            let offset = error.utf8_error().valid_up_to();
            Error::at(ErrorKind::InvalidUtf8, offset)
                .locate(error.as_bytes())
                .shifted(self.number, self.offset)
        })
    }

    pub(crate) fn give_back(&mut self, line: String) {
        self.buffer = line.into_bytes();
    }

    fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.buffer)
            .map_err(|error| self.place(Error::at(ErrorKind::InvalidUtf8, error.valid_up_to()), &self.buffer))
    }

    /// Gives an error within `line` its place in the whole.
    pub(crate) fn place(&self, error: Error, line: &[u8]) -> Error {
        error.locate(line).shifted(self.number, self.offset)
    }
}

/// What a tab at the start of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Content,
    Indentation,
}

/// Whether blank lines precede a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blank {
    No,
    Before,
}

/// Makes a cursor for one line, whose start is not the start of the document.
pub(crate) fn line_cursor(text: &str, options: DecodeOptions) -> Result<Cursor<'_>> {
    let limits = Limits { bytes: usize::MAX, line_length: usize::MAX, ..options.limits };
    let mut cursor = Cursor::new(text, DecodeOptions { limits, ..options })?;
    // A byte-order mark here is content.
    cursor.jump(0);
    Ok(cursor)
}

/// Puts a cursor in front of the content of one line.
pub(crate) fn cursor_at(text: &str, options: DecodeOptions) -> Result<(Cursor<'_>, Line)> {
    let mut cursor = line_cursor(text, options)?;
    match cursor.peek()? {
        Some(line) => {
            cursor.take(line);
            Ok((cursor, line))
        }
        // Only spaces and tabs: callers pass lines with content.
        None => Err(Error::at(ErrorKind::StrayLine, 0)),
    }
}
