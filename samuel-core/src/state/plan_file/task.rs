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

fn id<'de, A: MapAccess<'de>>(map: &mut A) -> Result<TaskId, A::Error> {
    map.next_value().map(|Text(text)| TaskId::new(text))
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
            "owner" => self.owner = text(map)?,
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
        self.task.put(&mut map)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_those_that_are_written() {
        let task = Task::new(TaskId::new("1"), "t");
        let written = crate::toon::to_value(&RowOut { task: &task, others: None, columns: &[] });
        let columns: Vec<String> = match written {
            Ok(Value::Object(row)) => row.keys().map(str::to_owned).collect(),
            other => vec![format!("{other:?}")],
        };
        assert_eq!(columns, COLUMNS);
    }
}
