//! What the agent tests share: a port that remembers, and requests.

use async_trait::async_trait;
use samuel_core::{
    agent::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, AgentRequest},
    process::LeftRunning,
};
use std::{path::Path, sync::Mutex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A port that remembers what it is told and decides as it is made to.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Mutex<Vec<AgentEvent>>,
    pub(crate) asked: Mutex<Vec<AbilityCall>>,
    pub(crate) ended: Mutex<Vec<AbilityResult>>,
    pub(crate) supervisors: Mutex<Vec<u32>>,
    /// Told of each event.
    pub(crate) heard: Notify,
    /// What the agent left running.
    pub(crate) left_running: Mutex<Option<LeftRunning>>,
    /// Answers for a tool instead of allowing it.
    pub(crate) decide: Option<fn(&AbilityCall) -> AbilityDecision>,
}

impl Recorder {
    pub(crate) fn events(&self) -> Vec<AgentEvent> {
        self.events.lock().unwrap().clone()
    }

    /// The texts the agent said.
    pub(crate) fn texts(&self) -> Vec<String> {
        let said = |event| match event {
            AgentEvent::Text { text } => Some(text),
            _ => None,
        };
        self.events().into_iter().filter_map(said).collect()
    }

    /// The tools that were asked for.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|call| call.ability_id.clone()).collect()
    }
}

#[async_trait]
impl AgentPort for Recorder {
    fn emit(&self, event: AgentEvent) {
        self.events.lock().unwrap().push(event);
        self.heard.notify_one();
    }

    async fn supervised_by(&self, pid: u32, _start_time: u64) {
        self.supervisors.lock().unwrap().push(pid);
    }

    async fn left_running(&self, left: LeftRunning) {
        *self.left_running.lock().unwrap() = Some(left);
    }

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        let decision = match self.decide {
            Some(decide) => decide(&call),
            None => AbilityDecision::Allow { input: call.input.clone() },
        };
        self.asked.lock().unwrap().push(call);
        decision
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        self.ended.lock().unwrap().push(result);
        Vec::new()
    }
}

/// A first iteration's request in `dir`, with a `PATH` and nothing else.
pub(crate) fn request(dir: &Path, prompt: &str) -> AgentRequest {
    AgentRequest {
        program: None,
        prompt: prompt.to_owned(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        project_root: dir.to_owned(),
        sandbox: std::sync::Arc::new(samuel_core::sandbox::Host),
        logs: None,
        iteration: 1,
        turn: samuel_core::model::payload::Turn::Main,
        task: None,
        conversation: None,
        bridge: None,
        cancel: CancellationToken::new(),
    }
}
