//! A document's text, and where in it something is.
//!
//! A [`Document`] is what the caller read. `Source` is the view on it that the
//! parsers share: without a byte order mark and front matter, and with an
//! index that turns offsets into lines.

use std::{
    cell::Cell,
    ops::Range,
    path::{Path, PathBuf},
};

use super::error::{BYTES_PER_MARK, MAX_INPUT_BYTES, MAX_MARKS, PrdError};

/// A Markdown file as the caller read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Where it was read from; names it in remarks.
    pub path: PathBuf,
    /// The text, with `\n` or `\r\n`, with or without a byte order mark.
    pub text: String,
}

impl Document {
    /// Creates a document.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Creates a document of what was read.
    ///
    /// # Errors
    /// Returns [`PrdError::Encoding`] for what is not UTF-8.
    pub fn from_bytes(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Result<Self, PrdError> {
        let path = path.into();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text }),
            Err(error) => {
                let (bytes, at) = (error.as_bytes(), error.utf8_error().valid_up_to());
                let before = bytes.get(..at).unwrap_or_default();
                let line = memchr::memchr_iter(b'\n', before).count() + 1;
                let found = match bytes {
                    [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16".to_owned(),
                    _ => format!("the byte {:#04x}", bytes.get(at).copied().unwrap_or_default()),
                };
                Err(PrdError::Encoding { path, line, found })
            }
        }
    }
}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    /// The start of a document.
    pub(super) const START: Place = Place { line: 1, column: 1 };
}

/// A document with an index of its lines.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// Where it was read from.
    pub(super) path: &'a Path,
    /// The text without a byte order mark.
    pub(super) text: &'a str,
    /// Where the Markdown starts, behind any front matter.
    pub(super) body_start: usize,
    /// The offset at which each line starts; never empty.
    line_starts: Vec<usize>,
    /// The line that was asked for last. The next one is mostly near.
    last: Cell<usize>,
}

/// How many lines from the last one on are looked at one by one.
const NEAR: usize = 8;

impl<'a> Source<'a> {
    /// Indexes a document.
    pub(super) fn new(document: &'a Document) -> Result<Self, PrdError> {
        if document.text.len() > MAX_INPUT_BYTES {
            let (path, bytes) = (document.path.clone(), document.text.len());
            return Err(PrdError::TooLarge { path, bytes });
        }
        let text = document.text.strip_prefix('\u{feff}').unwrap_or(&document.text);
        if let Some(at) = text.find('\0') {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            return Err(PrdError::Nul { path: document.path.clone(), line });
        }
        if is_html(text) {
            return Err(PrdError::Html { path: document.path.clone() });
        }
        let bytes = text.as_bytes();
        let marks = memchr::memchr3_iter(b'*', b'_', b'[', bytes)
            .chain(memchr::memchr3_iter(b'~', b'<', b'&', bytes));
        let marks = marks.count();
        if marks > MAX_MARKS + text.len() / BYTES_PER_MARK {
            return Err(PrdError::TooManyMarks { path: document.path.clone(), marks });
        }
        let starts = memchr::memchr_iter(b'\n', bytes).map(|end| end + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        let body_start = front_matter_len(text);
        Ok(Self { path: &document.path, text, body_start, line_starts, last: Cell::new(0) })
    }

    /// Returns the line of an offset, from 0.
    pub(super) fn line_index(&self, offset: usize) -> usize {
        let last = Some(self.last.get()).filter(|last| self.line_start(*last) <= offset).unwrap_or_default();
        let ahead = self.line_starts.get(last..).unwrap_or_default();
        let near = ahead.iter().take(NEAR).position(|start| *start > offset);
        let count = near.unwrap_or_else(|| ahead.partition_point(|start| *start <= offset));
        let index = (last + count).saturating_sub(1);
        self.last.set(index);
        index
    }

    /// Returns the lines that a range of the text touches, from 0.
    pub(super) fn line_range(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.line_index(range.start);
        let last = self.line_index(range.end.saturating_sub(1).max(range.start));
        first..last + 1
    }

    /// Returns the place of an offset.
    pub(super) fn place(&self, offset: usize) -> Place {
        let index = self.line_index(offset);
        let start = self.line_starts.get(index).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { line: index + 1, column: before.chars().count() + 1 }
    }

    /// Returns a line, from 0, without its end.
    pub(super) fn line(&self, index: usize) -> &'a str {
        let start = self.line_start(index);
        let end = self.line_starts.get(index + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// Returns the offset of a line, from 0.
    pub(super) fn line_start(&self, index: usize) -> usize {
        self.line_starts.get(index).copied().unwrap_or(self.text.len())
    }

    /// Returns how many lines there are, at least one.
    pub(super) fn line_count(&self) -> usize {
        self.line_starts.len()
    }
}

/// Says whether a text is a page of the web.
fn is_html(text: &str) -> bool {
    let start = text.trim_start().as_bytes();
    let starts_with =
        |word: &str| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    starts_with("<!doctype html") || starts_with("<html")
}

/// Returns how many bytes of front matter open a text.
///
/// Front matter starts on the first line, with `---` and a key below it: a
/// document that opens with a thematic break has none.
fn front_matter_len(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some("---") {
        return 0;
    }
    let mut len = text.find('\n').map_or(text.len(), |at| at + 1);
    for (index, line) in lines.enumerate() {
        len += line.len();
        if index == 0 && !opens_with_key(line) {
            return 0;
        }
        if matches!(line.trim_end(), "---" | "...") {
            return len;
        }
    }
    0
}

fn opens_with_key(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let document = Document::new("a.md", "\u{feff}one\r\nzwei ö x\r\n");
        let source = Source::new(&document).unwrap();

        let at = source.text.find('x').unwrap();

        assert_eq!(source.place(at), Place { line: 2, column: 8 });
        assert_eq!(source.place(3), Place { line: 1, column: 4 });
        assert_eq!(source.line(1), "zwei ö x");
        assert_eq!(source.line_count(), 3);
    }

    #[test]
    fn front_matter_is_told_from_a_thematic_break() {
        assert_eq!(front_matter_len("---\ntitle: x\n---\n# A\n"), 17);
        assert_eq!(front_matter_len("---\n\n# A: b\n\n---\n"), 0);
        assert_eq!(front_matter_len("---\ntitle: never closed\n"), 0);
    }
}
