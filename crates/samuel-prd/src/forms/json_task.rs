//! A task in JSON, with the names that its fields have in the wild.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::draft::{Reading, Reference};
use crate::error::PrdError;
use crate::json::{self, Fields};
use crate::remark::RemarkKind;
use crate::source::Place;
use crate::title::Title;
use crate::value;
use samuel_model::{Complexity, Priority, Status, TaskId};

use super::table::status;

const ID: &[&str] = &["id", "taskId", "story_id", "storyId"];
const TITLE: &[&str] = &["title", "name", "story", "task"];
const DESCRIPTION: &[&str] = &["description", "userStory"];
const DETAILS: &[&str] = &["details", "notes", "implementation_notes"];
const ACCEPTANCE: &[&str] = &[
    "acceptanceCriteria",
    "acceptance_criteria",
    "acceptance",
    "criteria",
    "steps",
    "testStrategy",
    "test_strategy",
];
const STATUS: &[&str] = &["status", "state"];
const PASSES: &[&str] = &["passes", "done", "completed"];
const PRIORITY: &[&str] = &["priority"];
const COMPLEXITY: &[&str] = &["complexity"];
const DEPENDS_ON: &[&str] = &["dependencies", "dependsOn", "depends_on", "blockedBy"];
const FILES: &[&str] = &["files", "filesToModify", "files_to_modify"];
const CREATE: &[&str] = &["filesToCreate", "files_to_create"];
const SUBTASKS: &[&str] = &["subtasks", "subTasks", "tasks", "children"];

/// How deep tasks may be nested in tasks.
const MAX_NESTED: usize = 8;

/// Reads tasks and their subtasks. A priority that is a number is the place of a task in
/// the order of work, 1 first: they are read in that order, and get priorities that keep it.
pub(super) fn read_all(reading: &mut Reading<'_, '_>, tasks: Vec<&RawValue>) -> Result<(), PrdError> {
    let mut ranked: Vec<(f64, &RawValue)> =
        tasks.into_iter().map(|raw| (rank(raw).unwrap_or(f64::MAX), raw)).collect();
    ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut order = Vec::new();
    for (rank, raw) in ranked {
        let start = reading.drafts.len();
        read(reading, raw, None, 0)?;
        if rank < f64::MAX && start < reading.drafts.len() {
            order.push(Ranked { rank, drafts: start..reading.drafts.len() });
        }
    }
    keep_order(reading, &order);
    Ok(())
}

/// A task with a place in the order of work.
struct Ranked {
    rank: f64,
    /// Its draft, and those of its subtasks.
    drafts: Range<usize>,
}

/// Gives tasks the priorities with which they are worked on in their order: those of one
/// priority are by their ids, so another begins wherever the ids go back.
fn keep_order(reading: &mut Reading<'_, '_>, order: &[Ranked]) {
    let mut levels: Vec<usize> = Vec::with_capacity(order.len());
    let (mut level, mut last): (usize, Option<TaskId>) = (0, None);
    for same in order.chunk_by(|one, next| one.rank == next.rank) {
        let ids = || {
            let drafts = same.iter().filter_map(|task| reading.drafts.get(task.drafts.start));
            drafts.filter_map(|draft| draft.id.as_ref()?.as_ref().ok())
        };
        if last.as_ref().zip(ids().min()).is_some_and(|(last, first)| first < last) {
            (level, last) = (level + 1, None);
        }
        last = last.into_iter().chain(ids().max().cloned()).max();
        levels.extend(same.iter().map(|_| level));
    }
    let priorities: &[Priority] = match level {
        0 => &[Priority::Medium],
        1 | 2 => &[Priority::High, Priority::Medium, Priority::Low],
        _ => Priority::ALL,
    };
    for (task, level) in order.iter().zip(&levels) {
        let priority = priorities.get(*level).or(priorities.last()).copied().unwrap_or_default();
        let drafts = reading.drafts.get_mut(task.drafts.clone()).into_iter().flatten();
        drafts
            .filter(|draft| draft.priority == Priority::default())
            .for_each(|draft| draft.priority = priority);
    }
    let beyond = levels.iter().position(|level| *level >= Priority::ALL.len());
    if let Some(draft) = beyond.and_then(|at| reading.drafts.get(order.get(at)?.drafts.start)) {
        let message = "from here on tasks are worked on in the order of their ids, not of their priorities: \
                       there are only critical, high, medium and low; number them anew, or say what they depend on";
        reading.remarks.warn(RemarkKind::UnknownPriority, draft.place, message);
    }
}

/// Reads a task and its subtasks. `parent` is its draft and id.
fn read(
    reading: &mut Reading<'_, '_>,
    raw: &RawValue,
    parent: Option<(usize, &str)>,
    depth: usize,
) -> Result<(), PrdError> {
    let start = offset(reading, raw);
    let Some(fields) = Fields::of(raw) else {
        reading.leave_out(RemarkKind::IgnoredField, start, "this is no object, and no task");
        return Ok(());
    };
    let said = |names: &[&str]| fields.get(names).map(json::text).unwrap_or_default();
    let mut description = said(DESCRIPTION);
    let mut words = one_line(&said(TITLE));
    if words.is_empty() {
        words = one_line(description.lines().next().unwrap_or_default());
        if description.lines().count() <= 1 {
            description.clear();
        }
    }
    let id = fields.get(ID).map(json::text).filter(|id| !id.trim().is_empty());
    let id = id.map(|id| below(parent.map(|(_, id)| id), id.trim()));
    let title = Title { id: id.as_deref().map(str::parse), words, ..Title::default() };
    let draft = reading.add(title, start, parent.map(|(draft, _)| draft))?;
    reading.take(&(start..start + raw.get().len()));
    fill(reading, draft, &fields, parent.map(|(_, id)| id), description);
    for raw in fields.list(SUBTASKS).unwrap_or_default() {
        if depth >= MAX_NESTED {
            let message = format!("tasks are nested more than {MAX_NESTED} deep; what is below is left out");
            reading.leave_out(RemarkKind::IgnoredField, start, message);
            break;
        }
        read(reading, raw, Some((draft, id.as_deref().unwrap_or_default())), depth + 1)?;
    }
    Ok(())
}

fn fill(
    reading: &mut Reading<'_, '_>,
    index: usize,
    fields: &Fields<'_>,
    parent: Option<&str>,
    description: String,
) {
    let place = reading.drafts.get(index).map_or(Place::START, |draft| draft.place);
    let mut about: Vec<String> = vec![description];
    let mut warned = None;
    for (name, value) in &fields.0 {
        let is = |names: &[&str]| names.contains(&name.as_str());
        if value.get() == "null" || is(ID) || is(TITLE) || is(DESCRIPTION) {
            continue;
        }
        let text = json::text(value);
        let Some(draft) = reading.drafts.get_mut(index) else { return };
        if is(ACCEPTANCE) {
            draft.acceptance.extend(json::texts(value).iter().map(|text| one_line(text)));
        } else if is(DETAILS) {
            about.push(text);
        } else if is(PASSES) && matches!(value.get(), "true" | "false") {
            if value.get() == "true" {
                draft.status = Status::Completed;
            }
        } else if is(STATUS)
            && let Some(status) = status(&text)
        {
            draft.status = status;
            draft.skip_reason = (status == Status::Skipped).then(|| format!("{text} in the PRD"));
        } else if is(PRIORITY) && !text.is_empty() {
            match value::priority(&text) {
                Some(priority) => draft.priority = priority,
                // A rank: the order of the tasks says it.
                None if text.trim().parse::<f64>().is_ok() => {}
                None => warned = Some(text),
            }
        } else if is(COMPLEXITY)
            && let Some(complexity) = complexity(&text)
        {
            draft.complexity = complexity;
        } else if is(DEPENDS_ON)
            && let Some(values) = json::list(value)
        {
            let ids = values.into_iter().map(|value| below(parent, json::text(value).trim()));
            let found = ids.filter_map(|id| id.parse().ok()).map(|id| Reference { id, place });
            draft.depends_on.extend(found);
        } else if is(FILES) {
            draft.files_to_modify.extend(json::texts(value));
        } else if is(CREATE) {
            draft.files_to_create.extend(json::texts(value));
        } else if is(SUBTASKS) && json::list(value).is_some() {
            // They are tasks of their own.
        } else if !text.is_empty() {
            about.push(format!("{name}: {text}"));
        }
    }
    about.retain(|text| !text.trim().is_empty());
    if let Some(draft) = reading.drafts.get_mut(index) {
        draft.description = about.join("\n\n");
    }
    if let Some(word) = warned {
        reading.warn_priority(place, &word);
    }
}

/// Returns the id of a subtask: it counts below its parent.
fn below(parent: Option<&str>, id: &str) -> String {
    match parent {
        Some(parent) if !parent.is_empty() && !id.contains('.') => format!("{parent}.{id}"),
        _ => id.to_owned(),
    }
}

/// Reads a complexity, or how much there is of it from 1 to 10.
fn complexity(text: &str) -> Option<Complexity> {
    value::complexity(text).or_else(|| match text.parse::<u8>().ok()? {
        1..=3 => Some(Complexity::Simple),
        4..=6 => Some(Complexity::Medium),
        7..=10 => Some(Complexity::Complex),
        _ => None,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns where a value starts in the document.
pub(super) fn offset(reading: &Reading<'_, '_>, raw: &RawValue) -> usize {
    let start = reading.source.text.as_ptr() as usize;
    (raw.get().as_ptr() as usize).saturating_sub(start).min(reading.source.text.len())
}

/// Returns the priority that is a number, by which tasks are ordered.
fn rank(raw: &RawValue) -> Option<f64> {
    json::text(Fields::of(raw)?.get(PRIORITY)?).trim().parse().ok().filter(|rank: &f64| rank.is_finite())
}
