//! When a run stops by itself.

use samuel_config::RateLimitPolicy;
use samuel_hook::HookPoint;
use samuel_model::{
    FailureClass, Plan, Remedy, Status,
    payload::{Mode, Turn},
};

use super::{script::*, sim::*, *};
use crate::event::RunReport;

fn times_out(seconds: u32) -> Work {
    let message = format!("ran  {seconds} s");
    Work {
        failure: Some(IterationFailure { class: FailureClass::AgentTimeout, message }),
        ..Default::default()
    }
}

fn limited(resets_at: Option<jiff::Timestamp>) -> Work {
    let failure = IterationFailure { class: FailureClass::RateLimit, message: "limit".into() };
    Work { failure: Some(failure), resets_at, ..Default::default() }
}

#[test]
fn three_failures_in_a_row_end_the_run() {
    let sim = Sim::new(1).agent(|_, _| exits(7)).run();
    let report = sim.report();
    assert_eq!(report.exit_reason, ExitReason::ConsecutiveFailures);
    assert_eq!((report.iterations, report.failed_iterations), (3, 3));
    assert_eq!(sim.count(HookPoint::IterationError), 3);
    sim.assert_left_well("failed");
}

#[test]
fn a_success_sets_the_count_of_failures_back() {
    let sim = Sim::new(2)
        .agent(|fired, plan| match fired.iteration % 3 {
            0 => completes_its_task(fired, plan),
            _ => exits(7),
        })
        .run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Completed, 6));
}

#[test]
fn the_cap_on_iterations_ends_the_run() {
    let sim = Sim::new(3).limits(|limits| limits.max_iterations = std::num::NonZero::new(2)).run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::MaxIterations, 2));
}

#[test]
fn the_report_names_the_setting_of_the_limit_that_was_reached() {
    let ended = |sim: Sim| {
        let report = sim.run().report();
        (report.limit.unwrap_or_default(), report.detail.unwrap_or_default())
    };
    let spends = |limit: fn(&mut RunLimits)| {
        Sim::new(3).limits(limit).agent(|fired, plan| {
            let usage = Usage { cost_usd: Some(0.5), input_tokens: 1, ..Default::default() };
            Work { usage, ..completes_its_task(fired, plan) }
        })
    };
    let mut late = Sim::new(1).limits(|limits| limits.max_wall_ms = Some(60_000));
    late.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    late.feed(Input::WallClock);
    let cases = [
        (Sim::new(1), "", ""),
        (
            spends(|limits| limits.max_iterations = std::num::NonZero::new(1)),
            "max_iterations",
            "the limit of 1 iteration was reached",
        ),
        (
            spends(|limits| limits.max_cost_usd = Some(0.5)),
            "session_budget.max_cost_usd",
            "$0.50 was spent of at most $0.50",
        ),
        (
            spends(|limits| limits.max_tokens = Some(1)),
            "session_budget.max_tokens",
            "1 token was used of at most 1",
        ),
        (
            spends(|limits| limits.max_tokens = Some(2)),
            "session_budget.max_tokens",
            "2 tokens were used of at most 2",
        ),
        (Sim::new(1).agent(|_, _| exits(7)), "max_consecutive_failures", "3 iterations in a row failed"),
        (late, "session_budget.max_wall_time", "the limit of 1m was reached"),
    ];
    for (sim, limit, detail) in cases {
        assert_eq!(ended(sim), (limit.to_owned(), detail.to_owned()));
    }
}

#[test]
fn a_plan_that_the_last_allowed_iteration_finishes_is_completed() {
    for pause_ms in [0, 2_000] {
        let sim = Sim::new(2)
            .limits(|limits| {
                limits.max_iterations = std::num::NonZero::new(2);
                limits.pause_ms = pause_ms;
            })
            .run();
        assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    }
}

#[test]
fn the_same_failure_with_the_same_tree_three_times_is_no_progress() {
    let sim = Sim::new(1)
        .limits(|limits| limits.max_consecutive_failures = 10)
        .agent(|fired, _| times_out(fired.iteration))
        .run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::NoProgress, 3));
}

#[test]
fn the_same_failure_with_another_tree_is_progress() {
    let mut sim = Sim::new(1)
        .limits(|limits| limits.max_consecutive_failures = 10)
        .agent(|fired, _| times_out(fired.iteration));
    sim.tree = |iteration| iteration.to_string();
    assert_eq!(sim.run().report().exit_reason, ExitReason::ConsecutiveFailures);
}

#[test]
fn another_failure_is_progress() {
    let sim = Sim::new(1)
        .limits(|limits| limits.max_consecutive_failures = 10)
        .agent(|fired, _| if fired.iteration % 2 == 0 { exits(7) } else { times_out(1) })
        .run();
    assert_eq!(sim.report().exit_reason, ExitReason::ConsecutiveFailures);
}

#[test]
fn something_completed_between_is_progress() {
    let sim = Sim::new(3)
        .agent(|fired, plan| match fired.iteration % 3 {
            0 => completes_its_task(fired, plan),
            _ => exits(7),
        })
        .limits(|limits| limits.max_consecutive_failures = 10)
        .run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Completed, 9));
}

#[test]
fn three_successes_that_change_nothing_are_no_progress() {
    let sim = Sim::new(1).agent(|_, _| Work::default()).run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::NoProgress, 3));
    let mut moving = Sim::new(1)
        .agent(|_, _| Work::default())
        .limits(|limits| limits.max_iterations = std::num::NonZero::new(5));
    moving.tree = |iteration| iteration.to_string();
    assert_eq!(moving.run().report().exit_reason, ExitReason::MaxIterations);
}

#[test]
fn a_usage_limit_with_a_known_end_is_waited_for_and_not_counted() {
    let end = jiff::Timestamp::from_second(5_000).unwrap();
    for pause_ms in [0, 2_000] {
        let sim = Sim::new(1)
            .limits(|limits| {
                limits.max_consecutive_failures = 1;
                limits.pause_ms = pause_ms;
            })
            .agent(move |fired, plan| match fired.nth {
                0..4 => limited(Some(end)),
                _ => completes_its_task(fired, plan),
            })
            .run();
        assert_eq!(sim.report().exit_reason, ExitReason::Completed);
        assert_eq!(sim.report().failed_iterations, 0);
        let waits = sim.trace.iter().filter(|effect| **effect == Effect::Sleep(Wait::Until(end))).count();
        assert_eq!(waits, 4);
        let told = "waiting until 1970-01-01 01:23:20 UTC for the agent's usage limit";
        assert_eq!(sim.logged(ProgressKind::Found), [told; 4]);
    }
}

#[test]
fn a_usage_limit_is_not_met_by_a_recovery_turn() {
    let end = jiff::Timestamp::from_second(5_000).unwrap();
    let sim = Sim::new(1)
        .agent(
            move |fired, plan| {
                if fired.nth == 0 { limited(Some(end)) } else { completes_its_task(fired, plan) }
            },
        )
        .hook(HookPoint::IterationError, |fired| says(fired, "diff", samuel_model::payload::Deliver::Next))
        .run();
    let expected = [(Turn::Main, String::new()), (Turn::Main, quoted("hook h at iteration.error", "diff"))];
    assert_eq!(sim.prompts(), expected);
}

#[test]
fn a_run_that_is_ended_with_nothing_left_is_not_to_be_gone_on_with() {
    let mut sim = Sim::new(1);
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    sim.feed(Input::Command(Command::Cancel));
    let sim = sim.run();
    let report = |settled| RunReport { settled, ..sim.report() };
    assert_eq!(report(false).help(), Some(Remedy::GoOn));
    assert!(report(true).help().is_some_and(|help| help != Remedy::GoOn));
}

#[test]
fn help_for_a_limit_ignores_killed_iterations() {
    let mut sim = Sim::new(2).limits(|limits| limits.max_iterations = std::num::NonZero::new(1));
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.crash(false);
    let report = sim.run().report();
    let counted = (report.iterations, report.failed_iterations, report.interrupted_iterations);
    assert_eq!((report.exit_reason, counted), (ExitReason::MaxIterations, (1, 1, 1)));
    assert_eq!(report.help(), Some(Remedy::RaiseLimit { setting: "max_iterations".to_owned() }));
}

#[test]
fn a_pause_during_a_usage_limit_does_not_shorten_it() {
    let end = jiff::Timestamp::from_second(5_000).unwrap();
    let mut sim = Sim::new(1).first_call(move || limited(Some(end)));
    sim.go_until_it(|machine| machine.state == State::Sleep);
    sim.feed(Input::Command(Command::Pause));
    sim.go(usize::MAX);
    assert_eq!(sim.machine.state, State::Paused);
    sim.feed(Input::Command(Command::Resume));
    let sim = sim.run();
    let sleeps: Vec<&Effect> = sim.trace.iter().filter(|effect| matches!(effect, Effect::Sleep(_))).collect();
    assert_eq!(sleeps, [&Effect::Sleep(Wait::Until(end)); 2]);
}

/// The moments until which a run waits, in seconds since 1970.
fn waits(sim: &Sim) -> Vec<i64> {
    let until = sim.events().filter_map(|event| match event {
        Event::Waiting { until, .. } => Some(until.as_ref()?.as_second()),
        _ => None,
    });
    until.collect()
}

#[test]
fn a_usage_limit_without_a_known_end_is_tried_again_later_and_later() {
    let sim = Sim::new(1)
        .limits(|limits| limits.max_consecutive_failures = 1)
        .agent(|fired, plan| if fired.nth < 4 { limited(None) } else { completes_its_task(fired, plan) })
        .run();
    assert_eq!(waits(&sim), [5 * 60, 10 * 60, 20 * 60, 40 * 60]);
    assert_eq!((sim.report().exit_reason, sim.report().failed_iterations), (ExitReason::Completed, 0));

    let sim = Sim::new(1)
        .limits(|limits| limits.max_limit_wait_ms = 20 * 60 * 1_000)
        .agent(|_, _| limited(None))
        .run();
    assert_eq!(waits(&sim), [5 * 60, 10 * 60, 5 * 60]);
    assert_eq!((sim.report().exit_reason, sim.report().failed_iterations), (ExitReason::RateLimited, 0));
}

#[test]
fn a_usage_limit_that_is_over_is_not_waited_for() {
    for past in [0, -5, i64::from(i32::MIN)] {
        let past = jiff::Timestamp::from_second(past).unwrap();
        let sim = Sim::new(1).agent(move |_, _| limited(Some(past))).run();
        assert_eq!(waits(&sim), [0; 0]);
        // It is a failure like any other then, so that nothing repeats it for ever.
        assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::ConsecutiveFailures, 3));
        let ended = past.strftime("%Y-%m-%d %H:%M:%S UTC");
        let told = format!(
            "rate-limit: limit (that limit ended at {ended}, so there is nothing to wait for and this counts as a \
             failure)"
        );
        assert_eq!(sim.logged(ProgressKind::Error), [told.as_str(); 3]);
    }
}

#[test]
fn a_usage_limit_that_lasts_too_long_ends_the_run_where_that_is_asked_for() {
    let end = jiff::Timestamp::from_second(7 * 60 * 60).unwrap();
    let run = |rate_limit| {
        Sim::new(1)
            .limits(move |limits| limits.rate_limit = rate_limit)
            .first_call(move || limited(Some(end)))
            .run()
    };
    let stopped = run(RateLimitPolicy::Stop).report();
    assert_eq!((stopped.exit_reason, stopped.failed_iterations), (ExitReason::RateLimited, 0));
    assert!(stopped.detail.unwrap().ends_with("until 1970-01-01 07:00:00 UTC"));
    assert_eq!(run(RateLimitPolicy::Wait).report().exit_reason, ExitReason::Completed);
}

#[test]
fn a_task_that_is_put_aside_is_progress_and_a_settled_plan_is_completed() {
    let skips = |fired: &Fired, _: &Plan| Work {
        during: vec![skipped(&fired.iteration.to_string())],
        ..Work::default()
    };
    let sim = Sim::new(5).agent(skips).run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Completed, 5));
    assert!(sim.report().unrecorded.is_empty());
    let told = sim.events().filter(|event| matches!(event, Event::PlanChanged { reason: Some(_), .. }));
    assert_eq!(told.count(), 5);
    let logged = |line: &LogLine| line.text == "skipped: pointless";
    assert!(sim.trace.iter().any(|effect| matches!(effect, Effect::Log(line) if logged(line))));
}

#[test]
fn a_run_whose_last_task_is_settled_by_a_failing_iteration_is_completed() {
    let sim = Sim::new(1)
        .agent(|fired, plan| match fired.iteration {
            3 => Work { exit_code: 7, ..completes_its_task(fired, plan) },
            _ => exits(7),
        })
        .run();
    assert_eq!((sim.report().exit_reason, sim.report().failed_iterations), (ExitReason::Completed, 3));
}

#[test]
fn an_agent_that_never_records_its_task_is_told_so_and_the_end_says_so() {
    let sim = Sim::new(1).agent(|_, _| Work::default()).run();
    let unrecorded =
        sim.events().filter(|event| matches!(event, Event::IterationFinished { unrecorded: true, .. }));
    assert_eq!(unrecorded.count(), 3);
    let prompts = sim.prompts();
    assert!(!prompts[0].1.contains("nobody recorded"), "{prompts:?}");
    assert!(
        prompts[1].1.contains("Task 1 was worked on before, and nobody recorded it as done"),
        "{prompts:?}"
    );
    let report = sim.report();
    assert_eq!((report.exit_reason, report.unrecorded), (ExitReason::NoProgress, vec![id("1")]));
    assert!(report.detail.unwrap().contains("without recording task 1 as done"));

    let late = Sim::new(1)
        .agent(|fired, plan| match fired.iteration {
            1 => Work::default(),
            _ => completes_its_task(fired, plan),
        })
        .run();
    assert!(late.report().unrecorded.is_empty());
}

#[test]
fn a_used_up_budget_ends_the_run_without_extra_turns() {
    let sim = Sim::new(3)
        .limits(|limits| limits.max_cost_usd = Some(0.25))
        .agent(|fired, plan| {
            let usage = Usage { cost_usd: Some(0.125), ..Default::default() };
            Work { usage, ..completes_its_task(fired, plan) }
        })
        .hook(HookPoint::AfterIteration, |fired| match fired.iteration {
            2 => says(fired, "now", samuel_model::payload::Deliver::Now),
            _ => HookReply::default(),
        })
        .run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Budget, 2));
    assert_eq!(sim.report().usage.cost_usd, Some(0.25));
    assert_eq!(sim.prompts().len(), 2);
    assert_eq!(sim.plan.progress.cost_usd, 0.25);
}

#[test]
fn a_blocked_plan_ends_the_run_with_the_cause() {
    let mut sim = Sim::new(2);
    sim.plan.tasks[0].status = Status::Blocked;
    sim.plan.tasks[1].depends_on = vec![id("1")];
    let sim = sim.run();
    assert_eq!(sim.report().exit_reason, ExitReason::Blocked);
    let cause = "1 is marked as blocked; 2 depends on 1, which cannot be worked on";
    assert_eq!(sim.report().detail.as_deref(), Some(cause));
    assert_eq!(sim.report().iterations, 0);
}

#[test]
fn a_settled_plan_is_not_completed_when_the_last_check_failed() {
    let mut sim = Sim::new(2)
        .agent(
            |fired, plan| {
                if fired.iteration == 1 { completes_its_task(fired, plan) } else { Work::default() }
            },
        )
        .hook(HookPoint::QualityCheck, |fired| match fired.iteration {
            1 => HookReply::default(),
            _ => fails_check("red"),
        });
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck && fired.iteration == 2);
    sim.plan.tasks[1].status = Status::Skipped;
    let report = sim.run().report();
    assert_eq!(report.exit_reason, ExitReason::Blocked);
    assert!(report.detail.unwrap().contains("last quality check failed"));
}

#[test]
fn a_reason_outside_the_plan_ends_the_run() {
    let mut sim = Sim::new(3);
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    sim.changed = Some("samuel.toml".into());
    let sim = sim.run();
    assert_eq!(sim.report().exit_reason, ExitReason::ControlFilesChanged);
    assert_eq!(sim.report().detail.as_deref(), Some("samuel.toml"));
    assert_eq!(sim.report().iterations, 1);
}

#[test]
fn the_gate_can_turn_an_iteration_into_one_of_discovery() {
    let mut sim = Sim::new(1)
        .limits(|limits| limits.max_iterations = std::num::NonZero::new(1))
        .hook(HookPoint::IterationGate, |_| with(ReplyData::Mode(Some(Mode::Discovery))));
    sim = sim.run();
    assert!(!sim.order().contains(&"start_task".into()));
    assert_eq!(sim.plan.progress.discovery_iterations, 1);
}

#[test]
fn the_gate_can_turn_discovery_into_work_on_a_task() {
    let mut sim =
        Sim::new(1).hook(HookPoint::IterationGate, |_| with(ReplyData::Mode(Some(Mode::Implementation))));
    sim.mode = Mode::Discovery;
    let sim = sim.run();
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    assert_eq!((sim.report().completed, sim.report().iterations), (vec![id("1")], 1));
}

#[test]
fn a_task_that_somebody_settled_in_the_meantime_fails_only_its_iteration() {
    let mut sim = Sim::new(2);
    sim.go_until(|fired| fired.point == HookPoint::IterationGate);
    sim.done_in_plan(&id("1"));
    let sim = sim.run();
    assert_eq!(sim.failures(), [Some(FailureClass::Refused), None]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn a_change_the_plan_does_not_allow_is_a_warning() {
    let mut sim = Sim::new(2);
    sim.go_until(|fired| fired.point == HookPoint::AfterIteration);
    sim.plan.tasks.remove(0);
    let sim = sim.run();
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    assert!(sim.events().any(|event| matches!(event, Event::Warning { .. })));
}
