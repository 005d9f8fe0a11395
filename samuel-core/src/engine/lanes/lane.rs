//! One lane: what is next for it, and what becomes of its work.
//!
//! Where the machine asks what is next, a [`Lane`] hands in what is done, claims a task that no other
//! lane works on, and gives it a branch; while there is none it waits until something lands, comes back
//! or is added. An iteration that failed goes on where it left off, in the same work tree, as in a
//! single loop. Which points fire in a lane, and what becomes of what they did, is at the end.

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
    engine::{error::described, fire::Place, plan_effects, services::Services},
    event::{Event, IterationFailure, RunFault},
    hook::{HookPoint, Outcome, Said, Speaker},
    machine::{Command, EffectResult, HookReply, Input, LaneWork, ReplyData, WorkLeft},
    model::{
        Claim, ClaimPhase, ClaimTarget, Coded, ExitReason, FailureClass, IterationOutcome, Plan,
        ReleaseReason, TaskId,
        payload::{Deliver, Mode, TaskBrief, TextItem, Turn},
    },
    plan::Work,
    sched::{Claimant, WhyLeftOut, choose},
    state::{Actor, LoadedPlan, Mutation, ProgressKind, RunEnd, StateError},
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
    tree: Arc<Worktree>,
    /// Whether the scheduler said that the lane ends.
    was_over: AtomicBool,
    /// What was told last of why it waits.
    waits_for: Mutex<String>,
    /// The head of the branch when nothing was left last.
    at_the_end: Mutex<Option<String>>,
}

/// Why a lane cannot go on.
#[derive(Debug, thiserror::Error)]
enum LaneFault {
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

/// A task that a lane has just claimed, and what is kept of earlier attempts.
struct Claimed {
    task: TaskId,
    token: u64,
    attempt: u32,
    earlier: Option<Claim>,
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

    // Claims.

    /// Claims a task; nothing where somebody settled it in this moment.
    async fn claim(&self, plan: &Plan, task: TaskId) -> Result<Option<Claimed>, LaneFault> {
        let target = ClaimTarget::Task(task.clone());
        let earlier = plan.claim(&target).filter(|claim| claim.phase == ClaimPhase::Released).cloned();
        let claim = Mutation::Claim { task: target.clone(), worker: self.worker() };
        let claimed = self.shared.blocking(move |store| {
            let applied = store.mutate(claim, Actor::Runtime)?;
            Ok::<_, StateError>((applied.revision, store.load()?.plan))
        });
        let (token, now) = match claimed.await? {
            Ok(claimed) => claimed,
            Err(
                StateError::Claimed { .. }
                | StateError::NotReady { .. }
                | StateError::NotStartable { .. }
                | StateError::IsGroup { .. }
                | StateError::TaskNotFound { .. },
            ) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let attempt = now.claim(&target).map_or(1, |claim| claim.attempt);
        Ok(Some(Claimed { task, token, attempt, earlier }))
    }

    /// Gives a task that was claimed its branch.
    async fn begin_with(
        &self,
        services: &Arc<Services>,
        plan: &Plan,
        claimed: Claimed,
    ) -> Result<OwnClaim, LaneFault> {
        let Claimed { task, token, attempt, earlier } = claimed;
        let title = plan.task(&task).map(|task| task.title.clone()).unwrap_or_default();
        let branch = branch_of(&self.shared.run, &task, token);
        let begun = self.begin(services, &branch).await;
        let base = match begun {
            Ok(base) => base,
            Err(error) => {
                let reason = ReleaseReason::Stopped;
                let release = Mutation::Release { task: task.into(), token, reason, kept: None };
                // What is wrong with the work tree is told; a claim that stays is released by the next start.
                let _ = self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await?;
                return Err(error);
            }
        };
        let own = OwnClaim::new(task.clone(), token, branch.clone(), base.clone(), attempt);
        *self.view.own() = Some(own.clone());
        self.shared.works_on(self.number, Some(task.clone()));
        services.emit(Event::TaskClaimed { task, title, attempt, branch, base });
        if let Some(said) = earlier.and_then(|earlier| of_earlier(&earlier)) {
            self.view.tell(Input::Undelivered(vec![said]));
        }
        Ok(own)
    }

    /// Gets the work tree ready for a branch, and returns the commit that it begins at.
    async fn begin(&self, services: &Arc<Services>, branch: &str) -> Result<String, LaneFault> {
        let into = &self.shared.into;
        let base = self.shared.repository.head(into).await?.ok_or_else(|| WorkspaceError::Unfit {
            root: self.tree.work_dir(),
            problem: format!("the branch {into} is gone"),
            help: "Make it again, or start with another one.".to_owned(),
        })?;
        self.rescue(services).await?;
        self.tree.begin(branch, &base).await?;
        Ok(base)
    }

    /// Keeps what is in the work tree and in no branch.
    async fn rescue(&self, services: &Arc<Services>) -> Result<Option<String>, LaneFault> {
        let name = self.tree.branch().await;
        let name = name.unwrap_or_else(|| format!("samuel/{}/lane-{}", self.shared.run, self.number));
        let reference = rescue_of(&name);
        let kept = self.tree.rescue(&reference).await?;
        if let Some(kept) = &kept {
            let text = format!("what was left uncommitted in a work tree is kept as {kept}");
            services.log(vec![services.note(0, None, ProgressKind::Found, text)]).await;
        }
        Ok(kept)
    }

    /// Hands in what the lane has done, or lets go of what is not its own any more.
    async fn hand_in(self: &Arc<Self>, services: &Arc<Services>) -> Result<(), LaneFault> {
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let plan = self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await??;
        if !own.is_current(&plan) {
            self.let_go();
            self.rescue(services).await?;
            return Ok(());
        }
        let Some(made) = own.made.clone().filter(|_| own.is_done && own.has_passed) else { return Ok(()) };
        let submit = Mutation::Submit {
            task: own.task.clone(),
            token: own.token,
            branch: own.branch.clone(),
            commit: made.commit.clone(),
            base: own.base.clone(),
            tree: Some(made.tree.clone()),
        };
        self.shared.submits(own.token, made.tree.clone());
        let submitted = self.shared.blocking(move |store| store.mutate(submit, Actor::Runtime)).await?;
        self.let_go();
        match submitted {
            Ok(_) => {
                if !own.is_beyond {
                    // The checks alone have written since.
                    self.tree.discard().await?;
                }
                // So that the branch can go once it has landed.
                self.tree.leave_branch().await?;
                let (task, branch, commit) = (own.task, own.branch, made.commit);
                services.emit(Event::TaskSubmitted { task, branch, commit });
                self.shared.wake();
                Ok(())
            }
            // Somebody settled it in this moment.
            Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => {
                self.rescue(services).await?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn let_go(&self) {
        *self.view.own() = None;
        self.shared.works_on(self.number, None);
    }

    /// Ends the lane: what is done is handed in, what is not is kept and its claim released.
    pub(in crate::engine) async fn end(self: &Arc<Self>, services: &Arc<Services>) {
        if let Err(fault) = self.try_to_end(services).await {
            services.warn(format!("lane {} could not put its work away: {}", self.number, described(&fault)));
        }
        self.shared.wake();
    }

    async fn try_to_end(self: &Arc<Self>, services: &Arc<Services>) -> Result<(), LaneFault> {
        self.hand_in(services).await?;
        let Some(own) = self.view.own().clone() else { return Ok(()) };
        let kept = self.rescue(services).await?;
        let head = self.tree.head().await?;
        let kept = kept.or((head != own.base).then(|| own.branch.clone()));
        let (task, token) = (own.task.clone().into(), own.token);
        let release = Mutation::Release { task, token, reason: ReleaseReason::Stopped, kept };
        self.let_go();
        match self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await? {
            Ok(_) | Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn worker(&self) -> String {
        worker_of(&self.shared.run, self.number)
    }

    // Around the points.

    /// Returns what comes of a point that does not fire in this lane, or not now.
    pub(in crate::engine) async fn instead_of(
        self: &Arc<Self>,
        point: HookPoint,
        place: &Place,
        services: &Arc<Services>,
    ) -> Option<HookReply> {
        match (self.leads(), point) {
            (false, HookPoint::SessionStart | HookPoint::BeforeLoop) => Some(self.shared.heard(point).await),
            (false, HookPoint::SessionStop | HookPoint::AfterLoop | HookPoint::SessionEnd) => {
                Some(HookReply::default())
            }
            (true, HookPoint::SessionStop | HookPoint::AfterLoop) => {
                self.end(services).await;
                self.shared.close().await;
                None
            }
            (true, HookPoint::QualityCheck) if !place.in_iteration => self.last_check(services).await,
            _ => None,
        }
    }

    /// Goes to what has landed for a check that is of no task. What the queue has checked there need not be
    /// checked once more.
    async fn last_check(&self, services: &Arc<Services>) -> Option<HookReply> {
        let head = self.shared.repository.head(&self.shared.into).await.ok().flatten()?;
        if self.shared.has_passed(&head) {
            return Some(HookReply { data: ReplyData::Checks(Vec::new()), ..HookReply::default() });
        }
        if self.view.own().is_none() {
            let gone = match self.rescue(services).await {
                Ok(_) => self.tree.check_out(&head).await.map_err(LaneFault::from),
                Err(fault) => Err(fault),
            };
            if let Err(fault) = gone {
                let why = format!("what has landed cannot be checked: {}", described(&fault));
                let outcome = Outcome { refused: Some(why), ..Outcome::default() };
                return Some(HookReply { outcome, data: ReplyData::Checks(Vec::new()) });
            }
        }
        None
    }

    /// Sees to what a point did: what is done is committed, and what has passed is known to have.
    pub(in crate::engine) async fn leave(
        self: &Arc<Self>,
        point: HookPoint,
        turn: Turn,
        services: &Arc<Services>,
        reply: &mut HookReply,
    ) {
        match point {
            HookPoint::SessionStart | HookPoint::BeforeLoop if self.leads() => {
                self.shared.said(point, reply.clone());
            }
            // What is done after the check, nobody has checked.
            HookPoint::AgentInvoke if turn != Turn::Main => {
                if let Some(own) = self.view.own().as_mut() {
                    own.is_beyond = true;
                }
            }
            HookPoint::AgentInvoke => {
                if let Err(error) = self.take_down(services).await
                    && let ReplyData::Agent(end) = &mut reply.data
                {
                    let message = format!("{} ({})", described(&error), error.code().name);
                    end.failure.get_or_insert(IterationFailure { class: FailureClass::Refused, message });
                }
            }
            HookPoint::QualityCheck => {
                let outcome = &reply.outcome;
                let passes =
                    outcome.refused.is_none() && outcome.abort.is_none() && outcome.broken.is_empty();
                if let Some(own) = self.view.own().as_mut() {
                    own.has_passed = passes && own.made.is_some();
                }
            }
            _ => {}
        }
    }

    /// Commits what the agent left, where it said that its task is done.
    async fn take_down(&self, services: &Arc<Services>) -> Result<(), WorkspaceError> {
        let own = self.view.own().clone();
        let Some(own) = own.filter(|own| own.is_done) else { return Ok(()) };
        let title = services.task(&own.task).map(|task| task.title).unwrap_or_default();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if title.is_empty() { format!("Task {}", own.task) } else { title };
        let made = self.tree.commit(&title).await?;
        if let Some(kept) = self.view.own().as_mut().filter(|kept| kept.token == own.token) {
            (kept.made, kept.has_passed) = (Some(made), false);
        }
        Ok(())
    }
}

/// Names the branch of a task.
pub(super) fn branch_of(run: &str, task: &TaskId, token: u64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let task: String = task.as_str().chars().map(plain).take(60).collect();
    format!("samuel/{run}/{task}-{token}")
}

/// Names the reference under which what is left of a branch is kept.
pub(super) fn rescue_of(branch: &str) -> String {
    format!("refs/samuel/rescue/{}", branch.trim_start_matches("samuel/"))
}

/// Names a lane as claims do.
pub(super) fn worker_of(run: &str, lane: u32) -> String {
    format!("{run}/lane-{lane}")
}

/// Tells an agent what came of earlier attempts at its task.
fn of_earlier(earlier: &Claim) -> Option<Said> {
    let why = earlier.why.as_deref()?;
    let mut content = format!("An earlier attempt at this task did not land: {why}.");
    if let Some(kept) = &earlier.branch {
        content.push_str(&format!(
            " Its work is kept as {kept}: look at it with `git log {kept}` and `git diff HEAD...{kept}`, and take over \
             what is good, on top of what is checked out here."
        ));
    }
    Some(Said {
        handler: "samuel:lanes".into(),
        point: HookPoint::BeforeIteration,
        item: TextItem { content, deliver: Deliver::Next },
        speaker: Speaker::Handler,
    })
}
