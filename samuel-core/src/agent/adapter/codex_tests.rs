#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use super::*;
use crate::{
    agent::{AbilityCall, AbilityResult},
    clock::SystemClock,
    model::Usage,
};

const TOOL: &str = include_str!("../../../tests/data/agent/codex-tool.jsonl");
const LIMIT: &str = include_str!("../../../tests/data/agent/codex-limit.jsonl");
const ERROR: &str = include_str!("../../../tests/data/agent/codex-error.jsonl");

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
                input: r#"{"command":"/bin/bash -lc 'echo hi > made.txt'"}"#.into(),
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
