//! Why runs stopped and completions were taken back, from the record alone.

use std::{fmt::Write as _, num::NonZero};

use samuel_core::{
    agent::Script,
    engine::RunBuilder,
    event::{CheckResult, PlanChange},
    event::{Event, IterationFailure, RunReport},
    history::{Question, Why},
    hook::{Abort, BreakClass, HookFailure, HookPoint, OnFailure, Outcome, points},
    model::{
        ExitReason, FailureClass, IterationOutcome, TaskId, Usage,
        payload::{Actor, Turn},
    },
    testing::{Act, Bench, FakeHandler, completes_each_task},
};

use crate::kit::{RUN, checked, history, on_disk, tell};

fn told(why: &Why) -> String {
    let mut text = format!("{}\n", why.answer);
    for reason in &why.reasons {
        let events: Vec<String> =
            reason.events.iter().map(|event| format!("{} {}", event.seq, event.event)).collect();
        writeln!(text, "- {} [{}]", reason.text, events.join(", ")).unwrap();
        for detail in &reason.details {
            writeln!(text, "  | {detail}").unwrap();
        }
    }
    text
}

fn finished(iteration: u32, failed: bool, in_a_row: u32) -> Event {
    let failure =
        IterationFailure { class: FailureClass::QualityCheck, message: format!("check {iteration}") };
    Event::IterationFinished {
        iteration,
        outcome: if failed { IterationOutcome::Failed } else { IterationOutcome::Succeeded },
        failure: failed.then_some(failure),
        completed: Vec::new(),
        usage: Usage::default(),
        consecutive_failures: in_a_row,
        excused: false,
        unrecorded: false,
        commit: None,
    }
}

fn report(exit_reason: ExitReason) -> RunReport {
    RunReport {
        exit_reason,
        detail: Some(format!("because of {exit_reason}")),
        iterations: 2,
        failed_iterations: 1,
        completed: Vec::new(),
        unrecorded: Vec::new(),
        skipped: Vec::new(),
        left: Vec::new(),
        undelivered: 0,
        settled: false,
        usage: Usage::default(),
        agents: Vec::new(),
        swept: true,
        fault: None,
        limit: None,
    }
}

/// Returns the event of a hook that ends runs for this reason.
fn hook_that_ends(reason: ExitReason) -> Option<Event> {
    let (point, outcome) = match reason {
        ExitReason::GateStop | ExitReason::StopBlocked => {
            let point = if reason == ExitReason::GateStop {
                HookPoint::IterationGate
            } else {
                HookPoint::SessionStop
            };
            (point, Outcome { refused: Some("not today".to_owned()), ..Outcome::default() })
        }
        ExitReason::StrictHook => {
            let point = HookPoint::BeforeLoop;
            let failure = HookFailure::new(BreakClass::Timeout, "no answer");
            let abort = Abort { handler: "lint:x".into(), point, action: OnFailure::AbortLoop, failure };
            (point, Outcome { abort: Some(abort), ..Outcome::default() })
        }
        _ => return None,
    };
    Some(Event::HookFired { point, iteration: 2, turn: Turn::Main, outcome })
}

#[test]
fn each_exit_reason_is_explained_by_the_events_that_led_to_it() {
    let bench = on_disk(&[("1", "First")]);
    let mut all = String::new();
    for (reason, number) in ExitReason::ALL.iter().zip(10..) {
        let run = format!("202611{number}T100000Z-abcd");
        let checked = |ok| Event::QualityChecked {
            iteration: 2,
            ok,
            result: if ok { CheckResult::Passed } else { CheckResult::Failed },
            failures: Vec::new(),
            reason: None,
            commit: None,
        };
        let blocked = Event::PlanChanged {
            change: PlanChange::Blocked,
            task: TaskId::new("1"),
            title: "First".to_owned(),
            reason: Some("no access".to_owned()),
            actor: Actor::Agent,
        };
        let mut events =
            vec![finished(1, true, 1), checked(false), finished(2, true, 2), blocked, checked(true)];
        if *reason == ExitReason::Cancelled {
            events.push(Event::Stopping { reason: *reason, detail: None });
        }
        events.extend(hook_that_ends(*reason));
        events.push(Event::RunFinished(report(*reason)));
        tell(&*bench.lane(), &run, events);
        let why = history(&bench).why(&Question::Run(Some(run))).unwrap();
        write!(all, "{}", told(&why)).unwrap();
    }
    insta::assert_snapshot!(all, @r"
    it ended as completed: because of completed
    - checks passed [5 quality_checked]
    - the run ended: completed (because of completed), 2 iterations, completed nothing [6 run_finished]
    it ended as blocked: because of blocked
    - checks failed [2 quality_checked]
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - task 1 was blocked by agent: no access [4 plan_changed]
    - the run ended: blocked (because of blocked), 2 iterations, completed nothing [6 run_finished]
    it ended as max-iterations: because of max-iterations
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: max-iterations (because of max-iterations), 2 iterations, completed nothing [6 run_finished]
    it ended as consecutive-failures: because of consecutive-failures
    - iteration 1 failed, quality-check: check 1 [1 iteration_finished]
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: consecutive-failures (because of consecutive-failures), 2 iterations, completed nothing [6 run_finished]
    it ended as gate-stop: because of gate-stop
    - iteration.gate: refused: not today [6 hook_fired]
    - the run ended: gate-stop (because of gate-stop), 2 iterations, completed nothing [7 run_finished]
    it ended as stop-blocked: because of stop-blocked
    - session.stop: refused: not today [6 hook_fired]
    - the run ended: stop-blocked (because of stop-blocked), 2 iterations, completed nothing [7 run_finished]
    it ended as no-progress: because of no-progress
    - iteration 1 failed, quality-check: check 1 [1 iteration_finished]
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: no-progress (because of no-progress), 2 iterations, completed nothing [6 run_finished]
    it ended as budget: because of budget
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: budget (because of budget), 2 iterations, completed nothing [6 run_finished]
    it ended as wall-clock: because of wall-clock
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: wall-clock (because of wall-clock), 2 iterations, completed nothing [6 run_finished]
    it ended as rate-limited: because of rate-limited
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: rate-limited (because of rate-limited), 2 iterations, completed nothing [6 run_finished]
    it ended as empty-discovery: because of empty-discovery
    - iteration 1 failed, quality-check: check 1 [1 iteration_finished]
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: empty-discovery (because of empty-discovery), 2 iterations, completed nothing [6 run_finished]
    it ended as strict-hook: because of strict-hook
    - before:loop: lint:x broke: timeout: no answer [6 hook_fired]
    - the run ended: strict-hook (because of strict-hook), 2 iterations, completed nothing [7 run_finished]
    it ended as control-files-changed: because of control-files-changed
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: control-files-changed (because of control-files-changed), 2 iterations, completed nothing [6 run_finished]
    it ended as cancelled: because of cancelled
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - stopping: cancelled [6 stopping]
    - the run ended: cancelled (because of cancelled), 2 iterations, completed nothing [7 run_finished]
    it ended as error: because of error
    - iteration 2 failed, quality-check: check 2 [3 iteration_finished]
    - the run ended: error (because of error), 2 iterations, completed nothing [6 run_finished]
    ");
}

/// Plays a run, and says why it ended.
async fn played(bench: &Bench, run: RunBuilder) -> String {
    bench.play(run).await.unwrap();
    let why = history(bench).why(&Question::Run(None)).unwrap();
    told(&why).lines().next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn real_runs_say_why_they_ended() {
    let tasks = [("1", "First"), ("2", "Second")];
    let bench = on_disk(&tasks);
    let once =
        bench.run(completes_each_task()).settings(|settings| settings.max_iterations = NonZero::new(1));
    assert_eq!(
        played(&bench, once).await,
        "it ended as max-iterations: the limit of 1 iteration was reached"
    );
    let bench = on_disk(&tasks);
    let fails = checked(&bench, "false");
    assert_eq!(
        played(&bench, fails).await,
        "it ended as blocked: 1 is marked as blocked: 3 attempts have failed (task_budget.max_attempts); the last one: \
         quality-check: false: exit code 1; 2 is marked as blocked: 3 attempts have failed (task_budget.max_attempts); \
         the last one: quality-check: false: exit code 1"
    );
    let bench = on_disk(&[("1", "First")]);
    let gate = FakeHandler::<points::IterationGate>::always(Act::refuse("not today"));
    let run = bench.run(Script::default()).hook("gate", gate);
    assert_eq!(played(&bench, run).await, "it ended as gate-stop: not today");
    let bench = on_disk(&[("1", "First")]);
    assert_eq!(played(&bench, bench.run(completes_each_task())).await, "it ended as completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_a_check_took_back_is_explained_with_what_the_check_printed() {
    let bench = on_disk(&[("1", "First")]);
    let run = checked(&bench, "echo parser.rs:3 is wrong; false").settings(|settings| {
        settings.max_iterations = NonZero::new(1);
    });
    bench.play(run).await.unwrap();
    let of_task = history(&bench).why(&Question::Task(TaskId::new("1"))).unwrap();
    assert!(
        of_task.answer.starts_with("it is open again, since its completion was taken back"),
        "{of_task:#?}"
    );
    let text = told(&of_task);
    assert!(text.contains("taken back: 1 (") && text.contains("tasks_taken_back"), "{text}");
    assert!(text.contains("| parser.rs:3 is wrong") && text.contains("quality_checked"), "{text}");
    let of_check = history(&bench).why(&Question::Check).unwrap();
    assert!(of_check.answer.starts_with("checks failed: echo parser.rs:3"), "{of_check:#?}");
    assert!(told(&of_check).contains("| parser.rs:3 is wrong"), "{of_check:#?}");
    assert!(told(&of_check).contains("no check that passed is recorded before it"), "{of_check:#?}");
}

#[test]
fn a_check_says_since_which_commit_it_fails() {
    let bench = on_disk(&[("1", "First")]);
    let checked = |iteration, ok, commit: &str| Event::QualityChecked {
        iteration,
        ok,
        result: if ok { CheckResult::Passed } else { CheckResult::Failed },
        failures: Vec::new(),
        reason: (!ok).then(|| "lint: 3 warnings".to_owned()),
        commit: Some(commit.to_owned()),
    };
    tell(
        &*bench.lane(),
        RUN,
        vec![checked(1, true, "aaa"), checked(2, false, "bbb"), checked(3, false, "ccc")],
    );
    let why = history(&bench).why(&Question::Check).unwrap();
    assert_eq!(
        told(&why),
        "checks failed: lint: 3 warnings, since commit bbb\n\
         - lint: 3 warnings [3 quality_checked]\n\
         - it failed first in iteration 2 of run 20261121T100000Z-abcd, at commit bbb [2 quality_checked]\n\
         - it passed last in iteration 1 of run 20261121T100000Z-abcd, at commit aaa [1 quality_checked]\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_was_not_called_is_told_who_ended_the_chain() {
    let bench = on_disk(&[("1", "First")]);
    let first = FakeHandler::<points::IterationGate>::script([Act::pass(), Act::refuse("not today")]);
    let run = bench.run(Script::default()).hook("a-first", first);
    let run = run.hook("b-second", FakeHandler::<points::IterationGate>::passes());
    bench.play(run).await.unwrap();
    let ask = |id: &str| told(&history(&bench).why(&Question::Handler(id.to_owned())).unwrap());
    let called = ask("api:a-first");
    assert!(called.starts_with("it was called at iteration.gate, and ended refused"), "{called}");
    let other = ask("api:b-second");
    assert!(other.starts_with("it was "), "{other}");
    let nobody = ask("api:nobody");
    assert!(nobody.starts_with("no run of the last 1 called it"), "{nobody}");
}

#[test]
fn what_is_next_is_explained_and_an_unknown_task_is_refused() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let why = history(&bench).why(&Question::Next).unwrap();
    assert_eq!(
        told(&why),
        "1 First is next: of 2 that can be worked on it is the most urgent (priority medium), and of those the first by id\n\
         - 2 Second []\n  | it can be worked on, but 1 comes first: that one has the same priority, and its id comes first\n"
    );
    let unknown = history(&bench).why(&Question::Task(TaskId::new("9"))).unwrap_err();
    assert!(unknown.to_string().contains('9'), "{unknown}");
}
