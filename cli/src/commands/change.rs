//! Commands that change the plan: `done`, `skip`, `reset`, `ask`, `answer`, `learn`, `enqueue`, `task add`.
//!
//! They are what an agent calls from inside a loop, too; the environment that
//! the loop gave it says which run and iteration that is.

use std::{
    thread,
    time::{Duration, Instant},
};

use samuel_core::{
    broker::PlanAccess,
    model::{Coded as _, ErrorCode, Status, Task},
    state::{Applied, LOCK_WAIT, Learned, MAX_LEARNED_CHARS, Mutation, NewTask, StateError, TaskChange},
    text::RUN_IS_UNDER_WAY,
};
use serde_json::json;

use crate::{
    args::{
        AddArgs, AnswerArgs, AskArgs, DoneArgs, EnqueueArgs, LearnArgs, ResetArgs, SkipArgs, TaskDetails,
    },
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
};

/// Records that a task is done.
pub(crate) fn done(plan: &PlanAccess, args: DoneArgs, host: &Host) -> Result<Reply, Failure> {
    let DoneArgs { id, commit_sha, iteration } = args;
    let iteration = iteration.or_else(|| host.origin().iteration());
    let mut reply = apply(plan, host, Mutation::Done { id, commit_sha, iteration })?;
    // Whoever asks: while an agent is at work nobody can tell them apart.
    let run_is_under_way = plan.is_at_work();
    if let Some(data) = reply.data.as_object_mut() {
        data.insert("run_is_under_way".to_owned(), json!(run_is_under_way));
    }
    if run_is_under_way {
        reply.text += &format!("{RUN_IS_UNDER_WAY}\n");
    }
    Ok(reply)
}

/// Leaves a task out.
pub(crate) fn skip(plan: &PlanAccess, args: SkipArgs, host: &Host) -> Result<Reply, Failure> {
    let SkipArgs { id, reason } = args;
    apply(plan, host, Mutation::Skip { id, reason })
}

/// Makes a task pending again.
pub(crate) fn reset(plan: &PlanAccess, args: ResetArgs, host: &Host) -> Result<Reply, Failure> {
    apply(plan, host, Mutation::Reset { id: args.id })
}

/// Asks something about a task.
pub(crate) fn ask(plan: &PlanAccess, args: AskArgs, host: &Host) -> Result<Reply, Failure> {
    let AskArgs { id, question, option: options } = args;
    apply(plan, host, Mutation::Ask { id, question, options })
}

/// Answers what was asked about a task.
pub(crate) fn answer(plan: &PlanAccess, args: AnswerArgs, host: &Host) -> Result<Reply, Failure> {
    let AnswerArgs { id, answer } = args;
    apply(plan, host, Mutation::Answer { id, answer })
}

/// Records what later iterations should know.
pub(crate) fn learn(plan: &PlanAccess, args: LearnArgs, host: &Host) -> Result<Reply, Failure> {
    let LearnArgs { text, kind } = args;
    let learned = Learned::new(kind, text).map_err(|error| {
        let help = format!("Say it in 1 to {MAX_LEARNED_CHARS} characters.");
        Failure::usage(format!("the learning cannot be stored: {error}")).advise(help)
    })?;
    once_put_back(plan, || plan.learn(&learned, &host.origin()))?;
    Ok(Reply::new(json!({ "learned": learned }), "learned\n"))
}

/// Adds a task.
pub(crate) fn enqueue(plan: &PlanAccess, args: EnqueueArgs, host: &Host) -> Result<Reply, Failure> {
    let TaskDetails { priority, complexity, source, description, depends_on } = args.details;
    let parent_id = args.parent;
    let task = NewTask {
        parent_id,
        priority,
        complexity,
        source,
        description,
        depends_on,
        ..NewTask::new(args.title)
    };
    apply(plan, host, Mutation::Enqueue { task })
}

/// Adds a task with an id of the caller's choice.
pub(crate) fn add(plan: &PlanAccess, args: AddArgs, host: &Host) -> Result<Reply, Failure> {
    let TaskDetails { priority, complexity, source, description, depends_on } = args.details;
    let task = Task {
        priority,
        complexity,
        source,
        description,
        depends_on,
        parent_id: args.parent,
        ..Task::new(args.id, args.title)
    };
    apply(plan, host, Mutation::Add { task: Box::new(task) })
}

pub(super) fn apply(plan: &PlanAccess, host: &Host, mutation: Mutation) -> Result<Reply, Failure> {
    let store = plan.store();
    let (made_at, asker) = (plan.made_at(&host.origin()), host.asker());
    let applied = once_put_back(plan, || store.mutate_as(made_at, mutation.clone(), &asker));
    let Applied { revision, change, task, diagnostics, not_landing, .. } = applied?;
    let text = match (&task, &change) {
        (Some(task), TaskChange::Unchanged) => {
            format!("{} was {} already\n", safe(task.id.as_str()), task.status)
        }
        (Some(task), TaskChange::Added { .. }) => {
            let part = task.parent_id.as_ref().map(|group| format!(", a part of {}", safe(group.as_str())));
            format!("added {} {}{}\n", safe(task.id.as_str()), safe(&task.title), part.unwrap_or_default())
        }
        (Some(task), TaskChange::Task { from: Status::Completed, to: Status::Skipped, .. }) => {
            format!("{} is skipped; it was completed before\n", safe(task.id.as_str()))
        }
        (Some(task), _) if matches!(mutation, Mutation::Edit { .. }) => {
            format!("{} {} is changed\n", safe(task.id.as_str()), safe(&task.title))
        }
        (Some(task), _) if matches!(mutation, Mutation::Ask { .. }) => {
            format!("{} waits for an answer\n", safe(task.id.as_str()))
        }
        (Some(task), _) if matches!(mutation, Mutation::Answer { .. }) => {
            format!("{} is pending, and its next prompt holds the answer\n", safe(task.id.as_str()))
        }
        (Some(task), _) => format!("{} is {}\n", safe(task.id.as_str()), task.status),
        (None, TaskChange::Claims { of }) => {
            of.iter().map(|target| format!("{} is given back\n", safe(target.as_str()))).collect()
        }
        (None, TaskChange::Unchanged) => "nothing is different\n".to_owned(),
        (None, change) => {
            change.edits().iter().map(|edit| format!("{}\n", safe(&edit.to_string()))).collect()
        }
    };
    let text = match (text.strip_suffix('\n'), &change) {
        (_, TaskChange::Unchanged) => text,
        (Some(text), _) => format!("{text} (change {revision})\n"),
        (None, _) => format!("change {revision}\n"),
    };
    let stays = not_landing.iter().map(|work| {
        let (task, branch) = (safe(work.task.as_str()), safe(&work.branch));
        format!("the work that was submitted for {task} does not land; it stays on {branch}\n")
    });
    let text = text + &stays.collect::<String>();
    let mut data = json!({ "revision": revision, "change": change, "task": task });
    if let Some(data) = data.as_object_mut().filter(|_| !not_landing.is_empty()) {
        data.insert("not_landing".to_owned(), json!(not_landing));
    }
    Ok(Reply::new(data, text).warn(diagnostics.iter().map(ToString::to_string)))
}

/// What is wrong with a plan that a loop is about to put back.
const LOST: [ErrorCode; 3] =
    [ErrorCode::STATE_NOT_INITIALISED, ErrorCode::STATE_CORRUPT, ErrorCode::STATE_VERSION];
/// Interval between two looks at a plan that a loop is about to restore.
const PUT_BACK_STEP: Duration = Duration::from_millis(50);

/// Makes a change. If the plan was removed or broken while a loop is at work, waits until the loop has restored it, as
/// long as for a lock: the loop itself waits up to two seconds for a plan that is being written.
fn once_put_back<R>(plan: &PlanAccess, change: impl Fn() -> Result<R, StateError>) -> Result<R, StateError> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        let changed = change();
        let is_lost = changed.as_ref().is_err_and(|error| LOST.contains(&error.code()));
        if !is_lost || Instant::now() >= deadline || !plan.is_at_work() {
            return changed;
        }
        thread::sleep(PUT_BACK_STEP);
    }
}
