//! Why real runs ended, and why real completions were taken back: from the record alone, for each reason there is.

use std::{fmt::Write as _, num::NonZero, sync::Arc, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::{CheckCommand, RateLimitPolicy},
    engine::RunBuilder,
    event::Event,
    history::WhyQuestion,
    hook::points,
    model::{ExitReason, TaskId, Usage, payload::Turn},
    state::Mutation,
    testing::{Act, Bench, FakeHandler, HeldAgent, VirtualClock, completes_each_task},
};

use crate::history::kit::{HANG, change, checked, history, on_disk, told};

/// A project with one task, which is checked with a command that reads a file.
fn with_a_check() -> Bench {
    let bench = Bench::builder().task("1", "First").file("check.sh", "true\n");
    let toml = "[methodology.ralph]\nquality_checks = [\"sh check.sh\"]\n";
    bench.config(toml).on_disk().build().unwrap()
}

/// An agent that does the same in each call.
fn always(call: ScriptedCall) -> Script {
    Script::default().call(call.repeated())
}

/// Plays a run, and does something once its agent is at work.
async fn beside(bench: &Bench, run: RunBuilder, agent: &HeldAgent, act: impl FnOnce()) {
    let at_work = async {
        agent.called().await;
        act();
    };
    let (played, ()) = tokio::join!(bench.play(run), at_work);
    played.unwrap();
}

/// Makes a project of which the only run ended for this reason, where it is one that a test can have a run end for.
async fn ended_as(reason: ExitReason) -> Option<Bench> {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let run = match reason {
        ExitReason::Completed => checked(&bench, "true"),
        ExitReason::Blocked => {
            let question = "Which colour?".to_owned();
            let ask = Step::Ask { task: "1".to_owned(), question, options: Vec::new() };
            let script = Script::default().call(ScriptedCall::for_task("1").step(ask));
            bench.run(script.call(ScriptedCall::any().done()))
        }
        ExitReason::MaxIterations => {
            checked(&bench, "true").settings(|settings| settings.max_iterations = NonZero::new(1))
        }
        ExitReason::ConsecutiveFailures => {
            bench.run(always(ScriptedCall::any().step(Step::Exit { code: 7 })))
        }
        ExitReason::GateStop => bench
            .run(completes_each_task())
            .hook("gate", FakeHandler::<points::IterationGate>::refuses("not today")),
        ExitReason::StopBlocked => bench
            .run(completes_each_task())
            .hook("stop", FakeHandler::<points::SessionStop>::refuses("the changelog has no line")),
        ExitReason::NoProgress => bench.run(always(ScriptedCall::any().say("I think about it"))),
        ExitReason::Budget => {
            let usage = Usage { output_tokens: 10, cost_usd: Some(0.5), ..Usage::default() };
            let script = always(ScriptedCall::any().step(Step::Usage(usage)).done());
            bench.run(script).settings(|settings| settings.session_budget.max_cost_usd = Some(0.4))
        }
        ExitReason::WallClock => {
            let clock = VirtualClock::new();
            let bench = Bench::builder().task("1", "First").clock(clock.clone()).on_disk().build().unwrap();
            let agent = Arc::new(HeldAgent::new());
            let run = bench.run(completes_each_task()).agent(agent.clone()).settings(|settings| {
                settings.session_budget.max_wall_time = Some(Duration::from_secs(3_600));
            });
            beside(&bench, run, &agent, || clock.advance(Duration::from_secs(3_600))).await;
            return Some(bench);
        }
        ExitReason::RateLimited => {
            let limit = Step::RateLimit { message: "5-hour limit reached".to_owned(), resets_at: None };
            bench.run(always(ScriptedCall::any().step(limit))).settings(|settings| {
                settings.rate_limit = RateLimitPolicy::Stop;
                settings.rate_limit_wait = Duration::ZERO;
            })
        }
        ExitReason::EmptyDiscovery => bench.run(always(ScriptedCall::any().say("nothing"))).discover_only(),
        ExitReason::StrictHook => bench
            .run(completes_each_task())
            .hook("lint", FakeHandler::<points::BeforeLoop>::always(Act::fail("no answer"))),
        ExitReason::ControlFilesChanged => {
            let bench = with_a_check();
            let script = always(ScriptedCall::any().write("samuel.toml", "x = 1\n").done());
            bench.play(bench.run(script)).await.unwrap();
            return Some(bench);
        }
        ExitReason::Cancelled => {
            let agent = Arc::new(HeldAgent::new());
            let run = bench.run(completes_each_task()).agent(agent.clone()).build().unwrap();
            let handle = run.start().await.unwrap();
            agent.called().await;
            handle.stop();
            handle.wait().await.unwrap();
            return Some(bench);
        }
        // That takes a store that fails: the tests of those have one.
        ExitReason::Error => return None,
    };
    bench.play(run).await.unwrap();
    Some(bench)
}

/// Returns what is told of a question, without what differs from run to run: its id, and the numbers of events.
fn answered(bench: &Bench, question: &WhyQuestion) -> String {
    let mut why = history(bench).why(question).unwrap();
    why.reasons.iter_mut().flat_map(|reason| &mut reason.events).for_each(|event| event.seq = 0);
    let (root, run) = (bench.path().display().to_string(), history(bench).resolve(None).unwrap());
    told(&why).replace(&root, "<root>").replace(&run, "<run>").replace("[0 ", "[")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_reason_for_which_a_real_run_ended_is_explained() {
    let mut all = String::new();
    for reason in ExitReason::ALL {
        let ended = tokio::time::timeout(HANG, ended_as(*reason)).await;
        let Some(bench) = ended.unwrap_or_else(|_| panic!("{reason} {all}")) else { continue };
        let text = answered(&bench, &WhyQuestion::Run(None));
        assert!(text.starts_with(&format!("it ended as {reason}")), "{text}");
        write!(all, "{text}").unwrap();
    }
    insta::assert_snapshot!(all, @r#"
    it ended as completed
    - checks passed [quality_checked]
    - stopping: completed [stopping]
    - the run ended: completed, 2 iterations, completed 1, 2 [run_finished]
    it ended as blocked: 1 waits for an answer: Which colour?
    - task 1 waits for an answer, asked by agent: Which colour? [plan_changed]
    - iteration 2 succeeded, completed 2 [iteration_finished]
    - stopping: blocked (1 waits for an answer: Which colour?) [stopping]
    - the run ended: blocked (1 waits for an answer: Which colour?), 2 iterations, completed 2 [run_finished]
    it ended as max-iterations: the limit of 1 iteration was reached
    - iteration 1 succeeded, completed 1 [iteration_finished]
    - stopping: max-iterations (the limit of 1 iteration was reached) [stopping]
    - the run ended: max-iterations (the limit of 1 iteration was reached), 1 iteration, completed 1 [run_finished]
    it ended as consecutive-failures: 3 iterations in a row failed
    - iteration 1 failed, agent-exit: scripted ended with exit code 7 [iteration_finished]
    - iteration 2 failed, agent-exit: scripted ended with exit code 7 [iteration_finished]
    - iteration 3 failed, agent-exit: scripted ended with exit code 7 [iteration_finished]
    - stopping: consecutive-failures (3 iterations in a row failed) [stopping]
    - the run ended: consecutive-failures (3 iterations in a row failed), 3 iterations, completed nothing [run_finished]
    it ended as gate-stop: not today
    - iteration.gate: default ok in 0.0ms; api:gate refused in 0.0ms; refused: not today [hook_fired]
    - stopping: gate-stop (not today) [stopping]
    - the run ended: gate-stop (not today), 0 iterations, completed nothing [run_finished]
    it ended as stop-blocked: session.stop was blocked 8 times in a row: the changelog has no line
    - stopping: completed [stopping]
    - session.stop: api:stop refused in 0.0ms; refused: the changelog has no line [hook_fired]
    - the run ended: stop-blocked (session.stop was blocked 8 times in a row: the changelog has no line), 2 iterations, completed 1, 2 [run_finished]
    it ended as no-progress: 3 times in a row the agent ended well without recording task 1 as done, and nothing changed
    - iteration 1 succeeded, but the task was not recorded as done [iteration_finished]
    - iteration 2 succeeded, but the task was not recorded as done [iteration_finished]
    - iteration 3 succeeded, but the task was not recorded as done [iteration_finished]
    - stopping: no-progress (3 times in a row the agent ended well without recording task 1 as done, and nothing changed) [stopping]
    - the run ended: no-progress (3 times in a row the agent ended well without recording task 1 as done, and nothing changed), 3 iterations, completed nothing [run_finished]
    it ended as budget: $0.50 was spent of at most $0.40
    - iteration 1 cancelled, 10 tokens, $0.50 [iteration_finished]
    - stopping: budget ($0.50 was spent of at most $0.40) [stopping]
    - the run ended: budget ($0.50 was spent of at most $0.40), 1 iteration, completed nothing [run_finished]
    it ended as wall-clock: the limit of 1h was reached
    - iteration 1 cancelled [iteration_finished]
    - stopping: wall-clock (the limit of 1h was reached) [stopping]
    - the run ended: wall-clock (the limit of 1h was reached), 1 iteration, completed nothing [run_finished]
    it ended as rate-limited: the agent is still at its usage limit, of which nobody says when it ends (tries: 1)
    - iteration 1 met a usage limit, rate-limit: agent "scripted" has reached a usage limit: 5-hour limit reached [iteration_finished]
    - stopping: rate-limited (the agent is still at its usage limit, of which nobody says when it ends (tries: 1)) [stopping]
    - the run ended: rate-limited (the agent is still at its usage limit, of which nobody says when it ends (tries: 1)), 1 iteration, completed nothing [run_finished]
    it ended as empty-discovery: discovery found nothing twice in a row
    - iteration 1 succeeded [iteration_finished]
    - iteration 2 succeeded [iteration_finished]
    - stopping: empty-discovery (discovery found nothing twice in a row) [stopping]
    - the run ended: empty-discovery (discovery found nothing twice in a row), 2 iterations, completed nothing [run_finished]
    it ended as strict-hook: the handler api:lint of before:loop broke: failed: no answer
    - before:loop: default ok in 0.0ms; api:lint failed in 0.0ms; api:lint broke: failed: no answer; api:lint warns: no answer [hook_fired]
    - stopping: strict-hook (the handler api:lint of before:loop broke: failed: no answer) [stopping]
    - the run ended: strict-hook (the handler api:lint of before:loop broke: failed: no answer), 0 iterations, completed nothing [run_finished]
    it ended as control-files-changed: changed: samuel.toml
    - iteration 1 failed, refused: control files were changed before the work was checked: changed: samuel.toml [iteration_finished]
    - stopping: control-files-changed (changed: samuel.toml) [stopping]
    - the run ended: control-files-changed (changed: samuel.toml), 1 iteration, completed nothing [run_finished]
    it ended as cancelled
    - iteration 1 cancelled [iteration_finished]
    - stopping: cancelled [stopping]
    - the run ended: cancelled, 1 iteration, completed nothing [run_finished]
    "#);
}

/// How the completion of a task is taken back in a run that does not die; `interrupted` has one that does.
#[derive(Clone, Copy, Debug)]
enum Way {
    CheckFails,
    HandlerRefuses,
    HandlerBreaks,
    FilesChangedBefore,
    FilesChangedDuring,
    LastTurn,
    Stopped,
    StoppedDuringCheck,
}

const WAYS: [Way; 8] = [
    Way::CheckFails,
    Way::HandlerRefuses,
    Way::HandlerBreaks,
    Way::FilesChangedBefore,
    Way::FilesChangedDuring,
    Way::LastTurn,
    Way::Stopped,
    Way::StoppedDuringCheck,
];

/// Makes a project of which the only run took the completion of its task back.
async fn taken_back_by(way: Way) -> Bench {
    let bench = with_a_check();
    let run = match way {
        Way::CheckFails => checked(&bench, "echo parser.rs:3 is wrong; false"),
        Way::HandlerRefuses => checked(&bench, "true")
            .hook("tests", FakeHandler::<points::QualityCheck>::refuses("no test was added")),
        Way::HandlerBreaks => checked(&bench, "true")
            .hook("tests", FakeHandler::<points::QualityCheck>::always(Act::fail("no answer"))),
        Way::FilesChangedBefore => {
            bench.run(always(ScriptedCall::any().write("check.sh", "exit 0\n").done()))
        }
        Way::FilesChangedDuring => {
            let check = CheckCommand::new("echo exit 0 > check.sh; sh check.sh");
            bench.run(completes_each_task()).settings(|settings| settings.quality_checks.push(check))
        }
        Way::LastTurn => {
            let done = Step::Done { task: "1".to_owned(), commit_sha: None };
            let last = ScriptedCall::any().in_turn(Turn::Final).step(done);
            let script = Script::default().call(last).call(ScriptedCall::any().say("later").repeated());
            let stop = FakeHandler::<points::SessionStop>::script([Act::refuse("do the rest"), Act::pass()]);
            bench.run(script).hook("stop", stop)
        }
        Way::Stopped | Way::StoppedDuringCheck => {
            let agent = Arc::new(HeldAgent::new());
            let run = match way {
                Way::Stopped => checked(&bench, "true"),
                _ => checked(&bench, ": > checking; while test -e checking; do sleep 0.02; done"),
            };
            let handle = run.agent(agent.clone()).build().unwrap().start().await.unwrap();
            agent.called().await;
            change(&bench, Mutation::Done { id: TaskId::new("1"), commit_sha: None, iteration: None });
            let is_there = || match way {
                Way::Stopped => tells(&bench, |event| matches!(event, Event::TaskCompleted { .. })),
                _ => bench.path().join("checking").exists(),
            };
            if matches!(way, Way::StoppedDuringCheck) {
                agent.release();
            }
            while !is_there() {
                tokio::task::yield_now().await;
            }
            handle.stop();
            handle.wait().await.unwrap();
            return bench;
        }
    };
    bench.play(run.settings(|settings| settings.max_iterations = NonZero::new(1))).await.unwrap();
    bench
}

/// Says whether the record of the run under way tells of such an event by now.
fn tells(bench: &Bench, is_one: impl Fn(&Event) -> bool) -> bool {
    let Some(run) = history(bench).under_way().unwrap() else { return false };
    let mut entries = history(bench).entries(&run);
    std::iter::from_fn(|| entries.next_entry().unwrap()).any(|entry| is_one(&entry.record.event))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_in_which_a_real_run_takes_a_completion_back_is_explained() {
    let mut all = String::new();
    for way in WAYS {
        let bench = tokio::time::timeout(HANG, taken_back_by(way)).await.unwrap();
        let text = answered(&bench, &WhyQuestion::Task(TaskId::new("1")));
        write!(all, "{way:?}: {text}").unwrap();
    }
    insta::assert_snapshot!(all, @r"
    CheckFails: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (echo parser.rs:3 is wrong; false: exit code 1) [tasks_taken_back]
    - checks failed: echo parser.rs:3 is wrong; false: exit code 1 [quality_checked]
      | parser.rs:3 is wrong
      | all of it: .samuel/run/logs/<run>/1-check-1.out
    - iteration 1 failed, quality-check: echo parser.rs:3 is wrong; false: exit code 1 [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    HandlerRefuses: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (api:tests: no test was added) [tasks_taken_back]
    - checks failed: api:tests: no test was added [quality_checked]
    - iteration 1 failed, quality-check: api:tests: no test was added [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    HandlerBreaks: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (the handler api:tests of quality.check broke: failed: no answer) [tasks_taken_back]
    - checks failed: the handler api:tests of quality.check broke: failed: no answer [quality_checked]
    - iteration 1 failed, hook-broke: the handler api:tests of quality.check broke: failed: no answer [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    FilesChangedBefore: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (control files were changed before the work was checked: changed: check.sh (run by quality check `sh check.sh`)) [tasks_taken_back]
    - iteration 1 failed, refused: control files were changed before the work was checked: changed: check.sh (run by quality check `sh check.sh`) [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    FilesChangedDuring: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (control files were changed while the quality checks ran, by a check itself perhaps: changed: check.sh (run by quality check `sh check.sh`)) [tasks_taken_back]
    - iteration 1 failed, refused: control files were changed while the quality checks ran, by a check itself perhaps: changed: check.sh (run by quality check `sh check.sh`) [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    LastTurn: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (completed without a check) [tasks_taken_back]
    - task 1 is completed by another task's agent, provisionally: First [task_completed]
    - iteration 1 succeeded, but the task was not recorded as done [iteration_finished]
    - checks passed [quality_checked]
    - iteration 1 begins: 1 First [iteration_started]
    Stopped: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (completed without a check) [tasks_taken_back]
    - iteration 1 cancelled [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    StoppedDuringCheck: it is open again, since its completion was taken back: it is the only one that can be worked on
    - taken back: 1 (the handler default of quality.check broke: cancelled: the quality checks were cancelled) [tasks_taken_back]
    - checks were cancelled: the handler default of quality.check broke: cancelled: the quality checks were cancelled [quality_checked]
    - iteration 1 cancelled, hook-broke: the handler default of quality.check broke: cancelled: the quality checks were cancelled [iteration_finished]
    - task 1 is completed, provisionally: First [task_completed]
    - iteration 1 begins: 1 First [iteration_started]
    ");
}
