//! What can go wrong, and where.
//!
//! An [`Error`] carries an [`ErrorKind`], the byte offset of the offending
//! text and the path of keys and indices that led there. Line and column are
//! computed from the offset once, when the error leaves the decoder, so that
//! parsing itself only counts bytes. Diagnostics of the recovery mode reuse
//! the same kinds and codes; see [`recover`](super::recover()).

use std::{error, fmt, io};

use serde::{de, ser};

/// The result of the codec's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An encoding or decoding failure with its position.
///
/// Positions describe the input of a decoder. An encoder has no input text, so
/// its errors report line, column and offset 0.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    position: Option<usize>,
    line: usize,
    column: usize,
    /// Innermost segment first, because it is filled while the stack unwinds.
    segments: Vec<Segment>,
    path: String,
    source: Option<io::Error>,
}

enum Segment {
    Key(String),
    Index(usize),
}

/// The cause of an [`Error`], or the subject of a recovery diagnostic.
///
/// Section numbers refer to the TOON specification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is well formed but does not fit the target type.
    Data {
        /// What the target type reported.
        message: String,
    },
    /// A value has no TOON form, such as a map key that is a sequence.
    Unsupported {
        /// What was given.
        what: &'static str,
    },
    /// A reader or writer failed; the cause is the error's source.
    Io,
    /// The bytes are not UTF-8 (section 4).
    InvalidUtf8,
    /// A quoted token has no closing quote on its line (section 7.1).
    UnterminatedString,
    /// A quoted token holds an escape outside the fixed set (section 7.1).
    InvalidEscape,
    /// Text follows the closing quote of a quoted token (section 7.4).
    AfterQuote,
    /// A line that must be a field has no unquoted colon (section 5.2).
    MissingColon,
    /// A line announces an array or a table but breaks the header grammar (section 6).
    MalformedHeader {
        /// The rule that was broken.
        reason: &'static str,
    },
    /// A header without a key stands where a key is required (section 6).
    MisplacedHeader,
    /// The declared length is not the number of values that follow (section 14.1).
    CountMismatch {
        /// The number in the header.
        declared: u64,
        /// The number of values found.
        found: u64,
    },
    /// A row has more or fewer cells than the header has leaf fields (section 14.1).
    WidthMismatch {
        /// Leaf fields of the header.
        fields: usize,
        /// Cells of the row.
        cells: usize,
    },
    /// Two fields of one object share a key (section 14.3).
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// Two fields of one header share a name (section 14.2).
    DuplicateField {
        /// The name.
        name: String,
    },
    /// A tab stands in the indentation (section 12).
    TabIndentation,
    /// The indentation is not a multiple of the indent size (section 12).
    UnevenIndentation {
        /// Leading spaces of the line.
        spaces: usize,
        /// Spaces of one level.
        indent_size: usize,
    },
    /// A line is deeper than any scope it could belong to (section 8).
    OverIndented {
        /// The depth at which a line could stand here.
        expected: usize,
        /// The depth of the line.
        found: usize,
    },
    /// A blank line interrupts rows, entries or items (section 12).
    BlankLine,
    /// A line inside an array is neither a row nor an item (section 9.3).
    StrayLine,
    /// Text follows a complete root value (section 5).
    TrailingContent,
    /// The input exceeds one of the [`Limits`](super::Limits).
    Limit {
        /// The limit that was reached.
        limit: LimitKind,
        /// Its value.
        maximum: usize,
    },
}

/// Names one member of [`Limits`](super::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// Nesting of objects and arrays.
    Depth,
    /// Length of the whole document.
    Bytes,
    /// Values of one array or entries of one object.
    Rows,
    /// Length of one line.
    LineLength,
    /// Columns of one table.
    Columns,
    /// Values of an array on one line.
    Cells,
    /// Bytes that recovery may decode again after a failure.
    Work,
}

impl ErrorKind {
    /// Returns the stable name of this kind, such as `width_mismatch`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Data { .. } => "data",
            Self::Unsupported { .. } => "unsupported",
            Self::Io => "io",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::UnterminatedString => "unterminated_string",
            Self::InvalidEscape => "invalid_escape",
            Self::AfterQuote => "after_quote",
            Self::MissingColon => "missing_colon",
            Self::MalformedHeader { .. } => "malformed_header",
            Self::MisplacedHeader => "misplaced_header",
            Self::CountMismatch { .. } => "count_mismatch",
            Self::WidthMismatch { .. } => "width_mismatch",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::DuplicateField { .. } => "duplicate_field",
            Self::TabIndentation => "tab_indentation",
            Self::UnevenIndentation { .. } => "uneven_indentation",
            Self::OverIndented { .. } => "over_indented",
            Self::BlankLine => "blank_line",
            Self::StrayLine => "stray_line",
            Self::TrailingContent => "trailing_content",
            Self::Limit { .. } => "limit",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data { message } => f.write_str(message),
            Self::Unsupported { what } => write!(f, "{what} has no TOON form"),
            Self::Io => f.write_str("reading or writing failed"),
            Self::InvalidUtf8 => f.write_str("bytes that are not UTF-8"),
            Self::UnterminatedString => f.write_str("a quoted token without its closing quote"),
            Self::InvalidEscape => f.write_str("an unknown or incomplete escape"),
            Self::AfterQuote => f.write_str("text after a closing quote"),
            Self::MissingColon => f.write_str("a field without a colon"),
            Self::MalformedHeader { reason } => write!(f, "malformed header: {reason}"),
            Self::MisplacedHeader => f.write_str("a header without a key in a place that needs one"),
            Self::CountMismatch { declared, found } => {
                let (values, verb) = (plural(*declared), if *found == 1 { "follows" } else { "follow" });
                write!(f, "the header declares {declared} value{values} but {found} {verb}")
            }
            Self::WidthMismatch { fields, cells } => {
                let (of_cells, of_fields) = (plural(*cells), plural(*fields));
                write!(f, "a row of {cells} cell{of_cells} under a header of {fields} field{of_fields}")
            }
            Self::DuplicateKey { key } => write!(f, "the key {key:?} appears twice"),
            Self::DuplicateField { name } => write!(f, "the header names {name:?} twice"),
            Self::TabIndentation => f.write_str("a tab in the indentation"),
            Self::UnevenIndentation { spaces, indent_size } => {
                write!(f, "{spaces} leading spaces are not a multiple of {indent_size}")
            }
            Self::OverIndented { expected, found } => {
                write!(f, "a line at depth {found} where depth {expected} is the deepest possible")
            }
            Self::BlankLine => f.write_str("a blank line inside an array or a table"),
            Self::StrayLine => f.write_str("a line that is neither a row nor an item"),
            Self::TrailingContent => f.write_str("text after the end of the document"),
            Self::Limit { limit, maximum } => write!(f, "more than {maximum} {limit}"),
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "levels of nesting",
            Self::Bytes => "bytes in the document",
            Self::Rows => "values in one array or object",
            Self::LineLength => "bytes in one line",
            Self::Columns => "columns in one table",
            Self::Cells => "values on one line",
            Self::Work => "bytes decoded again during recovery",
        })
    }
}

impl Error {
    pub(super) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            position: None,
            line: 0,
            column: 0,
            segments: Vec::new(),
            path: String::new(),
            source: None,
        }))
    }

    #[cold]
    pub(super) fn at(kind: ErrorKind, offset: usize) -> Self {
        let mut error = Self::new(kind);
        error.0.position = Some(offset);
        error
    }

    pub(super) fn io(source: io::Error) -> Self {
        let mut error = Self::new(ErrorKind::Io);
        error.0.source = Some(source);
        error
    }

    /// Returns what went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the line of the offending text, counted from 1, or 0 without a position.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// Returns the column in characters, counted from 1, or 0 without a position.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// Returns the byte offset from the start of the document.
    pub fn offset(&self) -> usize {
        self.0.position.unwrap_or(0)
    }

    /// Returns the keys and indices that lead to the failure, such as
    /// `tasks[3].title`; empty at the root.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns true when the failure came from a reader or writer.
    pub fn is_io(&self) -> bool {
        self.0.kind == ErrorKind::Io
    }

    pub(super) fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    pub(super) fn has_position(&self) -> bool {
        self.0.position.is_some()
    }

    #[cold]
    pub(super) fn or_at(mut self, offset: usize) -> Self {
        self.0.position.get_or_insert(offset);
        self
    }

    #[cold]
    pub(super) fn in_key(mut self, key: &str) -> Self {
        self.0.segments.push(Segment::Key(key.to_owned()));
        self
    }

    #[cold]
    pub(super) fn in_index(mut self, index: usize) -> Self {
        self.0.segments.push(Segment::Index(index));
        self
    }

    /// Computes line, column and path now that the error leaves the decoder.
    #[cold]
    pub(super) fn locate(mut self, source: &[u8]) -> Self {
        self.0.path = self.render_path();
        if let Some(offset) = self.0.position {
            (self.0.line, self.0.column) = position(source, offset);
        }
        self
    }

    /// Moves an error that was located in one line of a stream to its place in the whole.
    #[cold]
    pub(super) fn shifted(mut self, lines: usize, bytes: usize) -> Self {
        if let Some(offset) = &mut self.0.position {
            *offset += bytes;
            self.0.line += lines;
        }
        self
    }

    /// Returns the path within what was being read, as it follows a path to it.
    #[cold]
    pub(super) fn inner_path(&self) -> String {
        let path = self.render_path();
        if path.is_empty() || path.starts_with('[') { path } else { format!(".{path}") }
    }

    fn render_path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.segments.iter().rev() {
            match segment {
                Segment::Index(index) => {
                    path.push('[');
                    path.push_str(itoa::Buffer::new().format(*index));
                    path.push(']');
                }
                Segment::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        path
    }
}

/// Returns line and column, both from 1 and the column in characters, of a byte offset.
pub(super) fn position(source: &[u8], offset: usize) -> (usize, usize) {
    let before = source.get(..offset.min(source.len())).unwrap_or_default();
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let column = before.iter().skip(line_start).filter(|byte| (**byte & 0xC0) != 0x80).count() + 1;
    (line, column)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)?;
        if self.0.line > 0 {
            write!(f, " at line {} column {}", self.0.line, self.0.column)?;
        }
        if !self.0.path.is_empty() {
            write!(f, " in {}", self.0.path)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("line", &self.0.line)
            .field("column", &self.0.column)
            .field("offset", &self.offset())
            .field("path", &self.0.path)
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.0.source.as_ref().map(|cause| cause as _)
    }
}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Data { message: bounded(message.to_string()) })
    }
}

impl ser::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(ErrorKind::Data { message: bounded(message.to_string()) })
    }
}

/// How many characters of a message of serde are kept, before and behind what it
/// quotes from the text.
const KEPT: (usize, usize) = (300, 100);

/// Leaves out the middle of a message that quotes a long piece of the text.
fn bounded(message: String) -> String {
    let (before, behind) = KEPT;
    let start = message.char_indices().nth(before).map(|(at, _)| at);
    let end = message.char_indices().nth_back(behind).map(|(at, _)| at);
    match (start.and_then(|at| message.get(..at)), end.and_then(|at| message.get(at..))) {
        (Some(start), Some(end)) if start.len() + end.len() < message.len() => format!("{start}…{end}"),
        _ => message,
    }
}

/// Returns what ends a noun behind a count. The codec builds without the rest of
/// the crate, whose helper this is not.
fn plural(count: impl TryInto<u64>) -> &'static str {
    if count.try_into().is_ok_and(|count| count == 1) { "" } else { "s" }
}
