//! One iteration up to the agent call: the plan, the gate and the context.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Effect, Ending, HookReply, Loaded, Machine, Phase, ReplyData, Then, command::Wish};
use crate::{
    config::format_duration,
    engine::event::{Event, Failure},
    hook::{Said, points},
    model::{
        ExitReason, FailureClass, IterationOutcome, ProgressStatus, TaskId, Usage,
        payload::{
            BeforeIterationInput, BeforeLoopInput, ContextExtraInput, ContextProgressInput,
            ContextSnapshotInput, ContextTaskInput, IterationGateInput, Mode, PromptSubmitInput,
            SessionSource, SessionStartInput, TaskBrief, Turn,
        },
    },
    plan::{self, Next},
    state::{Mutation, ProgressKind},
};

/// What is known of the iteration under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) mode: Mode,
    pub(super) task: Option<TaskBrief>,
    /// What the plan offered, until the gate decided on the mode.
    pub(super) offer: Option<Loaded>,
    pub(super) turn: Turn,
    /// Text that went into the prompt, until the agent call succeeds.
    pub(super) in_flight: Vec<Said>,
    /// Text that asked to be delivered within the iteration.
    pub(super) now: Vec<Said>,
    /// Completions that no check stands behind yet.
    pub(super) unchecked: Vec<TaskId>,
    /// Completions that the check under way decides on.
    pub(super) checking: Vec<TaskId>,
    /// Completions that a check stands behind.
    pub(super) checked: Vec<TaskId>,
    /// Whether there was nothing to check, so that they stand as they are.
    #[serde(default)]
    pub(super) unverified: bool,
    pub(super) failure: Option<Failure>,
    pub(super) usage: Usage,
    /// Whether handlers were told the outcome, which then stands.
    pub(super) settled: bool,
    /// Whether the failure is one to wait for and not to count.
    pub(super) excused: bool,
    pub(super) cancelled: bool,
    /// Whether somebody else changed the plan since it began, which is progress.
    #[serde(default)]
    pub(super) plan_changed: bool,
    /// Whether anything was said of what became of its task.
    #[serde(default)]
    pub(super) answered: bool,
}

impl Iteration {
    pub(super) fn task_id(&self) -> Option<TaskId> {
        self.task.as_ref().map(|task| TaskId::new(task.id.clone()))
    }

    pub(super) fn outcome(&self) -> IterationOutcome {
        match (&self.failure, self.cancelled) {
            (_, true) => IterationOutcome::Cancelled,
            (Some(_), _) => IterationOutcome::Failed,
            (None, _) => IterationOutcome::Succeeded,
        }
    }
}

impl Machine {
    /// Tells that the run starts, or goes on.
    pub(super) fn announce(&mut self) {
        self.emit(Event::RunStarted {
            resumed: self.resumed,
            agent: self.setup.agent.clone(),
            max_iterations: self.setup.limits.max_iterations,
        });
    }

    pub(super) fn fire_session_start(&mut self) {
        let source = if self.resumed { SessionSource::Resume } else { SessionSource::Startup };
        let input = SessionStartInput { session: self.setup.session.clone(), source, ..Default::default() };
        self.fire::<points::SessionStart>(Phase::SessionStart, input);
    }

    pub(super) fn after_session_start(&mut self, reply: HookReply) {
        self.absorb(&reply);
        if let Some(Ending { reason, detail, .. }) = self.ending.clone() {
            return self.refuse_loop(reason, detail);
        }
        let input = BeforeLoopInput {
            prd_path: self.setup.prd_path.clone(),
            max_iterations: self.setup.limits.max_iterations,
            ..Default::default()
        };
        self.fire::<points::BeforeLoop>(Phase::BeforeLoop, input);
    }

    pub(super) fn after_before_loop(&mut self, reply: HookReply) {
        let Some(failure) = self.absorb(&reply) else {
            let running = Mutation::SetProgressStatus { status: ProgressStatus::Running };
            self.mutations.push_back(running);
            return self.mutate(Then::BeginIteration);
        };
        let broke = failure.class == FailureClass::HookBroke;
        let reason = if broke { ExitReason::StrictHook } else { ExitReason::GateStop };
        self.refuse_loop(reason, Some(failure.message));
    }

    /// Begins the next iteration, unless something says that there is none, or
    /// not yet.
    pub(super) fn begin_iteration(&mut self) {
        if let Some((reason, detail)) = self.cap() {
            return self.stop(reason, detail);
        }
        if self.hold {
            self.emit(Event::Paused);
            self.phase = Phase::Paused;
            return;
        }
        if !self.unchecked_outside.is_empty() {
            self.take_back_outside();
            return self.mutate(Then::BeginIteration);
        }
        if !self.setup.has_checks {
            self.doubtful.clear();
        } else if !self.doubtful.is_empty() {
            // Before more is built on it.
            return self.fire_quality_check();
        }
        let phase = if self.limit.until.is_some() { Phase::Peek } else { Phase::Load };
        self.wait_for(phase, Effect::Load);
    }

    /// Returns the reason not to begin another iteration, if there is one.
    pub(super) fn cap(&self) -> Option<(ExitReason, Option<String>)> {
        let counters = &self.counters;
        if let Some(ending) = &self.ending {
            return Some((ending.reason, ending.detail.clone()));
        }
        if let Some(wish) = self.wish {
            return Some((wish.reason(), self.limit_behind(wish)));
        }
        self.over_budget(counters.usage).map(|spent| (ExitReason::Budget, Some(spent)))
    }

    /// Says which limit was reached, where that is why the run is to end.
    pub(super) fn limit_behind(&self, wish: Wish) -> Option<String> {
        match wish {
            Wish::Cancel | Wish::Stop => None,
            Wish::Budget => self.over_budget(self.used()),
            Wish::WallClock => {
                let limit = Duration::from_millis(self.setup.limits.max_wall_ms?);
                Some(format!("the limit of {} was reached", format_duration(limit)))
            }
        }
    }

    pub(super) fn after_load(&mut self, loaded: Loaded) {
        if self.hold || self.cap().is_some() {
            return self.begin_iteration();
        }
        let next = self.next(&loaded);
        let Next::Iteration { task } = next else { return self.end_work(next) };
        let number = self.counters.iterations + 1;
        let iteration = Iteration {
            number,
            mode: loaded.mode,
            task: task.clone(),
            offer: Some(loaded),
            ..Default::default()
        };
        self.iteration = Some(iteration);
        let input = BeforeIterationInput { iteration: number, task, ..Default::default() };
        self.fire::<points::BeforeIteration>(Phase::BeforeIteration, input);
    }

    /// Says what is next with what the plan leaves to do.
    pub(super) fn next(&self, loaded: &Loaded) -> Next {
        match &loaded.changed {
            Some(changed) => Next::end(ExitReason::ControlFilesChanged, changed.as_str()),
            None => plan::next(&loaded.work, loaded.mode, &self.standing()),
        }
    }

    /// Does what is next where that is no iteration.
    pub(super) fn end_work(&mut self, next: Next) {
        match next {
            Next::End { reason, detail } => self.stop(reason, detail),
            Next::Check | Next::Iteration { .. } => {
                self.end_checks += 1;
                self.drop_iteration();
                self.fire_quality_check();
            }
        }
    }

    pub(super) fn after_before_iteration(&mut self, reply: HookReply) {
        if let Some(failure) = self.absorb(&reply) {
            self.count_iteration();
            return self.fail(failure);
        }
        let Some(iteration) = &self.iteration else { return self.begin_iteration() };
        let input = IterationGateInput {
            iteration: iteration.number,
            consec_fails: self.counters.consecutive_failures,
            queue_size: iteration.offer.as_ref().map_or(0, |offer| offer.queue_size),
            mode: iteration.mode,
            ..Default::default()
        };
        self.fire::<points::IterationGate>(Phase::Gate, input);
    }

    pub(super) fn after_gate(&mut self, reply: HookReply) {
        match self.absorb(&reply) {
            Some(failure) if failure.class == FailureClass::HookBroke => {
                self.count_iteration();
                return self.fail(failure);
            }
            Some(failure) => return self.stop(ExitReason::GateStop, Some(failure.message)),
            None => {}
        }
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        let Some(mut offer) = iteration.offer.take() else { return self.begin_iteration() };
        if let ReplyData::Mode(Some(mode)) = reply.data {
            offer.mode = mode;
        }
        iteration.mode = offer.mode;
        // In the mode the gate chose there can be nothing to do.
        let next = self.next(&offer);
        let Next::Iteration { task } = next else { return self.end_work(next) };
        if let Some(iteration) = &mut self.iteration {
            iteration.task = task;
        }
        self.start_task();
    }

    fn start_task(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if let Some(iteration) = &mut self.iteration {
            iteration.in_flight = pending;
        }
        self.count_iteration();
        match self.iteration.as_ref().and_then(Iteration::task_id) {
            Some(id) => self.wait_for(Phase::StartTask, Effect::Mutate(Mutation::StartTask { id })),
            None => self.after_start_task(),
        }
    }

    /// Counts the iteration as one that was made.
    fn count_iteration(&mut self) {
        let Some(iteration) = &self.iteration else { return };
        self.counters.iterations = iteration.number;
        self.end_checks = 0;
        let (number, mode, task) = (iteration.number, iteration.mode, iteration.task.clone());
        let title = task.as_ref().map_or_else(|| "discovery".to_owned(), |task| task.title.clone());
        let id = iteration.task_id();
        self.emit(Event::IterationStarted { iteration: number, mode, task });
        self.log(ProgressKind::Started, id, title);
    }

    /// Fails the iteration, because its task cannot be started any more.
    pub(super) fn refuse_start(&mut self, reason: String) {
        self.fail(Failure { class: FailureClass::Refused, message: reason });
    }

    pub(super) fn after_start_task(&mut self) {
        self.effect(Effect::Checkpoint);
        let task = self.iteration.as_ref().and_then(|iteration| iteration.task.as_ref());
        let user_raw_input = task.map(brief_text).unwrap_or_default();
        let input = PromptSubmitInput { source: "task".to_owned(), user_raw_input, ..Default::default() };
        self.fire::<points::PromptSubmit>(Phase::PromptSubmit, input);
    }

    pub(super) fn after_prompt_submit(&mut self, reply: HookReply) {
        if let Some(failure) = self.absorb(&reply) {
            return self.fail(failure);
        }
        let input =
            ContextSnapshotInput { project_root: self.setup.project_root.clone(), ..Default::default() };
        self.fire::<points::ContextSnapshot>(Phase::Snapshot, input);
    }

    /// Goes from one context point to the next, and then to the agent.
    pub(super) fn after_context(&mut self, reply: HookReply) {
        if let Some(failure) = self.absorb(&reply) {
            return self.fail(failure);
        }
        let Some(iteration) = &self.iteration else { return self.begin_iteration() };
        let (task, mode) = (iteration.task.clone(), iteration.mode);
        match self.phase {
            Phase::Snapshot => {
                let progress_path = self.setup.progress_path.clone();
                let input = ContextProgressInput { progress_path, ..Default::default() };
                self.fire::<points::ContextProgress>(Phase::Progress, input);
            }
            Phase::Progress => {
                let input = ContextTaskInput { task, mode, ..Default::default() };
                self.fire::<points::ContextTask>(Phase::Task, input);
            }
            Phase::Task => {
                let input = ContextExtraInput { task, ..Default::default() };
                self.fire::<points::ContextExtra>(Phase::Extra, input);
            }
            _ => {
                let prompt = self.waiting_text(task.as_ref(), &iteration.in_flight);
                self.begin_turn(Turn::Main, prompt);
            }
        }
    }

    /// Fails the iteration before its agent was called.
    pub(super) fn fail(&mut self, failure: Failure) {
        if let Some(iteration) = &mut self.iteration {
            let in_flight = std::mem::take(&mut iteration.in_flight);
            iteration.failure.get_or_insert(failure);
            self.put_back(in_flight);
        }
        self.fire_after_iteration();
    }
}

/// Writes a task the way a user would ask for it.
fn brief_text(task: &TaskBrief) -> String {
    match task.description.trim() {
        "" => format!("{} {}", task.id, task.title),
        description => format!("{} {}\n\n{description}", task.id, task.title),
    }
}
