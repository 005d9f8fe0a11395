//! `hooks bridge` as an agent's own hooks start it, without an agent.

use std::{
    fs,
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::bench::{Bench, Ran, says};

const REASON: &str = "pushes are the maintainers'";

/// A project with a guard that keeps every push back.
fn guarded() -> Bench {
    let bench = Bench::with_tasks(&["One"]);
    guard(&bench);
    bench
}

fn guard(bench: &Bench) {
    bench.write(
        ".system/hooks/guard.yaml",
        "id: guard\nevent_type: PreAbilityCall\nblocking: true\nsummary: Keeps pushes back\n\
         handler:\n  kind: script\n  command: sh scripts/guard.sh\n",
    );
    let said = json!({"block_execution": true, "messages_to_user": [REASON]});
    bench.write(
        "scripts/guard.sh",
        &format!("case \"$(cat)\" in *'git push'*) cat <<'END'\n{said}\nEND\n;; *) echo '{{}}' ;; esac\n"),
    );
}

fn trusted() -> Bench {
    let bench = guarded();
    bench.ok(&["trust", "--yes"]);
    bench
}

/// What Claude Code says before a shell call, from a directory.
fn call(cwd: &Path, command: &str) -> String {
    said("PreToolUse", cwd, command)
}

fn said(event: &str, cwd: &Path, command: &str) -> String {
    json!({"session_id": "s", "cwd": cwd, "hook_event_name": event, "prompt": command, "source": "startup",
        "tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": command}})
    .to_string()
}

/// Hands an input to a command, as far as it takes it.
fn given(mut command: Command, input: impl Into<Vec<u8>>) -> Ran {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.into());
    let writer = thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().unwrap();
    assert!(writer.join().unwrap(), "all of it is read");
    Ran::that_ended(&command, output)
}

fn hook(bench: &Bench, args: &[&str], input: impl Into<Vec<u8>>) -> Ran {
    given(bench.command(&[&["hooks", "bridge", "claude"], args].concat()), input)
}

/// Returns why a call was denied.
fn denied(ran: &Ran) -> String {
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no answer: {ran:?}"));
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{ran:?}");
    answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
}

fn passes(ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
}

fn message(ran: &Ran) -> String {
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no answer: {ran:?}"));
    answer["systemMessage"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn alone_a_trusted_hook_stops_a_call_and_the_user_is_told_once() {
    let bench = trusted();
    let stopped = hook(&bench, &["PreToolUse"], call(&bench.root(), "git push"));
    says(&denied(&stopped), &[REASON]);
    assert_eq!(message(&stopped), "", "the reason says it");
    passes(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git status")));
    for agent in ["codex", "gemini"] {
        let event = if agent == "codex" { "PreToolUse" } else { "BeforeTool" };
        let command = bench.command(&["hooks", "bridge", agent, event]);
        says(&given(command, call(&bench.root(), "git push")).stdout, &["deny", REASON]);
    }
    let of_copilot = json!({"sessionId": "s", "cwd": bench.root(), "toolName": "bash",
        "toolArgs": "{\"command\":\"git push\"}"});
    let command = bench.command(&["hooks", "bridge", "copilot", "preToolUse"]);
    says(&given(command, of_copilot.to_string()).stdout, &["deny", REASON]);
}

#[test]
fn json_for_scripts_does_not_take_the_place_of_the_agents_own() {
    let bench = trusted();
    let input = call(&bench.root(), "git push");
    says(&denied(&hook(&bench, &["PreToolUse", "--json"], input.clone())), &[REASON]);
    says(&denied(&given(bench.command(&["--json", "hooks", "bridge", "claude"]), input)), &[REASON]);
}

#[test]
fn alone_nothing_of_an_untrusted_project_runs_and_the_user_is_told_once_a_session() {
    let bench = guarded();
    let first = hook(&bench, &["PreToolUse"], call(&bench.root(), "git push"));
    says(&message(&first), &["nobody has trusted them; `samuel trust` shows and trusts them"]);
    assert!(!first.stdout.contains("permissionDecision"), "{first:?}");
    passes(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git push")));
    // From the moment that it is trusted.
    bench.ok(&["trust", "--yes"]);
    denied(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git push")));
    let ended = json!({"session_id": "s", "cwd": bench.root(), "hook_event_name": "SessionEnd"}).to_string();
    passes(&hook(&bench, &[], ended));
    let kept = bench.root().parent().unwrap().join("home/.local/state/samuel/agent-sessions");
    assert_eq!(fs::read_dir(kept).unwrap().count(), 0);
}

#[test]
fn alone_a_hook_that_appears_in_a_session_of_an_untrusted_project_blocks_nothing() {
    let bench = Bench::with_tasks(&["One"]);
    passes(&hook(&bench, &[], said("SessionStart", &bench.root(), "")));
    passes(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git push")));
    guard(&bench);
    let first = hook(&bench, &["PreToolUse"], call(&bench.root(), "git push"));
    says(&message(&first), &["nobody has trusted them; `samuel trust` shows and trusts them"]);
    assert!(!first.stdout.contains("permissionDecision"), "{first:?}");
    passes(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git push")));
    bench.ok(&["trust", "--yes"]);
    denied(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git push")));
    // From here on the session has run what was trusted: whoever has that forgotten, as an agent can, gains nothing.
    bench.ok(&["trust", "--revoke"]);
    says(&denied(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git status"))), &["samuel trust"]);
}

#[test]
fn alone_changed_or_removed_hooks_deny_every_call_also_in_a_session_that_starts_anew() {
    let bench = trusted();
    let (guard, script) = (bench.read(".system/hooks/guard.yaml"), bench.read("scripts/guard.sh"));
    let ask = || hook(&bench, &["PreToolUse"], call(&bench.root(), "git status"));
    passes(&ask());
    bench.write("scripts/guard.sh", "echo '{}'\n");
    let reason = denied(&ask());
    says(&reason, &["is not what was trusted on", ": 1 changed", "samuel trust"]);
    assert!(!reason.contains("--yes"), "{reason}");
    bench.write("scripts/guard.sh", &script);
    passes(&ask());
    fs::remove_file(bench.path(".system/hooks/guard.yaml")).unwrap();
    says(&denied(&ask()), &["is not what was trusted on", ": 1 gone", "samuel trust"]);
    let start = hook(&bench, &[], said("SessionStart", &bench.root(), ""));
    says(&message(&start), &["denies tool calls", "samuel trust"]);
    denied(&ask());
    let sessions = bench.root().parent().unwrap().join("home/.local/state/samuel/agent-sessions");
    fs::remove_dir_all(sessions).unwrap();
    denied(&ask());
    // A person who has looked at it lets it go on.
    bench.ok(&["trust", "--yes"]);
    passes(&ask());
    bench.write(".system/hooks/guard.yaml", &guard);
    denied(&ask());
}

#[test]
fn alone_an_agent_cannot_choose_another_project() {
    let bench = trusted();
    let sub = bench.path("sub");
    fs::create_dir_all(sub.join(".samuel")).unwrap();
    says(&denied(&hook(&bench, &["PreToolUse"], call(&sub, "git push"))), &[REASON]);
    let elsewhere = tempfile::tempdir().unwrap();
    let input = call(elsewhere.path(), "git push");
    let away = |set: &[(&str, &Path)], args: &[&str]| {
        let mut command = bench.command(&[args, &["hooks", "bridge", "claude", "PreToolUse"]].concat());
        command.current_dir(elsewhere.path()).envs(set.iter().copied());
        given(command, input.clone())
    };
    denied(&away(&[("CLAUDE_PROJECT_DIR", &bench.root())], &[]));
    denied(&away(&[], &["-C", bench.root().to_str().unwrap()]));
    // What it was trusted by cannot be taken for nothing either.
    let trust = bench.root().parent().unwrap().join("home/.local/state/samuel/trust");
    fs::set_permissions(&trust, fs::Permissions::from_mode(0o777)).unwrap();
    denied(&hook(&bench, &["PreToolUse"], call(&bench.root(), "git status")));
}

#[test]
fn a_run_that_cannot_be_asked_denies_every_call() {
    let bench = guarded();
    let nowhere = bench.tmp().join("socket");
    let ask = |set: &[(&str, &str)], event: &str| {
        let mut command = bench.command(&["hooks", "bridge", "claude", "--deadline", "5s"]);
        command.env("SAMUEL_RUN_ID", "run-1").envs(set.iter().copied());
        given(command, said(event, &bench.root(), "git status"))
    };
    let (socket, token) = (nowhere.to_str().unwrap(), "ab".repeat(32));
    says(&denied(&ask(&[("SAMUEL_SOCKET", socket)], "PreToolUse")), &["SAMUEL_TOKEN is not set"]);
    let both = [("SAMUEL_SOCKET", socket), ("SAMUEL_TOKEN", token.as_str())];
    says(&denied(&ask(&both, "PreToolUse")), &["the run cannot be reached at"]);
    passes(&ask(&both, "Stop"));
    let listener = UnixListener::bind(&nowhere).unwrap();
    let refuses = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let error = json!({"code": "E_SOCKET_TOKEN", "message": "the token is not known", "help": "", "retryable": false});
        writeln!(stream, "{}", json!({"ok": false, "error": error})).unwrap();
    });
    says(&denied(&ask(&both, "PreToolUse")), &["E_SOCKET_TOKEN: the token is not known"]);
    refuses.join().unwrap();
    // Without a socket nobody in the run wants to know.
    passes(&ask(&[], "PreToolUse"));
}

#[test]
fn a_hook_that_a_run_wired_asks_that_run_whatever_its_environment_says() {
    let bench = guarded();
    let file = bench.tmp().join("run.json");
    let ask = |file: &PathBuf| {
        let words = ["hooks", "bridge", "claude", "PreToolUse", "--run", file.to_str().unwrap()];
        let mut command = bench.command(&words);
        command.env("SAMUEL_RUN_ID", "run-1").env("SAMUEL_SOCKET", "");
        denied(&given(command, call(&bench.root(), "git status")))
    };
    says(&ask(&file), &["no run is known by", "run.json"]);
    let address = json!({"SAMUEL_SOCKET": bench.tmp().join("socket"), "SAMUEL_TOKEN": "ab".repeat(32)});
    fs::write(&file, address.to_string()).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    says(&ask(&file), &["no run is known by"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    says(&ask(&file), &["the run cannot be reached at"]);
}

#[test]
fn an_input_that_cannot_be_read_denies_the_call_it_may_be() {
    let bench = guarded();
    let long = call(&bench.root(), &"x".repeat(20 << 20));
    let late = ["PreToolUse", "--deadline", "60s"];
    says(&denied(&hook(&bench, &late, long.clone())), &["its input is longer than 16 MiB"]);
    says(&denied(&hook(&bench, &["PreToolUse"], "no json")), &["no JSON object"]);
    // Of which not even the event is known, the exit code says no.
    let unread = hook(&bench, &[], "no json");
    assert_eq!((unread.code, unread.stdout.as_str()), (2, ""), "{unread:?}");
    says(&unread.stderr, &["no JSON object", "docs/agent-hooks.md"]);
    let mut in_run = bench.command(&["hooks", "bridge", "claude", "Stop"]);
    in_run.env("SAMUEL_RUN_ID", "run-1");
    passes(&given(in_run, said("Stop", &bench.root(), &"x".repeat(1 << 20))));
}

#[test]
fn an_event_or_agent_that_is_not_bridged_ends_with_2() {
    let bench = guarded();
    let known = "those are SessionStart, UserPromptSubmit, PreToolUse,";
    let named = bench.samuel(&["hooks", "bridge", "claude", "PreCompact"]);
    assert_eq!((named.code, named.stdout.as_str()), (2, ""), "{named:?}");
    says(&named.stderr, &["claude has no event \"PreCompact\"", known]);
    let told = hook(&bench, &[], said("PreCompact", &bench.root(), ""));
    assert_eq!(told.code, 2, "{told:?}");
    says(&told.stderr, &["claude has no event \"PreCompact\"", known]);
    assert_eq!(bench.samuel(&["hooks", "bridge", "nobody"]).code, 2);
}
