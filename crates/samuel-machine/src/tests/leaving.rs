//! A run is left, failed or interrupted at every single step.

use std::num::NonZeroU32;

use jiff::Timestamp;
use samuel_hook::HookPoint;
use samuel_model::payload::{Deliver, Turn};
use samuel_state::{apply, testing::Seeded};

use super::{script::*, sim::*, *};

/// A run in which every phase has its turn: the first iteration fails and
/// recovers, the second has tool calls and an immediate turn, the check of the
/// third fails, a stop is blocked and text is delivered at the end.
fn eventful() -> Sim {
    Sim::new(3)
        .limits(|limits| limits.max_consecutive_failures = 5)
        .agent(|fired, plan| {
            let mut work = completes_its_task(fired, plan);
            work.usage = Usage { input_tokens: 10, cost_usd: Some(0.1), ..Default::default() };
            if fired.iteration == 1 && fired.turn == Turn::Main {
                return Work { exit_code: 7, during: Vec::new(), ..work };
            }
            if fired.iteration == 2 && fired.turn == Turn::Main {
                work.during.push(calls_tool(Some(1)));
                work.during.push(calls_tool(None));
            }
            work
        })
        .hooks(|fired| match (fired.point, fired.iteration) {
            (HookPoint::SessionStart, _) => Some(says(fired, "hello", Deliver::Next)),
            (HookPoint::IterationError, 1) => Some(says(fired, "look at the diff", Deliver::Next)),
            (HookPoint::TaskCompleted, 2) => Some(says(fired, "well done", Deliver::Next)),
            (HookPoint::AfterIteration, 2) => Some(says(fired, "now fix this", Deliver::Now)),
            (HookPoint::AfterIteration, 4) => Some(says(fired, "tests are red", Deliver::Next)),
            (HookPoint::QualityCheck, 3) => Some(fails_check("red")),
            (HookPoint::SessionStop, _) if fired.nth == 0 => Some(refuses("not yet")),
            _ => None,
        })
}

/// Returns the run after each of its steps.
fn every_step() -> Vec<Sim> {
    let mut sim = eventful();
    let mut steps = Vec::new();
    sim.go(1);
    while !sim.machine.is_ended() {
        steps.push(sim.clone());
        sim.go(sim.steps + 1);
    }
    assert!(steps.len() > 80, "the run is eventful: {}", steps.len());
    steps
}

fn assert_ends_in_order(sim: &Sim, what: &str) {
    sim.assert_left_well(what);
    let points = sim.points();
    assert_eq!(points[points.len() - 2..], ["after:loop", "session.end"], "{what}");
    assert_eq!(sim.count(HookPoint::AfterLoop), 1, "{what}");
    assert_log_says_how_each_iteration_ended(sim, what);
}

fn assert_log_says_how_each_iteration_ended(sim: &Sim, what: &str) {
    let mut open = None;
    for line in sim.lines() {
        match line.kind {
            ProgressKind::Started => {
                assert_eq!(open, None, "{what}: the iteration of a task began and did not end");
                open.clone_from(&line.task);
            }
            ProgressKind::Completed | ProgressKind::Error | ProgressKind::Found => {
                open = open.filter(|task| line.task.as_ref() != Some(task));
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{what}: the last iteration did not end");
}

#[test]
fn the_log_says_why_an_iteration_ended_before_its_time_and_what_was_taken_back() {
    let cut_off = |input: Input, limits: RunLimits| {
        let mut sim = Sim::new(1).agent(|_, _| Work {
            during: vec![completed("1")],
            usage: Usage { output_tokens: 10, ..Default::default() },
            ..Work::default()
        });
        sim.machine.core.setup.limits = limits;
        sim.go_until(|fired| fired.point == HookPoint::TaskCompleted);
        sim.feed(input);
        let sim = sim.run();
        sim.logged(ProgressKind::Found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let limits =
        RunLimits { max_tokens: Some(9), max_wall_ms: Some(60_000), ..Sim::new(1).machine.core.setup.limits };
    let used = Input::UsageSoFar(Usage { output_tokens: 10, ..Default::default() });
    for (input, why) in [
        (Input::Command(Command::Stop), "cancelled"),
        (Input::WallClock, "wall-clock: the limit of 1m was reached"),
        (used, "budget: 10 tokens were used of at most 9"),
    ] {
        let expected =
            ["taken back: completed without a check".to_owned(), format!("ended before its time: {why}")];
        assert_eq!(cut_off(input, limits.clone()), expected);
    }
}

/// Says where a step is, for a message.
fn place(sim: &Sim) -> String {
    format!("step {} in {:?}", sim.steps, sim.machine.state)
}

#[test]
fn the_eventful_run_completes() {
    let sim = eventful().run();
    assert_ends_in_order(&sim, "undisturbed");
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    assert_eq!((sim.report().iterations, sim.report().failed_iterations), (5, 2));
    let turns: Vec<Turn> = sim.prompts().into_iter().map(|(turn, _)| turn).collect();
    for turn in [Turn::Recovery, Turn::Immediate, Turn::Final] {
        assert!(turns.contains(&turn), "{turn:?} in {turns:?}");
    }
}

/// Disturbs the run at each of its steps and lets it end. Returns it as it was before and as
/// it is at its end, with the place.
fn disturbed(disturb: impl Fn(&mut Sim)) -> impl Iterator<Item = (Sim, Sim, String)> {
    every_step().into_iter().map(move |before| {
        let (mut sim, what) = (before.clone(), place(&before));
        disturb(&mut sim);
        let sim = sim.run();
        assert_ends_in_order(&sim, &what);
        (before, sim, what)
    })
}

fn is_closing(sim: &Sim) -> bool {
    sim.machine.core.ending.is_some()
}

#[test]
fn a_stop_at_any_step_ends_the_run_without_another_agent_call() {
    for (before, sim, what) in disturbed(|sim| sim.feed(Input::Command(Command::Stop))) {
        assert_eq!(sim.count(HookPoint::AgentInvoke), before.count(HookPoint::AgentInvoke), "{what}");
        assert!(sim.steps <= before.steps + 14, "{what}: {} steps", sim.steps - before.steps);
        if !is_closing(&before) {
            assert_eq!(sim.report().exit_reason, ExitReason::Cancelled, "{what}");
        }
    }
}

#[test]
fn a_cancel_at_any_step_ends_the_run_after_the_iteration() {
    for (before, sim, what) in disturbed(|sim| sim.feed(Input::Command(Command::Cancel))) {
        assert!(sim.report().iterations <= before.machine.iteration_number().max(1), "{what}");
        if !is_closing(&before) {
            assert_eq!(sim.report().exit_reason, ExitReason::Cancelled, "{what}");
            assert!(!sim.prompts().iter().any(|(turn, _)| *turn == Turn::Final), "{what}");
        }
    }
}

#[test]
fn the_end_of_the_time_at_any_step_ends_the_run() {
    for (before, sim, what) in disturbed(|sim| sim.feed(Input::WallClock)) {
        assert_eq!(sim.count(HookPoint::AgentInvoke), before.count(HookPoint::AgentInvoke), "{what}");
        if !is_closing(&before) {
            assert_eq!(sim.report().exit_reason, ExitReason::WallClock, "{what}");
        }
    }
}

#[test]
fn a_budget_that_is_used_up_in_a_call_ends_that_call_and_the_run() {
    let spend = |sim: &mut Sim| {
        sim.machine.core.setup.limits.max_tokens = Some(1_000);
        sim.feed(Input::UsageSoFar(Usage { output_tokens: 1_000, ..Default::default() }));
    };
    for (before, sim, what) in disturbed(spend) {
        let is_spent = before.machine.state.is_invoking() && !is_closing(&before);
        let expected = if is_spent { ExitReason::Budget } else { ExitReason::Completed };
        assert_eq!(sim.report().exit_reason, expected, "{what}");
    }
}

#[test]
fn a_fault_at_any_step_ends_the_run_in_order() {
    for (_, sim, what) in disturbed(Sim::fail) {
        assert_eq!(sim.report().exit_reason, ExitReason::Error, "{what}");
        assert_eq!(sim.report().detail.as_deref(), Some("the disk is full"), "{what}");
    }
}

#[test]
fn faults_that_do_not_cease_still_let_the_run_end() {
    for mut sim in every_step() {
        for _ in 0..20 {
            sim.fail();
        }
        assert!(sim.machine.is_ended());
        assert_eq!(sim.report().exit_reason, ExitReason::Error);
    }
}

// Takes about 11 s: a run is paused at each of more than 80 steps, and saved at each step that follows.
#[test]
fn a_pause_at_any_step_holds_before_the_next_iteration_and_loses_nothing() {
    for mut sim in every_step() {
        let what = place(&sim);
        let number = sim.machine.iteration_number();
        sim.feed(Input::Command(Command::Pause));
        sim.go(usize::MAX);
        if !sim.machine.is_ended() {
            assert_eq!(sim.machine.state, State::Paused, "{what}");
            assert!(sim.machine.iteration_number() <= number, "{what}");
            sim.feed(Input::Command(Command::Steer("mind the tests".into())));
            sim.feed(Input::Command(Command::Resume));
        }
        let paused = sim.events().any(|event| matches!(event, Event::Paused));
        let sim = sim.run();
        assert_ends_in_order(&sim, &what);
        assert_eq!(sim.report().exit_reason, ExitReason::Completed, "{what}");
        let heard = sim.prompts().iter().any(|(_, prompt)| prompt.contains("\nmind the tests\n"));
        assert_eq!(heard, paused, "{what}");
    }
}

#[test]
fn a_paused_run_can_be_ended() {
    let end = [
        (Input::Command(Command::Stop), ExitReason::Cancelled),
        (Input::Command(Command::Cancel), ExitReason::Cancelled),
        (Input::WallClock, ExitReason::WallClock),
    ];
    for (input, reason) in end {
        let mut sim = Sim::new(2);
        sim.feed(Input::Command(Command::Pause));
        sim.feed(Input::Start);
        sim.go(usize::MAX);
        assert_eq!(sim.machine.state, State::Paused);
        sim.feed(input);
        let sim = sim.run();
        assert_ends_in_order(&sim, "paused");
        assert_eq!(sim.report().exit_reason, reason);
        assert!(sim.interrupted.is_empty(), "what was begun after the wish is not interrupted");
    }
}

/// Crashes a run, and holds what becomes of it.
fn goes_on(mut sim: Sim, carried_out: bool) {
    let what = format!("{}, carried out: {carried_out}", place(&sim));
    let before = sim.machine.usage().tokens();
    let counted = sim.machine.core.counters.iterations;
    let sessions = sim.count(HookPoint::SessionStart);
    sim.crash(carried_out);
    let sim = sim.run();
    sim.assert_left_well(&what);
    let report = sim.report();
    assert_eq!(report.exit_reason, ExitReason::Completed, "{what}");
    assert_eq!(report.completed.len(), 3, "{what}");
    assert!(report.iterations >= counted.max(3) && report.usage.tokens() >= before, "{what}");
    assert_eq!(sim.count(HookPoint::SessionStart), sessions + 1, "{what}");
    let in_plan = sim.plan.progress.total_iterations_run;
    let iterations = u64::from(report.iterations);
    assert_eq!(in_plan, iterations, "{what}: each iteration counts once");
}

#[test]
fn a_run_goes_on_after_a_crash_at_any_step() {
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    let mut drawn = Seeded::new(80);
    for sim in every_step() {
        if is_long {
            goes_on(sim.clone(), true);
            goes_on(sim, false);
            continue;
        }
        // Each step crashes once, and half of the runs go on without being saved at each step.
        let carried_out = drawn.chance(50);
        goes_on(if drawn.chance(50) { sim } else { sim.without_saving() }, carried_out);
    }
}

// Takes about 9 s: a run is simulated from each step to its end, and saved and read again at each step of that.
#[test]
fn a_run_goes_on_from_its_last_checkpoint_after_a_crash_at_any_step() {
    for mut sim in every_step() {
        let what = place(&sim);
        sim.crash_to_checkpoint();
        let sim = sim.run();
        sim.assert_only_certified(&what);
        assert_eq!(sim.report().exit_reason, ExitReason::Completed, "{what}");
        assert_eq!(sim.report().completed.len(), 3, "{what}");
        let counted = u64::from(sim.report().iterations);
        assert_eq!(sim.plan.progress.total_iterations_run, counted, "{what}: each iteration counts once");
    }
}

#[test]
fn what_was_completed_before_a_crash_is_taken_back_heard_of_or_not() {
    for heard in [true, false] {
        let mut sim = Sim::new(2).first_call(Work::default);
        sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
        if heard {
            sim.feed(completed("1"));
        } else {
            sim.complete_unheard("1");
        }
        sim.crash(false);
        assert!(sim.order().contains(&"take_back".into()), "heard: {heard}");
        let sim = sim.run();
        sim.assert_left_well("after the crash");
        assert_eq!(sim.report().iterations, 3, "task 1 was worked on again");
        let finished = sim.failures();
        assert_eq!(finished[0], Some(samuel_model::FailureClass::Interrupted));
        assert_eq!(sim.machine.consecutive_failures(), 0);
    }
}

#[test]
fn what_was_reset_after_a_crash_is_claimed_neither_by_the_run_nor_by_the_iteration_that_was_cut_off() {
    for (reset, left) in
        [(&[][..], &["1", "2"][..]), (&["1"], &["2"]), (&["2"], &["1"]), (&["1", "2", "3"], &[])]
    {
        let mut sim = Sim::new(3).limits(|limits| limits.max_iterations = NonZeroU32::new(2));
        // Both tasks are checked, and the books of the second one's iteration are still open.
        sim.go_until(|fired| fired.point == HookPoint::AfterIteration && fired.nth == 1);
        let checks = &mut sim.machine.core.checks;
        (checks.doubtful, checks.unchecked_outside) = (vec![id("1"), id("3")], vec![id("1"), id("3")]);
        for task in reset {
            apply(&mut sim.plan, &Mutation::Reset { id: id(task) }, Timestamp::UNIX_EPOCH).unwrap();
        }
        sim.machine.forget_completions(&sim.plan);
        let is_left = |task: &str| left.contains(&task);
        let checks = &mut sim.machine.core.checks;
        for undecided in [&mut checks.doubtful, &mut checks.unchecked_outside] {
            // 3 was never completed.
            assert_eq!(
                std::mem::take(undecided),
                if is_left("1") { vec![id("1")] } else { vec![] },
                "{reset:?}"
            );
        }
        sim.crash(false);
        let sim = sim.run();
        let left: Vec<TaskId> = left.iter().copied().map(id).collect();
        let of_second = |effect: &Effect| match effect {
            Effect::Emit(Event::IterationFinished { iteration: 2, completed, .. }) => Some(completed.clone()),
            _ => None,
        };
        let claimed: Vec<TaskId> = sim.trace.iter().find_map(of_second).unwrap();
        assert_eq!(claimed, if is_left("2") { vec![id("2")] } else { vec![] }, "{reset:?}");
        assert_eq!(sim.report().completed, left, "{reset:?}");
    }
}

#[test]
fn what_was_completed_in_a_last_turn_before_a_crash_is_taken_back() {
    let mut sim = Sim::new(1).hook(HookPoint::AfterIteration, |fired| says(fired, "late", Deliver::Next));
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke && fired.turn == Turn::Final);
    sim.plan.tasks.push(samuel_model::Task::new(id("2"), "added by the agent"));
    sim.complete_unheard("2");
    sim.crash_to_checkpoint();
    let sim = sim.run();
    sim.assert_left_well("after the crash");
    assert_eq!(sim.report().completed, [id("1"), id("2")]);
    assert_eq!(sim.report().iterations, 2, "task 2 was worked on in an iteration");
}

#[test]
fn what_is_completed_before_an_iteration_that_never_began_is_taken_back() {
    for stops in [true, false] {
        let mut sim = Sim::new(1).hook(HookPoint::IterationGate, |_| refuses("enough"));
        sim.go_until(|fired| fired.point == HookPoint::IterationGate);
        sim.feed(completed("1"));
        if stops {
            sim.feed(Input::Command(Command::Stop));
        }
        sim.run().assert_left_well("never began");
    }
}

#[test]
fn text_in_flight_survives_a_crash() {
    let mut sim = Sim::new(1).first(HookPoint::SessionStart, |fired| says(fired, "hello", Deliver::Next));
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    sim.crash(false);
    let sim = sim.run();
    let prompts: Vec<String> = sim.prompts().into_iter().map(|(_, prompt)| prompt).collect();
    assert_eq!(
        prompts,
        [quoted("hook h at session.start", "hello"), quoted("hook h at session.start", "hello")]
    );
}

#[test]
fn text_of_the_last_delivery_survives_a_crash() {
    let mut sim = Sim::new(1).first(HookPoint::AfterIteration, |fired| says(fired, "late", Deliver::Next));
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke && fired.turn == Turn::Final);
    sim.crash_to_checkpoint();
    let sim = sim.run();
    let delivered = sim.prompts().into_iter().filter(|(turn, _)| *turn == Turn::Final);
    let is_told = |(_, prompt): (Turn, String)| prompt.contains("late");
    assert_eq!(delivered.map(is_told).collect::<Vec<_>>(), [true, true]);
    assert_eq!(sim.report().undelivered, 0);
}

#[test]
fn a_run_that_has_ended_ignores_every_input() {
    let mut sim = Sim::new(1).run();
    for input in [
        Input::Start,
        Input::Resume { completed: vec![id("1")], skipped: Vec::new(), committed: false, began: false },
        Input::Command(Command::Stop),
        Input::WallClock,
        completed("1"),
        calls_tool(Some(1)),
    ] {
        sim.feed(input);
    }
}

#[test]
fn a_second_start_changes_nothing() {
    let mut sim = Sim::new(1);
    sim.go(9);
    let before = sim.trace.len();
    sim.feed(Input::Start);
    assert_eq!(sim.trace.len(), before);
}

#[test]
fn costs_are_saved_to_the_last_digit() {
    let mut machine = Machine::new(Setup::default());
    let mut bits: u64 = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..2_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let cost = f64::from_bits(0x3FF0_0000_0000_0000 | (bits >> 12)) * 0.1;
        machine.core.counters.usage.cost_usd = Some(cost);
        let saved = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&saved).unwrap(), machine, "{cost}");
    }
}
