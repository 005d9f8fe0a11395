//! The scripted agent: what it does, and that handlers can prevent it.

use crate::agent::support::{Recorder, request};
use crate::process_support::supervisor;
use async_trait::async_trait;
use samuel_core::{
    agent::{
        self, AbilityDecision, Agent, AgentClocks, AgentConfig, AgentError, AgentEvent, AgentRequest,
        MutationRoute, MutationSink, Script, ScriptedCall, Step,
    },
    model::{
        Usage,
        payload::{AbilityStatus, TaskBrief, Turn},
    },
    state::{Mutation, NewTask},
};
use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

/// Remembers mutations; refuses those of the task `locked`.
#[derive(Default)]
struct Tasks(Mutex<Vec<Mutation>>);

#[async_trait]
impl MutationSink for Tasks {
    async fn apply(&self, mutation: Mutation) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        if matches!(&mutation, Mutation::Done { id, .. } if id.as_str() == "locked") {
            return Err("the task is locked".into());
        }
        let name = mutation.name();
        self.0.lock().unwrap().push(mutation);
        Ok(name.to_owned())
    }
}

fn agent(script: Script, mutations: MutationRoute) -> Arc<dyn Agent> {
    let config = AgentConfig { script: Some(script), mutations, ..AgentConfig::new("scripted") };
    agent::build(&config, supervisor()).unwrap()
}

fn playing(call: ScriptedCall) -> Arc<dyn Agent> {
    agent(Script::default().call(call), MutationRoute::None)
}

fn about(dir: &Path, id: &str) -> AgentRequest {
    let task = TaskBrief { id: id.to_owned(), title: format!("Task {id}"), ..Default::default() };
    AgentRequest { task: Some(task), ..request(dir, "") }
}

#[tokio::test]
async fn a_task_is_worked_on_committed_and_completed() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = Arc::new(Tasks::default());
    let script = Script::from_toml(
        r#"
        [[calls]]
        task = "1"
        steps = [
            { say = "Working on {{task_id}}: {{task_title}}" },
            { write = { path = "src/greet.txt", content = "hello, wrld\n" } },
            { edit = { path = "src/greet.txt", old = "wrld", new = "world" } },
            { write = { path = "scratch", content = "" } },
            { delete = { path = "scratch" } },
            { run = { command = "git init -q . && git add -A && git -c user.name=S -c user.email=s@example.org commit -qm greet" } },
            { usage = { input_tokens = 10, output_tokens = 1, cost_usd = 0.5 } },
            { usage = { input_tokens = 5, cost_usd = 0.25 } },
            { enqueue = { title = "After {{task_id}}", priority = "high" } },
            { done = { commit_sha = "{{head}}" } },
        ]
        "#,
    )
    .unwrap();
    let port = Recorder::default();
    let agent = agent(script, MutationRoute::Sink(tasks.clone()));
    let output = agent.invoke(about(dir.path(), "1"), &port).await.unwrap();

    assert_eq!((output.exit_code, output.stdout.as_str()), (0, "Working on 1: Task 1"));
    assert_eq!(fs::read_to_string(dir.path().join("src/greet.txt")).unwrap(), "hello, world\n");
    assert!(!dir.path().join("scratch").exists());
    let total = Usage { input_tokens: 15, output_tokens: 1, cached_tokens: 0, cost_usd: Some(0.75) };
    assert_eq!(output.usage, Some(total));
    assert_eq!(port.events().last(), Some(&AgentEvent::Usage(total)));
    let expected = ["Write", "Edit", "Write", "Delete", "Bash", "samuel.enqueue", "samuel.done"];
    assert_eq!(port.tools(), expected);
    assert_eq!(port.ended.lock().unwrap().len(), expected.len());
    let mutations = tasks.0.lock().unwrap().clone();
    let new = NewTask { priority: "high".parse().unwrap(), ..NewTask::new("After 1") };
    assert_eq!(mutations[0], Mutation::Enqueue { task: new });
    assert!(matches!(
        &mutations[1],
        Mutation::Done { id, commit_sha: Some(sha), iteration: Some(1) } if id.as_str() == "1" && sha.len() == 40
    ));
    // Each command had a supervisor that was reported.
    assert_eq!(port.supervisors.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_blocked_call_is_not_made_and_the_agent_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let block = |_: &_| AbilityDecision::Block { reason: "read only".into() };
    let port = Recorder { decide: Some(block), ..Recorder::default() };
    let call = ScriptedCall::any().write("made", "x").run("touch ran").say("bye");
    let output = playing(call).invoke(request(dir.path(), ""), &port).await.unwrap();
    assert_eq!(output.exit_code, 0);
    assert_eq!(port.texts(), ["Write was blocked: read only", "Bash was blocked: read only", "bye"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(port.ended.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_call_is_made_with_the_arguments_that_handlers_left() {
    let dir = tempfile::tempdir().unwrap();
    let change = |_: &_| AbilityDecision::Allow { input: r#"{"file_path":"b","content":"changed"}"#.into() };
    let port = Recorder { decide: Some(change), ..Recorder::default() };
    playing(ScriptedCall::any().write("a", "x")).invoke(request(dir.path(), ""), &port).await.unwrap();
    assert!(!dir.path().join("a").exists());
    assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "changed");
}

#[tokio::test]
async fn a_step_that_fails_ends_the_call_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("twice"), "aa").unwrap();
    std::os::unix::fs::symlink("/tmp", dir.path().join("out")).unwrap();
    let edit = Step::Edit { path: "twice".into(), old: "a".into(), new: "b".into() };
    let done = Step::Done { task: "{{task_id}}".into(), commit_sha: None };
    for (step, expected) in [
        (Step::Run { command: "echo why; exit 3".into(), allow_failure: false }, "Bash: exit code 3\nwhy"),
        (edit, "Edit: twice holds the text to replace 2 times"),
        (Step::Delete { path: "absent".into() }, "Delete: No such file"),
        (Step::Write { path: "../up".into(), content: String::new() }, "not a path inside the project"),
        (Step::Write { path: "out/up".into(), content: String::new() }, "leads out of the project"),
        (done, "the call has no task"),
    ] {
        let port = Recorder::default();
        let agent = playing(ScriptedCall::any().step(step).say("not reached"));
        let output = agent.invoke(request(dir.path(), ""), &port).await.unwrap();
        assert_eq!(output.exit_code, 1);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
        assert!(port.ended.lock().unwrap().iter().all(|ended| ended.status == AbilityStatus::Error));
        assert_eq!(output.stdout, "");
    }
}

#[tokio::test]
async fn a_failure_that_is_allowed_does_not_end_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let step = Step::Run { command: "false".into(), allow_failure: true };
    let agent = playing(ScriptedCall::any().step(step).say("reached"));
    let output = agent.invoke(request(dir.path(), ""), &Recorder::default()).await.unwrap();
    assert_eq!((output.exit_code, output.stdout.as_str()), (0, "reached"));
}

#[tokio::test]
async fn a_refused_mutation_fails_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::default().call(ScriptedCall::any().done());
    let agent = agent(script, MutationRoute::Sink(Arc::new(Tasks::default())));
    let output = agent.invoke(about(dir.path(), "locked"), &Recorder::default()).await.unwrap();
    assert_eq!((output.exit_code, output.stderr.as_str()), (1, "samuel.done: the task is locked\n"));
}

#[tokio::test]
async fn mutations_go_through_the_command_where_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let samuel = dir.path().join("samuel");
    fs::write(&samuel, "#!/bin/sh\necho \"$@\" > asked\n").unwrap();
    fs::set_permissions(&samuel, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = Script::default().call(ScriptedCall::any().done());
    let agent = agent(script, MutationRoute::Command(samuel));
    agent.invoke(about(dir.path(), "2"), &Recorder::default()).await.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("asked")).unwrap(), "run done 2 --iteration 1\n");
}

#[tokio::test]
async fn calls_are_chosen_by_task_iteration_and_turn_and_used_once() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::default()
        .call(ScriptedCall::for_task("1").say("first attempt"))
        .call(ScriptedCall::for_task("1").in_turn(Turn::Recovery).say("recovery"))
        .call(ScriptedCall::for_task("1").repeated().say("later attempt"))
        .call(ScriptedCall::for_iteration(4).say("fourth"))
        .otherwise([Step::Say("otherwise".into())]);
    let agent = agent(script, MutationRoute::None);
    let in_turn = |turn| AgentRequest { turn, ..about(dir.path(), "1") };
    let in_iteration = |iteration| AgentRequest { iteration, ..request(dir.path(), "") };
    let mut said = Vec::new();
    for request in [
        in_turn(Turn::Main),
        in_turn(Turn::Recovery),
        in_turn(Turn::Main),
        in_turn(Turn::Main),
        in_iteration(4),
        in_iteration(4),
    ] {
        said.push(agent.invoke(request, &Recorder::default()).await.unwrap().stdout);
    }
    assert_eq!(said, ["first attempt", "recovery", "later attempt", "later attempt", "fourth", "otherwise"]);
}

#[tokio::test]
async fn endings_of_real_agents_can_be_scripted() {
    let dir = tempfile::tempdir().unwrap();
    let resets_at = Some(jiff::Timestamp::UNIX_EPOCH);
    let play = async |step| {
        let port = Recorder::default();
        let call = ScriptedCall::any().step(Step::Usage(Usage::default())).step(step);
        (playing(call).invoke(request(dir.path(), ""), &port).await, port)
    };
    let (outcome, port) = play(Step::RateLimit { message: "full".into(), resets_at }).await;
    let error = outcome.unwrap_err();
    assert!(matches!(&error, AgentError::RateLimited { resets_at: at, .. } if *at == resets_at));
    assert_eq!(error.usage(), Some(Usage::default()));
    assert_eq!(port.events().last(), Some(&AgentEvent::RateLimited { resets_at, message: "full".into() }));
    let (outcome, _) = play(Step::Fail { message: "no".into() }).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Reported { message, .. } if message == "no"));
    let (outcome, _) = play(Step::Crash { signal: 9 }).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Signal { signal: 9, .. }));
    let (outcome, _) = play(Step::Exit { code: 7 }).await;
    assert_eq!(outcome.unwrap().exit_code, 7);
    let (_, port) = play(Step::DenyPermission { tool: "Bash".into(), message: "rm".into() }).await;
    let denied = AgentEvent::PermissionDenied { tool: "Bash".into(), message: "rm".into() };
    assert_eq!(port.events().last(), Some(&denied));
}

#[tokio::test]
async fn a_sleep_longer_than_a_clock_ends_as_a_hanging_agent_does() {
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_millis(50);
    let idle = AgentClocks { idle: Some(limit), ..AgentClocks::default() };
    let wall = AgentClocks { wall: Some(limit), ..AgentClocks::default() };
    for (expected, clocks) in [("idle", idle), ("wall", wall)] {
        let script = Script::default().call(ScriptedCall::any().step(Step::Sleep { ms: 60_000 }));
        let config = AgentConfig { script: Some(script), clocks, ..AgentConfig::new("scripted") };
        let agent = agent::build(&config, supervisor()).unwrap();
        let error = agent.invoke(request(dir.path(), ""), &Recorder::default()).await.unwrap_err();
        assert!(matches!(error, AgentError::Clock { clock, .. } if clock == expected), "{error:?}");
    }
}

#[tokio::test]
async fn cancelling_ends_a_sleep_and_a_command() {
    let dir = tempfile::tempdir().unwrap();
    for step in [Step::Sleep { ms: 60_000 }, Step::Run { command: "sleep 60".into(), allow_failure: true }] {
        let agent = playing(ScriptedCall::any().say("up").step(step));
        let (port, request) = (Recorder::default(), request(dir.path(), ""));
        let cancel = request.cancel.clone();
        let work = agent.invoke(request, &port);
        let stop = async {
            port.heard.notified().await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(work, stop);
        assert!(matches!(outcome.unwrap_err(), AgentError::Cancelled { .. }));
    }
}

#[tokio::test]
async fn a_call_that_is_not_scripted_does_nothing_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(Script::default(), MutationRoute::None);
    let output = agent.invoke(request(dir.path(), ""), &Recorder::default()).await.unwrap();
    assert_eq!((output.exit_code, output.stdout.as_str()), (0, "nothing is scripted for this call"));
}
