//! The rows of a plan as they stand in its file.
//!
//! A change touches a row or two. [`Lines`] finds the row of every task in the
//! text that was read, so that [`encode_changed`] writes those anew and leaves
//! the others as they are: a save costs little on a long plan, and its diff is
//! what changed. A text of another form than Samuel's has no [`Lines`] and is
//! written anew as a whole.

use std::{borrow::Cow, collections::HashSet};

use super::{Document, codec};
use crate::{StateError, TaskChange};
use samuel_model::{Groups, Task, TaskId};

/// A plan's text, taken apart at its table of tasks.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    pub(super) before: &'a str,
    /// What follows the number of tasks, such as `]{id,title}:`.
    pub(super) columns: &'a str,
    /// One for each task, each with its line end.
    pub(super) rows: Vec<&'a str>,
    after: &'a str,
}

impl<'a> Lines<'a> {
    /// Takes a text apart. Returns nothing if there are not as many rows as it
    /// says, or anything else stands between them, such as a comment.
    pub(crate) fn find(text: &'a str) -> Option<Self> {
        // A line end within a value is escaped: this is a line of its own.
        let (before, table) = text.split_at(text.find("\ntasks[")? + 1);
        let mut ends = memchr::memchr_iter(b'\n', table.as_bytes()).map(|feed| feed + 1);
        let mut start = ends.next()?;
        let declaration = table.get("tasks[".len()..start)?;
        let (tasks, columns) = declaration.split_at_checked(declaration.find(']')?)?;
        let tasks = tasks.parse().ok()?;
        let mut rows = Vec::new();
        for end in ends.take(tasks) {
            rows.push(table.get(start..end).filter(|row| is_row(row))?);
            start = end;
        }
        let after = table.get(start..)?;
        let is_whole = rows.len() == tasks && !after.starts_with([' ', '\t', '#', '\r', '\n']);
        is_whole.then_some(Self { before, columns, rows, after })
    }

    /// Says whether a key stands before or behind the rows.
    pub(super) fn has_key(&self, key: &str) -> bool {
        let is_it = |line: &str| {
            let rest = line.strip_prefix('"').unwrap_or(line).strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with(['[', ':', '"']))
        };
        self.before.lines().chain(self.after.lines()).any(is_it)
    }

    /// Returns the text with only some of its rows.
    pub(super) fn with_rows(&self, rows: &[&str]) -> String {
        let head = self.head(rows.len());
        [&[head.as_str()], rows, &[self.after]].concat().concat()
    }

    /// Returns what stands before the rows, if there are so many.
    fn head(&self, rows: usize) -> String {
        format!("{}tasks[{rows}{}", self.before, self.columns)
    }
}

/// A text in pieces, most of which stand in the text that was read.
pub(crate) type Pieces<'a> = Vec<Cow<'a, str>>;

fn is_row(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|cells| !cells.starts_with([' ', '\t', '#']))
        && line.ends_with('\n')
        && !line.ends_with("\r\n")
}

/// Writes a document that differs by one change from the text it was read
/// from. The first row is written anew in any case: it shows the columns.
///
/// # Errors
/// Returns [`StateError::Encode`].
pub(crate) fn encode_changed<'a>(
    document: &Document,
    read: Lines<'a>,
    change: &TaskChange,
) -> Result<Pieces<'a>, StateError> {
    let tasks = document.plan.tasks.iter().enumerate().map(|(index, task)| (document.row(index), task));
    let touched = touched(document, change);
    let is_new =
        |(row, task): &(usize, &Task)| *row == 0 || *row >= read.rows.len() || touched.contains(&task.id);
    let (places, changed): (Vec<usize>, Vec<&Task>) = tasks.filter(is_new).unzip();
    let text = codec::encode_tasks(document, changed)?;
    let new = Lines::find(&text).filter(|new| new.columns == read.columns);
    let total = places.last().map_or(0, |last| last + 1).max(read.rows.len());
    let Some(new) = new.filter(|_| total as u64 == document.task_count()) else {
        return Ok(vec![codec::encode(document)?.into()]);
    };
    let mut pieces = Pieces::with_capacity(total + 2);
    pieces.push(new.head(total).into());
    pieces.extend(read.rows.into_iter().map(Cow::Borrowed));
    for (place, row) in places.into_iter().zip(&new.rows) {
        let row = Cow::Owned((*row).to_owned());
        match pieces.get_mut(1 + place) {
            Some(old) => *old = row,
            None => pieces.push(row),
        }
    }
    pieces.push(new.after.to_owned().into());
    Ok(pieces)
}

/// Returns the tasks that a change touches, and the groups that they are in.
fn touched<'a>(document: &'a Document, change: &TaskChange) -> HashSet<&'a TaskId> {
    let tasks = &document.plan.tasks;
    let groups = Groups::of(tasks);
    let mut touched = HashSet::new();
    let places = tasks.iter().enumerate().filter(|(_, task)| change.touches(&task.id));
    for (place, _) in places {
        let above = std::iter::successors(Some(place), |place| groups.parent(*place));
        touched.extend(above.filter_map(|place| tasks.get(place)).map(|task| &task.id));
    }
    touched
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::path::Path;

    use super::*;
    use samuel_model::{PLAN_VERSION, Plan, Status};

    fn document() -> (Document, String) {
        let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        let document = Document::new(Plan { version: PLAN_VERSION.to_owned(), tasks, ..Plan::default() });
        let text = codec::encode(&document).unwrap();
        (document, text)
    }

    #[test]
    fn rows_that_do_not_change_stay_as_somebody_wrote_them() {
        let (_, text) = document();
        let text = text.replace("\n  \"2\",t,", "\n  \"2\" , \"t\" ,");
        let (mut document, diagnostics) = codec::decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
        assert_eq!((document.plan.tasks[1].title.as_str(), diagnostics), ("t", vec![]));
        let task = &mut document.plan_mut().tasks[2];
        let from = std::mem::replace(&mut task.status, Status::Skipped);
        let change = TaskChange::Task { id: task.id.clone(), from, to: task.status };
        let changed = encode_changed(&document, Lines::find(&text).unwrap(), &change).unwrap().concat();
        let row = "\n  \"3\",t,\"\",";
        assert_eq!(changed, text.replace(&format!("{row}pending"), &format!("{row}skipped")));
        assert_ne!(changed, text);
    }

    #[test]
    fn a_text_of_another_form_is_written_anew() {
        let (document, text) = document();
        for (from, to) in
            [("\n  \"2\"", "\n  # a comment\n  \"2\""), ("\n", "\r\n"), ("\nprogress", "\n\nprogress")]
        {
            assert!(Lines::find(&text.replace(from, to)).is_none(), "{to:?}");
        }
        assert!(Lines::find(&text.replace("tasks[3]", "tasks[4]")).is_none());
        assert!(Lines::find(&text.replace("tasks[3]", "tasks[2]")).is_none());
        let other = text.replace("title,description", "description,title");
        let read = Lines::find(&other).unwrap();
        assert_eq!(encode_changed(&document, read, &TaskChange::Progress).unwrap().concat(), text);
    }
}
