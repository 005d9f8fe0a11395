//! The books of lanes outlive a kill: what was consumed, what began, what failed.
//!
//! The loop runs in a process of its own, this test binary in another role, and is killed while the agents of both lanes
//! hang, so that no time decides what had happened by then.

use std::{
    env, fs,
    num::NonZeroU32,
    path::PathBuf,
    process::{Command, Stdio},
};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::MethodologySettings,
    engine::RunBuilder,
    event::Event,
    history::History,
    model::{ExitReason, FailureClass, Status, TaskId, Usage},
    state::{Actor, Mutation, NewTask},
};

use crate::{
    process_support::{plays, role_args},
    workspace::{
        kit::User,
        lanes::{lanes, plan, project, until},
        runs::{Told, opened, played},
    },
};

const HOME: &str = "SAMUEL_TEST_HOME";
/// Which limit the run has.
const LIMIT: &str = "SAMUEL_TEST_LIMIT";

/// No limit, but agents tell what they consume as they begin; and the same with a limit that the run comes close to.
const UNDER_WAY: &str = "under-way";
const HALF_SPENT: &str = "half-spent";

/// What agents do. Until there is a file `again` the first lane hangs in its first task, and the second one in the call
/// after `before`; a task `bad` fails whenever its agent does not hang.
const WORK: &str = "lane=$(basename $(dirname $PWD) .clone); mkdir ~/call-$SAMUEL_TASK_ID-$SAMUEL_ITERATION; \
                    hangs() { touch ~/hangs-$lane; while :; do sleep 0.05; done; }; \
                    if ! test -e ~/again; then case $lane in lane-1) hangs;; esac; \
                    test $(ls -d ~/ended-* 2> /dev/null | wc -l) -lt $(cat ~/before) || hangs; fi; \
                    mkdir ~/ended-$SAMUEL_TASK_ID-$SAMUEL_ITERATION; echo x > made-$SAMUEL_TASK_ID-$SAMUEL_ITERATION; \
                    case $SAMUEL_TASK_ID in bad*) echo \"no way $SAMUEL_ITERATION\" >&2; exit 1;; esac";

/// Describes a run of two lanes with a limit.
fn run(user: &User, limit: &str) -> RunBuilder {
    let usage = Usage { input_tokens: 60, output_tokens: 40, cost_usd: Some(1.0), ..Usage::default() };
    let call = ScriptedCall::any().repeated();
    let call = match limit {
        UNDER_WAY | HALF_SPENT => call.step(Step::Usage(usage)).run(WORK),
        _ => call.run(WORK).step(Step::Usage(usage)),
    };
    let call = call.done();
    let run = lanes(user, &opened(user), 2, Script::default().call(call), &["true"]);
    run.settings(|settings: &mut MethodologySettings| {
        settings.max_iterations = NonZeroU32::new(7).filter(|_| limit == "iterations");
        settings.session_budget.max_cost_usd = match limit {
            "cost" => Some(5.0),
            HALF_SPENT => Some(4.5),
            _ => None,
        };
        settings.session_budget.max_tokens = Some(450).filter(|_| limit == "tokens");
        settings.task_budget.max_attempts = NonZeroU32::new(3).filter(|_| limit == "attempts");
        settings.max_consecutive_failures = if limit == "failures" { 2 } else { 9 };
    })
}

/// Not a test of its own: the loop that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn books_entry() {
    if !plays("as-books") {
        return;
    }
    let user = User::at(PathBuf::from(env::var_os(HOME).unwrap()));
    let handle = run(&user, &env::var(LIMIT).unwrap()).build().unwrap().start().await.unwrap();
    handle.wait().await.unwrap();
}

/// Makes a run whose agents hang once so many calls have ended in the second lane, kills it, and plays the one that goes
/// on to its end.
async fn killed_after(before: u32, limit: &str, tasks: &[&str]) -> (User, Told) {
    let user = User::new();
    project(&user, &tasks.iter().map(|id| (*id, &[][..])).collect::<Vec<_>>());
    fs::write(user.home().join("before"), before.to_string()).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(role_args("workspace::lane_books::books_entry", "as-books"))
        .env(HOME, user.path())
        .env(LIMIT, limit)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hangs = |lane: &str| user.home().join(format!("hangs-{lane}")).exists();
    until("the agents of both lanes hang", || hangs("lane-1") && hangs("lane-2")).await;
    if [UNDER_WAY, HALF_SPENT].contains(&limit) {
        let journal = user.tree().join(".samuel/run/journal.jsonl");
        // One of these three has ended.
        let is_noted = || fs::read_to_string(&journal).unwrap().contains("\"cost_usd\":3.0");
        until("what all three consume is noted", is_noted).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(user.home().join("again"), "").unwrap();
    let told = played(run(&user, limit)).await.unwrap();
    let goes_on = |event: &Event| matches!(event, Event::RunStarted { resumed: true, .. });
    assert!(told.events.iter().any(|record| goes_on(&record.event)), "{}", told.text());
    (user, told)
}

/// Returns how often agents were called, or their calls have ended, for tasks whose names begin so.
fn noted(user: &User, start: &str) -> usize {
    let names = fs::read_dir(user.home()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(start)).count()
}

const TASKS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

// Takes about 18 s: for each of the two limits a run with two workers that is killed, and the one that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_all_lanes_consumed_counts_after_a_kill() {
    for limit in ["cost", "tokens"] {
        let (user, told) = killed_after(4, limit, &TASKS).await;
        let report = &told.report;
        assert_eq!(report.exit_reason, ExitReason::Budget, "{limit}: {}", told.text());
        let ended = noted(&user, "ended-");
        // One more was left of the limit, and each lane may have a turn under way then.
        assert!((5..=6).contains(&ended), "{limit}: {ended}: {}", told.text());
        let used = &report.usage;
        assert_eq!((used.cost_usd, used.tokens()), (Some(ended as f64), 100 * ended as u64), "{limit}");
        let progress = plan(&opened(&user)).progress;
        assert_eq!((progress.cost_usd, progress.tokens), (ended as f64, 100 * ended as u64), "{limit}");
        let agents: f64 = report.agents.iter().filter_map(|agent| agent.usage.cost_usd).sum();
        assert_eq!(agents, ended as f64, "{limit}: {report:?}");
        assert_eq!(report.completed.len(), ended, "{limit}: {}", told.text());
    }
}

// Takes about 7 s: a run with two workers that is killed, and the one that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_agents_had_told_of_calls_that_were_cut_off_counts_in_all_lanes() {
    let (user, told) = killed_after(1, UNDER_WAY, &["1", "2", "3"]).await;
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
    let (called, progress) = (noted(&user, "call-"), plan(&opened(&user)).progress);
    assert_eq!((called, noted(&user, "ended-")), (5, 3), "{}", told.text());
    assert_eq!((told.report.usage.cost_usd, progress.cost_usd), (Some(5.0), 5.0), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_task_pays_its_own_cut_off_call() {
    let (user, told) = killed_after(1, UNDER_WAY, &["1", "2", "3"]).await;
    let mut cut_off: Vec<_> = told
        .events
        .iter()
        .filter_map(|record| match &record.event {
            Event::IterationFinished { iteration, failure: Some(failure), usage, .. } => {
                assert_eq!(failure.class, FailureClass::Interrupted, "{}", told.text());
                Some((record.lane, *iteration, usage.cost_usd))
            }
            _ => None,
        })
        .collect();
    cut_off.sort_by_key(|(lane, ..)| *lane);
    let [(Some(1), first, Some(1.0)), (Some(2), second, Some(1.0))] = cut_off[..] else {
        panic!("{cut_off:?}: {}", told.text())
    };
    let names = fs::read_dir(user.home()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    let calls = names.iter().filter_map(|name| name.strip_prefix("call-"));
    let hung = calls.filter(|call| !names.contains(&format!("ended-{call}")));
    let mut hung: Vec<u32> = hung.map(|call| call.rsplit_once('-').unwrap().1.parse().unwrap()).collect();
    hung.sort_unstable();
    let mut told_of = [first, second];
    told_of.sort_unstable();
    assert_eq!(hung, told_of, "{}", told.text());
    // Each call costs a dollar.
    let tasks = History::of(&opened(&user)).activity().unwrap().tasks;
    assert_eq!(tasks.len(), 3);
    for task in tasks {
        let calls = noted(&user, &format!("call-{}-", task.task));
        assert_eq!(task.usage.cost_usd, Some(calls as f64), "{}: {}", task.task, told.text());
    }
}

// Takes about 9 s: seven iterations with two workers, in a run that is killed and in the one that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn iterations_of_all_lanes_count_after_a_kill() {
    let (user, told) = killed_after(4, "iterations", &TASKS).await;
    assert_eq!(told.report.exit_reason, ExitReason::MaxIterations, "{}", told.text());
    // Two of the six that had begun were cut off.
    assert_eq!((told.report.iterations, noted(&user, "call-")), (7, 7), "{}", told.text());
}

// Takes about 7 s: a run with two workers that is killed, and the one that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_all_lanes_count_after_a_kill() {
    let (user, told) = killed_after(2, "attempts", &["bad-1", "bad-2"]).await;
    assert_eq!(told.report.exit_reason, ExitReason::Blocked, "{}", told.text());
    for id in ["bad-1", "bad-2"] {
        let status = plan(&opened(&user)).task(&TaskId::new(id)).unwrap().status;
        assert_eq!(status, Status::Blocked, "{}", told.text());
    }
    // Of the one two had failed, of the other none. A call that was cut off is no attempt.
    assert_eq!((noted(&user, "ended-bad"), noted(&user, "call-bad")), (6, 8), "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_failures_over_all_lanes_goes_on_after_a_kill() {
    let tasks = ["bad-1", "bad-2", "bad-3", "bad-4"];
    let (user, told) = killed_after(2, "failures", &tasks).await;
    assert_eq!(told.report.exit_reason, ExitReason::ConsecutiveFailures, "{}", told.text());
    // Four are the cap, and the other lane may have a turn under way then.
    let failed = noted(&user, "ended-bad");
    assert!((4..=5).contains(&failed), "{failed}: {}", told.text());
    // Those of both lanes are told to have been cut off.
    let counted = (told.report.failed_iterations as usize, told.report.interrupted_iterations);
    assert_eq!(counted, (failed + 2, 2), "{}", told.text());
}

// Takes about 7 s: a run with two workers that is killed, and the one that goes on.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_cut_off_counts_once_towards_a_limit() {
    let (_, told) = killed_after(1, HALF_SPENT, &["1", "2", "3"]).await;
    // Three were consumed, of which two were cut off; two more make five.
    assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_reset_while_lanes_work_has_all_of_its_attempts_again() {
    let user = User::new();
    let project = project(&user, &[("bad", &[]), ("1", &[])]);
    let work = "mkdir ~/call-$SAMUEL_TASK_ID-$$; case $SAMUEL_TASK_ID in bad) exit 1;; \
                2) while ! test -e ~/go; do sleep 0.02; done;; esac; echo x > made-$SAMUEL_TASK_ID";
    let run = || {
        let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
        lanes(&user, &opened(&user), 2, script, &["true"]).settings(|settings: &mut MethodologySettings| {
            settings.task_budget.max_attempts = NonZeroU32::new(3);
            settings.max_consecutive_failures = 20;
        })
    };
    let told = played(run()).await.unwrap();
    assert_eq!((told.report.exit_reason, noted(&user, "call-bad-")), (ExitReason::Blocked, 3));
    let store = project.plan_store();
    let task = NewTask::new("More");
    store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap();
    let going_on = tokio::spawn(played(run()));
    until("the other task is at work", || noted(&user, "call-2-") > 0).await;
    store.mutate(Mutation::Reset { id: TaskId::new("bad") }, Actor::User).unwrap();
    until("it was tried as often again", || noted(&user, "call-bad-") == 6).await;
    fs::write(user.home().join("go"), "").unwrap();
    let told = going_on.await.unwrap().unwrap();
    assert_eq!((told.report.exit_reason, noted(&user, "call-bad-")), (ExitReason::Blocked, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_a_run_without_lanes_are_attempts_in_lanes_too() {
    let user = User::new();
    project(&user, &[("bad", &[])]);
    let script = Script::default().call(ScriptedCall::any().repeated().run("mkdir ~/call-$$; exit 1"));
    for (jobs, calls) in [(1, 2), (2, 3)] {
        let run = lanes(&user, &opened(&user), jobs, script.clone(), &["true"]);
        let run = run.settings(|settings: &mut MethodologySettings| {
            settings.max_iterations = NonZeroU32::new(2).filter(|_| jobs == 1);
            settings.task_budget.max_attempts = NonZeroU32::new(3);
            settings.max_consecutive_failures = 9;
        });
        let told = played(run).await.unwrap();
        assert_eq!(noted(&user, "call-"), calls, "{}", told.text());
    }
    assert_eq!(plan(&opened(&user)).task(&TaskId::new("bad")).unwrap().status, Status::Blocked);
}
