//! Putting a plan back that is kept outside of the work tree.

use std::{collections::HashSet, path::PathBuf};

use serde::Serialize;

use super::{
    Actor, FileStore, JournalEntry, KeptPlan, PlanStore, StateError, apply::count_tasks,
    journal::revision_after, plan_file,
};
use samuel_model::{Plan, ProgressStatus, Status, Task, TaskId};

/// A plan that was put back.
#[derive(Clone, Debug, Serialize)]
pub struct Restored {
    /// Which one it was.
    pub kept: KeptPlan,
    /// The revision the plan has now.
    pub revision: u64,
    /// Where the plan that was there before was put.
    pub backup: Option<PathBuf>,
    /// The tasks of it that were completed since it was kept, as far as the present plan
    /// and the journal tell, and are open again.
    pub reopened: Vec<TaskId>,
}

impl FileStore {
    /// Puts a plan that is kept in the place of the one that is there: the one
    /// with this number, else the last one with tasks that the present one has not.
    ///
    /// The caller makes sure that no loop works on the plan.
    ///
    /// # Errors
    /// Returns [`StateError::NotKept`] where there is none, and what
    /// [`import`](PlanStore::import) returns for locks and files.
    pub fn restore(&self, number: Option<u64>, actor: Actor) -> Result<Restored, StateError> {
        let not_kept = || StateError::NotKept { number };
        let plans = self.kept_plans()?;
        let is_lost = |plan: &KeptPlan| !plan.current && plan.tasks > 0;
        let is_wanted = |plan: &&KeptPlan| number.map_or(is_lost(plan), |number| plan.number == number);
        let plan = plans.into_iter().rev().find(|plan| is_wanted(&plan)).ok_or_else(not_kept)?;
        let path = self.kept.as_ref().ok_or_else(not_kept)?;
        let content = path.read(plan.number)?.ok_or_else(not_kept)?;
        let (mut document, _) = plan_file::decode(&path.path(plan.number), &content)?;
        self.dir().check()?;
        self.dir().create_again(&mut Vec::new())?;
        let _lock = self.lock("restore")?;
        let (now, tail) = (self.now(), self.journal().tail()?);
        let present = self.read_plan().ok().map(|file| file.document.plan);
        let reopened = self.reopened(&document.plan, present.as_deref());
        let before = present.map_or(0, |plan| plan.revision);
        let revision = revision_after(before.max(tail.revision).max(document.plan.revision));
        let changed = document.plan_mut();
        changed.revision = revision;
        changed.project.updated_at = Some(now);
        changed.claims.clear();
        if changed.progress.status == ProgressStatus::Running {
            // It was kept while a loop worked on it, and none does now.
            changed.progress.status = ProgressStatus::Stopped;
        }
        count_tasks(changed);
        self.name_methodology(changed);
        let backup = if self.exists()? { Some(self.back_up(now)?) } else { None };
        self.commit_whole(&document, backup.as_deref(), &tail, now, actor)?;
        Ok(Restored { kept: plan, revision, backup, reopened })
    }

    /// Returns the open tasks of a kept plan that were completed since: in the present
    /// plan, or in the journal where that plan is gone. Somebody holds the lock.
    fn reopened(&self, kept: &Plan, present: Option<&Plan>) -> Vec<TaskId> {
        let present = present.filter(|now| now.project.created_at == kept.project.created_at);
        let in_plan = present.into_iter().flat_map(|now| &now.tasks);
        let in_plan = in_plan.filter(|task| task.status == Status::Completed).map(|task| task.id.clone());
        // A journal that cannot be read tells nothing.
        let records = self.journal().since(0).unwrap_or_default();
        let stored = records.iter().rposition(|record| matches!(record.entry, JournalEntry::Imported { .. }));
        let of_plan = records.into_iter().skip(stored.map_or(0, |at| at + 1));
        let since = of_plan.filter(|record| record.revision > kept.revision && present.is_none());
        let in_journal = since.flat_map(|record| match record.entry {
            JournalEntry::Mutation { change, .. } => change.completed().cloned().collect(),
            _ => Vec::new(),
        });
        let completed: HashSet<TaskId> = in_plan.chain(in_journal).collect();
        let is_reopened = |task: &&Task| task.status != Status::Completed && completed.contains(&task.id);
        kept.tasks.iter().filter(is_reopened).map(|task| task.id.clone()).collect()
    }
}
