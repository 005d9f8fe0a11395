use samuel_model::{Usage, clock::SystemClock};

use super::*;

const TOOL: &str = include_str!("../../tests/data/agent/gemini-tool.jsonl");
const ERROR: &str = include_str!("../../tests/data/agent/gemini-error.jsonl");

fn read(stream: &str) -> (Vec<AgentEvent>, Progress) {
    let clock = Arc::new(SystemClock::new());
    let mut parser = GeminiParser { clock, progress: Progress::default(), answering: false };
    (stream.lines().flat_map(|line| parser.parse(line)).collect(), parser.progress)
}

#[test]
fn a_recorded_call_becomes_events() {
    let (events, progress) = read(TOOL);
    let usage = Usage { input_tokens: 200, output_tokens: 20, ..Usage::default() };
    assert!(matches!(
        events.as_slice(),
        [
            AgentEvent::Ready { model: Some(model), .. },
            AgentEvent::Text { .. },
            AgentEvent::ToolCall(call),
            AgentEvent::ToolResult(result),
            AgentEvent::Text { .. },
            AgentEvent::Usage(total),
        ] if model == "gemini-2.5-flash"
            && call.ability_id == "run_shell_command"
            && result.ability_id == "run_shell_command"
            && *total == usage
    ));
    assert_eq!(progress.ending, Some(Ending::Done));
    assert_eq!(progress.answer.as_str(), "I write the file.\ndone");
}

#[test]
fn pieces_of_an_answer_are_joined() {
    let piece =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let (_, progress) =
        read(&[piece("hel"), piece("lo"), r#"{"type":"tool_use"}"#.into(), piece("bye")].join("\n"));
    assert_eq!(progress.answer.as_str(), "hello\nbye");
}

#[test]
fn a_recorded_error_is_a_failure_and_a_used_up_quota_a_limit() {
    let (_, progress) = read(ERROR);
    assert!(matches!(progress.ending, Some(Ending::Failed { message }) if message.contains("bad things")));
    let (events, progress) = read(
        r#"{"type":"result","status":"error","error":{"type":"TerminalQuotaError","message":"You have exhausted your capacity on this model. Your quota will reset after 3h12m5s."}}"#,
    );
    assert!(matches!(events.as_slice(), [AgentEvent::RateLimited { resets_at: Some(_), .. }]));
    assert!(matches!(progress.ending, Some(Ending::RateLimited { .. })));
}
