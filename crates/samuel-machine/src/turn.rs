//! One turn of the agent: the three agent points.
//!
//! An iteration has one main turn and sometimes extra ones. Extra turns fire
//! only the agent points and are not counted again when they fail.

use samuel_agent::{ARGUMENT, MODEL, last_words};
use samuel_hook::points;
use samuel_model::{
    ExitReason, FailureClass, Usage,
    payload::{AfterAgentInvokeInput, AgentInvokeInput, BeforeAgentInvokeInput, Turn},
    redacted,
    text::listed,
};
use samuel_state::plan::Work;

use super::{
    AgentCall, AgentEnd, CallPhase, Closing, Core, Effect, Ending, HookReply, Owner, ReplyData, State, Wait,
    WorkLeft,
    core::{UNASKED, larger},
    iteration::Iteration,
};
use crate::event::{Event, IterationFailure};

/// How long handlers have at least for what an agent did before it ended, in milliseconds.
const LEAST_DRAIN_MS: u64 = 10_000;

impl Core {
    /// Calls the agent. In a main turn the text is what waits for the agent,
    /// and a handler composes the prompt around it; in another turn it is the
    /// whole prompt.
    pub(super) fn begin_turn(&mut self, mut owner: Owner, prompt: String) -> State {
        if matches!(owner, Owner::Closing(_)) {
            // So that a successor knows that what follows is unchecked.
            self.effect(Effect::Checkpoint);
        }
        let turn = owner.turn();
        let choice = self.choose_agent(turn, owner.iteration().as_deref());
        let input = BeforeAgentInvokeInput {
            agent: choice.agent,
            prompt,
            env: Vec::new(),
            sandbox: self.setup.sandbox.clone(),
            ..Default::default()
        };
        self.fire::<points::BeforeAgentInvoke>(owner.calls(CallPhase::BeforeInvoke, None), input)
    }

    /// Goes on with a call, now that the handlers of a point of it answered.
    pub(super) fn call_answered(&mut self, owner: Owner, call: AgentCall, reply: HookReply) -> State {
        match call.at {
            CallPhase::BeforeInvoke => self.after_before_invoke(owner, call.failure, reply),
            CallPhase::Invoke => self.after_invoke(owner, call.failure, &reply),
            CallPhase::AfterInvoke => self.after_after_invoke(owner, call.failure, &reply),
            CallPhase::Drain(_) => self.failed(owner.calls(call.at, call.failure), UNASKED.to_owned()),
        }
    }

    fn after_before_invoke(
        &mut self,
        mut owner: Owner,
        failure: Option<IterationFailure>,
        reply: HookReply,
    ) -> State {
        let refused = self.absorb(owner.iteration(), &reply);
        if let Some(failure) = refused.or(failure) {
            return self.end_turn(owner, Some(failure));
        }
        let ReplyData::Invocation(input) = reply.data else {
            let message = "before:agent.invoke answered without an invocation".to_owned();
            return self.failed(owner.calls(CallPhase::BeforeInvoke, None), message);
        };
        let (iteration, turn) = (self.counters.iterations, owner.turn());
        let choice = self.called(&input.agent);
        let (model, why) = (choice.model.clone(), choice.why.clone());
        self.agents.called = Some(input.agent.clone());
        self.emit(Event::AgentStarted { iteration, turn, agent: input.agent.clone(), model, why });
        let task = owner.iteration().and_then(|iteration| iteration.task.clone());
        let BeforeAgentInvokeInput { agent, prompt, env, env_names, sandbox, mut extensions, .. } = *input;
        // What no handler decides on.
        extensions.retain(|(name, _)| ![MODEL, ARGUMENT].contains(&name.as_str()));
        extensions.extend(choice.model.map(|model| (MODEL.to_owned(), model)));
        extensions.extend(choice.args.into_iter().map(|arg| (ARGUMENT.to_owned(), arg)));
        let conversation = self.conversations.of(&agent).map(|id| id.as_str().to_owned());
        self.fire::<points::AgentInvoke>(
            owner.calls(CallPhase::Invoke, None),
            AgentInvokeInput { agent, prompt, env, env_names, sandbox, task, conversation, extensions },
        )
    }

    fn after_invoke(
        &mut self,
        mut owner: Owner,
        failure: Option<IterationFailure>,
        reply: &HookReply,
    ) -> State {
        let end = self.record_agent(owner.iteration(), failure, reply);
        if self.side.is_idle() {
            return self.after_drain(owner, None, end);
        }
        let left = self.setup.limits.max_call_ms.saturating_sub(end.duration_ms).max(LEAST_DRAIN_MS);
        let draining = owner.calls(CallPhase::Drain(Box::new(end)), None);
        self.wait_for(draining, Effect::Sleep(Wait::For(left)))
    }

    /// Ends what is still under way beside a call of the agent that has ended, since the
    /// call has lasted as long as it may. What handlers were not asked about is not allowed.
    pub(super) fn cut_drain(&mut self, state: State) -> State {
        self.drop_side("the call of the agent took too long");
        let message = "handlers were still at work on its tool calls or completions when its time was up";
        let failure = IterationFailure { class: FailureClass::AgentTimeout, message: message.to_owned() };
        self.end_drain(state, Some(failure))
    }

    /// Goes on with a call that waited for the side, and with any other state as it is.
    pub(super) fn end_drain(&mut self, state: State, cut: Option<IterationFailure>) -> State {
        match state.into_call() {
            Ok((owner, AgentCall { at: CallPhase::Drain(end), failure })) => {
                self.after_drain(owner, failure.or(cut), *end)
            }
            Ok((owner, call)) => owner.calls(call.at, call.failure),
            Err(state) => state,
        }
    }

    /// Takes down what a call of the agent consumed and how it ended.
    pub(super) fn record_agent(
        &mut self,
        mut iteration: Option<&mut Iteration>,
        failure: Option<IterationFailure>,
        reply: &HookReply,
    ) -> AgentEnd {
        let mut end = match &reply.data {
            ReplyData::Agent(end) => AgentEnd::clone(end),
            _ => AgentEnd::default(),
        };
        self.conversations.note(&end);
        let bad_cost = end.usage.take_bad_cost();
        self.warn_of_bad_cost(&end.agent, bad_cost);
        // A call that broke or whose answer says nothing of it consumed what it told of while it lasted.
        end.usage = larger(end.usage, std::mem::take(&mut self.spending.call_usage));
        self.count_usage(iteration.as_deref_mut(), end.usage);
        if let Some(iteration) = iteration.as_deref_mut() {
            iteration.called = true;
            iteration.agent_ms = iteration.agent_ms.saturating_add(end.duration_ms);
        }
        let is_closing = iteration.is_none();
        let refused = self.absorb(iteration.as_deref_mut(), reply);
        let failure = failure.or(end.failure.take()).or(refused);
        end.failure = failure.or_else(|| Self::bad_end(&end, reply));
        self.note_agent(iteration.as_deref(), &end);
        self.note_limit(iteration.as_deref(), &mut end, is_closing);
        end
    }

    /// Warns, once in a run, of a cost that is none. Such a call counts as one
    /// that did not say what it cost.
    fn warn_of_bad_cost(&mut self, agent: &str, cost: Option<f64>) {
        let Some(cost) = cost.filter(|_| !self.spending.warned_of_cost) else { return };
        self.spending.warned_of_cost = true;
        let message = format!("{agent} reported a cost of {cost:?} US dollars, which counts as unknown");
        self.emit(Event::Warning { message });
    }

    /// Tells how a call of the agent ended. What happened beside it was told
    /// before, so that the same run always reads the same.
    pub(super) fn tell_agent_end(&mut self, turn: Turn, end: &AgentEnd) {
        let logs = end.output.as_ref().filter(|_| end.failure.is_some()).map(|output| &output.logs);
        self.emit(Event::AgentFinished {
            iteration: self.counters.iterations,
            turn,
            exit_code: end.exit_code(),
            failure: end.failure.clone(),
            usage: end.usage,
            duration_ms: end.duration_ms,
            logs: logs.cloned().unwrap_or_default(),
        });
    }

    /// Tells of a call of the agent that had ended while the side was still busy,
    /// where a state is left.
    pub(super) fn forget_agent(&mut self, state: &State) {
        if let Some(AgentCall { at: CallPhase::Drain(end), .. }) = state.call() {
            self.tell_agent_end(state.turn(), end);
        }
    }

    /// Returns the failure of an agent that nobody calls one yet.
    fn bad_end(end: &AgentEnd, reply: &HookReply) -> Option<IterationFailure> {
        let agent = &end.agent;
        match (&end.output, reply.outcome.broken.last()) {
            (Some(output), _) if output.exit_code == 0 => None,
            (Some(output), _) => {
                let words = last_words(&output.stderr, &output.stdout);
                let words = words.map(|words| format!(": {}", redacted(&words))).unwrap_or_default();
                let message = format!("{agent} ended with exit code {}{words}", output.exit_code);
                Some(IterationFailure { class: FailureClass::AgentExit, message })
            }
            // Where a broken handler is only a warning, there is still no
            // answer of the agent to go on with.
            (None, Some(broken)) => {
                Some(IterationFailure { class: FailureClass::HookBroke, message: broken.to_string() })
            }
            (None, None) => {
                let message = format!("{agent} gave no answer");
                Some(IterationFailure { class: FailureClass::AgentStart, message })
            }
        }
    }

    /// Goes on, now that the agent is done and the side is idle.
    fn after_drain(&mut self, owner: Owner, late: Option<IterationFailure>, end: AgentEnd) -> State {
        self.tell_agent_end(owner.turn(), &end);
        let exit_code = end.exit_code().unwrap_or(-1);
        let output = end.output.unwrap_or_default();
        let usage = (end.usage != Usage::default()).then_some(end.usage);
        let input = AfterAgentInvokeInput {
            exit_code,
            stdout: output.stdout,
            stderr: output.stderr,
            duration_ms: end.duration_ms,
            usage,
            ..Default::default()
        };
        // A late block of a tool call can come in with the side's last work.
        let failure = end.failure.or(late);
        self.fire::<points::AfterAgentInvoke>(owner.calls(CallPhase::AfterInvoke, failure), input)
    }

    fn after_after_invoke(
        &mut self,
        mut owner: Owner,
        failure: Option<IterationFailure>,
        reply: &HookReply,
    ) -> State {
        let refused = self.absorb(owner.iteration(), reply);
        self.end_turn(owner, failure.or(refused))
    }

    /// Fails the turn under way and stops its agent, because of something
    /// that happened beside the call.
    pub(super) fn fail_turn(&mut self, state: &mut State, failure: IterationFailure) {
        if let Some(call) = state.call_mut().filter(|call| call.at != CallPhase::AfterInvoke) {
            call.failure.get_or_insert(failure);
        } else if let Some(iteration) = state.iteration_mut().filter(|iteration| !iteration.settled) {
            iteration.failure.get_or_insert(failure);
        }
        if state.is_invoking() {
            self.interrupt();
        }
    }

    /// Sees whether the work is still complete after a last turn.
    pub(super) fn after_look_again(&mut self, closing: Closing, loaded: &WorkLeft) -> State {
        let undone = match (&loaded.changed, &loaded.work) {
            (Some(changed), _) => Some((ExitReason::ControlFilesChanged, changed.clone())),
            (None, Work::Task(task)) => {
                Some((ExitReason::Blocked, format!("the last turn left task {} open", task.id)))
            }
            (None, Work::Blocked(reasons)) => Some((ExitReason::Blocked, listed(reasons))),
            (None, Work::AllDone | Work::ScopeDone(_)) => None,
        };
        match undone {
            Some((reason, detail)) => {
                self.ending = Some(Ending::new(reason, Some(detail)));
                self.fire_after_loop()
            }
            None => self.after_closing(closing),
        }
    }

    fn after_closing(&mut self, closing: Closing) -> State {
        match closing {
            Closing::Blocked => self.try_to_stop(),
            Closing::Delivery => self.fire_after_loop(),
        }
    }

    fn end_turn(&mut self, owner: Owner, failure: Option<IterationFailure>) -> State {
        if failure.is_none() {
            let delivered = std::mem::take(&mut self.texts.delivering);
            self.were_delivered(delivered);
        }
        match owner {
            // What the run was about to say may not be so any more.
            Owner::Closing(closing) if self.reason() == ExitReason::Completed => {
                self.load(State::LookAgain(closing))
            }
            Owner::Closing(closing) => self.after_closing(closing),
            Owner::Iteration(mut iteration) => match iteration.turn {
                Turn::Main => self.after_main_turn(iteration, failure),
                Turn::Immediate => {
                    if failure.is_some() {
                        // It is not counted; its text waits for the next prompt.
                        self.put_back(std::mem::take(&mut iteration.in_flight));
                    }
                    self.after_immediate_turn(iteration)
                }
                Turn::Recovery | Turn::Final => self.judge(iteration),
            },
        }
    }

    /// Says whether extra turns are no longer paid for.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_urgent() || self.over_budget(self.counters.usage).is_some()
    }
}
