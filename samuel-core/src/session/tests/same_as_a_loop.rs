//! One trace, played by a loop, by a caller of a session, and by the hooks of an agent without a run.

use std::time::Duration;

use super::*;
use crate::{
    agent::{
        AgentEvent, Script, ScriptedCall,
        bridge::{HookAnswer, protocol, read},
    },
    hook::{Point, RegistryBuilder},
    session::bridge::{KeptSessions, fire_alone},
    testing::transcript,
};

/// What handlers were given, in order.
type Seen = Arc<Mutex<Vec<(HookPoint, Value)>>>;

fn note<P: Point>(seen: &Seen, call: &Call<P>) {
    let mut input = serde_json::to_value(call.input()).unwrap();
    if let Some(input) = input.as_object_mut() {
        // What only a loop knows: how much was done, and for how much money.
        input.remove("extensions");
    }
    seen.lock().unwrap().push((P::POINT, input));
}

fn said(content: &str) -> Vec<TextItem> {
    vec![TextItem { content: content.to_owned(), deliver: Deliver::Next }]
}

fn reports(message: &str) -> HookResults {
    HookResults { messages_to_user: vec![message.to_owned()], ..HookResults::default() }
}

/// Registers a handler at each point of a session that notes its input, says something and, where
/// it can, changes or blocks.
fn register(seen: &Seen, handlers: &mut RegistryBuilder) {
    macro_rules! at {
        ($point:ident, $call:ident => $answer:expr) => {{
            let seen = Arc::clone(seen);
            handlers.api::<points::$point, _>("notes", None, move |$call: Call<points::$point>| {
                note(&seen, &$call);
                async move { Ok::<_, HookFailure>($answer) }
            });
        }};
    }
    at!(SessionStart, _call => SessionStartOutput { text: said("the server is down"), ..Default::default() });
    at!(PromptSubmit, call => PromptSubmitOutput { results: reports(&call.input().source), ..Default::default() });
    at!(IterationError, call => IterationErrorOutput { text: said(&call.input().class), ..Default::default() });
    at!(TaskCompleted, call => TaskCompletedOutput { text: said(&call.input().task_id), ..Default::default() });
    at!(AbilityBefore, call => {
        let input = &call.input().input;
        AbilityBeforeOutput {
            block: input.contains("push"),
            reason: Some("pushes are the maintainers'".to_owned()),
            updated_input: input.contains("hello").then(|| json!({ "command": "echo changed" }).to_string()),
            ..Default::default()
        }
    });
    at!(AbilityAfter, call => {
        call.warn("slow today");
        AbilityAfterOutput { text: said(call.input().status.as_str()), ..Default::default() }
    });
    at!(SessionStop, call => {
        let first = call.input().stop_block_count == 0;
        SessionStopOutput { block: first, reason: Some("no changelog".to_owned()), ..Default::default() }
    });
    at!(SessionEnd, _call => SessionEndOutput { ok: false, reason: Some("bye".to_owned()), ..Default::default() });
}

/// Keeps what a session has of a run.
fn of_session(events: Vec<EventRecord>) -> String {
    let events: Vec<EventRecord> = events
        .into_iter()
        .filter(|record| match &record.event {
            Event::HookFired { point, .. } => super::super::live::POINTS.contains(point),
            Event::Agent { report, .. } => {
                matches!(report, AgentEvent::ToolCall(_) | AgentEvent::ToolResult(_))
            }
            Event::AbilityBlocked { .. } => true,
            _ => false,
        })
        .collect();
    transcript(&events)
}

async fn play_again(session: &Session, trace: &[(HookPoint, Value)]) {
    fn read<T: serde::de::DeserializeOwned>(input: &Value) -> T {
        serde_json::from_value(input.clone()).unwrap()
    }
    for (point, input) in trace {
        match point {
            HookPoint::SessionStart => {
                let input: SessionStartInput = read(input);
                session.start(input.source).await.unwrap();
            }
            HookPoint::PromptSubmit => {
                let input: PromptSubmitInput = read(input);
                session.submit_prompt(&input.source, &input.user_raw_input).await.unwrap();
            }
            HookPoint::IterationError => drop(session.iteration_error(read(input)).await.unwrap()),
            HookPoint::TaskCompleted => drop(session.task_completed(read(input)).await.unwrap()),
            HookPoint::AbilityBefore => {
                let input: AbilityBeforeInput = read(input);
                let request = AbilityRequest {
                    call_id: input.call_id,
                    caller: input.caller,
                    ..AbilityRequest::new(input.ability_id, serde_json::from_str(&input.input).unwrap())
                };
                session.before(request).await.unwrap();
            }
            HookPoint::AbilityAfter => {
                let input: AbilityAfterInput = read(input);
                let report = AbilityReport {
                    call_id: input.call_id.unwrap(),
                    status: input.status,
                    output_summary: input.output_summary,
                    changed_files: input.changed_files,
                    ..AbilityReport::default()
                };
                session.after(report).await.unwrap();
            }
            HookPoint::SessionStop => {
                let input: SessionStopInput = read(input);
                session.stop(&input.reason, input.changed_files).await.unwrap();
            }
            _ => {
                let input: SessionEndInput = read(input);
                session.end(&input.exit_reason).await.unwrap();
            }
        }
    }
}

/// Returns what Claude Code's hooks say of a point, and at which of its events; nothing of what no agent
/// knows of.
fn said_by_claude(point: HookPoint, input: &Value) -> Option<(&'static str, Value)> {
    let (event, mut said) = match point {
        HookPoint::SessionStart => ("SessionStart", json!({ "source": input["source"] })),
        HookPoint::PromptSubmit => ("UserPromptSubmit", json!({ "prompt": input["user_raw_input"] })),
        HookPoint::AbilityBefore => ("PreToolUse", tool(input, &input["input"])),
        HookPoint::AbilityAfter => {
            let mut said = tool(input, &input["input_summary"]);
            let ended = said.as_object_mut().unwrap();
            ended.insert("duration_ms".to_owned(), input["duration_ms"].clone());
            let (event, result) = match input["status"].as_str() {
                Some("success") => ("PostToolUse", "tool_response"),
                _ => ("PostToolUseFailure", "error"),
            };
            ended.insert(result.to_owned(), input["output_summary"].clone());
            (event, said)
        }
        HookPoint::SessionStop => ("Stop", json!({})),
        HookPoint::SessionEnd => ("SessionEnd", json!({ "reason": input["exit_reason"] })),
        _ => return None,
    };
    said.as_object_mut().unwrap().insert("session_id".to_owned(), json!("test"));
    Some((event, said))
}

fn tool(input: &Value, arguments: &Value) -> Value {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        document => document.clone(),
    };
    json!({ "tool_name": input["ability_id"], "tool_use_id": input["call_id"], "tool_input": arguments })
}

/// Leaves out what an agent's hooks cannot know: whose task it is, which files the run changed, how long
/// the scripted agent took.
fn known_to_hooks(trace: &[(HookPoint, Value)]) -> Vec<(HookPoint, Value)> {
    let mut known: Vec<_> = trace.to_vec();
    known.retain(|(point, input)| said_by_claude(*point, input).is_some());
    for (point, input) in &mut known {
        let unknown: &[&str] = match point {
            HookPoint::PromptSubmit => &["source"],
            HookPoint::AbilityBefore => &["caller"],
            HookPoint::AbilityAfter => &["duration_ms"],
            HookPoint::SessionStop => &["reason", "changed_files"],
            _ => &[],
        };
        let input = input.as_object_mut().unwrap();
        unknown.iter().for_each(|field| _ = input.remove(*field));
    }
    known
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hooks_of_an_agent_alone_tell_handlers_what_a_loop_tells_them() {
    let bench = bench();
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run("echo hello").run("git push").run("exit 3").done())
        .call(ScriptedCall::any().repeated());
    let by_loop = Seen::default();
    let run = bench.run(script).session("test").register(|handlers| register(&by_loop, handlers));
    bench.play(run).await.unwrap();
    let trace = by_loop.lock().unwrap().clone();

    // A process for each hook, as agents start them: all that goes on is what is kept.
    let by_hooks = Seen::default();
    let outside = tempfile::tempdir().unwrap();
    let kept = KeptSessions::new(outside.path().join("kept"));
    let claude = protocol("claude").unwrap();
    let mut answers: Vec<HookAnswer> = Vec::new();
    for (event, said) in trace.iter().filter_map(|(point, input)| said_by_claude(*point, input)) {
        let asked = read(claude, said.to_string().as_bytes(), Some(event)).unwrap();
        let session = of(&bench).register(|handlers| register(&by_hooks, handlers));
        let time = Duration::from_secs(60);
        let fired = fire_alone(session, bench.path(), &kept, claude, &asked, time).await;
        answers.push(fired.unwrap_or_else(|error| panic!("{event}: {error}")));
    }
    assert_eq!(known_to_hooks(&by_hooks.lock().unwrap()), known_to_hooks(&trace));
    let blocked: Vec<&str> = answers.iter().filter_map(|answer| answer.block.as_deref()).collect();
    assert!(
        blocked.contains(&"pushes are the maintainers'") && blocked.contains(&"no changelog"),
        "{blocked:?}"
    );
    let changed: Vec<&str> = answers.iter().filter_map(|answer| answer.input.as_deref()).collect();
    assert_eq!(changed, [r#"{"command":"echo changed"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_tells_handlers_and_watchers_what_a_loop_tells_them() {
    let bench = bench();
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).run("exit 3"))
        .call(ScriptedCall::any().in_turn(Turn::Recovery))
        .call(ScriptedCall::for_iteration(2).run("echo hello").run("git push").done())
        .call(ScriptedCall::any().repeated());
    let by_loop = Seen::default();
    let run = bench.run(script).session("test").register(|handlers| register(&by_loop, handlers));
    let played = bench.play(run).await.unwrap();
    let trace = by_loop.lock().unwrap().clone();
    let fired: Vec<HookPoint> = trace.iter().map(|(point, _)| *point).collect();
    assert!(super::super::live::POINTS.iter().all(|point| fired.contains(point)), "{fired:?}");

    let by_session = Seen::default();
    let session = of(&bench).register(|handlers| register(&by_session, handlers)).open().await.unwrap();
    let events = session.events();
    play_again(&session, &trace).await;
    assert_eq!(*by_session.lock().unwrap(), trace);
    let (told, by_loop) = (of_session(told(events).await), of_session(played.events));
    assert!(by_loop.contains("Bash blocked: pushes are the maintainers'"), "{by_loop}");
    assert_eq!(told, by_loop);
}
