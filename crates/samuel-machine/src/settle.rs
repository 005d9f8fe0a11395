//! One iteration after its main turn: its outcome, the extra turns, the books.

use samuel_hook::{Said, points};
use samuel_model::{
    IterationOutcome, TaskId,
    payload::{AfterIterationInput, IterationErrorInput, Mode, Turn},
};
use samuel_state::{Mutation, ProgressKind, TaskCredit, plan::Next};

use super::{
    Core, Effect, HookReply, Owner, Phase, State, Then, WITHOUT_CHECK, Wait, WorkLeft, core::Repeat,
    iteration::Iteration, limit::to_the_second,
};
use crate::event::{Event, IterationFailure};

/// What an iteration has in common with another one that said nothing, either.
pub(super) const NOTHING_RECORDED: &str = "no task completed";

impl Core {
    pub(super) fn fire_after_iteration(&mut self, iteration: Box<Iteration>) -> State {
        let input = AfterIterationInput {
            iteration: iteration.number,
            task: iteration.task.clone(),
            outcome: iteration.outcome(),
            ..Default::default()
        };
        self.fire::<points::AfterIteration>(State::Iteration(iteration, Phase::AfterIteration), input)
    }

    pub(super) fn after_after_iteration(
        &mut self,
        mut iteration: Box<Iteration>,
        reply: &HookReply,
    ) -> State {
        let failure = self.absorb(Some(&mut iteration), reply);
        iteration.settled = true;
        if let Some(failure) = failure {
            iteration.failure.get_or_insert(failure);
        }
        let now = std::mem::take(&mut iteration.now);
        let Some(now) = self.extra_turn_text(now) else { return self.after_immediate_turn(iteration) };
        let prompt = self.another_turn("handlers said what does not wait for the next one.", &now);
        (iteration.in_flight, iteration.turn) = (now, Turn::Immediate);
        self.begin_turn(Owner::Iteration(iteration), prompt)
    }

    /// Returns the text of an extra turn, if there is any and the agent may be
    /// called once more. Else the text waits for the next prompt.
    fn extra_turn_text(&mut self, text: Vec<Said>) -> Option<Vec<Said>> {
        let may_call = self.ending.is_none() && self.limit.until.is_none() && !self.is_exhausted();
        if may_call && !text.is_empty() {
            return Some(text);
        }
        self.keep_for_next(text);
        None
    }

    pub(super) fn after_immediate_turn(&mut self, mut iteration: Box<Iteration>) -> State {
        iteration.in_flight.clear();
        iteration.turn = Turn::Main;
        let Some(failure) = iteration.failure.clone() else { return self.judge(iteration) };
        iteration.excused = iteration.unclaimed || self.is_excused(failure.class);
        let counted = u32::from(!iteration.excused);
        self.counters.consecutive_failures = self.counters.consecutive_failures.saturating_add(counted);
        self.log(ProgressKind::Error, iteration.task_id(), format!("{}: {}", failure.class, failure.message));
        let input = IterationErrorInput {
            error: failure.message,
            class: failure.class.as_str().to_owned(),
            consec_fails: self.counters.consecutive_failures,
            ..Default::default()
        };
        self.fire::<points::IterationError>(State::Iteration(iteration, Phase::IterationError), input)
    }

    pub(super) fn after_iteration_error(&mut self, mut iteration: Box<Iteration>, reply: HookReply) -> State {
        self.verdict(&reply.outcome);
        let Some(said) = self.extra_turn_text(reply.outcome.said) else { return self.judge(iteration) };
        iteration.turn = Turn::Recovery;
        let class = iteration.failure.as_ref().map_or("error", |failure| failure.class.as_str());
        let why = format!("the iteration failed ({class}), and handlers said something about it.");
        let prompt = self.another_turn(&why, &said);
        self.begin_turn(Owner::Iteration(iteration), prompt)
    }

    /// Sees whether anything moved, where that is not plain.
    pub(super) fn judge(&mut self, iteration: Box<Iteration>) -> State {
        let succeeded = iteration.failure.is_none();
        let moved = !iteration.checked.is_empty()
            || iteration.plan_changed
            || (succeeded && iteration.mode == Mode::Discovery);
        if succeeded {
            self.counters.consecutive_failures = 0;
        }
        if moved {
            self.repeat = Repeat::default();
        }
        if moved || iteration.excused {
            return self.commit(iteration, None);
        }
        self.wait_for(State::Iteration(iteration, Phase::Fingerprint), Effect::Fingerprint)
    }

    pub(super) fn after_fingerprint(&mut self, iteration: Box<Iteration>, tree: &str) -> State {
        let what = match &iteration.failure {
            Some(IterationFailure { class, message }) => format!("{class} {}", normalised(message)),
            None => NOTHING_RECORDED.to_owned(),
        };
        // A lane goes from task to task.
        let key = match iteration.task_id().filter(|_| self.setup.in_lane) {
            Some(task) => format!("{what}\n{task}\n{tree}"),
            None => format!("{what}\n{tree}"),
        };
        self.repeat.count = if self.repeat.key == key { self.repeat.count + 1 } else { 1 };
        self.repeat.key = key;
        self.commit(iteration, Some(tree))
    }

    /// Changes the plan the way the iteration ended.
    fn commit(&mut self, mut iteration: Box<Iteration>, tree: Option<&str>) -> State {
        self.guard_task(&mut iteration, tree);
        self.queue_commit(&mut iteration);
        self.mutate(Then::CloseIteration(iteration))
    }

    /// Queues the changes of the plan that close an iteration.
    pub(super) fn queue_commit(&mut self, iteration: &mut Iteration) {
        let (number, mode, usage, task) =
            (iteration.number, iteration.mode, iteration.usage, iteration.task_id());
        let mut unchecked = std::mem::take(&mut iteration.checking);
        unchecked.append(&mut iteration.unchecked);
        self.take_back(unchecked, vec![WITHOUT_CHECK.to_owned()]);
        if let Some(id) = task {
            self.mutations.push_back(Mutation::ReturnToPending { id });
        }
        self.queue_parking(iteration);
        // A worker's task is credited when its work is merged.
        let credited = if self.setup.in_lane { Vec::new() } else { iteration.credited(&iteration.checked) };
        let credits = credited.into_iter().map(TaskCredit::new).collect();
        self.mutations.push_back(Mutation::CommitIteration { iteration: number, mode, usage, credits });
    }

    /// Closes the iteration's books, once the plan was changed.
    pub(super) fn conclude_iteration(&mut self, iteration: Box<Iteration>) {
        self.measure(&iteration);
        let iteration = *iteration;
        let outcome = iteration.outcome();
        let is_failed = outcome == IterationOutcome::Failed && !iteration.excused;
        self.counters.failed = self.counters.failed.saturating_add(u32::from(is_failed));
        let is_interrupted = is_failed && iteration.is_interrupted();
        self.counters.interrupted = self.counters.interrupted.saturating_add(u32::from(is_interrupted));
        if is_failed {
            self.agents.count_failure(iteration.task_id());
        }
        match (iteration.mode, outcome) {
            (Mode::Discovery, IterationOutcome::Succeeded) if iteration.found.is_empty() => {
                self.counters.empty_discoveries = self.counters.empty_discoveries.saturating_add(1);
            }
            // What came of one that failed says nothing.
            (Mode::Discovery, IterationOutcome::Failed | IterationOutcome::Cancelled) => {}
            _ => self.counters.empty_discoveries = 0,
        }
        let unrecorded = self.note_unrecorded(&iteration);
        if let Some((reason, detail)) = self.cap().filter(|_| iteration.cancelled) {
            let why = detail.map_or_else(|| reason.to_string(), |detail| format!("{reason}: {detail}"));
            self.log(ProgressKind::Found, iteration.task_id(), format!("ended before its time: {why}"));
        }
        let stands = match iteration.unverified {
            true => "stands; no checks are configured",
            false => "checked and stands",
        };
        self.vouch_for(&iteration.checked, stands);
        // They came after the books were closed.
        self.checks.unchecked_outside.extend(iteration.unchecked);
        self.keep_for_next(iteration.now);
        self.emit(Event::IterationFinished {
            iteration: iteration.number,
            outcome,
            failure: iteration.failure,
            completed: iteration.checked,
            usage: iteration.usage,
            consecutive_failures: self.counters.consecutive_failures,
            excused: iteration.excused,
            unrecorded,
            commit: None,
            uncommitted: Vec::new(),
            committed_for_agent: None,
        });
        self.effect(Effect::Checkpoint);
    }

    /// Counts completions that a check stands behind, or that need none.
    pub(super) fn vouch_for(&mut self, completed: &[TaskId], stands: &str) {
        for id in completed {
            self.log(ProgressKind::Completed, Some(id.clone()), stands);
            self.counters.unrecorded.retain(|open| open != id);
            if !self.counters.completed.contains(id) {
                self.counters.completed.push(id.clone());
            }
        }
    }

    /// Takes down whether the agent ended well without a word of what became of its
    /// task, and says so.
    fn note_unrecorded(&mut self, iteration: &Iteration) -> bool {
        let Some(task) = iteration.task_id() else { return false };
        let unrecorded = iteration.outcome() == IterationOutcome::Succeeded && !iteration.answered;
        self.counters.unrecorded.retain(|open| *open != task);
        if unrecorded {
            self.log(ProgressKind::Found, Some(task.clone()), "the agent ended well, but recorded nothing");
            self.counters.unrecorded.push(task);
        }
        unrecorded
    }

    /// Lets go of an iteration that did not begin.
    pub(super) fn drop_iteration(&mut self, iteration: Box<Iteration>) {
        self.checks.unchecked_outside.extend(iteration.unchecked);
        self.keep_for_next(iteration.now);
    }

    /// Closes the iteration where it stands, because the run ends now.
    pub(super) fn give_up_iteration(&mut self, mut iteration: Box<Iteration>) -> State {
        iteration.cancelled = !iteration.settled;
        self.put_back(std::mem::take(&mut iteration.in_flight));
        self.commit(iteration, None)
    }

    /// Pauses between iterations, unless there is no reason to.
    pub(super) fn rest(&mut self) -> State {
        if self.setup.limits.pause_ms == 0 || self.requests.hold || self.cap().is_some() {
            return self.begin_iteration();
        }
        self.load(State::Peek)
    }

    /// Pauses, if there is anything to pause for.
    pub(super) fn after_peek(&mut self, loaded: &WorkLeft) -> State {
        if self.requests.hold || self.cap().is_some() {
            return self.begin_iteration();
        }
        self.guards.elapsed_ms = loaded.elapsed_ms;
        let next = self.next(loaded);
        let Next::Iteration { .. } = next else { return self.end_work(next) };
        let wait = match self.limit.until {
            Some(moment) => {
                let reason = "the agent's usage limit".to_owned();
                self.log(
                    ProgressKind::Found,
                    None,
                    format!("waiting until {} for {reason}", to_the_second(moment)),
                );
                // How long that is the driver knows.
                self.emit(Event::Waiting { wait_ms: 0, reason, until: Some(moment) });
                Wait::Until(moment)
            }
            None => {
                let wait_ms = self.setup.limits.pause_ms;
                self.emit(Event::Waiting { wait_ms, reason: "pause".to_owned(), until: None });
                Wait::For(wait_ms)
            }
        };
        self.wait_for(State::Sleep, Effect::Sleep(wait))
    }

    pub(super) fn after_sleep(&mut self) -> State {
        // A wait that was cut short for a pause is not over.
        if !self.requests.hold {
            // It has lasted until then.
            self.agents.now = self.agents.now.max(self.limit.until.take().unwrap_or_default());
        }
        self.begin_iteration()
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
