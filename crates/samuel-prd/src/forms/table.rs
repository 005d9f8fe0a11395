//! A table with a header row and a row for each task.

use std::ops::Range;

use crate::block::{Block, Row};
use crate::content::Content;
use crate::draft::{Reading, Reference};
use crate::error::PrdError;
use crate::form::{Confidence, Form, Reader};
use crate::line::Line;
use crate::section;
use crate::title::Title;
use crate::value;
use samuel_model::{Priority, Status};

pub(crate) struct Table;

impl Reader for Table {
    fn form(&self) -> Form {
        Form::Table
    }

    fn recognise(&self, content: &Content<'_>) -> Confidence {
        let shapes = &content.shapes;
        let sure = if shapes.boxes > 0 { Confidence(54) } else { Confidence(65) };
        sure.if_so(shapes.task_tables > 0, 30 * u8::from(shapes.tables > 0))
    }

    fn read(&self, reading: &mut Reading<'_, '_>, content: &Content<'_>) -> Result<(), PrdError> {
        for block in section::outside_other_checklists(&content.blocks) {
            if let Block::Table { rows, range } = block
                && let Some((header, rows)) = rows.split_first()
                && let Some(columns) = Columns::of(&header.cells)
            {
                take_head(reading, range, rows);
                for row in rows {
                    columns.read(reading, row)?;
                }
            }
        }
        Ok(())
    }
}

/// Marks the header and the line of dashes below it.
fn take_head(reading: &mut Reading<'_, '_>, table: &Range<usize>, rows: &[Row]) {
    let end = rows.first().map_or(table.end, |row| row.range.start);
    reading.take(&(table.start..end.saturating_sub(1).max(table.start)));
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    Id,
    Title,
    Status,
    Priority,
    Complexity,
    DependsOn,
    Files,
    Acceptance,
    Description,
    /// Anything else: a line of the description, under its name.
    Other(String),
}

impl Column {
    fn of(name: &str) -> Self {
        match name.to_lowercase().trim_end_matches(':') {
            "id" | "#" | "no" | "no." | "nr" | "nr." | "task id" | "number" => Self::Id,
            "task" | "tasks" | "title" | "name" | "story" | "user story" | "item" | "work item"
            | "feature" | "step" | "summary" | "what" => Self::Title,
            "status" | "state" | "done" | "done?" | "progress" => Self::Status,
            "priority" | "prio" => Self::Priority,
            "complexity" | "effort" | "size" => Self::Complexity,
            "depends on" | "dependencies" | "dependency" | "depends" | "blocked by" | "requires" => {
                Self::DependsOn
            }
            "file" | "files" => Self::Files,
            "acceptance" | "acceptance criteria" | "done when" => Self::Acceptance,
            "description" | "details" | "notes" => Self::Description,
            _ => Self::Other(name.to_owned()),
        }
    }
}

/// The columns of a table of tasks.
#[derive(Debug)]
struct Columns(Vec<Column>);

impl Columns {
    /// Reads a header; nothing unless it names a task and what else it has.
    fn of(header: &[Line]) -> Option<Self> {
        let mut columns: Vec<Column> = header.iter().map(|cell| Column::of(&cell.words())).collect();
        if !columns.contains(&Column::Title) && columns.contains(&Column::Id) {
            // A table of ids and descriptions has the latter as its titles.
            let description = columns.iter_mut().find(|column| **column == Column::Description)?;
            *description = Column::Title;
        }
        let is_known =
            |column: &&Column| !matches!(column, Column::Other(_) | Column::Title | Column::Description);
        (columns.contains(&Column::Title) && columns.iter().any(|column| is_known(&column)))
            .then_some(Self(columns))
    }

    fn read(&self, reading: &mut Reading<'_, '_>, row: &Row) -> Result<(), PrdError> {
        let cells: Vec<(&Column, &Line)> = self.0.iter().zip(&row.cells).collect();
        if cells.iter().all(|(_, cell)| cell.is_blank()) {
            return Ok(());
        }
        let cell = |column: &Column| cells.iter().find(|(at, _)| *at == column).map(|(_, cell)| *cell);
        let mut title = cell(&Column::Title).map(|cell| Title::of(cell, None)).unwrap_or_default();
        if let Some(id) = cell(&Column::Id).map(|cell| cell.words()).filter(|id| !id.is_empty()) {
            if title.id.take().is_some() {
                title.words = cell(&Column::Title).map(|cell| cell.title().text).unwrap_or_default();
            }
            title.id = Some(id.trim_matches(['[', ']', '#', '`', '.']).parse());
        }
        let draft = reading.add(title, row.range.start, None)?;
        reading.take(&row.range);
        for (column, cell) in cells.iter().filter(|(_, cell)| !cell.is_blank()) {
            fill(reading, draft, column, cell);
        }
        Ok(())
    }
}

fn fill(reading: &mut Reading<'_, '_>, index: usize, column: &Column, cell: &Line) {
    let words = cell.full();
    let place = reading.source.place(cell.start);
    let draft_status = status(&words);
    let priority = value::priority(value::first_word(&words));
    let complexity = value::complexity(value::first_word(&words));
    let references = value::references(&words);
    let Some(draft) = reading.draft(index) else { return };
    let mut lines: Vec<String> = Vec::new();
    match column {
        Column::Id | Column::Title => {}
        Column::Status => match draft_status {
            Some(status) => {
                draft.status = status;
                draft.skip_reason =
                    (status == Status::Skipped).then(|| format!("its status in the PRD is {words}"));
            }
            None => lines.push(format!("Status: {words}")),
        },
        Column::Priority => match priority.or_else(|| rank(&words)) {
            Some(priority) => draft.priority = priority,
            None => reading.warn_priority(place, &words),
        },
        Column::Complexity => match complexity {
            Some(complexity) => draft.complexity = complexity,
            None => lines.push(format!("Effort: {words}")),
        },
        Column::DependsOn => {
            lines.extend(references.unknown.into_iter().map(|text| format!("Depends on: {text}")));
            draft.depends_on.extend(references.ids.into_iter().map(|id| Reference { id, place }));
        }
        Column::Files => match value::files(cell) {
            Some(files) => draft.files_to_modify.extend(files.into_iter().map(|file| file.path)),
            None => lines.push(format!("Files: {words}")),
        },
        Column::Acceptance => draft.acceptance.push(words),
        Column::Description => lines.push(words),
        Column::Other(name) => lines.push(format!("{name}: {words}")),
    }
    if let Some(draft) = reading.draft(index).filter(|_| !lines.is_empty()) {
        if !draft.description.is_empty() {
            draft.description.push('\n');
        }
        draft.description.push_str(&lines.join("\n"));
    }
}

/// Reads where a task stands.
pub(super) fn status(text: &str) -> Option<Status> {
    let plain = text.to_lowercase();
    let plain =
        plain.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '✅' | '☑' | '✔' | '[' | ']'));
    Some(match plain.replace(['-', '_'], " ").as_str() {
        "done" | "complete" | "completed" | "finished" | "yes" | "closed" | "x" | "[x]" | "✅" | "☑"
        | "✔" | "✅ done" | "✅ complete" | "✅ completed" => Status::Completed,
        "in progress" | "doing" | "started" | "wip" | "active" | "review" | "in review" | "ongoing" => {
            Status::InProgress
        }
        "cancelled" | "canceled" | "skipped" | "dropped" | "deferred" | "wontfix" | "won't do"
        | "obsolete" => Status::Skipped,
        "blocked" => Status::Blocked,
        "" | "todo" | "to do" | "open" | "pending" | "not started" | "new" | "planned" | "no" | "[ ]"
        | "backlog" | "ready" | "draft" => Status::Pending,
        _ => return None,
    })
}

/// Reads a priority that is a number: 0 and 1 are the highest.
fn rank(text: &str) -> Option<Priority> {
    Some(match text.trim() {
        "0" => Priority::Critical,
        "1" => Priority::High,
        "2" => Priority::Medium,
        "3" | "4" | "5" => Priority::Low,
        _ => return None,
    })
}

/// Says whether the header of a table is one of tasks.
pub(crate) fn table_names_tasks(header: &[Line]) -> bool {
    Columns::of(header).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_in_the_words_that_tables_use() {
        assert_eq!(status("✅ Done"), Some(Status::Completed));
        assert_eq!(status("In-Progress"), Some(Status::InProgress));
        assert_eq!(status("🚧 in progress"), Some(Status::InProgress));
        assert_eq!(status("Cancelled"), Some(Status::Skipped));
        assert_eq!(status("⏳"), Some(Status::Pending));
        assert_eq!(status("50 %"), None);
    }
}
