//! Mending a plan, and putting one back that is lost.
//!
//! Both are of a plan in the run directory. Where another store has the plan, there is
//! nothing to mend and none is kept.

use super::{Project, ProjectError};
use crate::{
    model::Remedy,
    state::{Actor, Holder, KeptPlan, Repair, Restored, StateError},
};

impl Project {
    /// Returns the plans that are kept outside of the work tree, oldest first.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    pub fn kept_plans(&self) -> Result<Vec<KeptPlan>, StateError> {
        self.stores.plan_files().map_or(Ok(Vec::new()), |files| files.kept_plans())
    }

    /// Offers the plans with tasks that are kept, for whoever finds none in the work
    /// tree that can be used; nothing where there are none.
    pub fn kept_instead(&self) -> Option<Remedy> {
        self.stores.plan_files()?.kept_instead()
    }

    /// Puts a plan back that is kept outside of the work tree: the one with this
    /// number, else the last one that is another than the present one.
    ///
    /// # Errors
    /// Returns [`StateError::NotKept`] where there is none,
    /// [`StateError::LoopRunning`] where a loop works on the plan, and
    /// [`ProjectError::State`] or [`ProjectError::Write`] where the disk refuses.
    pub fn restore_plan(&self, number: Option<u64>) -> Result<Restored, ProjectError> {
        let not_kept = || StateError::NotKept { number };
        let files = self.stores.plan_files().ok_or_else(not_kept)?;
        if files.kept_plans()?.is_empty() {
            return Err(not_kept().into());
        }
        let holder =
            Holder::this_process(self.clock().now(), "restoring the plan").of_methodology(self.methodology());
        let _no_loop = self.lane_store().lock_loop(&holder)?;
        let restored = files.restore(number, Actor::User)?;
        self.ignore_run_dir()?;
        Ok(restored)
    }

    /// Says what [`repair_plan`](Self::repair_plan) would do. Changes nothing and takes no
    /// lock.
    ///
    /// # Errors
    /// Returns what [`PlanStore::load`](crate::state::PlanStore::load) returns; a plan
    /// without a table of tasks cannot be repaired.
    pub fn preview_repair(&self) -> Result<Repair, StateError> {
        self.stores.plan_files().map_or(Ok(Repair::default()), |files| files.preview_repair())
    }

    /// Repairs the plan and keeps a backup of it as it was. Writes nothing if nothing would
    /// change.
    ///
    /// # Errors
    /// Returns what [`PlanStore::mutate`](crate::state::PlanStore::mutate) returns for
    /// locks and files.
    pub fn repair_plan(&self, actor: Actor) -> Result<Repair, StateError> {
        self.stores.plan_files().map_or(Ok(Repair::default()), |files| files.repair(actor))
    }
}
