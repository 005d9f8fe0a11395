//! Rows of the table of tasks.

use serde::{
    Serialize,
    de::{Error, MapAccess},
    ser::{Error as _, SerializeMap},
};

use super::{
    cell::{ListCell, QuestionCell, Text},
    record::{Record, or_default, text},
};
use samuel_model::{MAX_OWNER_CHARS, Task, TaskId};
use samuel_toon::{Map, Value};

/// The columns of the table, in order.
pub(crate) const COLUMNS: [&str; 19] = [
    "id",
    "title",
    "description",
    "status",
    "priority",
    "complexity",
    "parent_id",
    "depends_on",
    "files_to_create",
    "files_to_modify",
    "guardrails",
    "acceptance",
    "source",
    "created_at",
    "completed_at",
    "commit_sha",
    "iteration",
    "skip_reason",
    "owner",
];

/// The column that a table has where a question was asked about one of its tasks, behind the others.
pub(crate) const QUESTION: &str = "question";

/// The column that a table has if the completion of one of its tasks has marks, behind that one.
pub(crate) const MARKS: &str = "marks";

/// Reads an id. Everything that tells of a task names it, so that one of any length
/// would go into every record.
fn id<'de, A: MapAccess<'de>>(map: &mut A) -> Result<TaskId, A::Error> {
    let Text(text) = map.next_value()?;
    text.parse().map_err(Error::custom)
}

/// Reads who works on a task: what is longer than a name is cut.
fn owner<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    Ok(text(map)?.map(|name| name.chars().take(MAX_OWNER_CHARS).collect()))
}

fn list<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<String>, A::Error> {
    map.next_value().map(|ListCell(items)| items)
}

impl Record for Task {
    const WHAT: &'static str = "a task";

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        match key {
            "id" => self.id = id(map)?,
            "title" => self.title = text(map)?.unwrap_or_default(),
            "description" => self.description = text(map)?.unwrap_or_default(),
            "status" => self.status = or_default(map)?,
            "priority" => self.priority = or_default(map)?,
            "complexity" => self.complexity = or_default(map)?,
            "parent_id" => self.parent_id = text(map)?.map(TaskId::new),
            "depends_on" => self.depends_on = list(map)?.into_iter().map(TaskId::new).collect(),
            "files_to_create" => self.files_to_create = list(map)?,
            "files_to_modify" => self.files_to_modify = list(map)?,
            "guardrails" => self.guardrails = list(map)?,
            "acceptance" => self.acceptance = list(map)?,
            "source" => self.source = or_default(map)?,
            "created_at" => self.created_at = map.next_value()?,
            "completed_at" => self.completed_at = map.next_value()?,
            "commit_sha" => self.commit_sha = text(map)?,
            "iteration" => self.iteration = map.next_value()?,
            "skip_reason" => self.skip_reason = text(map)?,
            "owner" => self.owner = owner(map)?,
            QUESTION => self.question = map.next_value::<QuestionCell>()?.0,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Writes the cells in the order of the columns.
    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let depends_on: Vec<&str> = self.depends_on.iter().map(TaskId::as_str).collect();
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("title", &self.title)?;
        map.serialize_entry("description", &self.description)?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("priority", &self.priority)?;
        map.serialize_entry("complexity", &self.complexity)?;
        map.serialize_entry("parent_id", &self.parent_id)?;
        map.serialize_entry("depends_on", &ListCell::to_text(&depends_on))?;
        map.serialize_entry("files_to_create", &ListCell::to_text(&self.files_to_create))?;
        map.serialize_entry("files_to_modify", &ListCell::to_text(&self.files_to_modify))?;
        map.serialize_entry("guardrails", &ListCell::to_text(&self.guardrails))?;
        map.serialize_entry("acceptance", &ListCell::to_text(&self.acceptance))?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("created_at", &self.created_at)?;
        map.serialize_entry("completed_at", &self.completed_at)?;
        map.serialize_entry("commit_sha", &self.commit_sha)?;
        map.serialize_entry("iteration", &self.iteration)?;
        map.serialize_entry("skip_reason", &self.skip_reason)?;
        map.serialize_entry("owner", &self.owner)
    }
}

/// Takes the marks of a task out of its other cells. A cell with anything else stays: it belongs to the user or to a
/// later version.
pub(super) fn take_marks(task: &mut Task, others: &mut Map) {
    let words = others.get(MARKS).and_then(|cell| samuel_toon::from_value::<ListCell>(cell.clone()).ok());
    let marks = words
        .and_then(|ListCell(words)| words.iter().map(|word| word.parse().ok()).collect::<Option<Vec<_>>>());
    if let Some(marks) = marks {
        task.marks = marks;
        others.remove(MARKS);
    }
}

/// A row to be written: the task, its question where the table has some, then the columns that are not
/// Samuel's.
pub(crate) struct RowOut<'a> {
    pub(crate) task: &'a Task,
    pub(crate) others: Option<&'a Map>,
    /// All those columns; every row must have each, or it is no table.
    pub(crate) columns: &'a [String],
    /// Whether the table has the column of questions.
    pub(crate) has_questions: bool,
    /// Whether the table has the column of marks, apart from those columns.
    pub(crate) has_marks: bool,
}

impl RowOut<'_> {
    fn marks(&self) -> String {
        let marks: Vec<&str> = self.task.marks.iter().map(|mark| mark.as_str()).collect();
        ListCell::to_text(&marks)
    }
}

impl Serialize for RowOut<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.task.put(&mut map)?;
        if self.has_questions {
            map.serialize_entry(QUESTION, &QuestionCell::to_text(self.task.question.as_ref()))?;
        }
        if self.has_marks {
            map.serialize_entry(MARKS, &self.marks())?;
        }
        for column in self.columns {
            let cell = self.others.and_then(|others| others.get(column));
            if column == MARKS && !self.task.marks.is_empty() {
                map.serialize_entry(MARKS, &self.marks())?;
                continue;
            }
            match cell.unwrap_or(&Value::Null) {
                nested @ (Value::Array(_) | Value::Object(_)) => {
                    let json = serde_json::to_string(nested).map_err(S::Error::custom)?;
                    map.serialize_entry(column, &json)?;
                }
                primitive => map.serialize_entry(column, primitive)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::path::Path;

    use super::*;
    use crate::{
        Mutation, StateDiagnostic,
        plan_file::{Document, codec, read_excerpt},
    };
    use samuel_model::{MAX_ID_CHARS, Mark, PLAN_VERSION, Plan, Question, Status};

    #[test]
    fn the_columns_are_those_that_are_written() {
        let task = Task::new(TaskId::new("1"), "t");
        let written = samuel_toon::to_value(&RowOut {
            task: &task,
            others: None,
            columns: &[],
            has_questions: false,
            has_marks: false,
        });
        let columns: Vec<String> = match written {
            Ok(Value::Object(row)) => row.keys().map(str::to_owned).collect(),
            other => vec![format!("{other:?}")],
        };
        assert_eq!(columns, COLUMNS);
    }

    /// Reads a plan of two tasks in progress of which somebody replaced something.
    fn edited(from: &str, to: &str, owner: &str) -> (Document, Vec<StateDiagnostic>) {
        let task = |id| Task {
            status: Status::InProgress,
            owner: Some(owner.to_owned()),
            ..Task::new(TaskId::new(id), "t")
        };
        let plan =
            Plan { version: PLAN_VERSION.to_owned(), tasks: vec![task("1"), task("T-2")], ..Plan::default() };
        let text = codec::encode(&Document::new(plan)).unwrap();
        assert!(text.contains(from), "{text}");
        codec::decode(Path::new("prd.toon"), text.replacen(from, to, 1).as_bytes()).unwrap()
    }

    #[test]
    fn a_row_whose_id_is_none_is_kept_as_text_and_told_in_few_words() {
        for id in ["A".repeat(MAX_ID_CHARS + 1), "A".repeat(5_000_000), "a b".to_owned(), "-a".to_owned()] {
            let (document, diagnostics) = edited("  T-2,", &format!("  {id},"), "me");
            let kept = document.unparsed.iter().any(|line| line.contains(&id));
            assert!(kept && document.plan.tasks.len() == 1, "{} characters", id.len());
            assert!(diagnostics.iter().all(|fault| fault.reason.len() < 500), "{} characters", id.len());
            assert!(diagnostics.iter().any(|fault| fault.reason.contains("cannot be a task id")));
        }
    }

    #[test]
    fn a_plan_without_questions_is_as_before_and_one_with_them_has_a_column_more() {
        let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        let plan = Plan { version: PLAN_VERSION.to_owned(), tasks, ..Plan::default() };
        let mut document = Document::new(plan);
        let reset = Mutation::Reset { id: TaskId::new("2") };
        for change in [&Mutation::Skip { id: TaskId::new("2"), reason: None }, &reset] {
            document.apply(change, jiff::Timestamp::UNIX_EPOCH).unwrap();
        }
        let before = codec::encode(&document).unwrap();
        assert!(!before.contains("question"), "{before}");
        let ask =
            Mutation::Ask { id: TaskId::new("2"), question: "a, \"b\"?".into(), options: vec!["c".into()] };
        document.apply(&ask, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let asked = codec::encode(&document).unwrap();
        assert!(asked.contains(",owner,question}"), "{asked}");
        let (mut read, faults) = codec::decode(Path::new("prd.toon"), asked.as_bytes()).unwrap();
        assert_eq!((&read.plan, faults), (&document.plan, vec![]));
        // Who does not know of the column keeps it like any other that is not his.
        assert!(read_excerpt(Path::new("prd.toon"), asked.as_bytes(), &[&TaskId::new("1")]).is_none());
        read.apply(&reset, jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(codec::encode(&read).unwrap(), before, "byte for byte");
    }

    #[test]
    fn a_plan_has_a_column_of_marks_while_a_task_has_some() {
        let marks = vec![Mark::NoChange, Mark::Edit];
        let marked = Task { status: Status::Completed, marks, ..Task::new(TaskId::new("1"), "t") };
        let tasks = vec![marked, Task::new(TaskId::new("2"), "t")];
        let plan = Plan { version: PLAN_VERSION.to_owned(), tasks, ..Plan::default() };
        let mut document = Document::new(plan);
        let text = codec::encode(&document).unwrap();
        assert!(text.contains(",owner,marks}"), "{text}");
        let (read, faults) = codec::decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
        assert_eq!((&read.plan, faults), (&document.plan, vec![]));
        let reset = Mutation::Reset { id: TaskId::new("1") };
        document.apply(&reset, jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert!(!codec::encode(&document).unwrap().contains("marks"));
    }

    #[test]
    fn keeps_other_words_in_column_of_marks() {
        let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        let plan = Plan { version: PLAN_VERSION.to_owned(), tasks, ..Plan::default() };
        let text = codec::encode(&Document::new(plan)).unwrap();
        let later = r#""[\"no-change\",\"later\"]""#;
        let text = text.replace(",owner}", ",owner,marks}").replacen(",null\n", ",null,urgent\n", 1);
        let text = text.replacen(",null\n", &format!(",null,{later}\n"), 1);
        let text = text.replacen(",null\n", ",null,\"[\\\"edit\\\"]\"\n", 1);
        let (document, faults) = codec::decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
        let marks: Vec<&[Mark]> = document.plan.tasks.iter().map(|task| &*task.marks).collect();
        assert_eq!((marks, faults), (vec![&[][..], &[], &[Mark::Edit]], vec![]));
        assert_eq!(codec::encode(&document).unwrap(), text, "byte for byte");
    }

    #[test]
    fn what_somebody_wrote_into_the_column_is_what_is_asked() {
        let task = Task { question: Some(Question::default()), ..Task::new(TaskId::new("1"), "t") };
        let plan = Plan { version: PLAN_VERSION.to_owned(), tasks: vec![task], ..Plan::default() };
        let text = codec::encode(&Document::new(plan)).unwrap();
        let cell = r#""{\"text\":\"\"}""#;
        assert!(text.contains(cell), "{text}");
        for (written, asked) in [("which one", "which one"), (r#""{no json""#, "{no json"), ("7", "7")] {
            let text = text.replace(cell, written);
            let (document, faults) = codec::decode(Path::new("prd.toon"), text.as_bytes()).unwrap();
            let question = document.plan.tasks.first().and_then(|task| task.question.as_ref());
            assert_eq!((question.map(|question| question.text.as_str()), faults), (Some(asked), vec![]));
        }
    }

    #[test]
    fn who_works_on_a_task_has_a_short_name_and_works_on_none_that_is_completed() {
        let (document, _) = edited("in_progress", "completed", &"x".repeat(5_000));
        let owners: Vec<_> =
            document.plan.tasks.iter().map(|task| task.owner.as_ref().map(String::len)).collect();
        assert_eq!(owners, [None, Some(MAX_OWNER_CHARS)]);
    }
}
