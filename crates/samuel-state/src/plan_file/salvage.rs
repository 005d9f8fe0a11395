//! Tasks out of rows that could not be read.
//!
//! A row that is damaged is kept as text in `unparsed`. [`salvage`] reads it
//! cell by cell: what a cell does not say becomes the default, and each such
//! change is told. A row whose cells cannot be told apart stays text.

use std::{collections::HashSet, iter};

use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess};

use super::{
    Document,
    record::Record,
    task::{COLUMNS, MARKS, QUESTION, take_marks},
};
use crate::new_task::{UsedNumbers, used_ids};
use samuel_model::{Task, TaskId};
use samuel_toon::{DecodeOptions, ErrorKind, Limits, Map, NumberText, Value};

/// What became of a row that could not be read.
#[derive(Debug)]
pub(crate) enum Salvaged {
    /// It is a task; what it says now and did not before.
    Task(TaskId, Vec<String>),
    /// It stays text, and why.
    Text(String),
}

/// Turns the unparsed rows of a document into tasks where that is possible.
/// Returns each row with what became of it.
pub(crate) fn salvage(document: &mut Document) -> Vec<(String, Salvaged)> {
    let mut ids = Ids::of(document);
    // What is read of a row has no other columns, so they stay the same.
    let columns = columns(document);
    let rows = std::mem::take(&mut document.unparsed);
    let mut result = Vec::with_capacity(rows.len());
    for row in rows {
        let salvaged = match read_row(&columns, &row) {
            Ok((mut task, others, mut changes)) => {
                if ids.taken.contains(&task.id) {
                    let id = ids.numbers.take_next();
                    changes.push(format!("another task has the id {}: this one is {id}", task.id));
                    task.id = id;
                }
                ids.take(&task);
                let id = task.id.clone();
                document.push(task, others);
                Salvaged::Task(id, changes)
            }
            Err(reason) => {
                document.unparsed.push(row.clone());
                Salvaged::Text(reason)
            }
        };
        result.push((row, salvaged));
    }
    result
}

/// The ids in use, so that a free one is found without a look at every task.
struct Ids {
    /// The ids of tasks.
    taken: HashSet<TaskId>,
    /// The numbers of ids that are used in any way.
    numbers: UsedNumbers,
}

impl Ids {
    fn of(document: &Document) -> Self {
        let mut ids = Self { taken: HashSet::new(), numbers: UsedNumbers::of(document.lost_ids().iter()) };
        document.plan.tasks.iter().for_each(|task| ids.take(task));
        ids
    }

    fn take(&mut self, task: &Task) {
        used_ids(task).for_each(|id| self.numbers.count(id));
        self.taken.insert(task.id.clone());
    }
}

/// Returns the columns of the document's rows.
fn columns(document: &Document) -> Vec<String> {
    let others = document.other_columns().iter().map(String::as_str);
    let question = document.has_questions().then_some(QUESTION);
    let marks = document.has_marks().then_some(MARKS);
    COLUMNS.into_iter().chain(question).chain(marks).chain(others).map(str::to_owned).collect()
}

fn read_row(columns: &[String], row: &str) -> Result<(Task, Map, Vec<String>), String> {
    let cells = cells(row).ok_or("it is not a row of cells")?;
    if cells.len() > columns.len() {
        let (found, expected) = (cells.len(), columns.len());
        return Err(format!("it has {found} cells instead of {expected}; text with commas needs quotes"));
    }
    let mut task = Task::new(TaskId::new(""), "");
    let (mut others, mut changes) = (Map::new(), Vec::new());
    if cells.len() < columns.len() {
        let missing = columns.get(cells.len()..).unwrap_or_default();
        changes.push(format!("nothing for {}", missing.join(", ")));
    }
    for (column, cell) in columns.iter().zip(cells.into_iter().chain(iter::repeat(Value::Null))) {
        let shown = cell.clone();
        match task.take(column, &mut Cell(Some(cell))) {
            Ok(true) => {}
            Ok(false) => drop(others.insert(column.as_str(), shown)),
            Err(error) => changes.push(format!("{column} is the default: {error}")),
        }
    }
    take_marks(&mut task, &mut others);
    task.validate().map_err(|error| error.to_string())?;
    Ok((task, others, changes))
}

/// How many cells a row is split into at most.
const MAX_CELLS: usize = 4_096;

/// Tells the cells of a row apart; of too many there are none.
fn cells(row: &str) -> Option<Vec<Value>> {
    let limits = Limits { cells: MAX_CELLS, ..Limits::default() };
    let options = DecodeOptions { numbers: NumberText::AsWritten, limits, ..DecodeOptions::default() };
    let declared = |cells: u64| format!("cells[{cells}]: {}", row.trim());
    // A sound row is read in strict mode, once its cells are counted.
    let counted = samuel_toon::from_str_with::<IgnoredAny>(&declared(0), options);
    let found = match counted.as_ref().map_err(samuel_toon::Error::kind) {
        Err(ErrorKind::CountMismatch { found, .. }) => *found,
        _ => 0,
    };
    let recovered = samuel_toon::recover_with::<Value>(declared(found).as_bytes(), options);
    match recovered.value?.get("cells")? {
        Value::Array(cells) if !cells.is_empty() => Some(cells.clone()),
        _ => None,
    }
}

/// One cell, for a record that asks for the value of its column.
struct Cell(Option<Value>);

impl<'de> MapAccess<'de> for Cell {
    type Error = samuel_toon::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        _seed: K,
    ) -> Result<Option<K::Value>, samuel_toon::Error> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, samuel_toon::Error> {
        seed.deserialize(self.0.take().unwrap_or(Value::Null).into_deserializer())
    }
}
