use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    hook::AbilityDecision,
    process::Supervisor,
    script::{CommandLine, HookCommand},
    testing::{FakePlugin, VirtualClock},
};

/// Handlers that let everything pass, and remember what they were given.
fn watched(session: SessionBuilder) -> (SessionBuilder, FakeHandler<points::AbilityAfter>) {
    let after = FakeHandler::<points::AbilityAfter>::passes();
    (session.hook::<points::AbilityAfter, _>("after", after.clone()), after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_made_with_the_arguments_that_handlers_left_and_told_of_with_all_that_is_known() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().clock(clock.clone()).build().unwrap();
    let seen = FakeHandler::<points::AbilityBefore>::script([Act::compute(|_| {
        Ok(AbilityBeforeOutput {
            updated_input: Some(json!({ "command": "ls" }).to_string()),
            results: HookResults { messages_to_user: vec!["changed".to_owned()], ..Default::default() },
            ..Default::default()
        })
    })]);
    let (session, after) = watched(of(&bench).hook::<points::AbilityBefore, _>("before", seen.clone()));
    let session = session.open().await.unwrap();
    let request = push().operation_key("git.push").caller("planner");
    let called = session
        .call_ability(request, async |permitted| {
            clock.advance(Duration::from_millis(1_200));
            let output = AbilityOutput::new(permitted.input.clone());
            Ok::<_, String>(output.summary("2 files").changed_files(["a.rs"]))
        })
        .await
        .unwrap();
    assert_eq!(called.end, AbilityEnd::Returned(json!({ "command": "ls" })));
    assert_eq!(called.before.results.messages_to_user, ["changed"]);
    let given = seen.last_input().unwrap();
    assert_eq!((given.caller.as_str(), given.enforced), ("planner", true));
    assert_eq!(
        (given.call_id.as_deref(), given.operation_key.as_deref()),
        (Some("call-1"), Some("git.push"))
    );
    assert_eq!(serde_json::from_str::<Value>(&given.input).unwrap(), json!({ "command": "git push" }));
    let given = after.last_input().unwrap();
    assert_eq!((given.status, given.duration_ms), (AbilityStatus::Success, Some(1_200)));
    assert_eq!(
        (given.call_id.as_deref(), given.operation_key.as_deref()),
        (Some("call-1"), Some("git.push"))
    );
    assert_eq!(given.input_summary.as_deref(), Some(r#"{"command":"ls"}"#));
    assert_eq!(
        (given.output_summary.as_deref(), given.changed_files),
        (Some("2 files"), Some(vec!["a.rs".to_owned()]))
    );
    assert_eq!(session.state().calls, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operation_key_of_both_points_is_what_the_caller_gave_and_nothing_else() {
    let bench = bench();
    let before = FakeHandler::<points::AbilityBefore>::passes();
    let (session, after) = watched(of(&bench).hook::<points::AbilityBefore, _>("before", before.clone()));
    let session = session.open().await.unwrap();
    for (request, expected) in [(push(), None), (push().operation_key("git.push"), Some("git.push"))] {
        session.call_ability(request, async |_| Ok::<_, String>(AbilityOutput::new(()))).await.unwrap();
        let (asked, told) = (before.last_input().unwrap(), after.last_input().unwrap());
        assert_eq!((asked.operation_key.as_deref(), told.operation_key.as_deref()), (expected, expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_blocked_asked_about_or_whose_guard_breaks_strictly_is_not_made() {
    let ask = AbilityBeforeOutput { ask: true, reason: Some("really?".to_owned()), ..Default::default() };
    let acts = [
        (Act::refuse("never"), "never"),
        (Act::compute(move |_| Ok(ask.clone())), "really?"),
        (Act::fail("out of order"), "the handler api:guard of ability.before broke: failed: out of order"),
    ];
    for (act, expected) in acts {
        let strict = "[hooks.\"ability.before\"]\nstrict = true\n";
        let bench = Bench::builder().config(format!("version = \"2\"\n{strict}")).build().unwrap();
        let guard = FakeHandler::<points::AbilityBefore>::always(act);
        let (session, after) = watched(of(&bench).hook::<points::AbilityBefore, _>("guard", guard));
        let session = session.open().await.unwrap();
        let events = session.events();
        let made = Mutex::new(false);
        let called = session.call_ability(push(), async |_| {
            *made.lock().unwrap() = true;
            Ok::<_, String>(AbilityOutput::new(()))
        });
        let called = called.await.unwrap();
        let reason = expected.to_owned();
        assert_eq!((called.end, called.after), (AbilityEnd::Blocked { reason: reason.clone() }, None));
        assert_eq!((*made.lock().unwrap(), after.count()), (false, 0));
        session.end("completed").await.unwrap();
        let told = told(events).await;
        let blocked =
            Event::AbilityBlocked { iteration: 0, ability_id: "Bash".to_owned(), reason, prevented: true };
        assert!(told.iter().any(|record| record.event == blocked), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_fails_and_one_that_is_given_up_are_told_of() {
    let (session, after) = watched(of(&bench()));
    let session = session.open().await.unwrap();
    let called =
        session.call_ability(push(), async |_| Err::<AbilityOutput<()>, _>("no network")).await.unwrap();
    assert_eq!(called.end, AbilityEnd::Failed("no network"));
    let given = after.last_input().unwrap();
    assert_eq!((given.status, given.output_summary.as_deref()), (AbilityStatus::Error, Some("no network")));

    let cancel = CancellationToken::new();
    let given_up = session.cancelled_by(cancel.clone());
    let called = given_up.call_ability(push(), async |_| {
        cancel.cancel();
        std::future::pending::<Result<AbilityOutput<()>, String>>().await
    });
    assert_eq!(called.await.unwrap().end, AbilityEnd::Cancelled);
    assert_eq!(after.last_input().unwrap().status, AbilityStatus::Cancelled);

    // Whoever has given up makes no call, although no handler was heard that may have blocked it.
    let called =
        given_up.call_ability(push(), async |_| Ok::<_, String>(AbilityOutput::new(()))).await.unwrap();
    assert!(matches!(called.end, AbilityEnd::Blocked { .. }), "{called:?}");
    assert!(given_up.submit_prompt("user", "go on").await.unwrap().blocked.is_some());
    // Others of the session go on.
    let called =
        session.call_ability(push(), async |_| Ok::<_, String>(AbilityOutput::new(7))).await.unwrap();
    assert_eq!(called.end, AbilityEnd::Returned(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_of_what_was_given_up_has_ten_seconds() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().clock(clock.clone()).build().unwrap();
    let hangs = FakeHandler::<points::AbilityAfter>::always(Act::Hang);
    let session = of(&bench).hook::<points::AbilityAfter, _>("after", hangs).open().await.unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = session.before(push()).await.unwrap().call_id;
    let given_up = session.cancelled_by(cancel);
    let told = tokio::spawn(async move {
        let report = AbilityReport { call_id: call, status: AbilityStatus::Cancelled, ..Default::default() };
        given_up.after(report).await.unwrap()
    });
    while clock.next_wake() != Some(Duration::from_secs(10)) {
        tokio::task::yield_now().await;
    }
    assert!(!told.is_finished());
    clock.advance(Duration::from_secs(10));
    told.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_hangs_ends_with_the_caller_who_gives_up() {
    let guard = FakeHandler::<points::AbilityBefore>::always(Act::Hang);
    let session = of(&bench()).hook::<points::AbilityBefore, _>("guard", guard.clone()).open().await.unwrap();
    let cancel = CancellationToken::new();
    let given_up = session.cancelled_by(cancel.clone());
    let asked = tokio::spawn(async move { given_up.before(push()).await.unwrap() });
    while guard.count() == 0 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert!(matches!(asked.await.unwrap().decision, AbilityDecision::Block { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_within_calls_name_those_around_them() {
    let (session, after) = watched(of(&bench()));
    let session = session.open().await.unwrap();
    let called = session.call_ability(AbilityRequest::new("Task", json!({})), async |task| {
        let review = AbilityRequest::new("Review", json!({})).within(&task.call_id);
        let review = session.call_ability(review, async |review| {
            let inner = session.call_ability(push().within(&review.call_id), async |_| {
                Ok::<_, String>(AbilityOutput::new("pushed"))
            });
            Ok::<_, String>(AbilityOutput::new(inner.await.unwrap().end))
        });
        Ok::<_, String>(AbilityOutput::new(review.await.unwrap().end))
    });
    called.await.unwrap();
    let paths: Vec<Vec<String>> =
        after.calls().iter().map(|call| call.input().tool_call_path.clone()).collect();
    assert_eq!(paths, [vec!["call-1", "call-2"], vec!["call-1"], Vec::new()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_given_the_arguments_and_its_output_and_failure_are_told() {
    let bench = bench();
    let (session, after) = watched(of(&bench).supervisor(Supervisor::GroupOnly));
    let session = session.open().await.unwrap();
    let command = |line: &str| {
        HookCommand::new(CommandLine::Shell(line.into()), bench.path()).env("PATH", "/usr/bin:/bin")
    };
    let called = session.call_command(push(), command("cat")).await.unwrap();
    let AbilityEnd::Returned(output) = called.end else { panic!("{:?}", called.end) };
    assert_eq!(output.stdout.text(), r#"{"command":"git push"}"#);
    assert_eq!(after.last_input().unwrap().output_summary.as_deref(), Some(r#"{"command":"git push"}"#));
    let called = session.call_command(push(), command("echo broken >&2; exit 3")).await.unwrap();
    assert!(matches!(&called.end, AbilityEnd::Failed(failure) if failure.message == "broken"), "{called:?}");
    assert_eq!(after.last_input().unwrap().status, AbilityStatus::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_of_plugins_take_part_and_what_they_say_is_merged() {
    let suggests = |confidence, intent: &str| {
        let ability = SuggestedAbility {
            id: "fmt".to_owned(),
            reason: "style".to_owned(),
            confidence: Some(confidence),
        };
        let results = HookResults {
            suggested_abilities: vec![ability],
            follow_up_actions: vec![json!({ "run": "make" }).to_string()],
            new_intent: Some(json!(intent).to_string()),
            ..HookResults::default()
        };
        FakeHandler::<points::PromptSubmit>::answers(PromptSubmitOutput { results, ..Default::default() })
    };
    let plugin = FakePlugin::new("hints").handler::<points::PromptSubmit, _>("prompt", suggests(0.4, "docs"));
    let session = of(&bench())
        .register(|handlers| plugin.register(handlers))
        .hook::<points::PromptSubmit, _>("own", suggests(0.9, "tests"))
        .open()
        .await
        .unwrap();
    let feedback = session.submit_prompt("user", "Write the docs").await.unwrap();
    let results = feedback.results;
    assert_eq!(results.suggested_abilities.len(), 1);
    assert_eq!(results.suggested_abilities[0].confidence, Some(0.9));
    assert_eq!(results.new_intent.as_deref(), Some("\"docs\""));
    assert_eq!(results.follow_up_actions.len(), 2, "they are data");
    assert_eq!(feedback.warnings.len(), 1, "the second intent");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_and_what_nobody_began_is_refused() {
    let (session, after) = watched(of(&bench()));
    let session = session.open().await.unwrap();
    let long = "x".repeat((1 << 20) + 1);
    let refused = |error: SessionError| matches!(error, SessionError::TooLong { .. });
    assert!(refused(session.submit_prompt("user", &long).await.unwrap_err()));
    assert!(refused(session.before(AbilityRequest::new("Bash", json!(long))).await.unwrap_err()));
    assert!(refused(session.before(AbilityRequest::new("x".repeat(2_000), json!({}))).await.unwrap_err()));
    assert_eq!(session.state().calls, []);
    let report = AbilityReport { call_id: "7".to_owned(), ..AbilityReport::default() };
    let unknown = session.after(report.clone()).await.unwrap_err();
    assert_eq!(unknown.to_string(), "no call 7 has begun in the session");
    // One that names its ability is told of.
    let named = AbilityReport {
        ability_id: Some("Bash".to_owned()),
        input: Some(json!({ "command": "ls" })),
        output_summary: Some("y".repeat(10_000)),
        ..report
    };
    session.after(named).await.unwrap();
    let given = after.last_input().unwrap();
    assert_eq!((given.input_summary.as_deref(), given.duration_ms), (Some(r#"{"command":"ls"}"#), None));
    assert!(given.output_summary.unwrap().len() < 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_nobody_ends_make_room_for_later_ones() {
    let session = of(&bench()).open().await.unwrap();
    for _ in 0..100 {
        session.before(push()).await.unwrap();
    }
    let state = session.state();
    assert_eq!((state.calls.len(), state.calls_begun), (64, 100));
    assert_eq!(state.calls[0].call_id, "call-37");
}
