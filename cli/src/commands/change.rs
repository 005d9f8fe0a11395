//! Commands that change the plan: `done`, `skip`, `reset`, `enqueue`, `task add`.
//!
//! They are what an agent calls from inside a loop, too; the environment that
//! the loop gave it says which run and iteration that is.

use samuel_core::{
    model::{Task, TaskId},
    project::Project,
    state::{Applied, Change, LoopLock, Mutation, NewTask, StateStore},
    text::RUN_IS_UNDER_WAY,
};
use serde_json::json;

use crate::{
    args::{AddArgs, DoneArgs, EnqueueArgs, ResetArgs, SkipArgs, TaskDetails},
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
};

/// Records that a task is done.
pub(crate) fn done(project: &Project, args: DoneArgs, host: &Host) -> Result<Reply, Failure> {
    let DoneArgs { id, commit_sha, iteration } = args;
    let iteration = iteration.or_else(|| host.iteration());
    let mut reply = apply(project, host, Mutation::Done { id, commit_sha, iteration })?;
    // Whoever asks: while an agent is at work nobody can tell them apart.
    let run_is_under_way = LoopLock::holder(&project.run_dir()).is_ok_and(|holder| holder.is_some());
    if let Some(data) = reply.data.as_object_mut() {
        data.insert("run_is_under_way".to_owned(), json!(run_is_under_way));
    }
    if run_is_under_way {
        reply.text += &format!("{RUN_IS_UNDER_WAY}\n");
    }
    Ok(reply)
}

/// Leaves a task out.
pub(crate) fn skip(project: &Project, args: SkipArgs, host: &Host) -> Result<Reply, Failure> {
    let SkipArgs { id, reason } = args;
    apply(project, host, Mutation::Skip { id, reason })
}

/// Makes a task pending again.
pub(crate) fn reset(project: &Project, args: ResetArgs, host: &Host) -> Result<Reply, Failure> {
    apply(project, host, Mutation::Reset { id: args.id })
}

/// Adds a task.
pub(crate) fn enqueue(project: &Project, args: EnqueueArgs, host: &Host) -> Result<Reply, Failure> {
    let TaskDetails { priority, complexity, source, description, depends_on } = args.details;
    let task = NewTask { priority, complexity, source, description, depends_on, ..NewTask::new(args.title) };
    apply(project, host, Mutation::Enqueue { task })
}

/// Adds a task with an id of the caller's choice.
pub(crate) fn add(project: &Project, args: AddArgs, host: &Host) -> Result<Reply, Failure> {
    let TaskDetails { priority, complexity, source, description, depends_on } = args.details;
    let parent_id = args.parent.or_else(|| known_parent(project, &args.id));
    let task = Task {
        priority,
        complexity,
        source,
        description,
        depends_on,
        parent_id,
        ..Task::new(args.id, args.title)
    };
    apply(project, host, Mutation::Add { task: Box::new(task) })
}

/// Finds the task that a number such as `1.2` places the new one under.
fn known_parent(project: &Project, id: &TaskId) -> Option<TaskId> {
    let plan = project.store().load().ok()?.plan;
    id.numbered_parent().filter(|parent| plan.task(parent).is_some())
}

fn apply(project: &Project, host: &Host, mutation: Mutation) -> Result<Reply, Failure> {
    let Applied { revision, change, task, diagnostics, .. } =
        project.store().meant_for(host.plan(project)).mutate(mutation, host.actor())?;
    let text = match (&task, &change) {
        (Some(task), Change::Unchanged) => {
            format!("{} was {} already\n", safe(task.id.as_str()), task.status)
        }
        (Some(task), Change::Added { .. }) => {
            format!("added {} {}\n", safe(task.id.as_str()), safe(&task.title))
        }
        (Some(task), _) => format!("{} is {}\n", safe(task.id.as_str()), task.status),
        (None, _) => String::new(),
    };
    let data = json!({ "revision": revision, "change": change, "task": task });
    Ok(Reply::new(data, text).warn(diagnostics.iter().map(ToString::to_string)))
}
