#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

use samuel_model::clock::SystemClock;

use super::*;
use crate::{AbilityCall, AbilityResult};

const TOOL: &str = include_str!("../../tests/data/agent/claude-tool.jsonl");
const LIMIT: &str = include_str!("../../tests/data/agent/claude-limit.jsonl");
const ERROR: &str = include_str!("../../tests/data/agent/claude-error.jsonl");

fn parser() -> ClaudeParser {
    ClaudeParser::new(Arc::new(SystemClock::new()))
}

fn read(stream: &str) -> (Vec<AgentEvent>, ClaudeParser) {
    let mut parser = parser();
    let events = stream.lines().flat_map(|line| parser.parse(line)).collect();
    (events, parser)
}

#[test]
fn a_recorded_call_becomes_events() {
    let (events, parser) = read(TOOL);
    let usage = |input_tokens, output_tokens, cost_usd| Usage {
        input_tokens,
        output_tokens,
        cached_tokens: 0,
        cost_usd,
    };
    let one = AgentEvent::Usage(usage(100, 10, None));
    assert_eq!(
        events,
        [
            AgentEvent::Ready {
                session_id: Some("8736603f-af28-4cf6-b06f-26b3ac7ba58a".into()),
                model: Some("claude-opus-5-5".into())
            },
            AgentEvent::Text { text: "I write the file.".into() },
            one.clone(),
            AgentEvent::ToolCall(AbilityCall {
                call_id: "toolu_1_1".into(),
                ability_id: "Bash".into(),
                input: r#"{"command":"echo hi > made.txt","description":"w"}"#.into(),
                ..AbilityCall::default()
            }),
            // The second block of the same answer counts once.
            one,
            AgentEvent::ToolResult(AbilityResult {
                call_id: "toolu_1_1".into(),
                ability_id: "Bash".into(),
                status: AbilityStatus::Success,
                output_summary: Some("(Bash completed with no output)".into()),
                ..AbilityResult::default()
            }),
            AgentEvent::Text { text: "done".into() },
            AgentEvent::Usage(usage(200, 20, None)),
            AgentEvent::Usage(usage(200, 20, Some(0.001_200_000_000_000_000_1))),
        ]
    );
    assert_eq!(parser.progress.ending, Some(Ending::Done));
    assert_eq!(parser.progress.answer.as_str(), "I write the file.\ndone");
}

#[test]
fn a_result_with_is_error_is_a_failure_although_its_subtype_says_success() {
    let (_, parser) = read(ERROR);
    assert_eq!(parser.progress.ending, Some(Ending::Failed { message: "API Error: 400 bad things".into() }));
}

#[test]
fn a_recorded_refusal_with_status_429_is_a_rate_limit() {
    let (events, parser) = read(LIMIT);
    let message = "API Error: Request rejected (429) · too many".to_owned();
    assert!(events.contains(&AgentEvent::RateLimited { resets_at: None, message: message.clone() }));
    assert_eq!(parser.progress.ending, Some(Ending::RateLimited { message, resets_at: None }));
}

#[test]
fn a_rejected_limit_gives_the_failure_its_reset_time() {
    let (events, parser) = read(concat!(
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1778565600,"rateLimitType":"five_hour"}}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit · resets 2pm (Asia/Shanghai)"}"#,
    ));
    let resets_at = from_epoch(1_778_565_600);
    assert_eq!(
        events,
        [AgentEvent::RateLimited { resets_at, message: "the five_hour limit is reached".into() }]
    );
    assert!(
        matches!(parser.progress.ending, Some(Ending::RateLimited { resets_at: at, .. }) if at == resets_at)
    );
}

#[test]
fn reports_on_limits_that_do_not_stop_the_work_are_no_events() {
    for info in [
        r#"{"status":"allowed","resetsAt":1778565600}"#,
        r#"{"status":"allowed_warning","utilization":0.9}"#,
        r#"{"status":"rejected","isUsingOverage":true}"#,
        "{}",
    ] {
        let (events, parser) = read(&format!(
            "{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{info}}}\n{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"I added a rate limit\"}}"
        ));
        assert_eq!(events, [], "{info}");
        assert_eq!(parser.progress.ending, Some(Ending::Done), "{info}");
    }
}

#[test]
fn denials_are_reported_with_what_was_refused() {
    let (events, _) = read(
        r#"{"type":"result","subtype":"success","permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"rm -rf /"}}]}"#,
    );
    let message = r#"{"command":"rm -rf /"}"#.into();
    assert_eq!(events, [AgentEvent::PermissionDenied { tool: "Bash".into(), message }]);
}

#[test]
fn the_totals_count_every_model_and_what_came_from_the_cache() {
    let (_, parser) = read(
        r#"{"type":"result","subtype":"success","total_cost_usd":0.5,"usage":{"input_tokens":1},"modelUsage":{
            "a":{"inputTokens":10,"outputTokens":2,"cacheReadInputTokens":100,"cacheCreationInputTokens":5},
            "b":{"inputTokens":1,"outputTokens":1}}}"#
            .replace('\n', " ")
            .as_str(),
    );
    let usage = Usage { input_tokens: 116, output_tokens: 3, cached_tokens: 100, cost_usd: Some(0.5) };
    assert_eq!(parser.progress.usage, Some(usage));
}

#[test]
fn what_is_unknown_is_left_out_and_what_is_broken_is_reported() {
    let mut parser = parser();
    for line in ["", r#"{"type":"system","subtype":"api_retry"}"#, r#"{"type":"new"}"#, "{}", r#"{"type":7}"#]
    {
        assert_eq!(parser.parse(line), [], "{line}");
    }
    let half = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"half{"type":"rate"#;
    for line in [half, "[1]", "Warning: no config", &"[".repeat(5_000)] {
        let events = parser.parse(line);
        assert!(
            matches!(&events[..], [AgentEvent::Unreadable { line: start }] if start.len() <= 210),
            "{events:?}"
        );
    }
    for line in TOOL.lines() {
        // Cut anywhere, a line is read or reported, and nothing panics.
        let cuts = (0..line.len()).step_by(97).filter(|at| line.is_char_boundary(*at));
        cuts.for_each(|at| drop(parser.parse(&line[..at])));
    }
}

#[test]
fn of_a_conversation_that_goes_on_each_result_counts_what_it_consumed_itself() {
    let result = |tokens: u64, cost: f64| {
        let of = |tokens: u64, cost: f64| serde_json::json!({"m": {"inputTokens": tokens, "costUSD": cost}});
        serde_json::json!({
            "type": "result", "is_error": false, "total_cost_usd": 9.0, "modelUsage": of(900, 9.0),
            "model_usage_since_last_result": of(tokens, cost),
        })
    };
    let (_, parser) = read(&result(100, 0.25).to_string());
    let usage = |input_tokens, cost| Usage { input_tokens, cost_usd: Some(cost), ..Usage::default() };
    assert_eq!(parser.progress.usage, Some(usage(100, 0.25)));
    // A call can have more than one.
    let (_, parser) = read(&[result(100, 0.25).to_string(), result(50, 0.5).to_string()].join("\n"));
    assert_eq!(parser.progress.usage, Some(usage(150, 0.75)));
}

#[test]
fn a_call_of_a_subagent_names_the_call_that_started_it() {
    let call = |id: &str, parent: Option<&str>| {
        let tool = serde_json::json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
        serde_json::json!({"type": "assistant", "parent_tool_use_id": parent, "message": {"content": [tool]}})
    };
    let (events, _) = read(&[call("1", None).to_string(), call("2", Some("1")).to_string()].join("\n"));
    let parents = events.iter().filter_map(|event| match event {
        AgentEvent::ToolCall(call) => Some(call.parent_id.as_deref()),
        _ => None,
    });
    assert_eq!(parents.collect::<Vec<_>>(), [None, Some("1")]);
}
