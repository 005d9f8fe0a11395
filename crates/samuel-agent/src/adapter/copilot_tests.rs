use samuel_model::clock::SystemClock;

use super::*;

const TOOL: &str = include_str!("../../tests/data/agent/copilot-tool.jsonl");
const ERROR: &str = include_str!("../../tests/data/agent/copilot-error.jsonl");

fn read(stream: &str) -> (Vec<AgentEvent>, Progress) {
    let clock = Arc::new(SystemClock::new());
    let mut parser = CopilotParser { clock, progress: Progress::default(), error: None };
    (stream.lines().flat_map(|line| parser.parse(line)).collect(), parser.progress)
}

#[test]
fn a_recorded_call_becomes_events() {
    let (events, progress) = read(TOOL);
    assert!(matches!(
        events.as_slice(),
        [
            AgentEvent::Ready { model: Some(model), .. },
            AgentEvent::Text { .. },
            AgentEvent::ToolCall(call),
            AgentEvent::ToolResult(result),
            AgentEvent::Text { .. },
            AgentEvent::Ready { session_id: Some(session), .. },
        ] if model == "gpt-5"
            && session == "bca09684-a8b1-4c67-8d3a-564b164c7b0a"
            && call.ability_id == "bash"
            && result.ability_id == "bash"
            && result.status == AbilityStatus::Success
    ));
    assert_eq!(progress.ending, Some(Ending::Done));
    assert_eq!(progress.answer.as_str(), "I write the file.\ndone");
}

#[test]
fn a_recorded_error_of_the_session_is_a_failure() {
    let (_, progress) = read(ERROR);
    assert_eq!(progress.ending, Some(Ending::Failed { message: "400 bad things".into() }));
}

#[test]
fn an_error_with_status_429_is_a_limit_only_when_the_session_fails() {
    let error =
        r#"{"type":"session.error","data":{"errorType":"rate_limit","message":"too many","statusCode":429}}"#;
    let end = |code: i32| read(&format!("{error}\n{{\"type\":\"result\",\"exitCode\":{code}}}")).1.ending;
    assert_eq!(end(0), Some(Ending::Done));
    assert_eq!(end(1), Some(Ending::RateLimited { message: "too many".into(), resets_at: None }));
}

#[test]
fn a_call_of_a_subagent_names_the_call_that_started_it() {
    let data =
        serde_json::json!({"toolCallId": "2", "toolName": "bash", "parentToolCallId": "1", "arguments": {}});
    let line = serde_json::json!({"type": "tool.execution_start", "data": data}).to_string();
    let (events, _) = read(&line);
    assert!(
        matches!(&events[..], [AgentEvent::ToolCall(call)] if call.parent_id.as_deref() == Some("1")),
        "{events:?}"
    );
}
