//! What changes of claims do to a plan.
//!
//! [`change`] makes them for [`apply`](super::apply()). The token of a claim is the revision that
//! made it; whoever submits, lands or releases it names that token, and is refused once it is not
//! the present one: what is late is void, and says so. [`drop_stale`] keeps what holds of all
//! claims, whatever else is changed: a claim lasts as long as its task is in progress.
//!
//! Who claims what, and who takes whom for dead, is decided elsewhere.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Edit, Mutation, StateError, TaskChange,
    apply::At,
    task_status::{block, forget_outcome},
};
use samuel_model::{
    Claim, ClaimPhase, ClaimTarget, Groups, InvalidTask, MAX_BRANCH_BYTES, MAX_CONFLICT_FILES,
    MAX_OWNER_CHARS, Mark, Plan, ReleaseReason, Role, Status, Task, TaskId, commit_hash, settle,
};

/// A claim that is landed, as [`Mutation::Landing`] names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingClaim {
    /// The task.
    pub task: TaskId,
    /// The claim's token.
    pub token: u64,
    /// The commit that was submitted.
    pub commit: String,
    /// The commit with its work on the branch that is moved.
    pub landed: String,
}

/// Makes a change of claims. After an error the plan is as it was.
///
/// # Errors
/// Returns [`StateError::Claimed`], [`StateError::ClaimVoid`], [`StateError::ClaimPhase`],
/// [`StateError::Landing`] and [`StateError::NotReady`] as [`apply`](super::apply()) says, and errors
/// of a task that is not there or is not what it would have to be.
pub(super) fn change(plan: &mut Plan, mutation: &Mutation, at: At<'_>) -> Result<TaskChange, StateError> {
    match mutation {
        Mutation::Claim { task, worker } => claim(plan, task, worker, at),
        Mutation::Release { task, token, reason, kept } => {
            release(plan, task, *token, reason, kept.as_deref(), at.now)
        }
        Mutation::Submit { task, token, branch, commit, base, tree, iteration } => {
            let (commit, base) = (hash(task, commit)?, hash(task, base)?);
            let tree = tree.as_deref().map(|tree| hash(task, tree)).transpose()?;
            check_branch(task, branch)?;
            submit(
                plan,
                task,
                *token,
                Submitted { branch, commit, base, tree, iteration: *iteration },
                at.now,
            )
        }
        Mutation::Hold { task, token, .. } => {
            hold(plan, task, *token, [ClaimPhase::Submitted, ClaimPhase::Held], at.now)
        }
        Mutation::Unhold { task, token } => {
            hold(plan, task, *token, [ClaimPhase::Held, ClaimPhase::Submitted], at.now)
        }
        Mutation::Landing { role, into, old, new, claims } => {
            landing(plan, *role, Move { into, old, new }, claims, at.now)
        }
        Mutation::Land { role, unchanged } => land(plan, *role, unchanged, at.now),
        Mutation::Drop { role, .. } => withdraw(plan, *role, at.now),
        _ => Ok(TaskChange::Unchanged),
    }
}

/// Returns a hash as it is stored.
fn hash<'a>(task: &TaskId, text: &'a str) -> Result<&'a str, StateError> {
    let invalid = |source| StateError::TaskInvalid { id: task.clone(), source };
    commit_hash(text).map_err(invalid)?.ok_or_else(|| invalid(InvalidTask::Commit))
}

/// Refuses a name of a branch that could not be read again.
fn check_branch(task: &TaskId, name: &str) -> Result<(), StateError> {
    let is_name = !name.is_empty() && name.len() <= MAX_BRANCH_BYTES && !name.chars().any(char::is_control);
    let invalid = || StateError::TaskInvalid { id: task.clone(), source: InvalidTask::Branch };
    is_name.then_some(()).ok_or_else(invalid)
}

fn claim(plan: &mut Plan, of: &ClaimTarget, worker: &str, at: At<'_>) -> Result<TaskChange, StateError> {
    let worker: String = worker.chars().take(MAX_OWNER_CHARS).collect();
    let place = plan.claims.iter().position(|claim| claim.task == *of);
    let before = place.and_then(|place| plan.claims.get(place));
    let mut begun = Claim::begun(of.clone(), at.revision, &worker, at.now);
    match before {
        Some(Claim { phase: ClaimPhase::Released, attempt, why, files, .. }) => {
            begun.attempt = attempt.saturating_add(1);
            begun.why.clone_from(why);
            begun.files.clone_from(files);
        }
        // What was being landed has to be settled first, by whoever has the role now.
        Some(landing) if landing.is_landing() && landing.worker.is_none() => {
            begun = Claim { token: at.revision, worker: Some(worker.clone()), ..landing.clone() };
        }
        Some(claim) => return Err(StateError::claimed(claim)),
        None => {}
    }
    let change = match of {
        ClaimTarget::Role(_) => TaskChange::Claims { of: vec![of.clone()] },
        ClaimTarget::Task(id) => begin(plan, id, &worker)?,
    };
    match place.and_then(|place| plan.claims.get_mut(place)) {
        Some(row) => *row = begun,
        None => plan.claims.push(begun),
    }
    Ok(change)
}

/// Has a task be in progress that somebody claims.
fn begin(plan: &mut Plan, id: &TaskId, worker: &str) -> Result<TaskChange, StateError> {
    let groups = Groups::of(&plan.tasks);
    let place = plan.tasks.iter().position(|task| task.id == *id);
    let place = place.ok_or_else(|| StateError::no_task(plan, id))?;
    let status = plan.tasks.get(place).map(|task| task.status).unwrap_or_default();
    if groups.is_group(place) {
        let parts = groups.parts(place).iter().filter_map(|part| plan.tasks.get(*part));
        let open = parts.filter(|part| !part.is_settled()).map(|part| part.id.clone()).collect();
        return Err(StateError::IsGroup { id: id.clone(), status, open });
    }
    if status != Status::Pending {
        return Err(StateError::NotStartable { id: id.clone(), status });
    }
    if let Some(waits_for) = waits_for(plan, &groups, place) {
        return Err(StateError::NotReady { id: id.clone(), waits_for: waits_for.clone() });
    }
    if let Some(task) = plan.tasks.get_mut(place) {
        (task.status, task.owner) = (Status::InProgress, Some(worker.to_owned()));
    }
    Ok(TaskChange::Task { id: id.clone(), from: status, to: Status::InProgress })
}

/// Returns something that a task, or a group it is in, waits for.
fn waits_for<'a>(plan: &'a Plan, groups: &Groups, place: usize) -> Option<&'a TaskId> {
    let places: HashMap<&TaskId, usize> =
        plan.tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
    let open = |from: usize| {
        let is_open = |id: &&TaskId| match places.get(*id) {
            None => true,
            Some(other) => {
                let is_around = groups.contains(from, *other) || groups.contains(*other, from);
                !is_around && plan.tasks.get(*other).is_some_and(|task| !task.is_settled())
            }
        };
        plan.tasks.get(from).and_then(|task| task.depends_on.iter().find(is_open))
    };
    std::iter::successors(Some(place), |place| groups.parent(*place)).find_map(open)
}

fn release(
    plan: &mut Plan,
    of: &ClaimTarget,
    token: u64,
    reason: &ReleaseReason,
    kept: Option<&str>,
    now: Timestamp,
) -> Result<TaskChange, StateError> {
    let place = current(plan, of, token)?;
    let is_landed = landing_tasks(plan).any(|id| of.task() == Some(id));
    let Some(claim) = plan.claims.get_mut(place) else { return Ok(TaskChange::Unchanged) };
    let ClaimTarget::Task(id) = of else {
        if claim.is_landing() {
            // Whether the branch moved is still to be found out.
            claim.worker = None;
        } else {
            plan.claims.remove(place);
        }
        return Ok(TaskChange::Claims { of: vec![of.clone()] });
    };
    if is_landed {
        return Err(StateError::Landing { id: id.clone() });
    }
    kept.map_or(Ok(()), |name| check_branch(id, name))?;
    let failed = if reason.counts() { claim.attempt } else { claim.attempt.saturating_sub(1) };
    let earlier = claim.why.take().filter(|_| !reason.is_told());
    let why = earlier.or_else(|| Some(reason.kept()));
    let kept = kept.map(str::to_owned).or(claim.branch.take());
    let commit = claim.commit.take().filter(|_| kept.is_some());
    let mut files = std::mem::take(&mut claim.files);
    if let ReleaseReason::Conflict { files: seen } = reason {
        let new: Vec<String> = seen.iter().filter(|file| !files.contains(file)).cloned().collect();
        files.extend(new);
        files.truncate(MAX_CONFLICT_FILES);
    }
    let fresh = Claim::begun(of.clone(), token, "", now);
    *claim = Claim {
        worker: None,
        phase: ClaimPhase::Released,
        attempt: failed,
        branch: kept,
        commit,
        why,
        files,
        ..fresh
    };
    if claim.attempt == 0 && claim.branch.is_none() && !claim.has_lost() {
        plan.claims.remove(place);
    }
    let Some(task) = plan.tasks.iter_mut().find(|task| task.id == *id) else {
        return Ok(TaskChange::Claims { of: vec![of.clone()] });
    };
    if reason.blocks() {
        return Ok(block(task, Some(&reason.kept())));
    }
    let from = std::mem::replace(&mut task.status, Status::Pending);
    (task.owner, task.iteration) = (None, None);
    Ok(TaskChange::Task { id: id.clone(), from, to: Status::Pending })
}

/// What is submitted.
struct Submitted<'a> {
    branch: &'a str,
    commit: &'a str,
    base: &'a str,
    tree: Option<&'a str>,
    iteration: Option<u32>,
}

fn submit(
    plan: &mut Plan,
    id: &TaskId,
    token: u64,
    work: Submitted<'_>,
    now: Timestamp,
) -> Result<TaskChange, StateError> {
    let of = ClaimTarget::Task(id.clone());
    let place = current(plan, &of, token)?;
    let Some(claim) = plan.claims.get_mut(place) else { return Ok(TaskChange::Unchanged) };
    match claim.phase {
        ClaimPhase::Working => {}
        // Somebody asks again who was not told.
        ClaimPhase::Submitted | ClaimPhase::Held | ClaimPhase::Landing
            if claim.commit.as_deref() == Some(work.commit) =>
        {
            return Ok(TaskChange::Unchanged);
        }
        phase => return Err(StateError::ClaimPhase { of, phase }),
    }
    claim.phase = ClaimPhase::Submitted;
    claim.since = now;
    claim.branch = Some(work.branch.to_owned());
    claim.commit = Some(work.commit.to_owned());
    claim.base = Some(work.base.to_owned());
    claim.tree = work.tree.map(str::to_owned);
    // It is the iteration that completes the task once the work is merged.
    if let Some(task) = plan.tasks.iter_mut().find(|task| task.id == *id) {
        task.iteration = work.iteration;
    }
    Ok(TaskChange::Claims { of: vec![of] })
}

/// Has submitted work be held, or no more: go from one phase to another, in which it may be already.
fn hold(
    plan: &mut Plan,
    id: &TaskId,
    token: u64,
    [from, to]: [ClaimPhase; 2],
    now: Timestamp,
) -> Result<TaskChange, StateError> {
    let of = ClaimTarget::Task(id.clone());
    let place = current(plan, &of, token)?;
    let Some(claim) = plan.claims.get_mut(place) else { return Ok(TaskChange::Unchanged) };
    match claim.phase {
        phase if phase == to => return Ok(TaskChange::Unchanged),
        phase if phase == from => {}
        ClaimPhase::Landing => return Err(StateError::Landing { id: id.clone() }),
        phase => return Err(StateError::ClaimPhase { of, phase }),
    }
    (claim.phase, claim.since) = (to, now);
    Ok(TaskChange::Claims { of: vec![of] })
}

/// Where a branch is moved.
struct Move<'a> {
    into: &'a str,
    old: &'a str,
    new: &'a str,
}

fn landing(
    plan: &mut Plan,
    role: u64,
    to: Move<'_>,
    landed: &[LandingClaim],
    now: Timestamp,
) -> Result<TaskChange, StateError> {
    let merge = ClaimTarget::Role(Role::Merge);
    let place = current(plan, &merge, role)?;
    let mut places = Vec::with_capacity(landed.len());
    for LandingClaim { task, token, commit, landed } in landed {
        let of = ClaimTarget::Task(task.clone());
        let at = current(plan, &of, *token)?;
        let claim = plan.claims.get(at);
        let is_it = |claim: &&Claim| {
            claim.phase == ClaimPhase::Submitted && claim.commit.as_deref() == Some(commit.as_str())
        };
        if claim.filter(is_it).is_none() {
            let phase = claim.map(|claim| claim.phase).unwrap_or_default();
            return Err(StateError::ClaimPhase { of, phase });
        }
        places.push((at, hash(task, landed)?.to_owned()));
    }
    let first = landed.first().map(|claim| claim.task.clone());
    let first = first.ok_or(StateError::ClaimPhase { of: merge.clone(), phase: ClaimPhase::Working })?;
    check_branch(&first, to.into)?;
    let (old, new) = (hash(&first, to.old)?.to_owned(), hash(&first, to.new)?.to_owned());
    if let Some(claim) = plan.claims.get_mut(place) {
        if claim.phase != ClaimPhase::Working {
            return Err(StateError::ClaimPhase { of: merge, phase: claim.phase });
        }
        (claim.phase, claim.since) = (ClaimPhase::Landing, now);
        (claim.branch, claim.base, claim.commit) = (Some(to.into.to_owned()), Some(old), Some(new));
    }
    for (at, landed) in places {
        if let Some(claim) = plan.claims.get_mut(at) {
            // Since when it waits stays: the landing may come to nothing, and others come no sooner for that.
            (claim.phase, claim.landed) = (ClaimPhase::Landing, Some(landed));
        }
    }
    let tasks = landed.iter().map(|claim| ClaimTarget::Task(claim.task.clone()));
    Ok(TaskChange::Claims { of: std::iter::once(merge).chain(tasks).collect() })
}

/// The branch has moved: what was being landed is completed.
fn land(plan: &mut Plan, role: u64, unchanged: &[TaskId], now: Timestamp) -> Result<TaskChange, StateError> {
    end_landing(plan, role, now)?;
    let is_landed = |claim: &Claim| claim.is_landing() && claim.task.task().is_some();
    let (landed, left) = std::mem::take(&mut plan.claims).into_iter().partition(is_landed);
    plan.claims = left;
    let landed: Vec<Claim> = landed;
    let commits: HashMap<&TaskId, Option<String>> =
        landed.iter().filter_map(|claim| Some((claim.task.task()?, claim.landed.clone()))).collect();
    let mut edits = Vec::new();
    for task in &mut plan.tasks {
        let Some(commit) = commits.get(&task.id) else { continue };
        let from = std::mem::replace(&mut task.status, Status::Completed);
        (task.completed_at, task.commit_sha, task.owner) = (Some(now), commit.clone(), None);
        task.marks = if unchanged.contains(&task.id) { vec![Mark::NoChange] } else { Vec::new() };
        edits.push(Edit::Status { id: task.id.clone(), from, to: Status::Completed });
    }
    Ok(TaskChange::Several { edits })
}

/// The branch has not moved: what was being landed waits again.
fn withdraw(plan: &mut Plan, role: u64, now: Timestamp) -> Result<TaskChange, StateError> {
    end_landing(plan, role, now)?;
    let mut of = vec![ClaimTarget::Role(Role::Merge)];
    for claim in plan.claims.iter_mut().filter(|claim| claim.is_landing()) {
        (claim.phase, claim.landed) = (ClaimPhase::Submitted, None);
        of.push(claim.task.clone());
    }
    Ok(TaskChange::Claims { of })
}

/// Has whoever merges land nothing any more.
fn end_landing(plan: &mut Plan, role: u64, now: Timestamp) -> Result<(), StateError> {
    let merge = ClaimTarget::Role(Role::Merge);
    let place = current(plan, &merge, role)?;
    if let Some(claim) = plan.claims.get_mut(place) {
        if !claim.is_landing() {
            return Err(StateError::ClaimPhase { of: merge, phase: claim.phase });
        }
        (claim.phase, claim.since) = (ClaimPhase::Working, now);
        (claim.branch, claim.base, claim.commit) = (None, None, None);
    }
    Ok(())
}

/// Returns the place of a claim, unless the token is not its present one, or nobody works on it.
fn current(plan: &Plan, of: &ClaimTarget, token: u64) -> Result<usize, StateError> {
    let is_it = |claim: &Claim| {
        claim.task == *of && claim.token == token && claim.worker.is_some() && claim.is_live()
    };
    let place = plan.claims.iter().position(is_it);
    place.ok_or_else(|| {
        let now = plan.claim(of).filter(|claim| claim.is_live() && claim.worker.is_some());
        StateError::ClaimVoid { of: of.clone(), token, now: now.map(|claim| claim.token) }
    })
}

/// Refuses to begin with a task that somebody else has claimed.
pub(super) fn refuse_start(plan: &Plan, id: &TaskId, owner: Option<&str>) -> Result<(), StateError> {
    match plan.live_claim(id) {
        Some(claim) if claim.worker.as_deref() != owner || claim.phase != ClaimPhase::Working => {
            Err(StateError::claimed(claim))
        }
        _ => Ok(()),
    }
}

/// Forgets what is kept of earlier attempts at a task.
pub(super) fn forget_attempts(plan: &mut Plan, id: &TaskId) {
    plan.claims.retain(|claim| claim.is_live() || claim.task.task() != Some(id));
}

/// Drops claims that hold no more: those of tasks that are not in progress, are groups or are gone,
/// and what is kept of attempts at tasks that are settled. Those of tasks whose rows cannot be read
/// stay.
pub(super) fn drop_stale(plan: &mut Plan, unread: &[TaskId]) {
    if plan.claims.is_empty() {
        return;
    }
    let groups = Groups::of(&plan.tasks);
    let tasks: HashMap<&TaskId, (usize, &Task)> =
        plan.tasks.iter().enumerate().map(|(place, task)| (&task.id, (place, task))).collect();
    plan.claims.retain(|claim| {
        let Some(id) = claim.task.task() else { return claim.is_live() };
        match tasks.get(id) {
            None => unread.contains(id),
            Some((place, task)) => match claim.phase {
                ClaimPhase::Released => !task.is_settled() && !groups.is_group(*place),
                _ => task.status == Status::InProgress && !groups.is_group(*place),
            },
        }
    });
}

/// Returns a task that was being landed and is claimed no more, if there is one: whether its work
/// is on the branch is not known, so nothing but the end of the landing may settle it.
pub(super) fn lost_in_landing<'a>(before: &'a Plan, now: &Plan) -> Option<&'a TaskId> {
    landing_tasks(before).find(|id| now.live_claim(id).is_none())
}

/// Has each task that is being landed be in progress, wherever somebody set it in the file meanwhile,
/// and returns those that were not: the landing would complete them else, or not, by what it cannot know.
pub(super) fn hold_landing(plan: &mut Plan) -> Vec<TaskId> {
    let has_landing = landing_tasks(plan).next().is_some();
    if has_landing { keep_in_progress(plan, |_, is_landing| is_landing) } else { Vec::new() }
}

/// Does the same while a loop is at work, also with each claimed task that a row says is completed or skipped: an edit
/// settles nothing that somebody works on.
pub(super) fn hold_claimed(plan: &mut Plan) -> Vec<TaskId> {
    keep_in_progress(plan, |task, is_landing| is_landing || task.is_settled())
}

/// Has claimed tasks be in progress which a function picks, by the task and by whether it is being landed. Returns
/// those that were not.
fn keep_in_progress(plan: &mut Plan, is_kept: impl Fn(&Task, bool) -> bool) -> Vec<TaskId> {
    let landing: Vec<TaskId> = landing_tasks(plan).cloned().collect();
    let live = plan.claims.iter().filter(|claim| claim.is_live());
    let claimed: HashMap<TaskId, Option<String>> =
        live.filter_map(|claim| Some((claim.task.task()?.clone(), claim.worker.clone()))).collect();
    if claimed.is_empty() {
        return Vec::new();
    }
    let groups = Groups::of(&plan.tasks);
    let mut held = Vec::new();
    for (place, task) in plan.tasks.iter_mut().enumerate() {
        let Some(worker) = claimed.get(&task.id) else { continue };
        let is_elsewhere = task.status != Status::InProgress && !groups.is_group(place);
        if is_elsewhere && is_kept(task, landing.contains(&task.id)) {
            forget_outcome(task);
            (task.status, task.owner) = (Status::InProgress, worker.clone());
            held.push(task.id.clone());
        }
    }
    if !held.is_empty() {
        settle(&mut plan.tasks, None);
    }
    held
}

/// Returns the tasks of a landing that is to be settled.
fn landing_tasks(plan: &Plan) -> impl Iterator<Item = &TaskId> {
    let is_under_way = plan.claim(&ClaimTarget::Role(Role::Merge)).is_some_and(Claim::is_landing);
    let landing = plan.claims.iter().filter(move |claim| is_under_way && claim.is_landing());
    landing.filter_map(|claim| claim.task.task())
}
