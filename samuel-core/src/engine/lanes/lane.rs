//! One lane: what is next for it.
//!
//! Where the machine asks what is next, a [`Lane`] hands in what is done, claims a task that no other
//! lane works on, and gives it a branch; while there is none it waits until something lands, comes back
//! or is added. An iteration that failed goes on where it left off, in the same work tree, as in a
//! single loop. Claims are made and given back in `claiming`; what a point does in the work tree is in `around`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::{
    shared::Lanes,
    view::{LaneView, OwnClaim},
};
use crate::{
    engine::{plan_effects, services::Services},
    event::{Event, RunFault},
    machine::{Command, EffectResult, Input, LaneWork, WorkLeft},
    model::{
        ExitReason, IterationOutcome, Plan, TaskId,
        payload::{Mode, TaskBrief},
    },
    plan::Work,
    sched::{Claimant, WhyLeftOut, choose},
    state::{Actor, LoadedPlan, Mutation, RunEnd, StateError},
    workspace::{WorkspaceError, Worktree},
};

/// How many reasons for waiting are told.
const MAX_REASONS: usize = 5;

/// A lane of a run. See the [module](self).
#[derive(Debug)]
pub(in crate::engine) struct Lane {
    /// From 1; the first one leads.
    pub(super) number: u32,
    pub(in crate::engine) shared: Arc<Lanes>,
    pub(super) view: Arc<LaneView>,
    pub(super) tree: Arc<Worktree>,
    /// Whether the scheduler said that the lane ends.
    was_over: AtomicBool,
    /// What was told last of why it waits.
    waits_for: Mutex<String>,
    /// The head of the branch when nothing was left last.
    at_the_end: Mutex<Option<String>>,
}

/// Why a lane cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum LaneFault {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl LaneFault {
    fn fault(&self) -> RunFault {
        match self {
            Self::State(error) => RunFault::of(error),
            Self::Workspace(error) => RunFault::of(error),
        }
    }
}

/// What a lane does next.
enum Found {
    /// It works on a task.
    Task { task: TaskBrief, iteration: u32, attempts: u32 },
    /// It ends for this reason.
    Over(RunEnd),
    /// Nothing is left, for any lane.
    Nothing,
    /// It waits, for these reasons.
    Wait(Vec<String>),
}

impl Lane {
    pub(super) fn new(
        number: u32,
        shared: Arc<Lanes>,
        view: Arc<LaneView>,
        tree: Arc<Worktree>,
    ) -> Arc<Self> {
        let (was_over, waits_for, at_the_end) = (AtomicBool::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { number, shared, view, tree, was_over, waits_for, at_the_end })
    }

    /// Says where the machine of the lane is.
    pub(in crate::engine) fn tells_to(&self, inputs: UnboundedSender<Input>) {
        self.view.tells(inputs);
    }

    /// Says whether the points of the session and the loop fire here.
    pub(in crate::engine) fn leads(&self) -> bool {
        self.number == 1
    }

    /// Returns the lane that an event is of; nothing of one that is of the run.
    pub(in crate::engine) fn of(&self, event: &Event) -> Option<u32> {
        let is_of_run = matches!(
            event,
            Event::RunStarted { .. }
                | Event::Stopping { .. }
                | Event::RunFinished(_)
                | Event::Commanded { .. }
                | Event::Swept { .. }
        );
        (!is_of_run).then_some(self.number)
    }

    /// Says whether an event is told to whoever watches. What is of the whole run is told by the leader,
    /// and that a task is completed by whoever lands it.
    pub(in crate::engine) fn tells(&self, event: &Event) -> bool {
        if let Event::Stopping { reason, detail } = event
            && !self.was_over.load(Ordering::Relaxed)
            && !matches!(reason, ExitReason::Completed | ExitReason::Cancelled | ExitReason::Blocked)
        {
            // What ends one lane ends all.
            self.shared.end(*reason, detail.clone());
        }
        if let Event::IterationFinished { outcome, excused: false, .. } = event
            && *outcome != IterationOutcome::Cancelled
        {
            self.shared.books(|books| books.ended(*outcome == IterationOutcome::Failed));
        }
        match event {
            Event::TaskCompleted { .. } => false,
            Event::RunStarted { .. } | Event::Stopping { .. } | Event::RunFinished(_) => self.leads(),
            Event::Paused | Event::Resumed | Event::Commanded { .. } => self.leads(),
            _ => true,
        }
    }

    /// Hands a command on that was given to the run.
    pub(in crate::engine) fn forward(&self, command: &Command) {
        if self.leads() {
            self.shared.forward(command);
        }
    }

    // What the lane is told of the plan.

    /// Says whether the machine is told of something that happened in the plan.
    pub(in crate::engine) fn hears(&self, input: &Input) -> bool {
        match input {
            Input::PlanChanged(changed) => match self.view.has(&changed.task) {
                true => true,
                // Of what no lane works on, the leader is told.
                false => self.leads() && !self.shared.is_worked_on(&changed.task),
            },
            // Its own agent's word is told by the view; what landed was checked.
            Input::TaskCompleted(_) | Input::Unheard => false,
            _ => true,
        }
    }

    /// Sees whether the lane's task is still its own, and has its agent stopped where it is not.
    pub(in crate::engine) fn look(&self, plan: &Plan) {
        let mut own = self.view.own();
        let Some(own) = own.as_mut().filter(|own| !own.is_current(plan)) else { return };
        if !own.is_put_aside && !std::mem::replace(&mut own.is_told_gone, true) {
            self.view.tell(Input::Unclaimed);
        }
        self.shared.wake();
    }

    // What is next.

    /// Says what is next for the lane, once something is.
    pub(in crate::engine) async fn load(
        self: &Arc<Self>,
        services: &Arc<Services>,
        elapsed_ms: u64,
        cancel: CancellationToken,
    ) -> EffectResult {
        self.shared.is_past_start();
        match self.loaded(services, elapsed_ms, cancel).await {
            Ok(work) => EffectResult::Loaded(Box::new(work)),
            Err(fault) => EffectResult::Failed(fault.fault()),
        }
    }

    async fn loaded(
        self: &Arc<Self>,
        services: &Arc<Services>,
        elapsed_ms: u64,
        cancel: CancellationToken,
    ) -> Result<WorkLeft, LaneFault> {
        self.hand_in(services).await?;
        loop {
            let mut changed = self.shared.changes();
            changed.borrow_and_update();
            let (loaded, changed_files) = plan_effects::read(services).await?;
            let elapsed = Duration::from_millis(elapsed_ms);
            let found = match changed_files {
                Some(_) => Found::Nothing,
                None => self.find(services, &loaded, elapsed).await?,
            };
            let (work, queue) = Work::with_queue(&loaded.plan, &loaded.unparsed, &self.shared.scope);
            let queue_size = u32::try_from(queue).unwrap_or(u32::MAX);
            let left = |work, lane| WorkLeft {
                work,
                answered: None,
                changed: changed_files.clone(),
                queue_size,
                mode: Mode::Implementation,
                elapsed_ms,
                lane: Some(lane),
            };
            match found {
                Found::Task { task, iteration, attempts } => {
                    let answered = loaded.plan.task(&TaskId::new(task.id.as_str()));
                    let answered = answered.and_then(crate::model::Task::answered_question).cloned();
                    let left = left(Work::Task(task), LaneWork { iteration, attempts, over: None });
                    return Ok(WorkLeft { answered, ..left });
                }
                Found::Over(end) => {
                    self.was_over.store(true, Ordering::Relaxed);
                    return Ok(left(work, LaneWork { over: Some(end), ..LaneWork::default() }));
                }
                Found::Nothing => return Ok(left(work, LaneWork::default())),
                Found::Wait(reasons) => {
                    self.tell_why(services, reasons);
                    tokio::select! {
                        _ = changed.changed() => {}
                        () = cancel.cancelled() => {
                            let end = RunEnd { reason: ExitReason::Cancelled, detail: None };
                            return Ok(left(work, LaneWork { over: Some(end), ..LaneWork::default() }));
                        }
                    }
                }
            }
        }
    }

    async fn find(
        self: &Arc<Self>,
        services: &Arc<Services>,
        loaded: &LoadedPlan,
        elapsed: Duration,
    ) -> Result<Found, LaneFault> {
        let plan = &loaded.plan;
        if let Some(end) = self.shared.over() {
            return Ok(Found::Over(end));
        }
        let own = self.view.own().clone().filter(|own| own.is_current(plan));
        if let Some(own) = own {
            return Ok(self.go_on(plan, &own, elapsed));
        }
        if self.shared.is_finished() && !self.leads() {
            return self.nothing_left().await;
        }
        let asker = Claimant {
            lane: self.number as usize - 1,
            jobs: self.shared.jobs as usize,
            scope: self.shared.scope.clone(),
            max_attempts: self.shared.max_attempts,
        };
        // What is chosen beside other tasks is claimed before the next lane chooses.
        let alone = self.shared.claiming.lock().await;
        let plan = &self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await??;
        let choice = choose(plan, &asker, self.shared.overlap);
        for left_out in &choice.left_out {
            if let WhyLeftOut::Attempts { failed } = left_out.why {
                let reason = Some(format!("{failed} attempts have failed (task_budget.max_attempts)"));
                let block = Mutation::Block { id: left_out.task.clone(), reason };
                // Somebody may have settled it meanwhile.
                let _ = self.shared.blocking(move |store| store.mutate(block, Actor::Runtime)).await?;
                self.shared.wake();
            }
        }
        if choice.tasks.is_empty() && choice.under_way == 0 {
            let is_blocking =
                choice.left_out.iter().any(|left| matches!(left.why, WhyLeftOut::Attempts { .. }));
            if is_blocking {
                return Ok(Found::Wait(Vec::new()));
            }
            self.shared.finish();
            return self.nothing_left().await;
        }
        if !choice.tasks.is_empty() && self.shared.is_capped(elapsed) {
            return Ok(self.shared.over().map_or(Found::Wait(Vec::new()), Found::Over));
        }
        for task in choice.tasks {
            if let Some(claimed) = self.claim(plan, task).await? {
                drop(alone);
                let own = self.begin_with(services, plan, claimed).await?;
                self.shared.wake();
                return Ok(self.go_on(plan, &own, elapsed));
            }
        }
        let reasons = choice.left_out.iter().take(MAX_REASONS).map(ToString::to_string);
        Ok(Found::Wait(reasons.collect()))
    }

    /// Has the lane go on with the task that it has claimed.
    fn go_on(&self, plan: &Plan, own: &OwnClaim, elapsed: Duration) -> Found {
        let Some(task) = plan.task(&own.task) else { return Found::Wait(Vec::new()) };
        let number = match own.number {
            Some(number) => number,
            None => match self.shared.next_iteration(elapsed) {
                Some(number) => number,
                None => {
                    return self.shared.over().map_or(Found::Wait(Vec::new()), Found::Over);
                }
            },
        };
        if let Some(kept) = self.view.own().as_mut() {
            kept.number = Some(number);
        }
        Found::Task {
            task: TaskBrief::from(task),
            iteration: number,
            attempts: own.attempt.saturating_sub(1),
        }
    }

    /// Ends the lane, since nothing is left. The last check of the leader is of what has landed.
    async fn nothing_left(&self) -> Result<Found, LaneFault> {
        if !self.leads() {
            return Ok(Found::Over(RunEnd { reason: ExitReason::Completed, detail: None }));
        }
        let head = self.shared.repository.head(&self.shared.into).await?;
        let mut last = self.at_the_end.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != head {
            *last = head;
            // What the last check of this lane said is of another commit.
            self.view.tell(Input::Unheard);
        }
        Ok(Found::Nothing)
    }

    fn tell_why(&self, services: &Services, reasons: Vec<String>) {
        let reason = reasons.join("; ");
        let mut told = self.waits_for.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != reason && !reason.is_empty() {
            services.emit(Event::Waiting { wait_ms: 0, reason: reason.clone(), until: None });
        }
        *told = reason;
    }
}
