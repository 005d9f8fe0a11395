//! What the lanes of a run that was cut off were at: it is kept, and their claims are released.
//!
//! What they had submitted stays, to be landed without its agents.

use std::{path::Path, sync::Arc};

use super::{check::of_lanes, claiming::branch_of, discovering::branch_of_discovery};
use crate::{
    engine::{
        error::{RunError, blocking, described},
        run::Run,
    },
    merge::MergeRepository,
    model::{Claim, ClaimPhase, ClaimTarget, Plan, ReleaseReason, Role},
    state::{Actor, Mutation, StateError},
    workspace::LaneClone,
};

impl Run {
    /// Frees, for a run without lanes, what lanes of an earlier run were working on, and returns what people should
    /// know. What they had submitted stays. A move of a branch that was cut off is finished.
    pub(in crate::engine) async fn free_lanes_that_are_gone(&self) -> Result<Vec<String>, RunError> {
        let plan = self.plan_now().await?;
        let is_gone = |claim: &Claim| claim.phase == ClaimPhase::Working && claim.lane().is_some();
        let mut told: Vec<String> = self.gone_branch(&plan).await?.into_iter().collect();
        let is_cut_off =
            self.lanes_directory().is_ok_and(|directory| MergeRepository::is_cut_off(&directory));
        if !is_cut_off && !plan.claims.iter().any(is_gone) {
            return Ok(told);
        }
        match self.free_claims(&plan, &mut told).await {
            // The run needs no lanes, nor what they need. Half a merge is no place to work.
            Err(RunError::Lanes(error)) if !is_cut_off => {
                told.push(format!("what lanes have claimed stays claimed: {}", described(&error)));
            }
            freed => freed?,
        }
        Ok(told)
    }

    /// Warns of a branch with merged work that is gone.
    pub(super) async fn gone_branch(&self, plan: &Plan) -> Result<Option<String>, RunError> {
        let (project, plan) = (self.frozen.project.clone(), plan.clone());
        let gone = blocking(move || project.gone_branch(&plan)).await?;
        Ok(gone.map(|(into, last)| {
            format!(
                "the branch {into} with merged work is gone, and what is checked out does not have that work; `git \
                 branch {into} {last}` makes it again"
            )
        }))
    }

    async fn free_claims(&self, plan: &Plan, told: &mut Vec<String>) -> Result<(), RunError> {
        let directory = self.lanes_directory()?;
        let commit = self.head_of_project().await?;
        let repository = self.open_repository(&directory).await?;
        // Where the branch of the lanes is gone, what they did is compared with what is checked out.
        let landed = match self.frozen.project.known_into(plan) {
            Some(into) => repository.head(&into).await.map_err(of_lanes)?,
            None => None,
        };
        let head = landed.unwrap_or(commit);
        self.put_in_order(plan, &repository, &head, &directory, told).await
    }

    /// Keeps what lanes of an earlier run were at beside the commit that work has landed as, and releases it. Nobody
    /// else works here: this loop has the lock.
    pub(super) async fn put_in_order(
        &self,
        plan: &Plan,
        repository: &MergeRepository,
        head: &str,
        directory: &Path,
        told: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let lane = Arc::clone(&self.frozen.lane);
        // Since then this loop has the lock; what earlier ones had started was ended.
        let locked_at = blocking(move || lane.loop_holder()).await??.flatten().map(|holder| holder.since);
        for claim in plan.claims.iter().filter(|claim| claim.is_live()) {
            let Some(worker) = claim.worker.as_deref() else { continue };
            let Some((run, part)) = worker.rsplit_once('/') else { continue };
            repository.remove_locks(run, locked_at).await.map_err(of_lanes)?;
            let branch = match (&claim.task, claim.phase) {
                (ClaimTarget::Role(_), _) if part == "queue" => None,
                _ if !part.starts_with("lane-") => continue,
                (ClaimTarget::Role(Role::Discover), _) => Some(branch_of_discovery(run, claim.token)),
                (ClaimTarget::Task(task), ClaimPhase::Working) => Some(branch_of(run, task, claim.token)),
                _ => continue,
            };
            let kept = match branch {
                Some(branch) => {
                    self.rescue_left(directory, part, head, told).await?;
                    self.keep_left(repository, head, branch).await?
                }
                None => None,
            };
            self.release(claim, kept.clone()).await?;
            match (&claim.task, kept) {
                (ClaimTarget::Task(task), kept) => {
                    let kept = kept.map_or_else(String::new, |kept| format!("; its work is kept as {kept}"));
                    told.push(format!(
                        "task {task} was being worked on when Samuel ended, and is free again{kept}"
                    ));
                }
                (ClaimTarget::Role(_), Some(kept)) => told.push(format!(
                    "{part} was looking for tasks when Samuel ended; what it changed in files is kept as {kept}"
                )),
                (ClaimTarget::Role(_), None) => {}
            }
        }
        Ok(())
    }

    /// Takes what an agent left out of the clone of a lane that is gone, if there is one.
    async fn rescue_left(
        &self,
        directory: &Path,
        name: &str,
        head: &str,
        told: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let (setup, key) = self.lane_clone(directory, name);
        if LaneClone::tree_in(&setup.directory).is_dir() {
            let clone = LaneClone::open(setup, key, head).await.map_err(of_lanes)?;
            clone.rescue().await.map_err(of_lanes)?;
            told.extend(clone.take_told());
        }
        Ok(())
    }

    /// Returns the branch of a lane that is gone if it has work; it goes where nothing was made.
    async fn keep_left(
        &self,
        repository: &MergeRepository,
        head: &str,
        branch: String,
    ) -> Result<Option<String>, RunError> {
        match repository.head(&branch).await.map_err(of_lanes)? {
            Some(made) if !repository.has(head, &made).await.map_err(of_lanes)? => Ok(Some(branch)),
            Some(nothing) => {
                // Where it is checked out it stays until that is used again.
                repository.remove_branch(&branch, &nothing).await.map_err(of_lanes)?;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    async fn release(&self, claim: &Claim, kept: Option<String>) -> Result<(), RunError> {
        let (store, task, token) = (Arc::clone(&self.frozen.store), claim.task.clone(), claim.token);
        let release = Mutation::Release { task, token, reason: ReleaseReason::Lost, kept };
        match blocking(move || store.mutate(release, Actor::Runtime)).await? {
            Ok(_) | Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
