//! `convert --update`: the plan follows a changed PRD.

use std::path::Path;

use samuel_core::{
    prd::Document,
    project::{FieldDiff, PrdSource, Project, ProjectError, TaskDiff, UpdateOptions, UpdatedPrd},
    state::{Orphans, TaskTitle},
    text::counted,
};

use super::init::reading;
use crate::{
    args::ConvertArgs, failure::Failure, host::Host, input::Input, render::safe, reply::Reply, trust::confirm,
};

/// Brings the plan up to date, or shows what would be different. At a terminal it is
/// shown first.
pub(crate) fn update(
    project: &Project,
    args: &ConvertArgs,
    prd: &Path,
    host: &Host,
) -> Result<Reply, Failure> {
    let asks = host.can_ask && !args.yes;
    let options = UpdateOptions {
        orphans: if args.prune { Orphans::Remove } else { Orphans::Keep },
        dry_run: args.dry_run,
        // Whoever is asked is shown that it looks so.
        take_other: asks || args.yes,
        reading: reading(&args.reading),
    };
    let mut was_shown = false;
    let agrees = |updated: &UpdatedPrd| {
        let meanwhile = if was_shown { "The plan was changed meanwhile. Now:\n" } else { "" };
        was_shown = asks;
        let text = meanwhile.to_owned() + &text_of(updated, args);
        let told: String = updated.regrouped.iter().map(|task| regrouped_text(task) + "\n").collect();
        !asks || confirm(&(text + &told), "Change the plan?")
    };
    let updated = if prd == Path::new("-") {
        let input = Input::read(None, host)?;
        let document = Document::from_bytes(input.name, input.bytes).map_err(ProjectError::from)?;
        project.update_prd_if(PrdSource::Text(&document), options, &host.asker(), agrees)?
    } else {
        let path = host.absolute(prd)?;
        project.update_prd_if(PrdSource::File(&path), options, &host.asker(), agrees)?
    };
    let last = match (updated.is_changed, updated.is_up_to_date()) {
        (_, true) => "the plan is up to date\n".to_owned(),
        (true, _) => format!("change {}\n", updated.revision),
        _ => "nothing was changed\n".to_owned(),
    };
    let text = if was_shown { last } else { text_of(&updated, args) + &last };
    let warnings = updated.warnings.iter().map(ToString::to_string);
    let regrouped = updated.regrouped.iter().filter(|_| !was_shown).map(regrouped_text);
    let warnings: Vec<String> = regrouped.chain(warnings).collect();
    Ok(Reply::new(&updated, text).warn(warnings))
}

fn text_of(updated: &UpdatedPrd, args: &ConvertArgs) -> String {
    let mut text = updated.other_prd.map(|other| format!("! {other}\n")).unwrap_or_default();
    for task in &updated.added {
        text += &format!("+ {} {}\n", safe(task.id.as_str()), safe(&task.title));
    }
    updated.changed.iter().for_each(|task| text += &task_text(task));
    for TaskTitle { id, title, is_completed } in &updated.removed {
        text += &format!("- {} {}{}\n", safe(id.as_str()), safe(title), mark(*is_completed));
    }
    if !updated.project.is_empty() {
        text += &format!("~ the project\n{}", fields_text(&updated.project));
    }
    if !updated.conflicts.is_empty() {
        let count = counted(updated.conflicts.len(), "task");
        text += &format!("{count} changed here and in the PRD; what is here stays:\n");
        updated.conflicts.iter().for_each(|task| text += &task_text(task));
        text += "  take what the PRD says with `samuel run edit`\n";
    }
    if !updated.left_out.is_empty() {
        let count = counted(updated.left_out.len(), "task");
        let ids = ids(&updated.left_out);
        text += &format!("{count} of the PRD removed here, and not added again: {ids}\n");
        text += "  add what was removed with `samuel run task add`\n";
    }
    if !args.prune && !updated.orphans.is_empty() {
        let count = counted(updated.orphans.len(), "task");
        let ids = ids(&updated.orphans);
        let (left, them) = match updated.orphans.len() {
            1 => ("it is", "it"),
            _ => ("they are", "them"),
        };
        text += &format!(
            "{count} not in the PRD any more, left as {left}: {ids}\n  remove {them} with --prune\n"
        );
    }
    text
}

/// Says what becomes of a task that is worked on and is given parts.
fn regrouped_text(TaskTitle { id, .. }: &TaskTitle) -> String {
    let id = safe(id.as_str());
    format!("task {id} is being worked on and becomes a group: it is pending until its parts are completed")
}

fn ids(tasks: &[TaskTitle]) -> String {
    let shown = |task: &TaskTitle| safe(task.id.as_str()) + mark(task.is_completed);
    tasks.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Marks work that was done, so that nobody overlooks that it is touched.
fn mark(is_completed: bool) -> &'static str {
    if is_completed { " (completed)" } else { "" }
}

/// Shows what a task says anew, as a diff.
fn task_text(task: &TaskDiff) -> String {
    let TaskDiff { id, title, is_completed, fields } = task;
    format!("~ {} {}{}\n{}", safe(id.as_str()), safe(title), mark(*is_completed), fields_text(fields))
}

fn fields_text(fields: &[FieldDiff]) -> String {
    let field = |FieldDiff { field, before, after }: &FieldDiff| {
        let name = match field.as_str() {
            "parent_id" => "part of".to_owned(),
            "source_prd" => "PRD".to_owned(),
            "prd_format" => "form of the PRD".to_owned(),
            field => field.replace('_', " "),
        };
        let lines = before.iter().map(|line| format!("    -{}\n", safe(line)));
        let new = after.iter().map(|line| format!("    +{}\n", safe(line)));
        format!("  {name}\n{}", lines.chain(new).collect::<String>())
    };
    fields.iter().map(field).collect()
}
