//! A plan of which only the rows in question are read.
//!
//! `samuel run done` changes one task of perhaps a thousand. An excerpt decodes
//! its row, those of the groups that it is in and of their parts, and no other, and of
//! the others takes only what a change needs to know: that none has the same id, how
//! many are completed, and what is a part of what. It asks for the form that Samuel
//! writes; any other text is read as a whole.

use std::path::Path;

use memchr::{memchr2, memchr3};

use super::{
    Document, codec,
    lines::Lines,
    task::{MARKS, QUESTION},
};
use samuel_model::{Groups, Status, TaskId};

/// What the tasks of a document are, where they are only some of the plan's.
#[derive(Debug)]
pub(crate) struct Excerpt {
    /// The rows they stand in, ascending, from 0.
    pub(super) rows: Vec<usize>,
    /// How many tasks were not read.
    pub(super) left_out: u64,
    /// How many of those are completed.
    pub(super) left_out_completed: u64,
    /// Whether a task that was not read has marks, so that their column stays.
    pub(super) has_marks: bool,
}

/// Reads the rows of some tasks, of the groups they are in with all parts of those, and
/// the first row, which shows the columns.
/// Returns nothing if the text has to be read as a whole.
pub(crate) fn read_excerpt(path: &Path, content: &[u8], ids: &[&TaskId]) -> Option<Document> {
    let text = Lines::find(str::from_utf8(content).ok()?)?;
    // Whether there is a column of questions depends on every row, and what becomes of claims on tasks that an excerpt
    // has not.
    let has_column = |name: &str| text.columns.split(['{', ',', '}']).any(|column| column == name);
    if has_column(QUESTION) || !text.columns.starts_with(COLUMNS_THAT_COUNT) || text.has_key("claims") {
        return None;
    }
    let heads: Vec<Head<'_>> = text.rows.iter().map(|row| head(row)).collect::<Option<_>>()?;
    let mut is_picked: Vec<bool> =
        heads.iter().map(|head| ids.iter().any(|asked| asked.as_str() == head.id)).collect();
    // An id that is not found may be there in another spelling.
    if is_picked.iter().filter(|is_picked| **is_picked).count() != ids.len() {
        return None;
    }
    pick_groups(&heads, &mut is_picked)?;
    let marks = text.columns.split(['{', ',', '}']).skip(1).position(|column| column == MARKS);
    let mut excerpt = Excerpt { rows: Vec::new(), left_out: 0, left_out_completed: 0, has_marks: false };
    let mut picked = Vec::new();
    for (index, ((row, head), is_picked)) in text.rows.iter().zip(&heads).zip(is_picked).enumerate() {
        if is_picked || index == 0 {
            excerpt.rows.push(index);
            picked.push(*row);
        } else {
            excerpt.left_out += 1;
            let cell = marks.map(|place| Cells { rest: row.get(2..).unwrap_or_default() }.nth(place));
            excerpt.has_marks |= cell.is_some_and(|cell| cell != Some("\"[]\""));
            excerpt.left_out_completed += u64::from(head.status == Status::Completed);
        }
    }
    // Without the last mark there is no column.
    if marks.is_some() && !excerpt.has_marks {
        return None;
    }
    let (mut document, diagnostics) = codec::decode(path, text.with_rows(&picked).as_bytes()).ok()?;
    document.excerpt = Some(excerpt);
    // Rows of other columns, or in another order, cannot stand beside those of a save.
    let first = codec::encode_tasks(&document, document.plan.tasks.first()).ok()?;
    let is_plain = diagnostics.is_empty() && Lines::find(&first)?.columns == text.columns;
    is_plain.then_some(document)
}

/// What tells one plan's text from another's.
pub(crate) struct Outline<'a> {
    /// The line of the project that says when the plan was made.
    pub(crate) created_at: &'a str,
    /// The ids of its tasks, in turn, as they are written.
    pub(crate) ids: Vec<&'a str>,
}

/// Reads the outline of a text; nothing where its form is not Samuel's.
pub(crate) fn outline(text: &str) -> Option<Outline<'_>> {
    let text = Lines::find(text)?;
    let created_at = text.before.lines().find(|line| line.trim_start().starts_with("created_at:"))?;
    let ids = text.rows.iter().map(|row| Cells { rest: row.get(2..)? }.next()).collect::<Option<_>>()?;
    Some(Outline { created_at, ids })
}

/// Picks the groups that the picked tasks are in, and all parts of every group that is
/// picked: where it stands follows from them. Returns nothing if some group stands
/// elsewhere, so that it is put right with the whole.
fn pick_groups(heads: &[Head<'_>], is_picked: &mut [bool]) -> Option<()> {
    let groups = Groups::among(heads.iter().map(|head| (head.id, head.parent)));
    if groups.is_empty() {
        return Some(());
    }
    let own = heads.iter().map(|head| head.status);
    if groups.statuses(own.clone()).into_iter().ne(own) {
        return None;
    }
    let mut has_parts_picked = vec![false; heads.len()];
    groups.mark_parts(is_picked);
    for place in groups.order().iter().rev() {
        let is_needed = is_picked.get(*place) == Some(&true) || has_parts_picked.get(*place) == Some(&true);
        if let Some(above) =
            groups.parent(*place).filter(|_| is_needed).and_then(|parent| has_parts_picked.get_mut(parent))
        {
            *above = true;
        }
    }
    for (place, _) in has_parts_picked.iter().enumerate().filter(|(_, has)| **has) {
        for place in groups.parts(place).iter().chain([&place]) {
            if let Some(is_picked) = is_picked.get_mut(*place) {
                *is_picked = true;
            }
        }
    }
    Some(())
}

/// The columns up to the last one that is read of every row.
const COLUMNS_THAT_COUNT: &str = "]{id,title,description,status,priority,complexity,parent_id,";

/// What is read of every row.
struct Head<'a> {
    id: &'a str,
    status: Status,
    parent: Option<&'a str>,
}

/// Reads it of a row; nothing if one of the cells is not plainly that.
fn head(row: &str) -> Option<Head<'_>> {
    let mut cells = Cells { rest: row.get(2..)? };
    let (id, status, parent) = (plain(cells.next()?)?, cells.nth(2)?.parse().ok()?, cells.nth(2)?);
    let parent = if parent == "null" { None } else { Some(plain(parent)?) };
    Some(Head { id, status, parent })
}

/// Reads an id. One with an escape or a space more may still be the one that is asked
/// for.
fn plain(cell: &str) -> Option<&str> {
    let id = cell.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(cell);
    TaskId::is_legal(id).then_some(id)
}

/// The cells of a row, as they stand there. They end at one that is partly
/// quoted.
struct Cells<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let end = if bytes.starts_with(b"\"") {
            closing_quote(bytes)? + 1
        } else {
            memchr3(b',', b'\n', b'"', bytes)?
        };
        let cell = self.rest.get(..end)?;
        self.rest = self.rest.get(end..)?.strip_prefix([',', '\n'])?;
        Some(cell)
    }
}

/// Returns the place of the quote that ends a text which begins with one.
fn closing_quote(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::{Mutation, plan_file::encode_changed};
    use samuel_model::{Mark, PLAN_VERSION, Plan, Task};

    const PATH: &str = "prd.toon";

    /// Four tasks, of which the second is completed.
    fn text() -> String {
        let mut tasks = ["1", "2", "3", "T-4"].map(|id| Task::new(TaskId::new(id), "a \"b\", c")).to_vec();
        tasks[1].status = Status::Completed;
        codec::encode(&Document::new(Plan { version: PLAN_VERSION.to_owned(), tasks, ..Plan::default() }))
            .unwrap()
    }

    fn read(text: &str, ids: &[&str]) -> Option<Document> {
        let ids: Vec<TaskId> = ids.iter().copied().map(TaskId::new).collect();
        read_excerpt(Path::new(PATH), text.as_bytes(), &ids.iter().collect::<Vec<_>>())
    }

    fn done(text: &str, id: &str) -> Option<String> {
        let mut document = read(text, &[id])?;
        let done = Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None };
        let change = document.apply(&done, jiff::Timestamp::UNIX_EPOCH).unwrap();
        Some(encode_changed(&document, Lines::find(text).unwrap(), &change).unwrap().concat())
    }

    #[test]
    fn only_the_first_row_and_those_asked_for_are_read() {
        let document = read(&text(), &["3"]).unwrap();
        let ids: Vec<&str> = document.plan.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((ids, document.row(1), document.task_count()), (vec!["1", "3"], 2, 4));
        assert_eq!(read(&text(), &["1"]).unwrap().plan.tasks.len(), 1);
        assert_eq!(read(&text(), &[]).unwrap().plan.tasks.len(), 1);
        assert_eq!(read(&text(), &["T-4", "2"]).unwrap().plan.tasks.len(), 3);
    }

    #[test]
    fn tasks_that_were_left_out_count() {
        let written = done(&text(), "3").unwrap();
        let (document, _) = codec::decode(Path::new(PATH), written.as_bytes()).unwrap();
        let progress = &document.plan.progress;
        assert_eq!((progress.total_tasks, progress.completed_tasks), (4, 2));
        assert_eq!(document.plan.count(Status::Completed), 2);
    }

    #[test]
    fn reads_excerpt_of_plan_with_marks() {
        let (mut document, _) = codec::decode(Path::new(PATH), text().as_bytes()).unwrap();
        document.plan_mut().tasks[1].marks = vec![Mark::Edit];
        let marked = codec::encode(&document).unwrap();
        let written = done(&marked, "3").unwrap();
        let (document, _) = codec::decode(Path::new(PATH), written.as_bytes()).unwrap();
        let marks: Vec<usize> = document.plan.tasks.iter().map(|task| task.marks.len()).collect();
        assert_eq!((marks, document.plan.count(Status::Completed)), (vec![0, 1, 0, 0], 2));
        assert!(read(&marked, &["2"]).is_none(), "without its mark there is no column");
    }

    #[test]
    fn an_excerpt_never_takes_the_place_of_the_plan() {
        let error = codec::encode(&read(&text(), &["3"]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "cannot encode plan: only some of its tasks were read");
    }

    #[test]
    fn what_stands_in_other_rows_and_columns_stays() {
        let text = text().replace("owner}", "owner,team}").replace(",null\n", ",null,me\n");
        // A cell that cannot be read: the whole plan would not have this row.
        let text = text.replace("pending,medium,medium,null,\"[]\"", "pending,urgent,medium,null,\"[]\"");
        let (first, rest) = text.split_once("\n  \"2\"").unwrap();
        let text = format!("{}\n  \"2\"{rest}", first.replace("urgent", "medium"));
        assert_eq!(done(&text, "3"), None, "the row itself");
        let text =
            text.replacen("\"3\",\"a \\\"b\\\", c\",\"\",pending,urgent", "\"3\",t,\"\",pending,low", 1);
        let written = done(&text, "3").unwrap();
        assert!(written.contains("\n  T-4,\"a \\\"b\\\", c\",\"\",pending,urgent,"), "{written}");
        assert!(written.contains("\n  \"3\",t,\"\",completed,low,"), "{written}");
        assert_eq!(written.matches(",me\n").count(), 4, "{written}");
    }

    #[test]
    fn a_column_whose_name_needs_quotes_is_read_with_the_whole() {
        let text = text().replace("owner}", "owner,due-date}").replace(",null\n", ",null,x\n");
        let (document, diagnostics) = codec::decode(Path::new(PATH), text.as_bytes()).unwrap();
        assert_eq!((document.other_columns(), diagnostics.len()), (&["due-date".to_owned()][..], 0));
        assert!(read(&text, &["3"]).is_none());
        assert!(read(&codec::encode(&document).unwrap(), &["3"]).is_some());
    }

    #[test]
    fn claims_are_read_with_the_whole_wherever_they_stand() {
        let (text, table) = (text(), "claims[1]{task,token}:\n  \"2\",1\n");
        let (head, rest) = text.split_once("tasks[4]").unwrap();
        for text in [format!("{head}{table}tasks[4]{rest}"), format!("{text}{table}")] {
            assert!(read(&text, &["3"]).is_none(), "{text}");
        }
    }

    #[test]
    fn a_plan_without_tasks_is_read_as_a_whole() {
        let text = text();
        let (head, rest) = text.split_once("tasks[4]").unwrap();
        let columns = rest.split_once('\n').unwrap().0;
        let text = format!("{head}tasks[0]{columns}\n");
        assert!(codec::decode(Path::new(PATH), text.as_bytes()).unwrap().1.is_empty());
        assert!(read(&text, &[]).is_none());
    }

    #[test]
    fn a_text_that_is_not_quite_as_samuel_writes_it_is_read_as_a_whole() {
        for (from, to) in [
            ("# toon v3\n", ""),
            ("\n  \"2\",", "\n  \"3\","),
            ("\n  \"2\",", "\n  \"\\u0033\","),
            ("\n  \"2\",", "\n  \"2\" ,"),
            ("\n  \"3\",", "\n  x,"),
            (",completed,", ",\"completed\","),
            (",completed,", ",finished,"),
            ("status,priority", "priority,status"),
            ("priority,complexity", "complexity,priority"),
            ("owner}", "due-date}"),
            ("\"\",completed,", "see \"x,completed\",pending,"),
            ("\"\",completed,", " \"x,completed\",pending,"),
            ("{id,title", "{title,id"),
            ("\n  \"2\",", "\n  # a comment\n  \"2\","),
            ("tasks[4]", "tasks[5]"),
            ("version: \"2\"", "version: \"9\""),
        ] {
            let text = text();
            assert!(text.contains(from), "{from}");
            assert!(read(&text.replacen(from, to, 1), &["3"]).is_none(), "{to:?} in the place of {from:?}");
        }
        assert!(read(&text(), &["9"]).is_none());
        assert!(read(&text(), &["3", "3"]).is_none());
    }
}
