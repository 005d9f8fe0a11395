//! The rows of one table, one at a time, as any serde type.

use std::{io::BufRead, marker::PhantomData};

use serde::de::DeserializeOwned;

use crate::{
    de::{
        cursor::{Cursor, Line},
        header::Header,
    },
    error::{Error, ErrorKind, Result},
    options::DecodeOptions,
    text,
};

use super::lines::{Blank, Lines, cursor_at};

/// An iterator over the rows of a table at the root of a document or under one
/// of its top-level keys.
///
/// Lines before the table are passed over unread, and reading ends with the
/// table; whatever surrounds it is not checked. After an error in one row the
/// next call goes on with the next row.
///
/// ```
/// use samuel_toon::{DecodeOptions, Rows};
///
/// let text = "name: samuel\ntasks[2]{id,title}:\n  1,parse\n  2,render\n";
/// # #[derive(serde::Deserialize)] struct Task { id: u32, title: String }
/// let mut rows = Rows::<_, Task>::open(text.as_bytes(), "tasks", DecodeOptions::default())?;
/// assert_eq!(rows.declared(), Some(2));
/// assert_eq!(rows.next().unwrap()?.title, "parse");
/// # assert_eq!(rows.next().unwrap()?.id, 2);
/// # assert!(rows.next().is_none());
/// # Ok::<(), samuel_toon::Error>(())
/// ```
pub struct Rows<R, T> {
    lines: Lines<R>,
    options: DecodeOptions,
    header: Header<'static>,
    /// Line and offset of the header, for a wrong count.
    header_place: (usize, usize),
    depth: Option<usize>,
    count: u64,
    done: bool,
    row: PhantomData<fn() -> T>,
}

impl<R: BufRead, T: DeserializeOwned> Rows<R, T> {
    /// Reads up to the header of the table under `key`, or of the root table
    /// when `key` is empty.
    ///
    /// # Errors
    /// Fails when there is no such table, when its header is malformed, or when
    /// the reader fails.
    pub fn open(reader: R, key: &str, options: DecodeOptions) -> Result<Self> {
        let mut lines = Lines::new(reader, options);
        while lines.advance_to_content()?.is_some() {
            let text = lines.take()?;
            let found = find_header(&text, key, options).map_err(|error| lines.place(error, text.as_bytes()));
            lines.give_back(text);
            if let Some(header) = found? {
                let header_place = (lines.number, lines.offset);
                return Ok(Self {
                    lines,
                    options,
                    header,
                    header_place,
                    depth: None,
                    count: 0,
                    done: false,
                    row: PhantomData,
                });
            }
        }
        Err(Error::new(ErrorKind::Data { message: format!("there is no table {key:?}") }))
    }

    /// Returns the number of rows that the header declares.
    pub fn declared(&self) -> Option<u64> {
        self.header.declared
    }

    fn read_row(&mut self) -> Result<Option<T>> {
        let Some(blank) = self.lines.advance_to_content()? else {
            return self.finish();
        };
        let text = self.lines.take()?;
        let row = self
            .row_on(&text, blank)
            .map_err(|error| self.lines.place(error.in_index(self.index()), text.as_bytes()));
        self.lines.give_back(text);
        match row? {
            Some(row) => Ok(Some(row)),
            None => self.finish(),
        }
    }

    fn index(&self) -> usize {
        (self.count as usize).saturating_sub(1)
    }

    /// Reads the row on a line, or returns `None` when the table ended before it.
    fn row_on(&mut self, text: &str, blank: Blank) -> Result<Option<T>> {
        let (mut cursor, line) = cursor_at(text, self.options)?;
        if line.depth == 0 {
            return Ok(None);
        }
        if blank == Blank::Before && self.count > 0 && self.options.strict {
            return Err(Error::at(ErrorKind::BlankLine, 0));
        }
        self.count += 1;
        cursor.check_rows(self.count)?;
        cursor.admit(line, 1, &mut self.depth)?;
        if !cursor.is_row(line.start, self.header.delimiter) {
            return Err(Error::at(ErrorKind::StrayLine, line.start));
        }
        self.decode(&mut cursor, line).map(Some)
    }

    fn decode(&self, cursor: &mut Cursor<'_>, line: Line) -> Result<T> {
        let Some(columns) = &self.header.columns else {
            return Err(Error::at(ErrorKind::StrayLine, line.start));
        };
        cursor
            .row(&self.header, columns, line.start, PhantomData::<T>)
            .map_err(|error| error.or_at(line.start))
    }

    fn finish(&mut self) -> Result<Option<T>> {
        self.done = true;
        match self.header.declared {
            Some(declared) if declared != self.count && self.options.strict => {
                let (line, offset) = self.header_place;
                let kind = ErrorKind::CountMismatch { declared, found: self.count };
                Err(Error::at(kind, self.header.start).locate(&[]).shifted(line, offset))
            }
            _ => Ok(None),
        }
    }
}

/// Parses the line as a table header if it is the one that is wanted.
fn find_header(text: &str, key: &str, options: DecodeOptions) -> Result<Option<Header<'static>>> {
    let Ok((mut cursor, line)) = cursor_at(text, options) else {
        return Ok(None);
    };
    if line.depth != 0 || text::find_unquoted(text.as_bytes(), b':').is_none() {
        return Ok(None);
    }
    let bracket = if key.is_empty() && cursor.byte(line.start) == b'[' {
        line.start
    } else {
        let Ok(mark) = cursor.key_mark(line.start) else {
            return Ok(None);
        };
        if cursor.key(line.start, mark).unescape()? != key || cursor.byte(mark) != b'[' {
            return Ok(None);
        }
        mark
    };
    let header = cursor.header(bracket)?.into_owned();
    Ok(Some(header).filter(|header| header.columns.is_some() && !header.keyed))
}

impl<R: BufRead, T: DeserializeOwned> Iterator for Rows<R, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if self.done {
            return None;
        }
        let row = self.read_row();
        if row.as_ref().is_err_and(Error::is_io) {
            self.done = true;
        }
        row.transpose()
    }
}
