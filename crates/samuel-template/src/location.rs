//! Places in a template: [`TemplateLocation`], and the table that finds them.
//!
//! The other modules pass byte offsets around; only what a person reads is
//! turned into lines and columns, here.

use std::fmt;

/// A place in a template's source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TemplateLocation {
    /// The name the template was parsed under.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

impl fmt::Display for TemplateLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.template, self.line, self.column)
    }
}

/// A named source that can say where in it a byte offset is.
#[derive(Debug)]
pub(crate) struct Places {
    template: String,
    source: String,
    line_starts: Vec<usize>,
}

impl Places {
    pub(crate) fn new(template: &str, source: &str) -> Places {
        let after_newlines = source.match_indices('\n').map(|(at, _)| at + 1);
        Places {
            template: template.to_owned(),
            source: source.to_owned(),
            line_starts: std::iter::once(0).chain(after_newlines).collect(),
        }
    }

    pub(crate) fn template(&self) -> &str {
        &self.template
    }

    /// Finds the line and column of `offset`; one past the end is the end.
    pub(crate) fn locate(&self, offset: usize) -> TemplateLocation {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        let before = self.source.get(start..offset).or_else(|| self.source.get(start..)).unwrap_or("");
        TemplateLocation { template: self.template.clone(), line, column: before.chars().count() + 1 }
    }
}
