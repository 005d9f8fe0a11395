//! Completions and what stands behind them.

use samuel_hook::{BreakClass, HookPoint, HookStatus, OnFailure, Outcome, SkipReason, Timing};
use samuel_model::Plan;
use samuel_model::{
    FailureClass, ProgressStatus, Status,
    payload::{Deliver, Mode, Turn},
};

use super::{script::*, sim::*, *};

/// Answers the first check with something else than "fine".
fn first_check(reply: HookReply) -> Sim {
    Sim::new(1).first(HookPoint::QualityCheck, move |_| reply.clone())
}

fn taken_back(sim: &Sim) -> Vec<(Vec<TaskId>, Vec<String>)> {
    let taken = |event: &Event| match event {
        Event::TasksTakenBack { tasks, reasons } => Some((tasks.clone(), reasons.clone())),
        _ => None,
    };
    sim.events().filter_map(taken).collect()
}

#[test]
fn a_failed_check_takes_back_what_the_iteration_completed() {
    let sim = first_check(fails_check("2 tests failed")).run();
    assert_eq!(sim.failures(), [Some(FailureClass::QualityCheck), None]);
    assert_eq!(taken_back(&sim), [(vec![id("1")], vec!["test: 2 tests failed".into()])]);
    let order = sim.order();
    let check = order.iter().position(|label| label == "quality.check").unwrap();
    assert_eq!(order[check..check + 3], ["quality.check", "take_back", "after:iteration"]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    sim.assert_left_well("redone");
}

#[test]
fn a_broken_check_takes_back_too_with_its_own_class() {
    let sim = first_check(aborts(OnFailure::AbortIteration)).run();
    assert_eq!(sim.failures(), [Some(FailureClass::HookBroke), None]);
    assert_eq!(
        taken_back(&sim),
        [(vec![id("1")], vec!["the handler h of quality.check broke: failed: broke".into()])]
    );
}

#[test]
fn a_check_whose_breaking_is_a_warning_lets_completions_stand() {
    let sim = first_check(broken(BreakClass::Timeout)).run();
    assert_eq!(sim.failures(), [None]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn a_cancelled_check_lets_nothing_stand() {
    let sim = first_check(broken(BreakClass::Cancelled)).run();
    assert_eq!(sim.failures(), [Some(FailureClass::HookBroke), None]);
    assert_eq!(taken_back(&sim).len(), 1);
}

#[test]
fn an_advisory_check_that_fails_lets_completions_stand() {
    let mut advice = fails_check("lint");
    advice.outcome.refused = None;
    let sim = first_check(advice).run();
    assert_eq!((sim.failures(), taken_back(&sim)), (vec![None], Vec::new()));
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn a_check_that_is_kept_to_the_other_mode_says_nothing_and_lets_nothing_stand() {
    let skipped = SkipReason::OtherMode(Mode::Discovery);
    let outcome = Outcome { skipped: Some(skipped), ..Default::default() };
    let sim = first_check(HookReply { outcome, ..Default::default() }).run();
    assert_eq!(sim.failures(), [None, None], "to be skipped is no failure");
    assert_eq!(taken_back(&sim), [(vec![id("1")], vec!["completed without a check".into()])]);
    let told = sim.events().filter(|event| matches!(event, Event::QualityChecked { .. }));
    assert_eq!(told.count(), 1, "of the second iteration");
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    sim.assert_left_well("redone");
}

#[test]
fn a_check_that_failed_is_not_forgotten_over_one_that_was_skipped() {
    let sim = Sim::new(1)
        .limits(|limits| limits.max_iterations = std::num::NonZero::new(3))
        .hooks(|fired| {
            let outcome =
                Outcome { skipped: Some(SkipReason::OtherMode(Mode::Discovery)), ..Default::default() };
            match (fired.point, fired.nth) {
                (HookPoint::QualityCheck, 0) => Some(fails_check("red")),
                (HookPoint::QualityCheck, _) => Some(HookReply { outcome, ..Default::default() }),
                _ => None,
            }
        })
        .run();
    assert_eq!(sim.machine.core.checks.last_check, Some(false));
    sim.assert_left_well("unchecked");
}

#[test]
fn a_stop_during_the_check_takes_back() {
    let mut sim = Sim::new(1);
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    sim.feed(Input::Command(Command::Stop));
    let sim = sim.run();
    assert_eq!(sim.status("1"), Status::Pending);
    assert_eq!(taken_back(&sim).len(), 1);
    sim.assert_left_well("stopped");
}

#[test]
fn a_check_that_passed_just_before_the_stop_counts() {
    let mut sim = Sim::new(1);
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    sim.feed(Input::Command(Command::Stop));
    sim.answer(HookReply::default());
    let sim = sim.run();
    assert_eq!(sim.status("1"), Status::Completed);
    assert_eq!(sim.report().completed, [id("1")]);
    sim.assert_left_well("stopped");
}

#[test]
fn what_a_failed_agent_completed_is_checked_and_can_stand() {
    let work = |fired: &Fired, plan: &Plan| Work { exit_code: 1, ..completes_its_task(fired, plan) };
    let sim = Sim::new(1).agent(work).run();
    assert_eq!(sim.failures(), [Some(FailureClass::AgentExit)]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
    assert_eq!(sim.count(HookPoint::QualityCheck), 1);
}

#[test]
fn what_is_completed_in_an_extra_turn_is_taken_back() {
    use ExitReason::{ConsecutiveFailures, MaxIterations};
    use HookPoint::{AfterIteration, IterationError};
    for (turn, point, deliver, reason) in [
        (Turn::Recovery, IterationError, Deliver::Next, ConsecutiveFailures),
        (Turn::Immediate, AfterIteration, Deliver::Now, MaxIterations),
        (Turn::Final, AfterIteration, Deliver::Next, MaxIterations),
    ] {
        let sim = Sim::new(1)
            .limits(|limits| {
                (limits.max_iterations, limits.max_consecutive_failures) = (std::num::NonZero::new(1), 1)
            })
            .agent(move |fired, _| match fired.turn {
                Turn::Main if turn == Turn::Recovery => exits(1),
                now if now == turn => Work { during: vec![completed("1")], ..Default::default() },
                _ => Work::default(),
            })
            .hook(point, move |fired| says(fired, "more", deliver))
            .run();
        assert_eq!(taken_back(&sim), [(vec![id("1")], vec!["completed without a check".into()])], "{turn:?}");
        assert_eq!((sim.report().exit_reason, sim.plan.progress.status), (reason, ProgressStatus::Stopped));
        sim.assert_left_well("an extra turn");
    }
}

#[test]
fn what_is_completed_while_the_check_is_at_work_has_no_check_behind_it() {
    let mut sim = Sim::new(2).limits(|limits| limits.max_iterations = std::num::NonZero::new(1));
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    sim.feed(completed("2"));
    let sim = sim.run();
    assert_eq!((sim.status("1"), sim.status("2")), (Status::Completed, Status::Pending));
    sim.assert_left_well("during the check");
}

#[test]
fn the_plan_says_how_the_run_stands() {
    let mut sim = Sim::new(1);
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke);
    assert_eq!(sim.plan.progress.status, ProgressStatus::Running);
    assert_eq!(sim.run().plan.progress.status, ProgressStatus::Completed);
}

/// A run whose only task was given up, after a run whose last check failed.
fn after_a_failed_check() -> Sim {
    let earlier = first_check(fails_check("red")).limits(|limits| limits.max_consecutive_failures = 1).run();
    let mut sim = Sim::new(1);
    sim.plan.tasks[0].status = Status::Skipped;
    sim.machine.succeed(&earlier.machine, false);
    sim
}

#[test]
fn a_check_that_failed_in_the_run_before_is_made_once_more_before_a_run_is_completed() {
    let red = after_a_failed_check().hook(HookPoint::QualityCheck, |_| fails_check("red")).run();
    assert_eq!((red.report().exit_reason, red.count(HookPoint::QualityCheck)), (ExitReason::Blocked, 1));
    let green = after_a_failed_check().run();
    assert_eq!(
        (green.report().exit_reason, green.count(HookPoint::QualityCheck)),
        (ExitReason::Completed, 1)
    );
    assert_eq!((green.report().iterations, green.count(HookPoint::AfterIteration)), (0, 0));
}

#[test]
fn a_check_between_iterations_can_be_stopped() {
    let mut sim = after_a_failed_check();
    sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
    sim.feed(Input::Command(Command::Stop));
    let sim = sim.run();
    assert_eq!(
        (sim.report().exit_reason, sim.machine.core.checks.last_check),
        (ExitReason::Cancelled, Some(false))
    );
}

#[test]
fn a_state_that_an_earlier_version_saved_can_be_loaded() {
    let mut saved = serde_json::to_value(&Sim::new(1).machine).unwrap();
    for added in ["check_age", "end_checks", "warned_of_cost"] {
        saved.as_object_mut().unwrap().remove(added).unwrap();
    }
    assert_eq!(serde_json::from_value::<Machine>(saved).unwrap(), Sim::new(1).machine);
}

/// A run that pauses after its first iteration, in which a user completes the
/// task that is left.
fn completed_by_hand() -> Sim {
    let mut sim = Sim::new(2);
    sim.go_until_it(|machine| machine.state == State::Sleep);
    sim.completed_by_hand("2");
    sim
}

#[test]
fn what_a_user_completes_by_hand_stands_and_is_checked_before_the_run_is_completed() {
    let green = completed_by_hand().run();
    assert_eq!(
        (green.report().exit_reason, green.count(HookPoint::QualityCheck)),
        (ExitReason::Completed, 2)
    );
    let red = completed_by_hand()
        .hooks(|fired| (fired.point == HookPoint::QualityCheck && fired.nth > 0).then(|| fails_check("red")))
        .run();
    assert_eq!((red.report().exit_reason, red.count(HookPoint::QualityCheck)), (ExitReason::Blocked, 2));
    assert_eq!(red.status("2"), Status::Completed, "it is their own word");
}

#[test]
fn a_check_for_the_end_that_completes_tasks_itself_is_not_asked_for_ever() {
    let mut sim = completed_by_hand();
    for _ in 0..10 {
        let checks = sim.count(HookPoint::QualityCheck);
        while sim.count(HookPoint::QualityCheck) == checks && !sim.machine.is_ended() {
            sim.go(sim.steps + 1);
        }
        if sim.machine.is_ended() {
            break;
        }
        sim.completed_by_hand("2");
    }
    let sim = sim.run();
    assert_eq!((sim.report().exit_reason, sim.count(HookPoint::QualityCheck)), (ExitReason::Blocked, 4));
    assert!(sim.report().detail.unwrap().contains("no check has passed since"));
}

#[test]
fn a_plan_that_was_settled_before_the_run_is_checked_once() {
    let settled = || {
        let mut sim = Sim::new(1);
        sim.plan.tasks[0].status = Status::Completed;
        sim
    };
    let red = settled().hook(HookPoint::QualityCheck, |_| fails_check("red")).run();
    assert_eq!((red.report().exit_reason, red.report().iterations), (ExitReason::Blocked, 0));
    let green = settled().run();
    assert_eq!(
        (green.report().exit_reason, green.count(HookPoint::QualityCheck)),
        (ExitReason::Completed, 1)
    );
    // What passed is not asked again, unless something was completed since.
    for (completed_since, checks) in [(false, 0), (true, 1)] {
        let mut next = settled();
        next.machine.succeed(&green.machine, completed_since);
        let next = next.run();
        assert_eq!(next.report().exit_reason, ExitReason::Completed);
        assert_eq!(next.count(HookPoint::QualityCheck), checks);
    }
    let mut unchecked = settled();
    unchecked.machine.core.setup.has_checks = false;
    assert_eq!(unchecked.run().count(HookPoint::QualityCheck), 0, "there is nothing to ask");
}

#[test]
fn a_check_that_passed_is_asked_again_where_another_one_is_configured() {
    let green = Sim::new(1).run();
    let mut next = Sim::new(1);
    next.plan.tasks[0].status = Status::Completed;
    next.machine.core.setup.checks = vec!["cargo test".into()];
    next.machine.succeed(&green.machine, false);
    assert_eq!(next.run().count(HookPoint::QualityCheck), 1);
}

#[test]
fn a_plan_that_was_replaced_unseen_is_checked_before_the_run_is_completed() {
    let mut sim = Sim::new(2).agent(|fired, plan| match fired.iteration {
        1 => completes_its_task(fired, plan),
        _ => exits(1),
    });
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke && fired.iteration == 2);
    sim.done_in_plan(&id("2"));
    sim.feed(Input::Unheard);
    let sim = sim.hook(HookPoint::QualityCheck, |_| fails_check("red")).run();
    assert_eq!(sim.report().exit_reason, ExitReason::Blocked);
}

#[test]
fn what_a_last_turn_completes_keeps_the_run_from_being_completed() {
    let sim = Sim::new(1)
        .agent(|fired, plan| match fired.turn {
            Turn::Final => Work { during: vec![completed("1")], ..Work::default() },
            _ => completes_its_task(fired, plan),
        })
        .hook(HookPoint::AfterIteration, |fired| says(fired, "late", Deliver::Next))
        .run();
    assert_eq!(sim.report().exit_reason, ExitReason::Blocked);
    assert_eq!((sim.status("1"), sim.plan.progress.status), (Status::Pending, ProgressStatus::Stopped));
}

#[test]
fn work_that_a_last_turn_leaves_keeps_the_run_from_being_completed() {
    let mut sim = Sim::new(1).hook(HookPoint::AfterIteration, |fired| says(fired, "late", Deliver::Next));
    sim.go_until(|fired| fired.point == HookPoint::AgentInvoke && fired.turn == Turn::Final);
    sim.plan.tasks[0].status = Status::Pending;
    let report = sim.run().report();
    assert_eq!(
        (report.exit_reason, report.detail.as_deref()),
        (ExitReason::Blocked, Some("the last turn left task 1 open"))
    );
}

#[test]
fn files_that_were_changed_before_or_during_the_check_let_nothing_stand() {
    for (during_check, when) in [
        (false, "before the work was checked"),
        (true, "while the quality checks ran, by a check itself perhaps"),
    ] {
        let mut sim = Sim::new(2);
        sim.go_until(|fired| fired.point == HookPoint::QualityCheck);
        sim.feed(completed("2"));
        sim.refuse_check("changed: check.sh", during_check);
        let sim = sim.run();
        let reason = format!("control files were changed {when}: changed: check.sh");
        assert_eq!(taken_back(&sim), [(vec![id("1"), id("2")], vec![reason])]);
        assert_eq!((sim.status("1"), sim.status("2")), (Status::Pending, Status::Pending));
        assert_eq!(sim.report().exit_reason, ExitReason::ControlFilesChanged);
        assert_eq!(sim.report().detail.as_deref(), Some("changed: check.sh"));
        sim.assert_left_well("changed");
    }
}

#[test]
fn what_is_completed_while_an_iteration_is_closed_is_taken_back() {
    let mut sim = Sim::new(2).limits(|limits| limits.max_iterations = std::num::NonZero::new(1));
    sim.go_until_it(|machine| matches!(machine.state, State::Mutate(Then::CloseIteration(_))));
    sim.completed_by_hand("2");
    let sim = sim.run();
    assert_eq!((sim.status("1"), sim.status("2")), (Status::Completed, Status::Pending));
    sim.assert_left_well("late");
}

#[test]
fn a_cost_that_is_none_is_told_once_and_spends_nothing_back() {
    let cost = |cost| Usage { cost_usd: Some(cost), ..Usage::default() };
    let sim = Sim::new(4).limits(|limits| (limits.max_cost_usd, limits.forecast) = (Some(1.0), false)).agent(
        move |fired, plan| {
            let usage = cost([-100.0, 0.6, f64::NAN, 0.6][fired.iteration as usize - 1]);
            Work { usage, ..completes_its_task(fired, plan) }
        },
    );
    let sim = sim.run();
    assert_eq!((sim.report().exit_reason, sim.report().usage.cost_usd), (ExitReason::Budget, Some(1.2)));
    assert_eq!(sim.events().filter(|event| matches!(event, Event::Warning { .. })).count(), 1);
}

#[test]
fn a_refusal_in_the_words_of_a_handler_names_the_handler() {
    let refusal = |_: &Fired| {
        let mut reply = refuses("3 warnings");
        let timing = |handler: &str, status: HookStatus| Timing {
            handler: handler.into(),
            took: std::time::Duration::ZERO,
            status,
            class: None,
            exit_code: None,
        };
        reply.outcome.timings =
            vec![timing("default", HookStatus::Ok), timing("lint:check.sh", HookStatus::Refused)];
        reply
    };
    let sim = Sim::new(1)
        .hook(HookPoint::QualityCheck, refusal)
        .limits(|limits| limits.max_iterations = std::num::NonZero::new(1))
        .run();
    let told = sim.events().find_map(|event| match event {
        Event::QualityChecked { reason, .. } => reason.clone(),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("lint:check.sh: 3 warnings"));
}
