//! Completed work that the branch which is checked out loses, such as by a reset, in a run without workers.
//!
//! At each load of the plan the head of the branch is compared with that of the load before, which starts no git. Only
//! if the branch does not follow its former head any more, git is asked which commits it lost. What is looked for is in
//! memory and in the checkpoints: an agent that resets the branch can edit the commits in the plan, too.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    error::{RunError, described},
    lanes::{keep_lost, merged_onto},
    plan_effects::mutate,
    services::Services,
};
use crate::{
    event::{Event, PlanChange},
    git::{ObjectId, Repository},
    machine::{Input, PlanChanged},
    merge::{MergeRepository, RepositorySetup},
    model::{Groups, Plan, Status, Task, TaskId, payload::Actor},
    state::{JournalRecord, Mutation, PlanStore},
};

/// How many commits of the branch are looked at.
const MAX_COMMITS: usize = 10_000;
/// How long one look may take.
const MAX_LOOK: Duration = Duration::from_secs(1);

/// The commits with the completed work of tasks on a branch, as checkpoints keep them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OnBranch {
    /// When the plan was made, which tells it from another one with the same tasks.
    pub(super) made_at: Option<Timestamp>,
    pub(super) branch: String,
    /// The head at which all of them were there.
    pub(super) head: Option<String>,
    pub(super) commits: BTreeMap<TaskId, String>,
}

impl OnBranch {
    /// Returns what is known of the branch after further records of the journal; `None` of another plan.
    pub(super) fn after(self, records: &[JournalRecord], plan: &Plan) -> Option<Self> {
        if self.made_at != plan.project.created_at {
            return None;
        }
        Some(Self { commits: merged_onto(self.commits, records, &self.branch), ..self })
    }
}

/// What a run without workers looks for on the branch that is checked out.
#[derive(Debug)]
pub(super) struct BranchWatch {
    repository: Repository,
    setup: RepositorySetup,
    max_attempts: Option<NonZeroU32>,
    state: Mutex<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    on: OnBranch,
    /// The commits of tasks that were looked for once.
    examined: BTreeSet<String>,
    /// How often the work of a task was lost.
    lost: BTreeMap<TaskId, u32>,
}

/// A branch that does not follow its former head any more.
struct MovedBranch {
    branch: String,
    head: String,
    commits: BTreeMap<TaskId, String>,
}

impl BranchWatch {
    /// Opens the repository of a project, if it is in one that can be read. The last checkpoint says what was merged
    /// onto its branch, or else the journal.
    pub(super) fn open(
        setup: RepositorySetup,
        max_attempts: Option<NonZeroU32>,
        last: Option<OnBranch>,
        store: &dyn PlanStore,
    ) -> Option<Self> {
        let repository = Repository::open(&setup.root, &setup.caller).ok().flatten()?;
        let head = repository.head().ok()?;
        let branch = head.branch().unwrap_or_default();
        let on = match last.filter(|last| last.branch == branch) {
            Some(last) => last,
            None => {
                let records = store.journal_since(0).ok()?.records;
                let commits = merged_onto(BTreeMap::new(), &records, branch);
                OnBranch { branch: branch.to_owned(), commits, ..OnBranch::default() }
            }
        };
        let state = Mutex::new(Watched { on, ..Watched::default() });
        Some(Self { repository, setup, max_attempts, state })
    }

    fn state(&self) -> MutexGuard<'_, Watched> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is known of the branch.
    pub(super) fn on(&self) -> OnBranch {
        self.state().on.clone()
    }

    /// Looks at the branch. Returns where it is, if it does not follow the head that it had at the last look.
    fn look(&self, plan: &Plan) -> Option<MovedBranch> {
        let head = self.repository.head().ok()?;
        let (branch, head) = (head.branch()?.to_owned(), head.commit()?);
        let mut watched = self.state();
        if watched.on.branch != branch {
            let on = OnBranch { branch: branch.clone(), ..OnBranch::default() };
            *watched = Watched { on, lost: std::mem::take(&mut watched.lost), ..Watched::default() };
        }
        let completed = commits_of(plan);
        let Watched { on, examined, .. } = &mut *watched;
        // A task that is done again has other work.
        on.commits.retain(|task, commit| {
            let is_completed = plan.task(task).is_some_and(|task| task.status == Status::Completed);
            if !is_completed {
                examined.remove(commit.as_str());
            }
            is_completed
        });
        if !on.commits.is_empty() && !self.follows(on.head.as_deref(), &head) {
            return Some(MovedBranch { branch, head: head.to_string(), commits: on.commits.clone() });
        }
        on.head = Some(head.to_string());
        let is_new =
            |(task, commit): &(&TaskId, &str)| !on.commits.contains_key(*task) && !examined.contains(*commit);
        let new: Vec<(&TaskId, &str)> = completed.into_iter().filter(is_new).collect();
        let ids: Vec<ObjectId> = new.iter().filter_map(|(_, commit)| self.repository.id_of(commit)).collect();
        if ids.is_empty() {
            return None;
        }
        let found = self.repository.checked_out(&ids, MAX_COMMITS, MAX_LOOK).ok()?;
        for (task, commit) in new {
            examined.insert(commit.to_owned());
            if self.repository.id_of(commit).is_some_and(|id| found.contains(&id)) {
                on.commits.insert(task.clone(), commit.to_owned());
            }
        }
        None
    }

    /// Returns whether the head of the branch is, or follows, a former one.
    fn follows(&self, former: Option<&str>, head: &ObjectId) -> bool {
        let Some(former) = former.and_then(|former| self.repository.id_of(former)) else { return false };
        former == *head
            || matches!(self.repository.is_checked_out(&former, MAX_COMMITS, MAX_LOOK), Ok(Some(true)))
    }

    /// Forgets lost work, and stores at which head all other work was there. Returns the tasks that lost their work as
    /// often as they may be attempted.
    fn forget(&self, head: String, lost: &[TaskId]) -> Vec<TaskId> {
        let mut watched = self.state();
        watched.on.head = Some(head);
        let mut used_up = Vec::new();
        for task in lost {
            watched.on.commits.remove(task);
            let count = watched.lost.entry(task.clone()).or_default();
            *count += 1;
            if self.max_attempts.is_some_and(|max| *count >= max.get()) {
                used_up.push(task.clone());
            }
        }
        used_up
    }
}

/// Returns the completed tasks of a plan whose commits are known.
fn commits_of(plan: &Plan) -> Vec<(&TaskId, &str)> {
    let groups = Groups::of(&plan.tasks);
    let is_completed =
        |(place, task): &(usize, &Task)| task.status == Status::Completed && !groups.is_group(*place);
    let completed = plan.tasks.iter().enumerate().filter(is_completed);
    completed.filter_map(|(_, task)| Some((&task.id, task.commit_sha.as_deref()?))).collect()
}

impl Services {
    /// Returns what checkpoints keep of the branch with the completed work.
    pub(super) fn on_branch(&self) -> Option<OnBranch> {
        let on = match &self.in_lane {
            Some(lane) => Some(lane.shared.on_branch()),
            None => self.branch_watch.get().map(BranchWatch::on),
        };
        on.map(|on| OnBranch { made_at: self.plan().project.created_at, ..on })
    }

    /// Reopens completed tasks whose work is not on the branch that is checked out any more, and reports them.
    pub(super) async fn reopen_lost(self: &Arc<Self>) {
        if self.branch_watch.get().is_none() {
            return;
        }
        let look = |services: &Self| {
            let plan = services.store.load().ok()?.plan;
            services.branch_watch.get()?.look(&plan)
        };
        let Ok(Some(moved)) = self.blocking(look).await else { return };
        let branch = moved.branch.clone();
        if let Err(error) = self.reopen_lost_of(moved).await {
            let why = described(&error);
            self.warn_new(format!("whether {branch} has lost completed work is not known: {why}"));
        }
    }

    async fn reopen_lost_of(self: &Arc<Self>, moved: MovedBranch) -> Result<(), RunError> {
        let Some(watch) = self.branch_watch.get() else { return Ok(()) };
        let MovedBranch { branch, head, commits } = moved;
        let repository = MergeRepository::open(watch.setup.clone()).await?;
        let asked: Vec<String> = commits.values().cloned().collect();
        let missing = repository.missing(&head, &asked).await?;
        let lost: Vec<(TaskId, String)> =
            commits.into_iter().filter(|(_, commit)| missing.lost.contains(commit)).collect();
        missing.replace_in(&mut watch.state().on.commits);
        if lost.is_empty() {
            watch.forget(head, &[]);
            return Ok(());
        }
        let lines = keep_lost(self, &repository, &self.run_id, &branch, &lost).await?;
        let ids: Vec<TaskId> = lost.into_iter().map(|(task, _)| task).collect();
        let reasons = vec![format!("{branch} lost its merged work")];
        mutate(self, Mutation::TakeBack { ids: ids.clone(), failures: reasons.clone() }).await?;
        self.log(lines).await;
        let used_up = watch.forget(head, &ids);
        // What a check said is of other files.
        let _ = self.inputs.send(Input::Unheard);
        for task in &ids {
            self.tell_of_lost(task, PlanChange::Reopened, None);
        }
        self.emit(Event::TasksTakenBack { tasks: ids, reasons });
        for id in used_up {
            let reason = Some(format!("{branch} lost its work as often as it may be attempted"));
            // Somebody may have settled or removed it meanwhile.
            let block = Mutation::Block { id: id.clone(), reason: reason.clone() };
            if mutate(self, block).await.is_ok() {
                self.tell_of_lost(&id, PlanChange::Blocked, reason);
            }
        }
        Ok(())
    }

    /// Reports a change of a task to the machine.
    fn tell_of_lost(&self, id: &TaskId, change: PlanChange, reason: Option<String>) {
        let title = self.task(id).map(|task| task.title).unwrap_or_default();
        let (task, actor, others_at_work, seq) = (id.clone(), Actor::Runtime, false, 0);
        let changed = PlanChanged { change, task, title, reason, actor, others_at_work, seq };
        // A run that has ended needs nothing.
        let _ = self.inputs.send(Input::PlanChanged(changed));
    }
}
