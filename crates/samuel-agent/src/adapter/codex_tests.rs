#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use samuel_model::{Usage, clock::SystemClock};

use super::*;
use crate::{AbilityCall, AbilityResult};

const TOOL: &str = include_str!("../../tests/data/agent/codex-tool.jsonl");
const LIMIT: &str = include_str!("../../tests/data/agent/codex-limit.jsonl");
const ERROR: &str = include_str!("../../tests/data/agent/codex-error.jsonl");

fn read(stream: &str) -> (Vec<AgentEvent>, Progress) {
    let mut parser =
        CodexParser { clock: Arc::new(SystemClock::new()), progress: Progress::default(), error: None };
    let mut events: Vec<AgentEvent> = stream.lines().flat_map(|line| parser.parse(line)).collect();
    events.extend(parser.finish());
    (events, parser.progress)
}

#[test]
fn a_recorded_call_becomes_events() {
    let (events, progress) = read(TOOL);
    let usage = Usage { input_tokens: 200, output_tokens: 20, ..Usage::default() };
    assert_eq!(
        events,
        [
            AgentEvent::Ready {
                session_id: Some("01a20051-45e6-7042-86bf-b4255fbbf4ee".into()),
                model: None
            },
            AgentEvent::Text { text: "I write the file.".into() },
            AgentEvent::ToolCall(AbilityCall {
                call_id: "item_2".into(),
                ability_id: "command_execution".into(),
                input: r#"{"command":"echo hi > made.txt"}"#.into(),
                ..AbilityCall::default()
            }),
            AgentEvent::ToolResult(AbilityResult {
                call_id: "item_2".into(),
                ability_id: "command_execution".into(),
                ..AbilityResult::default()
            }),
            AgentEvent::Text { text: "done".into() },
            AgentEvent::Usage(usage),
        ]
    );
    assert_eq!(progress.ending, Some(Ending::Done));
}

#[test]
fn a_recorded_failure_shows_the_words_of_the_provider() {
    let (_, progress) = read(ERROR);
    let message = "invalid_request_error: bad things".to_owned();
    assert_eq!(progress.ending, Some(Ending::Failed { message }));
}

#[test]
fn a_recorded_status_429_is_a_rate_limit() {
    let (events, progress) = read(LIMIT);
    assert!(matches!(progress.ending, Some(Ending::RateLimited { .. })));
    assert!(matches!(events.last(), Some(AgentEvent::RateLimited { .. })));
}

#[test]
fn an_attempt_to_reconnect_is_no_failure_when_the_turn_completes() {
    let error = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
    let (_, recovered) = read(&format!("{error}\n{{\"type\":\"turn.completed\"}}"));
    assert_eq!(recovered.ending, Some(Ending::Done));
    let (_, lost) = read(error);
    assert_eq!(lost.ending, Some(Ending::Failed { message: "Reconnecting... 1/5".into() }));
}

#[test]
fn a_file_change_that_comes_whole_is_a_call_and_its_result() {
    let (events, _) = read(
        r#"{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"failed"}}"#,
    );
    assert!(matches!(
        events.as_slice(),
        [AgentEvent::ToolCall(call), AgentEvent::ToolResult(result)]
            if call.input == r#"{"changes":[{"path":"a","kind":"add"}]}"#
                && result.ability_id == "file_change" && result.status == AbilityStatus::Error
    ));
}

fn item(stage: &str, item: Value) -> String {
    json!({"type": format!("item.{stage}"), "item": item}).to_string() + "\n"
}

/// The calls that a stream tells of, each with its arguments.
fn calls(stream: &str) -> Vec<(String, String)> {
    let (events, _) = read(stream);
    let call = |event| match event {
        AgentEvent::ToolCall(call) => Some((call.ability_id, call.input)),
        _ => None,
    };
    events.into_iter().filter_map(call).collect()
}

#[test]
fn a_command_is_told_as_the_model_gave_it() {
    // As version 0.169.0 shows them.
    for (shown, given) in [
        ("/bin/bash -lc 'echo hi > made.txt'", "echo hi > made.txt"),
        ("/bin/bash -lc true", "true"),
        ("/bin/bash -c 'echo nologin'", "echo nologin"),
        ("/bin/bash -lc ''", ""),
        ("/bin/bash -lc \"echo 'a b' \\\"c\\\" \"'$HOME'", "echo 'a b' \"c\" $HOME"),
        ("/bin/bash -lc \"printf 'x\ny'\necho z\"", "printf 'x\ny'\necho z"),
        ("/bin/bash -lc \"bash -lc 'echo inner'\"", "bash -lc 'echo inner'"),
        ("pwsh -NoProfile -Command 'dir /s'", "dir /s"),
        // No shell that is given a line: told as it is.
        ("ls", "ls"),
        ("git push", "git push"),
        ("/bin/bash -lc 'echo", "/bin/bash -lc 'echo"),
        ("/bin/bash script -x", "/bin/bash script -x"),
    ] {
        let stream = item("started", json!({"id": "1", "type": "command_execution", "command": shown}));
        let told = [("command_execution".to_owned(), json!({ "command": given }).to_string())];
        assert_eq!(calls(&stream), told, "{shown}");
    }
}

#[test]
fn a_tool_of_an_mcp_server_has_the_name_that_hooks_have_and_its_arguments() {
    let call = json!({"id": "1", "type": "mcp_tool_call", "server": "my-srv", "tool": "read.it-now",
        "arguments": {"a": "x"}, "result": null, "error": null, "status": "in_progress"});
    let told = [("mcp__my_srv__read_it_now".to_owned(), "{\"a\":\"x\"}".to_owned())];
    assert_eq!(calls(&item("started", call)), told);
}

#[test]
fn a_change_of_files_is_one_call_whether_its_start_is_told_or_not() {
    let change = json!({"id": "1", "type": "file_change", "changes": [{"path": "/p/a", "kind": "add"}]});
    let [started, completed] = ["started", "completed"].map(|stage| item(stage, change.clone()));
    for stream in [started + &completed, completed] {
        let (events, _) = read(&stream);
        assert!(matches!(&events[..], [AgentEvent::ToolCall(_), AgentEvent::ToolResult(_)]), "{events:?}");
    }
}
