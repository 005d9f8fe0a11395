//! Agents with hooks of their own, what they ask, and runs that have them.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use samuel_core::{
    agent::{AbilityCall, AbilityResult, Agent, AgentError, AgentEvent, AgentPort, AgentRequest, Bridge},
    engine::{
        RunBuilder,
        socket::{AbilityAfter, AbilityBefore, RunClient, RunClientError, Verdict},
    },
    event::Event,
    hook::points,
    model::payload::{
        AbilityAfterOutput, AbilityBeforeOutput, AbilityStatus, AgentInvokeOutput, TextItem, Turn,
    },
    testing::{Bench, FakeHandler, Played},
};

/// What an agent does in a call: it is given the bridge, if there is one, and its port.
pub(crate) type Work = Box<dyn AsyncWork>;

#[async_trait]
pub(crate) trait AsyncWork: Send + Sync {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort);
}

/// An agent with hooks of its own.
pub(crate) struct Hooked {
    pub(crate) work: Work,
    pub(crate) has_hooks: bool,
}

impl std::fmt::Debug for Hooked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hooked")
    }
}

#[async_trait]
impl Agent for Hooked {
    fn name(&self) -> &str {
        "mine"
    }

    fn hooks_notice(&self) -> Option<String> {
        self.has_hooks.then(|| "its hooks ask".to_owned())
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        if request.turn == Turn::Main {
            self.work.work(request, port).await;
        }
        Ok(AgentInvokeOutput::default())
    }
}

pub(crate) const TIME: Duration = Duration::from_secs(20);
pub(crate) const COMMAND: [&str; 3] = ["/usr/bin/samuel", "hooks", "bridge"];

pub(crate) fn variable<'a>(bridge: &'a Bridge, name: &str) -> &'a str {
    let found = bridge.env.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).unwrap()
}

pub(crate) fn connect_within(bridge: &Bridge, time: Duration) -> Result<RunClient, RunClientError> {
    RunClient::connect(Path::new(variable(bridge, "SAMUEL_SOCKET")), variable(bridge, "SAMUEL_TOKEN"), time)
}

/// Asks as a hook does, in a process that blocks.
pub(crate) async fn asks(bridge: &Bridge, call: &AbilityCall) -> Result<Verdict, RunClientError> {
    asks_within(bridge, call, TIME).await
}

pub(crate) async fn asks_within(
    bridge: &Bridge,
    call: &AbilityCall,
    time: Duration,
) -> Result<Verdict, RunClientError> {
    let AbilityCall { call_id, ability_id, input, .. } = call.clone();
    let (bridge, call) =
        (bridge.clone(), AbilityBefore { call_id, ability_id, input, ..AbilityBefore::default() });
    tokio::task::spawn_blocking(move || connect_within(&bridge, time)?.ability_before(call)).await.unwrap()
}

pub(crate) async fn tells(bridge: &Bridge, id: &str, status: Option<AbilityStatus>) -> Vec<String> {
    let (bridge, call) = (
        bridge.clone(),
        AbilityAfter {
            ability_id: "Bash".to_owned(),
            call_id: id.to_owned(),
            status,
            takes_text: true,
            ..AbilityAfter::default()
        },
    );
    let told =
        tokio::task::spawn_blocking(move || connect_within(&bridge, TIME).unwrap().ability_after(call));
    told.await.unwrap().unwrap()
}

pub(crate) fn bash(id: &str) -> AbilityCall {
    AbilityCall {
        call_id: id.to_owned(),
        ability_id: "Bash".to_owned(),
        input: r#"{"command":"ls"}"#.to_owned(),
        parent_id: None,
    }
}

pub(crate) fn result(id: &str, status: AbilityStatus) -> AbilityResult {
    AbilityResult { call_id: id.to_owned(), ability_id: "Bash".to_owned(), status, ..Default::default() }
}

/// A run of one iteration that listens and has hooks wired.
pub(crate) fn run(bench: &Bench, sockets: &Path, work: impl AsyncWork + 'static) -> RunBuilder {
    bench
        .run(samuel_core::agent::Script::default())
        .agent(Arc::new(Hooked { work: Box::new(work), has_hooks: true }))
        .socket_dir(sockets)
        .bridge(COMMAND.map(str::to_owned))
        .settings(|settings| {
            settings.agent = "mine".to_owned();
            settings.max_iterations = NonZero::new(1);
        })
}

pub(crate) fn bench() -> (Bench, tempfile::TempDir, PathBuf) {
    let outside = tempfile::tempdir().unwrap();
    let sockets = outside.path().join("sockets");
    (Bench::with_tasks(&[("1", "First")]).unwrap(), outside, sockets)
}

pub(crate) fn gate(output: AbilityBeforeOutput) -> FakeHandler<points::AbilityBefore> {
    FakeHandler::answers(output)
}

pub(crate) fn says(text: &str) -> FakeHandler<points::AbilityAfter> {
    let text = vec![TextItem { content: text.to_owned(), ..TextItem::default() }];
    FakeHandler::answers(AbilityAfterOutput { text, ..Default::default() })
}

pub(crate) fn blocks(reason: &str) -> AbilityBeforeOutput {
    AbilityBeforeOutput { block: true, reason: Some(reason.to_owned()), ..Default::default() }
}

/// Says whether every bench is warned of it.
pub(crate) fn is_of_start(message: &str) -> bool {
    message.starts_with("no quality checks are") || message.starts_with("the project is not in a git")
}

pub(crate) fn warnings(played: &Played) -> Vec<&str> {
    let told = played.events.iter().filter_map(|record| match &record.event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    told.filter(|message| !is_of_start(message)).collect()
}

pub(crate) fn failure(played: &Played) -> Option<String> {
    let failure = |event: &Event| match event {
        Event::IterationFinished { failure, .. } => failure.as_ref().map(|failure| failure.message.clone()),
        _ => None,
    };
    played.events.iter().find_map(|record| failure(&record.event))
}

/// Makes a call without asking.
pub(crate) struct DoesNotAsk;

#[async_trait]
impl AsyncWork for DoesNotAsk {
    async fn work(&self, request: AgentRequest, port: &dyn AgentPort) {
        assert!(request.bridge.is_some());
        for id in ["1", "2"] {
            port.emit(AgentEvent::ToolCall(bash(id)));
            port.emit(AgentEvent::ToolResult(result(id, AbilityStatus::Success)));
        }
    }
}

/// Remembers the bridge and the environment that it was given.
pub(crate) struct Looks(pub(crate) Arc<Mutex<Option<AgentRequest>>>);

#[async_trait]
impl AsyncWork for Looks {
    async fn work(&self, request: AgentRequest, _: &dyn AgentPort) {
        *self.0.lock().unwrap() = Some(request);
    }
}

/// Asks what nobody answers, and remembers what came of it.
pub(crate) struct Waits(pub(crate) Arc<Mutex<Option<RunClientError>>>);

#[async_trait]
impl AsyncWork for Waits {
    async fn work(&self, request: AgentRequest, _: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let (bridge, told) = (bridge, Arc::clone(&self.0));
        let waits = tokio::spawn(async move {
            *told.lock().unwrap() = asks(&bridge, &bash("1")).await.err();
        });
        request.cancel.cancelled().await;
        drop(waits);
    }
}
