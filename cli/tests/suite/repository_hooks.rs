//! Repository hooks at the command line: scaffolded, listed, checked, tried out, and their schemas.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::bench::{AtTerminal, Bench, says};

fn data(bench: &Bench, args: &[&str]) -> Value {
    bench.ok(&[args, &["--json"]].concat()).json()["data"].clone()
}

fn schema(bench: &Bench, name: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&bench.ok(&["hooks", "schema", name]).stdout).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{name}");
    jsonschema::validator_for(&schema).unwrap()
}

const EVENTS: [(&str, &str); 6] = [
    ("PromptSubmit", "prompt.submit"),
    ("PreAbilityCall", "ability.before"),
    ("PostAbilityCall", "ability.after"),
    ("SessionStart", "session.start"),
    ("SessionEnd", "session.end"),
    ("SessionStop", "session.stop"),
];

#[test]
fn seed_003_section_6_a_hook_that_was_scaffolded_is_valid_and_answers_unedited() {
    let bench = Bench::with_tasks(&["One"]);
    for (number, (event, point)) in EVENTS.into_iter().enumerate() {
        let (id, language) = (format!("new-{number}"), if number % 2 == 0 { "sh" } else { "python" });
        let args = ["hooks", "scaffold", &id, "--event", event, "--language", language];
        let made = bench.ok(&args);
        says(
            &made.stdout,
            &[&format!("Wrote .system/hooks/{id}.yaml and scripts/hooks/{id}."), event, point],
        );
        says(&made.stdout, &[&format!("Next: samuel hooks test repo:{id}")]);
        bench.ok(&["hooks", "validate"]);
        let trial = data(&bench, &["hooks", "test", &format!("repo:{id}"), "--yes"]);
        assert_eq!(trial["status"], "ok", "{trial:#}");
        let exchange = &trial["exchanges"][0];
        let context: Value = serde_json::from_str(exchange["launch"]["stdin"].as_str().unwrap()).unwrap();
        assert!(schema(&bench, event).is_valid(&context), "{event}: {context:#}");
        let printed: Value = serde_json::from_str(exchange["stdout"].as_str().unwrap()).unwrap();
        assert!(schema(&bench, "result").is_valid(&printed), "{event}: {printed:#}");
        let logs = &trial["output"]["results"]["logs"];
        assert!(
            event == "SessionEnd" || logs[0].as_str().unwrap().starts_with(&format!("{id} was given ")),
            "{trial:#}"
        );
    }
    assert!(!schema(&bench, "PreAbilityCall").is_valid(&json!({ "event_type": "PreAbilityCall" })));
    assert!(!schema(&bench, "result").is_valid(&json!({ "logs": "one" })));
}

#[test]
fn seed_003_section_6_scaffolding_overwrites_nothing_and_asks_for_what_is_missing() {
    let bench = Bench::with_tasks(&["One"]);
    let args = [
        "hooks",
        "scaffold",
        "guard",
        "--event",
        "PreAbilityCall",
        "--blocking",
        "--scope",
        "Bash",
        "--scope",
        "!Read",
    ];
    let made = data(&bench, &args);
    assert_eq!(
        (&made["id"], &made["blocking"], &made["matches"], &made["file"]),
        (
            &json!("repo:guard"),
            &json!(true),
            &json!("ability_scope=Bash,!Read"),
            &json!(".system/hooks/guard.yaml")
        )
    );
    let text = bench.read(".system/hooks/guard.yaml");
    let again = bench.samuel(&args);
    assert_eq!(again.code, 2, "{}", again.stderr);
    says(
        &again.stderr,
        &["there is a hook \"guard\" already: .system/hooks/guard.yaml", "Choose another id"],
    );
    assert_eq!(bench.read(".system/hooks/guard.yaml"), text);
    let nobody = bench.samuel(&["hooks", "scaffold", "other"]);
    assert_eq!(nobody.code, 2);
    says(&nobody.stderr, &["--event is missing, and there is no terminal to ask on"]);
    let bad = bench.samuel(&["hooks", "scaffold", "Other", "--event", "SessionStop"]);
    assert_eq!(bad.code, 2);
    says(&bad.stderr, &["\"Other\" cannot be the name of a hook"]);
}

#[test]
fn seed_003_section_6_2_on_a_terminal_scaffolding_asks_for_what_is_not_given() {
    let bench = Bench::with_tasks(&["One"]);
    let mut terminal = AtTerminal::spawn(&bench, &["hooks", "scaffold", "--blocking"]);
    for (question, answer) in [
        ("Its name", "guard"),
        ("When it runs", "PreCall"),
        ("\"PreCall\" cannot be used: it is one of PromptSubmit", "PreAbilityCall"),
        ("What it is for", "Keeps main clean"),
        ("Which abilities", "Bash, edit_*"),
        ("What its script is written in", ""),
    ] {
        assert!(terminal.wait_for(question), "{question}");
        terminal.type_in(&format!("{answer}\n"));
    }
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    says(
        &shown,
        &["Wrote .system/hooks/guard.yaml and scripts/hooks/guard.sh.", "ability_scope=Bash,edit_*"],
    );
    assert!(!shown.contains("Can it stop"), "it was said: {shown}");
    says(&bench.read(".system/hooks/guard.yaml"), &["summary: \"Keeps main clean\"", "blocking: true"]);
    bench.ok(&["hooks", "validate"]);
}

#[test]
fn seed_003_section_8_1_the_list_has_each_hook_with_its_event_and_what_it_matches() {
    let bench = Bench::with_tasks(&["One"]);
    bench.write(
        ".system/hooks/a.yaml",
        "id: tracker\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: usage_log}\n",
    );
    bench.write(
        ".system/hooks/b.yaml",
        "id: check\nevent_type: SessionStop\nenabled: false\nblocking: true\nmatch: {only_if_changed_paths: ['services/**', 'apps/**']}\nhandler: {kind: script, command: 'true'}\n",
    );
    let ran = bench.ok(&["hooks", "list"]);
    says(
        &ran.stdout,
        &[
            "repo:tracker  ability.after (PostAbilityCall)  true                         false     ability_scope=*",
            "repo:check    session.stop (SessionStop)       false: disabled in its file  true      changed_paths=services/**,apps/**",
        ],
    );
    says(
        &bench.ok(&["hooks", "show", "repo:tracker"]).stdout,
        &["builtin usage_log", "event_type      PostAbilityCall"],
    );
    // A name without the kind gets the id as a suggestion.
    for verb in ["show", "test"] {
        let unknown = bench.samuel(&["hooks", verb, "tracker"]).fails(2);
        says(&unknown.stderr, &["there is no hook \"tracker\"", "Did you mean \"repo:tracker\"?"]);
    }
    says(
        &bench.ok(&["hooks", "show", "SessionStop"]).stdout,
        &["session.stop: gate", "disabled in its file"],
    );
    let skipped = bench.samuel(&["hooks", "test", "repo:check", "--yes"]);
    says(&skipped.stderr, &["disabled in its file"]);
    let fired = data(&bench, &["hooks", "fire", "PostAbilityCall", "--yes"]);
    assert_eq!(fired["output"]["results"]["usage_recorded"], true, "{fired:#}");
}

#[test]
fn a_hook_is_tried_out_only_where_it_is_allowed_and_says_where_it_was_not_asked() {
    let bench = Bench::with_tasks(&["One"]);
    let hook = "id: guard\nevent_type: PreAbilityCall\nblocking: true\nmatch: {ability_scope: deploy}\nhandler: {kind: script, command: ./guard.sh}\n";
    bench.write(".system/hooks/guard.yaml", hook);
    let script = bench.write(
        "guard.sh",
        "#!/bin/sh\necho '{\"block_execution\": true, \"messages_to_user\": [\"not today\"]}'\n",
    );
    let broken = bench.samuel(&["hooks", "validate"]);
    assert_eq!(broken.code, 1);
    says(&broken.stdout, &["\"./guard.sh\" cannot be executed", "Run `chmod +x ./guard.sh`"]);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bench.ok(&["hooks", "validate"]);
    assert_eq!(bench.samuel(&["hooks", "test", "repo:guard"]).code, 78, "nobody has allowed it");
    says(
        &bench.ok(&["hooks", "test", "repo:guard", "--yes"]).stdout,
        &["not asked, the event is none of those that it is for"],
    );
    bench.write("event.json", "{\"ability_id\": \"deploy\"}");
    let blocked = bench.ok(&["hooks", "test", "repo:guard", "--yes", "--event", "event.json"]);
    says(&blocked.stdout, &["refused: not today"]);
}

#[test]
fn schemas_are_found_by_name() {
    let bench = Bench::empty();
    let all: Value = serde_json::from_str(&bench.ok(&["hooks", "schema"]).stdout).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 8);
    assert!(!all.to_string().contains("$comment"), "{all}");
    let unknown = bench.samuel(&["hooks", "schema", "PostAbility"]);
    assert_eq!(unknown.code, 2);
    says(
        &unknown.stderr,
        &["there is no schema \"PostAbility\" of repository hooks", "There are: hook, result, PromptSubmit"],
    );
    let hook = schema(&bench, "hook");
    let file = json!({
        "id": "x", "event_type": "PostAbilityCall", "enabled": { "default": true, "env": { "CI": false } },
        "match": { "ability_scope": ["a", "!b"], "min_duration_ms": 0 },
        "handler": { "kind": "script", "command": "./x.sh", "timeout": "1m" },
        "effects": [{ "append_to": "x" }, "y"],
    });
    assert!(hook.is_valid(&file));
    for wrong in [
        json!({ "id": "X" }),
        json!({ "event_type": "After" }),
        json!({ "handler": { "kind": "builtin", "name": "x" } }),
    ] {
        let mut file = file.clone();
        file.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        assert!(!hook.is_valid(&file), "{file}");
    }
}

#[test]
fn seed_003_section_6_what_scaffolding_leaves_out_is_told_and_what_a_hook_was_given_can_be_given_back() {
    let bench = Bench::with_tasks(&["One"]);
    let made = bench.ok(&["hooks", "scaffold", "hello", "--event", "SessionStart", "--blocking"]);
    says(&made.stderr, &["warning: --blocking has no effect at SessionStart"]);
    bench.ok(&["hooks", "scaffold", "guard", "--event", "PreAbilityCall"]);
    bench.write(
        "given.json",
        "{\"event_type\": \"PreAbilityCall\", \"session_id\": \"s\", \"ability_id\": \"Bash\"}",
    );
    bench.ok(&["hooks", "test", "repo:guard", "--yes", "--event", "given.json"]);
}

#[test]
fn seed_003_section_6_2_the_test_that_scaffolding_suggests_asks_the_hook() {
    let bench = Bench::with_tasks(&["One"]);
    let scaffold = |id: &str, event: &str, more: &[&str]| {
        let made = bench.ok(&[&["hooks", "scaffold", id, "--event", event], more].concat());
        made.stdout.lines().find_map(|line| line.strip_prefix("Next: ")).unwrap().to_owned()
    };
    for (id, event, more, next) in [
        ("all", "PreAbilityCall", &[][..], "samuel hooks test repo:all"),
        (
            "edits",
            "PreAbilityCall",
            &["--scope", "edit_*", "--scope", "!edit_docs"],
            r#"echo '{"ability_id":"edit_x"}' | samuel hooks test repo:edits --event -"#,
        ),
        (
            "slow",
            "PostAbilityCall",
            &["--min-duration", "60000"],
            r#"echo '{"duration_ms":60000}' | samuel hooks test repo:slow --event -"#,
        ),
        (
            "apps",
            "SessionStop",
            &["--changed", "apps/**"],
            r#"echo '{"changed_files":["apps/x"]}' | samuel hooks test repo:apps --event -"#,
        ),
    ] {
        assert_eq!(scaffold(id, event, more), next);
        // As it says, and allowed.
        let event = next.split('\'').nth(1).unwrap_or("{}");
        bench.write("event.json", event);
        let handler = format!("repo:{id}");
        let trial = data(&bench, &["hooks", "test", &handler, "--event", "event.json", "--yes"]);
        assert_eq!(trial["exchanges"].as_array().unwrap().len(), 1, "{trial:#}");
    }
    let never = scaffold("never", "PreAbilityCall", &["--scope", "a", "--scope", "!a"]);
    assert_eq!(never, "samuel hooks test repo:never --event FILE, with an event in it that the hook is for");
}

#[test]
fn a_blocking_hook_is_said_to_block_where_it_breaks_and_a_missing_script_is_told_once() {
    let bench = Bench::with_tasks(&["One"]);
    let hook = |id: &str, blocking: bool| {
        format!(
            "id: {id}\nevent_type: PreAbilityCall\nblocking: {blocking}\nhandler: {{kind: script, command: ./x.sh}}\n"
        )
    };
    bench.write(".system/hooks/guard.yaml", &hook("guard", true));
    bench.write(".system/hooks/watch.yaml", &hook("watch", false));
    let when_it_breaks = |id: &str| {
        let shown = bench.ok(&["hooks", "show", id]).stdout;
        shown.lines().find_map(|line| line.trim().strip_prefix("when it breaks")).unwrap().trim().to_owned()
    };
    assert_eq!(when_it_breaks("repo:guard"), "block");
    assert_eq!(when_it_breaks("repo:watch"), "warn");
    let chain = bench.ok(&["hooks", "show", "ability.before"]).stdout;
    let row = |id: &str| chain.lines().find(|line| line.contains(id)).unwrap().to_owned();
    says(&row("repo:guard"), &["block"]);
    assert!(row("repo:watch").contains("warn") && !row("repo:watch").contains("block"), "{chain}");
    let of_guard = data(&bench, &["hooks", "show", "repo:guard"]);
    assert_eq!(of_guard["hooks"][0]["runs"]["entry"]["blocking"], true, "{of_guard:#}");

    let found = bench.samuel(&["hooks", "validate"]);
    assert_eq!(found.code, 1);
    let told = found.stdout + &found.stderr;
    assert_eq!(told.matches("does not exist").count(), 2, "once for each hook: {told}");
    let told = bench.ok(&["hooks", "list"]).stderr;
    assert_eq!(told.matches("does not exist").count(), 2, "{told}");
}

#[test]
fn a_start_says_what_it_means_that_the_hooks_of_an_agent_ask() {
    let notices = [
        ("claude", "by --settings"),
        ("codex", "with --dangerously-bypass-hook-trust"),
        ("gemini", "by a file that stands in for the machine's settings"),
        ("copilot", "by --plugin-dir"),
    ];
    for (event, asks) in [("SessionStart", false), ("PreAbilityCall", true), ("PostAbilityCall", true)] {
        let bench = Bench::with_tasks(&["One"]);
        bench.ok(&["hooks", "scaffold", "guard", "--event", event]);
        for (agent, how) in notices {
            let notice = &format!("hooks: its hooks ask about tool calls, {how}");
            // What is looked for is there, and nothing of it is started.
            let agent = ["run", "start", "--agent", agent, "--agent-command", "/bin/true"];
            let refused = bench.samuel(&agent).fails(78);
            assert_eq!(refused.stderr.contains(notice), asks, "{event}: {refused:?}");
            let looked_at = bench.ok(&[&agent[..], &["--dry-run"]].concat());
            assert_eq!(looked_at.stdout.contains(notice), asks, "{event}: {looked_at:?}");
        }
    }
    let bench = Bench::with_tasks(&["One"]);
    bench.ok(&["hooks", "scaffold", "guard", "--event", "PreAbilityCall"]);
    let without = bench.samuel(&["run", "start", "--agent-command", "/bin/true"]).fails(78);
    assert!(!without.stderr.contains("its hooks ask"), "{without:?}");
}
