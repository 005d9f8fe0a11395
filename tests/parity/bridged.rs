//! A call that an agent's own hook asks about, by the run socket: a handler of each tier decides it.

use std::{
    num::NonZero,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Bridge, Script},
    clock::SystemClock,
    engine::socket::{AbilityBefore, RunClient, Verdict},
    hook::HookPoint,
    model::payload::{AgentInvokeOutput, Turn},
    testing::Bench,
};
use serde_json::json;

use crate::{
    dispatch::same,
    row::HandlerRow,
    tier::{Stage, Tier},
};

/// How long a hook waits, generously.
const LIMIT: Duration = Duration::from_secs(60);
/// What is asked about, and what a handler makes of it.
const ASKED: &str = r#"{"command":"ls"}"#;
const CHANGED: &str = r#"{"command":"ls -l"}"#;

/// Has handlers of a tier block a call, and change another where they can.
pub(crate) fn check(tier: &dyn Tier) -> Result<(), String> {
    let blocks = json!({"block": true, "reason": "not on a Friday"});
    let blocked = Verdict::Block { reason: "not on a Friday".to_owned() };
    let changed = Verdict::Allow { input: CHANGED.to_owned(), changed: true };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    for (answer, expected) in [(blocks, blocked), (json!({"updated_input": {"command": "ls -l"}}), changed)] {
        let mut id = "api:gate".to_owned();
        tier.words().iter().for_each(|(word, own)| id = id.replace(word, own));
        let row = serde_json::from_value(json!({"id": id, "answer": answer})).unwrap();
        if !tier.can(HookPoint::AbilityBefore, &row) {
            continue;
        }
        same("verdict", &runtime.block_on(asked(&row, tier)), &Some(expected))?;
    }
    Ok(())
}

async fn asked(row: &HandlerRow, tier: &dyn Tier) -> Option<Verdict> {
    let sockets = tempfile::tempdir().unwrap();
    let bench = Bench::builder().task("1", "First").clock(SystemClock::new()).on_disk().build().unwrap();
    let agent = Arc::new(Asks(Mutex::default()));
    let stage = Stage::in_project(bench.path());
    let run = bench.run(Script::default()).agent(Arc::clone(&agent) as Arc<dyn Agent>);
    let run = run
        .socket_dir(sockets.path())
        .bridge(["/usr/bin/samuel".to_owned()])
        .settings(|settings| {
            settings.agent = "asks".to_owned();
            settings.max_iterations = NonZero::new(1);
        })
        .register(|registry| tier.register(HookPoint::AbilityBefore, row, &stage, registry));
    bench.play(run).await.unwrap();
    stage.curtain.fall();
    agent.0.lock().unwrap().take()
}

/// An agent whose hook asks about one call.
#[derive(Debug)]
struct Asks(Mutex<Option<Verdict>>);

#[async_trait]
impl Agent for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    fn hooks_notice(&self) -> Option<String> {
        Some("its hook asks".to_owned())
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        if let (Turn::Main, Some(bridge)) = (request.turn, request.bridge) {
            let verdict = tokio::task::spawn_blocking(move || ask(&bridge)).await.unwrap();
            *self.0.lock().unwrap() = Some(verdict);
        }
        Ok(AgentInvokeOutput::default())
    }
}

/// Asks as the process of a hook does.
fn ask(bridge: &Bridge) -> Verdict {
    let variable = |name: &str| bridge.env.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let socket = PathBuf::from(variable("SAMUEL_SOCKET"));
    let mut run = RunClient::connect(&socket, &variable("SAMUEL_TOKEN"), LIMIT).unwrap();
    let call = AbilityBefore {
        ability_id: "Bash".to_owned(),
        call_id: "toolu_1".to_owned(),
        input: ASKED.to_owned(),
        ..AbilityBefore::default()
    };
    run.ability_before(call).unwrap()
}
