//! One turn of the agent: the three agent points.
//!
//! An iteration has one main turn and sometimes extra ones. Extra turns fire
//! only the agent points and are not counted again when they fail (contract,
//! failure).

use serde::{Deserialize, Serialize};

use super::{AgentEnd, HookReply, Machine, Phase, ReplyData};
use crate::{
    engine::event::{Event, Failure},
    hook::points,
    model::{
        FailureClass, Usage,
        payload::{AfterAgentInvokeInput, AgentInvokeInput, BeforeAgentInvokeInput, Turn},
    },
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
        if let Some(failure) = self.absorb(&reply) {
            return self.end_turn(Some(failure));
        }
        let ReplyData::Invocation(input) = reply.data else {
            return self.failed("before:agent.invoke answered without an invocation".to_owned());
        };
        let (iteration, turn) = (self.iteration_number(), self.turn());
        self.emit(Event::AgentStarted { iteration, turn, agent: input.agent.clone() });
        let BeforeAgentInvokeInput { agent, prompt, env, sandbox, extensions } = *input;
        self.fire::<points::AgentInvoke>(
            Phase::Invoke,
            AgentInvokeInput { agent, prompt, env, sandbox, extensions },
        );
    }

    pub(super) fn after_invoke(&mut self, reply: HookReply) {
        let end = self.record_agent(&reply).unwrap_or_default();
        self.agent_end = Some(end);
        if self.side.is_idle() {
            self.after_drain();
        } else {
            self.phase = Phase::Drain;
        }
    }

    /// Takes down what a call of the agent consumed and how it ended.
    pub(super) fn record_agent(&mut self, reply: &HookReply) -> Option<AgentEnd> {
        let ReplyData::Agent(end) = &reply.data else { return None };
        let mut end = AgentEnd::clone(end);
        self.counters.usage += end.usage;
        if let Some(iteration) = &mut self.iteration {
            iteration.usage += end.usage;
        }
        if let Some(failure) = self.turn_failure.take() {
            end.failure = Some(failure);
        }
        if end.failure.is_none() {
            end.failure = self.absorb(reply);
        }
        let exit_code = end.output.as_ref().map(|output| output.exit_code);
        if let Some(code) = exit_code.filter(|code| *code != 0) {
            let message = format!("{} ended with exit code {code}", self.setup.agent);
            end.failure.get_or_insert(Failure { class: FailureClass::AgentExit, message });
        }
        if end.resets_at.is_some() {
            self.limited_until = end.resets_at;
        }
        let (iteration, turn) = (self.iteration_number(), self.turn());
        self.emit(Event::AgentFinished {
            iteration,
            turn,
            exit_code,
            failure: end.failure.clone(),
            usage: end.usage,
            duration_ms: end.duration_ms,
        });
        Some(end)
    }

    /// Goes on, now that the agent is done and the side is idle.
    pub(super) fn after_drain(&mut self) {
        let Some(end) = &mut self.agent_end else { return self.end_turn(None) };
        // The failure stays for after the point; the output is only needed here.
        let output = end.output.take().unwrap_or_default();
        let ran = end.failure.is_none() || output != Default::default();
        let usage = (end.usage != Usage::default()).then_some(end.usage);
        let input = AfterAgentInvokeInput {
            exit_code: if ran { output.exit_code } else { -1 },
            stdout: output.stdout,
            stderr: output.stderr,
            duration_ms: end.duration_ms,
            usage,
            ..Default::default()
        };
        self.fire::<points::AfterAgentInvoke>(Phase::AfterInvoke, input);
    }

    pub(super) fn after_after_invoke(&mut self, reply: HookReply) {
        let refused = self.absorb(&reply);
        let failure = self.agent_end.take().and_then(|end| end.failure);
        // A late block of a tool call can come in with the side's last work.
        self.end_turn(failure.or(refused).or(self.turn_failure.clone()));
    }

    fn end_turn(&mut self, failure: Option<Failure>) {
        match (self.turn(), self.closing.take()) {
            (_, Some(Closing::Blocked)) => self.try_to_stop(),
            (_, Some(Closing::Delivery)) => self.fire_after_loop(),
            (Turn::Main, None) => self.after_main_turn(failure),
            (Turn::Immediate, None) => self.after_immediate_turn(),
            (Turn::Recovery | Turn::Final, None) => self.judge(),
        }
    }

    fn turn(&self) -> Turn {
        match (&self.iteration, self.closing) {
            (_, Some(_)) => Turn::Final,
            (Some(iteration), None) => iteration.turn,
            (None, None) => Turn::Main,
        }
    }

    /// Says whether extra turns are no longer paid for.
    pub(super) fn is_exhausted(&self) -> bool {
        self.wish.is_some_and(super::Wish::is_urgent) || self.is_over_budget(self.counters.usage)
    }
}
