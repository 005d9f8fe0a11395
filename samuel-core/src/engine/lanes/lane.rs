//! One lane: what is next for it.
//!
//! Where the machine asks what is next, a [`Lane`] hands in what is done, claims a task that no other
//! lane works on, and gives it a branch; while there is none it waits until something lands, comes back
//! or is added. An iteration that failed goes on where it left off, in the same work tree, as in a
//! single loop. Claims are made and given back in `claiming`; what a point does in the work tree is in `around`.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::{
    error::LanesError,
    shared::Lanes,
    view::{LaneView, OwnClaim},
};
use crate::{
    engine::{error::RunError, plan_effects, services::Services},
    event::{Event, PlanChange, RunFault, RunReport},
    machine::{Command, EffectResult, Input, LaneWork, WorkLeft},
    model::{
        ClaimPhase, ExitReason, FailureClass, IterationOutcome, Plan, Question, Scope, TaskId,
        payload::{Actor as ChangedBy, Mode, TaskBrief},
    },
    plan::Work,
    sched::{ClaimChoice, Claimant, LaneStep, SharedBooks, WhyLeftOut, choose, step},
    state::{Actor, LoadedPlan, Mutation, RunEnd, StateError, TaskChange},
    workspace::{LaneClone, WorkspaceError},
};

/// How many reasons for waiting are told.
const MAX_REASONS: usize = 5;

/// A lane of a run. See the [module](self).
#[derive(Debug)]
pub(in crate::engine) struct Lane {
    /// From 1; the first one leads.
    pub(in crate::engine) number: u32,
    pub(in crate::engine) shared: Arc<Lanes>,
    pub(super) view: Arc<LaneView>,
    pub(super) tree: Arc<LaneClone>,
    /// The lane that looks for tasks, as of the record of the plan that was read last; 0 where none does.
    pub(super) looking: AtomicU32,
    /// Whether the scheduler said that the lane ends.
    was_over: AtomicBool,
    /// Whether the check of what has landed that is told next was the queue's, which has told it.
    pub(super) is_told: AtomicBool,
    /// What it told last of why it waits; nothing while it works.
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
    #[error(transparent)]
    Lanes(#[from] LanesError),
    #[error("it was stopped")]
    Stopped,
}

impl LaneFault {
    fn fault(&self) -> RunFault {
        match self {
            Self::State(error) => RunFault::of(error),
            Self::Workspace(error) => RunFault::of(error),
            Self::Lanes(error) => RunFault::of(error),
            // The lane ends by it, and well.
            Self::Stopped => RunFault::of(&RunError::Broken { message: self.to_string() }),
        }
    }
}

/// What a lane does next.
enum Found {
    /// It works on a task.
    Task { task: TaskBrief, answered: Option<Question>, iteration: u32, attempts: u32 },
    /// It looks for tasks.
    Discovery { iteration: u32 },
    /// It ends for this reason.
    Over(RunEnd),
    /// Nothing is left, for any lane, but what the plan says, and what was found by looking for tasks.
    Nothing { work: Work, mode: Mode },
    /// It waits, for these reasons.
    Wait(Vec<String>),
}

impl Lane {
    pub(super) fn new(
        number: u32,
        shared: Arc<Lanes>,
        view: Arc<LaneView>,
        tree: Arc<LaneClone>,
    ) -> Arc<Self> {
        let (looking, was_over, is_told) =
            (AtomicU32::default(), AtomicBool::default(), AtomicBool::default());
        let (waits_for, at_the_end) = (Mutex::default(), Mutex::default());
        Arc::new(Self { number, shared, view, tree, looking, was_over, is_told, waits_for, at_the_end })
    }

    /// Says where the machine of the lane is.
    pub(in crate::engine) fn tells_to(&self, inputs: UnboundedSender<Input>) {
        if self.leads() {
            self.shared.is_led(inputs.clone());
        }
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
                | Event::Paused
                | Event::Resumed
                | Event::Swept { .. }
                // What has landed was checked, which is of no lane.
                | Event::QualityChecked { iteration: 0, .. }
                // Nor is what a person completes.
                | Event::TaskCompleted { .. }
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
        if let Event::RunFinished(RunReport { fault: Some(fault), .. }) = event
            && !self.leads()
        {
            let message = format!("lane {} cannot go on: {}", self.number, fault.message);
            self.shared.fails(RunFault { message, ..(**fault).clone() });
        }
        if let Event::PlanChanged { change, task, actor, .. } = event {
            if (*change, *actor) == (PlanChange::Blocked, ChangedBy::Runtime) {
                self.shared.books(SharedBooks::blocked);
            }
            if change.moves() {
                self.shared.is_not_done(task);
            }
        }
        if let Event::IterationFinished { outcome, .. } = event {
            self.iteration_ended(*outcome);
        }
        if let Event::IterationFinished { outcome, excused: false, failure, unrecorded, .. } = event
            && *outcome != IterationOutcome::Cancelled
        {
            let is_cut_off =
                failure.as_ref().is_some_and(|failure| failure.class == FailureClass::Interrupted);
            // One in which the agent said nothing of its task neither failed nor came to something, nor did one that a
            // kill has cut off.
            if !unrecorded && !is_cut_off {
                self.shared.books(|books| books.ended(*outcome == IterationOutcome::Failed));
            }
            if *outcome == IterationOutcome::Failed {
                self.shared.failed_in(self.leads());
            }
            let is_attempt = failure.as_ref().is_some_and(|failure| {
                !matches!(failure.class, FailureClass::AgentStart | FailureClass::Interrupted)
            });
            if let Some(own) = self.view.own().as_ref().filter(|_| is_attempt) {
                self.shared.failed(own.task.clone());
            }
        }
        if let Event::TasksTakenBack { tasks, .. } = event {
            // Once its claim is gone, the check of a lane decides nothing that a person said of its task.
            let gone = self.view.own().as_ref().filter(|own| own.is_told_gone).map(|own| own.task.clone());
            let taken_back = tasks.iter().filter(|task| gone.as_ref() != Some(*task));
            taken_back.for_each(|task| self.shared.is_not_done(task));
        }
        match event {
            // The queue tells what the agents of workers complete, once it is merged.
            Event::TaskCompleted { task, .. } => self.tells_of_completion(task),
            Event::QualityChecked { iteration: 0, .. } => !self.is_told.swap(false, Ordering::Relaxed),
            Event::RunStarted { .. } | Event::Stopping { .. } | Event::RunFinished(_) => self.leads(),
            Event::Paused | Event::Resumed | Event::Commanded { .. } => self.leads(),
            _ => true,
        }
    }

    /// Returns whether a completion is told here: the leader tells those that are of no agent of a worker. What its own
    /// agent said comes first, and once.
    fn tells_of_completion(&self, task: &TaskId) -> bool {
        let is_own = self.view.own().as_mut().is_some_and(|own| {
            own.task == *task && own.is_done && !std::mem::replace(&mut own.is_done_withheld, true)
        });
        let is_told = self.leads() && !is_own;
        if is_told {
            self.shared.is_done(task.clone());
        }
        is_told
    }

    /// Returns whether other lanes work on a task.
    pub(in crate::engine) fn others_work(&self) -> bool {
        self.shared.others_work(self.number)
    }

    /// Returns the commit that the branch was at on which work lands, when the run began.
    pub(in crate::engine) fn began_at(&self) -> &str {
        &self.shared.setup.began_at
    }

    /// Hands a command on that was given to the run.
    pub(in crate::engine) fn forward(&self, command: &Command) {
        if self.leads() {
            self.shared.forward(command);
        }
    }

    /// Takes down that the lane's agent was given what the user said.
    pub(in crate::engine) fn were_delivered(&self, texts: &[String]) {
        self.shared.user_texts(|said| said.were_delivered(self.number, texts));
    }

    // What the lane is told of the plan.

    /// Returns whether the machine receives the input from the plan record `seq`.
    pub(in crate::engine) fn hears(&self, seq: u64, input: &Input) -> bool {
        match input {
            Input::PlanChanged(changed) if self.view.has(&changed.task) => {
                self.shared.told_of(seq, &changed.task);
                true
            }
            // The leader receives changes to tasks that no lane works on. The order matters: a lane reports a change before
            // it releases its task, and the leader may read the record later.
            Input::PlanChanged(changed) => self.finds(changed).unwrap_or_else(|| {
                self.leads()
                    && !self.shared.is_worked_on(&changed.task)
                    && !self.shared.was_told_of(seq, &changed.task)
            }),
            // The leader decides on what no agent of a worker completed. The view tells each lane what its agent did.
            Input::TaskCompleted(_) | Input::Unheard => self.leads(),
            _ => true,
        }
    }

    /// Sees whether the lane's task is still its own, and has its agent stopped where it is not. What somebody else
    /// changed may give lanes something to do that wait, and the queue.
    pub(in crate::engine) fn look(&self, plan: &Plan, is_by_others: bool) {
        if is_by_others {
            self.shared.wake();
        }
        self.look_at_discovery(plan);
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

    /// Hands in what is done before the lane holds.
    pub(in crate::engine) async fn before_it_holds(
        self: &Arc<Self>,
        services: &Arc<Services>,
    ) -> EffectResult {
        match self.hand_in(services).await {
            Ok(()) => EffectResult::Done,
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
            let (work, queue) = Work::with_queue(&loaded.plan, &loaded.unparsed, &self.shared.setup.scope);
            let found = match changed_files {
                Some(_) => Found::Nothing { work: work.clone(), mode: Mode::Implementation },
                None => match self.find(services, &loaded, elapsed, &cancel).await {
                    Err(LaneFault::Stopped) => {
                        Found::Over(RunEnd { reason: ExitReason::Cancelled, detail: None })
                    }
                    found => found?,
                },
            };
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
                Found::Task { task, answered, iteration, attempts } => {
                    self.waits_for.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    let left =
                        left(Work::Task(task), LaneWork { iteration, attempts, ..LaneWork::default() });
                    return Ok(WorkLeft { answered, ..left });
                }
                Found::Over(end) => {
                    self.was_over.store(true, Ordering::Relaxed);
                    return Ok(left(work, LaneWork { over: Some(end), ..LaneWork::default() }));
                }
                Found::Discovery { iteration } => {
                    let left = left(work, LaneWork { iteration, ..LaneWork::default() });
                    return Ok(WorkLeft { mode: Mode::Discovery, ..left });
                }
                Found::Nothing { work, mode } => {
                    let empty_discoveries = self.shared.empty_discoveries();
                    let left = left(work, LaneWork { empty_discoveries, ..LaneWork::default() });
                    return Ok(WorkLeft { mode, ..left });
                }
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
        cancel: &CancellationToken,
    ) -> Result<Found, LaneFault> {
        let plan = &loaded.plan;
        if let Some(end) = self.shared.over() {
            return Ok(Found::Over(end));
        }
        let own = self.view.own().clone().filter(|own| own.is_current(plan));
        if let Some(own) = own {
            return Ok(self.go_on(plan, &own, elapsed));
        }
        if let Some(iteration) = self.looks_on(plan) {
            return Ok(Found::Discovery { iteration });
        }
        if self.shared.is_finished() && !self.leads() {
            return Ok(self.ended());
        }
        let asker = Claimant {
            // Lanes of one run choose one after the other, so the most urgent is whoever's comes first.
            lane: 0,
            jobs: self.shared.setup.jobs as usize,
            scope: self.shared.setup.scope.clone(),
            max_attempts: self.shared.setup.max_attempts,
        };
        // What is chosen beside other tasks is claimed before the next lane chooses.
        let alone = self.shared.claiming.lock().await;
        let mut plan = self.shared.caught_up(services).await?;
        // An edit of prd.toon may have hidden the claim until now.
        let own = self.view.own().clone().filter(|own| own.is_current(&plan));
        if let Some(own) = own {
            return Ok(self.go_on(&plan, &own, elapsed));
        }
        if let Some((task, token)) = self.forgotten(&plan) {
            self.give_back(task, token, None).await?;
            plan = self.shared.caught_up(services).await?;
        }
        if self.shared.reopen_lost(services, &plan).await? {
            plan = self.shared.caught_up(services).await?;
        }
        let plan = &plan;
        let choice = choose(plan, &asker, self.shared.setup.overlap);
        for left_out in &choice.left_out {
            if let WhyLeftOut::Attempts { failed } = left_out.why {
                let reason = Some(format!("{failed} attempts have failed (task_budget.max_attempts)"));
                let block = Mutation::Block { id: left_out.task.clone(), reason: reason.clone() };
                // Somebody may have settled it meanwhile.
                let blocked = self.shared.blocking(move |store| store.mutate(block, Actor::Runtime)).await?;
                if blocked.is_ok_and(|applied| applied.change != TaskChange::Unchanged) {
                    self.shared.tell_blocked(services, plan, &left_out.task, reason);
                }
                self.shared.wake();
            }
        }
        if choice.tasks.is_empty() && choice.under_way == 0 {
            let is_blocking =
                choice.left_out.iter().any(|left| matches!(left.why, WhyLeftOut::Attempts { .. }));
            if is_blocking {
                return Ok(Found::Wait(Vec::new()));
            }
        }
        let next = step(plan, &choice, &self.pilot(services), self.shared.empty_discoveries());
        if let LaneStep::End { mode } = next {
            self.shared.finish();
            return match self.leads() {
                true => self.nothing_left(work_beside(plan, loaded, &choice, &asker.scope), mode).await,
                false => Ok(self.ended()),
            };
        }
        if next != LaneStep::Wait && self.shared.is_capped(elapsed) {
            return Ok(self.over_or_wait());
        }
        if next == LaneStep::Discover
            && let Some(claimed) = self.claim_discovery().await?
        {
            drop(alone);
            let begun = self.begin_discovery(services, claimed, elapsed, cancel).await?;
            self.shared.wake();
            return Ok(begun.map_or_else(|| self.over_or_wait(), |iteration| Found::Discovery { iteration }));
        }
        let tasks = if next == LaneStep::Work { choice.tasks } else { Vec::new() };
        for task in tasks {
            if let Some(claimed) = self.claim(plan, task).await? {
                if self.submits_again(services, plan, &claimed).await? {
                    // It looks again at once.
                    return Ok(Found::Wait(Vec::new()));
                }
                drop(alone);
                let own = self.begin_with(services, plan, claimed, cancel).await?;
                self.shared.wake();
                return Ok(self.go_on(plan, &own, elapsed));
            }
        }
        let left_out = choice.left_out.iter().map(ToString::to_string);
        let reasons = self.who_looks(services, plan).into_iter().chain(left_out);
        Ok(Found::Wait(reasons.take(MAX_REASONS).collect()))
    }

    /// Has the lane go on with the task that it has claimed.
    fn go_on(&self, plan: &Plan, own: &OwnClaim, elapsed: Duration) -> Found {
        let Some(task) = plan.task(&own.task) else { return Found::Wait(Vec::new()) };
        let number = match own.number {
            Some(number) => number,
            None => match self.shared.next_iteration(elapsed) {
                Some(number) => number,
                None => return self.over_or_wait(),
            },
        };
        if let Some(kept) = self.view.own().as_mut() {
            kept.number = Some(number);
        }
        Found::Task {
            task: TaskBrief::from(task),
            answered: task.answered_question().cloned(),
            iteration: number,
            attempts: own.attempt.saturating_sub(1).saturating_add(self.shared.failures_of(&own.task)),
        }
    }

    /// Ends the lane where the run is over; else it looks again once something has changed.
    fn over_or_wait(&self) -> Found {
        self.shared.over().map_or(Found::Wait(Vec::new()), Found::Over)
    }

    /// Ends a lane that does not lead, since nothing is left.
    fn ended(&self) -> Found {
        Found::Over(RunEnd { reason: ExitReason::Completed, detail: None })
    }

    /// Ends the leader by what is left of the plan. Its last check is of what has landed.
    async fn nothing_left(&self, work: Work, mode: Mode) -> Result<Found, LaneFault> {
        let head = self.shared.setup.repository.head(&self.shared.setup.into).await?;
        let mut last = self.at_the_end.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != head {
            *last = head;
            // What the last check of this lane said is of another commit.
            self.view.tell(Input::Unheard);
        }
        Ok(Found::Nothing { work, mode })
    }

    fn tell_why(&self, services: &Services, reasons: Vec<String>) {
        let reason = reasons.join("; ");
        let mut told = self.waits_for.lock().unwrap_or_else(PoisonError::into_inner);
        if *told != reason && !reason.is_empty() && self.shared.is_news(&reason) {
            told.clone_from(&reason);
            services.emit(Event::Waiting { wait_ms: 0, reason, until: None });
        }
    }
}

/// Says what a plan leaves to do in which no lane can take anything up. What is ready and left out waits for work that
/// a person holds, which does not go on by itself.
fn work_beside(plan: &Plan, loaded: &LoadedPlan, choice: &ClaimChoice, scope: &Scope) -> Work {
    if choice.left_out.is_empty() {
        return Work::of(plan, &loaded.unparsed, scope);
    }
    let held = plan.claimed_tasks().filter(|(_, claim)| claim.phase == ClaimPhase::Held);
    let held = held.map(|(task, _)| format!("{} was submitted and is held", task.id));
    Work::Blocked(choice.left_out.iter().map(ToString::to_string).chain(held).collect())
}
