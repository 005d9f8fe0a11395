//! The port of a call: closed with it, bounded, kept to its deadline.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use async_trait::async_trait;
use samuel_model::payload::AgentInvokeOutput;

use super::{build, scope};
use crate::{
    AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, BreakClass, Call, CallScope,
    ChainSpec, Handler, HookFailure, HookPoint, Registry, RegistryBuilder, Tier, blocking, points,
};

/// Remembers what it hears, and never decides.
#[derive(Default)]
struct Hears(Mutex<Vec<AgentEvent>>);

#[async_trait]
impl AgentPort for Hears {
    fn emit(&self, event: AgentEvent) {
        self.0.lock().unwrap().push(event);
    }

    async fn supervised_by(&self, _: u32, _: u64) {}

    async fn before_ability(&self, _: AbilityCall) -> AbilityDecision {
        std::future::pending().await
    }

    async fn after_ability(&self, _: AbilityResult) -> Vec<String> {
        Vec::new()
    }
}

fn agent(handlers: RegistryBuilder, spec: ChainSpec) -> (Arc<Hears>, Registry, CallScope) {
    let port = Arc::new(Hears::default());
    let listening = Arc::clone(&port) as Arc<dyn AgentPort>;
    (port, build(handlers, HookPoint::AgentInvoke, spec), CallScope { port: Some(listening), ..scope() })
}

fn tool(input: &str) -> AbilityCall {
    AbilityCall { call_id: "1".into(), ability_id: "Bash".into(), input: input.into(), parent_id: None }
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.into() }
}

#[tokio::test]
async fn what_is_told_after_its_call_has_ended_is_nobodys() {
    let (keeps, kept) = mpsc::channel();
    let mut handlers = Registry::builder();
    handlers.api("a", None, move |call: Call<points::AgentInvoke>| {
        call.emit(text("in time"));
        keeps.send(call.port().cloned()).unwrap();
        async { Ok(AgentInvokeOutput::default()) }
    });
    let (port, registry, scope) = agent(handlers, ChainSpec::default());
    registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
    let late = kept.recv().unwrap().unwrap();
    late.emit(text("too late"));
    late.emit_last(text("too late"));
    late.after_ability(AbilityResult::default()).await;
    let ended = AbilityDecision::Block { reason: "the call of the agent has ended".to_owned() };
    assert_eq!(late.before_ability(tool("{}")).await, ended);
    assert_eq!(*port.0.lock().unwrap(), [text("in time")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_of_a_call_holds_while_it_waits_for_a_decision() {
    let (decides, decided) = mpsc::channel();
    let mut handlers = Registry::builder();
    let runtime = tokio::runtime::Handle::current();
    let waits = blocking(move |call: &Call<points::AgentInvoke>| {
        decides.send(runtime.block_on(call.before_ability(tool("{}")))).unwrap();
        Ok(AgentInvokeOutput::default())
    });
    handlers.api("a", None, waits);
    let spec = ChainSpec { timeout: Some(Duration::from_millis(50)), ..ChainSpec::default() };
    let (_, registry, scope) = agent(handlers, spec);
    let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
    assert_eq!(done.outcome.broken[0].failure.class, BreakClass::Timeout);
    // The thread that was left behind is let go.
    let decision = decided.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(decision, AbilityDecision::Block { reason: "the call of the agent has ended".to_owned() });
}

#[tokio::test]
async fn what_a_call_reports_is_bounded_in_number_and_size() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::AgentInvoke>| {
        call.emit(text(&"é".repeat(1 << 20)));
        call.emit(AgentEvent::ToolCall(tool(&format!("\"{}\"", "x".repeat(1 << 20)))));
        (0..20_000).for_each(|_| call.emit(text("again")));
        Ok(AgentInvokeOutput::default())
    });
    let (port, registry, scope) = agent(handlers, ChainSpec::default());
    let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
    let heard = port.0.lock().unwrap();
    assert_eq!(heard.len(), 10_000);
    let AgentEvent::Text { text } = &heard[0] else { panic!("{:?}", heard[0]) };
    assert!(text.len() < 17 << 10, "{}", text.len());
    let AgentEvent::ToolCall(call) = &heard[1] else { panic!("{:?}", heard[1]) };
    assert!(call.input.starts_with("{\"truncated\":") && call.input.len() < 5 << 10, "{}", call.input.len());
    let warnings: Vec<&str> = done.outcome.warnings.iter().map(|warning| &*warning.message).collect();
    assert_eq!(warnings, ["a call tells 10000 reports and 64 MiB at most; the rest of this one is left out"]);
}

#[tokio::test]
async fn the_bytes_of_a_call_are_bounded_together() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::AgentInvoke>| {
        (0..5_000).for_each(|_| call.emit(text(&"x".repeat(16 << 10))));
        Ok(AgentInvokeOutput::default())
    });
    let (port, registry, scope) = agent(handlers, ChainSpec::default());
    registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
    assert_eq!(port.0.lock().unwrap().len(), 4_096);
}

#[tokio::test]
async fn a_tool_call_that_no_gate_could_read_is_not_made() {
    let (decides, decided) = mpsc::channel();
    let mut handlers = Registry::builder();
    handlers.api("a", None, move |call: Call<points::AgentInvoke>| {
        let decides = decides.clone();
        async move {
            for input in ["{", &format!("\"{}\"", "x".repeat(1 << 20))] {
                decides.send(call.before_ability(tool(input)).await).unwrap();
            }
            Ok(AgentInvokeOutput::default())
        }
    });
    let (_, registry, scope) = agent(handlers, ChainSpec::default());
    registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
    for words in ["are no JSON", "arguments of 1048576 at most"] {
        let AbilityDecision::Block { reason } = decided.recv().unwrap() else { panic!("it may be made") };
        assert!(reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn outside_of_a_run_nobody_hears_it_and_every_tool_call_may_be_made() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::AgentInvoke>| {
        call.emit(text("hello"));
        let AbilityDecision::Allow { input } = call.before_ability(tool("{}")).await else {
            panic!("refused")
        };
        Ok(AgentInvokeOutput { stdout: input, ..Default::default() })
    });
    let registry = build(handlers, HookPoint::AgentInvoke, ChainSpec::default());
    let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope()).await;
    assert_eq!(done.output.stdout, "{}");
}

/// A handler that tells what only an adapter knows.
struct Pretends(Tier);

#[async_trait]
impl Handler<points::AgentInvoke> for Pretends {
    async fn call(&self, call: Call<points::AgentInvoke>) -> Result<AgentInvokeOutput, HookFailure> {
        call.emit(AgentEvent::SoftDeadline { remaining_ms: 1 });
        call.emit_last(AgentEvent::Unreadable { line: "x".into() });
        call.emit(text("hello"));
        Ok(AgentInvokeOutput::default())
    }

    fn tier(&self) -> Tier {
        self.0
    }
}

#[tokio::test]
async fn what_adapters_tell_of_their_own_accord_no_plugin_tells() {
    for (tier, events, warnings) in [(Tier::Skill, 1, 1), (Tier::Python, 1, 1), (Tier::Async, 3, 0)] {
        let mut handlers = Registry::builder();
        handlers.api("a", None, Pretends(tier));
        let (port, registry, scope) = agent(handlers, ChainSpec::default());
        let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
        assert_eq!(port.0.lock().unwrap().len(), events, "{tier:?}");
        let told = done.outcome.warnings;
        assert_eq!(told.len(), warnings, "{told:?}");
        assert!(told.iter().all(|told| told.message.contains("soft_deadline")), "{told:?}");
    }
}
