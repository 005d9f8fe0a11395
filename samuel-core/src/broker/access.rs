//! Where a command reads and changes a plan: in its files, or through the loop that called it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;

use super::BrokerStore;
use crate::{
    history::History,
    model::{Plan, TaskId},
    plan::WorkUnderWay,
    project::{ChangeOrigin, Project, ProjectStatus, TaskHistory},
    state::{Learned, PlanStore, StateError},
};

/// Where a plan is read and changed.
///
/// What is the same for both is asked here, so that a command need not know whether it runs within a call
/// of an agent.
#[derive(Clone, Debug)]
pub enum PlanAccess {
    /// In the files of a project.
    Files(Box<Project>),
    /// Through the loop that called the agent.
    Run(Arc<BrokerStore>),
}

impl PlanAccess {
    /// Returns the store of the plan.
    pub fn store(&self) -> Arc<dyn PlanStore> {
        match self {
            Self::Files(project) => project.plan_store(),
            Self::Run(store) => Arc::clone(store) as _,
        }
    }

    /// Returns the root of the project, where it is known; as the loop knows it.
    pub fn root(&self) -> &Path {
        match self {
            Self::Files(project) => project.root(),
            Self::Run(store) => {
                store.welcome().plan.as_ref().map_or(Path::new(""), |plan| plan.root.as_path())
            }
        }
    }

    /// Returns the plan's file; as the loop knows it.
    pub fn file(&self) -> PathBuf {
        match self {
            Self::Files(project) => project.run_dir().prd(),
            Self::Run(store) => {
                store.welcome().plan.as_ref().map(|plan| plan.file.clone()).unwrap_or_default()
            }
        }
    }

    /// Says where the project stands.
    ///
    /// # Errors
    /// As [`Project::status`] and [`BrokerStore::status`].
    pub fn status(&self) -> Result<ProjectStatus, StateError> {
        match self {
            Self::Files(project) => project.status(),
            Self::Run(store) => store.status(),
        }
    }

    /// Says all that is known of a task.
    ///
    /// # Errors
    /// As [`History::task`] and [`BrokerStore::task_history`].
    pub fn task_history(&self, id: &TaskId) -> Result<TaskHistory, StateError> {
        match self {
            Self::Files(project) => History::of(project).task(id),
            Self::Run(store) => store.task_history(id),
        }
    }

    /// Records a line in the progress log. The loop knows the iteration and the task of its own call; else the origin
    /// names them, if it is a run of this plan.
    ///
    /// # Errors
    /// Returns what [`PlanStore::load`], [`PlanStore::append_progress`] and [`BrokerStore::learn`] return.
    pub fn learn(&self, learned: &Learned, origin: &ChangeOrigin) -> Result<(), StateError> {
        match self {
            Self::Files(project) => {
                let store = project.plan_store();
                // A project without a plan gets no log.
                store.load()?;
                let is_of_plan = origin.methodology_at(project.root()) == Some(project.methodology());
                let origin = Some(origin).filter(|_| is_of_plan);
                let iteration = origin.and_then(ChangeOrigin::iteration);
                let task = origin.and_then(ChangeOrigin::task).cloned();
                store.append_progress(&[learned.entry(project.clock().now(), iteration, task)])
            }
            Self::Run(store) => store.learn(learned),
        }
    }

    /// Returns when the plan was made that a change is meant for, where the environment of the caller
    /// says so ([`ChangeOrigin::plan_of`]). The loop knows it of its own call.
    pub fn made_at(&self, origin: &ChangeOrigin) -> Option<Timestamp> {
        match self {
            Self::Files(project) => origin.plan_of(project),
            Self::Run(_) => None,
        }
    }

    /// Returns what is known beside a plan of who works on it; nothing inside of a run.
    ///
    /// # Errors
    /// As [`Project::work_under_way`].
    pub fn work_under_way(&self, plan: &Plan) -> Result<WorkUnderWay, StateError> {
        match self {
            Self::Files(project) => project.work_under_way(plan),
            Self::Run(_) => Ok(WorkUnderWay::default()),
        }
    }

    /// Says whether a loop works on the plan now.
    pub fn is_at_work(&self) -> bool {
        match self {
            Self::Files(project) => project.own_loop().is_ok_and(|held| held.is_some()),
            Self::Run(_) => true,
        }
    }
}

impl From<Project> for PlanAccess {
    fn from(project: Project) -> Self {
        Self::Files(Box::new(project))
    }
}
