//! What waits to be merged, as the plan tells.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::{Claim, ClaimPhase, ClaimTarget, Plan, Priority, Role, TaskId};

/// What tells one submission from others, also from another attempt at the same task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClaimKey {
    /// The task.
    pub task: TaskId,
    /// The token of its claim.
    pub token: u64,
}

/// Work that waits to be merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// What it is of.
    pub key: ClaimKey,
    /// The branch that it is on.
    pub branch: String,
    /// Its last commit.
    pub commit: String,
    /// The commit that it began at.
    pub base: String,
    /// The tree that has passed the checks before, where one has.
    pub tree: Option<String>,
    /// Which attempt at the task it is, from 1.
    pub attempt: u32,
    /// Whether the task is critical.
    pub is_critical: bool,
    /// Since when it waits.
    pub since: Timestamp,
}

impl Submission {
    fn of(plan: &Plan, claim: &Claim) -> Option<Self> {
        let task = plan.task(claim.task.task()?)?;
        // One that nobody has any more cannot land.
        (claim.phase == ClaimPhase::Submitted && claim.worker.is_some()).then_some(())?;
        Some(Self {
            key: ClaimKey { task: task.id.clone(), token: claim.token },
            branch: claim.branch.clone()?,
            commit: claim.commit.clone()?,
            base: claim.base.clone()?,
            tree: claim.tree.clone(),
            attempt: claim.attempt,
            is_critical: task.priority == Priority::Critical,
            since: claim.since,
        })
    }
}

/// A landing of which nobody wrote down how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsettledLanding {
    /// The branch.
    pub into: String,
    /// The commit that it was at.
    pub old: String,
    /// The commit that it was to be moved to.
    pub new: String,
}

/// What a plan has for whoever merges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// What waits, in the order in which it is taken: the critical ones first, then those that lost a conflict, then
    /// those that wait longest.
    pub submissions: Vec<Submission>,
    /// What is being landed.
    pub landing: Option<UnsettledLanding>,
}

impl Queue {
    /// Reads it from a plan.
    pub fn of(plan: &Plan) -> Self {
        let work = |claim: &Claim| Some((Reverse(claim.has_lost()), Submission::of(plan, claim)?));
        let mut ranked: Vec<(Reverse<bool>, Submission)> = plan.claims.iter().filter_map(work).collect();
        ranked.sort_by_key(|(lost, work)| (Reverse(work.is_critical), *lost, work.since, work.key.token));
        let submissions = ranked.into_iter().map(|(_, work)| work).collect();
        let landing = plan.claim(&ClaimTarget::Role(Role::Merge)).filter(|claim| claim.is_landing());
        let landing = landing.and_then(|claim| {
            let (into, old, new) = (claim.branch.clone()?, claim.base.clone()?, claim.commit.clone()?);
            Some(UnsettledLanding { into, old, new })
        });
        Self { submissions, landing }
    }
}
