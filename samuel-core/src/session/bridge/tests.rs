#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed set-up fails the test"
)]

use std::{
    io::{BufRead, BufReader, Cursor, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{
    agent::bridge::protocol,
    hook::{Answer as _, Call, HookFailure, points},
    model::payload::{
        AbilityAfterOutput, AbilityBeforeOutput, AbilityStatus, PromptSubmitOutput, SessionStopOutput,
        SuggestedAbility, TextItem,
    },
    session::{Session, SessionBuilder},
    testing::{Bench, FakeHandler},
    trust::TrustPolicy,
};

const DEADLINE: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(60);
const CALL: &str = r#"{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash",
    "tool_use_id": "toolu_1", "tool_input": {"command": "true"}}"#;

/// A run's socket at which a function answers the one connection.
fn run_that(answers: impl FnOnce(UnixStream) + Send + 'static) -> (TempDir, RunAddress) {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::spawn(move || answers(listener.accept().unwrap().0));
    (dir, RunAddress { socket, token: Some("ab".repeat(32)) })
}

/// Starts a hook with an input, in a run or alone with an answer.
fn start(
    input: impl Read + Send + 'static,
    event: Option<&str>,
    run: Option<RunAddress>,
    alone: Result<BridgeAnswer, String>,
) -> Result<BridgeOutput, NoEvent> {
    let claude = protocol("claude").unwrap();
    let event = event.map(|event| bridge::at(claude, event).unwrap());
    let start = HookStart { protocol: claude, event, deadline: DEADLINE, run };
    start.answer(input, move |_, _| alone)
}

fn input(text: &str) -> Cursor<Vec<u8>> {
    Cursor::new(text.as_bytes().to_vec())
}

/// Says why a call was denied.
fn denied(output: &BridgeOutput) -> String {
    let said: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let decision = |field: &str| {
        said.pointer(&format!("/hookSpecificOutput/{field}")).and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(decision("permissionDecision").as_deref(), Some("deny"));
    assert_eq!(output.exit_code, 0);
    decision("permissionDecisionReason").unwrap()
}

#[test]
fn a_call_is_denied_within_the_deadline_whatever_the_run_does() {
    let began = Instant::now();
    let ask = |run| denied(&start(input(CALL), None, Some(run), Ok(BridgeAnswer::default())).unwrap());
    let nowhere = RunAddress { socket: "/nowhere/socket".into(), token: Some("ab".repeat(32)) };
    assert!(ask(nowhere.clone()).contains("the run cannot be reached at /nowhere/socket"));
    assert!(ask(RunAddress { token: None, ..nowhere }).contains("SAMUEL_TOKEN is not set"));

    let (_dir, hangs) = run_that(|stream| {
        thread::sleep(DEADLINE * 4);
        drop(stream);
    });
    let reason = ask(hangs);
    assert!(
        reason.contains("the run did not answer in time") || reason.contains("no answer within"),
        "{reason}"
    );

    let (_dir, refuses) = run_that(|mut stream| {
        let error =
            json!({"code": "E_SOCKET_TOKEN", "message": "no such token", "help": "", "retryable": false});
        writeln!(stream, "{}", json!({"ok": false, "error": error})).unwrap();
    });
    assert!(ask(refuses).contains("E_SOCKET_TOKEN: no such token"));

    let (_dir, is_lost) = run_that(|mut stream| {
        writeln!(stream, "{}", json!({"ok": true, "run": "r", "may": ["ability_before"]})).unwrap();
        let mut lines = BufReader::new(stream).lines();
        // It ends after the question and before an answer.
        lines.by_ref().take(2).for_each(drop);
    });
    assert!(ask(is_lost).contains("the run closed the connection"));
    assert!(began.elapsed() < DEADLINE * 4, "each takes its deadline at most");
}

#[test]
fn a_call_is_denied_whose_input_cannot_be_read() {
    let ask =
        |input: Box<dyn Read + Send>| start(input, Some("PreToolUse"), None, Ok(BridgeAnswer::default()));
    let long = json!({"tool_name": "Write", "tool_input": {"content": "x".repeat(20 << 20)}}).to_string();
    assert!(denied(&ask(Box::new(input(&long))).unwrap()).contains("its input is longer than 16 MiB"));
    assert!(denied(&ask(Box::new(input("not json"))).unwrap()).contains("no JSON object"));
    let (open, _other_end) = UnixStream::pair().unwrap();
    assert!(denied(&ask(Box::new(open)).unwrap()).contains("no answer within 2s"), "an input without an end");
    // Where not even the event is known, the exit code has to say it.
    let none = start(input("not json"), None, None, Ok(BridgeAnswer::default())).unwrap_err();
    assert!(none.to_string().contains("no JSON object"));
}

#[test]
fn what_cannot_be_prevented_any_more_passes_and_says_why() {
    let ended = CALL.replace("PreToolUse", "PostToolUse");
    let output = start(input(&ended), None, None, Err("it broke".to_owned())).unwrap();
    assert_eq!((output.stdout.as_str(), output.exit_code), ("", 0));
    assert_eq!(output.stderr, "no hook of Samuel heard of PostToolUse: it broke\n");
    let denied = denied(&start(input(CALL), None, None, Err("it broke".to_owned())).unwrap());
    assert_eq!(denied, "Samuel could not be asked about this call, so it was not made: it broke");
}

#[test]
fn within_a_run_tool_calls_alone_are_asked_about() {
    let answering = |answer: Value| {
        move |stream: UnixStream| {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut stream = stream;
            let hello: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!(hello["samuel"], "run/1");
            writeln!(stream, "{}", json!({"ok": true, "run": "r", "may": []})).unwrap();
            let asked: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!(asked["id"], 1);
            writeln!(stream, "{answer}").unwrap();
        }
    };
    let (_dir, run) =
        run_that(answering(json!({"id": 1, "ok": true, "decision": {"decision": "block", "reason": "no"}})));
    let nobody = || Err("nobody else is asked".to_owned());
    assert_eq!(denied(&start(input(CALL), None, Some(run), nobody()).unwrap()), "no");

    let same = json!({"decision": "allow", "input": {"command": "true"}, "changed": false});
    let (_dir, run) = run_that(answering(json!({"id": 1, "ok": true, "decision": same})));
    assert_eq!(start(input(CALL), None, Some(run), nobody()).unwrap(), BridgeOutput::default());

    let (_dir, run) = run_that(answering(json!({"id": 1, "ok": true, "text": ["look again"]})));
    let ended = CALL.replace("PreToolUse", "PostToolUse");
    let output = start(input(&ended), None, Some(run), nobody()).unwrap();
    assert!(output.stdout.contains(r#""additionalContext":"look again""#), "{output:?}");

    let nowhere = RunAddress { socket: "/nowhere".into(), token: None };
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
        let said = json!({"session_id": "s", "hook_event_name": event, "prompt": "p"}).to_string();
        let output = start(input(&said), None, Some(nowhere.clone()), nobody()).unwrap();
        assert_eq!(output, BridgeOutput::default(), "{event}: the run has it already");
    }
}

/// The hooks of one session of an agent, a process each.
struct Hooks {
    bench: Bench,
    kept: TempDir,
    agent: &'static str,
}

impl Hooks {
    fn of(agent: &'static str) -> Self {
        Self { bench: Bench::with_tasks(&[]).unwrap(), kept: tempfile::tempdir().unwrap(), agent }
    }

    fn session(&self) -> SessionBuilder {
        Session::builder(self.bench.project().clone()).trust(TrustPolicy::TrustAll)
    }

    async fn fire(
        &self,
        session: SessionBuilder,
        event: &str,
        said: Value,
    ) -> Result<BridgeAnswer, AloneError> {
        self.fire_within(TIME, session, event, said).await
    }

    async fn fire_within(
        &self,
        time: Duration,
        session: SessionBuilder,
        event: &str,
        said: Value,
    ) -> Result<BridgeAnswer, AloneError> {
        let protocol = protocol(self.agent).unwrap();
        let asked = bridge::read(protocol, said.to_string().as_bytes(), Some(event)).unwrap();
        let root: &Path = self.bench.project().root();
        let kept = KeptSessions::new(self.kept.path().join("s"));
        fire_alone(session, root, &kept, protocol, &asked, time).await
    }
}

/// Keeps pushes back, and makes `true` of `false`.
async fn guard(call: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
    let input = &call.input().input;
    if input.contains("git push") {
        return Ok(AbilityBeforeOutput::refuse("pushes are the maintainers'"));
    }
    let updated_input = input.contains("false").then(|| r#"{"command":"true"}"#.to_owned());
    Ok(AbilityBeforeOutput { updated_input, ..AbilityBeforeOutput::default() })
}

#[tokio::test]
async fn alone_a_closure_blocks_a_call_changes_another_and_hears_how_it_ended() {
    let hooks = Hooks::of("claude");
    let text = vec![TextItem { content: "look again".to_owned(), ..TextItem::default() }];
    let seen =
        FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput { text, ..Default::default() });
    let session =
        || hooks.session().hook::<points::AbilityBefore, _>("guard", guard).hook("see", seen.clone());
    let fire = |event: &'static str, command: &str| {
        let said = json!({"session_id": "s", "tool_name": "Bash", "tool_use_id": "t1",
            "tool_input": {"command": command}, "error": "Exit code 3"});
        hooks.fire(session(), event, said)
    };
    let blocked = fire("PreToolUse", "git push").await.unwrap();
    assert_eq!(blocked.block.as_deref(), Some("pushes are the maintainers'"));
    assert_eq!(fire("PreToolUse", "git status").await.unwrap(), BridgeAnswer::default());
    let changed = fire("PreToolUse", "false").await.unwrap();
    assert_eq!(changed.input.as_deref(), Some(r#"{"command":"true"}"#));

    let told = fire("PostToolUseFailure", "false").await.unwrap();
    let [text] = &told.text[..] else { panic!("{told:?}") };
    assert!(text.contains("hook api:see at ability.after]\nlook again"), "{text}");
    let calls = seen.calls();
    let ended = calls.first().unwrap().input();
    assert_eq!((calls.len(), ended.status, ended.call_id.as_deref()), (1, AbilityStatus::Error, Some("t1")));
}

#[tokio::test]
async fn what_a_session_knows_goes_on_from_hook_to_hook() {
    let hooks = Hooks::of("gemini");
    let call = json!({"session_id": "s", "tool_name": "shell", "tool_input": {"command": "true"}});
    hooks.fire(hooks.session(), "BeforeTool", call.clone()).await.unwrap();
    let seen = FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput::default());
    hooks.fire(hooks.session().hook("see", seen.clone()), "AfterTool", call).await.unwrap();
    let calls = seen.calls();
    let ended = calls.first().unwrap().input();
    assert_eq!(ended.call_id.as_deref(), Some("call-1"), "Gemini CLI has no ids");
    assert!(ended.duration_ms.is_some(), "the call before was kept");

    // The ninth stop in a row is not held up any more.
    let no = SessionStopOutput { block: true, reason: Some("tests fail".into()), ..Default::default() };
    for number in 1..=9 {
        let stop = hooks.session().hook("stop", FakeHandler::<points::SessionStop>::answers(no.clone()));
        let answer = hooks.fire(stop, "AfterAgent", json!({"session_id": "s"})).await.unwrap();
        assert_eq!(answer.block.is_some(), number <= 8, "{number}");
    }
    hooks.fire(hooks.session(), "SessionEnd", json!({"session_id": "s", "reason": "exit"})).await.unwrap();
    assert_eq!(std::fs::read_dir(hooks.kept.path().join("s")).unwrap().count(), 0);
}

#[tokio::test]
async fn suggestions_reach_the_model_and_messages_the_user_too() {
    let hooks = Hooks::of("copilot");
    let mut said = PromptSubmitOutput::default();
    said.results.messages_to_user = vec!["the build is red".to_owned()];
    said.results.suggested_abilities = vec![SuggestedAbility {
        id: "test".into(),
        reason: "it is about tests".into(),
        ..Default::default()
    }];
    let session = hooks.session().hook("hint", FakeHandler::<points::PromptSubmit>::answers(said));
    let prompt = json!({"sessionId": "s", "prompt": "test it"});
    let answer = hooks.fire(session, "userPromptSubmitted", prompt).await.unwrap();
    assert_eq!(answer.messages, ["the build is red"]);
    let [said, suggested] = &answer.text[..] else { panic!("{answer:?}") };
    assert!(said.contains("hook api:hint at prompt.submit]\nthe build is red\n"), "{said}");
    assert!(suggested.contains("suggested ability test: it is about tests\n"), "{suggested}");
}

/// Notes that the work it belongs to was ended.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn alone_handlers_that_are_late_are_ended_and_the_next_hook_goes_on() {
    let hooks = Hooks::of("claude");
    let call = json!({"session_id": "s", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {}});
    let ended = Arc::new(AtomicBool::new(false));
    let hangs = {
        let ended = Arc::clone(&ended);
        move |_: Call<points::AbilityBefore>| {
            let ends = Ends(Arc::clone(&ended));
            async move {
                let _ends = ends;
                std::future::pending::<Result<AbilityBeforeOutput, HookFailure>>().await
            }
        }
    };
    let session = hooks.session().hook::<points::AbilityBefore, _>("hangs", hangs);
    let late = hooks.fire_within(Duration::from_secs(1), session, "PreToolUse", call.clone()).await;
    assert!(late.as_ref().map_or(true, |answer| answer.block.is_some()), "nobody has decided: {late:?}");
    assert!(ended.load(Ordering::Relaxed), "the handler works on");
    assert_eq!(hooks.fire(hooks.session(), "PreToolUse", call).await.unwrap(), BridgeAnswer::default());
}
