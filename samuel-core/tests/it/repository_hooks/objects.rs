//! Seed 003, section 4: contexts and results.

use samuel_core::{
    hook::{BreakClass, points},
    model::payload::*,
};
use serde_json::{Value, json};

use crate::repository_hooks::kit::{Repository, hook};

fn before(ability: &str, input: Value) -> AbilityBeforeInput {
    AbilityBeforeInput {
        ability_id: ability.to_owned(),
        input: input.to_string(),
        caller: "tests".to_owned(),
        enforced: true,
        ..AbilityBeforeInput::default()
    }
}

/// Fires `PreAbilityCall` for a hook that prints a text, and returns what came of it.
async fn printed(blocking: bool, text: &str) -> samuel_core::hook::Dispatched<AbilityBeforeOutput> {
    let repository =
        Repository::with(&[("x", &hook("x", "PreAbilityCall", &format!("blocking: {blocking}"), "cat out"))]);
    repository.write("out", text);
    repository.fire::<points::AbilityBefore>(before("Bash", json!({}))).await
}

#[tokio::test]
async fn seed_003_section_4_a_context_has_the_fields_of_its_event_on_stdin() {
    let keep = |event: &str| hook(&event.to_lowercase(), event, "", &format!("cat > {event}.json"));
    let events = ["PreAbilityCall", "PostAbilityCall", "SessionStop"];
    let hooks: Vec<(String, String)> =
        events.iter().map(|event| (event.to_lowercase(), keep(event))).collect();
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let repository = Repository::with(&hooks);
    let input = AbilityAfterInput {
        ability_id: "deploy".to_owned(),
        operation_key: Some("release".to_owned()),
        status: AbilityStatus::Error,
        duration_ms: Some(12),
        input_summary: Some("in".to_owned()),
        output_summary: Some("out".to_owned()),
        tool_call_path: vec!["Task".to_owned()],
        changed_files: Some(vec!["a".to_owned()]),
        ..AbilityAfterInput::default()
    };
    repository.fire::<points::AbilityAfter>(input).await;
    let context: Value = serde_json::from_str(&repository.text("PostAbilityCall.json")).unwrap();
    assert_eq!(
        context,
        json!({
            "event_type": "PostAbilityCall", "session_id": "tests", "ability_id": "deploy", "operation_key": "release",
            "status": "error", "duration_ms": 12, "input_summary": "in", "output_summary": "out",
            "tool_call_path": ["Task"], "changed_files": ["a"],
        })
    );
    repository.fire::<points::AbilityBefore>(before("Bash", json!({ "command": "ls" }))).await;
    let context: Value = serde_json::from_str(&repository.text("PreAbilityCall.json")).unwrap();
    assert_eq!(context["input"], json!({ "command": "ls" }), "arguments are a document");
    let stop = SessionStopInput { reason: "completed".to_owned(), ..SessionStopInput::default() };
    repository.fire::<points::SessionStop>(stop).await;
    let context: Value = serde_json::from_str(&repository.text("SessionStop.json")).unwrap();
    assert_eq!((&context["event_type"], &context["reason"]), (&json!("SessionStop"), &json!("completed")));
}

#[tokio::test]
async fn seed_003_section_4_results_are_collected_and_merged() {
    let say = |id: &str, confidence: f64| {
        let result = json!({
            "logs": [id], "messages_to_user": [format!("from {id}")],
            "suggested_abilities": [{ "id": "lint", "reason": id, "confidence": confidence }],
            "suggested_documents": [{ "path": "docs/a.md", "reason": id }],
            "follow_up_actions": [{ "kind": "run_command", "command": "touch executed" }],
            "new_intent": { "by": id }, "usage_recorded": id == "b",
        });
        hook(id, "PromptSubmit", "", &format!("echo '{result}'"))
    };
    let (a, b) = (say("a", 0.4), say("b", 0.9));
    let repository = Repository::with(&[("a", &a), ("b", &b)]);
    let fired = repository.fire::<points::PromptSubmit>(PromptSubmitInput::default()).await;
    let results = fired.output.results;
    assert_eq!(results.logs, ["a", "b"]);
    assert_eq!(results.messages_to_user, ["from a", "from b"]);
    assert_eq!(results.suggested_abilities.len(), 1);
    assert_eq!(results.suggested_abilities[0].confidence, Some(0.9));
    assert_eq!((results.suggested_documents.len(), results.follow_up_actions.len()), (1, 2));
    assert_eq!(results.new_intent.as_deref(), Some("{\"by\":\"a\"}"));
    assert!(results.usage_recorded);
    assert!(fired.outcome.warnings.iter().any(|warning| warning.message.contains("new_intent")));
    assert!(!repository.exists("executed"), "actions are data");
}

#[tokio::test]
async fn seed_003_section_4_only_a_blocking_hook_that_says_so_stops_the_action() {
    let block =
        json!({ "block_execution": true, "messages_to_user": ["not on main", "ask first"] }).to_string();
    let fired = printed(true, &block).await;
    assert!(fired.output.block);
    assert_eq!(fired.output.reason.as_deref(), Some("not on main\nask first"));
    let fired = printed(true, "{\"block_execution\":true}").await;
    assert_eq!(fired.output.reason.as_deref(), Some("repo:x blocks it and gives no reason"));
    let fired = printed(false, &block).await;
    assert!(!fired.output.block && !fired.output.results.block_execution);
    let warnings = fired.outcome.warnings;
    assert!(
        warnings[0].message.ends_with("block_execution has no effect without blocking: true"),
        "{warnings:?}"
    );
    for nothing in ["", "{}", "{\"block_execution\":false}"] {
        assert!(!printed(true, nothing).await.output.block, "{nothing}");
    }
}

#[tokio::test]
async fn seed_003_section_4_bad_output_blocks_where_the_hook_is_blocking_and_is_a_warning_elsewhere() {
    let deep = format!("{{\"new_intent\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let large = format!("{{\"logs\":[\"{}\"]}}", "x".repeat(20 << 20));
    for text in ["not json", "[]", "{}{}", "{}\nall is well", &deep, &large, "{\"logs\":\"one\"}"] {
        let start: String = text.chars().take(40).collect();
        let fired = printed(true, text).await;
        let reason = fired.output.reason.unwrap_or_default();
        assert!(
            fired.output.block && reason.starts_with("hook broke: repo:x: bad_output: "),
            "{start}: {reason}"
        );
        assert!(fired.outcome.abort.is_none() && fired.outcome.broken.is_empty(), "{start}");
        let fired = printed(false, text).await;
        assert!(!fired.output.block, "{start}");
        let broken = &fired.outcome.broken[0].failure;
        assert_eq!(broken.class, BreakClass::BadOutput, "{start}");
        assert_eq!(broken.details[0], text.chars().take(200).collect::<String>());
        assert_eq!(fired.outcome.warnings[0].class, "bad_output");
        assert!(fired.outcome.abort.is_none(), "{start}");
    }
    let fired = printed(true, "{\"later\":{\"field\":1},\"logs\":[\"a\"]}").await;
    assert!(!fired.output.block, "unknown fields are ignored");
    assert_eq!(fired.output.results.logs, ["a"]);
}

#[tokio::test]
async fn seed_003_section_4_a_handler_that_fails_is_treated_by_blocking() {
    for (command, class) in [
        ("echo why >&2; exit 1", "failed: why"),
        // As hooks of agents say no; what is printed does not count then.
        ("echo '{}'; echo why >&2; exit 2", "failed: why"),
        ("exit 2", "failed: "),
        ("kill -9 $$", "signaled: ended by signal 9"),
        ("sleep 30", "timeout: no answer within 1s"),
        ("./missing.sh", "spawn: "),
    ] {
        for blocking in [true, false] {
            let more = format!("blocking: {blocking}");
            let text = hook("x", "PreAbilityCall", &more, command) + "  timeout: 1\n";
            let repository = Repository::with(&[("x", &text)]);
            let fired = repository.fire::<points::AbilityBefore>(before("Bash", json!({}))).await;
            assert!(fired.outcome.abort.is_none(), "{command}");
            assert_eq!(fired.output.block, blocking, "{command}");
            let reason = fired.output.reason.unwrap_or_default();
            match blocking {
                true => assert!(
                    reason.starts_with(&format!("hook broke: repo:x: {class}")),
                    "{command}: {reason}"
                ),
                false => assert_eq!(fired.outcome.broken.len(), 1, "{command}"),
            }
            assert!(!fired.outcome.warnings.is_empty(), "{command}");
        }
    }
}

#[tokio::test]
async fn seed_003_section_4_prompts_and_stops_are_blocked_too_and_nothing_else_is() {
    let block = "echo '{\"block_execution\":true,\"messages_to_user\":[\"no\"]}'";
    let hooks = ["PromptSubmit", "SessionStop", "SessionStart", "PostAbilityCall", "SessionEnd"]
        .map(|event| (event.to_lowercase(), hook(&event.to_lowercase(), event, "blocking: true", block)));
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let repository = Repository::with(&hooks);
    assert!(repository.fire::<points::PromptSubmit>(Default::default()).await.output.block);
    assert!(repository.fire::<points::SessionStop>(Default::default()).await.output.block);
    let start = repository.fire::<points::SessionStart>(Default::default()).await;
    assert!(start.output.ok && !start.output.results.block_execution);
    let after = repository.fire::<points::AbilityAfter>(Default::default()).await;
    assert!(!after.output.results.block_execution);
    let end = repository.fire::<points::SessionEnd>(Default::default()).await;
    assert!(end.output.ok);
    assert!(end.outcome.warnings.iter().any(|warning| warning.message == "no"), "{:?}", end.outcome.warnings);
}
