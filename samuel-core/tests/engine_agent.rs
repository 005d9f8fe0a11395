//! What whoever answers at `agent.invoke` tells and asks, and which agent is called.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use async_trait::async_trait;
use samuel_core::{
    agent::{AbilityCall, AbilityDecision, Agent, AgentError, AgentEvent, AgentPort, AgentRequest, Script},
    event::Event,
    hook::{Call, HookPoint, points},
    model::payload::{AbilityBeforeOutput, AgentInvokeOutput, BeforeAgentInvokeOutput},
    testing::{Bench, FakeHandler, Played},
};

fn failures(played: &Played) -> Vec<String> {
    let failure = |event: &Event| match event {
        Event::IterationFinished { failure, .. } => failure.as_ref().map(|failure| failure.message.clone()),
        _ => None,
    };
    played.events.iter().filter_map(|record| failure(&record.event)).collect()
}

#[tokio::test]
async fn a_handler_in_the_agents_place_tells_of_its_work_and_has_its_tool_calls_gated() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let agent = async |call: Call<points::AgentInvoke>| {
        call.emit(AgentEvent::Text { text: "I begin".to_owned() });
        let (call_id, ability_id, input) = ("1".to_owned(), "Bash".to_owned(), "{}".to_owned());
        let decision = call.before_ability(AbilityCall { call_id, ability_id, input }).await;
        let AbilityDecision::Block { reason } = decision else { return Ok(AgentInvokeOutput::default()) };
        call.warn("no shell for me");
        Ok(AgentInvokeOutput { exit_code: 3, stdout: reason, ..AgentInvokeOutput::default() })
    };
    let gate = FakeHandler::<points::AbilityBefore>::answers(AbilityBeforeOutput {
        block: true,
        reason: Some("not today".to_owned()),
        ..Default::default()
    });
    let run = bench.run(Script::default()).hook("agent", agent).hook("gate", gate.clone());
    let played = bench
        .play(run.settings(|settings| settings.max_iterations = std::num::NonZero::new(1)))
        .await
        .unwrap();

    assert_eq!(failures(&played), ["scripted ended with exit code 3: not today"]);
    let input = gate.last_input().unwrap();
    assert!(input.enforced && input.caller == "scripted" && input.ability_id == "Bash", "{input:?}");
    let said = |record: &samuel_core::event::EventRecord| matches!(&record.event, Event::Agent { report: AgentEvent::Text { text }, .. } if text == "I begin");
    assert!(played.events.iter().any(said));
    let warnings = &played.outcomes(HookPoint::AgentInvoke)[0].warnings;
    assert_eq!((&*warnings[0].handler, &*warnings[0].message), ("api:agent", "no shell for me"));
}

#[tokio::test]
async fn the_agent_that_a_handler_names_is_called_and_gets_its_own_variables_alone() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let programs = bench.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let claude = programs.join("claude");
    fs::write(&claude, "#!/bin/sh\nset > called\n").unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let named = BeforeAgentInvokeOutput { agent: Some("claude".to_owned()), ..Default::default() };
    let env = [("PATH", programs.to_str().unwrap()), ("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o")];
    let run = bench
        .run(Script::default())
        .env(env.map(|(name, value)| (name.to_owned(), value.to_owned())))
        .hook("choice", FakeHandler::<points::BeforeAgentInvoke>::answers(named))
        .settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let played = bench.play(run).await.unwrap();
    let called = fs::read_to_string(bench.path().join("called"));
    let called = called.unwrap_or_else(|_| format!("{:?}", failures(&played)));
    assert!(called.contains("ANTHROPIC_API_KEY='a'") && !called.contains("OPENAI_API_KEY"), "{called}");
}

#[tokio::test]
async fn an_agent_or_sandbox_that_there_is_not_fails_the_iteration_and_nothing_runs() {
    let agent = BeforeAgentInvokeOutput { agent: Some("cluade".to_owned()), ..Default::default() };
    let sandbox = BeforeAgentInvokeOutput { sandbox: Some("oci".to_owned()), ..Default::default() };
    for (answer, expected) in [
        (agent, "unknown agent \"cluade\"; those that can be called are claude, codex"),
        (sandbox, "sandbox \"oci\" is not available yet; agents can run in host"),
    ] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let handler = FakeHandler::<points::BeforeAgentInvoke>::answers(answer);
        let run = bench.run(samuel_core::testing::completes_each_task()).hook("choice", handler);
        let played = bench
            .play(run.settings(|settings| settings.max_iterations = std::num::NonZero::new(1)))
            .await
            .unwrap();
        let failures = failures(&played);
        assert!(failures[0].starts_with(expected), "{failures:?}");
        assert!(!bench.path().join("made.txt").exists());
    }
}

#[derive(Debug)]
struct Panics;

#[async_trait]
impl Agent for Panics {
    fn name(&self) -> &str {
        "mine"
    }

    async fn invoke(&self, _: AgentRequest, _: &dyn AgentPort) -> Result<AgentInvokeOutput, AgentError> {
        None::<AgentInvokeOutput>.ok_or_else(|| unreachable!("no answer at hand"))
    }
}

#[tokio::test]
async fn an_agent_that_panics_is_named() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let run = bench.run(Script::default()).agent(Arc::new(Panics));
    let run = run.settings(|settings| {
        settings.agent = "mine".to_owned();
        settings.max_iterations = std::num::NonZero::new(1);
    });
    let played = bench.play(run).await.unwrap();
    let broken = &played.outcomes(HookPoint::AgentInvoke)[0].broken;
    assert!(broken[0].to_string().contains("panicked: agent \"mine\": "), "{broken:?}");
    assert!(broken[0].to_string().contains("no answer at hand"), "{broken:?}");
}
