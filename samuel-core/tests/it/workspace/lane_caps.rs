//! What ends runs with several lanes: caps over all lanes, agents that hang, and lanes that cannot go on.

use std::{fs, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::MethodologySettings,
    event::Event,
    model::{ExitReason, FailureClass, Usage},
    testing::ScriptedLanes,
};

use crate::workspace::{
    kit::User,
    lanes::{all_landed, count, lanes, plan, project},
    runs::{Told, played},
};

/// Eight tasks that nobody waits for.
const TASKS: [(&str, &[&str]); 8] =
    [("1", &[]), ("2", &[]), ("3", &[]), ("4", &[]), ("5", &[]), ("6", &[]), ("7", &[]), ("8", &[])];

/// A run of four lanes whose agents note each call, do their task, and consume a dollar and a hundred tokens.
async fn ran(change: fn(&mut MethodologySettings)) -> (User, Told) {
    let user = User::new();
    let project = project(&user, &TASKS);
    let work = "mkdir ~/call-$SAMUEL_TASK_ID; echo x > made-$SAMUEL_TASK_ID";
    let usage = Usage { input_tokens: 60, output_tokens: 40, cost_usd: Some(1.0), ..Usage::default() };
    let call = ScriptedCall::any().repeated().run(work).step(Step::Usage(usage)).done();
    let run = lanes(&user, &project, 4, Script::default().call(call), &["true"]).settings(change);
    let told = played(run).await.unwrap();
    (user, told)
}

/// Returns how often an agent was called.
fn calls(user: &User) -> usize {
    let names = fs::read_dir(user.home()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with("call-")).count()
}

/// Returns the processes that name a path of the user.
fn processes(user: &User) -> Vec<String> {
    let word = user.path().display().to_string();
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&word)).collect()
}

/// Checks why a run ended, and that as many agents were called as iterations began.
fn ended(user: &User, told: &Told, reason: ExitReason, detail: &str, limit: &str) -> usize {
    let report = &told.report;
    assert_eq!(report.exit_reason, reason, "{}", told.text());
    let why = report.detail.as_deref().unwrap();
    assert!(why.starts_with(detail) && why.ends_with(", over all lanes"), "{why}");
    assert_eq!(report.limit.as_deref(), Some(limit));
    let called = calls(user);
    assert_eq!((called, report.completed.len()), (report.iterations as usize, called), "{}", told.text());
    called
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_iterations_begin_over_all_lanes_than_the_cap() {
    let (user, told) = ran(|settings| settings.max_iterations = std::num::NonZeroU32::new(3)).await;
    let called = ended(&user, &told, ExitReason::MaxIterations, "3 iterations have begun", "max_iterations");
    assert_eq!(called, 3, "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_of_cost_over_all_lanes_is_passed_by_one_turn_a_lane_at_most() {
    let (user, told) = ran(|settings| settings.session_budget.max_cost_usd = Some(2.0)).await;
    let called = ended(&user, &told, ExitReason::Budget, "$", "session_budget.max_cost_usd");
    assert!((2..=2 + 4).contains(&called), "{called}: {}", told.text());
    assert_eq!(told.report.usage.cost_usd, Some(called as f64));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_of_tokens_over_all_lanes_is_passed_by_one_turn_a_lane_at_most() {
    let (user, told) = ran(|settings| settings.session_budget.max_tokens = Some(150)).await;
    let called = ended(&user, &told, ExitReason::Budget, "", "session_budget.max_tokens");
    assert!((2..=2 + 4).contains(&called), "{called}: {}", told.text());
    assert_eq!(told.report.usage.tokens(), 100 * called as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_run_ends_the_agents_of_all_lanes() {
    let user = User::new();
    let project = project(&user, &TASKS);
    let agents = ScriptedLanes::noting_in(user.path().join("notes")).unwrap();
    let agents = TASKS.iter().fold(agents, |agents, (id, _)| agents.hanging(id, 9));
    let run = lanes(&user, &project, 3, agents.script(), &[]).settings(|settings| {
        settings.session_budget.max_wall_time = Some(Duration::from_secs(3));
    });
    let told = played(run).await.unwrap();
    assert_eq!(told.report.exit_reason, ExitReason::WallClock, "{}", told.text());
    assert_eq!(told.report.limit.as_deref(), Some("session_budget.max_wall_time"));
    let called: u32 = TASKS.iter().map(|(id, _)| agents.calls(id).unwrap()).sum();
    assert!(called <= 3, "none was called anew: {called}");
    assert_eq!(processes(&user), [] as [String; 0]);
    assert_eq!(plan(&project).claims, [], "{}", told.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_in_a_row_are_counted_over_all_lanes() {
    let user = User::new();
    let project = project(&user, &TASKS);
    // The first two fail at once, so that both lanes have part in it.
    let work = "mkdir ~/call-$SAMUEL_TASK_ID-$SAMUEL_ITERATION; touch ~/at-$SAMUEL_TASK_ID; case $SAMUEL_TASK_ID in 1|2) \
                while ! { test -e ~/at-1 && test -e ~/at-2; }; do sleep 0.02; done;; esac; \
                echo \"no way $SAMUEL_ITERATION\" >&2; exit 1";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let run = lanes(&user, &project, 2, script, &[]).settings(|settings| {
        settings.max_consecutive_failures = 2;
        settings.task_budget.max_attempts = None;
    });
    let told = played(run).await.unwrap();
    let report = &told.report;
    assert_eq!(report.exit_reason, ExitReason::ConsecutiveFailures, "{}", told.text());
    assert_eq!(report.detail.as_deref(), Some("4 iterations failed in a row, over all lanes"));
    assert_eq!(report.limit.as_deref(), Some("max_consecutive_failures"));
    let called = calls(&user);
    assert!((4..=5).contains(&called), "{called}: {}", told.text());
    assert_eq!(report.failed_iterations as usize, called);
    let lanes: std::collections::BTreeSet<_> = told
        .events
        .iter()
        .filter(|it| matches!(it.event, Event::IterationFinished { .. }))
        .map(|it| it.lane)
        .collect();
    assert_eq!(lanes.len(), 2, "{}", told.text());
}

// Takes about 8 s: an agent hangs until its limit of 5 s.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hangs_is_ended_by_its_clock_and_its_task_is_done_by_a_later_call() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
    let agents = ScriptedLanes::noting_in(user.path().join("notes")).unwrap().hanging("1", 1);
    let run = lanes(&user, &project, 2, agents.script(), &[ScriptedLanes::CHECK]).settings(|settings| {
        // On a busy machine another one may take as long, which then is called again.
        settings.clocks.wall = Duration::from_secs(5);
        settings.task_budget.max_attempts = None;
    });
    let told = played(run).await.unwrap();
    all_landed(&user, &project, &told);
    assert!(agents.hangs("1") && agents.calls("1").unwrap() >= 2, "{}", told.text());
    let is_timeout = |event: &Event| {
        let Event::IterationFinished { failure: Some(failure), excused: false, .. } = event else {
            return false;
        };
        failure.class == FailureClass::AgentTimeout
    };
    let ended = count(&told, is_timeout);
    assert!(ended >= 1 && told.report.failed_iterations as usize >= ended, "{}", told.text());
    assert_eq!(processes(&user), [] as [String; 0]);
}

/// The check of the second worker breaks the record of its clone; agents of the first lane wait until then.
const BREAKS: &str =
    "case $PWD in */lane-2.clone/*) rm ../record.json; mkdir ../record.json; touch ~/broken;; esac";

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_cannot_go_on_ends_the_run_with_its_error_and_the_others_finish_their_turns() {
    let user = User::new();
    let project = project(&user, &TASKS);
    // Both are at work before either ends.
    let work = "touch ~/at-$(basename $(dirname $PWD) .clone); while ! { test -e ~/at-lane-1 && test -e ~/at-lane-2; }; do sleep 0.02; done; \
                case $PWD in */lane-1.clone/*) while ! test -e ~/broken; do sleep 0.02; done;; esac; echo x > made-$SAMUEL_TASK_ID";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let told = played(lanes(&user, &project, 2, script, &[BREAKS])).await.unwrap();
    let report = &told.report;
    assert_eq!(report.exit_reason, ExitReason::Error, "{}", told.text());
    let fault = report.fault.as_ref().unwrap();
    assert!(
        fault.message.starts_with("lane 2 cannot go on: ") && fault.message.contains("record.json"),
        "{fault:?}"
    );
    assert_eq!(report.detail.as_ref(), Some(&fault.message));
    assert_eq!(fault.code, "E_WORKSPACE_FAILED", "{fault:?}");
    // Both turns that were under way came to something.
    assert!(report.completed.len() >= 2 && report.completed.len() < 8, "{}", told.text());
    assert_eq!(plan(&project).claims, [], "{}", told.text());
}
