//! Completed tasks whose merged work the branch lost: they are reopened and reported.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    claiming::branch_of,
    lane::LaneFault,
    shared::{Lanes, LanesSetup},
};
use crate::{
    engine::{follow::completed_in, services::Services},
    event::{Event, PlanChange},
    merge::{MergeRepository, is_hash},
    model::{Plan, Status, TaskId, payload::Actor as ChangedBy},
    sched::SharedBooks,
    state::{Actor, JournalRecord, Mutation, ProgressEntry, ProgressKind, TaskChange, with_merges},
    workspace::WorkspaceError,
};

/// How many digits of a commit make the reference unique that keeps it.
const DIGITS: usize = 12;

/// Tasks whose merged work is not on the branch, each with its commit.
type Lost = Vec<(TaskId, String)>;

impl Lanes {
    /// Returns the completed tasks whose merged work is not on the branch any more, each with its commit, and the head of
    /// the branch. Returns nothing if nothing else than this run moved the branch.
    async fn lost(&self, plan: &Plan) -> Result<Option<(Lost, String)>, WorkspaceError> {
        let repository = &self.setup.repository;
        // A branch that is gone ends the run.
        let Some(head) = repository.head(&self.setup.into).await? else { return Ok(None) };
        let Some(merged) = self.merged_if_moved(&head) else { return Ok(None) };
        let is_completed = |id: &TaskId| plan.task(id).is_some_and(|task| task.status == Status::Completed);
        let merged: Vec<(TaskId, String)> = merged.into_iter().filter(|(id, _)| is_completed(id)).collect();
        let commits: Vec<String> = merged.iter().map(|(_, commit)| commit.clone()).collect();
        let missing = repository.missing(&head, &commits).await?;
        self.replace_merged(&missing);
        Ok(Some((merged.into_iter().filter(|(_, commit)| missing.lost.contains(commit)).collect(), head)))
    }

    /// Reopens completed tasks whose merged work is not on the branch any more, and reports them. Returns whether there
    /// were any. The caller holds `claiming`, so that nobody chooses a task that depends on one of them.
    pub(super) async fn reopen_lost(
        self: &Arc<Self>,
        services: &Arc<Services>,
        plan: &Plan,
    ) -> Result<bool, LaneFault> {
        let Some((lost, head)) = self.lost(plan).await? else { return Ok(false) };
        if lost.is_empty() {
            self.is_verified_at(head);
            return Ok(false);
        }
        let LanesSetup { into, run, repository, .. } = &self.setup;
        let lines = keep_lost(services, repository, run, into, &lost).await?;
        let (ids, reasons): (Vec<TaskId>, _) =
            (lost.into_iter().map(|(task, _)| task).collect(), vec![format!("{into} lost its merged work")]);
        let back = Mutation::TakeBack { ids: ids.clone(), failures: reasons.clone() };
        self.blocking(move |store| store.mutate(back, Actor::Runtime)).await??;
        services.log(lines).await;
        self.forgets_merged(&ids);
        // Only now: if the change failed, the next look finds them again.
        self.is_verified_at(head);
        services.emit(Event::TasksTakenBack { tasks: ids.clone(), reasons });
        for id in ids {
            let max = self.setup.max_attempts;
            if max.is_some_and(|max| self.failures_of(&id) >= max.get()) {
                self.block_lost(services, plan, id).await?;
            }
        }
        self.wake();
        Ok(true)
    }

    /// Blocks a task whose work was lost, or that failed otherwise, as often as it may be attempted.
    async fn block_lost(
        self: &Arc<Self>,
        services: &Services,
        plan: &Plan,
        id: TaskId,
    ) -> Result<(), LaneFault> {
        let reason = Some(format!(
            "{} lost its work, and its attempts are used up (task_budget.max_attempts)",
            self.setup.into
        ));
        let block = Mutation::Block { id: id.clone(), reason: reason.clone() };
        // Somebody may have settled or removed it meanwhile.
        let blocked = self.blocking(move |store| store.mutate(block, Actor::Runtime)).await?;
        if blocked.is_ok_and(|applied| applied.change != TaskChange::Unchanged) {
            self.tell_blocked(services, plan, &id, reason);
        }
        Ok(())
    }

    /// Counts and tells that a task is blocked which nobody has begun, since its attempts are used up.
    pub(super) fn tell_blocked(
        &self,
        services: &Services,
        plan: &Plan,
        task: &TaskId,
        reason: Option<String>,
    ) {
        self.books(SharedBooks::blocked);
        let title = plan.task(task).map(|task| task.title.clone()).unwrap_or_default();
        let (change, actor) = (PlanChange::Blocked, ChangedBy::Runtime);
        services.emit(Event::PlanChanged { change, task: task.clone(), title, reason, actor });
    }
}

/// Keeps the commits that a branch lost, and warns of each. Returns the lines for the progress log.
pub(in crate::engine) async fn keep_lost(
    services: &Services,
    repository: &MergeRepository,
    run: &str,
    branch: &str,
    lost: &[(TaskId, String)],
) -> Result<Vec<ProgressEntry>, WorkspaceError> {
    let mut lines = Vec::new();
    for (task, commit) in lost {
        let short = commit.get(..DIGITS).unwrap_or(commit);
        let name = format!("{}-{short}", branch_of(run, task, 0));
        let kept = repository.keep_lost(&name, commit).await?;
        let kept = kept.map_or_else(|| "git has it no more".to_owned(), |kept| format!("{kept} keeps it"));
        let text = format!("{branch} lost its merged work {short}, so it is open again; {kept}");
        services.warn(format!("task {task}: {text}"));
        lines.push(services.note(0, Some(task.clone()), ProgressKind::Error, text));
    }
    Ok(lines)
}

/// Returns the commits by which a branch got the work of tasks: those known before, and what records of a journal say
/// since. It is the last one of each task that was not completed in another way since.
pub(in crate::engine) fn merged_onto(
    mut merged: BTreeMap<TaskId, String>,
    records: &[JournalRecord],
    branch: &str,
) -> BTreeMap<TaskId, String> {
    for (record, merge) in with_merges(records) {
        if record.is_import() {
            merged.clear();
        }
        for completed in completed_in(std::slice::from_ref(record)) {
            merged.remove(&completed);
        }
        let Some(merge) = merge else { continue };
        for claim in merge.claims {
            if merge.into == branch && is_hash(&claim.landed) {
                merged.insert(claim.task.clone(), claim.landed.clone());
            } else {
                merged.remove(&claim.task);
            }
        }
    }
    merged
}
