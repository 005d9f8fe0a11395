//! What a run tells: in its events, in its report and in the progress log.

use std::{sync::Arc, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    engine::Run,
    event::{CheckResult, Event, EventRecord},
    hook::{HookPoint, points},
    model::{ExitReason, TaskId, payload::*},
    process::Supervisor,
    testing::{Bench, FakeHandler, HeldAgent, Played, VirtualClock, completes_each_task},
    trust::TrustPolicy,
};

fn warnings(played: &Played) -> Vec<&str> {
    let told = played.events.iter().filter_map(|record| match &record.event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    told.collect()
}

/// A handler that has something to say to the agent after each iteration.
fn says(text: &str) -> FakeHandler<points::AfterIteration> {
    let text = vec![TextItem { content: text.to_owned(), deliver: Deliver::Next }];
    FakeHandler::answers(AfterIterationOutput { text, ..Default::default() })
}

fn elapsed(events: &[EventRecord], wanted: impl Fn(&Event) -> bool) -> u64 {
    events.iter().find(|record| wanted(&record.event)).unwrap().elapsed_ms
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_changes_no_duration() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().task("1", "First").clock(clock.clone()).build().unwrap();
    let agent = Arc::new(HeldAgent::new());
    let builder = bench.run(completes_each_task()).agent(agent.clone()).settings(|settings| {
        settings.max_iterations = std::num::NonZero::new(1);
    });
    let set_back = async {
        agent.called().await;
        clock.advance(Duration::from_secs(5));
        clock.set_back(Duration::from_secs(3 * 24 * 60 * 60));
        agent.release();
    };
    let (played, ()) = tokio::join!(bench.play(builder), set_back);
    let events = played.unwrap().events;
    let at = |wanted: fn(&Event) -> bool| elapsed(&events, wanted);
    let began = at(|event| matches!(event, Event::IterationStarted { .. }));
    let ended = at(|event| matches!(event, Event::IterationFinished { .. }));
    assert_eq!(ended - began, 5_000);
    let took = events.iter().find_map(|record| match record.event {
        Event::AgentFinished { duration_ms, .. } => Some(duration_ms),
        _ => None,
    });
    assert_eq!(took, Some(5_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_usage_limit_takes_no_longer_where_the_clock_is_set_back() {
    let clock = VirtualClock::new();
    let ten_minutes = Duration::from_secs(600);
    let bench = Bench::builder().task("1", "First").clock(clock.clone()).build().unwrap();
    let until = "2026-01-01T00:10:00Z".parse().unwrap();
    let limit = Step::RateLimit { message: "too much".into(), resets_at: Some(until) };
    let script = Script::default().call(ScriptedCall::any().step(limit)).call(ScriptedCall::any().done());
    let pass = async {
        // Handlers have five minutes; the wait looks at the time once a minute.
        while clock.next_wake().is_none_or(|left| left > Duration::from_secs(60)) {
            tokio::task::yield_now().await;
        }
        clock.set_back(Duration::from_secs(24 * 60 * 60));
        clock.pass(ten_minutes).await;
    };
    let (played, ()) = tokio::join!(bench.play(bench.run(script)), pass);
    let played = played.unwrap();
    assert_eq!((played.report.exit_reason, played.report.failed_iterations), (ExitReason::Completed, 0));
    let waits = played.events.iter().filter_map(|record| match &record.event {
        Event::Waiting { wait_ms, until, .. } => Some((*wait_ms, *until)),
        _ => None,
    });
    let waits: Vec<_> = waits.collect();
    assert_eq!(waits, [(600_000, Some(until))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_last_turn_completes_is_taken_back_before_anybody_hears_of_the_end() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let done = |task: &str| Step::Done { task: task.to_owned(), commit_sha: None };
    let script = Script::default()
        .call(ScriptedCall::any().in_turn(Turn::Main).step(done("1")))
        .call(ScriptedCall::any().in_turn(Turn::Final).step(done("2")));
    let builder = bench.run(script).settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let played = bench.play(builder.hook("says", says("look again"))).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::MaxIterations);
    assert_eq!(played.report.completed, [TaskId::new("1")]);
    let progress = bench.progress().unwrap();
    assert!(progress.contains("1 of 2 tasks completed, 1 pending"), "{progress}");
    assert_eq!((played.report.undelivered, played.report.settled), (0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_does_not_reach_the_agent_is_reported() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let script = Script::default()
        .call(ScriptedCall::any().in_turn(Turn::Main).done())
        .call(ScriptedCall::any().in_turn(Turn::Final).step(Step::Exit { code: 3 }));
    let builder = bench.run(script).settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let played = bench.play(builder.hook("says", says("mind the gap"))).await.unwrap();
    assert_eq!(played.report.undelivered, 1);
    let told = "the last turn did not end well, which was to give the agent a text from api:says at \
                after:iteration: mind the gap";
    assert_eq!(warnings(&played).iter().filter(|warning| **warning == told).count(), 1);
    assert!(bench.progress().unwrap().contains(told));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_advisory_check_refuses_is_logged_with_its_reason() {
    let config = "version = \"2\"\n[hooks.\"quality.check\"]\nstrict = false\n";
    let bench = Bench::builder().task("1", "First").config(config).build().unwrap();
    let refuses = FakeHandler::<points::QualityCheck>::refuses("no tests for it");
    let played = bench.play(bench.run(completes_each_task()).hook("reviewer", refuses)).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let told = played.events.iter().find_map(|record| match &record.event {
        Event::QualityChecked { ok, result, reason, .. } => Some((*ok, *result, reason.clone())),
        _ => None,
    });
    assert_eq!(told, Some((true, CheckResult::Advisory, Some("api:reviewer: no tests for it".to_owned()))));
    let progress = bench.progress().unwrap();
    assert!(progress.contains("QUALITY: failed (advisory): api:reviewer: no tests for it\n"), "{progress}");
    assert!(!progress.contains("QUALITY: passed"), "{progress}");
}

#[tokio::test(flavor = "multi_thread")]
async fn toon_that_is_none_is_a_warning_and_what_stood_before_it_stands() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let broken = ContextTaskOutput { toon_blob: "tasks[3]: a,b".to_owned(), ..Default::default() };
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let builder =
        bench.run(completes_each_task()).hook("broken", FakeHandler::<points::ContextTask>::answers(broken));
    let played = bench.play(builder.hook_at("spy", 500, spy.clone())).await.unwrap();
    let outcome = played.outcomes(HookPoint::ContextTask)[0];
    assert!(outcome.warnings.iter().any(|warning| warning.message.contains("no TOON")), "{outcome:?}");
    let prompt = spy.calls()[0].input().prompt.clone();
    assert!(prompt.contains("mode: implementation") && !prompt.contains("tasks[3]: a,b"), "{prompt}");
    assert!(bench.progress().unwrap().contains("[hooks.warning] context.task api:broken bad_output"));

    // One with the version line of a file is one.
    let good = ContextTaskOutput { toon_blob: "# toon v3\nmode: mine\n".to_owned(), ..Default::default() };
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let builder =
        bench.run(completes_each_task()).hook("good", FakeHandler::<points::ContextTask>::answers(good));
    let played = bench.play(builder).await.unwrap();
    assert!(played.outcomes(HookPoint::ContextTask)[0].warnings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_a_handler_blocked_is_told_and_logged() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let block = AbilityBeforeOutput { block: true, reason: Some("not there".into()), ..Default::default() };
    let script = Script::default().call(ScriptedCall::any().write("a.txt", "a"));
    let builder = bench.run(script).settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let blocks = FakeHandler::<points::AbilityBefore>::answers(block);
    let played = bench.play(builder.hook("guard", blocks)).await.unwrap();
    let told = played.events.iter().find_map(|record| match &record.event {
        Event::AbilityBlocked { ability_id, reason, prevented, .. } => {
            Some((ability_id.as_str(), reason.as_str(), *prevented))
        }
        _ => None,
    });
    assert_eq!(told, Some(("Write", "not there", true)));
    assert!(bench.progress().unwrap().contains("[task:1] FOUND: Write was blocked: not there\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_an_agent_removes_is_told_of_once_also_where_every_task_is_completed() {
    let bench = Bench::builder()
        .task("1", "First")
        .task("2", "Second")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/objects/.keep", "")
        .file(".git/refs/.keep", "")
        .build()
        .unwrap();
    let removes = ScriptedCall::any().run("rm -rf .git").done();
    let script = Script::default().call(removes).call(ScriptedCall::any().done());
    let played = bench.play(bench.run(script)).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let told = warnings(&played);
    let of_loss = |told: &&&str| told.contains("the repository that the run began in is gone or damaged (");
    assert_eq!(told.iter().filter(of_loss).count(), 1, "{told:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_supervisor_works_and_says_what_it_does_not_end() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let run =
        || Run::builder(bench.project().clone()).script(completes_each_task()).trust(TrustPolicy::TrustAll);
    let is_told =
        |played: &Played| warnings(played).iter().any(|told| told.starts_with("no supervisor is named"));
    let played = bench.play(run()).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    assert!(is_told(&played), "{:?}", warnings(&played));
    // Who names the weakest way knows it.
    let played = bench.play(run().supervisor(Supervisor::GroupOnly)).await.unwrap();
    assert!(!is_told(&played), "{:?}", warnings(&played));
}
