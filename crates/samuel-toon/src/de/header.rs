//! Headers: length, delimiter and field list of an array or keyed object.
//!
//! A [`Header`] is parsed once per table, from the `[` to the colon (section 6).
//! Every deviation from the grammar is an error in both modes, because a line
//! whose first unquoted `[` precedes its first unquoted colon must be a header
//! (specification 4.3). Only recovery reads on, when the field list is intact.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{HashMap, HashSet},
    rc::Rc,
};

use crate::error::{Error, ErrorKind, LimitKind, Result};

use super::cursor::{self, Cursor};

/// A parsed header; the cursor stands behind its colon.
#[derive(Debug)]
pub(crate) struct Header<'de> {
    /// The declared number of values; saturates, and recovery has none when the
    /// bracket could not be read.
    pub(crate) declared: Option<u64>,
    pub(crate) delimiter: u8,
    /// True for `[N:]`, whose rows carry keys (section 9.5).
    pub(crate) keyed: bool,
    pub(crate) columns: Option<Rc<Columns<'de>>>,
    /// Offset of the bracket.
    pub(crate) start: usize,
}

/// The field list of a table at one level.
#[derive(Debug, Default)]
pub(crate) struct Columns<'de> {
    pub(crate) list: Vec<Column<'de>>,
    /// Cells of one row, nested groups included.
    pub(crate) leaves: usize,
    /// Whether a name occurs twice at one level (only outside strict mode).
    pub(crate) repeated: bool,
    /// The struct that asked last, by the address of its fields, and the answer.
    asked: Cell<(usize, usize, bool)>,
}

#[derive(Debug)]
pub(crate) struct Column<'de> {
    pub(crate) name: Cow<'de, str>,
    /// Present for a nested field group.
    pub(crate) group: Option<Columns<'de>>,
    /// Its first cell, counted from the first of this level.
    pub(crate) cell: usize,
    pub(crate) named: Named,
}

/// How a column's name stands among those of its level (section 14.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// No other column before it has the name, and none after it.
    Once,
    /// The first of several, whose value is that of the last, this one.
    First { last: usize },
    /// One of the others.
    Again,
}

impl<'de> Cursor<'de> {
    /// Parses the header whose `[` stands at `start`.
    pub(crate) fn header(&mut self, start: usize) -> Result<Header<'de>> {
        let mut at = start + 1;
        let (declared, keyed, delimiter) = match self.bracket(&mut at) {
            Ok((declared, keyed, delimiter)) => (Some(declared), keyed, delimiter),
            Err(reason) => self.repair_bracket(start, &mut at, reason)?,
        };
        let columns = if self.byte(at) == b'{' {
            at += 1;
            let columns = self.field_list(&mut at, delimiter)?;
            if columns.repeated {
                self.repeated_field(&columns, start)?;
            }
            Some(columns)
        } else {
            None
        };
        if self.byte(at) != b':' {
            return Err(malformed("text or a missing colon behind the header", at));
        }
        if keyed && columns.is_none() {
            return Err(malformed("a keyed header without a field list", start));
        }
        self.set_pos(at + 1);
        if columns.is_some() {
            let (end, feed) = self.content_end(at + 1);
            if end > at + 1 {
                return Err(malformed("content behind a field list", at + 1));
            }
            self.end_line(feed)?;
        }
        Ok(Header { declared, delimiter, keyed, columns, start })
    }

    #[cold]
    fn repeated_field(&mut self, columns: &Columns<'de>, start: usize) -> Result<()> {
        let kind = ErrorKind::DuplicateField { name: columns.first_repeated() };
        if self.options.strict {
            return Err(Error::at(kind, start));
        }
        self.note_read(kind, start, start + 1);
        Ok(())
    }

    /// Reads `N`, the keyed mark, the delimiter and the closing bracket.
    fn bracket(&self, at: &mut usize) -> std::result::Result<(u64, bool, u8), &'static str> {
        let first = *at;
        let mut declared = 0_u64;
        while let digit @ b'0'..=b'9' = self.byte(*at) {
            declared = declared.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            *at += 1;
        }
        if *at == first {
            return Err("a bracket without a length");
        }
        if *at > first + 1 && self.byte(first) == b'0' {
            return Err("a length with leading zeros");
        }
        let keyed = self.byte(*at) == b':';
        *at += usize::from(keyed);
        let delimiter = match self.byte(*at) {
            mark @ (b'\t' | b'|') => {
                *at += 1;
                mark
            }
            _ => b',',
        };
        if self.byte(*at) != b']' {
            return Err("an unexpected character in the bracket");
        }
        *at += 1;
        Ok((declared, keyed, delimiter))
    }

    /// In recovery a broken length is forgotten as long as a field list follows.
    #[cold]
    fn repair_bracket(
        &mut self,
        start: usize,
        at: &mut usize,
        reason: &'static str,
    ) -> Result<(Option<u64>, bool, u8)> {
        let fault = malformed(reason, start);
        if !self.recovering() {
            return Err(fault);
        }
        let (end, _) = self.content_end(start);
        let line = self.slice(start, end);
        let inside = line.find(['{', ']']).unwrap_or(line.len());
        let bracket = line.get(..inside).unwrap_or_default();
        let brace = inside + usize::from(line.get(inside..).is_some_and(|rest| rest.starts_with(']')));
        if !line.get(brace..).is_some_and(|rest| rest.starts_with('{')) {
            return Err(fault);
        }
        let delimiter = match bracket.as_bytes().last() {
            Some(mark @ (b'\t' | b'|')) => *mark,
            _ => b',',
        };
        *at = start + brace;
        self.note_read(ErrorKind::MalformedHeader { reason }, start, start + brace);
        Ok((None, bracket.contains(':'), delimiter))
    }

    /// Parses the outermost field list, or finds it among those of late:
    /// nested data repeats the same few lists again and again.
    fn field_list(&mut self, at: &mut usize, delimiter: u8) -> Result<Rc<Columns<'de>>> {
        const KEPT: usize = 4;
        let rest = self.bytes_from(*at);
        for (text, parsed_with, columns) in &self.field_lists {
            if *parsed_with == delimiter && rest.starts_with(text.as_bytes()) {
                *at += text.len();
                return Ok(Rc::clone(columns));
            }
        }
        let start = *at;
        self.header_leaves = 0;
        let columns = Rc::new(self.columns(at, delimiter)?);
        if self.field_lists.len() == KEPT {
            self.field_lists.remove(0);
        }
        self.field_lists.push((self.slice(start, *at), delimiter, Rc::clone(&columns)));
        Ok(columns)
    }

    /// Parses a field list behind its opening brace, up to behind the closing one.
    fn columns(&mut self, at: &mut usize, delimiter: u8) -> Result<Columns<'de>> {
        self.enter()?;
        let mut columns = Columns::default();
        loop {
            let start = *at;
            let mut column = self.column(at, delimiter)?;
            column.cell = columns.leaves;
            columns.leaves += column.leaves();
            self.header_leaves += usize::from(column.group.is_none());
            if self.header_leaves > self.options.limits.columns {
                return Err(cursor::limit(LimitKind::Columns, self.options.limits.columns, start));
            }
            columns.list.push(column);
            match self.byte(*at) {
                b'}' => break,
                byte if byte == delimiter => *at += 1,
                _ => return Err(malformed("text behind a field name", *at)),
            }
        }
        *at += 1;
        columns.find_repeated();
        self.leave();
        Ok(columns)
    }

    fn column(&mut self, at: &mut usize, delimiter: u8) -> Result<Column<'de>> {
        while self.byte(*at) == b' ' {
            *at += 1;
        }
        let start = *at;
        let name = if self.byte(start) == b'"' {
            let end = self.quoted(start)?;
            *at = end.offset();
            self.quoted_token(start, end).unescape()?
        } else {
            self.bare_name(at, delimiter)?
        };
        let group = if self.byte(*at) == b'{' {
            *at += 1;
            Some(self.columns(at, delimiter)?)
        } else {
            None
        };
        while self.byte(*at) == b' ' {
            *at += 1;
        }
        Ok(Column { name, group, cell: 0, named: Named::Once })
    }

    fn bare_name(&self, at: &mut usize, delimiter: u8) -> Result<Cow<'de, str>> {
        let start = *at;
        loop {
            match self.byte(*at) {
                b'\n' => return Err(malformed("a field list without its closing brace", start)),
                b'"' => *at = self.quoted(*at)?.offset(),
                b'{' | b'}' => break,
                byte if byte == delimiter => break,
                b',' | b'|' | b'\t' => {
                    return Err(malformed("a delimiter the bracket does not declare", *at));
                }
                _ => *at += 1,
            }
        }
        let token = self.slice(start, *at);
        let name = token.trim_end_matches(' ');
        if name.is_empty() {
            return Err(malformed("a field without a name", start));
        }
        if name.len() < token.len() && self.byte(*at) == b'{' {
            return Err(malformed("a space before a field group", *at));
        }
        Ok(Cow::Borrowed(name))
    }
}

impl Header<'_> {
    /// Copies the names, so that the header outlives its line.
    pub(crate) fn into_owned(self) -> Header<'static> {
        Header {
            declared: self.declared,
            delimiter: self.delimiter,
            keyed: self.keyed,
            columns: self.columns.map(|columns| Rc::new(columns.to_owned_names())),
            start: self.start,
        }
    }
}

impl<'de> Columns<'de> {
    pub(crate) fn to_owned_names(&self) -> Columns<'static> {
        let column = |column: &Column<'_>| Column {
            name: Cow::Owned(column.name.clone().into_owned()),
            group: column.group.as_ref().map(Columns::to_owned_names),
            ..*column
        };
        Columns {
            list: self.list.iter().map(column).collect(),
            leaves: self.leaves,
            repeated: self.repeated,
            asked: Cell::default(),
        }
    }

    /// Tells whether the columns are just the fields of a struct in their order.
    #[inline]
    pub(crate) fn are(&self, fields: &'static [&'static str]) -> bool {
        // Static names do not change, so their place and number identify them.
        let (address, count) = (fields.as_ptr() as usize, fields.len());
        let (known, known_count, answer) = self.asked.get();
        if (known, known_count) == (address, count) {
            return answer;
        }
        let answer =
            !self.repeated && self.list.iter().map(|column| &*column.name).eq(fields.iter().copied());
        self.asked.set((address, count, answer));
        answer
    }

    /// Finds names that occur twice, once the list is complete.
    fn find_repeated(&mut self) {
        self.repeated =
            self.list.iter().any(|column| column.group.as_ref().is_some_and(|group| group.repeated));
        let is_repeated = match self.list.len() {
            ..=FEW => (1..self.list.len()).any(|at| self.holds_before(at)),
            _ => {
                let mut names = HashSet::with_capacity(self.list.len());
                !self.list.iter().all(|column| names.insert(&*column.name))
            }
        };
        if is_repeated {
            self.repeated = true;
            self.name_repeated();
        }
    }

    fn holds_before(&self, at: usize) -> bool {
        let (before, from) = self.list.split_at(at);
        from.first().is_some_and(|column| before.iter().any(|earlier| earlier.name == column.name))
    }

    #[cold]
    fn name_repeated(&mut self) {
        let mut places = HashMap::<Cow<'de, str>, (usize, usize)>::with_capacity(self.list.len());
        for (at, column) in self.list.iter().enumerate() {
            places.entry(column.name.clone()).and_modify(|(_, last)| *last = at).or_insert((at, at));
        }
        for (at, column) in self.list.iter_mut().enumerate() {
            column.named = match places.get(&column.name) {
                Some((first, last)) if first == last => Named::Once,
                Some((first, last)) if *first == at => Named::First { last: *last },
                _ => Named::Again,
            };
        }
    }

    fn first_repeated(&self) -> String {
        for column in &self.list {
            if column.named == Named::Again {
                return column.name.clone().into_owned();
            }
            if let Some(group) = column.group.as_ref().filter(|group| group.repeated) {
                return group.first_repeated();
            }
        }
        String::new()
    }
}

/// Up to here comparing names is cheaper than hashing them.
const FEW: usize = 24;

impl Column<'_> {
    /// Returns the number of its cells.
    #[inline]
    pub(crate) fn leaves(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.leaves)
    }
}

/// A line with a key is known by two offsets: its start, and its mark, the
/// colon behind the key or the bracket of the header there.
impl<'de> Cursor<'de> {
    /// Finds the mark of the line at `start` (sections 5.2 and 7.4).
    #[inline(always)]
    pub(crate) fn key_mark(&self, start: usize) -> Result<usize> {
        let mark = self.find(start, [b':', b'[', b'"', b'\n']);
        if mark > start
            && matches!(self.byte(mark), b':' | b'[')
            && !matches!(self.byte(mark - 1), b' ' | b'\t')
        {
            return Ok(mark);
        }
        self.odd_key_mark(start, mark)
    }

    /// Does the same for a key that is quoted, followed by spaces, or not there;
    /// `first` is the first byte of interest.
    #[inline(never)]
    fn odd_key_mark(&self, start: usize, first: usize) -> Result<usize> {
        if self.byte(start) == b'"' {
            return self.quoted_key_mark(start);
        }
        let mut at = first;
        loop {
            match self.byte(at) {
                b':' => return Ok(at),
                b'[' if at == start => return Err(Error::at(ErrorKind::MisplacedHeader, start)),
                b'[' if matches!(self.byte(at - 1), b' ' | b'\t') => {
                    return Err(malformed("a space before the bracket", at));
                }
                b'[' => return Ok(at),
                b'"' => at = self.find(self.after_span(at), [b':', b'[', b'"', b'\n']),
                _ => return Err(Error::at(ErrorKind::MissingColon, start)),
            }
        }
    }

    fn quoted_key_mark(&self, start: usize) -> Result<usize> {
        let after = self.quoted(start)?.offset();
        if self.byte(after) == b'[' {
            return Ok(after);
        }
        let mark = self.skip_spaces(after);
        if self.byte(mark) != b':' {
            return Err(Error::at(ErrorKind::MissingColon, start));
        }
        Ok(mark)
    }
}

#[cold]
pub(crate) fn malformed(reason: &'static str, offset: usize) -> Error {
    Error::at(ErrorKind::MalformedHeader { reason }, offset)
}
