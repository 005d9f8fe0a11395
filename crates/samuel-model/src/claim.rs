//! Claims: who works on which task, or has which role, while several work on one plan.
//!
//! A [`Claim`] is one row of the table `claims` of `prd.toon`, which is there only while there are
//! any (docs/claims.md). It is made, submitted, landed and released by changes of the plan
//! (`state::apply`), each of which names the claim by its *token*: the
//! revision of the plan that made it. A change that names another token than the present one is
//! void, so a worker that was taken for dead cannot land what somebody else works on by now.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{InvalidTask, Plan, Task, TaskId, words};
use crate::text::{counted, excerpt};

/// How much is kept of why a claim was released, in bytes.
pub const MAX_WHY_BYTES: usize = 2_000;
/// How long the name of a branch is at most, in bytes.
pub const MAX_BRANCH_BYTES: usize = 1_000;

words! {
    /// Work that belongs to no task and that one worker does at a time.
    #[derive(PartialOrd, Ord)]
    Role ("role") {
        /// To merge what was submitted, check the result and land it.
        Merge = "@merge",
        /// To look for new tasks.
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
    /// Says whether work was handed in and is neither landed nor given back.
    pub fn is_in_queue(self) -> bool {
        matches!(self, Self::Submitted | Self::Held | Self::Landing)
    }
}

/// What a claim is of: a task, or a role. As text it is the task's id, or the role's name, which
/// begins with `@` as no id does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ClaimTarget {
    /// A task.
    Task(TaskId),
    /// A role.
    Role(Role),
}

impl ClaimTarget {
    /// Returns the task, if it is one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Task(id) => Some(id),
            Self::Role(_) => None,
        }
    }

    /// Returns what it is as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Task(id) => id.as_str(),
            Self::Role(role) => role.as_str(),
        }
    }

    /// Names it within a sentence: `task 3`, or `the role @merge`.
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
}

impl Claim {
    /// Makes a claim that somebody begins to work on.
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
        }
    }

    /// Says whether it keeps others from its task or role.
    pub fn is_live(&self) -> bool {
        self.phase != ClaimPhase::Released
    }

    /// Returns the run that works on it, lands it or has submitted it; nothing where whoever does is no part of a run.
    pub fn run(&self) -> Option<&str> {
        self.worker.as_deref()?.rsplit_once('/').map(|(run, _)| run)
    }

    /// Returns the run and the name of the lane that works on it or has submitted it, such as `lane-2`; nothing where
    /// whoever does is no lane of a run.
    pub fn lane(&self) -> Option<(&str, &str)> {
        let (run, lane) = self.worker.as_deref()?.rsplit_once('/')?;
        lane.starts_with("lane-").then_some((run, lane))
    }

    /// Says whether somebody is about to move a branch for it, so that nobody knows yet whether
    /// its work has landed.
    pub fn is_landing(&self) -> bool {
        self.phase == ClaimPhase::Landing
    }
}

/// Why a claim is released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReleaseReason {
    /// The work is in conflict with what landed before. Counts as an attempt.
    Conflict {
        /// The files in conflict, from the root of the repository.
        files: Vec<String>,
    },
    /// The checks fail with it. Counts as an attempt.
    Checks {
        /// What failed, one line each.
        failures: Vec<String>,
    },
    /// The work must not land, or there is none. Counts as an attempt.
    Failed {
        /// Why, in one line.
        reason: String,
    },
    /// It was the last of the attempts that the task has, which is blocked.
    Exhausted {
        /// How many attempts did not land.
        attempts: u32,
        /// Why the last one did not.
        last: Box<ReleaseReason>,
    },
    /// Whoever worked on it is gone, or is heard of no more.
    Lost,
    /// Whoever worked on it has stopped.
    Stopped,
    /// Somebody asked for it.
    Asked {
        /// Why, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl ReleaseReason {
    /// Says whether the attempt counts as one that failed.
    pub fn counts(&self) -> bool {
        matches!(
            self,
            Self::Conflict { .. } | Self::Checks { .. } | Self::Failed { .. } | Self::Exhausted { .. }
        )
    }

    /// Says whether the task is blocked by it, until somebody resets it.
    pub fn blocks(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }

    /// Returns what is kept of it for the next attempt.
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
    /// Returns the claim of a task or role: the one that keeps others from it, or what is kept of
    /// an earlier attempt.
    ///
    /// ```
    /// use samuel_model::{Plan, Role};
    ///
    /// assert_eq!(Plan::default().claim(&Role::Merge.into()), None);
    /// ```
    pub fn claim(&self, of: &ClaimTarget) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.task == *of)
    }

    /// Returns the claim that keeps others from a task.
    pub fn live_claim(&self, id: &TaskId) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.is_live() && claim.task.task() == Some(id))
    }

    /// Says whether somebody has claimed the role of whoever looks for tasks.
    pub fn is_discovery_claimed(&self) -> bool {
        self.claim(&Role::Discover.into()).is_some_and(Claim::is_live)
    }

    /// Returns the tasks that somebody works on, has submitted or is landing, with their claims, in the
    /// order of the claims.
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
