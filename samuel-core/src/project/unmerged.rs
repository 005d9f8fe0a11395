//! The branch with what lanes have landed, as long as it is not in what is checked out.
//!
//! Which branches there may be, starts with lanes have [noted](crate::workspace::LaneNote); that something landed on
//! one, the journal tells.

use std::{path::PathBuf, time::Duration};

use super::Project;
use crate::{
    git::Repository,
    model::Plan,
    state::{JournalEntry, JournalRecord, Mutation},
    workspace::{LaneNote, WorkspaceKind, is_result, known_branch},
};

/// How many commits are looked through for what lanes have landed, and for how long.
const MAX_COMMITS: usize = 2_000;
const MAX_LOOK: Duration = Duration::from_secs(1);

impl Project {
    /// Returns the branch with what lanes have landed of a plan that is not in what is checked out, if there is one;
    /// nothing where that cannot be told in time. Blocks, and starts nothing.
    pub fn unmerged_lanes(&self, plan: &Plan) -> Option<String> {
        let mut branches: Vec<String> =
            LaneNote::ALL.iter().filter_map(|note| self.noted_branch(plan, *note)).collect();
        branches.dedup();
        branches.retain(|into| is_result(into));
        if branches.is_empty() {
            return None;
        }
        let repository = Repository::open(self.root(), self.caller()).ok()??;
        branches.retain(|into| is_unmerged(&repository, into));
        if branches.is_empty() {
            return None;
        }
        // Of a branch on which nothing has landed, the commit that it was made at may be amended or rebased away.
        let records = self.plan_store().journal_since(0).ok()?.records;
        branches.into_iter().find(|into| last_landing(&records, into).is_some())
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

/// Says whether a branch is certain not to be in what is checked out.
fn is_unmerged(repository: &Repository, branch: &str) -> bool {
    let tip = repository.reference(&format!("refs/heads/{branch}")).ok().flatten();
    let is_in = tip.and_then(|tip| repository.is_checked_out(&tip, MAX_COMMITS, MAX_LOOK).ok().flatten());
    is_in == Some(false)
}

/// Returns the commit that a branch was moved to last by a landing, as a journal tells.
pub(crate) fn last_landing(records: &[JournalRecord], branch: &str) -> Option<String> {
    records.iter().rev().find_map(|record| match &record.entry {
        JournalEntry::Mutation { mutation: Mutation::Landing { into, new, .. }, .. } if into == branch => {
            Some(new.clone())
        }
        _ => None,
    })
}
