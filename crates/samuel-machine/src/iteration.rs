//! One iteration up to the agent call: the plan, the gate and the context.

use std::{num::NonZeroU32, time::Duration};

use samuel_config::format_duration;
use samuel_hook::{Said, points};
use samuel_model::{
    ExitReason, FailureClass, IterationOutcome, ProgressStatus, Question, TaskId, Usage,
    payload::{
        BeforeIterationInput, BeforeLoopInput, ContextExtraInput, ContextProgressInput, ContextSnapshotInput,
        ContextTaskInput, IterationGateInput, Mode, PromptSubmitInput, SessionSource, SessionStartInput,
        TaskBrief, Turn,
    },
};
use samuel_state::{
    Mutation, ProgressKind, RunEnd,
    plan::{self, Next},
};
use serde::{Deserialize, Serialize};

use super::{
    Core, Effect, Ending, HookReply, Owner, Phase, Proposed, ReplyData, State, Then, WorkLeft,
    another_turn::Conversations, command::StopRequest,
};
use crate::event::{Event, IterationFailure};

/// What is known of the iteration under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) mode: Mode,
    pub(super) task: Option<TaskBrief>,
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
    /// Tasks but its own that a person completed since it began: they are not its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) by_person: Vec<TaskId>,
    /// Whether there was nothing to check, so that they stand as they are.
    #[serde(default)]
    pub(super) unverified: bool,
    pub(super) failure: Option<IterationFailure>,
    pub(super) usage: Usage,
    /// Whether handlers were told the outcome, which then stands.
    pub(super) settled: bool,
    /// Whether the failure is one to wait for and not to count.
    pub(super) excused: bool,
    pub(super) cancelled: bool,
    /// Whether somebody else changed the plan since it began, which is progress.
    #[serde(default)]
    pub(super) plan_changed: bool,
    /// What was asked about its task and answered, until its agent was given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answered_question: Option<Question>,
    /// Whether anything was said of what became of its task.
    #[serde(default)]
    pub(super) answered: bool,
    /// The tasks that were added since it began, and stayed.
    #[serde(default)]
    pub(super) found: Vec<TaskId>,
    /// Whether its agent was called.
    #[serde(default)]
    pub(super) called: bool,
    /// Whether its agent called a tool.
    #[serde(default)]
    pub(super) called_tool: bool,
    /// How long its agent calls took, in milliseconds.
    #[serde(default)]
    pub(super) agent_ms: u64,
    /// Whether somebody left out, blocked or removed its task.
    #[serde(default)]
    pub(super) left_alone: bool,
    /// Whether its task is not the lane's any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unclaimed: bool,
    /// Whether what it consumed is in its task's books.
    #[serde(default)]
    pub(super) guarded: bool,
    /// Why its task is blocked when its books are closed.
    #[serde(default)]
    pub(super) parked: Option<String>,
    /// The fingerprint of the work tree before its agent was called, where anything depends on it.
    #[serde(default)]
    pub(super) tree: Option<String>,
}

impl Iteration {
    pub(super) fn task_id(&self) -> Option<TaskId> {
        self.task.as_ref().map(|task| TaskId::new(task.id.clone()))
    }

    /// Returns those of some completed tasks that are credited with what the iteration changed.
    pub(super) fn credited(&self, completed: &[TaskId]) -> Vec<TaskId> {
        completed.iter().filter(|id| !self.by_person.contains(id)).cloned().collect()
    }

    pub(super) fn outcome(&self) -> IterationOutcome {
        match (&self.failure, self.cancelled) {
            (_, true) => IterationOutcome::Cancelled,
            (Some(_), _) => IterationOutcome::Failed,
            (None, _) => IterationOutcome::Succeeded,
        }
    }

    /// Returns whether the iteration was interrupted by the end of its run.
    pub(super) fn is_interrupted(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.class == FailureClass::Interrupted)
    }
}

impl Core {
    /// Tells that the run starts, or goes on.
    pub(super) fn announce(&mut self) {
        self.emit(Event::RunStarted {
            resumed: self.resumed,
            agent: self.setup.agent.clone(),
            model: self.setup.routing.model.clone(),
            routing: self.setup.routing.told(&self.setup.agent),
            max_iterations: self.setup.limits.max_iterations,
            tasks: self.setup.scope.tasks().to_vec(),
            guards: self.setup.limits.guards(self.setup.calls.of),
            commit: None,
            goes_on_from: None,
        });
    }

    pub(super) fn fire_session_start(&mut self) -> State {
        let source = if self.resumed { SessionSource::Resume } else { SessionSource::Startup };
        let input = SessionStartInput { session: self.setup.session.clone(), source, ..Default::default() };
        self.fire::<points::SessionStart>(State::SessionStart, input)
    }

    pub(super) fn after_session_start(&mut self, reply: &HookReply) -> State {
        self.absorb(None, reply);
        if let Some(Ending { reason, detail, .. }) = self.ending.clone() {
            return self.refuse_loop(reason, detail);
        }
        let input = BeforeLoopInput {
            max_iterations: self.setup.limits.max_iterations.map(NonZeroU32::get),
            ..Default::default()
        };
        self.fire::<points::BeforeLoop>(State::BeforeLoop, input)
    }

    pub(super) fn after_before_loop(&mut self, reply: &HookReply) -> State {
        let Some(failure) = self.absorb(None, reply) else {
            let running = Mutation::SetProgressStatus { status: ProgressStatus::Running };
            self.mutations.push_back(running);
            return self.mutate(Then::BeginIteration);
        };
        let broke = failure.class == FailureClass::HookBroke;
        let reason = if broke { ExitReason::StrictHook } else { ExitReason::GateStop };
        self.refuse_loop(reason, Some(failure.message))
    }

    /// Begins the next iteration, unless something says that there is none, or
    /// not yet.
    pub(super) fn begin_iteration(&mut self) -> State {
        if let Some((reason, detail)) = self.cap() {
            return self.stop(reason, detail);
        }
        if self.requests.hold {
            // A hold lasts as long as somebody wants it to, and what is done is not kept back by it.
            return match self.setup.in_lane {
                true => self.wait_for(State::HandIn, Effect::HandIn),
                false => self.hold(),
            };
        }
        if !self.checks.unchecked_outside.is_empty() {
            self.take_back_outside();
            return self.mutate(Then::BeginIteration);
        }
        if !self.setup.has_checks {
            self.checks.doubtful.clear();
        } else if !self.checks.doubtful.is_empty() {
            // Before more is built on it.
            return self.fire_quality_check(State::Check);
        }
        let state = if self.limit.until.is_some() { State::Peek } else { State::Load };
        self.load(state)
    }

    /// Holds, now that what is done is handed in, unless nobody wants that any more.
    pub(super) fn after_hand_in(&mut self) -> State {
        match self.requests.hold && self.cap().is_none() {
            true => self.hold(),
            false => self.begin_iteration(),
        }
    }

    fn hold(&mut self) -> State {
        self.emit(Event::Paused);
        State::Paused
    }

    /// Returns the reason not to begin another iteration, if there is one.
    pub(super) fn cap(&self) -> Option<(ExitReason, Option<String>)> {
        let counters = &self.counters;
        if let Some(ending) = &self.ending {
            return Some((ending.reason, ending.detail.clone()));
        }
        if let Some(request) = self.requests.stop {
            return Some((request.reason(), self.limit_behind(request)));
        }
        self.over_budget(counters.usage).map(|(_, spent)| (ExitReason::Budget, Some(spent)))
    }

    /// Says which limit was reached, where that is why the run is to end.
    pub(super) fn limit_behind(&self, request: StopRequest) -> Option<String> {
        match request {
            StopRequest::Cancel | StopRequest::Stop => None,
            StopRequest::Budget => Some(self.over_budget(self.used())?.1),
            StopRequest::WallClock => {
                let limit = Duration::from_millis(self.setup.limits.max_wall_ms?);
                Some(format!("the limit of {} was reached", format_duration(limit)))
            }
        }
    }

    pub(super) fn after_load(&mut self, loaded: WorkLeft) -> State {
        if self.requests.hold || self.cap().is_some() {
            return self.begin_iteration();
        }
        self.guards.elapsed_ms = loaded.elapsed_ms;
        let next = self.next(&loaded);
        let has_reopened = std::mem::take(&mut self.has_reopened);
        let Next::Iteration { task } = next else {
            // There may be work again.
            return if has_reopened { self.begin_iteration() } else { self.end_work(next) };
        };
        let number = self.counters.iterations.saturating_add(1);
        let number = loaded.lane.as_ref().map_or(number, |lane| lane.iteration);
        if let (Some(task), Some(lane)) = (&task, &loaded.lane) {
            self.guards.tried_in_lanes(TaskId::new(task.id.clone()), lane.attempts);
        }
        let iteration = Iteration { number, mode: loaded.mode, task: task.clone(), ..Default::default() };
        let proposed = Proposed { iteration: Box::new(iteration), loaded: Box::new(loaded) };
        let input = BeforeIterationInput { iteration: number, task, ..Default::default() };
        self.fire::<points::BeforeIteration>(State::BeforeIteration(proposed), input)
    }

    /// Says what is next with what the plan leaves to do.
    pub(super) fn next(&self, loaded: &WorkLeft) -> Next {
        let over = loaded.lane.as_ref().and_then(|lane| lane.over.clone());
        match (&loaded.changed, over) {
            (Some(changed), _) => Next::end(ExitReason::ControlFilesChanged, changed.as_str()),
            (None, Some(RunEnd { reason, detail })) => Next::End { reason, detail },
            (None, None) => {
                let mut standing = self.standing();
                if let Some(lane) = &loaded.lane {
                    standing.discoveries.empty = lane.empty_discoveries;
                }
                match plan::next(&loaded.work, loaded.mode, &standing) {
                    Next::Iteration { task } => match self.forecast(loaded.elapsed_ms) {
                        Some((_, why)) => Next::end(ExitReason::Budget, why),
                        None => Next::Iteration { task },
                    },
                    next => next,
                }
            }
        }
    }

    /// Does what is next where that is no iteration.
    pub(super) fn end_work(&mut self, next: Next) -> State {
        match next {
            Next::End { reason, detail } => self.stop(reason, detail),
            Next::Check | Next::Iteration { .. } => {
                self.checks.end_checks += 1;
                self.fire_quality_check(State::Check)
            }
        }
    }

    pub(super) fn after_before_iteration(&mut self, mut proposed: Proposed, reply: &HookReply) -> State {
        let iteration = &mut proposed.iteration;
        if let Some(failure) = self.absorb(Some(iteration), reply) {
            self.count_iteration(iteration);
            return self.fail(proposed.iteration, failure);
        }
        let input = IterationGateInput {
            iteration: iteration.number,
            consec_fails: self.counters.consecutive_failures,
            queue_size: proposed.loaded.queue_size,
            mode: iteration.mode,
            ..Default::default()
        };
        self.fire::<points::IterationGate>(State::Gate(proposed), input)
    }

    pub(super) fn after_gate(&mut self, proposed: Proposed, reply: &HookReply) -> State {
        let Proposed { mut iteration, mut loaded } = proposed;
        match self.absorb(Some(&mut iteration), reply) {
            Some(failure) if failure.class == FailureClass::HookBroke => {
                self.count_iteration(&iteration);
                return self.fail(iteration, failure);
            }
            Some(failure) => {
                self.drop_iteration(iteration);
                return self.stop(ExitReason::GateStop, Some(failure.message));
            }
            None => {}
        }
        // A run that is for some tasks looks for no others.
        if let ReplyData::Mode(Some(mode)) = reply.data
            && self.setup.scope.is_all()
            && !self.setup.pilot.only
        {
            match self.setup.in_lane {
                // What a lane is for was claimed.
                true if mode != loaded.mode => {
                    let message = format!(
                        "iteration {} stays one of {}: with several lanes no handler of iteration.gate changes that",
                        iteration.number, loaded.mode
                    );
                    self.emit(Event::Warning { message });
                }
                _ => loaded.mode = mode,
            }
        }
        iteration.mode = loaded.mode;
        // In the mode the gate chose there can be nothing to do.
        let next = self.next(&loaded);
        let Next::Iteration { task } = next else {
            self.drop_iteration(iteration);
            return self.end_work(next);
        };
        iteration.answered_question = loaded.answered.filter(|_| task.is_some());
        iteration.task = task;
        self.start_task(iteration)
    }

    fn start_task(&mut self, mut iteration: Box<Iteration>) -> State {
        iteration.in_flight = self.take_pending(&[]);
        self.count_iteration(&iteration);
        let mutation = match iteration.task_id() {
            Some(id) => Mutation::StartTask { id, owner: None },
            None => Mutation::BeginDiscovery { room: self.setup.pilot.max_tasks },
        };
        self.wait_for(State::Iteration(iteration, Phase::StartTask), Effect::Mutate(mutation))
    }

    /// Counts the iteration as one that was made.
    fn count_iteration(&mut self, iteration: &Iteration) {
        self.counters.iterations = iteration.number;
        self.conversations = Conversations::new(iteration);
        self.checks.end_checks = 0;
        let (number, mode, task) = (iteration.number, iteration.mode, iteration.task.clone());
        let title = task.as_ref().map_or_else(|| "discovery".to_owned(), |task| task.title.clone());
        let id = iteration.task_id();
        self.emit(Event::IterationStarted { iteration: number, mode, task });
        self.log(ProgressKind::Started, id, title);
    }

    pub(super) fn after_start_task(&mut self, iteration: Box<Iteration>) -> State {
        self.effect(Effect::Checkpoint);
        let is_checked = iteration.mode == Mode::Discovery && self.setup.has_checks;
        if is_checked || self.needs_tree(&iteration) {
            return self.wait_for(State::Iteration(iteration, Phase::TreeBefore), Effect::Fingerprint);
        }
        self.submit_prompt(iteration)
    }

    pub(super) fn after_tree_before(&mut self, mut iteration: Box<Iteration>, tree: String) -> State {
        iteration.tree = Some(tree);
        self.submit_prompt(iteration)
    }

    fn submit_prompt(&mut self, iteration: Box<Iteration>) -> State {
        let user_raw_input = iteration.task.as_ref().map(brief_text).unwrap_or_default();
        let input = PromptSubmitInput { source: "task".to_owned(), user_raw_input, ..Default::default() };
        self.fire::<points::PromptSubmit>(State::Iteration(iteration, Phase::PromptSubmit), input)
    }

    pub(super) fn after_prompt_submit(&mut self, mut iteration: Box<Iteration>, reply: &HookReply) -> State {
        if let Some(failure) = self.absorb(Some(&mut iteration), reply) {
            return self.fail(iteration, failure);
        }
        // What was said of this prompt goes into it.
        let mut said = self.take_pending(&iteration.in_flight);
        iteration.in_flight.append(&mut said);
        let input = ContextSnapshotInput::default();
        self.fire::<points::ContextSnapshot>(State::Iteration(iteration, Phase::Snapshot), input)
    }

    /// Goes from one context point to the next, and then to the agent.
    pub(super) fn after_context(
        &mut self,
        mut iteration: Box<Iteration>,
        phase: &Phase,
        reply: &HookReply,
    ) -> State {
        if let Some(failure) = self.absorb(Some(&mut iteration), reply) {
            return self.fail(iteration, failure);
        }
        let (task, mode) = (iteration.task.clone(), iteration.mode);
        match phase {
            Phase::Snapshot => {
                let input = ContextProgressInput::default();
                self.fire::<points::ContextProgress>(State::Iteration(iteration, Phase::Progress), input)
            }
            Phase::Progress => {
                let input = ContextTaskInput { task, mode, ..Default::default() };
                self.fire::<points::ContextTask>(State::Iteration(iteration, Phase::Task), input)
            }
            Phase::Task => {
                let input = ContextExtraInput { task, ..Default::default() };
                self.fire::<points::ContextExtra>(State::Iteration(iteration, Phase::Extra), input)
            }
            _ => {
                let prompt = self.waiting_text(&iteration);
                self.begin_turn(Owner::Iteration(iteration), prompt)
            }
        }
    }

    /// Fails the iteration before its agent was called.
    pub(super) fn fail(&mut self, mut iteration: Box<Iteration>, failure: IterationFailure) -> State {
        self.put_back(std::mem::take(&mut iteration.in_flight));
        iteration.failure.get_or_insert(failure);
        self.fire_after_iteration(iteration)
    }
}

/// Writes a task the way a user would ask for it.
fn brief_text(task: &TaskBrief) -> String {
    match task.description.trim() {
        "" => format!("{} {}", task.id, task.title),
        description => format!("{} {}\n\n{description}", task.id, task.title),
    }
}
