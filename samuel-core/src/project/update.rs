//! Bringing a plan up to date with its PRD.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{PrdOptions, Project, ProjectError};
use crate::{
    model::{Task, TaskId},
    prd::{Document, Remark},
    state::{Asker, Mutation, Orphans, PlanUpdate, StateError, TaskChange, merge},
};

/// How often an update is made anew because somebody changed the plan meanwhile.
const MAX_ATTEMPTS: usize = 20;

/// Where a PRD is.
#[derive(Clone, Copy, Debug)]
pub enum PrdSource<'a> {
    /// In a file, perhaps with a companion beside it.
    File(&'a Path),
    /// It was read already; a plan keeps the name of the PRD that it has.
    Text(&'a str),
}

/// How a plan is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateOptions {
    /// What happens to tasks that the PRD has no more.
    pub orphans: Orphans,
    /// Whether it is only looked at what would be different.
    pub dry_run: bool,
    /// How the PRD is read.
    pub reading: PrdOptions,
}

/// How a plan was brought up to date.
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedPrd {
    /// What is different.
    pub update: PlanUpdate,
    /// The tasks as they were that are changed or removed.
    pub before: Vec<Task>,
    /// The tasks of an earlier PRD that are in this one no more.
    pub orphans: Vec<TaskId>,
    /// The plan's revision, the number of the change.
    pub revision: u64,
    /// Whether the plan was changed.
    pub is_changed: bool,
    /// What the author of the PRD should know.
    pub warnings: Vec<Remark>,
}

impl Project {
    /// Brings the plan up to date with its PRD, as one change, also beside a running
    /// loop. Where tasks stand stays; see [`merge`].
    ///
    /// # Errors
    /// Returns [`ProjectError::Prd`] for a PRD that cannot be used, and
    /// [`ProjectError::State`] with what [`apply`](crate::state::apply()) returns.
    pub fn update_prd(
        &self,
        prd: PrdSource<'_>,
        options: UpdateOptions,
        asker: &Asker,
    ) -> Result<UpdatedPrd, ProjectError> {
        let read = match prd {
            PrdSource::File(path) => self.read_prd(path, options.reading)?,
            PrdSource::Text(text) => {
                self.read_text(Document::new(PathBuf::from("-"), text.to_owned()), options.reading)?
            }
        };
        let mut wanted = self.plan_of(&read);
        let warnings = read.conversion.warnings;
        let store = self.plan_store();
        let mut attempts = 0;
        loop {
            let plan = store.load()?.plan;
            if matches!(prd, PrdSource::Text(_)) {
                wanted.project.source_prd.clone_from(&plan.project.source_prd);
            }
            let merged = merge(&plan, &wanted, options.orphans);
            let changed = merged.update.changed.iter().map(|changed| &changed.id);
            let touched = changed.chain(&merged.update.removed).filter_map(|id| plan.task(id));
            let mut updated = UpdatedPrd {
                before: touched.cloned().collect(),
                update: merged.update,
                orphans: merged.orphans,
                revision: plan.revision,
                is_changed: false,
                warnings: warnings.clone(),
            };
            if options.dry_run || updated.update.is_empty() {
                return Ok(updated);
            }
            let mutation = Mutation::Update { update: Box::new(updated.update.clone()) };
            attempts += 1;
            match store.mutate_as(plan.project.created_at, mutation, asker) {
                Ok(applied) => {
                    updated.revision = applied.revision;
                    updated.is_changed = applied.change != TaskChange::Unchanged;
                    return Ok(updated);
                }
                // Somebody added or removed a task since the plan was read.
                Err(StateError::TaskExists { .. } | StateError::TaskNotFound { .. })
                    if attempts < MAX_ATTEMPTS => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
