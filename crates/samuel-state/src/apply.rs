//! What a mutation does to a plan.
//!
//! [`apply`] is the one place where plans change; every store calls it. It is
//! pure: the time comes in, and nothing is read or written. The revision is
//! the store's business. Where a [group](samuel_model::Groups) stands is nobody's to
//! say: after each change it follows from its parts.

use jiff::Timestamp;

use super::{
    Edit, Mutation, StateError, TaskChange, TaskCredit,
    baseline::Baseline,
    claims,
    new_task::{add_numbered, enqueue},
    regroup::{Before, forget_above},
    revise::revise,
    task_question::{answer_question, ask, not_stored},
    task_status::{block, changed, done, let_go, mark, reset, skip, start, take_back},
};
use samuel_model::{
    Claim, Groups, Mark, Plan, Progress, ProgressStatus, Question, Status, Task, TaskId, Usage, add_cost,
    commit_hash, payload::Mode, settle,
};

/// Changes a plan. After an error the plan is as it was. A claim that is made has the token
/// `plan.revision + 1`, the revision of a store that counts one by one.
///
/// # Errors
/// Returns [`StateError::TaskNotFound`] for an unknown id,
/// [`StateError::TaskExists`], [`StateError::TaskInvalid`],
/// [`StateError::UnknownDependency`] or [`StateError::Cycle`] for a new task
/// that must not be stored, [`StateError::TaskInvalid`] for a commit that is no
/// hash, [`StateError::NotStartable`] for a task that is settled or blocked,
/// [`StateError::QuestionInvalid`], [`StateError::NotAskable`], [`StateError::AnswerWaits`],
/// [`StateError::NoQuestion`] or [`StateError::AnsweredBefore`] for a question or an answer that is none or comes at the
/// wrong time,
/// [`StateError::DiscoveryFull`] for more new tasks than a discovery iteration under way may add,
/// [`StateError::IsGroup`] for a group that is to stand elsewhere than its parts say,
/// [`StateError::Claimed`] for a task or role that somebody else has, [`StateError::NotReady`] for a
/// claim of a task that waits for another, [`StateError::ClaimVoid`] for a token that is not the
/// present one of its claim, [`StateError::ClaimPhase`] for a claim that is further or less far than the
/// change takes, and [`StateError::Landing`] for a task whose work may be on a branch already.
pub fn apply(plan: &mut Plan, mutation: &Mutation, now: Timestamp) -> Result<TaskChange, StateError> {
    let revision = plan.revision.saturating_add(1);
    apply_at(plan, mutation, At { now, revision, reserved: &[] })
}

/// What a change is beside what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) now: Timestamp,
    /// The revision that it makes, which is the token of a claim.
    pub(crate) revision: u64,
    /// Ids that no new task may be given although no task of the plan has them: those in rows that
    /// could not be read.
    pub(crate) reserved: &'a [TaskId],
}

/// Changes a plan as [`apply`] does.
pub(crate) fn apply_at(plan: &mut Plan, mutation: &Mutation, at: At<'_>) -> Result<TaskChange, StateError> {
    let settles = matches!(mutation, Mutation::Land { .. } | Mutation::Drop { .. });
    let landing = !settles && plan.claims.iter().any(Claim::is_landing);
    let before = landing.then(|| plan.clone());
    let change = applied(plan, mutation, at)?;
    claims::drop_stale(plan, at.reserved);
    if let Some(before) = before
        && let Some(id) = claims::lost_in_landing(&before, plan).cloned()
    {
        *plan = before;
        return Err(StateError::Landing { id });
    }
    Ok(change)
}

fn applied(plan: &mut Plan, mutation: &Mutation, at: At<'_>) -> Result<TaskChange, StateError> {
    let At { now, reserved, .. } = at;
    if let Some(refused) = refused_of_group(plan, mutation) {
        return Err(refused);
    }
    let room = room_left(plan, mutation)?;
    let before = may_regroup(mutation).then(|| Before::of(&plan.tasks));
    let mut change = match mutation {
        Mutation::Edit { .. }
        | Mutation::Remove { .. }
        | Mutation::Move { .. }
        | Mutation::Update { .. }
        | Mutation::Undo { .. } => revise(plan, mutation, now)?,
        Mutation::Done { id, commit_sha, iteration } => {
            let commit = commit_hash(commit_sha.as_deref().unwrap_or_default());
            let commit = commit.map_err(|source| StateError::TaskInvalid { id: id.clone(), source })?;
            done(find(plan, id)?, commit, *iteration, now)
        }
        Mutation::Skip { id, reason } => skip(find(plan, id)?, reason.as_deref()),
        Mutation::Reset { id } => {
            let change = reset(find(plan, id)?);
            forget_attempts(plan, id, change)
        }
        Mutation::Enqueue { task } => {
            // A task of the PRD that was removed is still known by its id.
            let known = Baseline::parse(&plan.baseline);
            let reserved: Vec<TaskId> =
                reserved.iter().chain(known.tasks().map(|(id, _)| id)).cloned().collect();
            enqueue(plan, task, now, &reserved)?
        }
        Mutation::Add { task } => add_numbered(plan, (**task).clone(), now)?,
        Mutation::StartTask { id, owner } => {
            claims::refuse_start(plan, id, owner.as_deref())?;
            start(find(plan, id)?, owner.as_deref())?
        }
        // Whoever has claimed it lets go of it by its token.
        Mutation::ReturnToPending { id } if plan.live_claim(id).is_some() => TaskChange::Unchanged,
        Mutation::ReturnToPending { id } => let_go(find(plan, id)?),
        Mutation::Claim { .. }
        | Mutation::Release { .. }
        | Mutation::Submit { .. }
        | Mutation::Hold { .. }
        | Mutation::Unhold { .. }
        | Mutation::Landing { .. }
        | Mutation::Land { .. }
        | Mutation::Drop { .. } => claims::change(plan, mutation, at)?,
        Mutation::TakeBack { ids, .. } => take_back(plan, ids),
        Mutation::AddUsage { usage } => add_usage(&mut plan.progress, *usage),
        Mutation::Block { id, reason } => block(find(plan, id)?, reason.as_deref()),
        Mutation::Ask { id, question, options } => {
            let question = Question::new(question, options.clone());
            ask(find(plan, id)?, question.map_err(|source| not_stored(id, source))?)?
        }
        Mutation::Answer { id, answer } => answer_question(find(plan, id)?, answer)?,
        Mutation::Heard { id, question } => {
            // Of a task that is gone there is nothing to forget.
            let heard =
                plan.tasks.iter_mut().find(|task| task.id == *id && task.question.as_ref() == Some(question));
            heard.map_or(TaskChange::Unchanged, |task| changed(task, |task| task.question = None))
        }
        Mutation::Mark { id, marks } => {
            let task = plan.tasks.iter_mut().find(|task| task.id == *id);
            task.map_or(TaskChange::Unchanged, |task| mark(task, marks))
        }
        Mutation::CommitIteration { iteration, mode, usage, credits } => {
            // What another lane looks for meanwhile is not over.
            if *mode == Mode::Discovery || !plan.is_discovery_claimed() {
                plan.progress.discovery_room = None;
            }
            let figures = commit_iteration(&mut plan.progress, *iteration, *mode, *usage, now);
            credit(&mut plan.tasks, credits).unwrap_or(figures)
        }
        Mutation::BeginDiscovery { room } => {
            plan.progress.discovery_room = Some(*room);
            TaskChange::Progress
        }
        Mutation::SetProgressStatus { status } => {
            let before = (plan.progress.status, plan.progress.discovery_room);
            plan.progress.status = *status;
            // No discovery goes on from one run to the next. One lane may begin to look before another one says
            // that the run has begun.
            if *status != ProgressStatus::Running || !plan.is_discovery_claimed() {
                plan.progress.discovery_room = None;
            }
            match before == (plan.progress.status, plan.progress.discovery_room) {
                true => TaskChange::Unchanged,
                false => TaskChange::Progress,
            }
        }
    };
    if let (Some(room), true) = (room, change != TaskChange::Unchanged) {
        plan.progress.discovery_room = Some(room);
    }
    if change != TaskChange::Unchanged {
        match before {
            Some(before) => {
                let follows = before.settle(&mut plan.tasks, now);
                if let TaskChange::Several { edits } = &mut change {
                    edits.extend(follows);
                }
            }
            None if !matches!(change, TaskChange::Progress | TaskChange::Claims { .. }) => {
                settle(&mut plan.tasks, Some(now));
            }
            None => {}
        }
        match (mutation, &change) {
            (Mutation::Reset { id }, _) => forget_above(&mut plan.tasks, std::slice::from_ref(id)),
            (_, TaskChange::TakenBack { ids }) => forget_above(&mut plan.tasks, ids),
            _ => {}
        }
        if plan.progress.status == ProgressStatus::Completed && change.leaves_work() {
            // Nobody may read of a plan with work left that it is done.
            plan.progress.status = ProgressStatus::Stopped;
        }
        plan.project.updated_at = Some(now);
        count_tasks(plan);
    }
    Ok(change)
}

/// Has a task that is reset begin with a first attempt, which is a change by itself.
fn forget_attempts(plan: &mut Plan, id: &TaskId, change: TaskChange) -> TaskChange {
    let known = plan.claims.len();
    claims::forget_attempts(plan, id);
    match change {
        TaskChange::Unchanged if plan.claims.len() < known => {
            TaskChange::Claims { of: vec![id.clone().into()] }
        }
        change => change,
    }
}

/// Returns how many tasks may still be added after a change that adds some while a discovery is under
/// way; nothing where it adds none, or none is.
fn room_left(plan: &Plan, mutation: &Mutation) -> Result<Option<u32>, StateError> {
    let added = match mutation {
        Mutation::Add { .. } | Mutation::Enqueue { .. } => 1,
        Mutation::Update { update } => update.added.len(),
        Mutation::Undo { back: Some(back), .. } => back.put_back().count(),
        _ => 0,
    };
    let Some(room) = plan.progress.discovery_room.filter(|_| added > 0) else { return Ok(None) };
    let left = u32::try_from(added).ok().and_then(|added| room.checked_sub(added));
    left.map(Some).ok_or(StateError::DiscoveryFull { added, room })
}

/// Says whether a change may give parts to tasks, or take them away.
fn may_regroup(mutation: &Mutation) -> bool {
    matches!(
        mutation,
        Mutation::Add { .. }
            | Mutation::Enqueue { .. }
            | Mutation::Remove { .. }
            | Mutation::Move { .. }
            | Mutation::Update { .. }
            | Mutation::Undo { .. }
    )
}

/// Refuses to have a group stand elsewhere than its parts say. What it says of itself
/// already is no change.
fn refused_of_group(plan: &Plan, mutation: &Mutation) -> Option<StateError> {
    let (id, to) = match mutation {
        Mutation::Done { id, .. } => (id, Status::Completed),
        Mutation::Skip { id, .. } => (id, Status::Skipped),
        Mutation::Reset { id } => (id, Status::Pending),
        Mutation::StartTask { id, .. } => (id, Status::InProgress),
        Mutation::Block { id, .. } | Mutation::Ask { id, .. } => (id, Status::Blocked),
        _ => return None,
    };
    let groups = Groups::of(&plan.tasks);
    let place = plan.tasks.iter().position(|task| task.id == *id).filter(|place| groups.is_group(*place))?;
    let parts = groups.parts(place).iter().filter_map(|part| plan.tasks.get(*part));
    let open = parts.filter(|part| !part.is_settled()).map(|part| part.id.clone()).collect();
    let status = plan.tasks.get(place).map(|task| task.status)?;
    let is_asked = matches!(mutation, Mutation::Ask { .. });
    (status != to || is_asked).then(|| StateError::IsGroup { id: id.clone(), status, open })
}

/// Brings the counts of tasks up to date.
pub(crate) fn count_tasks(plan: &mut Plan) {
    plan.progress.total_tasks = plan.tasks.len() as u64;
    plan.progress.completed_tasks = plan.count(Status::Completed) as u64;
}

fn find<'a>(plan: &'a mut Plan, id: &TaskId) -> Result<&'a mut Task, StateError> {
    let nearest = if plan.task(id).is_none() { plan.nearest_ids(id) } else { Vec::new() };
    let found = plan.tasks.iter_mut().find(|task| task.id == *id);
    found.ok_or_else(|| StateError::TaskNotFound { id: id.clone(), nearest })
}

fn commit_iteration(
    progress: &mut Progress,
    iteration: u32,
    mode: Mode,
    usage: Usage,
    at: Timestamp,
) -> TaskChange {
    progress.current_iteration = iteration;
    progress.total_iterations_run = progress.total_iterations_run.saturating_add(1);
    progress.last_iteration_at = Some(at);
    match mode {
        Mode::Implementation => progress.impl_iterations = progress.impl_iterations.saturating_add(1),
        Mode::Discovery => {
            progress.discovery_iterations = progress.discovery_iterations.saturating_add(1);
            progress.last_discovery_at = Some(at);
            progress.last_discovery_iteration = progress.total_iterations_run;
        }
    }
    add_usage(progress, usage)
}

/// Stores the credits of completed tasks. Returns nothing if no task changes.
fn credit(tasks: &mut [Task], credits: &[TaskCredit]) -> Option<TaskChange> {
    let mut edits = Vec::new();
    for TaskCredit { id, commit, unchanged } in credits {
        let task = tasks.iter_mut().find(|task| task.id == *id && task.status == Status::Completed);
        let Some(task) = task else { continue };
        let marks: &[Mark] = if *unchanged { &[Mark::NoChange] } else { &[] };
        if mark(task, marks) != TaskChange::Unchanged || task.commit_sha != *commit {
            task.commit_sha.clone_from(commit);
            edits.push(Edit::Changed { id: id.clone() });
        }
    }
    match edits.as_slice() {
        [] => None,
        [Edit::Changed { id }] => {
            Some(TaskChange::Task { id: id.clone(), from: Status::Completed, to: Status::Completed })
        }
        _ => Some(TaskChange::Several { edits }),
    }
}

fn add_usage(progress: &mut Progress, usage: Usage) -> TaskChange {
    progress.cost_usd = add_cost(progress.cost_usd, usage.cost_usd.unwrap_or(0.0));
    progress.tokens = progress.tokens.saturating_add(usage.tokens());
    TaskChange::Progress
}

#[cfg(test)]
mod tests;
