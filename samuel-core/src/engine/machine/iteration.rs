//! One iteration: from loading the plan to closing the books.

use serde::{Deserialize, Serialize};

use super::{
    Effect, Ending, HookReply, Loaded, MAX_REPEATS, Machine, NextWork, Phase, ReplyData, Then, Wait, Wish,
    frame,
};
use crate::{
    engine::event::{Event, Failure},
    hook::{Said, points},
    model::{
        ExitReason, FailureClass, IterationOutcome, TaskId, Usage,
        payload::{
            AfterIterationInput, BeforeIterationInput, BeforeLoopInput, ContextExtraInput,
            ContextProgressInput, ContextSnapshotInput, ContextTaskInput, IterationErrorInput,
            IterationGateInput, Mode, PromptSubmitInput, QualityCheckInput, TaskBrief, Turn,
        },
    },
    state::{Mutation, ProgressKind},
};

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
    /// Completions that a check stands behind.
    pub(super) checked: Vec<TaskId>,
    pub(super) failure: Option<Failure>,
    pub(super) usage: Usage,
    /// Whether the failure was counted already.
    pub(super) counted: bool,
    pub(super) cancelled: bool,
}

impl Iteration {
    pub(super) fn task_id(&self) -> Option<TaskId> {
        self.task.as_ref().map(|task| TaskId::new(task.id.clone()))
    }

    fn outcome(&self) -> IterationOutcome {
        match (&self.failure, self.cancelled) {
            (_, true) => IterationOutcome::Cancelled,
            (Some(_), _) => IterationOutcome::Failed,
            (None, _) => IterationOutcome::Succeeded,
        }
    }
}

impl Machine {
    pub(super) fn after_session_start(&mut self, reply: HookReply) {
        self.absorb(&reply);
        if let Some(ending) = self.ending.clone() {
            return self.stop(ending.reason, ending.detail);
        }
        let input = BeforeLoopInput {
            prd_path: self.setup.prd_path.clone(),
            max_iterations: self.setup.limits.max_iterations,
            ..Default::default()
        };
        self.fire::<points::BeforeLoop>(Phase::BeforeLoop, input);
    }

    pub(super) fn after_before_loop(&mut self, reply: HookReply) {
        match self.absorb(&reply) {
            None => self.begin_iteration(),
            Some(failure) => {
                let broke = failure.class == FailureClass::HookBroke;
                let reason = if broke { ExitReason::StrictHook } else { ExitReason::GateStop };
                self.ending = Some(Ending { reason, detail: Some(failure.message) });
                self.fire_after_loop();
            }
        }
    }

    /// Begins the next iteration, unless something says that there is none.
    pub(super) fn begin_iteration(&mut self) {
        if let Some((reason, detail)) = self.cap() {
            return self.stop(reason, detail);
        }
        if self.hold {
            self.emit(Event::Paused);
            self.phase = Phase::Paused;
            return;
        }
        self.wait_for(Phase::Load, Effect::Load);
    }

    /// Returns the reason not to begin another iteration, if there is one.
    fn cap(&self) -> Option<(ExitReason, Option<String>)> {
        let limits = &self.setup.limits;
        let counters = &self.counters;
        if let Some(ending) = &self.ending {
            return Some((ending.reason, ending.detail.clone()));
        }
        if let Some(wish) = self.wish {
            return Some((wish.reason(), None));
        }
        if self.is_over_budget(counters.usage) {
            return Some((ExitReason::Budget, None));
        }
        if counters.consecutive_failures >= limits.max_consecutive_failures {
            let detail = format!("{} iterations in a row failed", counters.consecutive_failures);
            return Some((ExitReason::ConsecutiveFailures, Some(detail)));
        }
        if self.repeat.count >= MAX_REPEATS {
            let detail = format!("the same result {} times in a row, and nothing changed", self.repeat.count);
            return Some((ExitReason::NoProgress, Some(detail)));
        }
        None
    }

    pub(super) fn after_load(&mut self, loaded: Loaded) {
        if let Some((reason, detail)) = self.end_of_work(&loaded) {
            return self.stop(reason, detail);
        }
        let task = match loaded.next {
            NextWork::Task(task) if loaded.mode == Mode::Implementation => Some(task),
            _ => None,
        };
        let number = self.counters.iterations + 1;
        self.iteration =
            Some(Iteration { number, mode: loaded.mode, task: task.clone(), ..Default::default() });
        self.queue_size = loaded.queue_size;
        let input = BeforeIterationInput { iteration: number, task, ..Default::default() };
        self.fire::<points::BeforeIteration>(Phase::BeforeIteration, input);
    }

    /// Says whether the plan leaves nothing to do for this run.
    fn end_of_work(&self, loaded: &Loaded) -> Option<(ExitReason, Option<String>)> {
        match &loaded.next {
            _ if loaded.mode == Mode::Discovery => {}
            NextWork::AllDone if self.last_check == Some(false) => {
                let detail = "every task is settled, but the last quality check failed";
                return Some((ExitReason::Blocked, Some(detail.to_owned())));
            }
            NextWork::AllDone => return Some((ExitReason::Completed, None)),
            NextWork::Blocked(reason) => return Some((ExitReason::Blocked, Some(reason.clone()))),
            NextWork::Task(_) => {}
        }
        let at_cap = self.counters.iterations >= self.setup.limits.max_iterations;
        at_cap.then(|| (ExitReason::MaxIterations, None))
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
            queue_size: self.queue_size,
            mode: iteration.mode,
            ..Default::default()
        };
        self.fire::<points::IterationGate>(Phase::Gate, input);
    }

    pub(super) fn after_gate(&mut self, reply: HookReply) {
        let failure = self.absorb(&reply);
        if let Some(failure) = failure {
            if failure.class == FailureClass::HookBroke {
                self.count_iteration();
                return self.fail(failure);
            }
            self.iteration = None;
            return self.stop(ExitReason::GateStop, Some(failure.message));
        }
        let pending = std::mem::take(&mut self.pending);
        if let Some(iteration) = &mut self.iteration {
            if let ReplyData::Mode(Some(mode)) = reply.data {
                iteration.mode = mode;
            }
            if iteration.mode == Mode::Discovery {
                iteration.task = None;
            }
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
        let (number, mode, task) = (iteration.number, iteration.mode, iteration.task.clone());
        let title = task.as_ref().map_or_else(|| "discovery".to_owned(), |task| task.title.clone());
        let id = iteration.task_id();
        self.emit(Event::IterationStarted { iteration: number, mode, task });
        self.log(ProgressKind::Started, id, title);
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
                let prompt = frame(&iteration.in_flight);
                self.begin_turn(Turn::Main, prompt);
            }
        }
    }

    /// Goes on after the iteration's main turn.
    pub(super) fn after_main_turn(&mut self, failure: Option<Failure>) {
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        let in_flight = std::mem::take(&mut iteration.in_flight);
        let unchecked = !iteration.unchecked.is_empty();
        if let Some(failure) = failure {
            iteration.failure = Some(failure);
            self.put_back(in_flight);
            // What a failed agent completed still deserves a check: it may be
            // good work that ended badly.
            if !unchecked {
                return self.fire_after_iteration();
            }
        }
        let input = QualityCheckInput { commands: self.setup.checks.clone(), ..Default::default() };
        self.fire::<points::QualityCheck>(Phase::Quality, input);
    }

    pub(super) fn after_quality(&mut self, reply: HookReply) {
        let failures = match &reply.data {
            ReplyData::Checks(failures) => failures.clone(),
            _ => Vec::new(),
        };
        let cancelled =
            reply.outcome.broken.iter().any(|b| b.failure.class == crate::hook::BreakClass::Cancelled);
        let refusal = self.absorb(&reply);
        let ok = refusal.is_none() && !cancelled;
        self.last_check = Some(ok);
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        let (number, task) = (iteration.number, iteration.task_id());
        let unchecked = std::mem::take(&mut iteration.unchecked);
        if ok {
            iteration.checked.extend(unchecked.iter().cloned());
        }
        self.emit(Event::QualityChecked { iteration: number, ok, failures: failures.clone() });
        let Some(refusal) = refusal else {
            self.log(
                ProgressKind::Quality,
                task,
                if failures.is_empty() { "passed" } else { "failed (advisory)" },
            );
            return self.fire_after_iteration();
        };
        let reasons: Vec<String> =
            failures.iter().map(|failure| format!("{}: {}", failure.command, failure.message)).collect();
        let broke = refusal.class == FailureClass::HookBroke;
        let class = if broke { FailureClass::HookBroke } else { FailureClass::QualityCheck };
        let message = if reasons.is_empty() { refusal.message } else { reasons.join("; ") };
        self.log(ProgressKind::Quality, task, format!("failed: {message}"));
        if let Some(iteration) = &mut self.iteration {
            iteration.failure.get_or_insert(Failure { class, message: message.clone() });
        }
        self.take_back(unchecked, if reasons.is_empty() { vec![message] } else { reasons });
        self.mutate(Then::AfterIteration);
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

    pub(super) fn fire_after_iteration(&mut self) {
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        iteration.turn = Turn::Main;
        let input = AfterIterationInput {
            iteration: iteration.number,
            task: iteration.task.clone(),
            outcome: iteration.outcome(),
            ..Default::default()
        };
        self.fire::<points::AfterIteration>(Phase::AfterIteration, input);
    }

    pub(super) fn after_after_iteration(&mut self, reply: HookReply) {
        if let Some(failure) = self.absorb(&reply)
            && let Some(iteration) = &mut self.iteration
        {
            iteration.failure.get_or_insert(failure);
        }
        let now =
            self.iteration.as_mut().map(|iteration| std::mem::take(&mut iteration.now)).unwrap_or_default();
        if now.is_empty() || self.wish.is_some_and(Wish::is_urgent) {
            self.pending.extend(now);
            return self.after_immediate_turn();
        }
        self.begin_turn(Turn::Immediate, frame(&now));
    }

    pub(super) fn after_immediate_turn(&mut self) {
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        let Some(failure) = iteration.failure.clone() else { return self.judge() };
        iteration.turn = Turn::Main;
        // A usage limit with a known end is waited for, not counted.
        let counts = !(failure.class == FailureClass::RateLimit && self.limited_until.is_some());
        iteration.counted = counts;
        let task = iteration.task_id();
        self.counters.failed += 1;
        self.counters.consecutive_failures += u32::from(counts);
        self.log(ProgressKind::Error, task, format!("{}: {}", failure.class, failure.message));
        let input = IterationErrorInput {
            error: failure.message,
            class: failure.class.as_str().to_owned(),
            consec_fails: self.counters.consecutive_failures,
            ..Default::default()
        };
        self.fire::<points::IterationError>(Phase::IterationError, input);
    }

    pub(super) fn after_iteration_error(&mut self, reply: HookReply) {
        let said = reply.outcome.said.clone();
        let without_text =
            HookReply { outcome: crate::hook::Outcome { said: Vec::new(), ..reply.outcome }, ..reply };
        self.absorb(&without_text);
        if said.is_empty() || self.is_exhausted() {
            return self.judge();
        }
        self.begin_turn(Turn::Recovery, frame(&said));
    }

    /// Sees whether anything moved, where that is not plain.
    pub(super) fn judge(&mut self) {
        let Some(iteration) = &self.iteration else { return self.begin_iteration() };
        if iteration.failure.is_none() {
            self.counters.consecutive_failures = 0;
        }
        let moved = !iteration.checked.is_empty() || iteration.mode == Mode::Discovery;
        if moved || iteration.cancelled {
            self.repeat = super::Repeat::default();
            return self.commit();
        }
        self.wait_for(Phase::Fingerprint, Effect::Fingerprint);
    }

    pub(super) fn after_fingerprint(&mut self, tree: &str) {
        let failure = self.iteration.as_ref().and_then(|iteration| iteration.failure.as_ref());
        let what = match failure {
            Some(failure) => format!("{} {}", failure.class, normalised(&failure.message)),
            None => "no task completed".to_owned(),
        };
        let key = format!("{what}\n{tree}");
        self.repeat.count = if self.repeat.key == key { self.repeat.count + 1 } else { 1 };
        self.repeat.key = key;
        self.commit();
    }

    /// Changes the plan the way the iteration ended.
    pub(super) fn commit(&mut self) {
        let Some(iteration) = &mut self.iteration else { return self.begin_iteration() };
        let (number, mode, usage, task) =
            (iteration.number, iteration.mode, iteration.usage, iteration.task_id());
        let unchecked = std::mem::take(&mut iteration.unchecked);
        self.take_back(unchecked, vec!["completed without a check".to_owned()]);
        if let Some(id) = task {
            self.mutations.push_back(Mutation::ReturnToPending { id });
        }
        self.mutations.push_back(Mutation::CommitIteration { iteration: number, mode, usage });
        self.mutate(Then::CloseIteration);
    }

    pub(super) fn close_iteration(&mut self) {
        let Some(iteration) = self.iteration.take() else { return self.begin_iteration() };
        for id in &iteration.checked {
            self.log(ProgressKind::Completed, Some(id.clone()), "checked and stands");
        }
        self.counters.completed.extend(iteration.checked.iter().cloned());
        self.pending.extend(iteration.now.iter().cloned());
        self.emit(Event::IterationFinished {
            iteration: iteration.number,
            outcome: iteration.outcome(),
            failure: iteration.failure,
            completed: iteration.checked,
            usage: iteration.usage,
            consecutive_failures: self.counters.consecutive_failures,
        });
        self.effect(Effect::Checkpoint);
        if self.cap().is_some() || (self.setup.limits.pause_ms == 0 && self.limited_until.is_none()) {
            return self.begin_iteration();
        }
        self.wait_for(Phase::Peek, Effect::Load);
    }

    /// Pauses, if there is anything to pause for.
    pub(super) fn after_peek(&mut self, loaded: Loaded) {
        if let Some((reason, detail)) = self.cap().or_else(|| self.end_of_work(&loaded)) {
            return self.stop(reason, detail);
        }
        let wait = match self.limited_until.take() {
            Some(moment) => {
                let reason = format!("the agent's usage limit ends at {moment}");
                self.emit(Event::Waiting { wait_ms: 0, reason });
                Wait::Until(moment)
            }
            None => {
                let wait_ms = self.setup.limits.pause_ms;
                self.emit(Event::Waiting { wait_ms, reason: "pause".to_owned() });
                Wait::For(wait_ms)
            }
        };
        self.wait_for(Phase::Sleep, Effect::Sleep(wait));
    }

    /// Says whether the phase can be left before its time.
    pub(super) fn can_give_up(&self) -> bool {
        !matches!(self.phase, Phase::Mutate(_))
    }

    /// Closes the iteration where it stands, because the run ends now.
    pub(super) fn give_up_iteration(&mut self) {
        self.side = super::Side::default();
        if let Some(iteration) = &mut self.iteration {
            iteration.cancelled = true;
            let in_flight = std::mem::take(&mut iteration.in_flight);
            self.put_back(in_flight);
        }
        self.commit();
    }
}

/// Writes a task the way a user would ask for it.
fn brief_text(task: &TaskBrief) -> String {
    match task.description.trim() {
        "" => format!("{} {}", task.id, task.title),
        description => format!("{} {}\n\n{description}", task.id, task.title),
    }
}

/// Leaves out what differs between two failures of one kind: numbers, case
/// and white space.
fn normalised(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            c if c.is_ascii_digit() => {
                if !text.ends_with('#') {
                    text.push('#');
                }
            }
            c if c.is_whitespace() => {
                if !text.ends_with(' ') {
                    text.push(' ');
                }
            }
            c => text.extend(c.to_lowercase()),
        }
    }
    text
}
