//! The branches with merged work of workers, until they are merged into what is checked out.
//!
//! The journal has the branch of each merge. Starts with workers leave a [note](crate::workspace::LaneNote), without
//! which the journal is not searched.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::Project;
use crate::{
    git::Repository,
    model::Plan,
    state::JournalRecord,
    workspace::{LaneNote, WorkspaceKind, known_branch},
};

/// How many commits are searched for the head of a branch, and for how long all branches are looked for.
const MAX_COMMITS: usize = 20_000;
const MAX_LOOK: Duration = Duration::from_secs(1);

impl Project {
    /// Returns the branches with merged work of a plan that are not in what is checked out, the newest first. A
    /// branch that was squashed counts as merged if a later commit has the same files. A branch of which that cannot
    /// be found out counts as not merged, and the look takes a second for all of them. Blocks, and starts no process.
    pub fn unmerged_branches(&self, plan: &Plan) -> Vec<String> {
        if self.known_into(plan).is_none() {
            return Vec::new();
        }
        let records = self.plan_store().journal_since(0).map(|read| read.records).unwrap_or_default();
        // Work of before belongs to another plan.
        let of_plan = records.rsplit(JournalRecord::is_import).next().unwrap_or_default();
        let merges = of_plan.iter().rev().filter_map(JournalRecord::announced_merge);
        let mut seen = BTreeSet::new();
        let branches: Vec<&str> = merges.map(|merge| merge.into).filter(|into| seen.insert(*into)).collect();
        self.unmerged_of(&branches)
    }

    /// Returns those of some branches that exist and are not in what is checked out.
    pub(crate) fn unmerged_of(&self, branches: &[&str]) -> Vec<String> {
        if branches.is_empty() {
            return Vec::new();
        }
        let Ok(Some(repository)) = Repository::open(self.root(), self.caller()) else { return Vec::new() };
        let deadline = Instant::now() + MAX_LOOK;
        let unmerged = branches.iter().filter(|branch| is_unmerged(&repository, branch, deadline));
        unmerged.map(|branch| (*branch).to_owned()).collect()
    }

    /// Returns the branch that the work of a plan lands on, as the last run with lanes knew it.
    pub(crate) fn known_into(&self, plan: &Plan) -> Option<String> {
        LaneNote::ALL.iter().find_map(|note| self.noted_branch(plan, *note))
    }

    fn noted_branch(&self, plan: &Plan, note: LaneNote) -> Option<String> {
        let known = known_branch(&note.file_in(&self.lanes_directory()?))?;
        (known.made_at == plan.project.created_at).then_some(known.into)
    }

    /// Returns where lanes of the project work, if they can.
    fn lanes_directory(&self) -> Option<PathBuf> {
        let state_dir = self.state_dir().filter(|_| !self.is_in_memory())?;
        Some(WorkspaceKind::lanes_directory_of(state_dir, self.root()))
    }
}

/// Returns whether a branch exists and is not known to be in what is checked out.
fn is_unmerged(repository: &Repository, branch: &str, deadline: Instant) -> bool {
    let Ok(Some(tip)) = repository.reference(&format!("refs/heads/{branch}")) else { return false };
    let left = || deadline.saturating_duration_since(Instant::now());
    !matches!(repository.is_checked_out(&tip, MAX_COMMITS, left()), Ok(Some(true)))
        && !matches!(repository.has_files_of(&tip, MAX_COMMITS, left()), Ok(true))
}

/// Returns the commit that a branch was moved to last by a merge, as a journal tells.
pub(crate) fn last_landing(records: &[JournalRecord], branch: &str) -> Option<String> {
    let mut merges = records.iter().rev().filter_map(JournalRecord::announced_merge);
    merges.find(|merge| merge.into == branch).map(|merge| merge.new.to_owned())
}
