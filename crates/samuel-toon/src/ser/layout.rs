//! The second pass: forms, headers, indentation.
//!
//! A [`Layout`] walks the tape once. A header is written once per table and
//! cached per shape; a row is one copy out of the arena, because its cells
//! already stand next to each other.

use std::{collections::HashMap, io};

use crate::text;

use super::{
    prefix::Prefixes,
    shape::Child,
    tape::{Event, Form, Kind, Tape},
};

/// Text is handed to a writer in pieces of about this size.
const PIECE: usize = 64 * 1024;

/// A line feed and the indentation behind it.
const LINE: &str = "\n                                                                ";

pub(super) struct Layout<'a> {
    tape: &'a Tape,
    out: String,
    writer: Option<&'a mut dyn io::Write>,
    started: bool,
    prefixes: Prefixes,
    /// Field lists one behind the other, and their places by shape.
    field_lists: String,
    list_places: Vec<(usize, usize)>,
    /// Per row shape, which of its leaves goes to which column.
    orders: HashMap<(Child, Child), Vec<usize>>,
}

/// A container's two records, joined.
#[derive(Clone, Copy)]
struct Container {
    children: u32,
    form: Form,
    /// Arena bytes, without the delimiter behind the last.
    start: usize,
    end: usize,
    /// Its first child and the index behind its last.
    first: usize,
    next: usize,
}

impl<'a> Layout<'a> {
    pub(super) fn new(tape: &'a Tape, writer: Option<&'a mut dyn io::Write>) -> Self {
        // Beside its token an event costs a key, a line feed and indentation.
        const PER_EVENT: usize = 12;
        let text = tape.arena.len() + tape.events.len() * PER_EVENT;
        let capacity = if writer.is_some() { PIECE * 2 } else { text };
        Self {
            tape,
            out: String::with_capacity(capacity),
            writer,
            started: false,
            prefixes: Prefixes::default(),
            field_lists: String::new(),
            list_places: Vec::new(),
            orders: HashMap::new(),
        }
    }

    /// Writes the whole document; returns it when there is no writer.
    pub(super) fn document(mut self) -> io::Result<String> {
        match self.tape.events.first() {
            None => {}
            Some(event) if event.kind == Kind::Token => {
                let token = self.token(*event);
                if token.starts_with('\u{FEFF}') {
                    // At the start of a document this would be a byte-order mark.
                    text::push_quoted(&mut self.out, token);
                } else {
                    self.out.push_str(token);
                }
            }
            Some(event) => self.root(*event)?,
        }
        if let Some(writer) = &mut self.writer {
            writer.write_all(self.out.as_bytes())?;
        }
        Ok(self.out)
    }

    fn root(&mut self, event: Event) -> io::Result<()> {
        let root = self.container(0);
        match (event.kind, root.form) {
            (Kind::Object, Form::Plain | Form::Inline) => self.fields(root, 0, false),
            (Kind::Object, Form::Table(..)) => {
                self.started = true;
                self.entries(root, 0)
            }
            _ if root.children == 0 => {
                self.out.push_str("[]");
                Ok(())
            }
            _ => {
                self.started = true;
                self.array(root, 0)
            }
        }
    }

    /// Writes the fields of an object, each on its line; the first may stand
    /// behind a hyphen.
    fn fields(&mut self, object: Container, depth: usize, inline: bool) -> io::Result<()> {
        let mut at = object.first;
        if inline && at < object.next {
            at = self.field(at, depth, false)?;
        }
        while at < object.next {
            at = self.field(at, depth, true)?;
        }
        Ok(())
    }

    /// Writes one field, on a line of its own or at the current place, and
    /// returns the index behind it.
    #[inline(always)]
    fn field(&mut self, at: usize, depth: usize, own_line: bool) -> io::Result<usize> {
        let Some(event) = self.tape.events.get(at).copied() else {
            return Ok(at + 1);
        };
        if !own_line {
            self.out.push_str(self.tape.keys.with_colon(event.key));
        } else if let Some(prefix) = self.prefixes.get(event.key, depth) {
            self.out.push_str(prefix);
        } else {
            self.prefix(event.key, depth)?;
        }
        if event.kind != Kind::Token {
            return self.structure(at, event, depth);
        }
        let token = self.token(event);
        self.out.push_str(token);
        if self.out.len() >= PIECE {
            self.hand_over()?;
        }
        Ok(at + 1)
    }

    /// Begins a line at `depth` with a key.
    #[inline(never)]
    fn prefix(&mut self, key: u32, depth: usize) -> io::Result<()> {
        if self.started {
            self.prefixes.note(self.tape, key, depth);
        }
        self.line(depth)?;
        self.out.push_str(self.tape.keys.with_colon(key));
        Ok(())
    }

    /// Writes the object or array of a field behind its key and colon.
    fn structure(&mut self, at: usize, event: Event, depth: usize) -> io::Result<usize> {
        let container = self.container(at);
        if event.kind == Kind::Array && container.children == 0 {
            self.out.push_str("[]");
            return Ok(container.next);
        }
        // Neither a bracket nor a line feed follows a space.
        self.out.truncate(self.out.len() - 2);
        match (event.kind, container.form) {
            (Kind::Object, Form::Table(..)) => self.entries(container, depth)?,
            (Kind::Object, _) => {
                self.out.push(':');
                self.fields(container, depth + 1, false)?;
            }
            _ => self.array(container, depth)?,
        }
        Ok(container.next)
    }

    /// Writes an array that is not empty, from its bracket on.
    fn array(&mut self, array: Container, depth: usize) -> io::Result<()> {
        self.bracket(array.children, false);
        match array.form {
            Form::Inline => {
                self.out.push_str(": ");
                self.copy(array.start, array.end);
                Ok(())
            }
            Form::Table(shape, reordered) => {
                self.field_list(shape);
                self.out.push(':');
                let mut at = array.first;
                while at < array.next {
                    self.line(depth + 1)?;
                    at = self.row(at, shape, reordered);
                }
                Ok(())
            }
            Form::Plain => {
                self.out.push(':');
                self.items(array, depth + 1)
            }
        }
    }

    /// Writes a keyed table from its bracket on (section 9.5).
    fn entries(&mut self, object: Container, depth: usize) -> io::Result<()> {
        let Form::Table(shape, reordered) = object.form else {
            return Ok(());
        };
        self.bracket(object.children, true);
        self.field_list(shape);
        self.out.push(':');
        let mut at = object.first;
        while let Some(event) = self.tape.events.get(at).filter(|_| at < object.next) {
            self.line(depth + 1)?;
            let tape = self.tape;
            self.out.push_str(tape.keys.with_colon(event.key));
            at = self.row(at, shape, reordered);
        }
        Ok(())
    }

    /// Writes the items of a list (sections 9.2, 9.4 and 10).
    fn items(&mut self, array: Container, depth: usize) -> io::Result<()> {
        let mut at = array.first;
        while let Some(event) = self.tape.events.get(at).copied().filter(|_| at < array.next) {
            self.line(depth)?;
            self.out.push('-');
            if event.kind == Kind::Token {
                self.out.push(' ');
                let token = self.token(event);
                self.out.push_str(token);
                at += 1;
                continue;
            }
            let item = self.container(at);
            at = item.next;
            if event.kind == Kind::Array {
                self.out.push(' ');
                self.nested(item, depth)?;
            } else if item.children > 0 {
                self.out.push(' ');
                self.fields(item, depth + 1, true)?;
            }
        }
        Ok(())
    }

    /// Writes an array that is itself an item; tables are not available there.
    fn nested(&mut self, array: Container, depth: usize) -> io::Result<()> {
        self.bracket(array.children, false);
        self.out.push(':');
        if array.children == 0 {
            return Ok(());
        }
        if array.form == Form::Inline {
            self.out.push(' ');
            self.copy(array.start, array.end);
            return Ok(());
        }
        self.items(array, depth + 1)
    }

    /// Writes one row and returns the index behind its object.
    #[inline]
    fn row(&mut self, at: usize, shape: Child, reordered: bool) -> usize {
        if let Some(&Event { at: start, end, kind: Kind::Row, .. }) = self.tape.events.get(at) {
            self.copy(start as usize, end as usize - 1);
            return at + 1;
        }
        let object = self.container(at);
        if reordered {
            self.reordered_row(object, shape);
        } else {
            self.copy(object.start, object.end);
        }
        object.next
    }

    /// Writes a row whose fields may be in another order than the header's.
    fn reordered_row(&mut self, object: Container, shape: Child) {
        let own = self.shape_of(object);
        if own == shape {
            self.copy(object.start, object.end);
            return;
        }
        let leaves: Vec<Event> = self
            .tape
            .events
            .get(object.first..object.next)
            .unwrap_or_default()
            .iter()
            .filter(|event| event.kind == Kind::Token)
            .copied()
            .collect();
        let tape = self.tape;
        let order = self.orders.entry((own, shape)).or_insert_with(|| order(tape, own, shape));
        let delimiter = tape.options.delimiter.text();
        for (column, leaf) in order.iter().enumerate() {
            if column > 0 {
                self.out.push_str(delimiter);
            }
            if let Some(event) = leaves.get(*leaf) {
                self.out.push_str(tape.arena.get(event.at as usize..event.end as usize).unwrap_or_default());
            }
        }
    }

    /// Follows the fields of a row once more to its shape, which exists already.
    fn shape_of(&self, object: Container) -> Child {
        let mut shape = Child::EMPTY;
        let mut at = object.first;
        while at < object.next {
            let Some(event) = self.tape.events.get(at) else { break };
            let child = if event.kind == Kind::Token {
                at += 1;
                Child::PRIMITIVE
            } else {
                let group = self.container(at);
                at = group.next;
                self.shape_of(group)
            };
            shape = self.tape.shapes.known_step(shape, event.key, child);
        }
        shape
    }

    fn bracket(&mut self, length: u32, keyed: bool) {
        self.out.push('[');
        self.out.push_str(itoa::Buffer::new().format(length));
        if keyed {
            self.out.push(':');
        }
        self.out.push_str(self.tape.options.delimiter.marker());
        self.out.push(']');
    }

    fn field_list(&mut self, shape: Child) {
        self.list_places.resize(self.tape.shapes.len(), (0, 0));
        let Some(place) = self.list_places.get_mut(shape.index()) else {
            return;
        };
        if place.1 == 0 {
            let start = self.field_lists.len();
            push_field_list(self.tape, shape, &mut self.field_lists);
            *place = (start, self.field_lists.len());
        }
        self.out.push_str(self.field_lists.get(place.0..place.1).unwrap_or_default());
    }

    /// Begins a line at `depth`; hands over what is complete.
    #[inline]
    fn line(&mut self, depth: usize) -> io::Result<()> {
        if self.out.len() >= PIECE {
            self.hand_over()?;
        }
        let mut spaces = depth * self.tape.options.indent();
        let first = spaces.min(LINE.len() - 1);
        let from = usize::from(!std::mem::replace(&mut self.started, true));
        self.out.push_str(LINE.get(from..=first).unwrap_or_default());
        spaces -= first;
        while spaces > 0 {
            let piece = spaces.min(LINE.len() - 1);
            self.out.push_str(LINE.get(1..=piece).unwrap_or_default());
            spaces -= piece;
        }
        Ok(())
    }

    /// Gives the writer what there is.
    fn hand_over(&mut self) -> io::Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.write_all(self.out.as_bytes())?;
            self.out.clear();
        }
        Ok(())
    }

    #[inline]
    fn copy(&mut self, start: usize, end: usize) {
        let tape = self.tape;
        self.out.push_str(tape.arena.get(start..end).unwrap_or_default());
    }

    #[inline]
    fn token(&self, event: Event) -> &'a str {
        self.tape.arena.get(event.at as usize..event.end as usize).unwrap_or_default()
    }

    #[inline]
    fn container(&self, at: usize) -> Container {
        let (Some(open), Some(extent)) = (self.tape.events.get(at), self.tape.events.get(at + 1)) else {
            return Container { children: 0, form: Form::Plain, start: 0, end: 0, first: 0, next: 0 };
        };
        let start = extent.at as usize;
        Container {
            children: extent.key,
            form: Form::of(*open, *extent),
            start,
            end: (extent.end as usize).saturating_sub(1).max(start),
            first: at + 2,
            next: at + open.at as usize,
        }
    }
}

pub(super) fn push_field_list(tape: &Tape, shape: Child, out: &mut String) {
    out.push('{');
    for (at, (key, child)) in tape.shapes.fields(shape).into_iter().enumerate() {
        if at > 0 {
            out.push_str(tape.options.delimiter.text());
        }
        out.push_str(tape.keys.encoded(key));
        if child.is_row() {
            push_field_list(tape, child, out);
        }
    }
    out.push('}');
}

/// Says for each column of `shape` which leaf of an `own`-shaped row it takes.
fn order(tape: &Tape, own: Child, shape: Child) -> Vec<usize> {
    let mut places = HashMap::new();
    place_leaves(tape, own, &mut Vec::new(), &mut places);
    let mut order = Vec::new();
    take_leaves(tape, shape, &mut Vec::new(), &places, &mut order);
    order
}

fn place_leaves(tape: &Tape, shape: Child, path: &mut Vec<u32>, places: &mut HashMap<Vec<u32>, usize>) {
    for (key, child) in tape.shapes.fields(shape) {
        path.push(key);
        if child.is_row() {
            place_leaves(tape, child, path, places);
        } else {
            let next = places.len();
            places.insert(path.clone(), next);
        }
        path.pop();
    }
}

fn take_leaves(
    tape: &Tape,
    shape: Child,
    path: &mut Vec<u32>,
    places: &HashMap<Vec<u32>, usize>,
    order: &mut Vec<usize>,
) {
    for (key, child) in tape.shapes.fields(shape) {
        path.push(key);
        if child.is_row() {
            take_leaves(tape, child, path, places, order);
        } else {
            order.extend(places.get(path));
        }
        path.pop();
    }
}
