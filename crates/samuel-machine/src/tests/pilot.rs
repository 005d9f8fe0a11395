//! Looking for tasks.

use std::num::NonZeroU32;

use samuel_hook::HookPoint;
use samuel_model::{
    Plan, Status,
    payload::{Actor, Mode},
};
use samuel_state::{plan::Pilot, testing::Seeded};

use super::{script::*, sim::*, *};
use crate::event::{Event, PlanChange};

fn pilot(tasks: usize, interval: u32) -> Sim {
    let mut sim = Sim::new(tasks);
    sim.machine.core.setup.pilot =
        Pilot { enabled: true, interval: NonZeroU32::new(interval).unwrap(), ..Pilot::default() };
    sim
}

/// Somebody adds a task.
fn adds(task: &str) -> Input {
    Input::PlanChanged(PlanChanged {
        change: PlanChange::Added,
        task: id(task),
        title: format!("task {task}"),
        reason: None,
        actor: Actor::Agent,
        others_at_work: false,
        seq: 0,
    })
}

/// What the iterations that were committed were for, over all runs.
fn modes(sim: &Sim) -> Vec<Mode> {
    let mode = |effect: &Effect| match effect {
        Effect::Mutate(Mutation::CommitIteration { mode, .. }) => Some(*mode),
        _ => None,
    };
    sim.trace.iter().filter_map(mode).collect()
}

impl Sim {
    /// Says what the iterations of the run were for, by their numbers: one whose end was lost in a
    /// crash is committed again.
    fn modes_by_number(&self) -> Vec<Mode> {
        let mode = |effect: &Effect| match effect {
            Effect::Mutate(Mutation::CommitIteration { iteration, mode, .. }) => Some((*iteration, *mode)),
            _ => None,
        };
        self.trace
            .iter()
            .filter_map(mode)
            .collect::<std::collections::BTreeMap<_, _>>()
            .into_values()
            .collect()
    }
}

/// Which of them looked for tasks, from 1.
fn discoveries(modes: &[Mode]) -> Vec<usize> {
    (1..).zip(modes).filter(|(_, mode)| **mode == Mode::Discovery).map(|(number, _)| number).collect()
}

/// A run of so many iterations, every third of which looks for tasks, on a plan.
fn run_of(iterations: u32, plan: Plan) -> Sim {
    let mut sim = pilot(0, 3).limits(|limits| limits.max_iterations = NonZeroU32::new(iterations));
    sim.plan = plan;
    sim
}

/// Goes on with runs of so many iterations until twelve were made in all, and says what each was for.
fn up_to_twelve(iterations: u32, mut plan: Plan) -> (Vec<Mode>, Plan) {
    let mut all = Vec::new();
    while plan.progress.total_iterations_run < 12 {
        let sim = run_of(iterations, plan).run();
        assert_eq!(sim.report().exit_reason, ExitReason::MaxIterations);
        all.extend(modes(&sim));
        plan = sim.plan;
    }
    (all, plan)
}

#[test]
fn every_third_iteration_of_twelve_looks_for_tasks_in_however_many_runs() {
    for iterations in [12, 4, 3, 1] {
        let (all, plan) = up_to_twelve(iterations, pilot(20, 3).plan);
        assert_eq!(discoveries(&all), [1, 4, 7, 10], "in runs of {iterations}");
        assert_eq!((plan.count(Status::Completed), plan.progress.discovery_iterations), (8, 4));
        assert_eq!((plan.progress.last_discovery_iteration, plan.progress.discovery_room), (10, None));
    }
}

/// Crashes a run at steps that are drawn, so many of a hundred, and holds what becomes of it and of the runs after it
/// against the schedule. Returns the run, which went on without a crash.
fn crashed_at_steps(drawn: &mut Seeded, percent: u64, mut sim: Sim, iterations: u32, before: &[Mode]) -> Sim {
    sim.go(1);
    while !sim.machine.is_ended() {
        let crashes: &[bool] = if drawn.chance(percent) { &[true, false] } else { &[] };
        for &carried_out in crashes {
            let mut crashed = sim.clone().without_saving();
            crashed.crash(carried_out);
            let crashed = crashed.run();
            let of_run = crashed.modes_by_number();
            let (later, plan) = up_to_twelve(iterations, crashed.plan);
            let all = [before, &of_run, &later].concat();
            let step = format!("step {} in {:?}", sim.steps, sim.machine.state);
            // One that was cut off is an iteration, too.
            assert_eq!(discoveries(&all), [1, 4, 7, 10], "{step}");
            let progress = &plan.progress;
            assert_eq!((progress.discovery_iterations, progress.last_discovery_iteration), (4, 10), "{step}");
            assert_eq!((progress.total_iterations_run, progress.discovery_room), (12, None), "{step}");
        }
        sim.go(sim.steps + 1);
    }
    sim
}

// Takes about 8 s: each crash is followed by the rest of twelve iterations. By default one step in seven crashes, with
// `SAMUEL_LONG=1` each.
#[test]
fn the_schedule_of_twelve_iterations_holds_over_a_crash_at_every_step_of_one_run_and_of_three() {
    let percent = if std::env::var_os("SAMUEL_LONG").is_some() { 100 } else { 15 };
    let mut drawn = Seeded::new(12);
    for iterations in [12, 4] {
        let (mut plan, mut before, mut steps) = (pilot(20, 3).plan, Vec::new(), 0);
        while plan.progress.total_iterations_run < 12 {
            let run = run_of(iterations, plan);
            let sim = crashed_at_steps(&mut drawn, percent, run, iterations, &before);
            before.extend(modes(&sim));
            steps += sim.steps;
            plan = sim.plan;
        }
        assert!(steps > 180, "{steps} steps");
    }
}

#[test]
fn an_idle_agent_ends_after_two_discoveries_of_an_empty_and_of_a_blocked_plan() {
    let mut blocked = pilot(1, 3);
    blocked.plan.tasks[0].status = Status::Blocked;
    for (sim, why) in [(pilot(0, 3), ""), (blocked, "; 1 is marked as blocked")] {
        let sim = sim.run();
        let report = sim.report();
        assert_eq!(discoveries(&modes(&sim)), [1, 2]);
        assert_eq!(report.exit_reason, ExitReason::EmptyDiscovery);
        let detail = report.detail.unwrap_or_default();
        assert!(detail.starts_with(&format!("discovery found nothing twice in a row{why}")), "{detail}");
    }
}

#[test]
fn what_is_found_is_worked_on_and_counts_until_it_is_left_out() {
    let sim = pilot(0, 9).agent(|fired, plan| match (fired.iteration, plan.tasks.len()) {
        (1, _) => Work { during: vec![adds("1"), adds("2")], ..Work::default() },
        // This is no task that stays.
        (4, _) => Work { during: vec![adds("3"), skipped("3")], ..Work::default() },
        // This is one, whatever becomes of others.
        (5, _) => Work { during: vec![adds("4"), skipped("1")], ..Work::default() },
        _ => completes_its_task(fired, plan),
    });
    let sim = sim.run();
    assert_eq!(discoveries(&modes(&sim)), [1, 4, 5, 7, 8]);
    assert_eq!(sim.report().exit_reason, ExitReason::EmptyDiscovery);
    assert_eq!((sim.status("2"), sim.status("4")), (Status::Completed, Status::Completed));
}

#[test]
fn what_is_added_and_left_out_again_was_not_found() {
    let sim = pilot(0, 9).agent(|fired, _| {
        let task = fired.iteration.to_string();
        Work { during: vec![adds(&task), skipped(&task)], ..Work::default() }
    });
    let sim = sim.run();
    assert_eq!(discoveries(&modes(&sim)), [1, 2]);
    assert_eq!(sim.report().exit_reason, ExitReason::EmptyDiscovery);
}

#[test]
fn a_run_that_only_looks_ends_after_two_empty_discoveries_with_work_left_and_no_gate_has_it_work() {
    let mut sim =
        pilot(3, 9).hook(HookPoint::IterationGate, |_| with(ReplyData::Mode(Some(Mode::Implementation))));
    sim.machine.core.setup.pilot.only = true;
    let sim = sim.run();
    assert_eq!(modes(&sim), [Mode::Discovery, Mode::Discovery]);
    assert_eq!(sim.report().exit_reason, ExitReason::EmptyDiscovery);
    assert_eq!(sim.plan.count(Status::Pending), 3);
}

#[test]
fn the_gate_is_asked_before_a_run_with_nothing_left_ends_and_may_end_it() {
    let mut sim =
        pilot(0, 3).hook(HookPoint::IterationGate, |_| with(ReplyData::Mode(Some(Mode::Implementation))));
    sim.machine.core.setup.has_checks = false;
    let sim = sim.run();
    assert_eq!((sim.count(HookPoint::IterationGate), modes(&sim).len()), (1, 0));
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn what_looks_for_tasks_is_checked_only_where_it_changed_the_work_tree() {
    let still = pilot(0, 3).run();
    assert_eq!(still.count(HookPoint::QualityCheck), 1, "that of the end");
    let order = still.points();
    let place = |wanted| order.iter().rposition(|point| *point == wanted);
    assert!(place("quality.check") > place("after:iteration"), "{order:?}");
    let mut sim = pilot(0, 3);
    sim.agent_writes = true;
    let sim = sim.run();
    assert_eq!(sim.count(HookPoint::QualityCheck), 2);
}

#[test]
fn a_failed_discovery_says_nothing_about_what_there_is_to_find() {
    let sim = pilot(0, 3)
        .limits(|limits| limits.max_consecutive_failures = 9)
        .agent(|fired, _| if fired.iteration <= 2 { exits(7) } else { Work::default() });
    let sim = sim.run();
    assert_eq!((modes(&sim).len(), sim.report().failed_iterations), (4, 2));
    assert_eq!(sim.report().exit_reason, ExitReason::EmptyDiscovery);
}

#[test]
fn no_gate_changes_what_a_lane_is_for() {
    let mut sim =
        pilot(1, 9).hook(HookPoint::IterationGate, |_| with(ReplyData::Mode(Some(Mode::Implementation))));
    sim.machine.core.setup.in_lane = true;
    let sim = sim.run();
    assert_eq!(discoveries(&modes(&sim)), [1, 3, 4]);
    let warned = |effect: &&Effect| matches!(effect, Effect::Emit(Event::Warning { message }) if message.contains("iteration.gate"));
    assert_eq!(sim.trace.iter().filter(warned).count(), 3, "not where it says what it is for");
}

#[test]
fn what_all_lanes_found_ends_a_lane_and_not_what_it_found_itself() {
    let mut sim = pilot(2, 9);
    (sim.machine.core.setup.in_lane, sim.machine.core.setup.pilot.only) = (true, true);
    sim.machine.core.counters.empty_discoveries = 9;
    let next = |empty_discoveries| {
        let lane = LaneWork { iteration: 7, empty_discoveries, ..LaneWork::default() };
        sim.machine.core.next(&WorkLeft {
            work: samuel_state::plan::Work::of(&sim.plan, &[], &samuel_model::Scope::All),
            answered: None,
            changed: None,
            queue_size: 2,
            mode: Mode::Discovery,
            elapsed_ms: 0,
            lane: Some(lane),
        })
    };
    assert_eq!(next(1), samuel_state::plan::Next::Iteration { task: None });
    assert!(matches!(next(2), samuel_state::plan::Next::End { reason: ExitReason::EmptyDiscovery, .. }));
}
