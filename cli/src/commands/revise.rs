//! Commands that change what the plan says: `edit`, `rm`, `block`, `release`, `undo`.

use std::{fs, path::Path, process::Command};

use samuel_core::{
    broker::PlanAccess,
    model::{ErrorCode, ReleaseReason, Task, TaskId},
    project::Project,
    state::{Actor, Mutation, Parts, StateError, TaskEdit},
};

use tempfile::NamedTempFile;

use super::change::apply;
use crate::{
    args::{BlockArgs, EditArgs, ReleaseArgs, RmArgs, UndoArgs},
    failure::{Failure, io_failure},
    host::Host,
    reply::Reply,
};

/// Has a task say something else.
pub(crate) fn edit(project: &Project, args: EditArgs, host: &Host) -> Result<Reply, Failure> {
    let id = args.id.clone();
    let mut edit = args.edit();
    if edit.is_empty() {
        if host.actor() == Actor::Agent {
            return Err(Failure::of(&StateError::NotForAgents { what: "edit" }));
        }
        let written;
        (edit, written) = in_editor(project, &id, host)?;
        return apply(&project.clone().into(), host, Mutation::Edit { id, edit: Box::new(edit) })
            .map_err(|failure| kept(failure, written));
    }
    apply(&project.clone().into(), host, Mutation::Edit { id, edit: Box::new(edit) })
}

/// Keeps what somebody wrote and what could not be taken, and says where.
fn kept(failure: Failure, written: NamedTempFile) -> Failure {
    match written.keep() {
        Ok((_, path)) => {
            let path = path.display();
            failure.advise(format!("What you wrote is kept in {path}: copy it from there into another edit."))
        }
        Err(_) => failure,
    }
}

/// Removes tasks.
pub(crate) fn rm(project: &Project, args: RmArgs, host: &Host) -> Result<Reply, Failure> {
    let parts = if args.with_parts { Parts::Remove } else { Parts::Refuse };
    apply(&project.clone().into(), host, Mutation::Remove { ids: args.ids, parts })
}

/// Says that a task cannot be worked on.
pub(crate) fn block(plan: &PlanAccess, args: BlockArgs, host: &Host) -> Result<Reply, Failure> {
    let BlockArgs { id, reason } = args;
    apply(plan, host, Mutation::Block { id, reason })
}

/// Gives back a task that is claimed.
pub(crate) fn release(project: &Project, args: ReleaseArgs, host: &Host) -> Result<Reply, Failure> {
    let ReleaseArgs { of, reason } = args;
    let plan = project.plan_store().load()?.plan;
    let release = Mutation::release(&plan, &of, ReleaseReason::Asked { reason })?;
    apply(&project.clone().into(), host, release)
}

/// Takes a change back.
pub(crate) fn undo(project: &Project, args: &UndoArgs, host: &Host) -> Result<Reply, Failure> {
    apply(&project.clone().into(), host, Mutation::Undo { change: args.change, back: None })
}

/// Opens an editor with what a task says, and returns what was changed there, and the
/// file in which it was.
fn in_editor(project: &Project, id: &TaskId, host: &Host) -> Result<(TaskEdit, NamedTempFile), Failure> {
    let plan = project.plan_store().load()?.plan;
    let task = plan.task(id).ok_or_else(|| StateError::no_task(&plan, id))?;
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| host.var(name));
    let editor = editor.filter(|editor| !editor.trim().is_empty()).ok_or_else(|| {
        Failure::usage("nothing is to be changed")
            .advise("Say what with options, or set EDITOR to an editor.")
    })?;
    let words = shlex::split(editor).filter(|words| !words.is_empty());
    let words =
        words.ok_or_else(|| Failure::usage(format!("EDITOR cannot be read as a command: {editor}")))?;
    let file = tempfile::Builder::new().prefix("samuel-task-").suffix(".toml").tempfile();
    let file = file.map_err(|error| io_failure("write", Path::new("a temporary file"), &error))?;
    let before = text_of(task)?;
    fs::write(file.path(), &before).map_err(|error| io_failure("write", file.path(), &error))?;
    let (program, rest) = words.split_first().ok_or_else(|| Failure::usage("EDITOR is empty"))?;
    let status = Command::new(program).args(rest).arg(file.path()).status().map_err(|error| {
        Failure::new(ErrorCode::PROCESS_FAILED, format!("the editor {program} cannot be started"))
            .because(&error)
            .advise("Set VISUAL or EDITOR to an editor that is there, or say with options what to change.")
    })?;
    if !status.success() {
        return Err(Failure::new(
            ErrorCode::PROCESS_FAILED,
            format!("{program} ended with {status}; nothing was changed"),
        ));
    }
    let text = fs::read_to_string(file.path()).map_err(|error| io_failure("read", file.path(), &error))?;
    match toml::from_str::<TaskEdit>(&text) {
        Ok(said) => Ok((said.beside(task), file)),
        Err(error) => {
            let failure = "the text of the task cannot be read; nothing was changed";
            Err(kept(Failure::new(ErrorCode::TASK_INVALID, failure).because(&error), file))
        }
    }
}

/// Writes what a task says as TOML.
fn text_of(task: &Task) -> Result<String, Failure> {
    let text = toml::to_string_pretty(&TaskEdit::of(task))
        .map_err(|error| Failure::internal("a task cannot be written as TOML").because(&error))?;
    Ok(format!(
        "# Task {}. What you save is taken; leave a line out to keep what is there.\n\n{text}",
        task.id
    ))
}
