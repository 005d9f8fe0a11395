//! What the cursor remembers in order to go on after a fault.
//!
//! Outside strict mode a first pass, the survey, reads the document without a
//! target type and notes where keys repeat, so that the second can deliver the
//! last value at the place of the first key. Recovery additionally collects
//! faults: lines that cannot be read are dropped on the spot; a fault that only
//! the target type finds (a word where a number belongs) ends the pass, marks
//! the innermost unit (a row, an item, a field) as broken, and the document is
//! decoded again without it. [`Hint`]s spare most of these repetitions: once a
//! column has failed, its other cells are checked before the type sees them.
//! Where the type reads its elements by [`Lenient`](super::Lenient), there are
//! none: such an element is left out on the spot as well.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line, Scope},
    header::{Columns, Header},
    reader::Content,
    token::{Form, Token},
};

/// Where the value of a repeated key is to be found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Redirect {
    /// The first occurrence takes the value of the last, which stands here.
    Last(usize),
    /// A later occurrence is passed over.
    Skip,
}

/// What a target type asked of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Hint {
    Any,
    Text,
    Bool,
    Float,
    Integer { min: i128, max: i128 },
    Variant(&'static [&'static str]),
}

impl Hint {
    pub(crate) const fn integer(min: i128, max: i128) -> Self {
        Self::Integer { min, max }
    }

    /// Tells whether a type that asked for this can take `token`. A `null` may
    /// be the `None` of an option, so only the type can tell.
    fn accepts(self, token: Token<'_>) -> bool {
        if token.is_null() {
            return true;
        }
        let number = || crate::Number::parse(token.text).filter(|_| token.form == Form::Bare);
        match self {
            Self::Any | Self::Text => true,
            Self::Bool => token.form == Form::Bare && matches!(token.text, "true" | "false"),
            Self::Float => number().is_some_and(|number| number.as_f64().is_finite()),
            Self::Integer { min, max } => {
                number().and_then(|number| number.as_i128()).is_some_and(|value| (min..=max).contains(&value))
            }
            Self::Variant(names) => token.unescape().is_ok_and(|text| names.contains(&&*text)),
        }
    }
}

/// A fault as it is collected; positions are bytes until the end.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) kind: ErrorKind,
    pub(crate) span: Range<usize>,
    pub(crate) path: String,
    /// Whether the value does without the text.
    pub(crate) is_dropped: bool,
}

/// What a recovery found: some faults, how many more there are, and every
/// piece of text that the value does without, whole lines where possible.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) kept: Vec<Note>,
    pub(crate) more: usize,
    pub(crate) dropped: Vec<Range<usize>>,
    most: usize,
}

impl Notes {
    /// Adds a fault; the caller describes it only if it is kept.
    pub(crate) fn add(
        &mut self,
        dropped: Option<Range<usize>>,
        describe: impl FnOnce() -> (ErrorKind, Range<usize>, String),
    ) {
        let is_dropped = dropped.is_some();
        self.dropped.extend(dropped);
        if self.kept.len() < self.most {
            let (kind, span, path) = describe();
            self.kept.push(Note { kind, span, path, is_dropped });
        } else {
            self.more += 1;
        }
    }

    fn clear(&mut self) {
        *self = Self { most: self.most, ..Self::default() };
    }

    /// Says how much there is, for [`shrink`](Self::shrink).
    fn size(&self) -> (usize, usize, usize) {
        (self.kept.len(), self.more, self.dropped.len())
    }

    /// Forgets what was added since there was so much.
    fn shrink(&mut self, (kept, more, dropped): (usize, usize, usize)) {
        self.kept.truncate(kept);
        self.more = more;
        self.dropped.truncate(dropped);
    }
}

/// How much was found up to some place.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    units: usize,
    notes: (usize, usize, usize),
}

/// How long a path is at most, in bytes; a document can be one long key.
const MAX_PATH: usize = 512;

/// Cuts a path that is too long.
pub(crate) fn shortened(mut path: String) -> String {
    if path.len() > MAX_PATH {
        path.truncate(path.floor_char_boundary(MAX_PATH));
        path.push('…');
    }
    path
}

/// The innermost thing that can be left out: a field, an item, a row.
struct Unit<'de> {
    start: usize,
    segment: Segment<'de>,
}

enum Segment<'de> {
    Key(Token<'de>),
    Index(usize),
}

#[derive(Default)]
pub(crate) struct Repair<'de> {
    surveying: bool,
    collects: bool,
    redirects: HashMap<usize, Redirect>,
    lasts: HashSet<usize>,
    notes: Notes,
    /// Units that an earlier attempt found broken, by their start: the fault,
    /// its place and its path.
    broken: HashMap<usize, (ErrorKind, usize, String)>,
    /// Why the element that was read last could not be.
    failure: Option<Error>,
    /// The line of the item that is about to be read.
    pub(super) item: Option<Line>,
    units: Vec<Unit<'de>>,
    /// Per table and leaf column, what the type wanted where it failed.
    hints: HashMap<(usize, usize), Hint>,
    last_hint: Option<Hint>,
    row: Option<(usize, Vec<usize>)>,
}

impl<'de> Repair<'de> {
    /// Begins with the survey.
    pub(crate) fn new() -> Self {
        Self { surveying: true, ..Self::default() }
    }

    /// Begins with the survey of a recovery, which describes so many faults at
    /// most.
    pub(crate) fn recovery(most: usize) -> Self {
        Self { collects: true, notes: Notes { most, ..Notes::default() }, ..Self::new() }
    }

    pub(crate) fn collects(&self) -> bool {
        self.collects
    }

    pub(crate) fn finds_repeats(&self) -> bool {
        !self.redirects.is_empty()
    }

    /// Ends the survey.
    pub(crate) fn decode(&mut self) {
        self.surveying = false;
    }

    /// Forgets what belonged to the last attempt.
    pub(crate) fn begin_pass(&mut self) {
        self.notes.clear();
        self.units.clear();
        self.row = None;
    }

    pub(crate) fn into_notes(self) -> Notes {
        self.notes
    }

    /// Marks the unit in which decoding failed as broken; false without one.
    pub(crate) fn give_up_unit(&mut self, error: &Error) -> bool {
        let Some(unit) = self.units.last() else {
            return false;
        };
        let offset = if error.has_position() { error.offset() } else { unit.start };
        let path = shortened(error.path().to_owned());
        self.broken.insert(unit.start, (error.kind().clone(), offset, path)).is_none()
    }

    pub(crate) fn note_read(&mut self, kind: ErrorKind, from: usize, to: usize) {
        if self.collects {
            let units = &self.units;
            self.notes.add(None, || (kind, from..to, path(units)));
        }
    }

    /// Marks the unit within an element in which it failed as broken; false if
    /// it failed as a whole.
    pub(super) fn give_up_within(&mut self, error: &Error, scope: &Scope) -> bool {
        let (outer, inner) = self.units.split_at(scope.found.units.min(self.units.len()));
        let Some(unit) = inner.last() else {
            return false;
        };
        let offset = if error.has_position() { error.offset() } else { unit.start };
        let path = shortened(path(outer) + &error.inner_path());
        self.broken.insert(unit.start, (error.kind().clone(), offset, path)).is_none()
    }

    /// Remembers why an element could not be read, until it is dropped.
    pub(super) fn fail(&mut self, error: Error) {
        self.failure = Some(error);
    }

    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Says how much was found so far.
    pub(super) fn found(&self) -> Found {
        Found { units: self.units.len(), notes: self.notes.size() }
    }

    /// Forgets what was found since, and closes the units that were opened.
    pub(super) fn forget_since(&mut self, found: Found) {
        self.units.truncate(found.units);
        self.notes.shrink(found.notes);
    }

    /// Notes a fault for which text is dropped; `inner` leads on from the
    /// innermost unit.
    fn note_dropped(&mut self, kind: ErrorKind, span: Range<usize>, dropped: Range<usize>, inner: &str) {
        if self.collects {
            let units = &self.units;
            self.notes.add(Some(dropped), || (kind, span, shortened(path(units) + inner)));
        }
    }

    pub(crate) fn record_repeat(&mut self, first: usize, again: usize) {
        if let Some(Redirect::Last(before)) = self.redirects.insert(first, Redirect::Last(again)) {
            self.lasts.remove(&before);
        }
        self.redirects.insert(again, Redirect::Skip);
        self.lasts.insert(again);
    }

    pub(crate) fn redirect(&self, start: usize) -> Option<Redirect> {
        if self.surveying { None } else { self.redirects.get(&start).copied() }
    }

    pub(crate) fn hint(&mut self, hint: Hint) {
        self.last_hint = Some(hint);
    }

    pub(crate) fn enter_row(&mut self, table: usize, cells: &[Token<'_>]) {
        if self.collects {
            self.row = Some((table, cells.iter().map(|cell| cell.start).collect()));
        }
    }

    /// Remembers what the type wanted of the cell that starts at `start`.
    pub(crate) fn blame(&mut self, start: usize) {
        if let (Some((table, cells)), Some(hint)) = (&self.row, self.last_hint)
            && let Some(leaf) = cells.iter().position(|cell| *cell == start)
        {
            self.hints.insert((*table, leaf), hint);
        }
    }
}

/// Returns keys and indices that lead to the innermost unit.
fn path(units: &[Unit<'_>]) -> String {
    let mut path = String::new();
    for unit in units {
        match &unit.segment {
            Segment::Index(index) => path.push_str(&format!("[{index}]")),
            Segment::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&key.unescape().unwrap_or_default());
            }
        }
        if path.len() > MAX_PATH {
            break;
        }
    }
    shortened(path)
}

impl<'de> Cursor<'de> {
    pub(crate) fn surveying(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.surveying)
    }

    /// Looks at the next line of a scope, or returns `None` where the scope
    /// ends. In recovery, text without a colon and outside every scope (such as
    /// a merge marker) is dropped here, so that it ends no scope.
    #[inline]
    pub(crate) fn peek_in(&mut self, floor: usize) -> Result<Option<Line>> {
        let Some(line) = self.peek()? else {
            return Ok(None);
        };
        if line.depth >= floor {
            return Ok(Some(line));
        }
        if self.repair.is_none() { Ok(None) } else { self.peek_past_junk(floor) }
    }

    #[cold]
    fn peek_past_junk(&mut self, floor: usize) -> Result<Option<Line>> {
        while let Some(line) = self.peek()? {
            if line.depth >= floor {
                return Ok(Some(line));
            }
            if !self.recovering() || self.is_item(line.start) || self.has_colon(line.start) {
                return Ok(None);
            }
            self.drop_lines(line, Error::at(ErrorKind::StrayLine, line.start), usize::MAX)?;
        }
        Ok(None)
    }

    fn has_colon(&self, start: usize) -> bool {
        let (end, _) = self.content_end(start);
        crate::text::find_unquoted(self.slice(start, end).as_bytes(), b':').is_some()
    }

    /// Drops a line and everything below it, keeping its text for the caller.
    #[cold]
    pub(crate) fn discard(&mut self, line: Line, fault: Error) -> Result<()> {
        self.drop_lines(line, fault, line.depth)
    }

    /// Drops one row; rows have nothing below them.
    #[cold]
    pub(crate) fn discard_row(&mut self, line: Line, fault: Error) -> Result<()> {
        self.drop_lines(line, fault, usize::MAX)
    }

    pub(super) fn drop_lines(&mut self, line: Line, fault: Error, depth: usize) -> Result<()> {
        let offset = if fault.has_position() { fault.offset() } else { line.start };
        let dropped = self.pass_over(line, depth)?;
        let span = offset..self.content_end(offset).0;
        if let Some(repair) = &mut self.repair {
            let inner = fault.inner_path();
            repair.note_dropped(fault.into_kind(), span, dropped, &inner);
        }
        Ok(())
    }

    /// Moves behind `line` and all following lines deeper than `depth`.
    fn pass_over(&mut self, line: Line, depth: usize) -> Result<Range<usize>> {
        let from = self.raw_start(line.start);
        self.take(line);
        self.skip_line(line.start)?;
        let mut to = self.pos();
        while let Some(next) = self.peek()? {
            if depth == usize::MAX || next.depth <= depth {
                break;
            }
            self.take(next);
            self.skip_line(next.start)?;
            to = self.pos();
        }
        Ok(from..to.min(self.text.len()))
    }

    /// Returns the start of the line if only indentation precedes `start`.
    fn raw_start(&self, start: usize) -> usize {
        let before = self.slice(0, start);
        before.trim_end_matches([' ', '\t']).len().max(before.rfind('\n').map_or(0, |at| at + 1)).min(start)
    }

    /// Drops a unit that an earlier attempt found broken.
    pub(crate) fn discard_broken(&mut self, line: Line) -> Result<bool> {
        self.drop_broken(line, line.depth)
    }

    pub(crate) fn discard_broken_row(&mut self, line: Line) -> Result<bool> {
        self.drop_broken(line, usize::MAX)
    }

    fn drop_broken(&mut self, line: Line, depth: usize) -> Result<bool> {
        let known = self.repair.as_ref().and_then(|repair| repair.broken.get(&line.start));
        let Some((kind, offset, path)) = known.cloned() else {
            return Ok(false);
        };
        let dropped = self.pass_over(line, depth)?;
        let span = offset..self.content_end(offset).0;
        if let Some(repair) = &mut self.repair {
            repair.notes.add(Some(dropped), || (kind, span, path));
        }
        Ok(true)
    }

    /// Notes the text of a repeated key whose value another one replaces.
    pub(crate) fn note_replaced(&mut self, key: Token<'de>, to: usize) {
        let from = self.raw_start(key.start);
        let Some(repair) = &mut self.repair else { return };
        if repair.collects && !repair.lasts.contains(&key.start) {
            let kind = ErrorKind::DuplicateKey { key: key.unescape().unwrap_or_default().into_owned() };
            let span = key.start..key.start + key.text.len();
            repair.note_dropped(kind, span, from..to.min(self.text.len()), "");
        }
    }

    pub(crate) fn open_unit_key(&mut self, key: Token<'de>) {
        if let Some(repair) = &mut self.repair {
            repair.units.push(Unit { start: key.start, segment: Segment::Key(key) });
        }
    }

    pub(crate) fn open_unit_index(&mut self, start: usize, index: usize) {
        if let Some(repair) = &mut self.repair {
            repair.units.push(Unit { start, segment: Segment::Index(index) });
        }
    }

    pub(crate) fn close_unit(&mut self) {
        if let Some(repair) = &mut self.repair {
            repair.units.pop();
        }
    }

    /// Checks what a field announces before the target type learns its key.
    #[cold]
    pub(crate) fn vet_value(&mut self, start: usize, mark: usize, depth: usize) -> Result<()> {
        self.key(start, mark).unescape()?;
        let place = self.mark();
        let notes = self.repair.as_ref().map(|repair| repair.notes.size()).unwrap_or_default();
        let node = self.value_node(mark, depth);
        self.restore(place);
        if let Some(repair) = &mut self.repair {
            repair.notes.shrink(notes);
        }
        match node? {
            Content::Token(token) => token.unescape().map(drop),
            _ => Ok(()),
        }
    }

    /// Checks width, quotes, escapes and known column types of a whole row.
    #[cold]
    pub(crate) fn vet_row(
        &mut self,
        header: &Header<'de>,
        columns: &Columns<'de>,
        start: usize,
    ) -> Result<()> {
        self.set_pos(start);
        let cells = self.row_cells(header.delimiter, columns.leaves)?;
        self.set_pos(start);
        for (leaf, cell) in cells.iter().enumerate() {
            cell.unescape()?;
            let hint = self.repair.as_ref().and_then(|repair| repair.hints.get(&(header.start, leaf)));
            if hint.is_some_and(|hint| !hint.accepts(*cell)) {
                let message = format!("{:?} does not fit the column", cell.text);
                return Err(Error::at(ErrorKind::Data { message }, cell.start));
            }
        }
        Ok(())
    }
}
