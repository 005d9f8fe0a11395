//! What it takes to ask a run about a tool call of a real agent.

use std::{
    io::Write as _,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    engine::Run,
    hook::{Bridge, Call, HookFailure, points},
    model::payload::{AbilityBeforeOutput, AgentInvokeOutput},
    trust::TrustPolicy,
};
use serde_json::json;

use super::{
    built, fixture,
    gate::Gate,
    measure::{in_turns, spawn},
};

/// How often an agent's hook asks.
const ROUNDS: usize = 51;

/// Measures a hook of an agent that asks its run, which has one closure, beside a start of the program.
pub(super) fn measure() -> Result<Gate> {
    let samuel = built("samuel")?.display().to_string();
    let directory = tempfile::tempdir()?;
    let root = directory.path().join("project");
    fixture::repository(&root, 10)?;
    let (project, _) = fixture::planned(&root, 1)?;
    let agent = Arc::new(Asking { samuel: samuel.clone(), measured: Mutex::default() });
    let run = Run::builder(project)
        .agent(Arc::clone(&agent) as _)
        .trust(TrustPolicy::TrustAll)
        .env(fixture::git_env())
        .socket_dir(directory.path().join("sockets"))
        .bridge([samuel, "hooks".to_owned(), "bridge".to_owned()])
        .hook::<points::AbilityBefore, _>("allows", allows)
        .settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async { Ok::<_, anyhow::Error>(run.build()?.start().await?.wait().await?) })?;
    let measured = agent.measured.lock().unwrap_or_else(PoisonError::into_inner).take();
    let [took, probe_took] = measured.context("the agent was not called")??;
    Ok(Gate {
        name: "an agent's hook that asks its run",
        took,
        probe: "samuel --version".to_owned(),
        probe_took,
        limit: 2.0,
        notes: Vec::new(),
    })
}

async fn allows(_: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
    Ok(AbilityBeforeOutput::default())
}

/// An agent whose own hooks ask about one call after the other, and that does nothing else.
#[derive(Debug)]
struct Asking {
    samuel: String,
    measured: Mutex<Option<Result<[Duration; 2]>>>,
}

#[async_trait]
impl Agent for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn hooks_notice(&self) -> Option<String> {
        Some("its hooks ask".to_owned())
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let samuel = self.samuel.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let bridge = request.bridge.as_ref().context("the call has no bridge")?;
            let root = request.project_root.display().to_string();
            let (mut asks, mut starts) =
                (|| ask(bridge, &root), || spawn(Command::new(&samuel).arg("--version")));
            in_turns(ROUNDS, [&mut asks, &mut starts])
        });
        let measured = asked.await.unwrap_or_else(|error| Err(error.into()));
        *self.measured.lock().unwrap_or_else(PoisonError::into_inner) = Some(measured);
        Ok(AgentInvokeOutput::default())
    }
}

/// Does what Claude Code does before a tool call.
fn ask(bridge: &Bridge, root: &str) -> Result<()> {
    let [program, words @ ..] = &*bridge.command else { anyhow::bail!("the bridge has no command") };
    let mut hook = Command::new(program);
    hook.args(words).args(["claude", "PreToolUse"]).env_clear().envs(fixture::git_env());
    hook.envs(bridge.env.iter().map(|(name, value)| (name, value)));
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let payload = json!({
        "session_id": "bench", "cwd": root, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "true"}, "tool_use_id": "t",
    });
    hook.stdin.take().context("no stdin")?.write_all(payload.to_string().as_bytes())?;
    let output = hook.wait_with_output()?;
    ensure!(output.status.success() && output.stdout.is_empty(), "the hook answered {output:?}");
    Ok(())
}
