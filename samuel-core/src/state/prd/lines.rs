//! The rows of a plan as they stand in its file.
//!
//! A change touches a row or two. [`Lines`] finds the row of every task in the
//! text that was read, so that [`encode_changed`] writes those anew and leaves
//! the others as they are: a save costs little on a long plan, and its diff is
//! what changed. A text of another form than Samuel's has no [`Lines`] and is
//! written anew as a whole.

use super::{Document, codec};
use crate::{
    model::Task,
    state::{Change, StateError},
};

/// A plan's text, taken apart at its table of tasks.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    before: &'a str,
    /// What follows the number of tasks, such as `]{id,title}:`.
    columns: &'a str,
    /// One for each task, each with its line end.
    rows: Vec<&'a str>,
    after: &'a str,
}

impl<'a> Lines<'a> {
    /// Takes a text apart that was read as so many tasks, and without a
    /// diagnostic. Returns nothing if anything else stands between the rows,
    /// such as a comment.
    pub(crate) fn find(text: &'a str, tasks: usize) -> Option<Self> {
        // A line end within a value is escaped: this is a line of its own.
        let (before, table) = text.split_at(text.find("\ntasks[")? + 1);
        let mut lines = table.split_inclusive('\n');
        let declaration = lines.next()?;
        let columns = declaration.strip_prefix("tasks[")?.strip_prefix(&tasks.to_string())?;
        let rows: Vec<&str> = lines.take(tasks).filter(|line| is_row(line)).collect();
        let length = declaration.len() + rows.iter().map(|row| row.len()).sum::<usize>();
        let after = table.get(length..)?;
        let ends = !after.starts_with([' ', '\t', '#', '\r', '\n']);
        (rows.len() == tasks && ends).then_some(Self { before, columns, rows, after })
    }
}

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
pub(crate) fn encode_changed(
    document: &Document,
    read: &Lines<'_>,
    change: &Change,
) -> Result<String, StateError> {
    let tasks = &document.plan.tasks;
    let is_new =
        |(index, task): &(usize, &Task)| *index == 0 || *index >= read.rows.len() || change.touches(&task.id);
    let (indices, changed): (Vec<usize>, Vec<&Task>) = tasks.iter().enumerate().filter(is_new).unzip();
    let text = codec::encode_tasks(document, &changed)?;
    let Some(new) = Lines::find(&text, changed.len()).filter(|new| new.columns == read.columns) else {
        return codec::encode(document);
    };
    let mut rows = read.rows.clone();
    rows.resize(tasks.len(), "");
    for (index, row) in indices.into_iter().zip(new.rows) {
        if let Some(old) = rows.get_mut(index) {
            *old = row;
        }
    }
    let declaration = format!("tasks[{}{}", tasks.len(), new.columns);
    let parts = [new.before, &declaration].into_iter().chain(rows).chain([new.after]);
    Ok(parts.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::path::Path;

    use super::*;
    use crate::model::{PLAN_VERSION, Plan, Status, TaskId};

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
        let change = Change::Task { id: task.id.clone(), from, to: task.status };
        let changed = encode_changed(&document, &Lines::find(&text, 3).unwrap(), &change).unwrap();
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
            assert!(Lines::find(&text.replace(from, to), 3).is_none(), "{to:?}");
        }
        assert!(Lines::find(&text, 2).is_none());
        let other = text.replace("title,description", "description,title");
        let read = Lines::find(&other, 3).unwrap();
        assert_eq!(encode_changed(&document, &read, &Change::Progress).unwrap(), text);
    }
}
