//! The timing table: when each type runs, and where its piped output goes.

use samuel_core::{
    ScriptedCall,
    agent::{Script, Step},
    model::{ExitReason, payload::Turn},
    testing::completes_each_task,
};

use crate::session_hooks::kit::run;

#[tokio::test(flavor = "multi_thread")]
async fn session_start_runs_once_and_its_output_waits_for_the_first_iteration() {
    let hooks = "  session_start: [{command: 'echo once >> log.txt; echo build errors', pipe_output: true}]";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!(ran.log(), ["once"]);
    assert_eq!(ran.told("build errors"), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pre_iteration_runs_before_each_and_its_output_comes_after_what_waits() {
    let hooks = "
  session_start: [{command: 'echo waits', pipe_output: true}]
  pre_iteration: [{command: 'echo lint {{iteration}}', pipe_output: true}]
";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!((ran.told("lint 1"), ran.told("lint 2")), (vec![1], vec![2]));
    let first = &ran.prompts[0].1;
    assert!(first.find("waits").unwrap() < first.find("lint 1").unwrap(), "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn post_iteration_runs_after_each_and_its_output_waits_for_the_next() {
    let hooks = "  post_iteration: [{command: 'echo tests {{iteration}}', pipe_output: true}]";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!((ran.told("tests 1"), ran.told("tests 2")), (vec![2], vec![3]));
    assert_eq!(ran.prompts[2].0, Turn::Final);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_end_runs_once_after_the_final_delivery_and_its_output_is_ignored() {
    let hooks = "
  post_iteration: [{command: 'echo late', pipe_output: true}]
  session_end: [{command: 'echo end >> log.txt; echo unheard', pipe_output: true}]
";
    let script = Script::default()
        .call(ScriptedCall::any().in_turn(Turn::Final).run("echo final >> log.txt"))
        .call(ScriptedCall::any().repeated().run("echo agent >> log.txt").done());
    let ran = run(hooks, script).await;
    assert_eq!(ran.log(), ["agent", "agent", "final", "end"]);
    assert!(ran.told("unheard").is_empty());
    assert_eq!(ran.played.report.undelivered, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_task_complete_runs_once_a_completion_and_its_output_waits() {
    let hooks = "  on_task_complete: [{command: 'echo {{task_id}} >> log.txt; echo validated {{task_id}}', pipe_output: true}]";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!(ran.log(), ["1", "2"]);
    assert_eq!((ran.told("validated 1"), ran.told("validated 2")), (vec![2], vec![3]));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_error_runs_at_any_failure_and_its_output_is_a_recovery_turn_at_once() {
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).step(Step::Fail { message: "network is down".to_owned() }))
        .call(ScriptedCall::any().repeated().done());
    let hooks = "  on_error: [{command: 'echo diff of {{error}}', pipe_output: true}]";
    let ran = run(hooks, script).await;
    assert_eq!(ran.prompts[1].0, Turn::Recovery);
    assert_eq!(ran.told("diff of"), [2]);
    assert!(ran.prompts[1].1.contains("network is down"), "{}", ran.prompts[1].1);
    assert_eq!(ran.prompts[2].0, Turn::Main, "the next iteration follows");
    assert_eq!(ran.played.report.exit_reason, ExitReason::Completed);
}
