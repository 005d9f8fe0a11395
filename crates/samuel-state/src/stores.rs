//! The two stores of a project.

use std::{path::Path, sync::Arc};

use super::{FileStore, KeptPlans, LaneStore, PlanStore, RunDir};
use samuel_model::clock::Clock;

/// The stores of a project: its run directory, and what somebody gave in place of it.
#[derive(Clone, Debug)]
pub struct Stores {
    files: Arc<FileStore>,
    plan: Option<Arc<dyn PlanStore>>,
    lane: Option<Arc<dyn LaneStore>>,
}

impl Stores {
    /// Names both in the run directory of a methodology, which keeps its last plans below
    /// another directory, where one is given. Touches nothing.
    pub fn in_files(dir: RunDir, methodology: &str, clock: Arc<dyn Clock>, state_dir: Option<&Path>) -> Self {
        let kept = state_dir.map(|state_dir| KeptPlans::of(state_dir, &dir));
        let files = FileStore::new(dir, clock).for_methodology(methodology);
        let files = Arc::new(match kept {
            Some(kept) => files.keeping_plans(kept),
            None => files,
        });
        Self { files, plan: None, lane: None }
    }

    /// Takes another run directory, and leaves what was given.
    pub fn with_files_of(self, other: Self) -> Self {
        Self { files: other.files, ..self }
    }

    pub fn with_plan(self, plan: Arc<dyn PlanStore>) -> Self {
        Self { plan: Some(plan), ..self }
    }

    pub fn with_lane(self, lane: Arc<dyn LaneStore>) -> Self {
        Self { lane: Some(lane), ..self }
    }

    pub fn plan(&self) -> Arc<dyn PlanStore> {
        self.plan.clone().unwrap_or_else(|| Arc::clone(&self.files) as _)
    }

    pub fn lane(&self) -> Arc<dyn LaneStore> {
        self.lane.clone().unwrap_or_else(|| Arc::clone(&self.files) as _)
    }

    /// Returns this machine's directory.
    pub fn dir(&self) -> &RunDir {
        self.lane.as_ref().map_or_else(|| self.files.dir(), |lane| lane.dir())
    }

    /// Returns the run directory, where the plan is in it.
    pub fn plan_files(&self) -> Option<&FileStore> {
        self.plan.is_none().then_some(&*self.files)
    }
}
