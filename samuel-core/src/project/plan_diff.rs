//! What is different between a plan and another version of it, line by line.
//!
//! For whoever shows it: an update of a plan is a [`PlanUpdate`], which says what is new
//! and not what was there before.

use serde::Serialize;

use crate::{
    model::{PlanHeader, Status, Task, TaskId},
    state::{ChangedTask, Place, PlanUpdate, TaskEdit},
};

/// What a task says, and what it is to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskDiff {
    /// The task's id in the plan.
    pub id: TaskId,
    /// Its title in the plan.
    pub title: String,
    /// Whether it is completed: what it says anew, nobody is asked to do.
    pub is_completed: bool,
    /// The fields that differ; at least one.
    pub fields: Vec<FieldDiff>,
}

/// One field, as it is and as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldDiff {
    /// The field, as a task has it in JSON: `title`, `depends_on`. Of a project `name`,
    /// `description`, `source_prd` or `prd_format`.
    pub field: String,
    /// What the plan says: the lines of a text, the entries of a list; none where it
    /// says nothing.
    pub before: Vec<String>,
    /// What is said instead, in the same form.
    pub after: Vec<String>,
}

impl TaskDiff {
    /// Compares a task with a change of it.
    pub fn of(task: &Task, change: &ChangedTask) -> Self {
        let (before, after) = (TaskEdit::of(task), change.edit.clone());
        let text = |text: String| lines(&text);
        let ids = |ids: Vec<TaskId>| ids.iter().map(TaskId::to_string).collect::<Vec<_>>();
        let parent = change.parent.as_ref().map(|place| match place {
            Place::Under(parent) => vec![parent.to_string()],
            _ => Vec::new(),
        });
        let of = |field: &str, before: Option<Vec<String>>, after: Option<Vec<String>>| {
            let (before, after) = (before.unwrap_or_default(), after?);
            Some(FieldDiff { field: field.to_owned(), before, after })
        };
        let word = |word: &dyn ToString| vec![word.to_string()];
        let fields = [
            of("title", before.title.map(text), after.title.map(text)),
            of("description", before.description.map(text), after.description.map(text)),
            of("priority", before.priority.map(|it| word(&it)), after.priority.map(|it| word(&it))),
            of("complexity", before.complexity.map(|it| word(&it)), after.complexity.map(|it| word(&it))),
            of("parent_id", task.parent_id.as_ref().map(|id| word(id)), parent),
            of("depends_on", before.depends_on.map(ids), after.depends_on.map(ids)),
            of("files_to_create", before.files_to_create, after.files_to_create),
            of("files_to_modify", before.files_to_modify, after.files_to_modify),
            of("guardrails", before.guardrails, after.guardrails),
            of("acceptance", before.acceptance, after.acceptance),
        ];
        let fields = fields.into_iter().flatten().collect();
        let is_completed = task.status == Status::Completed;
        Self { id: task.id.clone(), title: task.title.clone(), is_completed, fields }
    }
}

impl FieldDiff {
    /// Compares what a plan says of its project with an update.
    pub fn of_project(project: &PlanHeader, update: &PlanUpdate) -> Vec<Self> {
        let of = |field: &str, before: &str, after: &Option<String>| {
            let after = lines(after.as_ref()?);
            Some(Self { field: field.to_owned(), before: lines(before), after })
        };
        let known = |text: &Option<String>| text.clone().unwrap_or_default();
        let fields = [
            of("name", &project.name, &update.name),
            of("description", &project.description, &update.description),
            of("source_prd", &known(&project.source_prd), &update.source_prd),
            of("prd_format", &known(&project.prd_format), &update.prd_format),
        ];
        fields.into_iter().flatten().collect()
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
