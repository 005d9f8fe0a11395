//! What a mutation does to a plan.
//!
//! [`apply`] is the one place where plans change; every store calls it. It is
//! pure: the time comes in, and nothing is read or written. The revision is
//! the store's business. Where a [group](crate::model::Groups) stands is nobody's to
//! say: after each change it follows from its parts.

use jiff::Timestamp;

use super::{
    Mutation, StateError, TaskChange,
    baseline::Baseline,
    claims,
    new_task::{add_numbered, enqueue},
    regroup::{Before, forget_above},
    revise::revise,
    task_status::{block, done, let_go, reset, skip, start, take_back},
};
use crate::model::{
    Claim, Groups, Plan, Progress, ProgressStatus, Status, Task, TaskId, Usage, add_cost, commit_hash,
    payload::Mode, settle,
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
        | Mutation::Landing { .. }
        | Mutation::Land { .. }
        | Mutation::Drop { .. } => claims::change(plan, mutation, at)?,
        Mutation::TakeBack { ids, .. } => take_back(plan, ids),
        Mutation::AddUsage { usage } => add_usage(&mut plan.progress, *usage),
        Mutation::Block { id, reason } => block(find(plan, id)?, reason.as_deref()),
        Mutation::CommitIteration { iteration, mode, usage } => {
            commit_iteration(&mut plan.progress, *iteration, *mode, *usage, now)
        }
        Mutation::BeginDiscovery { room } => {
            plan.progress.discovery_room = Some(*room);
            TaskChange::Progress
        }
        // No discovery goes on from one run to the next.
        Mutation::SetProgressStatus { status }
            if plan.progress.status == *status && plan.progress.discovery_room.is_none() =>
        {
            TaskChange::Unchanged
        }
        Mutation::SetProgressStatus { status } => {
            plan.progress.status = *status;
            plan.progress.discovery_room = None;
            TaskChange::Progress
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
        Mutation::Block { id, .. } => (id, Status::Blocked),
        _ => return None,
    };
    let groups = Groups::of(&plan.tasks);
    let place = plan.tasks.iter().position(|task| task.id == *id).filter(|place| groups.is_group(*place))?;
    let parts = groups.parts(place).iter().filter_map(|part| plan.tasks.get(*part));
    let open = parts.filter(|part| !part.is_settled()).map(|part| part.id.clone()).collect();
    let status = plan.tasks.get(place).map(|task| task.status)?;
    (status != to).then(|| StateError::IsGroup { id: id.clone(), status, open })
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
    progress.discovery_room = None;
    add_usage(progress, usage)
}

fn add_usage(progress: &mut Progress, usage: Usage) -> TaskChange {
    progress.cost_usd = add_cost(progress.cost_usd, usage.cost_usd.unwrap_or(0.0));
    progress.tokens = progress.tokens.saturating_add(usage.tokens());
    TaskChange::Progress
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::{
        model::InvalidTask,
        state::{NewTask, Parts, Place},
    };

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_plan_with_work_left_is_not_completed() {
        let changes = [
            Mutation::Reset { id: TaskId::new("1") },
            Mutation::Enqueue { task: NewTask::new("more") },
            Mutation::TakeBack { ids: vec![TaskId::new("1")], failures: Vec::new() },
        ];
        for change in changes {
            let mut plan = plan(&["1"]);
            plan.tasks[0].status = Status::Completed;
            plan.progress.status = ProgressStatus::Completed;
            apply(&mut plan, &change, NOW).unwrap();
            assert_eq!(plan.progress.status, ProgressStatus::Stopped, "{}", change.name());
        }
    }

    fn plan(ids: &[&str]) -> Plan {
        let tasks = ids.iter().map(|id| Task::new(TaskId::new(*id), "t")).collect();
        Plan { tasks, ..Plan::default() }
    }

    fn id(text: &str) -> TaskId {
        TaskId::new(text)
    }

    fn done(text: &str, sha: Option<&str>) -> Mutation {
        Mutation::Done { id: id(text), commit_sha: sha.map(str::to_owned), iteration: None }
    }

    #[test]
    fn done_twice_keeps_the_first_commit() {
        let mut plan = plan(&["1"]);
        let first = apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
        assert!(first.completed().eq([&id("1")]));
        let later = NOW + jiff::SignedDuration::from_secs(9);
        assert_eq!(apply(&mut plan, &done("1", Some("defa")), later).unwrap(), TaskChange::Unchanged);
        assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
        assert_eq!(plan.tasks[0].completed_at, Some(NOW));
        assert_eq!(plan.progress.completed_tasks, 1);
    }

    #[test]
    fn done_again_fills_in_a_commit_that_was_not_known() {
        let mut plan = plan(&["1"]);
        apply(&mut plan, &done("1", None), NOW).unwrap();
        let change = apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
        assert_eq!(change.completed().next(), None, "it was completed before");
        assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
    }

    #[test]
    fn a_blank_commit_is_none_and_what_is_no_commit_is_refused() {
        let mut plan = plan(&["1"]);
        for text in ["HEAD", "abc", "abcd\nabcd", &"a".repeat(65)] {
            let error = apply(&mut plan, &done("1", Some(text)), NOW).unwrap_err();
            assert!(matches!(error, StateError::TaskInvalid { source: InvalidTask::Commit, .. }), "{text}");
            assert_eq!(plan.tasks[0].status, Status::Pending);
        }
        apply(&mut plan, &done("1", Some(" \n")), NOW).unwrap();
        assert_eq!(plan.tasks[0].commit_sha, None);
        apply(&mut plan, &done("1", Some("abcd\n")), NOW).unwrap();
        assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
    }

    #[test]
    fn an_unknown_id_is_an_error_and_leaves_the_plan_alone() {
        let before = plan(&["1"]);
        let mut plan = before.clone();
        for mutation in [done("999", None), Mutation::Reset { id: id("999") }] {
            let error = apply(&mut plan, &mutation, NOW).unwrap_err();
            assert!(matches!(error, StateError::TaskNotFound { id, .. } if id.as_str() == "999"));
        }
        assert_eq!(plan, before);
    }

    #[test]
    fn a_task_that_is_gone_keeps_no_other_completion_standing() {
        let mut plan = plan(&["1"]);
        apply(&mut plan, &done("1", None), NOW).unwrap();
        let take_back = Mutation::TakeBack { ids: vec![id("999"), id("1")], failures: Vec::new() };
        let change = apply(&mut plan, &take_back, NOW).unwrap();
        assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1")] });
    }

    fn group() -> Plan {
        let mut plan = plan(&["1", "1.1", "1.2", "2"]);
        for task in &mut plan.tasks[1..3] {
            task.parent_id = Some(id("1"));
        }
        plan
    }

    fn stands(plan: &Plan) -> String {
        plan.tasks.iter().map(|task| format!("{} {}", task.id, task.status)).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_group_is_completed_with_its_last_part_and_pending_again_with_the_first() {
        let mut plan = group();
        apply(&mut plan, &done("1.1", None), NOW).unwrap();
        let skip = |text: &str| Mutation::Skip { id: id(text), reason: None };
        let change = apply(&mut plan, &skip("1.2"), NOW).unwrap();
        assert_eq!(change, TaskChange::Task { id: id("1.2"), from: Status::Pending, to: Status::Skipped });
        assert_eq!(stands(&plan), "1 completed, 1.1 completed, 1.2 skipped, 2 pending");
        assert_eq!((plan.tasks[0].completed_at, plan.progress.completed_tasks), (Some(NOW), 2));
        assert_eq!(apply(&mut plan, &done("1", None), NOW).unwrap(), TaskChange::Unchanged);
        apply(&mut plan, &skip("1.1"), NOW).unwrap();
        assert_eq!(stands(&plan), "1 skipped, 1.1 skipped, 1.2 skipped, 2 pending");
        apply(&mut plan, &Mutation::Reset { id: id("1.1") }, NOW).unwrap();
        assert_eq!(stands(&plan), "1 pending, 1.1 pending, 1.2 skipped, 2 pending");
        apply(&mut plan, &done("1.1", None), NOW).unwrap();
        let task = Box::new(Task { parent_id: Some(id("1")), ..Task::new(id("1.3"), "t") });
        apply(&mut plan, &Mutation::Add { task }, NOW).unwrap();
        assert_eq!(stands(&plan), "1 pending, 1.1 completed, 1.2 skipped, 2 pending, 1.3 pending");
    }

    #[test]
    fn a_completed_task_is_completed_again_once_its_parts_are_gone() {
        let part = || Box::new(Task { parent_id: Some(id("1")), ..Task::new(id("1.1"), "t") });
        let add = || Mutation::Add { task: part() };
        let under = || Mutation::Move { id: id("2"), to: Place::Under(id("1")) };
        let remove = || Mutation::Remove { ids: vec![id("1.1")], parts: Parts::Refuse };
        let top = || Mutation::Move { id: id("2"), to: Place::Top };
        for (given, taken) in [(add(), remove()), (under(), top())] {
            let mut plan = plan(&["1", "2"]);
            apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
            let before = plan.tasks[0].clone();
            let later = NOW + jiff::SignedDuration::from_secs(9);
            apply(&mut plan, &given, later).unwrap();
            assert_eq!(plan.tasks[0].status, Status::Pending);
            let change = apply(&mut plan, &taken, later).unwrap();
            assert_eq!(plan.tasks[0], before);
            assert!(change.completed().eq([&id("1")]), "{change:?}");
        }
        // A part that is taken back takes the completion with it.
        let mut plan = plan(&["1"]);
        apply(&mut plan, &done("1", None), NOW).unwrap();
        apply(&mut plan, &add(), NOW).unwrap();
        apply(&mut plan, &Mutation::TakeBack { ids: vec![id("1")], failures: Vec::new() }, NOW).unwrap();
        apply(&mut plan, &remove(), NOW).unwrap();
        assert_eq!(stands(&plan), "1 pending");
    }

    #[test]
    fn a_completed_task_that_is_open_again_by_a_part_is_told() {
        let mut plan = plan(&["1", "2"]);
        apply(&mut plan, &done("1", None), NOW).unwrap();
        let change =
            apply(&mut plan, &Mutation::Move { id: id("2"), to: Place::Under(id("1")) }, NOW).unwrap();
        let told: Vec<String> = change.edits().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["task 2 was changed", "task 1 was completed and is pending"]);
    }

    #[test]
    fn open_work_that_is_completed_by_being_given_a_completed_part_is_told() {
        let mut plan = plan(&["1", "2"]);
        apply(&mut plan, &done("1", None), NOW).unwrap();
        let change =
            apply(&mut plan, &Mutation::Move { id: id("1"), to: Place::Under(id("2")) }, NOW).unwrap();
        let told: Vec<String> = change.edits().iter().map(ToString::to_string).collect();
        assert_eq!(told, ["task 1 was changed", "task 2 was pending and is completed"]);
    }

    #[test]
    fn a_group_is_neither_started_nor_settled_by_itself() {
        let mut plan = group();
        let before = plan.clone();
        let id = || id("1");
        for mutation in [
            done("1", Some("abcd")),
            Mutation::Skip { id: id(), reason: None },
            Mutation::StartTask { id: id(), owner: None },
            Mutation::Block { id: id(), reason: None },
        ] {
            let error = apply(&mut plan, &mutation, NOW).unwrap_err();
            let told = "task 1 is a group, which is completed once its parts are; open: 1.1, 1.2";
            assert_eq!(error.to_string(), told);
        }
        assert_eq!(plan, before);
    }

    #[test]
    fn a_group_is_taken_back_with_its_parts() {
        let mut plan = group();
        for part in ["1.1", "1.2", "2"] {
            apply(&mut plan, &done(part, None), NOW).unwrap();
        }
        let take_back = Mutation::TakeBack { ids: vec![id("1")], failures: Vec::new() };
        let change = apply(&mut plan, &take_back, NOW).unwrap();
        assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1.1"), id("1.2")] });
        assert_eq!(stands(&plan), "1 pending, 1.1 pending, 1.2 pending, 2 completed");
    }

    #[test]
    fn no_task_is_added_that_would_wait_for_itself_over_a_group() {
        let mut plan = group();
        plan.tasks[3].depends_on = vec![id("1")];
        let depends_on = vec![id("2")];
        let task = Task { parent_id: Some(id("1")), depends_on, ..Task::new(id("1.3"), "t") };
        let error = apply(&mut plan, &Mutation::Add { task: Box::new(task) }, NOW).unwrap_err();
        assert_eq!(error.to_string(), "task 1.3 would depend on itself: 1 -> 1.3 -> 2 -> 1");
    }

    #[test]
    fn usage_outside_of_iterations_counts_for_the_plan() {
        let mut plan = plan(&["1"]);
        let usage = Usage { output_tokens: 5, cost_usd: Some(0.25), ..Usage::default() };
        apply(&mut plan, &Mutation::AddUsage { usage }, NOW).unwrap();
        assert_eq!((plan.progress.tokens, plan.progress.cost_usd), (5, 0.25));
    }

    #[test]
    fn skip_stores_the_reason_and_reset_clears_it() {
        let mut plan = plan(&["3"]);
        let skip = |reason: Option<&str>| Mutation::Skip { id: id("3"), reason: reason.map(str::to_owned) };
        apply(&mut plan, &skip(Some("r")), NOW).unwrap();
        assert_eq!(apply(&mut plan, &skip(None), NOW).unwrap(), TaskChange::Unchanged);
        assert_eq!(plan.tasks[0].skip_reason.as_deref(), Some("r"));
        apply(&mut plan, &Mutation::Reset { id: id("3") }, NOW).unwrap();
        assert_eq!((plan.tasks[0].status, plan.tasks[0].skip_reason.as_deref()), (Status::Pending, None));
    }

    #[test]
    fn only_a_task_in_progress_returns_to_pending() {
        let mut plan = plan(&["1", "2"]);
        let start = |text: &str| Mutation::StartTask { id: id(text), owner: Some("run-1".into()) };
        let back = |text: &str| Mutation::ReturnToPending { id: id(text) };
        apply(&mut plan, &start("1"), NOW).unwrap();
        assert_eq!(plan.tasks[0].owner.as_deref(), Some("run-1"));
        apply(&mut plan, &start("2"), NOW).unwrap();
        apply(&mut plan, &done("2", None), NOW).unwrap();
        apply(&mut plan, &back("1"), NOW).unwrap();
        assert_eq!(apply(&mut plan, &back("2"), NOW).unwrap(), TaskChange::Unchanged);
        assert_eq!((plan.tasks[0].status, plan.tasks[1].status), (Status::Pending, Status::Completed));
        assert_eq!((&plan.tasks[0].owner, &plan.tasks[1].owner), (&None, &None), "nobody works on them");
        let error = apply(&mut plan, &start("2"), NOW).unwrap_err();
        assert_eq!(error.to_string(), "task 2 is completed and cannot be started");
    }

    #[test]
    fn completions_are_taken_back_and_skips_are_not() {
        let mut plan = plan(&["1", "2", "3"]);
        apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
        apply(&mut plan, &Mutation::Skip { id: id("2"), reason: None }, NOW).unwrap();
        let ids = vec![id("1"), id("2"), id("3")];
        let change =
            apply(&mut plan, &Mutation::TakeBack { ids, failures: vec!["tests".into()] }, NOW).unwrap();
        assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1")] });
        assert_eq!((plan.tasks[0].status, plan.tasks[0].commit_sha.as_deref()), (Status::Pending, None));
        assert_eq!(plan.tasks[1].status, Status::Skipped);
        assert_eq!(plan.progress.completed_tasks, 0);
    }

    #[test]
    fn iterations_add_up_over_runs() {
        let mut plan = plan(&[]);
        let usage = |cost| Usage { input_tokens: 10, cost_usd: Some(cost), ..Usage::default() };
        let commit = |iteration, mode, usage| Mutation::CommitIteration { iteration, mode, usage };
        apply(&mut plan, &commit(1, Mode::Discovery, usage(0.5)), NOW).unwrap();
        apply(&mut plan, &commit(2, Mode::Implementation, usage(f64::NAN)), NOW).unwrap();
        apply(&mut plan, &commit(1, Mode::Implementation, usage(0.25)), NOW).unwrap();
        let progress = &plan.progress;
        assert_eq!((progress.current_iteration, progress.total_iterations_run), (1, 3));
        assert_eq!((progress.impl_iterations, progress.discovery_iterations), (2, 1));
        assert_eq!((progress.cost_usd, progress.tokens), (0.75, 30));
        assert_eq!(progress.last_discovery_at, Some(NOW));
    }

    #[test]
    fn setting_the_same_status_changes_nothing() {
        let mut plan = plan(&[]);
        let set = Mutation::SetProgressStatus { status: ProgressStatus::Running };
        assert_eq!(apply(&mut plan, &set, NOW).unwrap(), TaskChange::Progress);
        assert_eq!(apply(&mut plan, &set, NOW).unwrap(), TaskChange::Unchanged);
    }
}
