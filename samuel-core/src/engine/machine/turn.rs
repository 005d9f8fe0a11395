//! One turn of the agent: the three agent points.
//!
//! An iteration has one main turn and sometimes extra ones. Extra turns fire
//! only the agent points and are not counted again when they fail.

use serde::{Deserialize, Serialize};

use super::{AgentEnd, Effect, Ending, HookReply, Loaded, Machine, Phase, ReplyData};
use crate::{
    agent::last_words,
    engine::event::{Event, Failure},
    hook::points,
    model::{
        ExitReason, FailureClass, Usage,
        payload::{AfterAgentInvokeInput, AgentInvokeInput, BeforeAgentInvokeInput, Turn},
        redacted,
    },
    plan::Work,
    text::listed,
};

/// An extra turn outside of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Closing {
    /// A stop was blocked; the agent hears why, and then the stop is tried
    /// again.
    Blocked,
    /// Text is left and delivered.
    Delivery,
}

impl Machine {
    /// Calls the agent. In a main turn the text is what waits for the agent,
    /// and a handler composes the prompt around it; in an extra turn it is the
    /// whole prompt.
    pub(super) fn begin_turn(&mut self, turn: Turn, prompt: String) {
        if let Some(iteration) = &mut self.iteration {
            iteration.turn = turn;
        }
        self.turn_failure = None;
        if self.closing.is_some() {
            // So that a successor knows that what follows is unchecked.
            self.effect(Effect::Checkpoint);
        }
        let input = BeforeAgentInvokeInput {
            agent: self.setup.agent.clone(),
            prompt,
            env: Vec::new(),
            sandbox: self.setup.sandbox.clone(),
            ..Default::default()
        };
        self.fire::<points::BeforeAgentInvoke>(Phase::BeforeInvoke, input);
    }

    pub(super) fn after_before_invoke(&mut self, reply: HookReply) {
        let refused = self.absorb(&reply);
        if let Some(failure) = refused.or_else(|| self.turn_failure.take()) {
            return self.end_turn(Some(failure));
        }
        let ReplyData::Invocation(input) = reply.data else {
            return self.failed("before:agent.invoke answered without an invocation".to_owned());
        };
        let (iteration, turn) = (self.iteration_number(), self.turn());
        self.emit(Event::AgentStarted { iteration, turn, agent: input.agent.clone() });
        let (_, task) = self.iteration_kind();
        let BeforeAgentInvokeInput { agent, prompt, env, env_names, sandbox, extensions, .. } = *input;
        self.fire::<points::AgentInvoke>(
            Phase::Invoke,
            AgentInvokeInput { agent, prompt, env, env_names, sandbox, task, extensions },
        );
    }

    pub(super) fn after_invoke(&mut self, reply: HookReply) {
        self.agent_end = Some(self.record_agent(&reply));
        if self.side.is_idle() {
            self.after_drain();
        } else {
            self.phase = Phase::Drain;
        }
    }

    /// Takes down what a call of the agent consumed and how it ended.
    pub(super) fn record_agent(&mut self, reply: &HookReply) -> AgentEnd {
        let mut end = match &reply.data {
            ReplyData::Agent(end) => AgentEnd::clone(end),
            _ => AgentEnd::default(),
        };
        self.warn_of_bad_cost(end.usage.take_bad_cost());
        self.counters.usage += end.usage;
        self.call_usage = Usage::default();
        match &mut self.iteration {
            Some(iteration) => iteration.usage += end.usage,
            None => self.usage_outside += end.usage,
        }
        let refused = self.absorb(reply);
        let failure = self.turn_failure.take().or(end.failure.take()).or(refused);
        end.failure = failure.or_else(|| self.bad_end(&end, reply));
        self.note_limit(&mut end);
        end
    }

    /// Warns, once in a run, of a cost that is none. Such a call counts as one
    /// that did not say what it cost.
    fn warn_of_bad_cost(&mut self, cost: Option<f64>) {
        let Some(cost) = cost.filter(|_| !self.warned_of_cost) else { return };
        self.warned_of_cost = true;
        let agent = &self.setup.agent;
        let message = format!("{agent} reported a cost of {cost} US dollars, which counts as unknown");
        self.emit(Event::Warning { message });
    }

    /// Tells how a call of the agent ended. What happened beside it was told
    /// before, so that the same run always reads the same.
    pub(super) fn tell_agent_end(&mut self, end: &AgentEnd) {
        let (iteration, turn) = (self.iteration_number(), self.turn());
        let ended = end.output.as_ref().filter(|output| output.failure.is_none());
        let logs = end.output.as_ref().filter(|_| end.failure.is_some()).map(|output| &output.logs);
        self.emit(Event::AgentFinished {
            iteration,
            turn,
            exit_code: ended.map(|output| output.exit_code),
            failure: end.failure.clone(),
            usage: end.usage,
            duration_ms: end.duration_ms,
            logs: logs.cloned().unwrap_or_default(),
        });
    }

    /// Forgets the call of the agent that this turn was about, and tells of one
    /// that had ended while the side was still busy.
    pub(super) fn forget_agent(&mut self) {
        if let Some(end) = self.agent_end.take().filter(|_| self.phase == Phase::Drain) {
            self.tell_agent_end(&end);
        }
        self.turn_failure = None;
    }

    /// Returns the failure of an agent that nobody calls one yet.
    fn bad_end(&self, end: &AgentEnd, reply: &HookReply) -> Option<Failure> {
        let agent = &self.setup.agent;
        match (&end.output, reply.outcome.broken.last()) {
            (Some(output), _) if output.exit_code == 0 => None,
            (Some(output), _) => {
                let words = last_words(&output.stderr, &output.stdout);
                let words = words.map(|words| format!(": {}", redacted(&words))).unwrap_or_default();
                let message = format!("{agent} ended with exit code {}{words}", output.exit_code);
                Some(Failure { class: FailureClass::AgentExit, message })
            }
            // Where a broken handler is only a warning, there is still no
            // answer of the agent to go on with.
            (None, Some(broken)) => {
                Some(Failure { class: FailureClass::HookBroke, message: broken.to_string() })
            }
            (None, None) => {
                let message = format!("{agent} gave no answer");
                Some(Failure { class: FailureClass::AgentStart, message })
            }
        }
    }

    /// Goes on, now that the agent is done and the side is idle.
    pub(super) fn after_drain(&mut self) {
        let Some(mut end) = self.agent_end.take() else { return self.end_turn(None) };
        self.tell_agent_end(&end);
        // The failure stays for after the point; the output is only needed here.
        let output = end.output.take();
        let exit_code =
            output.as_ref().filter(|output| output.failure.is_none()).map_or(-1, |output| output.exit_code);
        let output = output.unwrap_or_default();
        let usage = (end.usage != Usage::default()).then_some(end.usage);
        let input = AfterAgentInvokeInput {
            exit_code,
            stdout: output.stdout,
            stderr: output.stderr,
            duration_ms: end.duration_ms,
            usage,
            ..Default::default()
        };
        self.agent_end = Some(end);
        self.fire::<points::AfterAgentInvoke>(Phase::AfterInvoke, input);
    }

    pub(super) fn after_after_invoke(&mut self, reply: HookReply) {
        let refused = self.absorb(&reply);
        let failure = self.agent_end.take().and_then(|end| end.failure);
        // A late block of a tool call can come in with the side's last work.
        let late = self.turn_failure.take();
        self.end_turn(failure.or(late).or(refused));
    }

    /// Fails the turn under way and stops its agent, because of something
    /// that happened beside the call.
    pub(super) fn fail_turn(&mut self, failure: Failure) {
        match (self.phase, &mut self.iteration) {
            (Phase::BeforeInvoke | Phase::Invoke | Phase::Drain, _) => {
                self.turn_failure.get_or_insert(failure);
            }
            (_, Some(iteration)) if !iteration.settled => _ = iteration.failure.get_or_insert(failure),
            _ => {}
        }
        if self.phase == Phase::Invoke {
            self.interrupt();
        }
    }

    /// Sees whether the work is still complete after a last turn.
    pub(super) fn after_look_again(&mut self, loaded: &Loaded) {
        let Some(closing) = self.closing.take() else { return self.fire_after_loop() };
        let undone = match (&loaded.changed, &loaded.work) {
            (Some(changed), _) => Some((ExitReason::ControlFilesChanged, changed.clone())),
            (None, Work::Task(task)) => {
                Some((ExitReason::Blocked, format!("the last turn left task {} open", task.id)))
            }
            (None, Work::Blocked(reasons)) => Some((ExitReason::Blocked, listed(reasons))),
            (None, Work::AllDone) => None,
        };
        match undone {
            Some((reason, detail)) => {
                self.ending = Some(Ending::new(reason, Some(detail)));
                self.fire_after_loop();
            }
            None => self.after_closing(closing),
        }
    }

    fn after_closing(&mut self, closing: Closing) {
        match closing {
            Closing::Blocked => self.try_to_stop(),
            Closing::Delivery => self.fire_after_loop(),
        }
    }

    fn end_turn(&mut self, failure: Option<Failure>) {
        if failure.is_none() {
            self.delivering.clear();
        }
        match (self.turn(), self.closing.take()) {
            // What the run was about to say may not be so any more.
            (_, Some(closing)) if self.reason() == ExitReason::Completed => {
                self.closing = Some(closing);
                self.wait_for(Phase::LookAgain, Effect::Load);
            }
            (_, Some(closing)) => self.after_closing(closing),
            (Turn::Main, None) => self.after_main_turn(failure),
            (Turn::Immediate, None) if failure.is_some() => self.after_failed_immediate_turn(),
            (Turn::Immediate, None) => self.after_immediate_turn(),
            (Turn::Recovery | Turn::Final, None) => self.judge(),
        }
    }

    /// Returns the turn under way.
    pub(super) fn turn(&self) -> Turn {
        match (&self.iteration, self.closing) {
            (_, Some(_)) => Turn::Final,
            (Some(iteration), None) => iteration.turn,
            (None, None) => Turn::Main,
        }
    }

    /// Says whether extra turns are no longer paid for.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_urgent() || self.over_budget(self.counters.usage).is_some()
    }
}
