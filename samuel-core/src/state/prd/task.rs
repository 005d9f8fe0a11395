//! Rows of the table of tasks.

use serde::{
    Serialize,
    de::MapAccess,
    ser::{Error, SerializeMap},
};

use super::{
    cell::{ListCell, Text},
    record::{Record, or_default, text},
};
use crate::{
    model::{Task, TaskId},
    toon::{Map, Value},
};

/// A task as its row is read; it has no id until the row gave one.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Task);

impl Default for Row {
    fn default() -> Self {
        Self(Task::new(TaskId::new(""), ""))
    }
}

fn id<'de, A: MapAccess<'de>>(map: &mut A) -> Result<TaskId, A::Error> {
    map.next_value().map(|Text(text)| TaskId::new(text))
}

fn list<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<String>, A::Error> {
    map.next_value().map(|ListCell(items)| items)
}

impl Record for Row {
    const WHAT: &'static str = "a task";

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        let Self(task) = self;
        match key {
            "id" => task.id = id(map)?,
            "title" => task.title = text(map)?.unwrap_or_default(),
            "description" => task.description = text(map)?.unwrap_or_default(),
            "status" => task.status = or_default(map)?,
            "priority" => task.priority = or_default(map)?,
            "complexity" => task.complexity = or_default(map)?,
            "parent_id" => task.parent_id = text(map)?.map(TaskId::new),
            "depends_on" => task.depends_on = list(map)?.into_iter().map(TaskId::new).collect(),
            "files_to_create" => task.files_to_create = list(map)?,
            "files_to_modify" => task.files_to_modify = list(map)?,
            "guardrails" => task.guardrails = list(map)?,
            "acceptance" => task.acceptance = list(map)?,
            "source" => task.source = or_default(map)?,
            "created_at" => task.created_at = map.next_value()?,
            "completed_at" => task.completed_at = map.next_value()?,
            "commit_sha" => task.commit_sha = text(map)?,
            "iteration" => task.iteration = map.next_value()?,
            "skip_reason" => task.skip_reason = text(map)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        put(&self.0, map)
    }
}

/// Writes the known cells of a row, in the order of the columns.
fn put<M: SerializeMap>(task: &Task, map: &mut M) -> Result<(), M::Error> {
    let depends_on: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    map.serialize_entry("id", &task.id)?;
    map.serialize_entry("title", &task.title)?;
    map.serialize_entry("description", &task.description)?;
    map.serialize_entry("status", &task.status)?;
    map.serialize_entry("priority", &task.priority)?;
    map.serialize_entry("complexity", &task.complexity)?;
    map.serialize_entry("parent_id", &task.parent_id)?;
    map.serialize_entry("depends_on", &ListCell::to_text(&depends_on))?;
    map.serialize_entry("files_to_create", &ListCell::to_text(&task.files_to_create))?;
    map.serialize_entry("files_to_modify", &ListCell::to_text(&task.files_to_modify))?;
    map.serialize_entry("guardrails", &ListCell::to_text(&task.guardrails))?;
    map.serialize_entry("acceptance", &ListCell::to_text(&task.acceptance))?;
    map.serialize_entry("source", &task.source)?;
    map.serialize_entry("created_at", &task.created_at)?;
    map.serialize_entry("completed_at", &task.completed_at)?;
    map.serialize_entry("commit_sha", &task.commit_sha)?;
    map.serialize_entry("iteration", &task.iteration)?;
    map.serialize_entry("skip_reason", &task.skip_reason)
}

/// A row to be written: the task, then the columns that are not Samuel's.
pub(crate) struct RowOut<'a> {
    pub(crate) task: &'a Task,
    pub(crate) others: Option<&'a Map>,
    /// All those columns; every row must have each, or it is no table.
    pub(crate) columns: &'a [String],
}

impl Serialize for RowOut<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        put(self.task, &mut map)?;
        for column in self.columns {
            match self.others.and_then(|others| others.get(column)).unwrap_or(&Value::Null) {
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
