//! How handlers are run: order, deadlines, panics, cancellation, what they share.

use std::time::Duration;

use samuel_model::payload::*;

use super::{build, scope};
use crate::{
    Answer, BreakClass, Call, ChainSpec, Handler, HookFailure, HookPoint, OnFailure, Outcome, Registry,
    blocking, points,
};

fn failing(message: &str) -> QualityCheckOutput {
    let failure = CheckFailure { message: message.into(), ..Default::default() };
    QualityCheckOutput { ok: false, failures: vec![failure], ..Default::default() }
}

#[tokio::test]
async fn every_check_runs_and_all_failures_are_kept() {
    let mut handlers = Registry::builder();
    for name in ["a", "b"] {
        handlers.api(name, None, async move |_: Call<points::QualityCheck>| Ok(failing(name)));
    }
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("a; b"));
    assert!(done.outcome.abort.is_none());
}

#[tokio::test]
async fn a_check_that_is_not_strict_is_advice() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |_: Call<points::QualityCheck>| Ok(failing("a")));
    let spec = ChainSpec { strict: Some(false), ..Default::default() };
    let registry = build(handlers, HookPoint::QualityCheck, spec);
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.refused, None);
    assert!(!done.output.ok);
}

#[tokio::test]
async fn a_broken_handler_is_no_verdict_and_aborts_where_the_point_is_strict() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |_: Call<points::QualityCheck>| {
        Err(HookFailure::new(BreakClass::Failed, "no"))
    });
    handlers.api("b", None, async |_: Call<points::QualityCheck>| Ok(failing("never")));
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    let abort = done.outcome.abort.map(|abort| (abort.handler, abort.action));
    assert_eq!(abort, Some(("api:a".into(), OnFailure::AbortIteration)));
    assert_eq!(done.outcome.refused, None);
}

#[tokio::test]
async fn a_panic_is_caught_and_later_handlers_run() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::AfterLoop>| {
        assert!(call.input().iterations_run > 0, "no iterations");
        Ok(AfterLoopOutput::default())
    });
    handlers.api(
        "b",
        None,
        blocking(|_: &Call<points::AfterLoop>| {
            Ok(AfterLoopOutput { ok: false, reason: Some("b".into()), ..Default::default() })
        }),
    );
    let registry = build(handlers, HookPoint::AfterLoop, ChainSpec::default());
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    let broken: Vec<_> =
        done.outcome.broken.iter().map(|b| (b.failure.class, b.failure.message.as_str())).collect();
    assert_eq!(broken, [(BreakClass::Panicked, "no iterations")]);
    assert!(!done.output.ok && done.outcome.refused.is_none(), "an observer warns and never refuses");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_answers_is_left_behind_at_its_deadline() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |_: Call<points::AfterLoop>| std::future::pending().await);
    let spec = ChainSpec { timeout: Some(Duration::from_secs(1)), ..Default::default() };
    let registry = build(handlers, HookPoint::AfterLoop, spec);
    let started = tokio::time::Instant::now();
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    assert_eq!(
        done.outcome.broken.first().map(|b| b.failure.to_string()).as_deref(),
        Some("timeout: no answer within 1s")
    );
    assert_eq!(started.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn a_blocking_handler_that_overruns_is_abandoned_and_reported() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let mut handlers = Registry::builder();
    handlers.api(
        "a",
        None,
        blocking(move |_: &Call<points::AfterLoop>| {
            let _ = wait.lock().map(|wait| wait.recv());
            Ok(AfterLoopOutput::default())
        }),
    );
    let spec = ChainSpec { timeout: Some(Duration::from_millis(20)), ..Default::default() };
    let registry = build(handlers, HookPoint::AfterLoop, spec);
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.broken.first().map(|b| b.abandoned), Some(true));
    drop(release);
}

#[tokio::test]
async fn blobs_are_folded_and_contributions_reach_later_handlers() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::ContextTask>| {
        call.contribute("Venv", ".venv")?;
        Ok(Answer::from_blob("D"))
    });
    handlers.api("b", None, async |call: Call<points::ContextTask>| {
        let venv = call.context().plugins().get("api").and_then(|api| api.get("Venv")).cloned();
        let before = call.previous().map(|p| p.toon_blob.clone()).unwrap_or_default();
        Ok(Answer::from_blob(format!("{before}P{}", venv.unwrap_or_default())))
    });
    let registry = build(handlers, HookPoint::ContextTask, ChainSpec::default());
    let done = registry.dispatch::<points::ContextTask>(Default::default(), &scope()).await;
    assert_eq!(done.output.toon_blob, "DP\".venv\"");
    assert!(done.context.plugins().contains_key("api"));
}

#[tokio::test]
async fn what_a_broken_handler_contributed_does_not_count() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::AfterLoop>| {
        call.contribute("x", 1)?;
        Err(HookFailure::new(BreakClass::Failed, "no"))
    });
    let registry = build(handlers, HookPoint::AfterLoop, ChainSpec::default());
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    assert!(done.context.plugins().is_empty());
}

#[tokio::test]
async fn a_transform_changes_what_the_next_handler_is_given() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |_: Call<points::BeforeAgentInvoke>| {
        Ok(BeforeAgentInvokeOutput { prompt: Some("longer".into()), ..Default::default() })
    });
    handlers.api("b", None, async |call: Call<points::BeforeAgentInvoke>| {
        let prompt = format!("{}!", call.input().prompt);
        Ok(BeforeAgentInvokeOutput { prompt: Some(prompt), ..Default::default() })
    });
    let registry = build(handlers, HookPoint::BeforeAgentInvoke, ChainSpec::default());
    let done = registry.dispatch::<points::BeforeAgentInvoke>(Default::default(), &scope()).await;
    assert_eq!(done.output.prompt.as_deref(), Some("longer!"));
}

#[tokio::test]
async fn gates_of_tool_calls_see_the_arguments_that_are_really_used() {
    let mut handlers = Registry::builder();
    handlers.api("gate", None, async |call: Call<points::AbilityBefore>| {
        Ok(match call.input().input.contains("rm") {
            true => AbilityBeforeOutput::refuse("no rm"),
            false => AbilityBeforeOutput::pass(),
        })
    });
    handlers.api("rewrite", None, async |_: Call<points::AbilityBefore>| {
        Ok(AbilityBeforeOutput {
            updated_input: Some(r#"{"command":"rm -r x"}"#.into()),
            ..Default::default()
        })
    });
    let registry = build(handlers, HookPoint::AbilityBefore, ChainSpec::default());
    let input = AbilityBeforeInput { input: r#"{"command":"ls"}"#.into(), ..Default::default() };
    let done = registry.dispatch::<points::AbilityBefore>(input, &scope()).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("no rm"));
    assert_eq!(done.output.updated_input.as_deref(), Some(r#"{"command":"rm -r x"}"#));
}

#[tokio::test]
async fn a_cancelled_handler_ends_the_chain_without_an_abort() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |call: Call<points::QualityCheck>| {
        call.cancelled().cancelled().await;
        std::future::pending().await
    });
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let scope = scope();
    scope.cancel.cancel();
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope).await;
    assert_eq!(done.outcome.broken.first().map(|b| b.failure.class), Some(BreakClass::Cancelled));
    assert!(done.outcome.abort.is_none());
}

#[tokio::test]
async fn a_point_without_handlers_lets_things_go_on() {
    let registry = build(Registry::builder(), HookPoint::BeforeLoop, ChainSpec::default());
    let done = registry.dispatch::<points::BeforeLoop>(Default::default(), &scope()).await;
    assert_eq!(done.output, BeforeLoopOutput::pass());
    assert_eq!(done.outcome, Outcome::default());
}

#[tokio::test]
async fn a_gate_is_asked_again_also_where_a_handler_before_it_broke() {
    let mut handlers = Registry::builder();
    handlers.api("broken", None, async |_: Call<points::AbilityBefore>| {
        Err(HookFailure::new(BreakClass::Failed, "no"))
    });
    handlers.api("gate", None, async |call: Call<points::AbilityBefore>| {
        Ok(match call.input().input.contains("rm") {
            true => AbilityBeforeOutput::refuse("no rm"),
            false => AbilityBeforeOutput::pass(),
        })
    });
    handlers.api("rewrite", None, async |_: Call<points::AbilityBefore>| {
        Ok(AbilityBeforeOutput { updated_input: Some(r#"{"command":"rm"}"#.into()), ..Default::default() })
    });
    let registry = build(handlers, HookPoint::AbilityBefore, ChainSpec::default());
    let done = registry.dispatch::<points::AbilityBefore>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.refused.as_deref(), Some("no rm"));
}

#[tokio::test]
async fn of_a_gate_that_is_asked_again_only_the_verdict_counts_twice() {
    let mut handlers = Registry::builder();
    handlers.api("gate", None, async |_: Call<points::AbilityBefore>| {
        let results = HookResults { logs: vec!["seen".into()], ..Default::default() };
        Ok(AbilityBeforeOutput { updated_input: Some("1".into()), ..Default::default() }
            .with_results(results))
    });
    handlers.api("rewrite", None, async |_: Call<points::AbilityBefore>| {
        Ok(AbilityBeforeOutput { updated_input: Some("2".into()), ..Default::default() })
    });
    let registry = build(handlers, HookPoint::AbilityBefore, ChainSpec::default());
    let done = registry.dispatch::<points::AbilityBefore>(Default::default(), &scope()).await;
    assert_eq!(done.output.results.logs, ["seen"]);
    assert_eq!(done.output.updated_input.as_deref(), Some("2"), "the later handler's change stands");
    let asked: Vec<&str> = done.outcome.timings.iter().map(|timing| &*timing.handler).collect();
    assert_eq!(asked, ["api:gate", "api:rewrite", "api:gate"]);
}

#[tokio::test]
async fn a_handler_that_calls_itself_cancelled_breaks_like_any_other() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, async |_: Call<points::QualityCheck>| {
        Err(HookFailure::new(BreakClass::Cancelled, "I would rather not"))
    });
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.abort.map(|abort| abort.action), Some(OnFailure::AbortIteration));
}

/// Panics before it gives its future.
struct Hasty;

impl Handler<points::AfterLoop> for Hasty {
    fn call<'life, 'call>(
        &'life self,
        _: Call<points::AfterLoop>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<AfterLoopOutput, HookFailure>> + Send + 'call>>
    where
        'life: 'call,
    {
        panic!("too early")
    }
}

#[tokio::test]
async fn a_handler_that_panics_before_its_future_is_caught_too() {
    let mut handlers = Registry::builder();
    handlers.api("a", None, Hasty);
    let registry = build(handlers, HookPoint::AfterLoop, ChainSpec::default());
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.broken[0].failure.to_string(), "panicked: too early");
}

/// A check that takes ten minutes, and says what deadline it was given.
async fn slow_check(call: Call<points::QualityCheck>) -> Result<QualityCheckOutput, HookFailure> {
    let deadline = call.header().deadline_ms;
    tokio::time::sleep(ChainSpec::TIMEOUT * 2).await;
    Ok(QualityCheckOutput { reason: Some(deadline.to_string()), ..Default::default() })
}

#[tokio::test(start_paused = true)]
async fn a_default_that_is_exempt_has_no_deadline_and_other_handlers_have() {
    let mut handlers = Registry::builder();
    handlers.default_handler(slow_check);
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    assert_eq!(done.output.reason.as_deref(), Some("0"));

    let mut handlers = Registry::builder();
    handlers.api("a", None, slow_check);
    let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.broken[0].failure.to_string(), "timeout: no answer within 5m");
}

#[tokio::test(start_paused = true)]
async fn a_configured_timeout_binds_every_handler_but_the_default_that_is_exempt() {
    let minute = || ChainSpec { timeout: Some(Duration::from_secs(60)), ..Default::default() };
    let lenient = ChainSpec { on_failure: Some(OnFailure::Warn), ..minute() };
    let mut handlers = Registry::builder();
    handlers.default_handler(slow_check);
    handlers.api("a", None, slow_check);
    let registry = build(handlers, HookPoint::QualityCheck, lenient);
    let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
    let ends: Vec<(&str, &str)> =
        done.outcome.timings.iter().map(|timing| (&*timing.handler, timing.ended())).collect();
    assert_eq!(ends, [("default", "ok"), ("api:a", "timeout")]);

    let mut handlers = Registry::builder();
    handlers.default_handler(async |_: Call<points::AgentInvoke>| {
        tokio::time::sleep(ChainSpec::TIMEOUT * 2).await;
        Ok(AgentInvokeOutput::default())
    });
    let registry = build(handlers, HookPoint::AgentInvoke, minute());
    let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope()).await;
    assert!(done.outcome.broken.is_empty(), "the agent's own clocks rule it");

    let mut handlers = Registry::builder();
    handlers.default_handler(async |_: Call<points::ContextTask>| {
        tokio::time::sleep(ChainSpec::TIMEOUT * 2).await;
        Ok(ContextTaskOutput::default())
    });
    let registry = build(handlers, HookPoint::ContextTask, minute());
    let done = registry.dispatch::<points::ContextTask>(Default::default(), &scope()).await;
    assert_eq!(done.outcome.broken[0].failure.class, BreakClass::Timeout, "the other defaults are bound");
}

#[tokio::test]
async fn a_handler_sees_the_end_of_its_time_and_what_it_adds_then_is_lost() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut handlers = Registry::builder();
    handlers.api(
        "a",
        None,
        blocking(move |call: &Call<points::AfterLoop>| {
            while !call.cancelled().is_cancelled() {
                std::thread::yield_now();
            }
            call.contribute("late", true)?;
            let _ = tell.send(());
            Ok(AfterLoopOutput::default())
        }),
    );
    let spec = ChainSpec { timeout: Some(Duration::from_millis(10)), ..Default::default() };
    let registry = build(handlers, HookPoint::AfterLoop, spec);
    let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
    told.recv().await.expect("the thread saw that its time was over");
    assert_eq!(done.outcome.broken[0].failure.class, BreakClass::Timeout);
    assert!(done.context.plugins().is_empty());
}

#[tokio::test]
async fn each_handler_writes_only_its_own_namespace() {
    let mut handlers = Registry::builder();
    let plugin = crate::PluginSource { name: "samuel-python", namespace: "python", place: 0 };
    handlers.plugin(&plugin, "env", None, async |call: Call<points::ContextExtra>| {
        call.contribute("api", "mine")?;
        Ok(ContextExtraOutput::default())
    });
    handlers.api("a", None, async |call: Call<points::ContextExtra>| {
        call.contribute("python", "mine")?;
        Ok(ContextExtraOutput::default())
    });
    let registry = build(handlers, HookPoint::ContextExtra, ChainSpec::default());
    let done = registry.dispatch::<points::ContextExtra>(Default::default(), &scope()).await;
    let written = serde_json::to_value(done.context.plugins()).unwrap();
    assert_eq!(written, serde_json::json!({"api": {"python": "mine"}, "python": {"api": "mine"}}));
}
