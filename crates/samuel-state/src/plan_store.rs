//! The interface between the loop and wherever a plan is kept.
//!
//! A [`PlanStore`] holds what several machines may share: a plan with its revision,
//! the journal of its changes and the progress log. What one machine needs for itself
//! is in its [`LaneStore`](super::LaneStore). [`FileStore`](super::FileStore) is both, in a run
//! directory; [`MemoryStore`](super::MemoryStore) keeps a plan in memory. What every
//! store of plans does is checked by
//! `testing::store_suite::plan_store`.
//!
//! Methods block. Asynchronous callers use `spawn_blocking`.

use std::{fmt, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Actor, JournalRecord, Mutation, ProgressEntry, ProgressLog, StateDiagnostic, StateError, TaskChange,
    Watch,
};
use samuel_model::{Plan, Task, TaskId};

/// Keeps a plan, its journal and its progress log.
pub trait PlanStore: fmt::Debug + Send + Sync {
    /// Says whether there is a plan, readable or not.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if that cannot be found out.
    fn exists(&self) -> Result<bool, StateError>;

    /// Loads the plan. Changes nothing and takes no lock.
    ///
    /// # Errors
    /// Returns [`StateError::NotInitialised`] without a plan,
    /// [`StateError::Corrupt`] or [`StateError::Version`] if it cannot be
    /// understood, and [`StateError::Io`] if it cannot be read.
    fn load(&self) -> Result<LoadedPlan, StateError>;

    /// Stores a whole plan, the first or another one. The revision continues
    /// from the one before.
    ///
    /// # Errors
    /// Returns [`StateError::Exists`] if there is a plan and `existing` does
    /// not say to replace it, [`StateError::TaskInvalid`] or
    /// [`StateError::TaskExists`] if a task must not be stored, and what
    /// [`mutate`](Self::mutate) returns for locks and files.
    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError>;

    /// Changes the plan, whichever it is, for somebody without a name. See
    /// [`mutate_as`](Self::mutate_as).
    ///
    /// # Errors
    /// As [`mutate_as`](Self::mutate_as).
    fn mutate(&self, mutation: Mutation, actor: Actor) -> Result<Applied, StateError> {
        self.mutate_as(None, mutation, &actor.into())
    }

    /// Changes the plan, where a time is given only the one that was made then
    /// (`project.created_at`): one that has replaced it has other tasks under the same
    /// ids. Who asked for it is written down by name, so that [`Mutation::Undo`] knows whose
    /// change is whose. What it returns has been stored durably, in the plan and in the
    /// journal; after an error nothing has changed.
    ///
    /// # Errors
    /// Returns what [`load`](Self::load) returns, the task errors of
    /// [`apply`](super::apply()), [`StateError::NotUndone`] for a change that cannot be
    /// taken back, [`StateError::Replaced`] for another plan,
    /// [`StateError::Locked`] if others kept the store busy for too long, and
    /// [`StateError::Io`] if storing failed.
    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError>;

    /// Returns the journal's records after a number, oldest first, as far
    /// back as the journal goes; 0 stands for all. Numbers grow, not necessarily by
    /// one.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError>;

    /// Returns what [`journal_since`](Self::journal_since) returns, once it tells
    /// of everything that happened. The loop calls it, while it holds its lock.
    ///
    /// Somebody may have changed the store's files without asking the store.
    /// What is different since the last call is taken over and journalled as
    /// [`JournalEntry::Edited`](super::JournalEntry::Edited); what is gone or
    /// cannot be read is put back from what was acknowledged at the last call.
    /// A store that nobody reaches in another way has nothing to do.
    ///
    /// # Errors
    /// Returns what [`load`](Self::load) and [`mutate`](Self::mutate) return for
    /// locks and files.
    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        Ok(CaughtUp { journal: self.journal_since(seq)?, ..CaughtUp::default() })
    }

    /// Returns whether this process wrote a record of the journal that completes tasks. An agent can append such a
    /// record to a journal that is a file, so its merges count only if this process wrote them. Default: `true`, for a
    /// store that nobody reaches in another way.
    fn wrote(&self, record: &JournalRecord) -> bool {
        let _ = record;
        true
    }

    /// Sets whether [`catch_up`](Self::catch_up) undoes edits of the plan's file that remove tasks, or make tasks
    /// subtasks of others, while agents are at work. A loop sets it if agents may complete only their own tasks.
    /// Default: `false`; a store that nobody reaches in another way has nothing to undo.
    fn keeps_tasks(&self, keeps: bool) {
        let _ = keeps;
    }

    /// Says whether the plan is what the store last wrote.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn last_written(&self) -> Result<LastWritten, StateError> {
        Ok(LastWritten::Same)
    }

    /// Appends lines to the progress log.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError>;

    /// Reads the progress log, without what was archived.
    ///
    /// # Errors
    /// Returns [`StateError::Io`].
    fn progress(&self) -> Result<ProgressLog, StateError>;

    /// Archives old lines of the progress log once it has more than
    /// `max_lines`: the newer half of that many lines and every `LEARNING`
    /// stay. Returns how many lines went.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] or [`StateError::Io`].
    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError>;

    /// Begins to watch for what others do: the [`Watch`] says when there may be more to
    /// read with [`catch_up`](Self::catch_up). One that says nothing, or ends, costs
    /// promptness alone: the loop also looks by itself whenever it matters.
    fn watch(&self) -> Watch;
}

/// Who asks for a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// What kind of caller it is.
    pub actor: Actor,
    /// What tells it from others of its kind, such as a user and a session.
    pub name: Option<String>,
    /// The name by which it claims tasks, where it does: that of [`Mutation::Claim`].
    pub worker: Option<String>,
}

impl From<Actor> for Asker {
    fn from(actor: Actor) -> Self {
        Self { actor, name: None, worker: None }
    }
}

impl Asker {
    /// Refuses a change that is not the asker's to make.
    ///
    /// # Errors
    /// Returns [`StateError::NotForAgents`].
    pub(crate) fn may(&self, mutation: &Mutation) -> Result<(), StateError> {
        match self.actor == Actor::Agent && !mutation.is_for_agents() {
            true => Err(StateError::NotForAgents { what: mutation.name() }),
            false => Ok(()),
        }
    }
}

/// What the journal tells after a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalPart {
    /// The records, oldest first.
    pub records: Vec<JournalRecord>,
    /// Whether earlier ones are missing that came after the number: a journal goes back
    /// only so far.
    pub has_gap: bool,
}

/// A plan as it was loaded.
#[derive(Clone, Debug)]
pub struct LoadedPlan {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Its revision, the same as in the plan.
    pub revision: u64,
    /// What was wrong with the file and could be worked around.
    pub diagnostics: Vec<StateDiagnostic>,
    /// Lines of the file that could not be understood, now or earlier. While
    /// there are any, "nothing left to do" does not mean that all is done.
    pub unparsed: Vec<String>,
}

/// What happened since somebody last looked.
#[derive(Clone, Debug, Default)]
pub struct CaughtUp {
    /// What the journal tells of it.
    pub journal: JournalPart,
    /// The plan, where it had to be read for that.
    pub plan: Option<Arc<Plan>>,
    /// What somebody did without asking the store, a sentence each.
    pub warnings: Vec<String>,
}

/// How a plan stands to what its store last wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWritten {
    /// It is that.
    Same,
    /// Somebody changed it without asking the store.
    Other,
    /// The journal that would tell is lost.
    Unknown,
}

/// A change that was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The revision the plan has now.
    pub revision: u64,
    /// What changed.
    pub change: TaskChange,
    /// The task that was asked for or added, as it is now; absent where the
    /// change is about several tasks or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The number of the journal's record; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What was wrong with the file, as far as it was read, and could be worked
    /// around.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<StateDiagnostic>,
    /// Work that lanes had submitted and that does not land any more, since its task was settled or given back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_landing: Vec<UnlandedWork>,
}

/// Work that was submitted and does not land any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlandedWork {
    /// The task.
    pub task: TaskId,
    /// The branch that it stays on.
    pub branch: String,
}

impl UnlandedWork {
    /// Returns the work in the merge queue that a change may take out of it.
    pub(super) fn before(plan: &Plan, mutation: &Mutation) -> Vec<Self> {
        if plan.claims.is_empty() || matches!(mutation, Mutation::Landing { .. } | Mutation::Land { .. }) {
            return Vec::new();
        }
        let tasks = mutation.tasks();
        let may_be = |task: &Task| tasks.as_ref().is_none_or(|tasks| tasks.contains(&&task.id));
        let work = plan.claimed_tasks().filter(|(task, claim)| claim.phase.is_in_queue() && may_be(task));
        work.filter_map(|(task, claim)| Some(Self { task: task.id.clone(), branch: claim.branch.clone()? }))
            .collect()
    }
}

impl Applied {
    /// Returns the answer to a change that stored nothing: no record in the journal, no diagnostics.
    #[doc(hidden)]
    pub fn nothing_stored(revision: u64, change: TaskChange, task: Option<Task>) -> Self {
        let (diagnostics, not_landing) = (Vec::new(), Vec::new());
        Self { revision, change, task, seq: None, diagnostics, not_landing }
    }

    /// Says which work of the merge queue, as it was before, is there no more.
    #[must_use]
    pub(super) fn taking_out(mut self, before: Vec<UnlandedWork>, plan: &Plan) -> Self {
        let is_out = |work: &UnlandedWork| plan.live_claim(&work.task).is_none();
        self.not_landing = before.into_iter().filter(is_out).collect();
        self
    }

    /// Tells of a change that is not yet in the journal.
    pub(super) fn new(plan: &Plan, mutation: &Mutation, change: TaskChange) -> Self {
        let id = match (&change, mutation.tasks().as_deref()) {
            (TaskChange::Added { id } | TaskChange::Task { id, .. }, _) => Some(id),
            (_, Some([id])) => Some(*id),
            _ => None,
        };
        let task = id.and_then(|id| plan.task(id)).cloned();
        Self::nothing_stored(plan.revision, change, task)
    }
}

/// A plan that was stored as a whole.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The revision the plan has now.
    pub revision: u64,
    /// Where the plan that was there before was put; nothing where it is one of the
    /// [kept plans](super::KeptPlans).
    pub backup: Option<PathBuf>,
    /// The number that the plan that was there before has among the kept plans; nothing
    /// where there was none with tasks, or it is not kept there.
    pub kept: Option<u64>,
}

/// What to do with a plan that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and fail.
    #[default]
    Refuse,
    /// Replace it, and keep a backup.
    Replace,
}
