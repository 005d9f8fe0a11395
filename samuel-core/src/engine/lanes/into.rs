//! Which branch the work of lanes lands on, from one start to the next.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;

use super::{check::of_lanes, error::LanesError};
use crate::{
    engine::{
        error::{RunError, blocking},
        run::Run,
    },
    merge::{HasBranch, MergeRepository},
    model::Plan,
    project::last_landing,
    workspace::{KnownBranch, LaneNote, know_branch, known_branch, may_be_of_task, result_of},
};

impl Run {
    /// Decides which branch work lands on, and makes one where none is named. Without lanes it is the one that work was
    /// submitted for.
    pub(super) async fn into(
        &self,
        repository: &MergeRepository,
        plan: &Plan,
        directory: &Path,
        commit: &str,
        jobs: u32,
        told: &mut Vec<String>,
    ) -> Result<String, RunError> {
        let (last, made_at) = (LaneNote::Last.file_in(directory), plan.project.created_at);
        if jobs == 0
            && self.frozen.settings.parallel.into.is_empty()
            && let Some(known) = known_branch(&last).filter(|known| known.made_at == made_at)
            && repository.head(&known.into).await.map_err(of_lanes)?.is_some()
        {
            return Ok(known.into);
        }
        let into = self.named_or_made(repository, plan, directory, commit, told).await?;
        know_branch(&last, &KnownBranch { made_at, into: into.clone() })?;
        Ok(into)
    }

    async fn named_or_made(
        &self,
        repository: &MergeRepository,
        plan: &Plan,
        directory: &Path,
        commit: &str,
        told: &mut Vec<String>,
    ) -> Result<String, RunError> {
        let into = &self.frozen.settings.parallel.into;
        if !into.is_empty() {
            let has = repository.has_branch(into).await?;
            let is_tag = has == HasBranch::No && repository.is_tag(into).await?;
            self.check_named(has, is_tag)?;
            let note = LaneNote::Made.file_in(directory);
            if let Some(known) = known_branch(&note)
                && repository.head(&known.into).await.map_err(of_lanes)?.is_none()
            {
                // Where to go on is said, so that the branch that is gone is asked for no more.
                let _ = std::fs::remove_file(&note);
            }
            return Ok(into.clone());
        }
        let note = LaneNote::Made.file_in(directory);
        let made_at = plan.project.created_at;
        self.check_last(repository, &note, made_at, commit).await?;
        let waits = plan.claims.iter().any(|claim| claim.phase.is_in_queue());
        if let Some(known) = known_branch(&note).filter(|known| known.made_at == made_at)
            && let Some(head) = repository.head(&known.into).await.map_err(of_lanes)?
            && (waits
                || head == commit && !self.has_landed_there(repository, &known.into, commit).await?
                || !self.is_merged(repository, commit, &head).await?)
        {
            if head != commit {
                let into = &known.into;
                told.push(match repository.has(&head, commit).await.map_err(of_lanes)? {
                    true => format!("goes on with {into}, which is not in what is checked out yet"),
                    false => format!(
                        "goes on with {into}, which is not in what is checked out yet and lacks what is committed \
                         there: nobody has checked the two together. Merge it first"
                    ),
                });
            }
            return Ok(known.into);
        }
        let into = result_of(&self.frozen.run_id);
        repository.make_branch(&into, commit).await.map_err(of_lanes)?;
        know_branch(&note, &KnownBranch { made_at, into: into.clone() })?;
        Ok(into)
    }
}

impl Run {
    /// Checks that work can land on the branch that the settings name.
    ///
    /// # Errors
    /// Returns [`LanesError::Into`] if it cannot.
    pub(super) fn check_named(&self, has: HasBranch, is_tag: bool) -> Result<(), LanesError> {
        let into = &self.frozen.settings.parallel.into;
        let (problem, help) = match has {
            _ if may_be_of_task(into) => (
                "it is the branch of a task of a run",
                "Name a branch of yours, or that of the results of a run.".to_owned(),
            ),
            HasBranch::Yes => return Ok(()),
            HasBranch::No if is_tag => (
                "it is a tag, which does not move",
                format!("Name a branch; `git branch NAME {into}` makes one of it."),
            ),
            HasBranch::No => (
                "there is no such branch",
                format!(
                    "Name a branch that is there; `git branch {into}` would make one of what is checked out."
                ),
            ),
            HasBranch::Never => ("no branch can have that name", "Name a branch that is there.".to_owned()),
        };
        Err(self.no_branch_to_land_on(into, problem, &help))
    }

    /// Sees whether the branch of the lanes is gone with work that is nowhere else.
    async fn check_last(
        &self,
        repository: &MergeRepository,
        note: &Path,
        made_at: Option<Timestamp>,
        checked_out: &str,
    ) -> Result<(), RunError> {
        let Some(known) = known_branch(note).filter(|known| known.made_at == made_at) else { return Ok(()) };
        if repository.head(&known.into).await.map_err(of_lanes)?.is_some() {
            return Ok(());
        }
        let Some(last) = self.last_landing(&known.into).await? else { return Ok(()) };
        // A commit that git has no more is on no branch.
        if self.is_merged(repository, checked_out, &last).await.unwrap_or(false) {
            return Ok(());
        }
        Err(LanesError::Gone { into: known.into.into(), commit: last.into() }.into())
    }

    /// Returns whether work was merged onto a branch, and what is checked out has it. If not, the branch may have been
    /// moved back, and the run goes on with it, to look for that work.
    async fn has_landed_there(
        &self,
        repository: &MergeRepository,
        branch: &str,
        checked_out: &str,
    ) -> Result<bool, RunError> {
        let Some(last) = self.last_landing(branch).await? else { return Ok(false) };
        Ok(self.is_merged(repository, checked_out, &last).await.unwrap_or(false))
    }

    /// Returns whether what is checked out has a commit, or its files since a person squashed it.
    async fn is_merged(
        &self,
        repository: &MergeRepository,
        checked_out: &str,
        commit: &str,
    ) -> Result<bool, RunError> {
        if repository.has(checked_out, commit).await.map_err(of_lanes)? {
            return Ok(true);
        }
        let (project, commit) = (self.frozen.project.clone(), commit.to_owned());
        blocking(move || project.has_merged(&commit)).await
    }

    /// Returns the commit that a branch was moved to last by a landing, as the journal tells.
    pub(super) async fn last_landing(&self, branch: &str) -> Result<Option<String>, RunError> {
        let store = Arc::clone(&self.frozen.store);
        let records = blocking(move || store.journal_since(0)).await??.records;
        Ok(last_landing(&records, branch))
    }
}
