//! Any document as a sequence of events, one line at a time.
//!
//! The reader has its own stack of open scopes in place of the deserializer's
//! call stack, and shares everything below that: headers, keys, tokens. It is
//! also a second opinion on structure, which the tests use.

use std::{
    collections::{HashSet, VecDeque},
    io::BufRead,
};

use crate::{
    de::{
        cursor::{Cursor, Line, limit},
        header::{Columns, Header},
        reader::{Content, Node},
        token::Token,
    },
    error::{Error, ErrorKind, LimitKind, Result},
    options::{DecodeOptions, NumberText},
    value::Value,
};

use super::lines::{Blank, Lines, cursor_at, line_cursor};

/// One step through a document.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// An object begins.
    StartObject,
    /// The innermost object ends.
    EndObject,
    /// An array begins; the number is the declared length.
    StartArray(u64),
    /// The innermost array ends.
    EndArray,
    /// The key of the value that follows.
    Key(String),
    /// A string, number, boolean or null.
    Primitive(Value),
}

/// Reads a document as events, holding one line and the open scopes.
///
/// It iterates over `Result<StreamEvent>` and ends after the first error. In strict
/// mode it remembers the keys of open objects to refuse repeated ones; outside
/// strict mode it delivers them as they come.
///
/// ```
/// use samuel_toon::{DecodeOptions, StreamEvent, EventReader};
///
/// let events: Result<Vec<StreamEvent>, _> =
///     EventReader::new("a:\n  b: 1".as_bytes(), DecodeOptions::default()).collect();
/// assert_eq!(events?.len(), 7);
/// # Ok::<(), samuel_toon::Error>(())
/// ```
pub struct EventReader<R> {
    lines: Lines<R>,
    options: DecodeOptions,
    scopes: Vec<Scope>,
    queue: VecDeque<StreamEvent>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Inside,
    /// The root is complete; only blank lines and comments may follow.
    Complete,
    Ended,
}

struct Scope {
    kind: Kind,
    /// Lines at this depth or above end the scope: one less than its content.
    floor: usize,
    depth: Option<usize>,
    declared: Option<u64>,
    count: u64,
    keys: HashSet<String>,
}

enum Kind {
    Object,
    List,
    Table { columns: Columns<'static>, delimiter: u8, keyed: bool },
}

impl Scope {
    fn new(kind: Kind, floor: usize) -> Self {
        Self { kind, floor, depth: None, declared: None, count: 0, keys: HashSet::new() }
    }

    fn end(&self) -> StreamEvent {
        match self.kind {
            Kind::Object | Kind::Table { keyed: true, .. } => StreamEvent::EndObject,
            Kind::List | Kind::Table { .. } => StreamEvent::EndArray,
        }
    }
}

impl<R: BufRead> EventReader<R> {
    /// Prepares to read a document.
    pub fn new(reader: R, options: DecodeOptions) -> Self {
        let lines = Lines::new(reader, options);
        Self { lines, options, scopes: Vec::new(), queue: VecDeque::new(), state: State::Start }
    }

    /// Reads one more line with content, or the end.
    fn advance(&mut self) -> Result<()> {
        let Some(blank) = self.lines.advance_to_content()? else {
            return self.end();
        };
        let text = self.lines.take()?;
        let outcome = self.line(&text, blank);
        let outcome = outcome.map_err(|error| self.lines.place(error, text.as_bytes()));
        self.lines.give_back(text);
        outcome
    }

    fn end(&mut self) -> Result<()> {
        if self.state == State::Start {
            self.queue.extend([StreamEvent::StartObject, StreamEvent::EndObject]);
        }
        self.state = State::Ended;
        while !self.scopes.is_empty() {
            self.close().map_err(|error| self.lines.place(error.or_at(0), &[]))?;
        }
        Ok(())
    }

    fn line(&mut self, text: &str, blank: Blank) -> Result<()> {
        if self.state == State::Start {
            return self.root(text);
        }
        let (mut cursor, line) = cursor_at(text, self.options)?;
        while let Some(scope) = self.scopes.last() {
            if line.depth >= scope.floor {
                break;
            }
            self.close().map_err(|error| error.or_at(line.start))?;
        }
        if blank == Blank::Before && self.options.strict && self.interrupts(line) {
            return Err(Error::at(ErrorKind::BlankLine, 0));
        }
        let Some(scope) = self.scopes.last_mut().filter(|_| self.state == State::Inside) else {
            return Err(Error::at(ErrorKind::TrailingContent, line.start));
        };
        cursor.admit(line, scope.floor, &mut scope.depth)?;
        match &scope.kind {
            Kind::Object => self.field(&mut cursor, line.start, line.depth),
            Kind::List => self.item(&mut cursor, line),
            Kind::Table { keyed: false, .. } => self.row(&mut cursor, line, line.start),
            Kind::Table { .. } => self.entry(&mut cursor, line),
        }
    }

    /// A blank line may not stand within an array that has begun (section 12).
    fn interrupts(&self, line: Line) -> bool {
        let array = |scope: &&Scope| scope.count > 0 && !matches!(scope.kind, Kind::Object);
        self.scopes.iter().find(array).is_some_and(|scope| line.depth >= scope.floor)
    }

    fn root(&mut self, text: &str) -> Result<()> {
        self.state = State::Inside;
        let mut cursor = line_cursor(text, self.options)?;
        match cursor.root()? {
            Content::Node(Node::Object { .. }) => {
                let start = cursor.peek()?.map_or(0, |line| line.start);
                self.queue.push_back(StreamEvent::StartObject);
                self.open(Scope { depth: Some(0), ..Scope::new(Kind::Object, 0) }, 0)?;
                self.field(&mut cursor, start, 0)
            }
            content => {
                // Without a scope left open the root is complete already.
                self.content(&mut cursor, content)?;
                if self.scopes.is_empty() {
                    self.state = State::Complete;
                }
                Ok(())
            }
        }
    }

    /// Ends the innermost scope.
    fn close(&mut self) -> Result<()> {
        let Some(scope) = self.scopes.pop() else {
            return Ok(());
        };
        self.queue.push_back(scope.end());
        if self.scopes.is_empty() && self.state == State::Inside {
            self.state = State::Complete;
        }
        self.check_count(scope.declared, scope.count)
    }

    fn check_count(&self, declared: Option<u64>, found: u64) -> Result<()> {
        match declared {
            Some(declared) if declared != found && self.options.strict => {
                Err(Error::new(ErrorKind::CountMismatch { declared, found }))
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, scope: Scope, offset: usize) -> Result<()> {
        self.scopes.push(scope);
        if self.scopes.len() > self.options.limits.depth {
            return Err(limit(LimitKind::Depth, self.options.limits.depth, offset));
        }
        Ok(())
    }

    /// Counts one more value of the innermost scope.
    fn count(&mut self, cursor: &Cursor<'_>) -> Result<()> {
        let Some(scope) = self.scopes.last_mut() else {
            return Ok(());
        };
        scope.count += 1;
        cursor.check_rows(scope.count)
    }

    fn field(&mut self, cursor: &mut Cursor<'_>, start: usize, depth: usize) -> Result<()> {
        let mark = cursor.key_mark(start)?;
        self.count(cursor)?;
        self.key(cursor.key(start, mark))?;
        let content = cursor.value_node(mark, depth)?;
        self.content(cursor, content)
    }

    fn key(&mut self, key: Token<'_>) -> Result<()> {
        let name = key.unescape()?.into_owned();
        if self.options.strict
            && let Some(scope) = self.scopes.last_mut()
            && !scope.keys.insert(name.clone())
        {
            return Err(Error::at(ErrorKind::DuplicateKey { key: name }, key.start));
        }
        self.queue.push_back(StreamEvent::Key(name));
        Ok(())
    }

    fn content(&mut self, cursor: &mut Cursor<'_>, content: Content<'_, '_>) -> Result<()> {
        let node = match content {
            Content::Token(token) => return self.primitive(cursor, token),
            Content::Node(node) => node,
        };
        match node {
            Node::Array { header, base } => self.array(cursor, header, base),
            Node::Object { floor, .. } => {
                self.queue.push_back(StreamEvent::StartObject);
                self.open(Scope::new(Kind::Object, floor), cursor.pos())
            }
            Node::Item { start, depth } => {
                self.queue.push_back(StreamEvent::StartObject);
                self.open(Scope { depth: Some(depth), ..Scope::new(Kind::Object, depth) }, start)?;
                self.field(cursor, start, depth)
            }
            Node::EmptyArray => {
                self.queue.extend([StreamEvent::StartArray(0), StreamEvent::EndArray]);
                Ok(())
            }
            // Rows are read cell by cell and never arrive here.
            Node::EmptyObject | Node::Row { .. } | Node::Buffered { .. } => {
                self.queue.extend([StreamEvent::StartObject, StreamEvent::EndObject]);
                Ok(())
            }
        }
    }

    fn primitive(&mut self, cursor: &Cursor<'_>, token: Token<'_>) -> Result<()> {
        let value = token.to_value(cursor.numbers())?;
        self.queue.push_back(StreamEvent::Primitive(value));
        Ok(())
    }

    fn array(&mut self, cursor: &mut Cursor<'_>, header: Header<'_>, base: usize) -> Result<()> {
        let declared = header.declared.unwrap_or_default();
        let start = if header.keyed { StreamEvent::StartObject } else { StreamEvent::StartArray(declared) };
        self.queue.push_back(start);
        let kind = match &header.columns {
            Some(columns) => Kind::Table {
                columns: columns.to_owned_names(),
                delimiter: header.delimiter,
                keyed: header.keyed,
            },
            None if cursor.open_inline()? => {
                let mut count = 0;
                while cursor.row_open {
                    let token = cursor.cell(header.delimiter)?;
                    count += 1;
                    cursor.check_rows(count)?;
                    cursor.check_cells(count)?;
                    self.primitive(cursor, token)?;
                }
                self.queue.push_back(StreamEvent::EndArray);
                return self.check_count(header.declared, count).map_err(|error| error.or_at(header.start));
            }
            None => Kind::List,
        };
        let scope = Scope { declared: header.declared, ..Scope::new(kind, base + 1) };
        self.open(scope, header.start)
    }

    fn item(&mut self, cursor: &mut Cursor<'_>, line: Line) -> Result<()> {
        if !cursor.is_item(line.start) {
            return Err(Error::at(ErrorKind::StrayLine, line.start));
        }
        self.count(cursor)?;
        let content = cursor.item_node(line)?;
        self.content(cursor, content)
    }

    fn entry(&mut self, cursor: &mut Cursor<'_>, line: Line) -> Result<()> {
        let (key, cells) = cursor.entry(line.start)?;
        self.key(key)?;
        self.cells(cursor, cells)
    }

    fn row(&mut self, cursor: &mut Cursor<'_>, line: Line, start: usize) -> Result<()> {
        let delimiter = match self.scopes.last() {
            Some(Scope { kind: Kind::Table { delimiter, .. }, .. }) => *delimiter,
            _ => b',',
        };
        if !cursor.is_row(line.start, delimiter) {
            return Err(Error::at(ErrorKind::StrayLine, line.start));
        }
        self.cells(cursor, start)
    }

    fn cells(&mut self, cursor: &mut Cursor<'_>, start: usize) -> Result<()> {
        self.count(cursor)?;
        let Some(Scope { kind: Kind::Table { columns, delimiter, .. }, .. }) = self.scopes.last() else {
            return Ok(());
        };
        cursor.set_pos(start);
        let cells = cursor.row_cells(*delimiter, columns.leaves)?;
        let mut events = Vec::with_capacity(2 * cells.len() + 2);
        push_row(columns, &mut cells.iter(), cursor.numbers(), &mut events)?;
        self.queue.extend(events);
        Ok(())
    }
}

fn push_row<'a, 'de: 'a>(
    columns: &Columns<'_>,
    cells: &mut impl Iterator<Item = &'a Token<'de>>,
    numbers: NumberText,
    events: &mut Vec<StreamEvent>,
) -> Result<()> {
    events.push(StreamEvent::StartObject);
    for column in &columns.list {
        events.push(StreamEvent::Key(column.name.clone().into_owned()));
        match (&column.group, &column.group.is_none().then(|| cells.next()).flatten()) {
            (Some(group), _) => push_row(group, cells, numbers, events)?,
            (None, Some(token)) => events.push(StreamEvent::Primitive(token.to_value(numbers)?)),
            (None, None) => {}
        }
    }
    events.push(StreamEvent::EndObject);
    Ok(())
}

impl<R: BufRead> Iterator for EventReader<R> {
    type Item = Result<StreamEvent>;

    fn next(&mut self) -> Option<Result<StreamEvent>> {
        while self.queue.is_empty() && self.state != State::Ended {
            if let Err(error) = self.advance() {
                self.state = State::Ended;
                self.queue.clear();
                return Some(Err(error));
            }
        }
        self.queue.pop_front().map(Ok)
    }
}
