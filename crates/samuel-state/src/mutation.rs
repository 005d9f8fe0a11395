//! Changes to a plan, as data.
//!
//! A [`Mutation`] is a requested change, and a [`TaskChange`] is its result.
//! Both go into the journal, so the history of a plan can be read later, and a
//! change that a crash interrupted can be completed. [`apply`](super::apply)
//! decides what a mutation does to a plan.

use serde::{Deserialize, Serialize};

use super::{Edit, LandingClaim, Parts, Place, PlanUpdate, Replaced, StateError, TaskEdit};
use samuel_model::{
    ClaimTarget, Complexity, Mark, Plan, Priority, ProgressStatus, Question, ReleaseReason, Source, Status,
    Task, TaskId, Usage, payload::Mode,
};

pub use samuel_model::payload::Actor;

/// A requested change to a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mutation {
    /// Completes a task. A repeated request changes nothing, except that it adds a
    /// commit or an iteration that was not known yet.
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
    /// Skips a task.
    Skip {
        /// The task.
        id: TaskId,
        /// The reason. `None` keeps an earlier reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Makes a task pending again and clears its earlier outcome.
    Reset {
        /// The task.
        id: TaskId,
    },
    /// Adds a task. Its id is the next free number.
    Enqueue {
        /// The new task.
        #[serde(flatten)]
        task: NewTask,
    },
    /// Adds a task with an id that the caller chooses.
    Add {
        /// The task. If it names no parent, it becomes a subtask of the task that its
        /// number points to, such as `1` for `1.2`, provided that the plan has that task.
        task: Box<Task>,
    },
    /// Starts the loop's work on a pending task.
    StartTask {
        /// The task.
        id: TaskId,
        /// Who works on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
    /// Makes a task pending that the loop started and did not complete. Changes nothing
    /// if the task is no longer in progress.
    ReturnToPending {
        /// The task.
        id: TaskId,
    },
    /// Reopens tasks whose completion or skip does not count, such as those of an iteration whose quality check failed
    /// (docs/loop.md). Changes only tasks that are completed or skipped, and gives them no new attempts.
    TakeBack {
        /// The tasks.
        ids: Vec<TaskId>,
        /// The failures, for the journal.
        #[serde(default)]
        failures: Vec<String>,
    },
    /// Blocks a task until someone resets it.
    Block {
        /// The task.
        id: TaskId,
        /// The reason, which the task keeps until it is reset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Asks a question about a task and blocks the task until the question is answered. A new question replaces
    /// one that is still open.
    Ask {
        /// The task.
        id: TaskId,
        /// The question, as [`Question::text`].
        question: String,
        /// The proposed answers, as [`Question::options`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// Answers the open question of a task. The task is pending again, and its next prompt contains the question
    /// and the answer. Agents may not answer.
    Answer {
        /// The task.
        id: TaskId,
        /// The answer, as [`Question::answer`].
        answer: String,
    },
    /// Removes the question of a task after its agent received the answer. Changes nothing if the task has
    /// another question or answer by now.
    Heard {
        /// The task.
        id: TaskId,
        /// The question and answer that its agent received.
        question: Question,
    },
    /// Adds marks to a completed task. Changes nothing if the task is no longer completed. Agents may not do it.
    Mark {
        /// The task.
        id: TaskId,
        /// What is unusual about its completion.
        marks: Vec<Mark>,
    },
    /// Changes the fields of a task.
    Edit {
        /// The task.
        id: TaskId,
        /// The new values.
        edit: Box<TaskEdit>,
    },
    /// Removes tasks from the plan. Rejected while other tasks depend on them.
    Remove {
        /// The tasks.
        ids: Vec<TaskId>,
        /// What happens to their subtasks.
        #[serde(default)]
        parts: Parts,
    },
    /// Moves a task and its subtasks to another place in the plan.
    Move {
        /// The task.
        id: TaskId,
        /// The new place.
        to: Place,
    },
    /// Updates the plan after a change of the PRD.
    Update {
        /// The changes to the plan.
        update: Box<PlanUpdate>,
    },
    /// Undoes a change, unless a later change touched the same tasks.
    Undo {
        /// The revision that the change made. `None` means the last change of the same asker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<u64>,
        /// The content that the change replaced. The store looks it up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        back: Option<Box<Replaced>>,
    },
    /// Claims a pending task that waits for no other task, or a free role. The revision that this change
    /// makes is the claim's token.
    Claim {
        /// The task or role.
        task: ClaimTarget,
        /// The worker, at most 200 characters.
        worker: String,
    },
    /// Ends a claim whose work was not merged. Its task is pending again. If a role is released during a merge,
    /// the next worker that claims the role settles the merge.
    Release {
        /// The task or role.
        task: ClaimTarget,
        /// The claim's token.
        token: u64,
        /// Why.
        reason: ReleaseReason,
        /// The branch or reference that keeps the work, if it is not the submitted branch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// Submits the finished work on a task for merging. The worker that merges must be able to reach the commit.
    Submit {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
        /// The branch with the work.
        branch: String,
        /// The commit at its head.
        commit: String,
        /// The commit that the work started from.
        base: String,
        /// The tree that passed the checks, if a tree did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
        /// The iteration that did the work, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        iteration: Option<u32>,
    },
    /// Holds submitted work, so that it is not merged before an [`Unhold`](Self::Unhold). Changes nothing if the
    /// work is held already.
    Hold {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
        /// Why, for the journal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Allows held work to be merged again. The work moves to the end of the merge queue. Changes nothing if the
    /// work is not held.
    Unhold {
        /// The task.
        task: TaskId,
        /// The claim's token.
        token: u64,
    },
    /// Records that a branch is about to move to submitted work. The record is written before the move. After
    /// a crash it is unknown whether the work was merged, and the next merging worker checks the branch.
    Landing {
        /// The token of the role that merges.
        role: u64,
        /// The branch to move.
        into: String,
        /// The commit that the branch is at.
        old: String,
        /// The commit that the branch moves to.
        new: String,
        /// The claims whose work the move merges; at least one.
        claims: Vec<LandingClaim>,
    },
    /// Completes the tasks that were being merged, because the branch has moved.
    Land {
        /// The token of the role that merges.
        role: u64,
        /// The tasks whose merge changed nothing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unchanged: Vec<TaskId>,
    },
    /// Returns the work that was being merged to the queue, because the branch has not moved and will not move.
    Drop {
        /// The token of the role that merges.
        role: u64,
        /// Why, for the journal.
        reason: String,
    },
    /// Starts a discovery iteration, in which the loop looks for tasks. Until the iteration is committed, at most
    /// `room` tasks can be added.
    BeginDiscovery {
        /// How many tasks may be added.
        room: u32,
    },
    /// Adds the figures of an iteration that ended to those of the plan.
    CommitIteration {
        /// The iteration within its run, from 1.
        iteration: u32,
        /// The purpose of the iteration.
        mode: Mode,
        /// The usage of its agent calls.
        #[serde(default)]
        usage: Usage,
        /// The commits of the tasks that it completed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        credits: Vec<TaskCredit>,
    },
    /// Adds the usage of agent calls outside of iterations.
    AddUsage {
        /// The usage of these agent calls.
        usage: Usage,
    },
    /// Sets the status of the work as a whole.
    SetProgressStatus {
        /// The new status.
        status: ProgressStatus,
    },
}

impl Mutation {
    /// Returns a release of the current claim of a task or role.
    ///
    /// # Errors
    /// Returns [`StateError::NotClaimed`] if no worker has a claim, and [`StateError::TaskNotFound`] for a
    /// task that is not in the plan.
    pub fn release(plan: &Plan, of: &ClaimTarget, reason: ReleaseReason) -> Result<Self, StateError> {
        if let Some(id) = of.task().filter(|id| plan.task(id).is_none()) {
            return Err(StateError::no_task(plan, id));
        }
        let claim = plan.claim(of).filter(|claim| claim.is_live() && claim.worker.is_some());
        let claim = claim.ok_or_else(|| StateError::NotClaimed { of: of.clone() })?;
        Ok(Self::Release { task: of.clone(), token: claim.token, reason, kept: None })
    }

    /// Returns the name of the mutation, as in the journal and in lock files.
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
            Self::Mark { .. } => "mark",
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

    /// Returns the tasks that the change affects, or `None` if it depends on all tasks. The list is empty if the change
    /// affects no task.
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
            Self::Mark { .. } => None,
            Self::TakeBack { ids, .. } => Some(ids.iter().collect()),
            Self::CommitIteration { credits, .. } => match credits.as_slice() {
                [] => Some(Vec::new()),
                [one] if !one.unchanged => Some(vec![&one.id]),
                // A mark adds a column to every row.
                _ => None,
            },
            Self::BeginDiscovery { .. } | Self::AddUsage { .. } | Self::SetProgressStatus { .. } => {
                Some(Vec::new())
            }
            // The first three depend on the questions of all tasks.
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

    /// Returns the tasks whose rows are sufficient to apply the change, or `None` if it needs all rows.
    pub(crate) fn rows(&self) -> Option<Vec<&TaskId>> {
        if self.is_of_claims() { None } else { self.tasks() }
    }

    /// Returns whether the change affects only claims.
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

    /// Returns whether an agent may request the change. An agent that could edit or remove its tasks could
    /// finish early. An agent that could answer would speak for the user. Claims belong to the program that runs agents.
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
                | Self::Mark { .. }
        );
        !revises && !self.is_of_claims()
    }
}

/// What a completed task is credited with at the end of its iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCredit {
    /// The task.
    pub id: TaskId,
    /// Its commit, made since the task began. It replaces the commit that was named when the task was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether nothing was changed since the task began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

impl TaskCredit {
    /// Creates a credit without a commit.
    pub fn new(id: TaskId) -> Self {
        Self { id, commit: None, unchanged: false }
    }
}

/// A task that has no id yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewTask {
    /// The title: one line, not empty.
    pub title: String,
    /// The parent task, which must exist; none by default.
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

    /// Returns a pending task with this id.
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

/// The result of a mutation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskChange {
    /// Nothing changed, because the plan was already in this state. Nothing is written, and the
    /// revision stays the same.
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
        /// The status before.
        from: Status,
        /// The status now; the same if only the details of the task changed.
        to: Status,
    },
    /// Completed or skipped tasks were reopened: they are pending again.
    TakenBack {
        /// Their ids.
        ids: Vec<TaskId>,
    },
    /// Several tasks were changed, added or removed.
    Several {
        /// The differences. Parent tasks that changed only because of their subtasks are left out.
        edits: Vec<Edit>,
    },
    /// Only claims changed, and no task.
    Claims {
        /// The tasks and roles whose claims changed.
        of: Vec<ClaimTarget>,
    },
    /// Only the progress figures changed.
    Progress,
}

impl TaskChange {
    /// Returns whether the task was changed or added.
    pub fn touches(&self, task: &TaskId) -> bool {
        match self {
            Self::Added { id } | Self::Task { id, .. } => id == task,
            Self::TakenBack { ids } => ids.contains(task),
            Self::Several { edits } => edits.iter().any(|edit| edit.task() == Some(task)),
            Self::Claims { of } => of.iter().any(|target| target.task() == Some(task)),
            Self::Unchanged | Self::Progress => false,
        }
    }

    /// Returns the differences if several tasks were changed, and otherwise an empty slice.
    pub fn edits(&self) -> &[Edit] {
        match self {
            Self::Several { edits } => edits,
            _ => &[],
        }
    }

    /// Returns whether a task is open because of the change.
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
