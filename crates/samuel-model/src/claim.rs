//! Claims: records of which worker has which task or role, while several workers share a plan.
//!
//! A [`Claim`] is one row of the table `claims` of `prd.toon`. The table exists only while there are
//! claims (docs/claims.md). Changes of the plan (`state::apply`) create a claim, submit its work, merge
//! it and release the claim. Each change names the claim by its *token*, a fencing token: the
//! revision of the plan that made the claim. A change with any other token than the current one is
//! stale and is rejected. So a worker that was presumed dead cannot merge its work if another worker has
//! the task by now.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{InvalidTask, Plan, Task, TaskId, words};
use crate::text::{counted, excerpt};

/// The maximum stored length of the reason for a release, in bytes.
pub const MAX_WHY_BYTES: usize = 2_000;
/// The maximum length of the name of a branch, in bytes.
pub const MAX_BRANCH_BYTES: usize = 1_000;
/// The maximum number of files that a claim keeps of conflicts.
pub const MAX_CONFLICT_FILES: usize = 100;

words! {
    /// Work that belongs to no task. Only one worker does it at a time.
    #[derive(PartialOrd, Ord)]
    Role ("role") {
        /// Merges submitted work, checks the result and moves the branch to it.
        Merge = "@merge",
        /// Looks for new tasks.
        Discover = "@discover",
    }
}

words! {
    /// How far a claim is.
    #[derive(Default)]
    ClaimPhase ("claim phase") {
        /// Somebody works on it.
        #[default]
        Working = "working",
        /// The work is done and waits to be merged.
        Submitted = "submitted",
        /// The work is done, and a person holds it: it is merged once they let go of it.
        Held = "held",
        /// The work is being landed: it may be on the branch already.
        Landing = "landing",
        /// Nobody works on it; what an earlier attempt came to is kept for the next one.
        Released = "released",
    }
}

impl ClaimPhase {
    /// Returns whether work is in the merge queue: it was submitted, and neither merged nor released.
    pub fn is_in_queue(self) -> bool {
        matches!(self, Self::Submitted | Self::Held | Self::Landing)
    }
}

/// The target of a claim: a task or a role. As text, it is the task's id or the role's name. The name
/// of a role begins with `@`, which no id does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ClaimTarget {
    /// A task.
    Task(TaskId),
    /// A role.
    Role(Role),
}

impl ClaimTarget {
    /// Returns the id of the task, or `None` for a role.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task(id) => Some(id),
            Self::Role(_) => None,
        }
    }

    /// Returns the target as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Task(id) => id.as_str(),
            Self::Role(role) => role.as_str(),
        }
    }

    /// Returns the name for use in a sentence: `task 3`, or `the role @merge`.
    pub fn named(&self) -> String {
        match self {
            Self::Task(id) => format!("task {id}"),
            Self::Role(role) => format!("the role {role}"),
        }
    }
}

impl fmt::Display for ClaimTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ClaimTarget {
    type Err = InvalidTask;

    fn from_str(text: &str) -> Result<Self, InvalidTask> {
        match text.parse() {
            Ok(role) => Ok(Self::Role(role)),
            Err(_) => text.parse().map(Self::Task),
        }
    }
}

impl TryFrom<String> for ClaimTarget {
    type Error = InvalidTask;

    fn try_from(text: String) -> Result<Self, InvalidTask> {
        text.parse()
    }
}

impl From<ClaimTarget> for String {
    fn from(target: ClaimTarget) -> Self {
        target.as_str().to_owned()
    }
}

impl From<TaskId> for ClaimTarget {
    fn from(id: TaskId) -> Self {
        Self::Task(id)
    }
}

impl From<Role> for ClaimTarget {
    fn from(role: Role) -> Self {
        Self::Role(role)
    }
}

/// Who works on a task or has a role, since when, and how far that is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The task, or the role.
    pub task: ClaimTarget,
    /// The revision of the plan that made the claim. Whoever changes the claim names it.
    pub token: u64,
    /// Who works on it; nothing where nobody does.
    pub worker: Option<String>,
    /// How far it is.
    pub phase: ClaimPhase,
    /// Which attempt at the task it is, from 1. Of a released one: how many attempts have failed,
    /// those that were cut off not counted.
    pub attempt: u32,
    /// The branch with the work that was submitted; of a released one, where the work is kept; of the
    /// role that lands, the branch that is moved. Nothing while there is none.
    pub branch: Option<String>,
    /// The commit that was submitted; of the role that lands, the one that the branch is moved to.
    pub commit: Option<String>,
    /// Since when it is in this phase; being landed, since it was submitted.
    pub since: Timestamp,
    /// The commit that the work began at; of the role that lands, the one that the branch is moved from.
    pub base: Option<String>,
    /// The tree that passed the checks before it was submitted, where one did.
    pub tree: Option<String>,
    /// The commit with the work on the branch that is moved, while it lands.
    pub landed: Option<String>,
    /// Why the last attempt was released, in a few lines; nothing of a first one.
    pub why: Option<String>,
    /// The files in which earlier attempts were in conflict, from the root of the project. They count as declared by
    /// the task, up to [`MAX_CONFLICT_FILES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Claim {
    /// Creates a claim of a worker that starts to work.
    #[doc(hidden)]
    pub fn begun(task: ClaimTarget, token: u64, worker: &str, since: Timestamp) -> Self {
        Self {
            task,
            token,
            worker: Some(worker.to_owned()),
            phase: ClaimPhase::Working,
            attempt: 1,
            branch: None,
            commit: None,
            since,
            base: None,
            tree: None,
            landed: None,
            why: None,
            files: Vec::new(),
        }
    }

    /// Returns whether the claim keeps other workers from its task or role.
    pub fn is_live(&self) -> bool {
        self.phase != ClaimPhase::Released
    }

    /// Returns whether an earlier attempt was in conflict with work that was merged before it.
    pub fn has_lost(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the run whose worker works on it, merges it or has submitted it, or `None` if the worker does not
    /// belong to a run.
    pub fn run(&self) -> Option<&str> {
        self.worker.as_deref()?.rsplit_once('/').map(|(run, _)| run)
    }

    /// Returns the run and the name of the lane that works on it or has submitted it, such as `lane-2`. Returns `None`
    /// if the worker is not a lane of a run.
    pub fn lane(&self) -> Option<(&str, &str)> {
        let (run, lane) = self.worker.as_deref()?.rsplit_once('/')?;
        lane.starts_with("lane-").then_some((run, lane))
    }

    /// Returns whether a worker is about to move a branch for the claim. Until the move is settled, it is
    /// unknown whether the work was merged.
    pub fn is_landing(&self) -> bool {
        self.phase == ClaimPhase::Landing
    }
}

/// Why a claim is released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReleaseReason {
    /// The work conflicts with work that was merged before. Does not count as an attempt.
    Conflict {
        /// The files in conflict, from the root of the project.
        files: Vec<String>,
    },
    /// The checks fail with the work. Counts as an attempt.
    Checks {
        /// The failures, one line each.
        failures: Vec<String>,
    },
    /// The work must not be merged, or there is none. Counts as an attempt.
    Failed {
        /// Why, in one line.
        reason: String,
    },
    /// The last attempt that the task has was used up, so the task is blocked.
    Exhausted {
        /// The number of attempts that were not merged.
        attempts: u32,
        /// Why the last attempt was not merged.
        last: Box<ReleaseReason>,
    },
    /// The worker has ended, or sends no sign of life any more.
    Lost,
    /// The worker has stopped.
    Stopped,
    /// A person or program requested the release.
    Asked {
        /// The reason, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl ReleaseReason {
    /// Returns whether the attempt counts as failed.
    pub fn counts(&self) -> bool {
        matches!(self, Self::Checks { .. } | Self::Failed { .. } | Self::Exhausted { .. })
    }

    /// Returns whether the next attempt is told this reason rather than the one that is stored: the work was looked
    /// at, or a person gave a reason.
    pub fn is_told(&self) -> bool {
        self.counts() || matches!(self, Self::Conflict { .. } | Self::Asked { reason: Some(_) })
    }

    /// Returns whether the release blocks the task until someone resets it.
    pub fn blocks(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }

    /// Returns the text that is stored for the next attempt, shortened to [`MAX_WHY_BYTES`].
    #[doc(hidden)]
    pub fn kept(&self) -> String {
        excerpt(&self.to_string(), MAX_WHY_BYTES)
    }
}

impl fmt::Display for ReleaseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { files } => write!(f, "it is in conflict in {}", files.join(", ")),
            Self::Checks { failures } => write!(f, "the checks failed with it: {}", failures.join("\n")),
            Self::Failed { reason } => f.write_str(reason),
            Self::Exhausted { attempts, last } => {
                let attempts = counted(*attempts, "attempt");
                write!(f, "{attempts} did not land; the last one: {last}")
            }
            Self::Lost => f.write_str("whoever worked on it is gone"),
            Self::Stopped => f.write_str("whoever worked on it stopped"),
            Self::Asked { reason: Some(reason) } => f.write_str(reason),
            Self::Asked { reason: None } => f.write_str("somebody released it"),
        }
    }
}

impl Plan {
    /// Returns the claim of a task or role: the one that keeps other workers from it, or the record of an
    /// earlier attempt.
    ///
    /// ```
    /// use samuel_model::{Plan, Role};
    ///
    /// assert_eq!(Plan::default().claim(&Role::Merge.into()), None);
    /// ```
    pub fn claim(&self, of: &ClaimTarget) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.task == *of)
    }

    /// Returns the claim that keeps other workers from a task.
    pub fn live_claim(&self, id: &TaskId) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.is_live() && claim.task.task() == Some(id))
    }

    /// Returns whether a worker has claimed the role [`Role::Discover`].
    pub fn is_discovery_claimed(&self) -> bool {
        self.claim(&Role::Discover.into()).is_some_and(Claim::is_live)
    }

    /// Returns the tasks that have work in progress, submitted or being merged, with their claims, in the order
    /// of the claims.
    pub fn claimed_tasks(&self) -> impl Iterator<Item = (&Task, &Claim)> {
        let live = self.claims.iter().filter(|claim| claim.is_live());
        live.filter_map(|claim| Some((self.task(claim.task.task()?)?, claim)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_role_is_told_from_a_task_by_its_name() {
        let target = |text: &str| text.parse::<ClaimTarget>();
        assert_eq!(target("@merge"), Ok(Role::Merge.into()));
        assert_eq!(target("merge"), Ok(TaskId::new("merge").into()));
        assert_eq!(target("1.10").unwrap().to_string(), "1.10");
        assert!(matches!(target("@other"), Err(InvalidTask::Id { .. })));
    }

    #[test]
    fn what_is_kept_of_a_reason_is_short() {
        let failures = vec!["x".repeat(10_000)];
        assert!(ReleaseReason::Checks { failures }.kept().len() <= MAX_WHY_BYTES + 4);
    }
}
