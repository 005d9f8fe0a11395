//! `convert --update`: the plan follows a changed PRD.

use std::path::Path;

use samuel_core::{
    model::{Task, TaskId},
    project::{PrdSource, Project, UpdateOptions, UpdatedPrd},
    state::{AddedTask, ChangedTask, Orphans, Place, TaskEdit},
    text::counted,
};

use super::init::reading;
use crate::{args::ConvertArgs, failure::Failure, host::Host, input::Input, render::safe, reply::Reply};

/// Brings the plan up to date, or shows what would be different.
pub(crate) fn update(
    project: &Project,
    args: &ConvertArgs,
    prd: &Path,
    host: &Host,
) -> Result<Reply, Failure> {
    let options = UpdateOptions {
        orphans: if args.prune { Orphans::Remove } else { Orphans::Keep },
        dry_run: args.dry_run,
        reading: reading(&args.reading),
    };
    let updated = if prd == Path::new("-") {
        let input = Input::read(None, host)?;
        let text = String::from_utf8(input.bytes)
            .map_err(|_| Failure::usage("the PRD is not UTF-8 text").at(Path::new("<stdin>")))?;
        project.update_prd(PrdSource::Text(&text), options, &host.asker())?
    } else {
        project.update_prd(PrdSource::File(&host.absolute(prd)?), options, &host.asker())?
    };
    let warnings: Vec<String> = updated.warnings.iter().map(ToString::to_string).collect();
    Ok(Reply::new(&updated, text_of(&updated, args)).warn(warnings))
}

fn text_of(updated: &UpdatedPrd, args: &ConvertArgs) -> String {
    let before = |id: &TaskId| updated.before.iter().find(|task| task.id == *id);
    let mut text = String::new();
    for AddedTask { task, .. } in &updated.update.added {
        text += &format!("+ {} {}\n", safe(task.id.as_str()), safe(&task.title));
    }
    for changed in &updated.update.changed {
        text += &changed_text(changed, before(&changed.id));
    }
    for id in &updated.update.removed {
        let title = before(id).map(|task| safe(&task.title)).unwrap_or_default();
        text += &format!("- {} {title}\n", safe(id.as_str()));
    }
    if !args.prune && !updated.orphans.is_empty() {
        let ids: Vec<String> = updated.orphans.iter().map(|id| safe(id.as_str())).collect();
        let count = counted(ids.len(), "task");
        text += &format!("{count} not in the PRD any more, left as they are: {}\n", ids.join(", "));
        text += "  remove them with --prune\n";
    }
    let last = match (updated.update.is_empty(), args.dry_run) {
        (true, _) => "the plan is up to date\n".to_owned(),
        (false, true) => "nothing was changed\n".to_owned(),
        (false, false) => format!("change {}\n", updated.revision),
    };
    text + &last
}

/// Shows what a task says anew, as a diff.
fn changed_text(changed: &ChangedTask, before: Option<&Task>) -> String {
    let mut text = format!("~ {}\n", safe(changed.id.as_str()));
    let Some(before) = before else { return text };
    let (was, now) = (TaskEdit::of(before), &changed.edit);
    let mut row = |name: &str, was: Option<String>, now: Option<String>| {
        if let (Some(was), Some(now)) = (was, now) {
            let lines = was.lines().map(|line| format!("    -{}\n", safe(line)));
            let new = now.lines().map(|line| format!("    +{}\n", safe(line)));
            text += &format!("  {name}\n{}{}", lines.collect::<String>(), new.collect::<String>());
        }
    };
    let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join("\n"));
    let ids = |ids: &Option<Vec<TaskId>>| {
        ids.as_ref().map(|ids| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))
    };
    row("title", was.title, now.title.clone());
    row("description", was.description, now.description.clone());
    row("priority", was.priority.map(|word| word.to_string()), now.priority.map(|word| word.to_string()));
    row(
        "complexity",
        was.complexity.map(|word| word.to_string()),
        now.complexity.map(|word| word.to_string()),
    );
    row("depends on", ids(&was.depends_on), ids(&now.depends_on));
    row("files to create", list(&was.files_to_create), list(&now.files_to_create));
    row("files to modify", list(&was.files_to_modify), list(&now.files_to_modify));
    row("guardrails", list(&was.guardrails), list(&now.guardrails));
    row("acceptance", list(&was.acceptance), list(&now.acceptance));
    let parent = changed.parent.as_ref().map(|place| match place {
        Place::Under(parent) => parent.to_string(),
        _ => "none".to_owned(),
    });
    let was = before.parent_id.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    row("part of", Some(was), parent);
    text
}
