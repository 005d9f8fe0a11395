//! The variable table: where each is known, and what it stands for.

use samuel_core::{dialect::HookType, testing::completes_each_task};

use crate::session_hooks::kit::{problems, read, run};

/// Says in which types a variable may be used, in files of a version.
fn known_in(variable: &str, version: u32) -> Vec<&'static str> {
    let is_known = |hook_type: &HookType| {
        let name = hook_type.as_str();
        let told = problems(&format!(
            "version: {version}\nhooks:\n  {name}:\n    - command: echo {{{{{variable}}}}}\n"
        ));
        assert!(
            told.is_empty() || told[0].contains(&format!("{{{{{variable}}}}} is not available in {name}")),
            "{told:?}"
        );
        told.is_empty()
    };
    HookType::ALL.iter().filter(|hook_type| is_known(hook_type)).map(|hook_type| hook_type.as_str()).collect()
}

#[test]
fn session_is_available_in_all_hooks() {
    assert_eq!(known_in("session", 1), HookType::ALL.map(HookType::as_str));
}

#[test]
fn iteration_is_available_in_pre_iteration_post_iteration_and_on_error() {
    assert_eq!(known_in("iteration", 1), ["pre_iteration", "post_iteration", "on_error"]);
}

#[test]
fn task_id_and_task_content_are_available_in_on_task_complete() {
    assert_eq!(known_in("task_id", 1), ["on_task_complete"]);
    assert_eq!(known_in("task_content", 1), ["on_task_complete"]);
}

#[test]
fn error_is_available_in_on_error() {
    assert_eq!(known_in("error", 1), ["on_error"]);
}

#[test]
fn how_it_ended_is_available_in_session_end_from_version_2() {
    for variable in ["exit_reason", "completed", "cost_usd"] {
        assert_eq!(known_in(variable, 2), ["session_end"]);
        assert!(known_in(variable, 1).is_empty());
    }
}

#[test]
fn an_unknown_variable_is_told_with_the_nearest() {
    let told = problems("version: 1\nhooks:\n  on_task_complete:\n    - command: echo {{taks_id}}\n");
    assert_eq!(
        told,
        [".samuel/hooks.yml:4:16: session:on_task_complete#1.command: unknown variable {{taks_id}}. \
          Did you mean {{task_id}}? Write \\{{ for two braces."]
    );
    assert!(
        read("version: 1\nhooks:\n  on_error:\n    - command: echo \\{{taks_id}} '{{.Name}}'\n")
            .unwrap()
            .problems()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_variable_stands_for_its_value() {
    let hooks = "
  session_start:
    - command: echo start {{session}} >> log.txt
  pre_iteration:
    - command: echo pre {{ iteration }} >> log.txt
  post_iteration:
    - command: 'echo \"post {{iteration}} {{session}}\" >> log.txt'
  on_task_complete:
    - command: [sh, -c, 'echo \"done $1 $2 $WHO\" >> log.txt', sh, '{{task_id}}', '{{task_content}}']
      env: {WHO: 'by {{session}}'}
  session_end:
    - command: echo end {{exit_reason}} {{completed}} {{cost_usd}}. >> log.txt
";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!(
        ran.log(),
        [
            "start bench",
            "pre 1",
            "done 1 First by bench",
            "post 1 bench",
            "pre 2",
            "done 2 Second by bench",
            "post 2 bench",
            "end completed 2 ."
        ]
    );
}
