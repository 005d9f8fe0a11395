//! Whole documents through [`convert`](super::convert).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod checklists;
mod corpus;
mod coverage;
mod headings;
mod json;
mod limits;
mod mutate;
mod properties;
mod remarks;

use super::{Conversion, Document, Remark, RemarkKind, convert};
use samuel_model::Task;

const PRD: &str = include_str!("../tests/data/prd-notes.md");
const COMPANION: &str = include_str!("../tests/data/tasks-notes.md");

fn now() -> jiff::Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

/// Converts a PRD without a companion.
fn prd(text: &str) -> Conversion {
    convert(&Document::new("docs/prd-x.md", text), None, now()).unwrap()
}

/// Converts a PRD whose only text is a task section with these lines.
fn tasks(lines: &str) -> Conversion {
    prd(&format!("## Tasks\n\n{lines}"))
}

/// Converts an empty PRD with a companion.
fn companion(text: &str) -> Conversion {
    let companion = Document::new("docs/tasks-x.md", text);
    convert(&Document::new("docs/prd-x.md", "# X\n"), Some(&companion), now()).unwrap()
}

fn task<'c>(conversion: &'c Conversion, id: &str) -> &'c Task {
    let found = conversion.tasks.iter().find(|task| task.id.as_str() == id);
    found.unwrap_or_else(|| panic!("no task {id} among {:?}", ids(conversion)))
}

fn ids(conversion: &Conversion) -> Vec<&str> {
    conversion.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// Returns id and parent of each task.
fn parents(conversion: &Conversion) -> Vec<(&str, Option<&str>)> {
    conversion
        .tasks
        .iter()
        .map(|task| (task.id.as_str(), task.parent_id.as_ref().map(|id| id.as_str())))
        .collect()
}

fn depends_on(task: &Task) -> Vec<&str> {
    task.depends_on.iter().map(|id| id.as_str()).collect()
}

/// Returns the lines and kinds of remarks.
fn places(remarks: &[Remark]) -> Vec<(usize, RemarkKind)> {
    remarks.iter().map(|remark| (remark.line, remark.kind)).collect()
}
