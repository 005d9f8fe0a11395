//! Bringing a plan up to date with its PRD.

use std::{collections::HashSet, path::Path};

use serde::Serialize;

use super::{FieldDiff, PrdOptions, Project, ProjectError, TaskDiff};
use crate::{
    model::{Plan, Status, Task, TaskId},
    prd::{Document, Form, PrdError, Remark},
    state::{
        Asker, ChangedTask, Merged, Mutation, Orphans, OtherPrd, Place, PlanUpdate, StateError, TaskChange,
        TaskTitle, merge,
    },
};

/// How often an update is made anew because somebody changed the plan meanwhile.
const MAX_ATTEMPTS: usize = 100;

/// Where a PRD is.
#[derive(Clone, Copy, Debug)]
pub enum PrdSource<'a> {
    /// In a file, perhaps with a companion beside it.
    File(&'a Path),
    /// It was read already; a plan keeps the name of the PRD that it has.
    Text(&'a Document),
}

/// How a plan is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateOptions {
    /// What happens to tasks that the PRD has no more.
    pub orphans: Orphans,
    /// Whether it is only looked at what would be different.
    pub dry_run: bool,
    /// Whether a PRD is taken that looks like another one, and not refused; see [`OtherPrd`].
    pub take_other: bool,
    /// How the PRD is read.
    pub reading: PrdOptions,
}

/// What a changed PRD changes in a plan, or would.
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedPrd {
    /// Tasks that are new, in the order of the PRD.
    pub added: Vec<Task>,
    /// Tasks of which the plan says something else, in the order of the PRD.
    pub changed: Vec<TaskDiff>,
    /// Tasks that are removed: the orphans, where that was asked for.
    pub removed: Vec<TaskTitle>,
    /// Tasks that are worked on and become groups by it: each is pending then, nobody's, and
    /// completed with its parts.
    pub regrouped: Vec<TaskTitle>,
    /// What is different of the project: its name, description and PRD.
    pub project: Vec<FieldDiff>,
    /// What was changed both in the plan and in the PRD, and stays as the plan has it.
    /// Each is told at every update until one side gives way.
    pub conflicts: Vec<TaskDiff>,
    /// Tasks of the PRD that somebody removed from the plan. They stay away.
    pub left_out: Vec<TaskTitle>,
    /// The tasks of an earlier PRD that are in this one no more.
    pub orphans: Vec<TaskTitle>,
    /// The plan's revision, the number of the change.
    pub revision: u64,
    /// Whether the plan was changed.
    pub is_changed: bool,
    /// Whether it looks like another PRD than the one that the plan follows.
    pub other_prd: Option<OtherPrd>,
    /// What the author of the PRD should know.
    pub warnings: Vec<Remark>,
}

impl UpdatedPrd {
    /// Says whether the plan says what the PRD does, but for what somebody decided
    /// otherwise.
    pub fn is_up_to_date(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty() && self.project.is_empty()
    }

    fn of(plan: &Plan, merged: &Merged, warnings: &[Remark]) -> Self {
        let diff = |changed: &ChangedTask| Some(TaskDiff::of(plan.task(&changed.id)?, changed));
        let title = |id: &TaskId| Some(TaskTitle::of(plan.task(id)?));
        let update = &merged.update;
        Self {
            added: update.added.iter().map(|added| added.task.clone()).collect(),
            changed: update.changed.iter().filter_map(diff).collect(),
            removed: update.removed.iter().filter_map(|removed| title(&removed.id)).collect(),
            regrouped: regrouped(plan, update).map(TaskTitle::of).collect(),
            project: FieldDiff::of_project(&plan.project, update),
            conflicts: merged.conflicts.iter().filter_map(diff).collect(),
            left_out: merged.left_out.clone(),
            orphans: merged.orphans.iter().filter_map(title).collect(),
            revision: plan.revision,
            is_changed: false,
            other_prd: merged.other_prd,
            warnings: warnings.to_vec(),
        }
    }
}

impl Project {
    /// Brings the plan up to date with its PRD, as one change, also beside a running
    /// loop. Where tasks stand stays; see [`merge`].
    ///
    /// # Errors
    /// Returns [`ProjectError::Prd`] for a PRD that cannot be used,
    /// [`ProjectError::OtherPrd`] for one that looks like another, unless that is taken, and
    /// [`ProjectError::State`] with what [`apply`](crate::state::apply()) returns.
    pub fn update_prd(
        &self,
        prd: PrdSource<'_>,
        options: UpdateOptions,
        asker: &Asker,
    ) -> Result<UpdatedPrd, ProjectError> {
        self.update_prd_if(prd, options, asker, |_| true)
    }

    /// Brings the plan up to date as [`update_prd`](Self::update_prd) does, if somebody
    /// agrees who is shown what would be different. Whoever changes the plan meanwhile
    /// may change that too, and then they are asked again.
    ///
    /// # Errors
    /// As [`update_prd`](Self::update_prd).
    pub fn update_prd_if(
        &self,
        prd: PrdSource<'_>,
        options: UpdateOptions,
        asker: &Asker,
        mut agrees: impl FnMut(&UpdatedPrd) -> bool,
    ) -> Result<UpdatedPrd, ProjectError> {
        let store = self.plan_store();
        let mut plan = store.load()?.plan;
        let form = match options.reading.form {
            None => remembered_form(&plan, prd)?,
            form => form,
        };
        let reading = PrdOptions { form, ..options.reading };
        let read = match prd {
            PrdSource::File(path) => self.read_prd(path, reading)?,
            PrdSource::Text(document) => self.read_text(document, reading)?,
        };
        let mut wanted = self.plan_of(&read);
        let warnings = read.conversion.warnings;
        let mut agreed: Option<PlanUpdate> = None;
        let mut attempts = 0;
        loop {
            if let PrdSource::Text(document) = prd {
                if document.path.file_stem().is_some_and(|stem| *stem == *wanted.project.name) {
                    // It has no title, and what it was read from is none.
                    wanted.project.name.clone_from(&plan.project.name);
                }
                wanted.project.source_prd.clone_from(&plan.project.source_prd);
            }
            let merged = merge(&plan, &wanted, options.orphans);
            let mut updated = UpdatedPrd::of(&plan, &merged, &warnings);
            let update = merged.update;
            if options.dry_run || update.is_empty() {
                return Ok(updated);
            }
            if let Some(other) = merged.other_prd.filter(|_| !options.take_other) {
                return Err(ProjectError::OtherPrd { other });
            }
            if !update.is_silent() && agreed.as_ref() != Some(&update) {
                if !agrees(&updated) {
                    return Ok(updated);
                }
                agreed = Some(update.clone());
            }
            let mutation = Mutation::Update { update: Box::new(update) };
            attempts += 1;
            match store.mutate_as(plan.project.created_at, mutation, asker) {
                Ok(applied) => {
                    updated.revision = applied.revision;
                    updated.is_changed = applied.change != TaskChange::Unchanged;
                    return Ok(updated);
                }
                // Somebody changed, added or removed a task since the plan was read.
                Err(
                    StateError::TaskChanged { .. }
                    | StateError::TaskExists { .. }
                    | StateError::TaskNotFound { .. },
                ) if attempts < MAX_ATTEMPTS => plan = store.load()?.plan,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Returns the tasks in progress that an update gives parts. No group is in progress.
fn regrouped<'p>(plan: &'p Plan, update: &PlanUpdate) -> impl Iterator<Item = &'p Task> {
    let added = update.added.iter().filter_map(|added| added.task.parent_id.as_ref());
    let moved = update.changed.iter().filter_map(|changed| match &changed.parent {
        Some(Place::Under(parent)) => Some(parent),
        _ => None,
    });
    let parents: HashSet<&TaskId> = added.chain(moved).collect();
    plan.tasks.iter().filter(move |task| task.status == Status::InProgress && parents.contains(&task.id))
}

/// Returns the form that a plan remembers for its PRD. A text has no companion.
fn remembered_form(plan: &Plan, prd: PrdSource<'_>) -> Result<Option<Form>, PrdError> {
    let (path, is_text) = match prd {
        PrdSource::File(path) => (path, false),
        PrdSource::Text(document) => (document.path.as_path(), true),
    };
    let form = plan.project.prd_format.as_deref().map(str::parse::<Form>).transpose();
    let form = form.map_err(|source| PrdError::UnknownForm { path: path.to_owned(), source })?;
    Ok(form.filter(|form| !is_text || *form != Form::Companion))
}
