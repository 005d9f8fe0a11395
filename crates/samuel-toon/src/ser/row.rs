//! Rows on their own, for tables that are written row by row.

use serde::Serialize;

use crate::{
    error::{Error, ErrorKind, Result},
    options::EncodeOptions,
    text,
};

use super::{
    Serializer,
    layout::push_field_list,
    shape::Child,
    tape::{Event, Kind},
};

/// Turns values into lines of one table.
pub(crate) struct RowSerializer {
    serializer: Serializer,
    /// The shape of the first row.
    shape: Option<Child>,
    line: String,
}

impl RowSerializer {
    pub(crate) fn new(options: EncodeOptions) -> Self {
        Self { serializer: Serializer::new(options), shape: None, line: String::new() }
    }

    /// Returns the text of one row with the line feed before it; the first row
    /// follows the header of a table of `length` rows.
    pub(crate) fn row<T: Serialize + ?Sized>(&mut self, row: &T, key: &str, length: u64) -> Result<&str> {
        let tape = &mut self.serializer.tape;
        tape.arena.clear();
        tape.events.clear();
        tape.expected = self.shape.unwrap_or(Child::EMPTY);
        row.serialize(&mut self.serializer)?;
        let Some(&Event { at, end, key: row, kind: Kind::Row }) = self.serializer.tape.events.first() else {
            let message = "a row that is not a flat object, or not like the first".to_owned();
            return Err(Error::new(ErrorKind::Data { message }));
        };
        let shape = Child::numbered(row);
        self.line.clear();
        if self.shape.is_none() {
            self.shape = Some(shape);
            self.header(key, length, shape);
        }
        let tape = &self.serializer.tape;
        self.line.push('\n');
        self.line.extend(std::iter::repeat_n(' ', tape.options.indent()));
        // The delimiter behind the last cell is left out.
        self.line.push_str(tape.arena.get(at as usize..end as usize - 1).unwrap_or_default());
        Ok(&self.line)
    }

    fn header(&mut self, key: &str, length: u64, shape: Child) {
        let tape = &self.serializer.tape;
        if !key.is_empty() {
            text::push_key(&mut self.line, key);
        }
        self.line.push('[');
        self.line.push_str(itoa::Buffer::new().format(length));
        self.line.push_str(tape.options.delimiter.marker());
        self.line.push(']');
        push_field_list(tape, shape, &mut self.line);
        self.line.push(':');
    }

    /// Returns the text of a table without rows.
    pub(crate) fn empty(&mut self, key: &str) -> &str {
        self.line.clear();
        if !key.is_empty() {
            text::push_key(&mut self.line, key);
            self.line.push_str(": ");
        }
        self.line.push_str("[]");
        &self.line
    }
}
