//! The agent that plays a script: deterministic, built in, without network.
//!
//! A [`ScriptedAgent`] chooses a call of its [`Script`] and plays its steps. It
//! is an agent whose tool calls can be prevented: each is asked for at
//! [`AgentPort::before_ability`] and made with the arguments the answer holds.
//! It powers demonstrations, examples and tests of loops.

mod action;
mod fill;
mod play;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use samuel_model::{clock::Clock, payload::AgentInvokeOutput};
use samuel_process::Supervisor;

use super::{
    Agent, AgentConfig, AgentError, AgentEvent, AgentPort, AgentRequest, MutationRoute, Script, ScriptedCall,
    Step, adapter::Speaks, config::Deadlines,
};
use play::{Play, Stop};

/// The name in configuration.
pub(super) const NAME: &str = "scripted";

/// An agent that plays a [`Script`].
#[derive(Debug)]
pub struct ScriptedAgent {
    script: Script,
    mutations: MutationRoute,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    /// The calls that were played, by their place in the script.
    played: Mutex<BTreeSet<usize>>,
}

impl ScriptedAgent {
    /// Makes an agent from a configuration's script, mutation route, deadlines
    /// and clock.
    ///
    /// # Errors
    /// Returns [`AgentError::Config`] where there is no script.
    pub fn new(config: &AgentConfig, supervisor: Supervisor) -> Result<Self, AgentError> {
        let script = config.script.clone().ok_or_else(|| AgentError::Config {
            agent: NAME.to_owned(),
            problem: "there is no script".to_owned(),
        })?;
        Ok(Self {
            script,
            mutations: config.mutations.clone(),
            deadlines: config.clocks.resolve(Speaks::PerhapsLate),
            clock: Arc::clone(&config.clock),
            supervisor,
            played: Mutex::default(),
        })
    }

    /// Returns the steps for a call, and takes note that they are played.
    fn steps_for(&self, request: &AgentRequest) -> Option<&[Step]> {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let mut calls = self.script.calls.iter().enumerate();
        let found = calls.find(|(place, call)| fits(call, request) && !played.contains(place));
        match found {
            Some((place, call)) => {
                if !call.repeat {
                    played.insert(place);
                }
                Some(&call.steps)
            }
            None => Some(self.script.otherwise.as_slice()).filter(|steps| !steps.is_empty()),
        }
    }
}

fn fits(call: &ScriptedCall, request: &AgentRequest) -> bool {
    let task = request.task.as_ref().map(|task| task.id.as_str());
    call.task.as_ref().is_none_or(|wanted| Some(wanted.as_str()) == task)
        && call.iteration.is_none_or(|wanted| wanted == request.iteration)
        && call.turn.is_none_or(|wanted| wanted == request.turn)
}

#[async_trait]
impl Agent for ScriptedAgent {
    fn name(&self) -> &str {
        NAME
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        port.emit(AgentEvent::Ready { session_id: None, model: None });
        let mut play = Play::new(self, &request, port);
        let stop = match self.steps_for(&request) {
            Some(steps) => play.all(steps).await,
            None => {
                play.say("nothing is scripted for this call");
                Stop::Exit { code: 0, stderr: String::new() }
            }
        };
        let (usage, stdout) = (play.usage, play.said());
        let outcome = stop.outcome(usage, stdout);
        if let Some(logs) = &request.logs {
            // As for an agent that is a program, a log that cannot be written does not fail the call.
            let _ = match &outcome {
                Ok(output) => logs.write(&output.stdout, &output.stderr),
                // What the error says is Samuel's word and nothing that the agent printed.
                Err(_) => logs.write(&play.said(), ""),
            };
        }
        outcome
    }
}
