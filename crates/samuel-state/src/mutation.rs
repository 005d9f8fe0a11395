//! Changes to a plan, as data.
//!
//! A [`Mutation`] says what somebody wants, a [`TaskChange`] what came of it.
//! Both go into the journal, so a plan's history can be read back, and a
//! change that a crash cut short can be completed. What a mutation does to a
//! plan is decided in [`apply`](super::apply).

use serde::{Deserialize, Serialize};

use super::{Edit, LandingClaim, Parts, Place, PlanUpdate, Replaced, StateError, TaskEdit};
use samuel_model::{
    ClaimTarget, Complexity, Plan, Priority, ProgressStatus, Question, ReleaseReason, Source, Status, Task,
    TaskId, Usage, payload::Mode,
};

pub use samuel_model::payload::Actor;

/// A change that somebody asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mutation {
    /// A task is done. Asking again changes nothing, except that a commit or
    /// an iteration that was not known yet is filled in.
    Done {
        /// The task.
        id: TaskId,
        /// The commit that completes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit_sha: Option<String>,
        /// The iteration that completes it, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
    },
    /// A task is left out.
    Skip {
        /// The task.
        id: TaskId,
        /// Why; without one, an earlier reason stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A task is pending again and forgets how it was settled.
    Reset {
        /// The task.
        id: TaskId,
    },
    /// A new task, whose id is the next free number.
    Enqueue {
        /// What is known of it.
        #[serde(flatten)]
        task: NewTask,
    },
    /// A new task with an id of the caller's choice.
    Add {
        /// The task. One that names no parent becomes a part of the task that its
        /// number places it under, such as `1` for `1.2`, where the plan has that.
        task: Box<Task>,
    },
    /// The loop begins to work on a pending task.
    StartTask {
        /// The task.
        id: TaskId,
        /// Who works on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
    /// The loop lets go of a task it did not complete. Changes nothing if the
    /// task is no longer in progress.
    ReturnToPending {
        /// The task.
        id: TaskId,
    },
    /// What an iteration completed does not count, because its check failed
    /// (docs/loop.md). Changes only completed tasks.
    TakeBack {
        /// The tasks.
        ids: Vec<TaskId>,
        /// What failed, for the journal.
        #[serde(default)]
        failures: Vec<String>,
    },
    /// A task cannot be worked on until someone resets it.
    Block {
        /// The task.
        id: TaskId,
        /// Why, which stands beside the task until it is reset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Something is asked about a task, which is blocked until somebody answers. Of a task whose question is
    /// open already, the new one takes its place.
    Ask {
        /// The task.
        id: TaskId,
        /// What is asked, as [`Question::text`].
        question: String,
        /// Answers that are proposed, as [`Question::options`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// The open question of a task is answered: the task is pending again, and its next prompt holds both.
    /// Agents may not.
    Answer {
        /// The task.
        id: TaskId,
        /// The answer, as [`Question::answer`].
        answer: String,
    },
    /// The agent of a task was given an answer, so the question goes. Changes nothing where another question
    /// or answer stands there by now.
    Heard {
        /// The task.
        id: TaskId,
        /// What its agent was given.
        question: Question,
    },
    /// A task says something else.
    Edit {
        /// The task.
        id: TaskId,
        /// What it says anew.
        edit: Box<TaskEdit>,
    },
    /// Tasks leave the plan. Refused while others depend on them.
    Remove {
        /// The tasks.
        ids: Vec<TaskId>,
        /// What happens to their parts.
        #[serde(default)]
        parts: Parts,
    },
    /// A task stands elsewhere in the plan, with its parts.
    Move {
        /// The task.
        id: TaskId,
        /// Where it goes.
        to: Place,
    },
    /// The PRD was changed, and the plan follows.
    Update {
        /// What that changes.
        update: Box<PlanUpdate>,
    },
    /// A change is taken back, unless a later one touched the same tasks.
    Undo {
        /// The change: the revision it made; without one the last that the asker made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<u64>,
        /// What it replaced, which the store finds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        back: Option<Box<Replaced>>,
    },
    /// Somebody begins to work on a pending task that waits for nothing, or takes a role that nobody
    /// has. The revision that this makes is the claim's token.
    Claim {
        /// The task or role.
        task: ClaimTarget,
        /// Who works on it, at most 200 characters.
        worker: String,
    },
    /// A claim ends without its work having landed: its task is pending again. What was being landed by
    /// a role that is released is settled by whoever claims the role next.
    Release {
        /// The task or role.
        task: ClaimTarget,
        /// The claim's token.
        token: u64,
        /// Why.
        reason: ReleaseReason,
        /// The branch or reference that keeps the work, where that is not the one that was submitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// The work on a task is done and can be merged. Whoever merges must be able to reach the commit.
    Submit {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
        /// The branch with the work.
        branch: String,
        /// The commit at its head.
        commit: String,
        /// The commit that the work began at.
        base: String,
        /// The tree that has passed the checks, where one has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// Submitted work is not to be merged until somebody lets go of it. Of what is held already it changes nothing.
    Hold {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
        /// Why, for the journal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Submitted work that somebody held can be merged: it waits again, as what was submitted last. Of what nobody
    /// holds it changes nothing.
    Unhold {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
    },
    /// A branch is about to be moved on to submitted work, which until then nobody knows to have
    /// landed or not. It is written down before, so that whoever finds it asks the branch.
    Landing {
        /// The token of the role that merges.
        role: u64,
        /// The branch that is moved.
        into: String,
        /// The commit that it is at.
        old: String,
        /// The commit that it is moved to.
        new: String,
        /// What lands by it; at least one.
        claims: Vec<LandingClaim>,
    },
    /// The branch has moved: the tasks that were being landed are completed.
    Land {
        /// The token of the role that merges.
        role: u64,
    },
    /// The branch has not moved and will not: what was being landed waits again.
    Drop {
        /// The token of the role that merges.
        role: u64,
        /// Why, for the journal.
        reason: String,
    },
    /// The loop begins to look for tasks: until the iteration is committed no more than these are
    /// added.
    BeginDiscovery {
        /// How many tasks may be added.
        room: u32,
    },
    /// An iteration ended and its figures are added to the plan's.
    CommitIteration {
        /// The iteration within its run, from 1.
        iteration: u32,
        /// What it was for.
        mode: Mode,
        /// What its agent calls consumed.
        #[serde(default)]
        usage: Usage,
    },
    /// Agent calls outside of iterations consumed something.
    AddUsage {
        /// What they consumed.
        usage: Usage,
    },
    /// The work as a whole stands elsewhere.
    SetProgressStatus {
        /// Where it stands now.
        status: ProgressStatus,
    },
}

impl Mutation {
    /// Makes the release of the claim that a task or role has in a plan now.
    ///
    /// # Errors
    /// Returns [`StateError::NotClaimed`] where nobody has one, and [`StateError::TaskNotFound`] for a
    /// task that is not in the plan.
    pub fn release(plan: &Plan, of: &ClaimTarget, reason: ReleaseReason) -> Result<Self, StateError> {
        if let Some(id) = of.task().filter(|id| plan.task(id).is_none()) {
            return Err(StateError::no_task(plan, id));
        }
        let claim = plan.claim(of).filter(|claim| claim.is_live() && claim.worker.is_some());
        let claim = claim.ok_or_else(|| StateError::NotClaimed { of: of.clone() })?;
        Ok(Self::Release { task: of.clone(), token: claim.token, reason, kept: None })
    }

    /// Returns the word for it, as in the journal and in lock files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Skip { .. } => "skip",
            Self::Reset { .. } => "reset",
            Self::Enqueue { .. } => "enqueue",
            Self::Add { .. } => "add",
            Self::StartTask { .. } => "start_task",
            Self::ReturnToPending { .. } => "return_to_pending",
            Self::TakeBack { .. } => "take_back",
            Self::Block { .. } => "block",
            Self::Ask { .. } => "ask",
            Self::Answer { .. } => "answer",
            Self::Heard { .. } => "heard",
            Self::Edit { .. } => "edit",
            Self::Remove { .. } => "remove",
            Self::Move { .. } => "move",
            Self::Update { .. } => "update",
            Self::Undo { .. } => "undo",
            Self::Claim { .. } => "claim",
            Self::Release { .. } => "release",
            Self::Submit { .. } => "submit",
            Self::Hold { .. } => "hold",
            Self::Unhold { .. } => "unhold",
            Self::Landing { .. } => "landing",
            Self::Land { .. } => "land",
            Self::Drop { .. } => "drop",
            Self::BeginDiscovery { .. } => "begin_discovery",
            Self::CommitIteration { .. } => "commit_iteration",
            Self::AddUsage { .. } => "add_usage",
            Self::SetProgressStatus { .. } => "set_progress_status",
        }
    }

    /// Returns the tasks that the change is about, or `None` if it depends on all tasks. A change of no task returns an
    /// empty list.
    #[doc(hidden)]
    pub fn tasks(&self) -> Option<Vec<&TaskId>> {
        match self {
            Self::Claim { task, .. } | Self::Release { task, .. } => Some(task.task().into_iter().collect()),
            Self::Submit { task, .. } | Self::Hold { task, .. } | Self::Unhold { task, .. } => {
                Some(vec![task])
            }
            Self::Landing { claims, .. } => Some(claims.iter().map(|claim| &claim.task).collect()),
            Self::Done { id, .. }
            | Self::Skip { id, .. }
            | Self::Reset { id }
            | Self::StartTask { id, .. }
            | Self::ReturnToPending { id }
            | Self::Block { id, .. } => Some(vec![id]),
            Self::TakeBack { ids, .. } => Some(ids.iter().collect()),
            Self::BeginDiscovery { .. }
            | Self::CommitIteration { .. }
            | Self::AddUsage { .. }
            | Self::SetProgressStatus { .. } => Some(Vec::new()),
            // They depend on the questions of all.
            Self::Ask { .. }
            | Self::Answer { .. }
            | Self::Heard { .. }
            | Self::Enqueue { .. }
            | Self::Add { .. }
            | Self::Edit { .. }
            | Self::Remove { .. }
            | Self::Move { .. }
            | Self::Update { .. }
            | Self::Undo { .. }
            | Self::Land { .. }
            | Self::Drop { .. } => None,
        }
    }

    /// Returns the tasks whose rows are enough to make it; nothing where it takes all of them.
    pub(crate) fn rows(&self) -> Option<Vec<&TaskId>> {
        if self.is_of_claims() { None } else { self.tasks() }
    }

    /// Says whether it is about claims alone.
    pub(crate) fn is_of_claims(&self) -> bool {
        matches!(
            self,
            Self::Claim { .. }
                | Self::Release { .. }
                | Self::Submit { .. }
                | Self::Hold { .. }
                | Self::Unhold { .. }
                | Self::Landing { .. }
                | Self::Land { .. }
                | Self::Drop { .. }
        )
    }

    /// Says whether an agent may ask for it. One that could edit or remove its tasks
    /// could end early, one that could answer would speak for the user, and claims are whoever's who runs agents.
    pub(crate) fn is_for_agents(&self) -> bool {
        let revises = matches!(
            self,
            Self::Edit { .. }
                | Self::Remove { .. }
                | Self::Move { .. }
                | Self::Update { .. }
                | Self::Undo { .. }
                | Self::Answer { .. }
                | Self::Heard { .. }
        );
        !revises && !self.is_of_claims()
    }
}

/// A task that has no id yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewTask {
    /// The title: one line, not empty.
    pub title: String,
    /// The task it is a part of, which must exist; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<TaskId>,
    /// The description, any number of lines.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How urgent it is.
    pub priority: Priority,
    /// How much work it is.
    pub complexity: Complexity,
    /// Where it comes from.
    pub source: Source,
    /// The tasks it waits for; each must exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// Files it creates, relative to the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_to_create: Vec<String>,
    /// Files it changes, relative to the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_to_modify: Vec<String>,
    /// Rules the work must keep to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<String>,
    /// What must hold for the task to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
}

impl NewTask {
    /// Creates a task of medium priority and complexity.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Gives it an id, as a pending task.
    #[must_use]
    pub fn with_id(self, id: TaskId) -> Task {
        Task {
            parent_id: self.parent_id,
            description: self.description,
            priority: self.priority,
            complexity: self.complexity,
            source: self.source,
            depends_on: self.depends_on,
            files_to_create: self.files_to_create,
            files_to_modify: self.files_to_modify,
            guardrails: self.guardrails,
            acceptance: self.acceptance,
            ..Task::new(id, self.title)
        }
    }
}

/// What a mutation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskChange {
    /// Nothing: the plan was so already. Nothing is written, and the revision
    /// stays.
    Unchanged,
    /// A task was added.
    Added {
        /// Its id.
        id: TaskId,
    },
    /// A task was changed.
    Task {
        /// Its id.
        id: TaskId,
        /// Where it stood.
        from: Status,
        /// Where it stands now; the same if only its details changed.
        to: Status,
    },
    /// Completed tasks are pending again.
    TakenBack {
        /// Their ids.
        ids: Vec<TaskId>,
    },
    /// Several tasks were changed, added or removed.
    Several {
        /// What is different. Groups that only follow from their parts are left out.
        edits: Vec<Edit>,
    },
    /// Only claims changed, and no task.
    Claims {
        /// Of which tasks and roles.
        of: Vec<ClaimTarget>,
    },
    /// Only the progress figures changed.
    Progress,
}

impl TaskChange {
    /// Says whether the task was changed or added.
    pub fn touches(&self, task: &TaskId) -> bool {
        match self {
            Self::Added { id } | Self::Task { id, .. } => id == task,
            Self::TakenBack { ids } => ids.contains(task),
            Self::Several { edits } => edits.iter().any(|edit| edit.task() == Some(task)),
            Self::Claims { of } => of.iter().any(|target| target.task() == Some(task)),
            Self::Unchanged | Self::Progress => false,
        }
    }

    /// Returns what is different where several tasks were changed.
    pub fn edits(&self) -> &[Edit] {
        match self {
            Self::Several { edits } => edits,
            _ => &[],
        }
    }

    /// Says whether a task is open because of it.
    pub(crate) fn leaves_work(&self) -> bool {
        let is_open = |status: &Status| !matches!(status, Status::Completed | Status::Skipped);
        match self {
            Self::Added { .. } | Self::TakenBack { .. } => true,
            Self::Task { to, .. } => is_open(to),
            Self::Several { edits } => edits.iter().any(|edit| match edit {
                Edit::Status { to: status, .. } | Edit::Added { status, .. } => is_open(status),
                _ => false,
            }),
            Self::Unchanged | Self::Claims { .. } | Self::Progress => false,
        }
    }

    /// Returns the tasks that this change, and no earlier one, completed.
    pub fn completed(&self) -> impl Iterator<Item = &TaskId> {
        let one = match self {
            Self::Task { id, from, to: Status::Completed } if *from != Status::Completed => Some(id),
            _ => None,
        };
        one.into_iter().chain(self.edits().iter().filter_map(Edit::completed))
    }
}
