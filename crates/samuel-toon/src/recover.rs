//! Decoding that loses nothing: a value, what was wrong, and what was left out.
//!
//! [`recover()`] is the third mode beside strict and non-strict. It never gives
//! up a document for one line: it reads over what the non-strict recoveries
//! allow and more, leaves out the smallest unit that cannot be read (a row, an
//! item, a field), and keeps its text. The mechanics are in
//! [`repair`](super::de::repair); this file turns their notes into
//! [`Diagnostic`]s and [`Skipped`] text with lines and columns.

use std::{borrow::Cow, fmt, ops::Range, str};

use serde::{
    Serialize, Serializer,
    de::{DeserializeOwned, IgnoredAny},
    ser::SerializeStruct,
};

use super::{
    de::{
        cursor::Cursor,
        repair::{Note, Notes, Repair, shortened},
    },
    error::{Error, ErrorKind, LimitKind, position},
    options::{DecodeOptions, NumberText},
};

/// What [`recover()`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered<T> {
    /// The value, or `None` when nothing of the type could be read: a required
    /// field of the root is missing or unreadable, or a limit was reached.
    pub value: Option<T>,
    /// What was wrong, in the order of the text; as many faults as
    /// [`Limits::diagnostics`](super::Limits::diagnostics) says.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more faults there are.
    pub more: usize,
    /// The text the value does without, in the order of the text.
    pub skipped: Vec<Skipped>,
}

impl<T> Recovered<T> {
    /// Returns true when the text was valid in strict mode.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// One fault and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The fault.
    pub kind: ErrorKind,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The offending bytes of the document.
    pub span: Range<usize>,
    /// Keys and indices of the document, such as `tasks[3].title`.
    pub path: String,
    /// What was done.
    pub action: Action,
}

impl Diagnostic {
    /// Returns the stable name of the fault, such as `width_mismatch`.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }
}

/// Line, column, code and words, and the path where there is one.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.code(), self.kind)?;
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        Ok(())
    }
}

/// An object of `code`, `message`, `line`, `column`, `span` (`start` and
/// `end`), `path` and `action`.
impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Diagnostic", 7)?;
        object.serialize_field("code", self.code())?;
        object.serialize_field("message", &self.kind.to_string())?;
        object.serialize_field("line", &self.line)?;
        object.serialize_field("column", &self.column)?;
        object.serialize_field("span", &self.span)?;
        object.serialize_field("path", &self.path)?;
        object.serialize_field("action", &self.action)?;
        object.end()
    }
}

/// What recovery did about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// The text was read all the same and its data is in the value.
    Kept,
    /// The text is in [`Recovered::skipped`].
    Skipped,
    /// Decoding ended here without a value.
    Stopped,
}

/// Text that the value does without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The first line, from 1.
    pub line: usize,
    /// The bytes of the document.
    pub span: Range<usize>,
    /// The text as it stood, with its indentation, without its last line end.
    /// Bytes that are not UTF-8 appear as U+FFFD.
    pub raw: String,
    /// The exact bytes, where they are not UTF-8.
    pub bytes: Option<Vec<u8>>,
}

/// Reads whatever can be read of a document.
///
/// Numbers keep their spelling in [`Value`](super::Value)s (see [`NumberText`]),
/// so that unknown keys and columns, for example below `#[serde(flatten)]`,
/// survive a rewrite.
///
/// ```
/// # #[derive(serde::Deserialize)] struct Task { id: String, iteration: u64 }
/// # #[derive(serde::Deserialize)] struct Plan { tasks: Vec<Task> }
/// let text = "tasks[3]{id,iteration}:\n  1,4\n  2,soon\n  3,6";
/// let plan = samuel_toon::recover::<Plan>(text);
/// assert_eq!(plan.skipped[0].raw, "  2,soon");
/// assert_eq!(plan.diagnostics[0].path, "tasks[1].iteration");
/// let tasks = plan.value.unwrap().tasks;
/// assert_eq!((tasks.len(), tasks[1].id.as_str(), tasks[1].iteration), (2, "3", 6));
/// # assert_eq!(tasks[0].id, "1");
/// ```
///
/// A fault that only the type can find, and that its siblings do not share,
/// makes the document be decoded once more; [`LimitKind::Work`] bounds that.
pub fn recover<T: DeserializeOwned>(text: &str) -> Recovered<T> {
    let options = DecodeOptions { numbers: NumberText::AsWritten, ..DecodeOptions::default() };
    recover_with(text.as_bytes(), options)
}

/// Reads whatever can be read of bytes that may not be UTF-8, with options.
///
/// [`DecodeOptions::strict`] has no meaning here.
pub fn recover_with<T: DeserializeOwned>(bytes: &[u8], options: DecodeOptions) -> Recovered<T> {
    let strict = DecodeOptions { strict: true, ..options };
    if let Ok(value) = super::from_slice_with(bytes, strict) {
        return Recovered { value: Some(value), diagnostics: Vec::new(), more: 0, skipped: Vec::new() };
    }
    let lines = BadLines::find(bytes);
    let masked = lines.mask(bytes);
    // The mask replaced every line that was not UTF-8.
    let text = str::from_utf8(&masked).unwrap_or_default();
    let lenient = DecodeOptions { strict: false, ..options };
    let (value, mut notes, stop) = attempt(text, lenient);
    lines.note(&mut notes);
    report(bytes, value, notes, stop, options.limits.diagnostics)
}

/// Lists what strict mode would refuse, not only the first fault.
///
/// ```
/// let found = samuel_toon::check(b"a: 1\na: 2\nb", Default::default());
/// let codes: Vec<&str> = found.diagnostics.iter().map(|fault| fault.code()).collect();
/// assert_eq!((codes, found.more), (vec!["duplicate_key", "missing_colon"], 0));
/// ```
pub fn check(bytes: &[u8], options: DecodeOptions) -> Recovered<IgnoredAny> {
    recover_with(bytes, options)
}

/// Bytes that may be decoded again in one recovery, beyond the first passes.
const MAX_WORK: usize = 1 << 28;

/// Decodes until nothing breaks any more. The last note is what ended it
/// without a value.
fn attempt<T: DeserializeOwned>(text: &str, options: DecodeOptions) -> (Option<T>, Notes, Option<Note>) {
    let mut cursor = match Cursor::new(text, options) {
        Ok(cursor) => cursor,
        Err(error) => return (None, Notes::default(), Some(stop(&error))),
    };
    cursor.repair = Some(Box::new(Repair::recovery(options.limits.diagnostics)));
    let mut work = 0;
    let surveyed =
        passes(&mut cursor, &mut work, |cursor| cursor.document(std::marker::PhantomData::<IgnoredAny>));
    let outcome = surveyed.and_then(|_| {
        if let Some(repair) = &mut cursor.repair {
            repair.decode();
        }
        passes(&mut cursor, &mut work, |cursor| cursor.document(std::marker::PhantomData::<T>))
    });
    let notes = cursor.repair.take().map(|repair| repair.into_notes()).unwrap_or_default();
    match outcome {
        Ok(value) => (Some(value), notes, None),
        Err(error) => (None, notes, Some(stop(&error))),
    }
}

/// Repeats a pass, each time without the unit that failed in the last.
fn passes<'de, T>(
    cursor: &mut Cursor<'de>,
    work: &mut usize,
    mut pass: impl FnMut(&mut Cursor<'de>) -> super::Result<T>,
) -> super::Result<T> {
    loop {
        cursor.rewind();
        if let Some(repair) = &mut cursor.repair {
            repair.begin_pass();
        }
        let error = match pass(cursor) {
            Ok(value) => return Ok(value),
            Err(error) => error.locate(&[]),
        };
        *work += cursor.pos().max(1);
        if *work > MAX_WORK {
            return Err(super::de::cursor::limit(LimitKind::Work, MAX_WORK, error.offset()));
        }
        let fatal = matches!(error.kind(), ErrorKind::Limit { .. });
        if fatal || !cursor.repair.as_mut().is_some_and(|repair| repair.give_up_unit(&error)) {
            return Err(error);
        }
    }
}

fn stop(error: &Error) -> Note {
    let offset = error.offset();
    let path = shortened(error.path().to_owned());
    Note { kind: error.kind().clone(), span: offset..offset, path, is_dropped: false }
}

/// Lines that are not UTF-8, each with its first byte that is not; they are
/// read as comments of the same length.
struct BadLines(Vec<(Range<usize>, usize)>);

impl BadLines {
    fn find(bytes: &[u8]) -> Self {
        let mut bad = Vec::new();
        let mut start = 0;
        if str::from_utf8(bytes).is_err() {
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let content = line.strip_suffix(b"\n").unwrap_or(line);
                if let Err(error) = str::from_utf8(content) {
                    bad.push((start..start + content.len(), start + error.valid_up_to()));
                }
                start += line.len();
            }
        }
        Self(bad)
    }

    fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut masked = Cow::Borrowed(bytes);
        for (span, _) in &self.0 {
            if let Some(line) = masked.to_mut().get_mut(span.clone()) {
                line.fill(b'#');
            }
        }
        masked
    }

    fn note(self, notes: &mut Notes) {
        for (line, at) in self.0 {
            let span = at..line.end;
            notes.add(Some(line), || (ErrorKind::InvalidUtf8, span, String::new()));
        }
    }
}

/// Counts lines while offsets are asked for that ascend.
struct Places<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'a> Places<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1, line_start: 0 }
    }

    /// Returns the line of a byte offset.
    fn line(&mut self, offset: usize) -> usize {
        let passed = self.bytes.get(self.at..offset.min(self.bytes.len())).unwrap_or_default();
        for feed in memchr::memchr_iter(b'\n', passed) {
            self.line += 1;
            self.line_start = self.at + feed + 1;
        }
        self.at += passed.len();
        self.line
    }

    /// Returns line and column of a byte offset.
    fn place(&mut self, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let (_, column) =
            position(self.bytes.get(self.line_start..).unwrap_or_default(), self.at - self.line_start);
        (line, column)
    }
}

/// Gives the notes their lines and columns; of more than `most`, the first.
fn report<T>(bytes: &[u8], value: Option<T>, notes: Notes, stop: Option<Note>, most: usize) -> Recovered<T> {
    let Notes { kept: mut faults, mut more, mut dropped, .. } = notes;
    faults.sort_by_key(|note| note.span.start);
    // What ended the reading is told in any case.
    let others = most.saturating_sub(usize::from(stop.is_some()));
    more += faults.len().saturating_sub(others);
    faults.truncate(others);
    faults.extend(stop);
    faults.sort_by_key(|note| note.span.start);
    dropped.sort_by_key(|span| span.start);
    let mut lines = Places::new(bytes);
    let skipped = dropped.into_iter().filter_map(|span| cut(&mut lines, span)).collect();
    let stopped = value.is_none();
    let mut lines = Places::new(bytes);
    let diagnostics = faults.into_iter().map(|note| {
        let (line, column) = lines.place(note.span.start);
        let action = match note.is_dropped {
            true => Action::Skipped,
            false if stopped && !readable(&note.kind) => Action::Stopped,
            false => Action::Kept,
        };
        Diagnostic { kind: note.kind, line, column, span: note.span, path: note.path, action }
    });
    Recovered { value, diagnostics: diagnostics.collect(), more, skipped }
}

/// Faults that recovery reads over.
fn readable(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::CountMismatch { .. }
            | ErrorKind::TabIndentation
            | ErrorKind::UnevenIndentation { .. }
            | ErrorKind::OverIndented { .. }
            | ErrorKind::BlankLine
            | ErrorKind::MalformedHeader { .. }
            | ErrorKind::DuplicateField { .. }
    )
}

fn cut(lines: &mut Places<'_>, span: Range<usize>) -> Option<Skipped> {
    let raw = lines.bytes.get(span.clone())?;
    let raw = raw.strip_suffix(b"\n").unwrap_or(raw);
    let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
    Some(Skipped {
        line: lines.line(span.start),
        span: span.start..span.start + raw.len(),
        raw: String::from_utf8_lossy(raw).into_owned(),
        bytes: str::from_utf8(raw).is_err().then(|| raw.to_vec()),
    })
}
