//! Merging the work of a run into what is checked out: what `samuel run merge` does.
//!
//! A fast-forward to the commit that the queue merged last needs no check: its tree has passed. Everything else is
//! checked in the clone of the queue first, as work of workers is. Nothing is changed until then. The branch is moved as
//! by the queue, so files of the user stay, and a move that was cut off is finished or undone by the next start.

use std::{future::Future, path::Path, pin::pin, sync::Arc};

use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    error::LanesError,
    lane_list::{CleanedLanes, KeptOfLanes, Looked},
    queue::QueueDriver,
};
use crate::{
    engine::{
        error::{RunError, blocking, described},
        run::Run,
        services::{Known, Purpose},
    },
    event::EventRecord,
    merge::{BranchMerge, HasBranch, Moved, UnsettledLanding},
    model::{Plan, TaskId},
    state::LoopLock,
    text::listed,
    workspace::{WorkspaceError, may_be_of_task},
};

/// The result of merging the work of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// The branch that was merged; nothing if there was nothing to merge.
    pub branch: Option<String>,
    /// The branch that is checked out, into which it was merged.
    pub into: Option<String>,
    /// The commit that this branch was at.
    pub old: Option<String>,
    /// The commit that it is at now.
    pub new: Option<String>,
    /// Whether no commit was made for the merge.
    pub is_fast_forward: bool,
    /// The branches and workspaces that were removed since their work is merged, and those that stay.
    pub cleaned: CleanedLanes,
    /// The tasks whose submitted work still waits in the merge queue.
    pub waiting: Vec<TaskId>,
}

/// What is to be merged.
struct Asked {
    branch: String,
    into: String,
    old: String,
}

impl Asked {
    fn refused(&self, problem: &str, help: impl Into<Box<str>>) -> RunError {
        let (branch, into) = (self.branch.as_str().into(), self.into.as_str().into());
        LanesError::NotMerged { branch, into, problem: problem.into(), help: help.into() }.into()
    }

    fn held(&self, reason: &str) -> RunError {
        let (branch, into) = (self.branch.as_str().into(), self.into.as_str().into());
        LanesError::MergeHeld { branch, into, reason: reason.into() }.into()
    }

    /// Returns the words for a merge that a person has to make.
    fn by_hand(&self, first: &str) -> String {
        format!("{first}, then run `git merge {}`.", in_shell(&self.branch))
    }
}

impl Run {
    /// Merges a branch with the work of a run into what is checked out, then removes what is merged. Without a name it is
    /// the only branch with merged work of workers that is not in what is checked out.
    ///
    /// The checks run first, unless the result was checked already. `told` gets their events. Once `stop` is there, the
    /// checks end, and nothing is merged.
    ///
    /// # Errors
    /// Returns [`RunError::Lanes`] if the branch cannot be merged, has conflicts or fails the checks, or if files are in
    /// the way; [`RunError::Untrusted`] if the policy refuses what the checks execute; and [`RunError::State`] if a loop
    /// runs or the state cannot be used.
    pub async fn merge(
        self,
        branch: Option<String>,
        told: impl FnMut(&EventRecord),
        stop: impl Future<Output = ()>,
    ) -> Result<MergeReport, RunError> {
        self.check_copies()?;
        let (lock, _) = self.lock().await?;
        self.know_plan().await?;
        let (plan, looker) = (self.plan_now().await?, self.looker());
        let queued = plan.claims.iter().filter(|claim| claim.phase.is_in_queue());
        let waiting = queued.filter_map(|claim| claim.task.task().cloned()).collect();
        let branch = match branch {
            Some(branch) => Some(branch),
            None => self.only_unmerged(&plan).await?,
        };
        let merged = match branch {
            None => MergeReport::default(),
            Some(branch) => {
                let stopped = CancellationToken::new();
                let mut merging = pin!(self.merge_into_checked_out(branch, plan, &lock, &stopped, told));
                let mut stop = pin!(stop);
                let mut is_stopped = false;
                loop {
                    tokio::select! {
                        merged = &mut merging => break merged?,
                        () = &mut stop, if !is_stopped => {
                            is_stopped = true;
                            stopped.cancel();
                        }
                    }
                }
            }
        };
        // The work is merged by now, whether or not all that it leaves can be removed.
        let cleaned = looker.clean_locked(Looked::All).await.unwrap_or_else(|error| {
            let name = "other merged branches and workspaces".to_owned();
            let kept = vec![KeptOfLanes { name, why: described(&error) }];
            CleanedLanes { kept, ..CleanedLanes::default() }
        });
        drop(lock);
        Ok(MergeReport { cleaned, waiting, ..merged })
    }

    /// Returns the branch with merged work of workers that is not in what is checked out.
    async fn only_unmerged(&self, plan: &Arc<Plan>) -> Result<Option<String>, RunError> {
        let (project, plan) = (self.frozen.project.clone(), Arc::clone(plan));
        let mut branches = blocking(move || project.unmerged_branches(&plan)).await?;
        if branches.len() > 1 {
            let problem = format!("several branches have work that is not merged: {}", branches.join(", "));
            return Err(unmergeable(&problem, "Name one of them."));
        }
        Ok(branches.pop())
    }

    async fn merge_into_checked_out(
        mut self,
        branch: String,
        plan: Arc<Plan>,
        lock: &Arc<dyn LoopLock>,
        stopped: &CancellationToken,
        told: impl FnMut(&EventRecord),
    ) -> Result<MergeReport, RunError> {
        let directory = self.lanes_directory()?;
        let repository = Arc::new(self.open_repository(&directory).await?);
        let (into, old) = repository.checked_out_branch().await.map_err(|error| match error {
            WorkspaceError::Unfit { problem, .. } => {
                unmergeable(&problem, "Check out the branch to merge into with `git switch`.")
            }
            error => error.into(),
        })?;
        if may_be_of_task(&branch) {
            let problem = format!("{branch} has the work of one task, which the merge queue merges");
            return Err(unmergeable(&problem, "Merge the queue, which also checks it."));
        }
        let tip = match repository.has_branch(&branch).await? {
            HasBranch::Yes => repository.head(&branch).await?,
            HasBranch::No | HasBranch::Never => None,
        };
        let Some(tip) = tip else {
            return Err(unmergeable(&format!("there is no branch {branch}"), "Name a branch that is there."));
        };
        let asked = Asked { branch, into, old };
        let made = match repository.merge_branch(&asked.old, &asked.branch, &tip).await? {
            BranchMerge::Contained => return Ok(MergeReport::default()),
            BranchMerge::FastForward => None,
            BranchMerge::Commit(commit) => Some(commit),
            BranchMerge::Conflict(files) => {
                let problem = format!("both changed {}", files.join(", "));
                return Err(asked.refused(
                    &problem,
                    asked.by_hand("Resolve the conflicts yourself: commit your changes"),
                ));
            }
        };
        let is_fast_forward = made.is_none();
        let is_checked = is_fast_forward && self.last_landing(&asked.branch).await?.as_ref() == Some(&tip);
        let new = made.unwrap_or(tip);
        if let Some(refusal) = repository.refusal_of_branch(&asked.old, &new).await? {
            return Err(asked.refused(&refusal, asked.by_hand("Look at what it changes")));
        }
        if !is_checked {
            self.check_copied(&repository, &[&new]).await?;
            self.ensure_compared().await?;
            self.decide_without_agents().await?;
            match self.check_merge(&directory, &asked, new.clone(), plan, stopped, told).await? {
                Some(failures) if failures.is_empty() => {}
                Some(failures) => {
                    let problem = format!("the checks failed: {}", listed(&failures));
                    return Err(asked.refused(&problem, asked.by_hand("Mend it on that branch")));
                }
                None => {
                    return Err(asked.refused("it was stopped before the checks had ended", "Run it again."));
                }
            }
        }
        if stopped.is_cancelled() {
            return Err(asked.refused("it was stopped", "Run it again."));
        }
        let Asked { branch, into, old } = &asked;
        let landing = UnsettledLanding { into: into.clone(), old: old.clone(), new: new.clone() };
        // A caller that stops waiting does not cut off the move, during which the project stays locked.
        let lock = Arc::clone(lock);
        let moving = tokio::spawn(async move {
            let moved = repository.advance(&landing).await;
            drop(lock);
            moved
        });
        match moving.await.map_err(|error| RunError::Broken { message: error.to_string() })?? {
            Moved::Done => Ok(MergeReport {
                branch: Some(branch.clone()),
                into: Some(into.clone()),
                old: Some(old.clone()),
                new: Some(new),
                is_fast_forward,
                ..MergeReport::default()
            }),
            Moved::Stale => Err(asked.held(&format!("{into} was moved meanwhile"))),
            Moved::Held { reason } => Err(asked.held(&reason)),
        }
    }

    /// Checks a commit in the clone of the queue, and returns what failed; nothing if the check was stopped.
    async fn check_merge(
        self,
        directory: &Path,
        asked: &Asked,
        commit: String,
        plan: Arc<Plan>,
        stopped: &CancellationToken,
        mut told: impl FnMut(&EventRecord),
    ) -> Result<Option<Vec<String>>, RunError> {
        self.frozen.begin_sandbox().await?;
        let opened = tokio::select! {
            opened = self.open_queue(directory, &asked.into, &asked.old) => opened?,
            () = stopped.cancelled() => return Ok(None),
        };
        let (shared, tree) = (opened.shared, opened.queue);
        let (batch, commands) = (self.batch(), self.check_commands());
        let parts = self.parts(Arc::clone(&shared.setup.store), &tree, None).await?;
        let stores = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let known = Known { plan, ..Known::default() };
        let (_, services, mut events, _inputs) = self.equip(stores, None, known, Purpose::Run, None, None);
        opened.told.into_iter().for_each(|warning| services.warn(warning));
        let (inputs, _receiver) = mpsc::unbounded_channel();
        let services = Arc::new(services.of_lane(parts, inputs));
        let (used, telling) = (Arc::clone(&tree), Arc::clone(&services));
        let queue = QueueDriver { shared, services, tree, batch, commands };
        let checked = {
            let mut checking = pin!(queue.check(commit, Vec::new(), stopped));
            loop {
                tokio::select! {
                    checked = &mut checking => break checked,
                    Some(record) = events.next() => told(&record),
                }
            }
        };
        if let Err(error) = used.remove().await {
            telling.warn(format!("the clone of the queue stays: {}", described(&error)));
        }
        used.take_told().into_iter().for_each(|told| telling.warn(told));
        telling.hub.close();
        while let Some(record) = events.next().await {
            told(&record);
        }
        Ok(checked?)
    }
}

/// Returns a name as a shell takes it.
fn in_shell(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._@-".contains(c);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

fn unmergeable(problem: &str, help: &str) -> RunError {
    LanesError::Unmergeable { problem: problem.into(), help: help.into() }.into()
}

#[cfg(test)]
mod tests {
    use super::in_shell;

    #[test]
    fn quotes_branch_names_for_shells() {
        assert_eq!(in_shell("samuel/a-1/result"), "samuel/a-1/result");
        assert_eq!(in_shell("a;b'$(x)"), r"'a;b'\''$(x)'");
    }
}
