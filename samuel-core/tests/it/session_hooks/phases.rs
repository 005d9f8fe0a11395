//! The five steps in which session hooks are built, each as what it gives.

use std::fs;

use samuel_core::{
    Run, ScriptedCall, Supervisor, TrustPolicy,
    agent::{Script, Step},
    hook::points,
    model::{ExitReason, payload::Turn},
    testing::{Bench, FakeHandler, completes_each_task},
};

use crate::session_hooks::kit::{FILE, run};

/// The file of the tracer bullet, as people write it: without a version.
const TRACER: &str = "hooks:
  post_iteration:
    - command: \"echo 'Test output for agent'\"
      pipe_output: true
    - command: \"echo 'Side effect only'\"
";

#[tokio::test(flavor = "multi_thread")]
async fn phase_1_the_tracer_bullet_reaches_the_second_iteration() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").file(FILE, TRACER).build().unwrap();
    let seen = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook_files().hook_at("seen", 900, seen.clone());
    bench.play(run).await.unwrap();
    let prompts: Vec<String> = seen.calls().iter().map(|call| call.input().prompt.clone()).collect();
    assert!(!prompts[0].contains("Test output for agent"));
    assert!(prompts[1].contains("Test output for agent"), "{}", prompts[1]);
    assert!(prompts[1].contains("session:post_iteration#1"), "who says it is named: {}", prompts[1]);
    assert!(prompts.iter().all(|prompt| !prompt.contains("Side effect only")));
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_1_the_tracer_bullet_reaches_a_command_that_is_the_agent() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").file(FILE, TRACER).build().unwrap();
    let keep = "n=$(ls | grep -c '^prompt'); cat > prompt-$n.txt";
    let run = Run::builder(bench.project().clone())
        .hook_files()
        .supervisor(Supervisor::GroupOnly)
        .trust(TrustPolicy::TrustAll)
        .env([("PATH".to_owned(), "/usr/bin:/bin".to_owned())])
        .settings(|settings| {
            settings.agent = "command".to_owned();
            settings.agent_command = ["sh", "-c", keep].map(str::to_owned).to_vec();
            settings.pause = std::time::Duration::ZERO;
            settings.max_iterations = std::num::NonZeroU32::new(2);
        });
    bench.play(run).await.unwrap();
    let prompt = |n: u8| fs::read_to_string(bench.path().join(format!("prompt-{n}.txt"))).unwrap();
    let told: Vec<bool> = (0..3).map(|n| prompt(n).contains("Test output for agent")).collect();
    assert_eq!(told, [false, true, true], "the last is the final delivery");
    assert!((0..3).all(|n| !prompt(n).contains("Side effect only")));
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_2_start_end_and_final_delivery() {
    let hooks = "
  session_start: [{command: 'echo hello', pipe_output: true}]
  post_iteration: [{command: 'echo tests are red', pipe_output: true}]
  session_end: [{command: 'echo bye >> log.txt', pipe_output: true}]
";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!((ran.told("hello"), ran.told("tests are red")), (vec![1], vec![2, 3]));
    assert_eq!(ran.prompts[2].0, Turn::Final);
    assert_eq!(ran.log(), ["bye"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_2_nothing_pending_means_no_further_turn() {
    let ran = run("  post_iteration: [{command: 'true', pipe_output: true}]", completes_each_task()).await;
    assert_eq!(ran.prompts.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_3_completions_are_told_first_in_first_out() {
    let tasks: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
    let bench = tasks.iter().fold(Bench::builder(), |bench, id| bench.task(id, "Task"));
    let hooks = "version: 1\nhooks:\n  on_task_complete:\n    - command: sleep 0.01; echo {{task_id}} >> log.txt; echo did {{task_id}}\n      pipe_output: true\n";
    let bench = bench.file(FILE, hooks).build().unwrap();
    let script =
        Script::default().call(tasks.iter().fold(ScriptedCall::any(), |call, id| {
            call.step(Step::Done { task: id.clone(), commit_sha: None })
        }));
    let seen = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(script).hook_files().hook_at("seen", 900, seen.clone());
    let report = bench.play(run).await.unwrap().report;
    let log = fs::read_to_string(bench.path().join("log.txt")).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), tasks);
    assert_eq!((report.exit_reason, report.undelivered), (ExitReason::Completed, 0));
    let last = seen.calls().last().unwrap().input().prompt.clone();
    let places: Vec<usize> = tasks.iter().map(|id| last.find(&format!("did {id}\n")).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_4_an_error_is_told_at_once_and_the_session_goes_on() {
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).step(Step::Crash { signal: 9 }))
        .call(ScriptedCall::any().repeated().done());
    let ran = run("  on_error: [{command: 'echo diff', pipe_output: true}]", script).await;
    let turns: Vec<Turn> = ran.prompts.iter().map(|(turn, _)| *turn).take(3).collect();
    assert_eq!(turns, [Turn::Main, Turn::Recovery, Turn::Main]);
    assert_eq!((ran.told("diff"), ran.played.report.exit_reason), (vec![2], ExitReason::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn phase_5_pre_iteration_is_piped_only_where_it_says_so() {
    for (pipe, told) in [("", vec![]), (", pipe_output: false", vec![]), (", pipe_output: true", vec![1, 2])]
    {
        let ran =
            run(&format!("  pre_iteration: [{{command: 'echo lint'{pipe}}}]"), completes_each_task()).await;
        assert_eq!(ran.told("lint\n"), told, "{pipe}");
    }
}
