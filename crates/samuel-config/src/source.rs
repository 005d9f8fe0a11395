//! The text of a configuration file, and places in it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_model::Location;

/// Where in a file something is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file, as the caller named it.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

impl From<Origin> for Location {
    fn from(origin: Origin) -> Self {
        Self { file: origin.file, line: Some(origin.line), column: Some(origin.column) }
    }
}

/// A file's name and text. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    file: Arc<Path>,
    text: Arc<str>,
    /// The offset each line starts at.
    lines: Arc<[usize]>,
}

impl Source {
    /// Takes a file's text. A byte order mark is no part of it, because no
    /// editor counts it as a column.
    pub(crate) fn new(file: &Path, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let after_breaks = text.match_indices('\n').map(|(place, _)| place + 1);
        Self { file: file.into(), text: text.into(), lines: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// Returns the text without a byte order mark.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the place of a byte offset into the text; one past the end
    /// counts as the end.
    pub(crate) fn origin(&self, offset: usize) -> Origin {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..offset).unwrap_or_default().chars().count() + 1;
        Origin { file: self.file.to_path_buf(), line, column }
    }

    /// Returns the line a byte offset is in, without its line break.
    pub(crate) fn line_at(&self, offset: usize) -> &str {
        let line = self.origin(offset).line;
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::new(Path::new(""), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, offset: usize) -> (usize, usize) {
        let origin = Source::new(Path::new("f"), text).origin(offset);
        (origin.line, origin.column)
    }

    #[test]
    fn columns_count_characters_and_lines_end_at_either_break() {
        assert_eq!(place("a = 1\r\nb = 2\nc", 7), (2, 1));
        assert_eq!(place("x = \"日本\" # é", 12), (1, 9));
        assert_eq!(place("\u{feff}a = 1", 0), (1, 1));
        assert_eq!(place("", 0), (1, 1));
        assert_eq!(place("ab\n", 99), (2, 1));
        assert_eq!(place("é", 1), (1, 1), "inside a character is its start");
    }
}
