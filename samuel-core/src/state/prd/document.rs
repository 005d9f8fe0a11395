//! A plan and everything else that stands in its file.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
    ser::SerializeMap,
};

use super::{
    record::{Joined, Split, or_default, text},
    task::{Row, RowOut},
};
use crate::{
    model::{PLAN_VERSION, Plan, Progress, Project, Task, TaskId},
    toon::Map,
};

/// The content of `prd.toon`.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// What Samuel understands.
    pub(crate) plan: Plan,
    /// Lines that could not be understood, oldest first.
    pub(crate) unparsed: Vec<String>,
    others: Others,
}

/// Keys and columns that are not Samuel's.
#[derive(Debug, Default)]
struct Others {
    top: Map,
    project: Map,
    progress: Map,
    /// By task; ids are unique in a document.
    rows: HashMap<TaskId, Map>,
    /// The names of all columns in `rows`, in order of appearance.
    columns: Vec<String>,
}

impl Document {
    /// Makes a document of a plan alone.
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, ..Self::default() }
    }

    /// Guesses the ids in rows that could not be understood: the first cell,
    /// where it could be an id.
    pub(crate) fn lost_ids(&self) -> Vec<TaskId> {
        let id = |line: &String| line.trim().split(',').next()?.trim_matches('"').parse().ok();
        self.unparsed.iter().filter_map(id).collect()
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DocumentVisitor;

        impl<'de> Visitor<'de> for DocumentVisitor {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a plan")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
                let mut document = Document::default();
                let (mut version, mut tasks) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    let Document { plan, unparsed, others } = &mut document;
                    match key.as_str() {
                        "version" => version = text(&mut map)?,
                        "revision" => plan.revision = or_default(&mut map)?,
                        "project" => {
                            let project: Split<Project> = or_default(&mut map)?;
                            (plan.project, others.project) = (project.record, project.others);
                        }
                        "tasks" => tasks = Some(map.next_value::<Rows>()?),
                        "progress" => {
                            let progress: Split<Progress> = or_default(&mut map)?;
                            (plan.progress, others.progress) = (progress.record, progress.others);
                        }
                        "unparsed" => *unparsed = or_default(&mut map)?,
                        _ => {
                            others.top.insert(key, map.next_value()?);
                        }
                    }
                }
                document.plan.version = version.unwrap_or_else(|| PLAN_VERSION.to_owned());
                let rows = tasks.ok_or_else(|| A::Error::missing_field("tasks"))?;
                document.plan.tasks = rows.tasks;
                document.others.rows = rows.others;
                document.others.columns = rows.columns;
                Ok(document)
            }
        }

        deserializer.deserialize_map(DocumentVisitor)
    }
}

/// The table of tasks. A second row with an id is refused.
#[derive(Default)]
struct Rows {
    tasks: Vec<Task>,
    others: HashMap<TaskId, Map>,
    columns: Vec<String>,
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowsVisitor;

        impl<'de> Visitor<'de> for RowsVisitor {
            type Value = Rows;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of tasks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Rows, A::Error> {
                let mut rows = Rows::default();
                let mut seen = HashSet::new();
                while let Some(row) = seq.next_element_seed(NewRow(&mut seen))? {
                    rows.push(row);
                }
                Ok(rows)
            }
        }

        deserializer.deserialize_seq(RowsVisitor)
    }
}

impl Rows {
    fn push(&mut self, Split { record: Row(task), others }: Split<Row>) {
        for column in others.keys() {
            if !self.columns.iter().any(|known| known == column) {
                self.columns.push(column.to_owned());
            }
        }
        if !others.is_empty() {
            self.others.insert(task.id.clone(), others);
        }
        self.tasks.push(task);
    }
}

/// Reads a row whose id is none of those seen. The check belongs to the row,
/// so that recovery leaves out this row and no other.
struct NewRow<'a>(&'a mut HashSet<TaskId>);

impl<'de> serde::de::DeserializeSeed<'de> for NewRow<'_> {
    type Value = Split<Row>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Split<Row>, D::Error> {
        let row = Split::<Row>::deserialize(deserializer)?;
        let id = &row.record.0.id;
        if id.as_str().is_empty() {
            return Err(D::Error::missing_field("id"));
        }
        if !self.0.insert(id.clone()) {
            return Err(D::Error::custom(format_args!("another task has the id {id}")));
        }
        Ok(row)
    }
}

/// A document with some of its tasks, to be written.
pub(super) struct Part<'a> {
    pub(super) document: &'a Document,
    pub(super) tasks: &'a [&'a Task],
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Document { plan, unparsed, others } = self.document;
        let rows: Vec<RowOut<'_>> = self
            .tasks
            .iter()
            .map(|task| RowOut { task, others: others.rows.get(&task.id), columns: &others.columns })
            .collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &plan.version)?;
        map.serialize_entry("revision", &plan.revision)?;
        map.serialize_entry("project", &Joined { record: &plan.project, others: &others.project })?;
        map.serialize_entry("tasks", &rows)?;
        map.serialize_entry("progress", &Joined { record: &plan.progress, others: &others.progress })?;
        for (key, value) in others.top.iter() {
            map.serialize_entry(key, value)?;
        }
        if !unparsed.is_empty() {
            map.serialize_entry("unparsed", unparsed)?;
        }
        map.end()
    }
}
