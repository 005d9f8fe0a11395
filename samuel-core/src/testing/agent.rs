//! Agents for tests: one that plays a script, and one that waits.

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Script, ScriptedCall},
    model::payload::AgentInvokeOutput,
};

/// Returns the script of an agent that writes `made.txt` and completes its
/// task in every call.
pub fn completes_each_task() -> Script {
    Script::default()
        .call(ScriptedCall::any().repeated().say("working").write("made.txt", "{{task_id}}").done())
}

/// An agent whose calls wait until the test lets them go.
///
/// So a test can do something while an agent is at work: wait for
/// [`called`](Self::called), act, and [`release`](Self::release) the call. A
/// call that is cancelled ends as a real agent's does.
#[derive(Debug, Default)]
pub struct HeldAgent {
    output: AgentInvokeOutput,
    called: Notify,
    released: Notify,
}

impl HeldAgent {
    /// Creates an agent that ends well, without a word.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an agent that ends this way.
    pub fn answering(output: AgentInvokeOutput) -> Self {
        Self { output, ..Self::default() }
    }

    /// Waits until the agent is called.
    pub async fn called(&self) {
        self.called.notified().await;
    }

    /// Lets one call end: the one that waits, else the next.
    pub fn release(&self) {
        self.released.notify_one();
    }
}

#[async_trait]
impl Agent for HeldAgent {
    fn name(&self) -> &str {
        "held"
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        self.called.notify_one();
        tokio::select! {
            () = self.released.notified() => Ok(self.output.clone()),
            () = request.cancel.cancelled() => {
                Err(AgentError::Cancelled { agent: self.name().to_owned(), usage: None })
            }
        }
    }
}
