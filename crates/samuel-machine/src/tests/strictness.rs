//! Handlers that refuse or break.

use samuel_hook::{BreakClass, HookPoint, OnFailure};
use samuel_model::{FailureClass, payload::Deliver};

use super::{script::*, sim::*, *};

#[test]
fn a_gate_that_says_stop_counts_no_iteration() {
    let sim = Sim::new(1).hook(HookPoint::IterationGate, |_| refuses("enough")).run();
    let report = sim.report();
    assert_eq!(report.exit_reason, ExitReason::GateStop);
    assert_eq!(report.detail.as_deref(), Some("enough"));
    assert_eq!((report.iterations, sim.plan.progress.total_iterations_run), (0, 0));
    sim.assert_left_well("gate");
}

#[test]
fn a_gate_that_breaks_fails_the_iteration_where_it_is_strict() {
    let sim = Sim::new(1).first(HookPoint::IterationGate, |_| aborts(OnFailure::AbortIteration)).run();
    assert_eq!(sim.failures(), [Some(FailureClass::HookBroke), None]);
    assert_eq!(sim.report().exit_reason, ExitReason::Completed);
}

#[test]
fn an_iteration_that_is_refused_counts_as_failed_and_calls_no_agent() {
    let sim = Sim::new(1).hook(HookPoint::BeforeIteration, |_| refuses("not on Sundays")).run();
    assert_eq!(sim.report().exit_reason, ExitReason::ConsecutiveFailures);
    assert_eq!(sim.failures(), [Some(FailureClass::Refused); 3]);
    assert_eq!((sim.count(HookPoint::AfterIteration), sim.count(HookPoint::IterationError)), (3, 3));
    assert_eq!((sim.count(HookPoint::IterationGate), sim.count(HookPoint::AgentInvoke)), (0, 0));
}

#[test]
fn a_loop_that_must_not_start_still_ends_in_order() {
    let answers = [
        (HookPoint::BeforeLoop, refuses("no plan"), ExitReason::GateStop),
        (HookPoint::BeforeLoop, aborts(OnFailure::AbortLoop), ExitReason::StrictHook),
        (HookPoint::SessionStart, aborts(OnFailure::AbortLoop), ExitReason::StrictHook),
    ];
    for (point, reply, reason) in answers {
        let sim = Sim::new(1).hook(point, move |_| reply.clone()).run();
        assert_eq!(sim.report().exit_reason, reason);
        assert_eq!(sim.points().last_chunk(), Some(&["after:loop", "session.end"]));
        assert_eq!((sim.count(HookPoint::BeforeIteration), sim.count(HookPoint::SessionStop)), (0, 0));
    }
}

#[test]
fn a_blocked_prompt_fails_the_iteration_with_the_reason() {
    let sim = Sim::new(1).hook(HookPoint::PromptSubmit, |_| refuses("secret in prompt")).run();
    let reasons = sim.events().filter_map(|event| match event {
        Event::IterationFinished { failure: Some(failure), .. } => Some(failure.message.as_str()),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["secret in prompt"; 3]);
    assert_eq!(sim.count(HookPoint::BeforeAgentInvoke), 0);
}

#[test]
fn a_handler_that_ends_the_loop_does_so_at_every_point_after_the_iteration_was_closed() {
    let all = HookPoint::ALL.iter().filter(|point| {
        !matches!(
            point,
            HookPoint::InitBefore | HookPoint::InitAfter | HookPoint::SyncBefore | HookPoint::SyncAfter
        )
    });
    for point in all.copied() {
        let sim = Sim::new(3)
            .limits(|limits| limits.max_consecutive_failures = 9)
            .agent(|fired, plan| {
                let mut work = completes_its_task(fired, plan);
                work.during.push(calls_tool(Some(7)));
                work.during.push(ended(Some(8)));
                work.exit_code = i32::from(fired.iteration == 1);
                work
            })
            .hook(HookPoint::AfterIteration, |fired| says(fired, "now", Deliver::Now))
            .hook(HookPoint::IterationError, |fired| says(fired, "diff", Deliver::Next))
            .hook(point, |_| aborts(OnFailure::AbortLoop))
            .run();
        assert_eq!(sim.report().exit_reason, ExitReason::StrictHook, "{point}");
        assert!(sim.report().detail.unwrap().contains("the handler h of"), "{point}");
        sim.assert_left_well(point.as_str());
        assert_eq!((sim.count(HookPoint::AfterLoop), sim.count(HookPoint::SessionEnd)), (1, 1), "{point}");
        let late = [HookPoint::SessionStop, HookPoint::AfterLoop, HookPoint::SessionEnd];
        if !late.contains(&point) {
            assert!(sim.report().iterations <= 1, "{point}");
            assert_eq!(
                sim.answers.len(),
                2 * sim.count(HookPoint::AgentInvoke),
                "{point}: who waits is answered"
            );
        }
    }
}

#[test]
fn a_wish_of_the_caller_is_not_hidden_by_a_handler_that_breaks_later() {
    let mut sim = Sim::new(3).hook(HookPoint::AfterLoop, |_| aborts(OnFailure::AbortLoop));
    sim.feed(Input::Command(Command::Cancel));
    assert_eq!(sim.run().report().exit_reason, ExitReason::Cancelled);
}

#[test]
fn a_strict_handler_beside_the_agent_stops_it_and_fails_the_iteration() {
    let sim = Sim::new(1).first(HookPoint::TaskCompleted, |_| aborts(OnFailure::AbortIteration)).run();
    assert_eq!(sim.interrupted.len(), 1);
    assert_eq!(sim.failures()[0], Some(FailureClass::HookBroke));
}

#[test]
fn an_agent_that_does_not_answer_fails_the_turn() {
    let cases = [
        (HookReply::default(), FailureClass::AgentStart),
        (broken(BreakClass::Panicked), FailureClass::HookBroke),
        (aborts(OnFailure::AbortIteration), FailureClass::HookBroke),
        (with(ReplyData::Agent(Default::default())), FailureClass::AgentStart),
    ];
    for (reply, class) in cases {
        let sim = Sim::new(1)
            .agent(|_, _| Work::default())
            .hook(HookPoint::AgentInvoke, move |_| reply.clone())
            .run();
        assert_eq!(sim.failures(), [Some(class); 3]);
        assert_eq!(sim.count(HookPoint::QualityCheck), 0);
    }
}

#[test]
fn an_agent_call_that_is_refused_fails_the_iteration() {
    let sim = Sim::new(1).hook(HookPoint::BeforeAgentInvoke, |_| refuses("no network")).run();
    assert_eq!(sim.failures(), [Some(FailureClass::Refused); 3]);
    assert_eq!((sim.count(HookPoint::AgentInvoke), sim.count(HookPoint::AfterAgentInvoke)), (0, 0));
}

#[test]
fn a_strict_observer_fails_the_iteration_after_a_good_agent_call() {
    let sim = Sim::new(1)
        .agent(|_, _| Work::default())
        .hook(HookPoint::AfterAgentInvoke, |_| refuses("too slow"))
        .run();
    assert_eq!(sim.failures(), [Some(FailureClass::Refused); 3]);
}
