//! The picture of a session: what runs when.

use samuel_core::{
    ScriptedCall,
    agent::Script,
    hook::HookPoint,
    model::{ExitReason, payload::Turn},
};

use crate::session_hooks::kit::run;

/// An agent that writes down that it works and completes its task.
fn agent() -> Script {
    Script::default().call(ScriptedCall::any().repeated().run("echo agent >> log.txt").done())
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_where_the_picture_has_them() {
    let hooks = "
  session_end: [{command: 'echo session_end >> log.txt'}]
  on_task_complete: [{command: 'echo complete {{task_id}} >> log.txt'}]
  post_iteration: [{command: 'echo post {{iteration}} >> log.txt; echo red', pipe_output: true}]
  pre_iteration: [{command: 'echo pre {{iteration}} >> log.txt'}]
  session_start: [{command: 'echo session_start >> log.txt'}]
";
    let ran = run(hooks, agent()).await;
    let log = ran.log();
    let iteration = |n: u8| {
        ["pre", "agent", "complete", "post"].map(|word| match word {
            "agent" => word.to_owned(),
            _ => format!("{word} {n}"),
        })
    };
    // The agent works while its completion is told, so those two may change places.
    let settled = |log: &[String]| {
        let mut log = log.to_vec();
        log.chunks_mut(4).for_each(|iteration| {
            iteration.sort_by_key(|line| {
                ["pre", "agent", "complete", "post"].iter().position(|word| line.starts_with(word))
            })
        });
        log
    };
    assert_eq!(log.first().map(String::as_str), Some("session_start"));
    assert_eq!(settled(&log[1..9]), [iteration(1), iteration(2)].concat());
    // The last text is delivered before the session ends.
    assert_eq!(log[9..], ["agent", "session_end"], "{log:?}");
    assert_eq!(ran.played.report.exit_reason, ExitReason::Completed);
    let turns: Vec<Turn> = ran.prompts.iter().map(|(turn, _)| *turn).collect();
    assert_eq!(turns, [Turn::Main, Turn::Main, Turn::Final]);
    let points = ran.played.points();
    let place = |point| points.iter().position(|fired| *fired == point).unwrap();
    assert!(place(HookPoint::SessionStart) < place(HookPoint::BeforeLoop));
    assert_eq!(points.last(), Some(&HookPoint::SessionEnd));
}

#[tokio::test(flavor = "multi_thread")]
async fn on_error_runs_at_a_failed_iteration_which_the_next_follows() {
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).step(samuel_core::agent::Step::Exit { code: 7 }))
        .call(ScriptedCall::any().in_turn(Turn::Recovery).run("echo recovery >> log.txt"))
        .call(ScriptedCall::any().repeated().run("echo agent >> log.txt").done());
    let hooks = "
  on_error: [{command: 'echo error {{iteration}} {{error}} >> log.txt; echo diff', pipe_output: true}]
  post_iteration: [{command: 'echo post {{iteration}} >> log.txt'}]
";
    let ran = run(hooks, script).await;
    let log = ran.log();
    assert!(log.contains(&"recovery".to_owned()), "{log:?}");
    let error =
        log.iter().position(|line| line.starts_with("error 1") && line.contains("exit code 7")).unwrap();
    assert_eq!(log[error + 1], "recovery", "{log:?}");
    assert!(log.contains(&"post 1".to_owned()) && log.contains(&"post 3".to_owned()), "{log:?}");
    assert_eq!(ran.played.report.exit_reason, ExitReason::Completed);
}
