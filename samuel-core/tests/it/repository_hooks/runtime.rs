//! Seed 003, sections 5 and 8: when hooks run, and how they are seen.

use std::fs;

use samuel_core::{
    HookPoint,
    agent::{Script, ScriptedCall},
    engine::HooksError,
    hook::{HookStatus, points},
    model::{ExitReason, payload::*},
    testing::{Bench, completes_each_task},
};

use crate::repository_hooks::kit::{Repository, hook};

/// A run of one task whose agent works by tools.
fn bench(hooks: &[(&str, String)]) -> Bench {
    let bench = Bench::builder().task("1", "First");
    let file = |bench: samuel_core::testing::BenchBuilder, (name, text): &(&str, String)| {
        bench.file(format!(".system/hooks/{name}.yaml"), text.clone())
    };
    hooks.iter().fold(bench, file).build().unwrap()
}

fn note(id: &str, event: &str) -> (String, String) {
    (id.to_owned(), hook(id, event, "", &format!("echo {event} >> notes.txt")))
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_003_section_5_the_runtime_fires_each_event_at_its_place() {
    let hooks =
        ["SessionStart", "PromptSubmit", "PreAbilityCall", "PostAbilityCall", "SessionStop", "SessionEnd"]
            .map(|event| note(&event.to_lowercase(), event).1);
    let names = ["a", "b", "c", "d", "e", "f"];
    let hooks: Vec<(&str, String)> = names.into_iter().zip(hooks).collect();
    let bench = bench(&hooks);
    let script = Script::default().call(ScriptedCall::any().write("made.txt", "x").done());
    let played = bench.play(bench.run(script).hook_files()).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed, "{}", played.transcript());
    let notes = fs::read_to_string(bench.path().join("notes.txt")).unwrap();
    let of_write = ["PreAbilityCall", "PostAbilityCall"];
    let mut expected = vec!["SessionStart", "PromptSubmit"];
    // One call writes the file, one says that the task is done.
    expected.extend(of_write.iter().chain(&of_write));
    expected.extend(["SessionStop", "SessionEnd"]);
    assert_eq!(notes.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_003_section_5_a_blocked_call_is_not_made_and_the_agent_hears_why() {
    let block = "echo '{\"block_execution\":true,\"messages_to_user\":[\"read only\"]}'";
    let guard = hook("guard", "PreAbilityCall", "blocking: true\nmatch: {ability_scope: Write}", block);
    let bench = bench(&[("guard", guard)]);
    let script =
        Script::default().call(ScriptedCall::any().write("made.txt", "x").run("touch ran.txt").done());
    let played = bench.play(bench.run(script).hook_files()).await.unwrap();
    assert!(!bench.path().join("made.txt").exists(), "{}", played.transcript());
    assert!(bench.path().join("ran.txt").exists(), "{}", played.transcript());
    let refused = played
        .outcomes(HookPoint::AbilityBefore)
        .iter()
        .filter_map(|one| one.refused.clone())
        .collect::<Vec<_>>();
    assert_eq!(refused, ["read only"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_003_section_5_a_blocking_hook_that_breaks_blocks_its_action_and_the_iteration_goes_on() {
    let guard = hook("guard", "PreAbilityCall", "blocking: true\nmatch: {ability_scope: Write}", "exit 3");
    let bench = bench(&[("guard", guard)]);
    let script = Script::default().call(ScriptedCall::any().write("made.txt", "x").done());
    let played = bench.play(bench.run(script).hook_files()).await.unwrap();
    assert!(!bench.path().join("made.txt").exists());
    assert_eq!((played.report.exit_reason, played.report.failed_iterations), (ExitReason::Completed, 0));
    let outcomes = played.outcomes(HookPoint::AbilityBefore);
    let refused: Vec<_> = outcomes.iter().filter_map(|one| one.refused.as_deref()).collect();
    assert_eq!(refused, ["hook broke: repo:guard: failed: exit code 3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_003_section_5_a_stop_that_is_blocked_gives_the_agent_another_turn() {
    let once = "[ -e told.txt ] || { touch told.txt; echo '{\"block_execution\":true,\"messages_to_user\":[\"build it\"]}'; }";
    let bench = bench(&[("build", hook("build", "SessionStop", "blocking: true", once))]);
    let seen = samuel_core::testing::FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook_files().hook_at("seen", 900, seen.clone());
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed, "{}", played.transcript());
    let prompts: Vec<String> = seen.calls().iter().map(|call| call.input().prompt.clone()).collect();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[1].contains("build it"), "{}", prompts[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_003_section_5_a_hook_file_or_script_that_the_agent_changes_ends_the_run() {
    let guard = hook("guard", "PreAbilityCall", "", "sh guard.sh");
    for path in [".system/hooks/guard.yaml", ".system/hooks/new.yaml", "guard.sh"] {
        let bench = Bench::builder().task("1", "First").file(".system/hooks/guard.yaml", guard.clone());
        let bench = bench.file("guard.sh", "exit 0\n").build().unwrap();
        let script = Script::default().call(ScriptedCall::any().write(path, "id: x").done());
        let played = bench.play(bench.run(script).hook_files()).await.unwrap();
        assert_eq!(
            played.report.exit_reason,
            ExitReason::ControlFilesChanged,
            "{path}: {}",
            played.transcript()
        );
    }
}

#[test]
fn seed_003_section_5_what_hooks_run_is_shown_to_whoever_trusts_it() {
    let bench = Bench::builder().task("1", "First");
    let bench = bench
        .file(".system/hooks/guard.yaml", hook("guard", "PreAbilityCall", "blocking: true", "sh guard.sh"));
    let bench =
        bench.file(".system/hooks/off.yaml", hook("off", "PreAbilityCall", "enabled: false", "sh off.sh"));
    let bench = bench.file("guard.sh", "exit 0\n").build().unwrap();
    let mut run = bench.run(completes_each_task()).hook_files().build().unwrap();
    let lines = run.executables().unwrap().lines().join("\n");
    for shown in [
        "repo:guard",
        "sh guard.sh",
        ".system/hooks/guard.yaml",
        "guard.sh: sha256:",
        "PreAbilityCall",
        "blocking",
    ] {
        assert!(lines.contains(shown), "{shown}: {lines}");
    }
    assert!(!lines.contains("repo:off"), "what does not run needs no trust: {lines}");
}

#[tokio::test]
async fn seed_003_section_8_1_hooks_are_listed_with_what_they_match() {
    let bench = Bench::builder().task("1", "First");
    let tracker = "id: tracker\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: usage_log}\n";
    let check = hook(
        "check",
        "SessionStop",
        "blocking: true\nmatch: {only_if_changed_paths: ['services/**', 'apps/**']}",
        "true",
    );
    let off = hook("off", "PreAbilityCall", "enabled: false\nmatch: {ability_scope: Bash}", "true");
    let bench = bench.file(".system/hooks/a.yaml", tracker).file(".system/hooks/b.yaml", check);
    let bench = bench.file(".system/hooks/c.yaml", off).build().unwrap();
    let run = bench.run(completes_each_task()).hook_files().build().unwrap();
    let list = run.hook_list().hooks;
    let mut rows: Vec<_> = list
        .iter()
        .map(|one| {
            let (event, matches) = (one.event_type.as_deref().unwrap(), one.matches.as_deref().unwrap());
            (one.id.as_str(), event, one.enabled, one.blocking, matches)
        })
        .collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            ("repo:check", "SessionStop", true, true, "changed_paths=services/**,apps/**"),
            ("repo:off", "PreAbilityCall", false, false, "ability_scope=Bash"),
            ("repo:tracker", "PostAbilityCall", true, false, "ability_scope=*"),
        ]
    );
}

#[tokio::test]
async fn seed_003_section_8_2_a_call_is_timed_with_its_status_and_exit_code() {
    let fails = hook("fails", "PostAbilityCall", "", "exit 7");
    let repository = Repository::with(&[("fails", &fails)]);
    let fired = repository.fire::<points::AbilityAfter>(AbilityAfterInput::default()).await;
    let timing = &fired.outcome.timings[0];
    assert_eq!(
        (&*timing.handler, timing.status, timing.exit_code),
        ("repo:fails", HookStatus::Broke, Some(7))
    );
}

#[tokio::test]
async fn seed_003_section_8_3_a_failing_hook_that_does_not_block_is_only_a_warning() {
    let hooks = [
        hook("a", "PreAbilityCall", "", "echo noise >&2; exit 1"),
        hook("b", "PreAbilityCall", "", "echo '{\"logs\":[\"b\"]}'"),
    ];
    let repository = Repository::with(&[("a", &hooks[0]), ("b", &hooks[1])]);
    let fired = repository
        .fire::<points::AbilityBefore>(AbilityBeforeInput { input: "{}".into(), ..Default::default() })
        .await;
    assert!(!fired.output.block && fired.outcome.abort.is_none());
    assert_eq!(fired.output.results.logs, ["b"], "the next one ran");
    assert_eq!(fired.outcome.warnings[0].message, "noise");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_traced_hook_printed_is_in_the_trace_and_its_secrets_are_nowhere() {
    let leaks = hook("leaks", "SessionStart", "", "echo the token is $API_TOKEN");
    let more = "blocking: true\nmatch: {ability_scope: Write}";
    let guard = hook("guard", "PreAbilityCall", more, "echo blocked with $API_TOKEN >&2; exit 3");
    let says =
        hook("says", "PreAbilityCall", "", "cat > given.txt; echo '{\"logs\":[\"seen\"],\"later\":1}'");
    let bench = bench(&[("guard", guard), ("leaks", leaks), ("says", says)]);
    let script = Script::default().call(ScriptedCall::any().write("a.txt", "x").done());
    let prompts = samuel_core::testing::FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(script).hook_files().hook_at("prompts", 900, prompts.clone());
    let env = [("API_TOKEN", "abc123secret"), ("HOOKS_DEBUG", "1"), ("PATH", "/usr/bin:/bin")];
    let played =
        bench.play(run.env(env.map(|(name, value)| (name.to_owned(), value.to_owned())))).await.unwrap();
    let events = serde_json::to_string(&played.events).unwrap();
    assert!(events.contains("the token is ***") && !events.contains("abc123secret"), "{events}");
    let progress = bench.progress().unwrap();
    assert!(progress.contains("the token is ***") && !progress.contains("abc123secret"), "{progress}");
    assert!(prompts.calls().iter().all(|call| !call.input().prompt.contains("abc123secret")));
    assert!(!events.contains("how repo:leaks broke"), "the warning of the point quotes it: {events}");
    let trace = fs::read_to_string(bench.path().join(".system/logs/hooks-trace.log")).unwrap();
    assert!(!trace.contains("abc123secret"), "{trace}");
    let lines: Vec<serde_json::Value> =
        trace.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: &str| lines.iter().find(|line| line["hook_id"] == id).unwrap();
    assert_eq!(of("leaks")["printed"], "the token is ***\n");
    assert_eq!(of("says")["printed"], serde_json::json!({"logs": ["seen"], "later": 1}));
    let given: serde_json::Value =
        serde_json::from_slice(&fs::read(bench.path().join("given.txt")).unwrap()).unwrap();
    let last = lines.iter().rfind(|line| line["hook_id"] == "says").unwrap();
    assert_eq!((&given["event_type"], &last["context"]), (&"PreAbilityCall".into(), &given));
}

#[test]
fn a_look_ahead_names_hooks_that_the_event_is_not_for_and_a_file_that_cannot_be_used() {
    let scoped = hook("scoped", "PreAbilityCall", "match: {ability_scope: Bash}", "true");
    let bench = Bench::builder().task("1", "First").file(".system/hooks/a.yaml", scoped);
    let bench = bench.file(".system/hooks/broken.yaml", "id: broken\n").build().unwrap();
    let hooks = bench.run(completes_each_task()).hook_files().hooks().unwrap();
    let look = |ability: &str| {
        let event = serde_json::json!({ "ability_id": ability });
        let firing = hooks.look(HookPoint::AbilityBefore, Some(event)).unwrap();
        let ids = |run: bool| {
            let run_ids = firing.run.iter().filter(|_| run).map(|one| one.id.clone());
            let skipped = firing.skipped.iter().filter(|_| !run).map(|one| one.id.clone());
            run_ids.chain(skipped).filter(|id| id == "repo:scoped").count()
        };
        (ids(true), ids(false))
    };
    assert_eq!((look("Bash"), look("Edit")), ((1, 0), (0, 1)));
    let refused = |id: &str| hooks.find(id, None).unwrap_err();
    let told = refused("repo:broken").to_string();
    assert!(
        told.starts_with("the hook \"repo:broken\" cannot be used: .system/hooks/broken.yaml:1:1"),
        "{told}"
    );
    for (id, expected) in
        [("scoped", Some("repo:scoped")), ("repo:scope", Some("repo:scoped")), ("repo:zzz", None)]
    {
        let HooksError::Unknown { nearest, .. } = refused(id) else { panic!("{id} is known") };
        assert_eq!(nearest.as_deref(), expected, "{id}");
    }
}
