//! One trace, once played by a loop and once by a caller of a session.

use super::*;
use crate::{
    agent::{AgentEvent, Script, ScriptedCall},
    hook::{Point, RegistryBuilder},
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
