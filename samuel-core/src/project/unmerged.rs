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
    git::{ObjectId, Repository},
    model::{Plan, Status},
    state::{JournalRecord, with_merges},
    workspace::{LaneNote, WorkspaceKind, known_branch},
};

/// How many commits are searched for the head of a branch, and for how long.
const MAX_COMMITS: usize = 20_000;
const MAX_LOOK: Duration = Duration::from_secs(1);
/// How long all branches are searched for together.
const MAX_LOOKS: Duration = Duration::from_secs(3);

impl Project {
    /// Returns the branches with merged work of a plan that are not in what is checked out, the newest first. A
    /// branch that was squashed counts as merged if a later commit has the same files. A branch of which that cannot
    /// be found out in a second counts as not merged. Blocks, and starts no process.
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
        let tip = |branch: &str| repository.reference(&format!("refs/heads/{branch}")).ok().flatten();
        let deadline = Instant::now() + MAX_LOOKS;
        let is_unmerged =
            |branch: &&&str| tip(branch).is_some_and(|tip| !is_merged(&repository, &tip, deadline));
        branches.iter().filter(is_unmerged).map(|branch| (*branch).to_owned()).collect()
    }

    /// Returns whether what is checked out has a commit, or a later one with the same files. Blocks, and starts no
    /// process.
    pub(crate) fn has_merged(&self, commit: &str) -> bool {
        let repository = Repository::open(self.root(), self.caller()).ok().flatten();
        let commit = repository.as_ref().and_then(|repository| repository.id_of(commit));
        repository
            .zip(commit)
            .is_some_and(|(repository, commit)| is_merged(&repository, &commit, Instant::now() + MAX_LOOK))
    }

    /// Returns the branch on which work of a plan was merged last, with its last commit, if the branch is gone and what is
    /// checked out does not have that work. Blocks, and starts no process.
    pub(crate) fn gone_branch(&self, plan: &Plan) -> Option<(String, String)> {
        if !plan.tasks.iter().any(|task| task.status == Status::Completed) {
            return None;
        }
        let repository = Repository::open(self.root(), self.caller()).ok().flatten()?;
        let records = self.plan_store().journal_since(0).ok()?.records;
        let of_plan = records.rsplit(JournalRecord::is_import).next()?;
        let (into, last) =
            with_merges(of_plan).filter_map(|(_, merge)| Some((merge?.into, merge?.new))).last()?;
        let is_there = repository.reference(&format!("refs/heads/{into}")).ok()?.is_some();
        // If git has removed the commit, nothing can be done about it.
        let has_commit =
            repository.id_of(last).is_some_and(|last| matches!(repository.tree_of(&last), Ok(Some(_))));
        if is_there || !has_commit || self.has_merged(last) {
            return None;
        }
        Some((into.to_owned(), last.to_owned()))
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

/// Returns whether what is checked out is known to have a commit, or a later one with the same files.
fn is_merged(repository: &Repository, commit: &ObjectId, deadline: Instant) -> bool {
    let deadline = deadline.min(Instant::now() + MAX_LOOK);
    let left = || deadline.saturating_duration_since(Instant::now());
    matches!(repository.is_checked_out(commit, MAX_COMMITS, left()), Ok(Some(true)))
        || matches!(repository.has_files_of(commit, MAX_COMMITS, left()), Ok(true))
}

/// Returns the commit that a branch was moved to last by a merge, as a journal tells.
pub(crate) fn last_landing(records: &[JournalRecord], branch: &str) -> Option<String> {
    let merges = with_merges(records).filter_map(|(_, merge)| merge);
    merges.filter(|merge| merge.into == branch).last().map(|merge| merge.new.to_owned())
}
