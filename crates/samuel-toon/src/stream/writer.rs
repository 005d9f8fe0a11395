//! A table written row by row.

use std::io::Write;

use serde::Serialize;

use crate::{
    error::{Error, ErrorKind, Result},
    options::EncodeOptions,
    ser::RowSerializer,
};

/// Writes a table of which only one row is held.
///
/// The header needs the number of rows in advance. All rows must have the same
/// fields in the same order, and cells must be primitives or nested objects of
/// such, because nothing else fits a table.
///
/// ```
/// use samuel_toon::{EncodeOptions, TableWriter};
///
/// # #[derive(serde::Serialize)] struct Task { id: u32, title: &'static str }
/// let mut out = Vec::new();
/// let mut table = TableWriter::new(&mut out, "tasks", 2, EncodeOptions::default());
/// table.write(&Task { id: 1, title: "parse" })?;
/// table.write(&Task { id: 2, title: "render" })?;
/// table.finish()?;
/// assert_eq!(out, b"tasks[2]{id,title}:\n  1,parse\n  2,render");
/// # Ok::<(), samuel_toon::Error>(())
/// ```
pub struct TableWriter<W> {
    writer: W,
    key: String,
    declared: u64,
    written: u64,
    rows: RowSerializer,
}

impl<W: Write> TableWriter<W> {
    /// Prepares a table of `declared` rows under `key`, or at the root when
    /// `key` is empty.
    pub fn new(writer: W, key: &str, declared: u64, options: EncodeOptions) -> Self {
        Self { writer, key: key.to_owned(), declared, written: 0, rows: RowSerializer::new(options) }
    }

    /// Writes one row; the first also writes the header.
    ///
    /// # Errors
    /// Fails when there are more rows than declared, when the row's fields are
    /// not those of the first, or when the writer fails.
    pub fn write<T: Serialize + ?Sized>(&mut self, row: &T) -> Result<()> {
        if self.written == self.declared {
            let found = self.written + 1;
            return Err(Error::new(ErrorKind::CountMismatch { declared: self.declared, found }));
        }
        let line = self.rows.row(row, &self.key, self.declared)?;
        self.writer.write_all(line.as_bytes()).map_err(Error::io)?;
        self.written += 1;
        Ok(())
    }

    /// Ends the table and returns the writer, flushed.
    ///
    /// # Errors
    /// Fails when there were fewer rows than declared, or when the writer fails.
    pub fn finish(mut self) -> Result<W> {
        if self.written != self.declared {
            let (declared, found) = (self.declared, self.written);
            return Err(Error::new(ErrorKind::CountMismatch { declared, found }));
        }
        if self.declared == 0 {
            self.writer.write_all(self.rows.empty(&self.key).as_bytes()).map_err(Error::io)?;
        }
        self.writer.flush().map_err(Error::io)?;
        Ok(self.writer)
    }
}
