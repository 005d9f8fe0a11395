//! Which agent a call has: routes, fallbacks, usage limits.

use samuel_agent::Routing;
use samuel_config::{AgentRoute, RateLimitPolicy};
use samuel_hook::{HookCall, HookPoint};
use samuel_model::{
    FailureClass, Plan,
    payload::{BeforeAgentInvokeInput, Complexity},
};

use super::{script::*, sim::*, *};

const HOUR: i64 = 3_600;

fn at(seconds: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(seconds).unwrap()
}

fn fails(class: FailureClass, resets_at: Option<jiff::Timestamp>) -> Work {
    Work { failure: Some(IterationFailure { class, message: "no".into() }), resets_at, ..Work::default() }
}

fn called(fired: &Fired) -> String {
    let HookCall::AgentInvoke(input) = &fired.call else { unreachable!() };
    input.agent.clone()
}

/// A run of claude with codex and gemini to stand in, of which some have a limit at each call.
fn with_fallbacks(tasks: usize, limits: impl Fn(&str, &Fired) -> Option<Work> + 'static) -> Sim {
    let mut sim = Sim::new(tasks).agent(move |fired: &Fired, plan: &Plan| {
        limits(&called(fired), fired).unwrap_or_else(|| completes_its_task(fired, plan))
    });
    sim.machine.core.setup.routing =
        Routing { fallback: ["codex", "gemini"].map(str::to_owned).to_vec(), ..Routing::default() };
    sim
}

fn agents(sim: &Sim) -> Vec<String> {
    sim.fired.iter().filter(|fired| fired.point == HookPoint::AgentInvoke).map(called).collect()
}

/// Until when the run waited for limits, in minutes.
fn waits(sim: &Sim) -> Vec<i64> {
    let waits = sim.trace.iter().filter_map(|effect| match effect {
        Effect::Emit(Event::Waiting { until: Some(until), .. }) => Some(until.as_second() / 60),
        _ => None,
    });
    waits.collect()
}

#[test]
fn a_limit_that_lasts_longer_than_the_wait_is_no_failure_and_the_fallback_works() {
    let sim = with_fallbacks(2, |agent, _| {
        (agent == "claude").then(|| fails(FailureClass::RateLimit, Some(at(7 * HOUR))))
    })
    .run();
    assert_eq!(agents(&sim), ["claude", "codex", "codex"]);
    let report = sim.report();
    assert_eq!((report.exit_reason, report.failed_iterations), (ExitReason::Completed, 0));
    assert!(waits(&sim).is_empty());
    let told = "codex takes over from claude: a fallback, since claude is at its usage limit until 1970-01-01 07:00:00 UTC";
    assert!(sim.logged(ProgressKind::Found).contains(&told), "{:?}", sim.logged(ProgressKind::Found));
}

#[test]
fn a_limit_within_the_wait_is_waited_for_and_no_fallback_works() {
    let sim = with_fallbacks(1, |_, fired| {
        (fired.nth == 0).then(|| fails(FailureClass::RateLimit, Some(at(6 * HOUR))))
    })
    .run();
    assert_eq!((agents(&sim), waits(&sim)), (vec!["claude".to_owned(), "claude".to_owned()], vec![360]));
}

#[test]
fn a_limit_without_an_end_is_tried_again_and_then_the_fallback_works() {
    let sim = with_fallbacks(1, |agent, _| (agent == "claude").then(|| fails(FailureClass::RateLimit, None)))
        .limits(|limits| limits.max_limit_wait_ms = 60 * 60 * 1_000)
        .run();
    // The clock of this world stands still: each wait counts from its start.
    assert_eq!(waits(&sim), [5, 10, 20, 25]);
    assert_eq!(agents(&sim), ["claude", "claude", "claude", "claude", "claude", "codex"]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn where_all_are_limited_the_run_waits_for_the_first_that_is_back_or_ends() {
    let ends = |agent: &str| match agent {
        "claude" => 9,
        "codex" => 7,
        _ => 8,
    };
    let limited = move |policy| {
        with_fallbacks(1, move |agent, fired| {
            (fired.nth < 3).then(|| fails(FailureClass::RateLimit, Some(at(ends(agent) * HOUR))))
        })
        .limits(|limits| limits.rate_limit = policy)
        .run()
    };
    let waited = limited(RateLimitPolicy::Wait);
    assert_eq!(agents(&waited), ["claude", "codex", "gemini", "codex"]);
    assert_eq!((waits(&waited), waited.report().exit_reason), (vec![7 * 60], ExitReason::Completed));
    let stopped = limited(RateLimitPolicy::Stop).report();
    assert_eq!(stopped.exit_reason, ExitReason::RateLimited);
    let told =
        "the agent and every fallback are at their usage limits, which last until 1970-01-01 07:00:00 UTC";
    assert_eq!(stopped.detail.as_deref(), Some(told));
    let endless = with_fallbacks(1, |_, _| Some(fails(FailureClass::RateLimit, None)))
        .limits(|limits| limits.max_limit_wait_ms = 0)
        .run();
    assert_eq!(agents(&endless), ["claude", "codex", "gemini"]);
    assert_eq!(endless.report().exit_reason, ExitReason::RateLimited);
    assert!(endless.report().detail.unwrap().contains("until nobody says when"));
}

#[test]
fn a_limit_that_ends_in_the_year_9999_is_waited_for_by_nobody() {
    let far = "9999-12-30T22:00:00Z".parse().unwrap();
    let limited = |who: &'static [&'static str], until| {
        with_fallbacks(1, move |agent, _| {
            who.contains(&agent).then(|| fails(FailureClass::RateLimit, Some(until)))
        })
        .run()
    };
    let all: &[&str] = &["claude", "codex", "gemini"];
    let sim = limited(all, far);
    assert_eq!((sim.report().exit_reason, waits(&sim)), (ExitReason::RateLimited, vec![]));
    let told = "the agent and every fallback are at their usage limits, which last until 9999-12-30 22:00:00 UTC, \
                and a run waits for 31 days at most";
    assert_eq!(sim.report().detail.as_deref(), Some(told));
    assert_eq!(sim.report().limit, None, "no setting would help");
    assert_eq!(agents(&limited(&["claude"], far)), ["claude", "codex"]);
    // The last moment that there is overflows nothing.
    assert_eq!(limited(all, jiff::Timestamp::MAX).report().exit_reason, ExitReason::RateLimited);
    let month = with_fallbacks(1, |_, fired| {
        (fired.nth < 3).then(|| fails(FailureClass::RateLimit, Some(at(31 * 24 * HOUR))))
    });
    assert_eq!(waits(&month.run()), [31 * 24 * 60]);
}

#[test]
fn an_agent_that_cannot_be_started_is_replaced_and_fails_where_nobody_can() {
    let sim =
        with_fallbacks(2, |agent, _| (agent == "claude").then(|| fails(FailureClass::AgentStart, None)))
            .run();
    assert_eq!(agents(&sim), ["claude", "codex", "codex"]);
    assert_eq!(sim.report().failed_iterations, 0);
    let none = with_fallbacks(1, |_, _| Some(fails(FailureClass::AgentStart, None))).run();
    assert_eq!(none.report().exit_reason, ExitReason::ConsecutiveFailures);
    let mut known = with_fallbacks(1, |_, _| None);
    known.machine.cannot_start(["claude".to_owned()]);
    assert_eq!(agents(&known.run()), ["codex"], "a start that knows it calls it never");
}

#[test]
fn an_agent_that_a_handler_chose_and_that_cannot_work_ends_the_run() {
    let chooses_kiro = |class, resets_at| {
        with_fallbacks(1, move |_, _| Some(fails(class, resets_at)))
            .hooks(|fired| {
                let HookCall::BeforeAgentInvoke(input) = &fired.call else { return None };
                let input = BeforeAgentInvokeInput { agent: "kiro".to_owned(), ..input.clone() };
                Some(with(ReplyData::Invocation(Box::new(input))))
            })
            .limits(|limits| {
                limits.max_iterations = None;
                limits.rate_limit = RateLimitPolicy::Stop;
                limits.max_limit_wait_ms = 0;
            })
            .run()
    };
    let sim = chooses_kiro(FailureClass::AgentStart, None);
    assert_eq!(agents(&sim), ["kiro"; 3]);
    assert_eq!(sim.report().exit_reason, ExitReason::ConsecutiveFailures);
    for resets_at in [None, Some(at(7 * HOUR))] {
        let sim = chooses_kiro(FailureClass::RateLimit, resets_at);
        assert_eq!((agents(&sim).len(), sim.report().exit_reason), (1, ExitReason::RateLimited));
    }
}

#[test]
fn failures_and_costs_are_known_over_the_runs_of_a_plan() {
    let route =
        AgentRoute { after_failures: Some(2), agent: Some("codex".to_owned()), ..AgentRoute::default() };
    let run = |before: Option<&Sim>| {
        let mut sim = Sim::new(1)
            .agent(|_, _| Work { usage: Usage { input_tokens: 3, ..Usage::default() }, ..exits(7) })
            .limits(|limits| {
                limits.max_iterations = std::num::NonZeroU32::new(1);
                limits.max_task_attempts = None;
            });
        sim.machine.core.setup.routing = Routing { routes: vec![route.clone()], ..Routing::default() };
        if let Some(before) = before {
            sim.machine.succeed(&before.machine, false);
        }
        sim.run()
    };
    let first = run(None);
    let second = run(Some(&first));
    let mut third = run(Some(&second));
    assert_eq!([&first, &second, &third].map(agents), [["claude"], ["claude"], ["codex"]]);
    let used = |all: Vec<samuel_model::AgentTotal>| -> Vec<(String, u64)> {
        all.into_iter().map(|of| (of.agent, of.usage.input_tokens)).collect()
    };
    assert_eq!(used(third.report().agents), [("codex".to_owned(), 3)]);
    let of_plan = [("claude".to_owned(), 6), ("codex".to_owned(), 3)];
    assert_eq!(used(third.machine.usage_of_plan()), of_plan);
    third.machine.forget_all_attempts();
    assert_eq!(used(third.machine.usage_of_plan()), [("codex".to_owned(), 3)]);
}

#[test]
fn a_route_by_failures_gets_the_task_and_what_a_handler_chooses_wins() {
    let route = AgentRoute {
        after_failures: Some(2),
        agent: Some("codex".to_owned()),
        model: Some("big".to_owned()),
        args: vec!["--effort".to_owned(), "high".to_owned()],
        ..AgentRoute::default()
    };
    let hard = AgentRoute {
        complexity: Some(Complexity::Complex),
        agent: Some("gemini".to_owned()),
        ..AgentRoute::default()
    };
    let fails_twice = || {
        let mut sim = Sim::new(1).agent(|fired, plan| match fired.nth {
            0 | 1 => exits(7),
            _ => Work {
                usage: Usage { input_tokens: 3, ..Usage::default() },
                ..completes_its_task(fired, plan)
            },
        });
        sim.machine.core.setup.routing =
            Routing { routes: vec![route.clone(), hard.clone()], ..Routing::default() };
        sim
    };
    let sim = fails_twice().run();
    assert_eq!(agents(&sim), ["claude", "claude", "codex"]);
    let HookCall::AgentInvoke(input) = sim.last(HookPoint::AgentInvoke).call else { unreachable!() };
    let given = [("model", "big"), ("argument", "--effort"), ("argument", "high")];
    assert_eq!(input.extensions, given.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let of: Vec<_> = sim.report().agents.iter().map(|of| (of.agent.clone(), of.usage.input_tokens)).collect();
    assert_eq!(of, [("codex".to_owned(), 3)]);
    let chosen = fails_twice()
        .hooks(|fired| {
            let HookCall::BeforeAgentInvoke(input) = &fired.call else { return None };
            let input = BeforeAgentInvokeInput { agent: "kiro".to_owned(), ..input.clone() };
            Some(with(ReplyData::Invocation(Box::new(input))))
        })
        .run();
    assert_eq!(agents(&chosen), ["kiro", "kiro", "kiro"]);
    let HookCall::AgentInvoke(input) = chosen.last(HookPoint::AgentInvoke).call else { unreachable!() };
    assert!(input.extensions.is_empty(), "what was chosen for another is not handed on");
}
