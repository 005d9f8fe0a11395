//! The first pass's record of a value: tokens in an arena, structure on a tape.
//!
//! A primitive looks the same in every form, because all headers declare the
//! document's delimiter. So each token is written once, followed by the
//! delimiter, into one [`arena`](Tape::arena); cells of a row and inline values
//! thereby already stand next to each other. The tape holds one [`Event`] per
//! token and two per container. [`layout`](super::layout) reads both.

use std::{cell::Cell, mem};

use crate::{
    error::{Error, ErrorKind, Result},
    options::EncodeOptions,
    text,
};

use super::shape::{Child, Keys, Shapes, Uniform};

/// The key of an event that is an element or the root.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// One token, or one half of a container's two records: 16 bytes without
/// padding, which would cost time whenever one is moved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    /// Token: where its bytes begin. Container: how many events it takes.
    pub(crate) at: u32,
    /// Token: where its bytes end. Container of a table: the shape of its rows.
    pub(crate) end: u32,
    /// The key; of a row its shape, of an extent its number of children.
    pub(crate) key: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Token,
    /// Followed by an extent.
    Object,
    /// Followed by an extent.
    Array,
    /// An element that looks like its siblings: nothing but its arena bytes.
    /// Should they not form a table after all, the bytes are split again.
    Row,
    /// The arena bytes of a container without another form.
    Plain,
    /// The arena bytes of an array of primitives.
    Inline,
    /// The arena bytes of a table.
    Table,
    /// The same, where some rows have the fields in another order.
    Reordered,
}

/// The form that the children of a container allow (section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects: field by field. Arrays: item by item.
    Plain,
    /// An array of primitives.
    Inline,
    /// Uniform objects, in the field order of this shape. `true` when some
    /// have the same fields in another order.
    Table(Child, bool),
}

impl Form {
    /// Returns what a container's two records say of its form.
    #[inline]
    fn record(self) -> (u32, Kind) {
        match self {
            Self::Plain => (0, Kind::Plain),
            Self::Inline => (0, Kind::Inline),
            Self::Table(shape, false) => (shape.number(), Kind::Table),
            Self::Table(shape, true) => (shape.number(), Kind::Reordered),
        }
    }

    /// Reads the form back.
    #[inline]
    pub(crate) fn of(container: Event, extent: Event) -> Self {
        match extent.kind {
            Kind::Inline => Self::Inline,
            Kind::Table => Self::Table(Child::numbered(container.end), false),
            Kind::Reordered => Self::Table(Child::numbered(container.end), true),
            _ => Self::Plain,
        }
    }
}

/// What pass one leaves behind.
pub(crate) struct Tape {
    pub(crate) arena: String,
    pub(crate) events: Vec<Event>,
    pub(crate) keys: Keys,
    pub(crate) shapes: Shapes,
    pub(crate) options: EncodeOptions,
    /// The key of the value that is written next.
    pub(crate) next_key: u32,
    /// For an element of an array, the shape that its siblings have so far:
    /// [`Child::EMPTY`] for the first, [`Child::OTHER`] for anything else.
    pub(crate) expected: Child,
    /// Whether the value that is written next is an element of an array.
    pub(crate) element: bool,
    depth: usize,
    /// Set while the digits of a number of any size are given as a string.
    pub(crate) digits: bool,
}

/// Nesting that can be encoded; twice of it still fits a small thread's stack.
const MAX_DEPTH: usize = 512;

impl Tape {
    pub(crate) fn new(options: EncodeOptions) -> Self {
        let Scratch { arena, events } = SCRATCH.try_with(Cell::take).unwrap_or_default();
        Self {
            arena,
            events,
            keys: Keys::default(),
            shapes: Shapes::default(),
            options,
            next_key: NO_KEY,
            expected: Child::OTHER,
            element: false,
            depth: 0,
            digits: false,
        }
    }

    /// Writes a token that needs no quotes.
    #[inline]
    pub(crate) fn bare(&mut self, token: &str) -> Child {
        let start = self.arena.len();
        self.arena.push_str(token);
        self.close_token(start)
    }

    /// Writes a string, quoted if it must be.
    #[inline]
    pub(crate) fn string(&mut self, string: &str) -> Child {
        let start = self.arena.len();
        if text::needs_quotes(string, self.options.delimiter.byte()) {
            text::push_quoted(&mut self.arena, string);
        } else {
            self.arena.push_str(string);
        }
        self.close_token(start)
    }

    /// Ends the token whose bytes began at `start`. That they lie too far out
    /// is told by [`Tape::check`].
    #[inline]
    pub(crate) fn close_token(&mut self, start: usize) -> Child {
        let end = self.arena.len();
        self.arena.push(char::from(self.options.delimiter.byte()));
        let key = mem::replace(&mut self.next_key, NO_KEY);
        self.events.push(Event { at: start as u32, end: end as u32, key, kind: Kind::Token });
        Child::PRIMITIVE
    }

    /// Fails when the arena is larger than its offsets can tell.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        offset(self.arena.len()).map(drop)
    }

    /// Reduces an object that turned out to be a row like its siblings to its bytes.
    #[inline]
    pub(crate) fn close_row(&mut self, open: usize, shape: Child) -> Result<()> {
        self.depth -= 1;
        let end = offset(self.arena.len())?;
        let at = self.events.get(open + 1).map_or(end, |extent| extent.at);
        self.events.truncate(open);
        self.events.push(Event { at, end, key: shape.number(), kind: Kind::Row });
        Ok(())
    }

    /// Opens a container; the result goes to [`Tape::close`].
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind) -> Result<usize> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let limit = crate::LimitKind::Depth;
            return Err(Error::new(ErrorKind::Limit { limit, maximum: MAX_DEPTH }));
        }
        let key = mem::replace(&mut self.next_key, NO_KEY);
        let open = self.events.len();
        self.events.push(Event { at: 0, end: 0, key, kind });
        let at = offset(self.arena.len())?;
        self.events.push(Event { at, end: at, key: 0, kind: Kind::Plain });
        Ok(open)
    }

    /// Ends a container once its children and their form are known.
    #[inline]
    pub(crate) fn close(&mut self, open: usize, children: u32, form: Form) -> Result<()> {
        self.depth -= 1;
        if form == Form::Inline {
            // The bytes say everything about inline values.
            self.events.truncate(open + 2);
        }
        let taken = offset(self.events.len() - open)?;
        let end = offset(self.arena.len())?;
        if let Some([container, extent]) = self.events.get_mut(open..open + 2) {
            container.at = taken;
            (container.end, extent.kind) = form.record();
            extent.end = end;
            extent.key = children;
        }
        Ok(())
    }
}

/// Gives the working memory back for the next document.
impl Drop for Tape {
    fn drop(&mut self) {
        let (mut arena, mut events) = (mem::take(&mut self.arena), mem::take(&mut self.events));
        arena.clear();
        events.clear();
        if arena.capacity() <= KEPT && events.capacity() * size_of::<Event>() <= KEPT {
            // While the thread ends there is nothing left to give it to.
            let _ = SCRATCH.try_with(|kept| kept.set(Scratch { arena, events }));
        }
    }
}

/// The working memory of a tape. It is kept by the thread, because fresh pages
/// cost as much time as writing a document does.
#[derive(Default)]
struct Scratch {
    arena: String,
    events: Vec<Event>,
}

/// Bytes that each of the two buffers may have to be kept.
const KEPT: usize = 2 << 20;

thread_local! {
    static SCRATCH: Cell<Scratch> = const {
        Cell::new(Scratch { arena: String::new(), events: Vec::new() })
    };
}

/// Rows that turned out to stand among other things become objects again.
impl Tape {
    #[cold]
    pub(crate) fn expand_rows(&mut self, open: usize) {
        let first = open + 2;
        let children = self.events.split_off(first.min(self.events.len()));
        let mut at = 0;
        while let Some(event) = children.get(at) {
            let taken = match event.kind {
                Kind::Object | Kind::Array => event.at as usize,
                _ => 1,
            };
            if event.kind == Kind::Row {
                self.expand(event.at as usize, NO_KEY, Child::numbered(event.key));
            } else {
                self.events.extend(children.get(at..at + taken).unwrap_or_default());
            }
            at += taken;
        }
    }

    /// Writes the events of an object of `shape` whose bytes begin at `start`;
    /// returns where they end.
    fn expand(&mut self, start: usize, key: u32, shape: Child) -> usize {
        let open = self.events.len();
        // The bytes lie within the arena, whose offsets fit.
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.events.push(Event { at: 0, end: 0, key, kind: Kind::Object });
        self.events.push(Event { at: narrow(start), end: 0, key: 0, kind: Kind::Plain });
        let fields = self.shapes.fields(shape);
        let mut uniform = Uniform::new();
        let mut at = start;
        for (key, child) in &fields {
            uniform.add(*child, &mut self.shapes);
            if child.is_row() {
                at = self.expand(at, *key, *child);
                continue;
            }
            let end = self.token_end(at);
            self.events.push(Event { at: narrow(at), end: narrow(end), key: *key, kind: Kind::Token });
            at = end + 1;
        }
        let form = match uniform.table() {
            Some((shape, reordered)) if fields.len() >= 2 => Form::Table(shape, reordered),
            _ => Form::Plain,
        };
        let taken = narrow(self.events.len() - open);
        if let Some([container, extent]) = self.events.get_mut(open..open + 2) {
            container.at = taken;
            (container.end, extent.kind) = form.record();
            extent.end = narrow(at);
            extent.key = narrow(fields.len());
        }
        at
    }

    /// Finds the delimiter behind the token at `start`.
    fn token_end(&self, start: usize) -> usize {
        let bytes = self.arena.as_bytes().get(start..).unwrap_or_default();
        let end = match bytes.first() {
            Some(b'"') => text::closing_quote(bytes).map(|at| at + 1),
            _ => memchr::memchr(self.options.delimiter.byte(), bytes),
        };
        start + end.unwrap_or(bytes.len())
    }
}

/// Offsets take four bytes; a document beyond that has no tape.
#[inline]
fn offset(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| Error::new(ErrorKind::Unsupported { what: "a document beyond 4 GiB" }))
}
