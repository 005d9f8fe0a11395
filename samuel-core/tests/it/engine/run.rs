//! Runs of the engine with the scripted agent, from the outside.

use std::fs;

use samuel_core::{
    agent::{self, AgentConfig, Script, ScriptedCall, Step},
    config::{CheckCommand, MethodologySettings},
    engine::Glance,
    event::Event,
    hook::{Call, HookPoint, points},
    model::{Coded, ExitReason, Status, TaskId, payload::*},
    process::Supervisor,
    state::{Actor, Mutation},
    testing::{Bench, FakeHandler, completes_each_task},
    trust::TrustPolicy,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_two_tasks_is_done_in_two_iterations() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::Completed, 2));
    assert_eq!([bench.status("1"), bench.status("2")], [Some(Status::Completed); 2]);
    assert_eq!(fs::read_to_string(bench.path().join("made.txt")).unwrap(), "2");
    let iteration = "before:iteration iteration.gate prompt.submit context.snapshot context.progress \
                     context.task context.extra before:agent.invoke";
    let points: Vec<&str> = played.points().into_iter().map(HookPoint::as_str).collect();
    assert_eq!(points[..2], ["session.start", "before:loop"]);
    assert_eq!(points[2..10].join(" "), iteration);
    assert_eq!(points[points.len() - 3..], ["session.stop", "after:loop", "session.end"]);
    assert_eq!(played.count(HookPoint::TaskCompleted), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_check_takes_back_what_the_agent_certified_and_reaches_the_next_prompt() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let builder = bench.run(completes_each_task()).settings(|settings| {
        settings.quality_checks = vec![CheckCommand::new(
            "test -f second-time || { touch second-time; printf 'missing %s' part; false; }",
        )];
    });
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let played = bench.play(builder.hook_at("spy", 500, spy.clone())).await.unwrap();
    let report = &played.report;
    assert_eq!(
        (report.exit_reason, report.iterations, report.failed_iterations),
        (ExitReason::Completed, 2, 1)
    );
    let taken_back = played.events.iter().any(
        |record| matches!(&record.event, Event::TasksTakenBack { tasks, .. } if tasks == &[TaskId::new("1")]),
    );
    assert!(taken_back);
    let prompts: Vec<String> = spy.calls().iter().map(|call| call.input().prompt.clone()).collect();
    assert!(!prompts[0].contains("missing part"), "{}", prompts[0]);
    assert!(prompts[1].contains("missing part"), "{}", prompts[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_claims_no_check_where_there_is_none() {
    for (checks, extra, claimed) in [(0, false, false), (1, false, true), (0, true, true)] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let mut builder = bench.run(completes_each_task()).settings(|settings| {
            settings.quality_checks = vec![CheckCommand::new("true"); checks];
        });
        if extra {
            builder = builder.hook("extra", FakeHandler::<points::QualityCheck>::passes());
        }
        assert_eq!(bench.play(builder).await.unwrap().report.exit_reason, ExitReason::Completed);
        let log = bench.progress().unwrap();
        let lines = match claimed {
            true => ["QUALITY: passed", "COMPLETED: checked and stands"],
            false => ["QUALITY: no checks are configured", "COMPLETED: stands; no checks are configured"],
        };
        assert!(lines.iter().all(|line| log.contains(line)), "{checks} {extra}: {log}");
        assert_eq!(log.contains("no checks are configured"), !claimed, "{checks} {extra}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_at_the_end_of_a_run_is_in_the_first_prompt_of_the_next() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let failing = |settings: &mut MethodologySettings| {
        settings.max_iterations = std::num::NonZero::new(1);
        settings.quality_checks = vec![CheckCommand::new("printf 'missing %s' part; false")];
    };
    let report = bench.play(bench.run(completes_each_task()).settings(failing)).await.unwrap().report;
    assert_eq!(report.exit_reason, ExitReason::MaxIterations);
    let next = bench.run(completes_each_task()).settings(failing).build().unwrap();
    let prompt = next.preview(Glance::Exact).await.unwrap().prompt.unwrap();
    assert!(prompt.contains("missing part"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_at_first_check_without_program() {
    for check in ["./nosuch.sh", "no-such-program --all", "true && ./nosuch.sh"] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let set =
            |settings: &mut MethodologySettings| settings.quality_checks = vec![CheckCommand::new(check)];
        // Otherwise the third failed attempt would block the task.
        for _ in 0..4 {
            let report = bench.play(bench.run(completes_each_task()).settings(set)).await.unwrap().report;
            assert_eq!(
                (report.exit_reason, report.iterations),
                (ExitReason::Error, 1),
                "{check}: {report:?}"
            );
            let fault = report.fault.unwrap();
            assert!(fault.message.contains("was not found"), "{check}: {fault:?}");
            assert!(fault.help.unwrap().contains("Correct quality_checks"), "{check}");
            assert_eq!(bench.status("1"), Some(Status::Pending), "{check}");
        }
    }
    // A program that need not be started, and an exit code of a check's own, are failures as any other.
    for check in ["no-such-program || false", "cd elsewhere 2>/dev/null; exit 127"] {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let run = bench.run(completes_each_task()).settings(|settings| {
            settings.quality_checks = vec![CheckCommand::new(check)];
        });
        let report = bench.play(run).await.unwrap().report;
        assert!(report.exit_reason != ExitReason::Error && report.iterations > 1, "{check}: {report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_check_is_not_forgotten_by_starting_again() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let run = || {
        bench.run(completes_each_task()).settings(|settings| {
            settings.max_consecutive_failures = 1;
            settings.quality_checks = vec![CheckCommand::new("test -f corrected")];
        })
    };
    let start = || bench.play(run());
    assert_eq!(start().await.unwrap().report.exit_reason, ExitReason::ConsecutiveFailures);
    let skip = Mutation::Skip { id: TaskId::new("1"), reason: Some("not needed".to_owned()) };
    bench.store().mutate(skip, Actor::User).unwrap();

    for _ in 0..2 {
        let again = start().await.unwrap();
        assert_eq!((again.report.exit_reason, again.report.iterations), (ExitReason::Blocked, 0));
        assert_eq!(again.count(HookPoint::QualityCheck), 1, "the check is asked anew, once");
    }
    let stop = run().build().unwrap().preview(Glance::Still).await.unwrap().stop.unwrap();
    assert!(stop.detail.contains("which are asked first"), "{stop:?}");
    fs::write(bench.path().join("corrected"), "").unwrap();
    for checks in [1, 0] {
        let corrected = start().await.unwrap();
        assert_eq!(corrected.report.exit_reason, ExitReason::Completed);
        assert_eq!(corrected.count(HookPoint::QualityCheck), checks);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_fails_three_times_ends_the_run() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let script = Script::default().call(ScriptedCall::any().repeated().step(Step::Exit { code: 7 }));
    let report = bench.play(bench.run(script)).await.unwrap().report;
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::ConsecutiveFailures, 3));
    assert_eq!(bench.status("1"), Some(Status::Pending));
    let log = bench.progress().unwrap();
    assert_eq!(log.matches("agent-exit").count(), 3, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn why_an_agent_failed_is_in_its_failure_in_the_log_and_in_the_next_prompt() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let script = "echo hello; echo 'fatal: not logged in' >&2; exit 7";
    let command = ["/bin/sh", "-c", script].map(String::from).to_vec();
    let config = AgentConfig { command, ..AgentConfig::new("command") };
    let agent = agent::build(&config, Supervisor::GroupOnly).unwrap();
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let builder = bench.run(completes_each_task()).agent(agent).settings(|settings| {
        settings.max_consecutive_failures = 10;
    });
    let played = bench.play(builder.hook_at("spy", 500, spy.clone())).await.unwrap();
    let reason = "command ended with exit code 7: fatal: not logged in";
    let finished = |event: &Event| match event {
        Event::AgentFinished { failure: Some(failure), .. } => Some(failure.message.clone()),
        _ => None,
    };
    let told: Vec<String> = played.events.iter().filter_map(|record| finished(&record.event)).collect();
    assert_eq!(told, [reason; 3]);
    assert_eq!(played.report.exit_reason, ExitReason::NoProgress, "the same failure is the same");
    let log = bench.progress().unwrap();
    assert!(log.contains(&format!("ERROR: agent-exit: {reason}\n")), "{log}");
    let second = spy.calls()[1].input().prompt.clone();
    assert!(second.contains(reason), "{second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_nobody_trusts_does_not_start() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let error = bench
        .run(completes_each_task())
        .trust(TrustPolicy::Refuse)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap_err();
    assert_eq!(error.code().exit_code, 78);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_loop_is_refused_while_the_first_one_runs() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let (release, wait) = tokio::sync::oneshot::channel::<()>();
    let wait = std::sync::Arc::new(tokio::sync::Mutex::new(Some(wait)));
    let builder = bench.run(completes_each_task()).hook::<points::BeforeLoop, _>(
        "hold",
        move |_: Call<points::BeforeLoop>| {
            let wait = std::sync::Arc::clone(&wait);
            async move {
                if let Some(wait) = wait.lock().await.take() {
                    let _ = wait.await;
                }
                Ok(BeforeLoopOutput::default())
            }
        },
    );
    let first = builder.build().unwrap().start().await.unwrap();
    let second = bench.run(completes_each_task()).build().unwrap().start().await.unwrap_err();
    assert_eq!(second.code().exit_code, 75);
    release.send(()).unwrap();
    assert_eq!(first.wait().await.unwrap().exit_reason, ExitReason::Completed);
}

#[test]
fn every_point_with_a_default_has_one() {
    let bench = Bench::with_tasks(&[]).unwrap();
    let run = bench.run(completes_each_task()).build().unwrap();
    let with_default: Vec<&str> = HookPoint::ALL
        .iter()
        .filter(|point| run.registry().handlers(**point).any(|(id, ..)| id == "default"))
        .map(|point| point.as_str())
        .collect();
    let expected = "before:loop iteration.gate context.snapshot context.progress context.task before:agent.invoke \
                    agent.invoke after:agent.invoke quality.check after:loop";
    assert_eq!(with_default.join(" "), expected);
}
