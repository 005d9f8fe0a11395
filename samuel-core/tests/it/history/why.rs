//! Why runs stopped and completions were taken back, from the record alone.

use std::{fmt::Write as _, num::NonZero, sync::Arc};

use samuel_core::{
    agent::Script,
    engine::RunBuilder,
    event::{CheckResult, Event, PlanChange, RunReport},
    history::{HistoryError, WhyQuestion},
    hook::{Abort, BreakClass, HookFailure, HookPoint, OnFailure, Outcome, SkipReason, points},
    model::{
        ExitReason, TaskId, Usage,
        payload::{Actor, CheckFailure, Turn},
    },
    state::{self, Mutation, RecordPart},
    testing::{Act, Bench, FakeHandler, HeldAgent, completes_each_task},
};

use crate::history::kit::{
    HANG, LONG_AGO, RUN, begins, change, checked, finished, history, on_disk, started, tell, tell_from, told,
};

pub(crate) fn report(exit_reason: ExitReason) -> RunReport {
    RunReport {
        exit_reason,
        detail: Some(format!("because of {exit_reason}")),
        iterations: 2,
        failed_iterations: 1,
        interrupted_iterations: 0,
        completed: Vec::new(),
        unchanged: Vec::new(),
        by_other_agent: Vec::new(),
        by_edit: Vec::new(),
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
        submitted: Vec::new(),
        unmerged: None,
        into: None,
    }
}

/// Returns the end of a run.
pub(crate) fn ran(exit_reason: ExitReason) -> Event {
    Event::RunFinished(report(exit_reason))
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
            merged: Vec::new(),
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
        let why = history(&bench).why(&WhyQuestion::Run(Some(run))).unwrap();
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
    let why = history(bench).why(&WhyQuestion::Run(None)).unwrap();
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
    let of_task = history(&bench).why(&WhyQuestion::Task(TaskId::new("1"))).unwrap();
    assert!(
        of_task.answer.starts_with("it is open again, since its completion was taken back"),
        "{of_task:#?}"
    );
    let text = told(&of_task);
    assert!(text.contains("taken back: 1 (") && text.contains("tasks_taken_back"), "{text}");
    assert!(text.contains("| parser.rs:3 is wrong") && text.contains("quality_checked"), "{text}");
    let of_check = history(&bench).why(&WhyQuestion::Check).unwrap();
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
        merged: Vec::new(),
    };
    tell(
        &*bench.lane(),
        RUN,
        vec![checked(1, true, "aaa"), checked(2, false, "bbb"), checked(3, false, "ccc")],
    );
    let why = history(&bench).why(&WhyQuestion::Check).unwrap();
    assert_eq!(
        told(&why),
        "checks failed: lint: 3 warnings, since commit bbb\n\
         - lint: 3 warnings [3 quality_checked]\n\
         - it failed first in iteration 2 of run 20261121T100000Z-abcd, at commit bbb [2 quality_checked]\n\
         - it passed last in iteration 1 of run 20261121T100000Z-abcd, at commit aaa [1 quality_checked]\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_anything_to_check_with_is_no_run_without_a_check() {
    let bench = on_disk(&[("1", "First")]);
    bench.play(bench.run(completes_each_task())).await.unwrap();
    let why = told(&history(&bench).why(&WhyQuestion::Check).unwrap());
    assert!(
        why.starts_with("nothing was checked in the last run, for want of anything to check with\n"),
        "{why}"
    );
    assert!(why.contains("- nothing to check with [") && why.contains(" quality_checked]"), "{why}");
}

#[test]
fn what_is_next_is_explained_and_an_unknown_task_is_refused() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let why = history(&bench).why(&WhyQuestion::Next).unwrap();
    assert_eq!(
        told(&why),
        "1 First is next: of 2 that can be worked on it is the most urgent (priority medium), and of those the first by id\n\
         - 2 Second []\n  | it can be worked on, but 1 comes first: that one has the same priority, and its id comes first\n"
    );
    let unknown = history(&bench).why(&WhyQuestion::Task(TaskId::new("9"))).unwrap_err();
    assert!(unknown.to_string().contains('9'), "{unknown}");
}

fn completed(task: &str) -> Event {
    Event::TaskCompleted {
        task: TaskId::new(task),
        title: "A title".to_owned(),
        provisional: true,
        marks: Vec::new(),
    }
}

fn taken_back(task: &str, reason: &str) -> Event {
    Event::TasksTakenBack { tasks: vec![TaskId::new(task)], reasons: vec![reason.to_owned()] }
}

fn changed(change: PlanChange, task: &str, reason: &str, actor: Actor) -> Event {
    let (task, title) = (TaskId::new(task), "A title".to_owned());
    Event::PlanChanged { change, task, title, reason: Some(reason.to_owned()), actor }
}

fn why_task(bench: &Bench, task: &str) -> String {
    told(&history(bench).why(&WhyQuestion::Task(TaskId::new(task))).unwrap())
}

#[test]
fn each_way_to_take_a_completion_back_is_explained_from_the_record_alone() {
    // The plan has none of the tasks that the record tells of.
    let bench = on_disk(&[("99", "Another")]);
    let failure = CheckFailure {
        command: "make test".to_owned(),
        message: "exit code 2".to_owned(),
        exit_code: Some(2),
        tail: "parser.rs:3 is wrong\n".to_owned(),
        log: None,
    };
    let checked = Event::QualityChecked {
        iteration: 1,
        ok: false,
        result: CheckResult::Failed,
        failures: vec![failure],
        reason: None,
        commit: None,
        merged: Vec::new(),
    };
    let events = vec![
        begins(Some("20261120T100000Z-abcd")),
        taken_back("3", "interrupted before a check"),
        started(1, "1"),
        completed("1"),
        // While the check is at work.
        completed("2"),
        checked,
        taken_back("1", "make test: exit code 2"),
        taken_back("2", "completed without a check"),
        finished(1, true, 1),
        started(2, "4"),
        completed("4"),
        taken_back("4", "control files were changed before the work was checked: check.sh"),
        finished(2, true, 2),
    ];
    tell(&*bench.lane(), RUN, events);
    let all: String = ["1", "2", "3", "4"].map(|task| why_task(&bench, task)).concat();
    insta::assert_snapshot!(all, @r"
    it is not in the plan, and its completion was taken back
    - taken back: 1 (make test: exit code 2) [7 tasks_taken_back]
    - checks failed: make test: exit code 2 [6 quality_checked]
      | parser.rs:3 is wrong
    - iteration 1 failed, quality-check: check 1 [9 iteration_finished]
    - taken back: 2 (completed without a check) [8 tasks_taken_back]
    - task 1 is completed, provisionally: A title [4 task_completed]
    - iteration 1 begins: 1 A title [3 iteration_started]
    it is not in the plan, and its completion was taken back
    - taken back: 2 (completed without a check) [8 tasks_taken_back]
    - task 2 is completed, provisionally: A title [5 task_completed]
    it is not in the plan, and its completion was taken back
    - taken back: 3 (interrupted before a check) [2 tasks_taken_back]
    - the run goes on from 20261120T100000Z-abcd with claude [1 run_started]
    it is not in the plan, and its completion was taken back
    - taken back: 4 (control files were changed before the work was checked: check.sh) [12 tasks_taken_back]
    - iteration 2 failed, quality-check: check 2 [13 iteration_finished]
    - task 4 is completed, provisionally: A title [11 task_completed]
    - iteration 2 begins: 4 A title [10 iteration_started]
    ");
}

#[test]
fn a_completion_that_was_taken_back_of_another_task_is_not_told_as_this_ones() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let events = vec![started(1, "1"), completed("2"), taken_back("2", "completed without a check")];
    tell(&*bench.lane(), RUN, events);
    let first = why_task(&bench, "1");
    assert!(first.starts_with("it is open: "), "{first}");
    let second = why_task(&bench, "2");
    assert!(second.starts_with("it is open again, since its completion was taken back: "), "{second}");
}

#[test]
fn commands_approvals_refusals_and_questions_are_told_of_their_task_and_of_a_run_that_is_blocked() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let options = vec!["sqlite".to_owned(), "postgres".to_owned()];
    let ask = Mutation::Ask { id: TaskId::new("1"), question: "Which\ndatabase?".to_owned(), options };
    bench.store().mutate(ask, state::Actor::Agent).unwrap();
    let command = |command: &str, text: Option<&str>| Event::Commanded {
        command: command.to_owned(),
        by: "1000/pts-3".to_owned(),
        text: text.map(str::to_owned),
    };
    let call = Event::ApprovalAsked {
        iteration: 1,
        call: 7,
        ability_id: "Bash".to_owned(),
        input: "rm -rf x".to_owned(),
        reason: "a command".to_owned(),
        wait_ms: 1_000,
    };
    let refused = Event::RequestRefused {
        iteration: 1,
        task: Some("1".to_owned()),
        verb: Some("answer".to_owned()),
        code: "E_TASK_DENIED".to_owned(),
        message: "only people answer".to_owned(),
        count: 1,
    };
    let events = vec![
        begins(None),
        started(1, "1"),
        command("steer", Some("leave the parser alone")),
        call,
        command("deny", None),
        Event::ApprovalGiven { call: 7, approved: false, reason: Some("the user denied it".to_owned()) },
        refused,
        changed(PlanChange::Asked, "1", "Which\ndatabase?", Actor::Agent),
        finished(1, false, 0),
        changed(PlanChange::Asked, "2", "Which colour?", Actor::Agent),
        changed(PlanChange::Answered, "2", "blue", Actor::User),
        changed(PlanChange::Blocked, "3", "no access", Actor::User),
        completed("3"),
        Event::RunFinished(report(ExitReason::Blocked)),
    ];
    tell(&*bench.lane(), RUN, events);
    insta::assert_snapshot!(why_task(&bench, "1"), @r"
    it waits for an answer: Which database?
    - asked: Which database? [8 plan_changed]
      | proposed: sqlite
      | proposed: postgres
    - iteration 1 succeeded [9 iteration_finished]
    - answer refused over the run's socket: only people answer (E_TASK_DENIED) [7 request_refused]
    - call 7 is denied: the user denied it [6 approval_given]
    - deny by 1000/pts-3 [5 commanded]
    - call 7, Bash, waits for approval: a command: rm -rf x [4 approval_asked]
    - steer by 1000/pts-3: leave the parser alone [3 commanded]
    - iteration 1 begins: 1 A title [2 iteration_started]
    ");
    // Of the tasks that were asked about or blocked only those that are left so.
    insta::assert_snapshot!(told(&history(&bench).why(&WhyQuestion::Run(None)).unwrap()), @r"
    it ended as blocked: because of blocked
    - task 1 waits for an answer, asked by agent: Which database? [8 plan_changed]
    - iteration 1 succeeded [9 iteration_finished]
    - the run ended: blocked (because of blocked), 2 iterations, completed nothing [14 run_finished]
    ");
    bench
        .store()
        .mutate(Mutation::Answer { id: TaskId::new("1"), answer: "sqlite".to_owned() }, state::Actor::User)
        .unwrap();
    let answered = why_task(&bench, "1");
    assert!(
        answered.starts_with("it is open, and its next prompt has the answer to its question"),
        "{answered}"
    );
}

#[test]
fn a_run_that_somebody_ended_names_who_did_it() {
    let bench = on_disk(&[("1", "First")]);
    let command = |command: &str| Event::Commanded {
        command: command.to_owned(),
        by: "1000/pts-3".to_owned(),
        text: None,
    };
    let events = vec![
        begins(None),
        command("stop"),
        command("steer"),
        Event::Stopping { reason: ExitReason::Cancelled, detail: None },
        Event::RunFinished(report(ExitReason::Cancelled)),
    ];
    tell(&*bench.lane(), RUN, events);
    let why = told(&history(&bench).why(&WhyQuestion::Run(None)).unwrap());
    assert!(why.contains("- stop --now by 1000/pts-3 [2 commanded]") && !why.contains("steer"), "{why}");
    let markdown = history(&bench).report(RUN).unwrap().to_markdown();
    assert!(markdown.contains("asked by 1000/pts"), "{markdown}");
}

#[test]
fn all_who_asked_for_the_end_of_a_run_are_named_and_the_first_of_them_in_its_report() {
    let bench = on_disk(&[("1", "First")]);
    let command = |command: &str, by: &str| Event::Commanded {
        command: command.to_owned(),
        by: by.to_owned(),
        text: None,
    };
    let events = vec![
        begins(None),
        command("cancel", "1000/pts-3"),
        Event::Stopping { reason: ExitReason::Cancelled, detail: None },
        command("stop", "SIGTERM"),
        Event::RunFinished(report(ExitReason::Cancelled)),
    ];
    tell(&*bench.lane(), RUN, events);
    let why = told(&history(&bench).why(&WhyQuestion::Run(None)).unwrap());
    assert!(why.contains("- stop by 1000/pts-3 [2 ") && why.contains("- stop --now by SIGTERM [4 "), "{why}");
    let markdown = history(&bench).report(RUN).unwrap().to_markdown();
    assert!(markdown.contains("asked by 1000/pts") && !markdown.contains("SIGTERM"), "{markdown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_under_way_says_whether_it_holds_and_what_is_asked() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let run = bench.run(completes_each_task()).agent(Arc::clone(&agent) as _);
    let handle = run.build().unwrap().start().await.unwrap();
    agent.called().await;
    let ask = Mutation::Ask { id: TaskId::new("2"), question: "Which?".to_owned(), options: Vec::new() };
    change(&bench, ask);
    let question = WhyQuestion::Run(None);
    // Nothing tells when it is written.
    let written = |wanted: &'static str| {
        let (past, question) = (history(&bench), question.clone());
        let ask = async move {
            loop {
                match past.why(&question) {
                    Ok(why) if told(&why).contains(wanted) => break told(&why),
                    _ => tokio::task::yield_now().await,
                }
            }
        };
        async move { tokio::time::timeout(HANG, ask).await.unwrap() }
    };
    let why = written("- task 2 waits for an answer, asked by agent: Which? [").await;
    assert!(why.starts_with("it has not stopped: its loop is at work\n"), "{why}");
    handle.pause();
    agent.release();
    let why = written("it has not stopped: its loop holds until somebody lets it go on\n").await;
    assert!(why.contains("- task 2 waits for an answer"), "{why}");
    handle.stop();
    handle.wait().await.unwrap();
}

#[test]
fn a_record_that_cannot_be_read_is_skipped_and_named_and_where_none_can_be_read_that_is_said() {
    let bench = on_disk(&[("1", "First")]);
    let newer = "20261121T120000Z-abcd";
    let fired = Event::HookFired {
        point: HookPoint::IterationGate,
        iteration: 1,
        turn: Turn::Main,
        outcome: Outcome { skipped: Some(SkipReason::Disabled), ..Outcome::default() },
    };
    let checked = Event::QualityChecked {
        iteration: 1,
        ok: true,
        result: CheckResult::Passed,
        failures: Vec::new(),
        reason: None,
        commit: None,
        merged: Vec::new(),
    };
    let later = b"{\"schema_version\":9,\"event\":\"run_started\"}\n";
    bench.lane().append_record(newer, RecordPart::Events, later).unwrap();
    let ask = |question| history(&bench).why(&question);
    let handler = || WhyQuestion::Handler("api:x".to_owned());
    for question in [WhyQuestion::Check, handler()] {
        let refused = ask(question).unwrap_err();
        assert!(matches!(refused, HistoryError::LaterVersion { found: 9, .. }), "{refused}");
    }
    // The plan says where a task stands all the same.
    assert_eq!(ask(WhyQuestion::Task(TaskId::new("1"))).unwrap().unread.len(), 1);

    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), fired, checked, finished(1, false, 0)]);
    let problem = format!("the record of run {newer} has version 9, and this Samuel reads version 1");
    for (question, wanted) in [
        (WhyQuestion::Check, "checks passed in iteration 1"),
        (WhyQuestion::Task(TaskId::new("1")), "it is open: "),
        (handler(), "it was not called in the last run"),
    ] {
        let why = ask(question).unwrap();
        assert!(why.answer.starts_with(wanted), "{why:#?}");
        let unread: Vec<(&str, &str)> =
            why.unread.iter().map(|unread| (unread.run.as_str(), unread.problem.as_str())).collect();
        assert_eq!(unread, [(newer, problem.as_str())]);
    }
    let nobody = told(&ask(handler()).unwrap());
    assert!(
        nobody.contains("at iteration.gate nobody was called: the point is disabled [3 hook_fired]"),
        "{nobody}"
    );
    let activity = history(&bench).activity().unwrap();
    assert_eq!((activity.runs, activity.unread_runs, activity.more_runs), (1, 1, 0));
}

#[test]
fn what_happened_to_a_task_of_a_plan_that_was_replaced_is_not_told_of_its_namesake() {
    let bench = on_disk(&[("1", "First")]);
    let events = || {
        vec![started(1, "1"), completed("1"), taken_back("1", "make test: exit code 2"), finished(1, true, 1)]
    };
    tell_from(&*bench.lane(), "20261120T100000Z-abcd", LONG_AGO, events());
    let namesake = why_task(&bench, "1");
    assert!(namesake.starts_with("it is open: ") && namesake.lines().count() == 1, "{namesake}");
    tell(&*bench.lane(), RUN, events());
    let same = why_task(&bench, "1");
    assert!(same.starts_with("it is open again, since its completion was taken back: "), "{same}");
}
