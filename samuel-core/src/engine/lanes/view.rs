//! The plan as one lane sees it.
//!
//! A [`LaneView`] is the store of the run but for the task that the lane has claimed. What its agent says
//! is done there is shown as completed to whoever asks in the lane, its check decides on it as on any
//! completion, and the plan itself learns of it once the work has landed. What the machine of a single
//! loop would do to its task (begin, let go, take back) has happened by the claim, or does not concern
//! the plan.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::{discovering::OwnDiscovery, shared::Lanes};
use crate::{
    event::PlanChange,
    machine::{Completion, Input, PlanChanged},
    model::{Completes, Plan, Status, TaskId},
    state::{
        Actor, Applied, Asker, CaughtUp, Existing, Imported, JournalPart, JournalRecord, LastWritten,
        LoadedPlan, Mutation, PlanStore, ProgressEntry, ProgressLog, StateError, TaskChange, Watch,
    },
    workspace::MadeWork,
};

/// What a lane has claimed.
#[derive(Clone, Debug)]
pub(super) struct OwnClaim {
    pub(super) task: TaskId,
    pub(super) token: u64,
    pub(super) branch: String,
    /// The commit that the work begins at.
    pub(super) base: String,
    /// Which attempt it is, from 1.
    pub(super) attempt: u32,
    /// The number of the next iteration, until it begins.
    pub(super) number: Option<u32>,
    /// The number of the last iteration that began.
    pub(super) iteration: Option<u32>,
    /// Whether the agent said that it is done, and nothing took that back.
    pub(super) is_done: bool,
    /// Whether the event of what it said was withheld. Any further completion is of a person.
    pub(super) is_done_withheld: bool,
    /// What was committed when it said so.
    pub(super) made: Option<MadeWork>,
    /// Whether that has passed the check.
    pub(super) has_passed: bool,
    /// Why the work of the last turn must not come out of the clone, where that is so.
    pub(super) refused: Option<String>,
    /// Whether the lane's own agent put the task aside.
    pub(super) is_put_aside: bool,
    /// Whether the machine was told that the claim is gone.
    pub(super) is_told_gone: bool,
}

impl OwnClaim {
    pub(super) fn new(task: TaskId, token: u64, branch: String, base: String, attempt: u32) -> Self {
        Self {
            task,
            token,
            branch,
            base,
            attempt,
            number: None,
            iteration: None,
            is_done: false,
            is_done_withheld: false,
            made: None,
            has_passed: false,
            refused: None,
            is_put_aside: false,
            is_told_gone: false,
        }
    }

    /// Says whether a plan that knows of the claim still has it.
    pub(super) fn is_current(&self, plan: &Plan) -> bool {
        plan.revision < self.token
            || plan.live_claim(&self.task).is_some_and(|claim| claim.token == self.token)
    }
}

/// The store of a lane. See the [module](self).
#[derive(Debug)]
pub(super) struct LaneView {
    shared: Weak<Lanes>,
    store: Arc<dyn PlanStore>,
    leads: bool,
    own: Mutex<Option<OwnClaim>>,
    /// What it has instead while it looks for tasks.
    discovery: Mutex<Option<OwnDiscovery>>,
    /// Where the machine is told of what its agent said.
    inputs: OnceLock<UnboundedSender<Input>>,
}

impl LaneView {
    pub(super) fn new(shared: &Arc<Lanes>, leads: bool) -> Self {
        let store = Arc::clone(&shared.setup.store);
        let (own, discovery, inputs) = (Mutex::default(), Mutex::default(), OnceLock::new());
        Self { shared: Arc::downgrade(shared), store, leads, own, discovery, inputs }
    }

    /// Says where the machine of the lane is.
    pub(super) fn tells(&self, inputs: UnboundedSender<Input>) {
        // It is said once.
        let _ = self.inputs.set(inputs);
    }

    pub(super) fn tell(&self, input: Input) {
        if let Some(inputs) = self.inputs.get() {
            // The lane has ended if nobody listens any more.
            let _ = inputs.send(input);
        }
    }

    pub(super) fn own(&self) -> MutexGuard<'_, Option<OwnClaim>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn discovery(&self) -> MutexGuard<'_, Option<OwnDiscovery>> {
        self.discovery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether a task is the one that the lane has claimed.
    pub(super) fn has(&self, id: &TaskId) -> bool {
        self.own().as_ref().is_some_and(|own| own.task == *id)
    }

    /// Returns the name by which the lane has claimed its task; nothing where the claim is no longer its own.
    fn worker(&self, id: &TaskId) -> Result<Option<String>, StateError> {
        let loaded = self.store.load()?;
        let token = self.own().as_ref().filter(|own| own.task == *id).map(|own| own.token);
        let claim = loaded.plan.live_claim(id).filter(|claim| Some(claim.token) == token);
        Ok(claim.and_then(|claim| claim.worker.clone()))
    }

    /// Takes down that the agent says its task is done.
    fn done(&self, made_at: Option<Timestamp>, id: &TaskId) -> Result<Applied, StateError> {
        let loaded = self.store.load()?;
        let plan = &loaded.plan;
        if made_at.is_some() && plan.project.created_at != made_at {
            // The store words what is wrong with that.
            let gone = Mutation::Done { id: id.clone(), commit_sha: None, iteration: None };
            return self.store.mutate_as(made_at, gone, &Actor::Agent.into());
        }
        let Some(mut task) = plan.task(id).cloned() else { return Err(StateError::no_task(plan, id)) };
        let from = task.status;
        task.status = Status::Completed;
        let is_new = {
            let mut own = self.own();
            let own = own.as_mut().filter(|own| own.task == *id && own.is_current(plan));
            own.map(|own| !std::mem::replace(&mut own.is_done, true))
        };
        let Some(is_new) = is_new else {
            let is_of_plan =
                self.shared.upgrade().is_some_and(|shared| shared.setup.completes == Completes::Plan);
            if is_of_plan && plan.live_claim(id).is_none() {
                let done = Mutation::Done { id: id.clone(), commit_sha: None, iteration: None };
                return self.store.mutate_as(made_at, done, &Actor::Agent.into());
            }
            let claim = plan.live_claim(id).ok_or(StateError::NotForAgents { what: "done" })?;
            return Err(StateError::claimed(claim));
        };
        if is_new {
            let (title, description) = (task.title.clone(), task.description.clone());
            let completion = Completion {
                task: id.clone(),
                title,
                description,
                actor: Actor::Agent,
                seq: 0,
                by_call: true,
                is_edit: false,
                others_at_work: true,
            };
            self.tell(Input::TaskCompleted(completion));
        }
        let change = match is_new {
            true => TaskChange::Task { id: id.clone(), from, to: Status::Completed },
            false => TaskChange::Unchanged,
        };
        Ok(Applied::nothing_stored(plan.revision, change, Some(task)))
    }

    /// Lets the agent put its own task aside, which the store refuses of what is claimed.
    fn skip(
        &self,
        made_at: Option<Timestamp>,
        id: &TaskId,
        reason: Option<String>,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        let title = self.store.load()?.plan.task(id).map(|task| task.title.clone()).unwrap_or_default();
        let by_run = Asker { actor: Actor::Runtime, ..asker.clone() };
        let skip = Mutation::Skip { id: id.clone(), reason: reason.clone() };
        self.put_aside(id, true);
        let applied =
            self.store.mutate_as(made_at, skip, &by_run).inspect_err(|_| self.put_aside(id, false))?;
        let (change, actor) = (PlanChange::Skipped, Actor::Agent);
        let (task, others_at_work, seq) = (id.clone(), false, 0);
        let changed = PlanChanged { change, task, title, reason, actor, others_at_work, seq };
        self.tell(Input::PlanChanged(changed));
        Ok(applied)
    }

    fn put_aside(&self, id: &TaskId, is: bool) {
        if let Some(own) = self.own().as_mut().filter(|own| own.task == *id) {
            own.is_put_aside = is;
        }
    }

    /// Makes a change that the machine of the lane wants.
    fn by_machine(&self, made_at: Option<Timestamp>, mutation: Mutation) -> Result<Applied, StateError> {
        let nothing = || -> Result<Applied, StateError> {
            let revision = self.store.load()?.revision;
            let change = TaskChange::Unchanged;
            Ok(Applied::nothing_stored(revision, change, None))
        };
        let pass = |mutation| self.store.mutate_as(made_at, mutation, &Actor::Runtime.into());
        match mutation {
            Mutation::StartTask { id, .. } => {
                let loaded = self.store.load()?;
                let mut own = self.own();
                match own.as_mut().filter(|own| own.task == id && own.is_current(&loaded.plan)) {
                    Some(own) => own.iteration = own.number.take().or(own.iteration),
                    None => {
                        let status = loaded.plan.task(&id).map(|task| task.status).unwrap_or_default();
                        return Err(StateError::NotStartable { id, status });
                    }
                }
                drop(own);
                nothing()
            }
            Mutation::BeginDiscovery { .. } => {
                OwnDiscovery::check(self.discovery().as_ref(), &self.store.load()?.plan)?;
                pass(mutation)
            }
            Mutation::ReturnToPending { id } if self.has(&id) => nothing(),
            Mutation::TakeBack { mut ids, failures } => {
                if let Some(own) = self.own().as_mut().filter(|own| ids.contains(&own.task)) {
                    ids.retain(|id| *id != own.task);
                    (own.is_done, own.made, own.has_passed) = (false, None, false);
                    own.is_done_withheld = false;
                }
                if ids.is_empty() { nothing() } else { pass(Mutation::TakeBack { ids, failures }) }
            }
            Mutation::SetProgressStatus { .. } if !self.leads => nothing(),
            Mutation::CommitIteration { usage, .. } | Mutation::AddUsage { usage } => {
                let ended = match &mutation {
                    Mutation::CommitIteration { iteration, .. } => Some(*iteration),
                    _ => None,
                };
                // Books of an iteration that has ended are never kept before the plan has it.
                let applied = pass(mutation)?;
                if let Some(shared) = self.shared.upgrade() {
                    shared.consumed(usage, self.leads, ended);
                }
                Ok(applied)
            }
            mutation => pass(mutation),
        }
    }
}

impl PlanStore for LaneView {
    fn exists(&self) -> Result<bool, StateError> {
        self.store.exists()
    }

    fn load(&self) -> Result<LoadedPlan, StateError> {
        let mut loaded = self.store.load()?;
        let done = self.own().as_ref().filter(|own| own.is_done && own.is_current(&loaded.plan)).cloned();
        if let Some(own) = done {
            let plan = Arc::make_mut(&mut loaded.plan);
            if let Some(task) = plan.tasks.iter_mut().find(|task| task.id == own.task) {
                task.status = Status::Completed;
            }
        }
        Ok(loaded)
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.store.import(plan, actor, existing)
    }

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        match (asker.actor, mutation) {
            (Actor::Runtime, mutation) => self.by_machine(made_at, mutation),
            (Actor::Agent, Mutation::Done { id, .. }) => self.done(made_at, &id),
            (Actor::Agent, Mutation::Skip { id, reason }) if self.has(&id) => {
                self.skip(made_at, &id, reason, asker)
            }
            (Actor::Agent, mutation @ (Mutation::Block { .. } | Mutation::Ask { .. })) => {
                let own = match &mutation {
                    Mutation::Block { id, .. } | Mutation::Ask { id, .. } => Some(id.clone()),
                    _ => None,
                };
                let own = own.filter(|id| self.has(id));
                // The store refuses it of what another worker has claimed.
                let worker = own.as_ref().map_or(Ok(None), |id| self.worker(id))?;
                own.iter().for_each(|id| self.put_aside(id, true));
                let made = self.store.mutate_as(made_at, mutation, &Asker { worker, ..asker.clone() });
                made.inspect_err(|_| own.iter().for_each(|id| self.put_aside(id, false)))
            }
            (_, mutation) => self.store.mutate_as(made_at, mutation, asker),
        }
    }

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.store.journal_since(seq)
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        if !self.leads {
            let journal = self.store.journal_since(seq)?;
            // The leader takes edits over. If there are records, the plan is read too, without edits that are undone.
            if journal.records.is_empty() {
                return Ok(CaughtUp { journal, ..CaughtUp::default() });
            }
        }
        self.store.catch_up(seq)
    }

    fn wrote(&self, record: &JournalRecord) -> bool {
        self.store.wrote(record)
    }

    fn last_written(&self) -> Result<LastWritten, StateError> {
        self.store.last_written()
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        self.store.append_progress(entries)
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.store.progress()
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        self.store.rotate_progress(max_lines)
    }

    fn watch(&self) -> Watch {
        match self.shared.upgrade() {
            Some(shared) => shared.watchers.watch(&self.store),
            None => self.store.watch(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::{
        clock::Clock,
        model::{Coded as _, Task},
        state::{MemoryStore, NewTask},
        testing::VirtualClock,
    };

    /// A plan of two tasks that two lanes have claimed, as the first one sees it.
    fn lane() -> (LaneView, Arc<dyn PlanStore>, UnboundedReceiver<Input>) {
        let clock: Arc<dyn Clock> = Arc::new(VirtualClock::new());
        let store: Arc<dyn PlanStore> = Arc::new(MemoryStore::new(clock));
        let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let claim = |id: &str| {
            let (task, worker) = (TaskId::new(id).into(), format!("r/lane-{id}"));
            store.mutate(Mutation::Claim { task, worker }, Actor::Runtime).unwrap().revision
        };
        let (token, _) = (claim("1"), claim("2"));
        let (own, discovery, inputs) = (Mutex::default(), Mutex::default(), OnceLock::new());
        let view =
            LaneView { shared: Weak::new(), store: Arc::clone(&store), leads: false, own, discovery, inputs };
        let claim = OwnClaim::new(TaskId::new("1"), token, "b".to_owned(), "0".to_owned(), 1);
        *view.own() = Some(claim);
        let (sender, receiver) = unbounded_channel();
        view.tells(sender);
        (view, store, receiver)
    }

    fn done(id: &str) -> Mutation {
        Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None }
    }

    fn status(store: &dyn PlanStore, id: &str) -> Status {
        store.load().unwrap().plan.task(&TaskId::new(id)).unwrap().status
    }

    #[test]
    fn what_the_agent_says_is_done_is_so_for_the_lane_alone_until_it_is_taken_back() {
        let (view, store, mut inputs) = lane();
        let applied = view.mutate(done("1"), Actor::Agent).unwrap();
        assert_eq!(applied.task.unwrap().status, Status::Completed);
        assert_eq!((status(&view, "1"), status(&*store, "1")), (Status::Completed, Status::InProgress));
        assert!(matches!(inputs.try_recv(), Ok(Input::TaskCompleted(_))));
        assert_eq!(view.mutate(done("1"), Actor::Agent).unwrap().change, TaskChange::Unchanged);
        assert!(inputs.try_recv().is_err(), "it is told once");
        let back = Mutation::TakeBack { ids: vec![TaskId::new("1")], failures: Vec::new() };
        view.mutate(back, Actor::Runtime).unwrap();
        assert_eq!(status(&view, "1"), Status::InProgress);
        assert!(!view.own().as_ref().unwrap().is_done);
    }

    #[test]
    fn what_another_lane_works_on_is_not_the_agents_to_settle() {
        let (view, store, _inputs) = lane();
        let id = TaskId::new("2");
        let ask = Mutation::Ask { id: id.clone(), question: "Which?".to_owned(), options: Vec::new() };
        for change in [done("2"), Mutation::Block { id: id.clone(), reason: None }, ask] {
            let refused = view.mutate(change.clone(), Actor::Agent).unwrap_err();
            assert_eq!(refused.code().name, "E_TASK_CLAIMED", "{change:?}");
        }
        assert!(store.load().unwrap().plan.live_claim(&id).is_some());
    }

    #[test]
    fn an_agent_asks_about_the_task_of_its_lane_or_blocks_it() {
        let ask = Mutation::Ask { id: TaskId::new("1"), question: "Which?".to_owned(), options: Vec::new() };
        for change in [ask, Mutation::Block { id: TaskId::new("1"), reason: None }] {
            let (view, store, _inputs) = lane();
            view.mutate(change, Actor::Agent).unwrap();
            assert_eq!(status(&*store, "1"), Status::Blocked);
        }
    }

    #[test]
    fn an_agent_puts_its_own_task_aside_and_adds_others() {
        let (view, store, mut inputs) = lane();
        view.mutate(Mutation::Enqueue { task: NewTask::new("More") }, Actor::Agent).unwrap();
        let skip = Mutation::Skip { id: TaskId::new("1"), reason: Some("it is there".to_owned()) };
        view.mutate(skip, Actor::Agent).unwrap();
        assert_eq!((status(&*store, "1"), status(&*store, "3")), (Status::Skipped, Status::Pending));
        assert!(matches!(inputs.try_recv(), Ok(Input::PlanChanged(_))));
        assert!(view.own().as_ref().unwrap().is_put_aside, "its agent is not stopped for that");
    }

    #[test]
    fn the_machine_begins_and_lets_go_of_the_lanes_task_without_the_plan() {
        let (view, store, _inputs) = lane();
        let before = store.load().unwrap().revision;
        let id = TaskId::new("1");
        view.mutate(Mutation::StartTask { id: id.clone(), owner: None }, Actor::Runtime).unwrap();
        view.mutate(Mutation::ReturnToPending { id: id.clone() }, Actor::Runtime).unwrap();
        assert_eq!(store.load().unwrap().revision, before);
        // Once somebody has settled it, there is nothing to begin with.
        store.mutate(Mutation::Skip { id: id.clone(), reason: None }, Actor::User).unwrap();
        assert!(view.mutate(Mutation::StartTask { id, owner: None }, Actor::Runtime).is_err());
    }

    #[test]
    fn a_lane_looks_for_tasks_only_while_it_has_the_role() {
        let (view, store, _inputs) = lane();
        let refused = view.mutate(Mutation::BeginDiscovery { room: 3 }, Actor::Runtime).unwrap_err();
        assert!(matches!(refused, StateError::ClaimVoid { .. }), "{refused}");
        assert_eq!(store.load().unwrap().plan.progress.discovery_room, None);
    }
}
