//! The two stores of a project.

use std::{path::Path, sync::Arc};

use super::{FileStore, KeptPlans, LaneStore, PlanStore, RunDir};
use samuel_model::clock::Clock;

/// The two stores of a project: one for the plan, one for the lane. Default: the run directory, which is both. A
/// program may override each.
#[derive(Clone, Debug)]
pub struct Stores {
    files: Arc<FileStore>,
    plan: Option<Arc<dyn PlanStore>>,
    lane: Option<Arc<dyn LaneStore>>,
}

impl Stores {
    /// Returns the stores in the run directory of a methodology. If `state_dir` is given, copies of the last plans are
    /// kept below it. Touches no file.
    pub fn in_files(dir: RunDir, methodology: &str, clock: Arc<dyn Clock>, state_dir: Option<&Path>) -> Self {
        let kept = state_dir.map(|state_dir| KeptPlans::of(state_dir, &dir));
        let files = FileStore::new(dir, clock).for_methodology(methodology);
        let files = Arc::new(match kept {
            Some(kept) => files.keeping_plans(kept),
            None => files,
        });
        Self { files, plan: None, lane: None }
    }

    /// Returns the stores with the run directory of `other`. Overrides stay.
    pub fn with_files_of(self, other: Self) -> Self {
        Self { files: other.files, ..self }
    }

    /// Returns the stores with another store of the plan.
    pub fn with_plan(self, plan: Arc<dyn PlanStore>) -> Self {
        Self { plan: Some(plan), ..self }
    }

    /// Returns the stores with another store of the lane.
    pub fn with_lane(self, lane: Arc<dyn LaneStore>) -> Self {
        Self { lane: Some(lane), ..self }
    }

    /// Returns the store of the plan: the override, else the run directory.
    pub fn plan(&self) -> Arc<dyn PlanStore> {
        self.plan.clone().unwrap_or_else(|| Arc::clone(&self.files) as _)
    }

    /// Returns the store of the lane: the override, else the run directory.
    pub fn lane(&self) -> Arc<dyn LaneStore> {
        self.lane.clone().unwrap_or_else(|| Arc::clone(&self.files) as _)
    }

    /// Returns the run directory that the store of the lane uses.
    pub fn dir(&self) -> &RunDir {
        self.lane.as_ref().map_or_else(|| self.files.dir(), |lane| lane.dir())
    }

    /// Returns the files of the run directory, or `None` if the store of the plan is overridden.
    pub fn plan_files(&self) -> Option<&FileStore> {
        self.plan.is_none().then_some(&*self.files)
    }
}
