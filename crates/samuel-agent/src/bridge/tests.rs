#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_hook::Bridge;
use samuel_model::payload::{AbilityStatus, SessionSource};

use super::*;

const RECORDED: [(&str, &str); 4] = [
    ("claude", include_str!("../../tests/data/bridge/claude.jsonl")),
    ("codex", include_str!("../../tests/data/bridge/codex.jsonl")),
    ("gemini", include_str!("../../tests/data/bridge/gemini.jsonl")),
    ("copilot", include_str!("../../tests/data/bridge/copilot.jsonl")),
];

/// Reads what an agent gave its hooks in one session.
fn session(name: &str) -> Vec<HookInput> {
    let (_, lines) = RECORDED.iter().find(|(known, _)| *known == name).unwrap();
    let read_line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        // Only Copilot does not say which event it is.
        let event = line["at"].as_str().filter(|_| name == "copilot");
        read(protocol(name).unwrap(), line["stdin"].to_string().as_bytes(), event).unwrap()
    };
    lines.lines().map(read_line).collect()
}

/// Returns one event of such a session.
fn asked(name: &str, kind: EventKind) -> HookInput {
    session(name).into_iter().find(|asked| asked.at.kind == kind).unwrap()
}

fn said(name: &str, kind: EventKind, answer: &HookAnswer) -> Value {
    let output = protocol(name).unwrap().answer(&asked(name, kind), answer);
    assert_eq!(output.exit_code, 0);
    match output.stdout.as_str() {
        "" => Value::Null,
        stdout => serde_json::from_str(stdout).unwrap(),
    }
}

#[test]
fn a_recorded_session_of_each_agent_becomes_the_same_events() {
    for (name, _) in RECORDED {
        let asked = session(name);
        assert!(asked.iter().all(|asked| !asked.session_id.is_empty()), "{name}");
        assert!(asked.iter().all(|asked| asked.cwd.as_deref() == Some(Path::new("/work/my project"))));
        let events: Vec<BridgeEvent> = asked.into_iter().map(|asked| asked.event).collect();
        let has = |event: &BridgeEvent| assert!(events.contains(event), "{name}: {event:?} in {events:#?}");
        has(&BridgeEvent::SessionStart { source: SessionSource::Startup });
        has(&BridgeEvent::PromptSubmit { prompt: "do it".to_owned() });
        has(&BridgeEvent::Stop);
        let ended = events.iter().any(|event| matches!(event, BridgeEvent::SessionEnd { .. }));
        // Codex has none where it runs unattended.
        assert_eq!(ended, name != "codex");
        let called: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                BridgeEvent::Before(call) => Some(call),
                _ => None,
            })
            .collect();
        assert_eq!(called.len(), 2, "{name}");
        let (tool, id) = match name {
            "claude" => ("Bash", "toolu_0_1"),
            "codex" => ("Bash", "call_0_1"),
            "gemini" => ("run_shell_command", ""),
            _ => ("bash", ""),
        };
        assert_eq!((called[0].ability_id.as_str(), called[0].call_id.as_str()), (tool, id));
        let input: Value = serde_json::from_str(&called[0].input).unwrap();
        assert_eq!(input["command"], "echo hi > made.txt", "{name}");
    }
}

#[test]
fn a_call_that_failed_says_so_where_the_agents_hooks_do() {
    use AbilityStatus::{Error, Success};
    for (name, expected) in [
        ("claude", [Some(Success), Some(Error)].as_slice()),
        ("codex", &[None, None]),
        ("gemini", &[Some(Success), Some(Error), Some(Error)]),
        ("copilot", &[Some(Success), Some(Error), Some(Error)]),
    ] {
        let ended = session(name).into_iter().filter_map(|asked| match asked.event {
            BridgeEvent::After(ended) => Some(ended),
            _ => None,
        });
        let ended: Vec<EndedCall> = ended.collect();
        assert_eq!(ended.iter().map(|ended| ended.status).collect::<Vec<_>>(), expected, "{name}");
        assert!(ended[1].output_summary.as_deref().unwrap().contains("oops"), "{name}: {ended:?}");
        assert_eq!(ended[0].duration_ms, (name == "claude").then_some(63));
    }
}

#[test]
fn a_block_is_a_denial_as_json_with_its_reason_and_no_answer_prints_nothing() {
    let no = HookAnswer::blocked("not \"here\"\nnor there");
    let reason = "not \"here\"\nnor there";
    for name in ["claude", "codex"] {
        let specific = json!({
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
        });
        assert_eq!(said(name, EventKind::Before, &no), json!({"hookSpecificOutput": specific}));
    }
    assert_eq!(said("gemini", EventKind::Before, &no), json!({"decision": "deny", "reason": reason}));
    let copilot = json!({"permissionDecision": "deny", "permissionDecisionReason": reason});
    assert_eq!(said("copilot", EventKind::Before, &no), copilot);

    for (name, _) in RECORDED {
        for kind in [EventKind::PromptSubmit, EventKind::Stop] {
            let decision = if name == "gemini" { "deny" } else { "block" };
            assert_eq!(said(name, kind, &no), json!({"decision": decision, "reason": reason}), "{name}");
        }
        for asked in session(name) {
            assert_eq!(
                protocol(name).unwrap().answer(&asked, &HookAnswer::default()),
                BridgeOutput::default()
            );
        }
        // What happened already cannot be prevented.
        assert_eq!(said(name, EventKind::After, &no), Value::Null, "{name}");
    }
}

#[test]
fn other_arguments_are_said_as_each_agent_takes_them() {
    let input = json!({"command": "true"});
    let changed = HookAnswer { input: Some(input.to_string()), ..HookAnswer::default() };
    for name in ["claude", "codex"] {
        let specific =
            json!({"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input});
        assert_eq!(said(name, EventKind::Before, &changed), json!({"hookSpecificOutput": specific}));
    }
    let specific = json!({"hookEventName": "BeforeTool", "tool_input": input});
    assert_eq!(said("gemini", EventKind::Before, &changed), json!({"hookSpecificOutput": specific}));
    assert_eq!(said("copilot", EventKind::Before, &changed), json!({"modifiedArgs": input}));

    // Where somebody is there, Claude Code shows what would be called.
    let attended = HookInput { is_unattended: false, ..asked("claude", EventKind::Before) };
    let output = protocol("claude").unwrap().answer(&attended, &changed);
    assert!(output.stdout.contains(r#""permissionDecision":"ask""#), "{}", output.stdout);
}

#[test]
fn texts_reach_the_model_and_messages_the_user() {
    let answer = HookAnswer {
        text: vec!["one".to_owned(), "two".to_owned()],
        messages: vec!["look".to_owned()],
        ..HookAnswer::default()
    };
    for name in ["claude", "codex", "gemini"] {
        let at = asked(name, EventKind::After).at.name;
        let specific = json!({"hookEventName": at, "additionalContext": "one\n\ntwo"});
        let expected = json!({"hookSpecificOutput": specific, "systemMessage": "look"});
        assert_eq!(said(name, EventKind::After, &answer), expected, "{name}");
        // Nothing follows a stop that a text could be read in.
        assert_eq!(said(name, EventKind::Stop, &answer), json!({"systemMessage": "look"}), "{name}");
    }
    let copilot = protocol("copilot").unwrap().answer(&asked("copilot", EventKind::After), &answer);
    assert_eq!(
        (copilot.stdout.trim(), copilot.stderr.as_str()),
        (r#"{"additionalContext":"one\n\ntwo"}"#, "look\n")
    );
}

#[test]
fn an_input_that_is_none_says_what_is_wrong() {
    let claude = protocol("claude").unwrap();
    let error = |stdin: &str, event| read(claude, stdin.as_bytes(), event).unwrap_err().to_string();
    assert_eq!(error("", None), "the input of the hook is no JSON object");
    assert_eq!(error("{}", None), "the input of the hook has no hook_event_name");
    assert_eq!(error("[]", Some("PreToolUse")), "the input of the hook has no tool_input");
    assert_eq!(error(r#"{"tool_input": {}}"#, Some("PreToolUse")), "the input of the hook has no tool_name");
    let unknown = error("{}", Some("preToolUse"));
    assert!(
        unknown.starts_with("claude has no event \"preToolUse\" that is bridged; those are SessionStart,")
    );
    assert!(read(claude, "[".repeat(5_000).as_bytes(), Some("PreToolUse")).is_err());
    let of_session = |length: usize| json!({"session_id": "s".repeat(length)}).to_string();
    assert!(read(claude, of_session(1 << 10).as_bytes(), Some("Stop")).is_ok());
    let expected = "the name of the session has 1025 bytes, and at most 1024 are read";
    assert_eq!(error(&of_session(1025), Some("Stop")), expected);
}

/// Settings that a test says.
#[derive(Default)]
struct Machine {
    files: BTreeMap<PathBuf, String>,
    is_roots: bool,
}

impl SettingsFiles for Machine {
    fn read(&self, path: &Path) -> io::Result<Option<String>> {
        Ok(self.files.get(path).cloned())
    }

    fn is_roots(&self, _: &Path) -> bool {
        self.is_roots
    }
}

fn bridge(before: bool, after: bool) -> Bridge {
    Bridge {
        command: ["/opt/it's here/samuel", "hooks", "bridge"].map(str::to_owned).to_vec(),
        env: vec![("SAMUEL_SOCKET".to_owned(), "/run/s".to_owned())],
        deadline: Duration::from_secs(32),
        dir: "/run/private".into(),
        before,
        after,
    }
}

/// What a wiring came to.
struct Wired {
    words: Vec<String>,
    env: Vec<(String, String)>,
    files: Vec<(PathBuf, String)>,
}

fn wired(name: &str, bridge: &Bridge, words: &[&str], machine: &Machine) -> Result<Wired, WireError> {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let mut wiring = Wiring::new(bridge, words, vec![("A".to_owned(), "b".to_owned())], machine);
    wire(name).unwrap().wire(&mut wiring)?;
    Ok(Wired { words: wiring.words, env: wiring.env, files: wiring.files })
}

/// The command as a shell reads it.
fn command(agent: &str, event: &str) -> String {
    format!(
        r"'/opt/it'\''s here/samuel' hooks bridge {agent} {event} --deadline 32s --run /run/private/run.json"
    )
}

#[test]
fn claude_takes_its_hooks_by_settings_that_hold_those_of_the_configuration() {
    let group =
        |event| json!([{"hooks": [{"type": "command", "command": command("claude", event), "timeout": 42}]}]);
    let both = wired("claude", &bridge(true, true), &["claude", "-p"], &Machine::default()).unwrap();
    let settings = |wired: &Wired| serde_json::from_str::<Value>(wired.words.last().unwrap()).unwrap();
    assert_eq!(both.words[..3], ["claude", "-p", "--settings"]);
    let expected = json!({"disableAllHooks": false, "hooks": {
        "PreToolUse": group("PreToolUse"), "PostToolUse": group("PostToolUse"),
        "PostToolUseFailure": group("PostToolUseFailure"),
    }});
    assert_eq!(settings(&both), expected);
    assert!(both.env.contains(&("SAMUEL_SOCKET".to_owned(), "/run/s".to_owned())));
    let address = (PathBuf::from("/run/private/run.json"), r#"{"SAMUEL_SOCKET":"/run/s"}"#.to_owned());
    assert_eq!(both.files, [address]);

    let mine = r#"{"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]}}"#;
    let file = Machine { files: [("my.json".into(), mine.to_owned())].into(), ..Machine::default() };
    for words in [["claude", "--settings", mine].as_slice(), &["claude", "--settings=my.json"]] {
        let before = wired("claude", &bridge(true, false), words, &file).unwrap();
        let settings = settings(&before);
        assert_eq!(settings["model"], "opus");
        let hooks = settings["hooks"].as_object().unwrap();
        assert_eq!(hooks.keys().collect::<Vec<_>>(), ["PreToolUse"]);
        assert_eq!(hooks["PreToolUse"][0]["matcher"], "Bash");
        assert_eq!(hooks["PreToolUse"][1], group("PreToolUse")[0]);
    }
    for broken in ["{", r#"{"hooks": 1}"#, r#"{"hooks": {"PreToolUse": {}}}"#] {
        let wired = wired("claude", &bridge(true, true), &["claude", "--settings", broken], &file);
        assert!(matches!(wired, Err(WireError::Settings { .. })), "{broken}");
    }
}

#[test]
fn codex_takes_its_hooks_by_overrides_that_hold_those_of_the_configuration() {
    let before = bridge(true, false);
    let override_of = |wired: &Wired| {
        let at = wired.words.iter().rposition(|word| word.starts_with("hooks.PreToolUse=")).unwrap();
        wired.words[at].parse::<toml::Table>().unwrap()["hooks"]["PreToolUse"].clone()
    };
    let alone = wired("codex", &before, &["codex", "exec"], &Machine::default()).unwrap();
    let groups = override_of(&alone);
    let hook = &groups[0]["hooks"][0];
    assert_eq!(hook["command"].as_str().unwrap(), command("codex", "PreToolUse"));
    assert_eq!(hook["timeout"].as_integer(), Some(42));
    assert_eq!(alone.words.last().unwrap(), "--dangerously-bypass-hook-trust");
    assert!(!alone.words.iter().any(|word| word.contains("PostToolUse")));

    let mine = r#"hooks.PreToolUse=[{matcher="Bash",hooks=[]}]"#;
    let beside = wired("codex", &before, &["codex", "-c", "model=\"m\"", "-c", mine], &Machine::default());
    let groups = override_of(&beside.unwrap());
    assert_eq!(groups[0]["matcher"].as_str(), Some("Bash"));
    assert_eq!(groups[1]["hooks"][0]["type"].as_str(), Some("command"));
    let broken = wired("codex", &before, &["codex", "-c", "hooks.PreToolUse=1"], &Machine::default());
    assert!(matches!(broken, Err(WireError::Settings { .. })));
}

#[test]
fn gemini_takes_its_hooks_by_a_file_that_holds_the_machines_settings() {
    let etc =
        "{ // of the machine\n\"ui\": {\"theme\": \"x\"}, \"hooks\": {\"BeforeTool\": [{\"hooks\": []}]}}";
    let files = BTreeMap::from([(PathBuf::from("/etc/gemini-cli/settings.json"), etc.to_owned())]);
    let machine = Machine { files, is_roots: true };
    let gemini = wired("gemini", &bridge(true, true), &["gemini"], &machine).unwrap();
    assert_eq!(gemini.words, ["gemini"]);
    let [_, (path, text)] = &gemini.files[..] else { unreachable!("two files: {:?}", gemini.files) };
    assert_eq!(path, Path::new("/run/private/gemini-settings.json"));
    let set =
        |name: &str| gemini.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!(set("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), path.to_str());
    // It is looked for beside the settings otherwise.
    assert_eq!(set("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), Some("/etc/gemini-cli/system-defaults.json"));
    let settings: Value = serde_json::from_str(text).unwrap();
    assert_eq!(settings["ui"]["theme"], "x");
    assert_eq!(settings["hooksConfig"]["enabled"], true);
    assert_eq!(settings["hooks"]["BeforeTool"][0], json!({"hooks": []}));
    let hook = &settings["hooks"]["BeforeTool"][1]["hooks"][0];
    assert_eq!(hook["command"], command("gemini", "BeforeTool"));
    assert_eq!(hook["timeout"], 42_000, "in milliseconds");
    assert_eq!(settings["hooks"]["AfterTool"].as_array().unwrap().len(), 1);

    // A file of anybody else would be gone over, and the machine's own with it.
    let other = wired("gemini", &bridge(true, true), &["gemini"], &Machine { is_roots: false, ..machine });
    let other = other.unwrap();
    assert!(other.files.len() == 1 && !other.env.iter().any(|(name, _)| name.starts_with("GEMINI")));
}

#[test]
fn copilot_takes_its_hooks_by_a_plugin() {
    let copilot = wired("copilot", &bridge(false, true), &["copilot"], &Machine::default()).unwrap();
    assert_eq!(copilot.words, ["copilot", "--plugin-dir", "/run/private/copilot-plugin"]);
    let file = |name: &str| {
        let found = copilot.files.iter().find(|(path, _)| path.ends_with(name)).unwrap();
        serde_json::from_str::<Value>(&found.1).unwrap()
    };
    assert_eq!(file("plugin.json")["hooks"], "hooks.json");
    let hooks = file("hooks.json")["hooks"].clone();
    let events: Vec<_> = hooks.as_object().unwrap().keys().cloned().collect();
    assert_eq!(events, ["postToolUse", "postToolUseFailure"]);
    let hook = &hooks["postToolUse"][0];
    assert_eq!(hook["bash"], command("copilot", "postToolUse"));
    assert_eq!(hook["timeoutSec"], 42);
}
