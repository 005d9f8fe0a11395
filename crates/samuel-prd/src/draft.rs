//! Drafts: tasks as a document has them, before ids are settled.
//!
//! Every form of a PRD produces [`Draft`]s; `resolve` turns them into tasks.
//! [`Reading`] is what they share while a document is read.

use std::ops::Range;

use super::error::{MAX_TASKS, PrdError};
use super::line::Line;
use super::remark::{RemarkKind, Remarks};
use super::source::{Place, Source};
use super::title::Title;
use samuel_model::{Complexity, InvalidTask, Priority, Status, TaskId};

/// A task as a document has it.
#[derive(Debug)]
pub(super) struct Draft {
    /// The id in front of the title, if there is one.
    pub(super) id: Option<Result<TaskId, InvalidTask>>,
    pub(super) title: String,
    pub(super) place: Place,
    /// The draft of which this one is a part, by its index.
    pub(super) parent: Option<usize>,
    /// Whether it depends on that one.
    pub(super) waits_for_parent: bool,
    pub(super) status: Status,
    pub(super) skip_reason: Option<String>,
    pub(super) priority: Priority,
    pub(super) complexity: Complexity,
    pub(super) description: String,
    pub(super) files_to_create: Vec<String>,
    pub(super) files_to_modify: Vec<String>,
    pub(super) guardrails: Vec<String>,
    pub(super) acceptance: Vec<String>,
    pub(super) depends_on: Vec<Reference>,
}

/// The tasks of a document so far. Boxed: one after the other is gone as it becomes a task.
pub(super) type Drafts = Vec<Box<Draft>>;

/// What became of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing yet; in the end, text of the PRD around its tasks.
    #[default]
    Text,
    /// A field of a task, or its description.
    Task,
    /// It is left out, and a remark says so.
    Remark,
}

/// A task that another one depends on, and where it says so.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) id: TaskId,
    pub(super) place: Place,
}

/// A document that is being read.
#[derive(Debug)]
pub(super) struct Reading<'s, 'a> {
    pub(super) source: &'s Source<'a>,
    pub(super) remarks: &'s mut Remarks,
    pub(super) drafts: Drafts,
    /// For each line, what became of it.
    uses: Vec<Use>,
}

impl<'s, 'a> Reading<'s, 'a> {
    /// Starts to read a document.
    pub(super) fn new(source: &'s Source<'a>, remarks: &'s mut Remarks) -> Self {
        Self { source, remarks, drafts: Vec::new(), uses: vec![Use::default(); source.line_count()] }
    }

    /// Adds a draft and returns its index.
    pub(super) fn add(
        &mut self,
        title: Title,
        start: usize,
        parent: Option<usize>,
    ) -> Result<usize, PrdError> {
        let place = self.source.place(start);
        if self.drafts.len() >= MAX_TASKS {
            return Err(PrdError::TooManyTasks { path: self.source.path.to_owned(), line: place.line });
        }
        let complexity = title.complexity.unwrap_or_else(|| Ok(Complexity::default()));
        let complexity = complexity.unwrap_or_else(|word| {
            self.warn_complexity(place, &word);
            Complexity::default()
        });
        let priority = title.priority.unwrap_or_else(|| Ok(Priority::default()));
        let priority = priority.unwrap_or_else(|word| {
            self.warn_priority(place, &word);
            Priority::default()
        });
        self.drafts.push(Box::new(Draft {
            id: title.id,
            title: title.words,
            place,
            parent,
            waits_for_parent: false,
            status: title.status,
            skip_reason: title.skip_reason,
            priority,
            complexity,
            description: String::new(),
            files_to_create: Vec::new(),
            files_to_modify: Vec::new(),
            guardrails: Vec::new(),
            acceptance: Vec::new(),
            depends_on: title.depends_on.into_iter().map(|id| Reference { id, place }).collect(),
        }));
        Ok(self.drafts.len() - 1)
    }

    /// Returns a draft, by its index.
    pub(super) fn draft(&mut self, index: usize) -> Option<&mut Draft> {
        self.drafts.get_mut(index).map(Box::as_mut)
    }

    /// Returns what became of a line, from 0.
    pub(super) fn line_use(&self, line: usize) -> Use {
        self.uses.get(line).copied().unwrap_or_default()
    }

    /// Returns what became of every line.
    pub(super) fn into_parts(self) -> (Drafts, Vec<Use>) {
        (self.drafts, self.uses)
    }

    /// Warns that something at an offset is left out.
    pub(super) fn leave_out(&mut self, kind: RemarkKind, start: usize, message: impl Into<String>) {
        let place = self.source.place(start);
        self.remarks.warn(kind, place, message);
        if let Some(line @ Use::Text) = self.uses.get_mut(place.line - 1) {
            *line = Use::Remark;
        }
    }

    /// Warns of a word that is no priority.
    pub(super) fn warn_priority(&mut self, place: Place, word: &str) {
        let message = format!("unknown priority \"{word}\", expected one of critical, high, medium, low");
        self.remarks.warn(RemarkKind::UnknownPriority, place, message);
    }

    /// Warns of a word that is no complexity.
    pub(super) fn warn_complexity(&mut self, place: Place, word: &str) {
        let message = format!("unknown complexity \"{word}\", expected one of simple, medium, complex");
        self.remarks.warn(RemarkKind::UnknownComplexity, place, message);
    }

    /// Marks the lines of a range: they belong to no description.
    pub(super) fn take(&mut self, range: &Range<usize>) {
        for line in self.source.line_range(range) {
            self.take_line(line);
        }
    }

    /// Marks the line that a line of text is on.
    pub(super) fn take_text(&mut self, line: &Line) {
        self.take_line(self.source.line_index(line.start));
    }

    /// Returns what is left of some lines, from 0, and marks them.
    ///
    /// `indented` strips the indentation that all of them have.
    pub(super) fn take_rest(&mut self, lines: Range<usize>, indented: bool) -> String {
        let mut kept: Vec<&str> = Vec::new();
        let mut gap = true;
        for index in lines {
            let line = self.source.line(index);
            if self.line_use(index) != Use::Text {
                gap = true;
            } else if line.trim().is_empty() && gap && kept.last().is_none_or(|last| last.trim().is_empty()) {
                // A field was cut out here; one blank line around it is enough.
            } else {
                gap = false;
                kept.push(line);
            }
            self.take_line(index);
        }
        while kept.last().is_some_and(|line| line.trim().is_empty()) {
            kept.pop();
        }
        let margin = if indented { margin(&kept) } else { 0 };
        let mut text = match margin {
            0 => kept.join("\n"),
            _ => kept.iter().map(|line| without_margin(line, margin)).collect::<Vec<_>>().join("\n"),
        };
        text.truncate(text.trim_end().len());
        text
    }

    fn take_line(&mut self, index: usize) {
        if let Some(line @ Use::Text) = self.uses.get_mut(index) {
            *line = Use::Task;
        }
    }
}

/// Returns the columns of white space that every line starts with.
fn margin(lines: &[&str]) -> usize {
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    written.map(|line| indentation(line)).min().unwrap_or(0)
}

fn indentation(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns = next_tab_stop(columns),
            _ => break,
        }
    }
    columns
}

/// Strips columns of white space; a tab that reaches beyond becomes spaces.
fn without_margin(line: &str, margin: usize) -> String {
    let mut columns = 0;
    let mut rest = line;
    while columns < margin {
        if let Some(behind) = rest.strip_prefix(' ') {
            (columns, rest) = (columns + 1, behind);
        } else if let Some(behind) = rest.strip_prefix('\t') {
            (columns, rest) = (next_tab_stop(columns), behind);
        } else {
            break;
        }
    }
    format!("{}{rest}", " ".repeat(columns.saturating_sub(margin)))
}

/// Markdown's tab stops are four columns apart.
fn next_tab_stop(columns: usize) -> usize {
    (columns / 4 + 1) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_stripped_in_columns_not_characters() {
        let lines = ["\tone", "    two", "", "      three"];
        assert_eq!(margin(&lines), 4);
        assert_eq!(without_margin("\tone", 4), "one");
        assert_eq!(without_margin("      three", 4), "  three");
        assert_eq!(without_margin("\tone", 2), "  one");
    }
}
