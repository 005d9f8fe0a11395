//! A plan and everything else that stands in its file.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
    ser::SerializeMap,
};

use super::{
    cell::KeptLines,
    claims::{ClaimRows, ReadClaims},
    excerpt::Excerpt,
    missing::Missing,
    record::{self, Joined, Record, Split, or_default, text},
    task::{MARKS, RowOut, take_marks},
};
use crate::{
    MAX_REVISION, Mutation, StateError, TaskChange,
    apply::{At, apply_at},
    claims::{drop_stale, hold_landing},
};
use samuel_model::{PLAN_VERSION, Plan, PlanHeader, Progress, Status, Task, TaskId, settle};
use samuel_toon::{DecodeOptions, Lenient, Map, NumberText};

/// The content of `prd.toon`.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// What Samuel understands.
    pub(crate) plan: Arc<Plan>,
    /// Lines that could not be understood, oldest first.
    pub(crate) unparsed: Vec<String>,
    /// The tasks that are not in the file although it announces them; the last of
    /// `unparsed` says so.
    pub(crate) missing: Option<Missing>,
    others: Others,
    /// The tasks that stand elsewhere in the text although they are being landed.
    pub(crate) held: Vec<TaskId>,
    /// Whether groups stood elsewhere in the text than their parts say.
    pub(crate) is_regrouped: bool,
    /// What was left out; nothing if the plan is whole.
    pub(super) excerpt: Option<Excerpt>,
}

/// Keys and columns that are not Samuel's.
#[derive(Debug, Default)]
struct Others {
    top: Map,
    project: Map,
    progress: Map,
    cells: Cells,
}

/// What stands in columns that are not Samuel's.
#[derive(Debug, Default)]
struct Cells {
    /// By task; ids are unique in a document.
    rows: HashMap<TaskId, Map>,
    /// The names of all columns in `rows`, in order of appearance.
    columns: Vec<String>,
    /// The same names.
    known: HashSet<String>,
}

/// How many columns that are not Samuel's a plan has at most. Each costs a cell
/// in every row.
const MAX_OTHER_COLUMNS: usize = 256;

impl Cells {
    /// Says whether there is room for the columns of a row.
    fn have_room_for(&self, row: &Map) -> bool {
        let new = row.keys().filter(|column| !self.known.contains(*column)).count();
        self.columns.len() + new <= MAX_OTHER_COLUMNS
    }

    fn keep(&mut self, id: &TaskId, row: Map) {
        for column in row.keys() {
            if self.known.insert(column.to_owned()) {
                self.columns.push(column.to_owned());
            }
        }
        if !row.is_empty() {
            self.rows.insert(id.clone(), row);
        }
    }
}

impl Document {
    /// Makes a document of a plan alone.
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan: Arc::new(plan), ..Self::default() }
    }

    /// Returns the plan to be changed; those who hold it keep it as it is.
    pub(crate) fn plan_mut(&mut self) -> &mut Plan {
        Arc::make_mut(&mut self.plan)
    }

    /// Changes the plan. After an error it is as it was.
    ///
    /// # Errors
    /// Returns what [`apply`](crate::apply) returns.
    pub(crate) fn apply(&mut self, mutation: &Mutation, now: Timestamp) -> Result<TaskChange, StateError> {
        let revision = self.plan.revision + 1;
        self.apply_as(mutation, now, revision)
    }

    /// Does the same as the change that makes a revision.
    ///
    /// # Errors
    /// Returns what [`apply`](crate::apply) returns.
    pub(crate) fn apply_as(
        &mut self,
        mutation: &Mutation,
        now: Timestamp,
        revision: u64,
    ) -> Result<TaskChange, StateError> {
        let reserved = &self.lost_ids();
        let change = apply_at(self.plan_mut(), mutation, At { now, revision, reserved })?;
        if let Some(excerpt) = &self.excerpt {
            let progress = &mut Arc::make_mut(&mut self.plan).progress;
            progress.total_tasks += excerpt.left_out;
            progress.completed_tasks += excerpt.left_out_completed;
        }
        if let Mutation::Undo { back: Some(back), .. } = mutation {
            for (id, cells) in back.others() {
                // A journal that somebody changed costs these cells and no more.
                let options = DecodeOptions { numbers: NumberText::AsWritten, ..DecodeOptions::default() };
                let cells = samuel_toon::from_str_with::<Map>(cells, options).ok();
                if let Some(cells) = cells.filter(|cells| self.others.cells.have_room_for(cells)) {
                    self.others.cells.keep(id, cells);
                }
            }
        }
        Ok(change)
    }

    /// Returns what a task has in columns that are not Samuel's, as TOON.
    pub(crate) fn others_of(&self, id: &TaskId) -> Option<String> {
        self.others.cells.rows.get(id).and_then(|cells| samuel_toon::to_string(cells).ok())
    }

    /// Forgets what tasks that are gone had in columns that are not Samuel's.
    pub(crate) fn forget_removed(&mut self) {
        let rows = &mut self.others.cells.rows;
        if !rows.is_empty() {
            let there: HashSet<&TaskId> = self.plan.tasks.iter().map(|task| &task.id).collect();
            rows.retain(|id, _| there.contains(id));
        }
    }

    /// Adds a task with what it has in columns that are not Samuel's.
    pub(crate) fn push(&mut self, task: Task, others: Map) {
        self.others.cells.keep(&task.id, others);
        self.plan_mut().tasks.push(task);
    }

    /// Drops claims that hold no more, because their task stands elsewhere in the file; of those that are
    /// being landed it is the task that does not.
    pub(super) fn drop_stale_claims(&mut self) {
        if !self.plan.claims.is_empty() {
            let lost = self.lost_ids();
            self.held = hold_landing(self.plan_mut());
            drop_stale(self.plan_mut(), &lost);
        }
    }

    /// Says whether the plan has all tasks of the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.excerpt.is_none()
    }

    /// Returns the number of tasks, those that were left out among them.
    pub(super) fn task_count(&self) -> u64 {
        self.plan.tasks.len() as u64 + self.excerpt.as_ref().map_or(0, |excerpt| excerpt.left_out)
    }

    /// Returns the row that a task was read from; for a new one, the row after
    /// the last.
    pub(super) fn row(&self, task: usize) -> usize {
        let rows = self.excerpt.as_ref().map(|excerpt| &excerpt.rows);
        rows.and_then(|rows| rows.get(task)).copied().unwrap_or(task)
    }

    /// Returns the names of columns that are not Samuel's.
    pub(crate) fn other_columns(&self) -> &[String] {
        &self.others.cells.columns
    }

    /// Says whether a question stands beside one of the tasks. An excerpt is of a plan without.
    pub(crate) fn has_questions(&self) -> bool {
        self.plan.tasks.iter().any(|task| task.question.is_some())
    }

    /// Returns whether the completion of one of the tasks has marks, for which there is a column of its own. The table
    /// of an excerpt keeps that column.
    pub(crate) fn has_marks(&self) -> bool {
        let has_column = self.other_columns().iter().any(|column| column == MARKS);
        let is_kept = self.excerpt.as_ref().is_some_and(|excerpt| excerpt.has_marks);
        !has_column && (is_kept || self.plan.tasks.iter().any(|task| !task.marks.is_empty()))
    }

    /// Guesses the ids in rows that could not be understood: the first cell,
    /// where it could be an id. Of rows that are missing it is the highest.
    pub(crate) fn lost_ids(&self) -> Vec<TaskId> {
        let id = |line: &String| match Missing::read(line) {
            // Tasks are mostly numbered in turn.
            Some(missing) => Some(TaskId::new(missing.declared.to_string())),
            None => line.trim().split(',').next()?.trim_matches('"').parse().ok(),
        };
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
                let (mut plan, mut others, mut unparsed) = (Plan::default(), Others::default(), Vec::new());
                let (mut version, mut tasks) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "version" => version = text(&mut map)?,
                        "revision" => plan.revision = or_default::<_, Revision>(&mut map)?.0,
                        "project" => {
                            let project: Split<PlanHeader> = or_default(&mut map)?;
                            (plan.project, others.project) = (project.record, project.others);
                        }
                        "tasks" => tasks = Some(map.next_value::<Rows>()?),
                        "progress" => {
                            let progress: Split<Progress> = or_default(&mut map)?;
                            (plan.progress, others.progress) = (progress.record, progress.others);
                        }
                        "claims" => plan.claims = or_default::<_, ReadClaims>(&mut map)?.0,
                        "baseline" => plan.baseline = text(&mut map)?.unwrap_or_default(),
                        "unparsed" => unparsed = or_default::<_, KeptLines>(&mut map)?.0,
                        _ => {
                            others.top.insert(key, map.next_value()?);
                        }
                    }
                }
                plan.version = version.unwrap_or_else(|| PLAN_VERSION.to_owned());
                let rows = tasks.ok_or_else(|| A::Error::missing_field("tasks"))?;
                plan.tasks = rows.tasks;
                others.cells = rows.cells;
                let is_regrouped = settle(&mut plan.tasks, None);
                let plan = Arc::new(plan);
                let (missing, held, excerpt) = (None, Vec::new(), None);
                Ok(Document { plan, unparsed, missing, others, held, is_regrouped, excerpt })
            }
        }

        deserializer.deserialize_map(DocumentVisitor)
    }
}

/// The revision of a plan, which leaves room to count on.
#[derive(Default)]
struct Revision(u64);

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let revision = u64::deserialize(deserializer)?;
        if revision > MAX_REVISION {
            return Err(D::Error::custom(format_args!("no plan has a revision beyond {MAX_REVISION}")));
        }
        Ok(Self(revision))
    }
}

/// For how many rows there is room before one is read: a declared number is
/// not to be trusted.
const RESERVED_ROWS: usize = 4_096;

/// The table of tasks. A second row with an id is refused.
#[derive(Default)]
struct Rows {
    tasks: Vec<Task>,
    cells: Cells,
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
                rows.tasks.reserve(seq.size_hint().unwrap_or_default().min(RESERVED_ROWS));
                let read = RefCell::new((rows, HashSet::default()));
                while seq.next_element_seed(Lenient(NextRow(&read)))?.is_some() {}
                Ok(read.into_inner().0)
            }
        }

        deserializer.deserialize_seq(RowsVisitor)
    }
}

/// Reads a row whose id is none of those seen. The check belongs to the row,
/// so that recovery leaves out this row and no other.
#[derive(Clone, Copy)]
struct NextRow<'a>(&'a RefCell<(Rows, HashSet<TaskId, foldhash::fast::RandomState>)>);

impl<'de> DeserializeSeed<'de> for NextRow<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NextRow<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Task::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut task = Task::new(TaskId::new(""), "");
        let mut others = record::read(&mut task, &mut map)?;
        take_marks(&mut task, &mut others);
        if task.status == Status::Completed {
            // Somebody else than Samuel wrote that: nobody works on it any more.
            task.owner = None;
        }
        let (rows, seen) = &mut *self.0.borrow_mut();
        if task.id.as_str().is_empty() {
            return Err(A::Error::missing_field("id"));
        }
        if !rows.cells.have_room_for(&others) {
            let limit = format_args!("more than {MAX_OTHER_COLUMNS} columns that are not Samuel's");
            return Err(A::Error::custom(limit));
        }
        if !seen.insert(task.id.clone()) {
            return Err(A::Error::custom(format_args!("another task has the id {}", task.id)));
        }
        rows.cells.keep(&task.id, others);
        rows.tasks.push(task);
        Ok(())
    }
}

/// A document with some of its tasks, to be written.
pub(super) struct Part<'a> {
    document: &'a Document,
    rows: Vec<RowOut<'a>>,
}

impl<'a> Part<'a> {
    pub(super) fn new(document: &'a Document, tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let Cells { rows, columns, .. } = &document.others.cells;
        let (has_questions, has_marks) = (document.has_questions(), document.has_marks());
        let row = |task: &'a Task| {
            let others = rows.get(&task.id);
            RowOut { task, others, columns, has_questions, has_marks }
        };
        Self { document, rows: tasks.into_iter().map(row).collect() }
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Document { plan, unparsed, others, .. } = self.document;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &plan.version)?;
        map.serialize_entry("revision", &plan.revision)?;
        map.serialize_entry("project", &Joined { record: &plan.project, others: &others.project })?;
        map.serialize_entry("tasks", &self.rows)?;
        map.serialize_entry("progress", &Joined { record: &plan.progress, others: &others.progress })?;
        if !plan.claims.is_empty() {
            map.serialize_entry("claims", &ClaimRows(&plan.claims))?;
        }
        if !plan.baseline.is_empty() {
            map.serialize_entry("baseline", &plan.baseline)?;
        }
        for (key, value) in others.top.iter() {
            map.serialize_entry(key, value)?;
        }
        if !unparsed.is_empty() {
            map.serialize_entry("unparsed", unparsed)?;
        }
        map.end()
    }
}
