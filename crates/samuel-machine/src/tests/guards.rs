//! What a single task may consume, and iterations that a budget would not last for.

use proptest::prelude::*;
use samuel_model::{Plan, Status, Usage};

use super::{script::*, sim::*, *};

/// An agent that uses so many tokens, and exits with 7 at one task of its own.
fn poisoned(fired: &Fired, plan: &Plan, poison: &[&str], tokens: u64) -> Work {
    let task = plan.tasks.iter().find(|task| task.status == Status::InProgress);
    let is_poison = task.is_some_and(|task| poison.contains(&task.id.as_str()));
    let work = if is_poison { exits(7) } else { completes_its_task(fired, plan) };
    Work { usage: Usage { input_tokens: tokens, ..Usage::default() }, ..work }
}

fn standing(sim: &Sim, task: &str) -> Status {
    sim.plan.tasks.iter().find(|one| one.id == id(task)).unwrap().status
}

#[test]
fn a_poison_task_of_ten_is_blocked_after_its_attempts_and_the_nine_others_are_done() {
    let sim = Sim::new(10).agent(|fired, plan| poisoned(fired, plan, &["4"], 5)).run();
    let report = sim.report();
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Blocked, 12));
    assert_eq!((report.failed_iterations, report.completed.len()), (3, 9));
    assert_eq!(standing(&sim, "4"), Status::Blocked);
    let reasons: Vec<String> = sim
        .trace
        .iter()
        .filter_map(|effect| match effect {
            Effect::Mutate(Mutation::Block { reason, .. }) => reason.clone(),
            _ => None,
        })
        .collect();
    let words = "3 attempts have failed (task_budget.max_attempts); the last one: agent-exit: claude ended with exit code 7";
    assert_eq!(reasons, [words]);
    assert!(report.detail.as_deref().unwrap().contains('4'), "{:?}", report.detail);
}

#[test]
fn an_agent_that_cannot_work_at_all_ends_the_run_and_blocks_nothing() {
    for attempts in [1, 2, 3] {
        let sim = Sim::new(10)
            .limits(|limits| limits.max_task_attempts = std::num::NonZero::new(attempts))
            .agent(|_, _| exits(7))
            .run();
        assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::ConsecutiveFailures, 3));
        assert_eq!(standing(&sim, "1"), Status::Pending, "{attempts}");
    }
}

#[test]
fn a_tool_call_or_a_change_of_the_work_tree_makes_a_failure_an_attempt() {
    let calls = |_: &Fired, _: &Plan| Work { during: vec![calls_tool(None)], ..exits(7) };
    let writes = |_: &Fired, _: &Plan| exits(7);
    let limits = |sim: Sim| sim.limits(|limits| limits.max_iterations = std::num::NonZero::new(3));
    let called = limits(Sim::new(2)).agent(calls).run();
    assert_eq!(standing(&called, "1"), Status::Blocked);
    let mut wrote = limits(Sim::new(2)).agent(writes);
    wrote.agent_writes = true;
    assert_eq!(standing(&wrote.run(), "1"), Status::Blocked);
}

#[test]
fn as_many_tasks_blocked_in_a_row_as_failures_may_come_in_a_row_end_the_run() {
    let sim = Sim::new(10).agent(|fired, plan| poisoned(fired, plan, &["1", "2", "3"], 5)).run();
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::ConsecutiveFailures, 9));
    let detail = "3 tasks in a row were blocked after their attempts";
    assert_eq!(sim.report().detail.as_deref(), Some(detail));
    // A completion between them sets the count back.
    let sim = Sim::new(6).agent(|fired, plan| poisoned(fired, plan, &["1", "2", "4", "5"], 5)).run();
    assert_eq!((sim.report().exit_reason, sim.report().completed.len()), (ExitReason::Blocked, 2));
}

#[test]
fn a_task_that_uses_up_its_budget_is_blocked_even_where_no_iteration_failed() {
    let slow = |fired: &Fired, plan: &Plan| {
        let one = plan.tasks.iter().any(|task| task.id == id("1") && task.status == Status::InProgress);
        let work = if one { Work::default() } else { completes_its_task(fired, plan) };
        Work { usage: Usage { input_tokens: 10, cost_usd: Some(0.2), ..Usage::default() }, ..work }
    };
    let tokens = Sim::new(2).limits(|limits| limits.max_task_tokens = Some(20)).agent(slow).run();
    assert_eq!((tokens.report().iterations, standing(&tokens, "1")), (3, Status::Blocked));
    let cost = Sim::new(2).limits(|limits| limits.max_task_cost_usd = Some(0.4)).agent(slow).run();
    assert_eq!((cost.report().iterations, standing(&cost, "1")), (3, Status::Blocked));
}

#[test]
fn a_later_run_knows_the_attempts_until_the_task_is_reset() {
    let one = |earlier: Option<&Machine>, forget: bool| {
        let mut sim = Sim::new(1).agent(|fired, plan| poisoned(fired, plan, &["1"], 5)).limits(|limits| {
            limits.max_iterations = std::num::NonZero::new(2);
        });
        if let Some(earlier) = earlier {
            sim.machine.succeed(earlier, false);
        }
        if forget {
            sim.machine.forget_attempts(&id("1"));
        }
        sim.run()
    };
    let first = one(None, false);
    assert_eq!(standing(&first, "1"), Status::Pending);
    let again = one(Some(&first.machine), false);
    assert_eq!((again.report().iterations, standing(&again, "1")), (1, Status::Blocked));
    let reset = one(Some(&first.machine), true);
    assert_eq!((reset.report().iterations, standing(&reset, "1")), (2, Status::Pending));
}

#[test]
fn attempts_are_known_over_a_crash_at_every_step() {
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    let mut sim = Sim::new(3).agent(|fired, plan| poisoned(fired, plan, &["2"], 5));
    sim.go(1);
    while !sim.machine.is_ended() {
        let at = sim.steps;
        // In short it is saved and loaded at each step before the crash.
        let mut crashed = if is_long { sim.clone() } else { sim.clone().without_saving() };
        crashed.crash(true);
        let crashed = crashed.run();
        assert_eq!(standing(&crashed, "2"), Status::Blocked, "crash at {at}");
        assert_eq!(crashed.report().exit_reason, ExitReason::Blocked, "crash at {at}");
        // The one that was cut off is no attempt.
        let iterations = crashed.report().iterations;
        assert!((5..=6).contains(&iterations), "crash at {at}: {iterations}");
        sim.go(at + 1);
    }
}

#[test]
fn an_iteration_that_the_budget_would_not_last_for_is_not_begun() {
    let run = |forecast| {
        let limits = move |limits: &mut RunLimits| {
            (limits.max_tokens, limits.forecast) = (Some(45), forecast);
        };
        Sim::new(10).limits(limits).agent(|fired, plan| poisoned(fired, plan, &[], 10)).run()
    };
    let sim = run(true);
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Budget, 4));
    let detail =
        "the next iteration would take about 10 tokens, the median of the last 4, and 5 of 45 are left";
    assert_eq!(sim.report().detail.as_deref(), Some(detail));
    assert_eq!(sim.report().limit.as_deref(), Some("session_budget.max_tokens"));
    let sim = run(false);
    assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Budget, 5));
}

/// A run of six tasks, of which each iteration uses so many tokens, in turn.
fn uses(tokens: &'static [u64], max: u64, tasks: usize) -> Sim {
    Sim::new(tasks)
        .limits(|limits| limits.max_tokens = Some(max))
        .agent(|fired, plan| poisoned(fired, plan, &[], tokens[fired.nth % tokens.len()]))
        .run()
}

#[test]
fn a_forecast_is_the_lower_median_of_the_last_five_and_of_three_at_least() {
    let came = |sim: &Sim| (sim.report().exit_reason, sim.report().iterations);
    // The third is begun although two such would have been too many.
    assert_eq!(came(&uses(&[9], 20, 6)), (ExitReason::Budget, 3));
    // Of four the lower one in the middle: 1, 1, 9, 9 leaves 5 for 1.
    assert_eq!(came(&uses(&[1, 1, 9, 9, 1, 1], 25, 6)), (ExitReason::Completed, 6));
    // Of seven, 20 would be in the middle; of the last five it is 1, and 19 are left.
    assert_eq!(came(&uses(&[20, 20, 20, 20, 1, 1, 1, 1, 1], 102, 9)), (ExitReason::Completed, 9));
    // Of the last five it is 20 while 19 are left.
    assert_eq!(came(&uses(&[1, 1, 1, 1, 20, 20, 20, 20, 20], 103, 9)), (ExitReason::Budget, 8));
}

#[test]
fn a_forecast_is_made_of_cost_and_of_time_too() {
    let costs = |fired: &Fired, plan: &Plan| Work {
        usage: Usage { cost_usd: Some(0.5), ..Usage::default() },
        ..completes_its_task(fired, plan)
    };
    for (spent, iterations) in [(1.75, 3), (2.0, 4)] {
        let limits = move |limits: &mut RunLimits| limits.max_cost_usd = Some(spent);
        let sim = Sim::new(10).limits(limits).agent(costs).run();
        assert_eq!((sim.report().exit_reason, sim.report().iterations), (ExitReason::Budget, iterations));
        assert_eq!(sim.report().limit.as_deref(), Some("session_budget.max_cost_usd"));
    }
    let detail =
        "the next iteration would take about $0.50, the median of the last 3, and $0.25 of $1.75 is left";
    let limits = |limits: &mut RunLimits| limits.max_cost_usd = Some(1.75);
    let sim = Sim::new(10).limits(limits).agent(costs).run();
    assert_eq!(sim.report().detail.as_deref(), Some(detail));

    // Each call takes a millisecond.
    for (elapsed, reason, iterations) in [(59_999, ExitReason::Completed, 5), (60_000, ExitReason::Budget, 3)]
    {
        let mut sim = Sim::new(5).limits(|limits| limits.max_wall_ms = Some(60_000));
        sim.elapsed_ms = elapsed;
        let sim = sim.run();
        assert_eq!((sim.report().exit_reason, sim.report().iterations), (reason, iterations), "{elapsed}");
        let limit = (reason == ExitReason::Budget).then_some("session_budget.max_wall_time");
        assert_eq!(sim.report().limit.as_deref(), limit);
    }
}

/// What an agent may say that a call cost: an amount, nothing, or what is no amount.
fn cost() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        8 => (0.0_f64..1.0).prop_map(Some),
        1 => Just(None),
        2 => prop::sample::select(vec![-1.0, -1e308, f64::NAN, f64::INFINITY, 1e308]).prop_map(Some),
    ]
}

/// What counts of it.
fn counted(cost: Option<f64>) -> f64 {
    cost.filter(|cost| cost.is_finite() && *cost >= 0.0).map_or(0.0, |cost| cost.min(1e9))
}

proptest! {
    #[test]
    fn a_cost_budget_is_exceeded_by_no_more_than_the_iteration_under_way_whatever_agents_say_of_it(
        costs in prop::collection::vec(cost(), 1..20), max in 0.01_f64..5.0, forecast: bool,
    ) {
        let calls = costs.clone();
        let sim = Sim::new(20)
            .limits(|limits| (limits.max_cost_usd, limits.forecast) = (Some(max), forecast))
            .agent(move |fired, plan| {
                let usage = Usage { cost_usd: calls[fired.nth % calls.len()], ..Usage::default() };
                Work { usage, ..completes_its_task(fired, plan) }
            })
            .run();
        let report = sim.report();
        let said: Vec<Option<f64>> = costs.iter().copied().cycle().take(report.iterations as usize).collect();
        let before: f64 = said.iter().rev().skip(1).map(|cost| counted(*cost)).sum();
        prop_assert!(before < max, "{before} of {max} were spent before the last iteration");
        let all = (before + said.last().map_or(0.0, |cost| counted(*cost))).min(1e9);
        let spent = report.usage.cost_usd.unwrap_or(0.0);
        prop_assert!((spent - all).abs() < 1e-6, "{spent} is not {all}");
        let is_bad = |cost: &Option<f64>| cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0);
        let warned = |event: &&Event| {
            matches!(event, Event::Warning { message } if message.ends_with("which counts as unknown"))
        };
        prop_assert_eq!(sim.events().filter(warned).count(), usize::from(said.iter().any(is_bad)), "told once");
    }

    #[test]
    fn a_budget_is_exceeded_by_no_more_than_the_iteration_under_way(
        uses in prop::collection::vec(0_u64..40, 1..20), max in 1_u64..200, forecast: bool,
    ) {
        let calls = uses.clone();
        let sim = Sim::new(20)
            .limits(|limits| (limits.max_tokens, limits.forecast) = (Some(max), forecast))
            .agent(move |fired, plan| poisoned(fired, plan, &[], calls[fired.nth % calls.len()]))
            .run();
        let report = sim.report();
        let last = report.iterations.checked_sub(1).map_or(0, |nth| uses[nth as usize % uses.len()]);
        prop_assert!(report.usage.tokens() < max + last.max(1));
        prop_assert!(report.exit_reason != ExitReason::Budget || report.limit.is_some());
    }
}
