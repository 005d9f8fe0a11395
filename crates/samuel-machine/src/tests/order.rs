//! What happens in which order.

use samuel_hook::{HookPoint, context::Framing};
use samuel_model::{
    ExitReason, FailureClass, Status,
    payload::{Deliver, Turn},
};

use super::{script::*, sim::*};

const ITERATION: [&str; 17] = [
    "load",
    "before:iteration",
    "iteration.gate",
    "start_task",
    "prompt.submit",
    "context.snapshot",
    "context.progress",
    "context.task",
    "context.extra",
    "before:agent.invoke",
    "agent.invoke",
    "task.completed",
    "after:agent.invoke",
    "quality.check",
    "after:iteration",
    "return_to_pending",
    "commit_iteration",
];

#[test]
fn three_tasks_are_worked_on_one_after_the_other() {
    let sim = Sim::new(3).run();
    let pause = ["load", "sleep"];
    let mut expected = vec!["session.start", "before:loop", "set_progress_status"];
    for _ in 0..2 {
        expected.extend(ITERATION.iter().chain(&pause));
    }
    expected.extend(ITERATION);
    expected.extend(["load", "session.stop", "after:loop", "session.end", "set_progress_status"]);
    assert_eq!(sim.order(), expected);
    let report = sim.report();
    assert_eq!(report.exit_reason, ExitReason::Completed);
    assert_eq!(report.completed, [id("1"), id("2"), id("3")]);
    assert_eq!((report.iterations, report.failed_iterations), (3, 0));
    assert_eq!(sim.plan.progress.total_iterations_run, 3);
}

#[test]
fn an_iteration_whose_agent_exits_with_7_ends_in_a_recovery_turn() {
    let sim = Sim::new(1)
        .limits(|limits| limits.max_consecutive_failures = 1)
        .agent(|_, _| exits(7))
        .hook(HookPoint::IterationError, |fired| says(fired, "look at the diff", Deliver::Next))
        .run();
    let order = sim.order();
    let from = order.iter().position(|label| label == "agent.invoke").unwrap();
    assert_eq!(
        order[from..],
        [
            "agent.invoke",
            "after:agent.invoke",
            "after:iteration",
            "iteration.error",
            "before:agent.invoke (recovery)",
            "agent.invoke (recovery)",
            "after:agent.invoke (recovery)",
            "fingerprint",
            "return_to_pending",
            "commit_iteration",
            "load",
            "session.stop",
            "after:loop",
            "session.end",
            "set_progress_status",
        ]
    );
    let (turn, prompt) = sim.prompts().remove(1);
    assert_eq!(turn, Turn::Recovery);
    let advice = quoted("hook h at iteration.error", "look at the diff");
    let why = "[samuel:] This is another turn of iteration 1, about task 1 \"task 1\" (`samuel run show 1` prints \
         it): the iteration failed (agent-exit), and handlers said something about it.";
    assert_eq!(prompt, format!("{}\n{why}\n\n{advice}", Framing::default().preamble()));
    assert_eq!(sim.failures(), [Some(FailureClass::AgentExit)]);
    assert_eq!(sim.status("1"), Status::Pending);
}

#[test]
fn a_failure_without_text_has_no_recovery_turn() {
    let sim = Sim::new(1).limits(|limits| limits.max_consecutive_failures = 1).agent(|_, _| exits(7)).run();
    assert_eq!(sim.count(HookPoint::IterationError), 1);
    assert_eq!(sim.count(HookPoint::AgentInvoke), 1);
}
