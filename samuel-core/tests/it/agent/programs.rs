//! Agents that are programs: prompts, clocks, endings, and what they leave.

use crate::agent::support::{Recorder, request};
use crate::process_support::{Mark, supervisor};
use samuel_core::{
    agent::{
        self, AbilityCall, AbilityDecision, Agent, AgentClocks, AgentConfig, AgentError, AgentEvent,
        AgentRequest, Bridge, ConversationId, Script,
    },
    clock::SystemClock,
    fs::Root,
    hook::{CallLogs, CallScope, Registry, points},
    model::{Coded, payload::AgentInvokeOutput},
    plugin::{Capabilities, Capability, Skill},
    process::CommandSpec,
    sandbox::{Sandbox, SandboxError},
};
use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);
const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.25,"usage":{"input_tokens":7}}"#;

/// An agent whose program is a shell script; the adapter's own arguments are
/// positional parameters of the script and mean nothing to it.
fn agent(name: &str, script: &str, clocks: AgentClocks) -> Arc<dyn Agent> {
    let command = ["/bin/sh", "-c", script, "agent"].map(String::from).to_vec();
    let config = AgentConfig { command, clocks, ..AgentConfig::new(name) };
    agent::build(&config, supervisor()).unwrap()
}

async fn call(
    name: &str,
    script: &str,
    clocks: AgentClocks,
) -> (Result<AgentInvokeOutput, AgentError>, Recorder) {
    let port = Recorder::default();
    let dir = tempfile::tempdir().unwrap();
    let agent = agent(name, script, clocks);
    let outcome = tokio::time::timeout(LONG, agent.invoke(request(dir.path(), "the prompt"), &port)).await;
    (outcome.expect("no script here outlasts its clocks"), port)
}

#[tokio::test]
async fn a_command_reads_its_prompt_from_standard_input() {
    let (outcome, port) = call("command", "cat; echo; echo oops >&2; exit 7", AgentClocks::default()).await;
    let output = outcome.unwrap();
    assert_eq!(
        (output.exit_code, output.stdout.as_str(), output.stderr.as_str()),
        (7, "the prompt", "oops\n")
    );
    assert_eq!(port.texts(), ["the prompt"]);
    assert_eq!(port.supervisors.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_prompt_of_a_megabyte_reaches_a_command_that_reads_it_and_harms_none_that_does_not() {
    let dir = tempfile::tempdir().unwrap();
    for (script, expected) in [("wc -c", "1048576"), ("echo busy", "busy")] {
        let prompt = "x".repeat(1024 * 1024);
        let outcome = agent("command", script, AgentClocks::default())
            .invoke(request(dir.path(), &prompt), &Recorder::default())
            .await;
        assert_eq!(outcome.unwrap().stdout.trim(), expected);
    }
}

#[tokio::test]
async fn a_prompt_file_is_private_and_gone_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let command =
        ["/bin/sh", "-c", r#"stat -c %a "$1"; cat "$1"; echo; echo "$1""#, "agent", "{prompt_file}"];
    let config = AgentConfig { command: command.map(String::from).to_vec(), ..AgentConfig::new("command") };
    let [out, err] = ["1-1.out", "1-1.err"].map(|name| dir.path().join(name));
    let logs = CallLogs { out, err, root: Root::new(dir.path()), secrets: Arc::default() };
    let request = crate::agent::support::request(dir.path(), "the prompt");
    let request = AgentRequest { logs: Some(logs.clone()), ..request };
    let agent = agent::build(&config, supervisor()).unwrap();
    let output = agent.invoke(request, &Recorder::default()).await.unwrap();
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines[..2], ["600", "the prompt"]);
    assert!(lines[2].starts_with(dir.path().to_str().unwrap()));
    assert!(!Path::new(lines[2]).exists());
    // The raw output is in the log, for its owner only.
    assert_eq!(std::fs::read_to_string(&logs.out).unwrap(), output.stdout.clone() + "\n");
    assert_eq!(std::fs::metadata(&logs.out).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn agents_write_no_log_outside_project() {
    let dir = tempfile::tempdir().unwrap();
    let (root, outside) = (dir.path().join("project"), dir.path().join("outside"));
    for made in [&root, &outside] {
        std::fs::create_dir(made).unwrap();
    }
    std::fs::write(outside.join("1-1.out"), "precious").unwrap();
    std::os::unix::fs::symlink(&outside, root.join("logs")).unwrap();
    let [out, err] = ["logs/1-1.out", "logs/1-1.err"].map(|name| root.join(name));
    let logs = CallLogs { out, err, root: Root::new(&root), secrets: Arc::default() };
    let scripted = AgentConfig { script: Some(Script::default()), ..AgentConfig::new("scripted") };
    let scripted = agent::build(&scripted, supervisor()).unwrap();
    for called in [scripted, agent("command", "echo done", AgentClocks::default())] {
        let request = AgentRequest { logs: Some(logs.clone()), ..request(&root, "the prompt") };
        let output = called.invoke(request, &Recorder::default()).await.unwrap();
        assert_eq!(output.exit_code, 0, "{}", called.name());
        assert_eq!(std::fs::read_to_string(outside.join("1-1.out")).unwrap(), "precious");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{}", called.name());
    }
}

/// A sandbox that its commands can see.
#[derive(Debug)]
struct Marked;

impl Sandbox for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec.within("/usr/bin/env", ["INSIDE=yes"]))
    }
}

#[tokio::test]
async fn the_program_runs_in_the_sandbox_of_the_request_with_its_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let request = AgentRequest { sandbox: Arc::new(Marked), ..request(dir.path(), "the prompt") };
    let agent = agent("command", "cat; echo \" inside=$INSIDE\"", AgentClocks::default());
    let output = agent.invoke(request, &Recorder::default()).await.unwrap();
    assert_eq!(output.stdout.trim(), "the prompt inside=yes");
}

#[tokio::test]
async fn the_environment_is_the_requests_and_nothing_else() {
    let (outcome, _) =
        call("command", "env | cut -d= -f1 | sort | tr '\\n' ' '", AgentClocks::default()).await;
    // The shell itself adds PWD and, while it runs env, its own marks. The last is
    // by which a command's processes are found.
    let stdout = outcome.unwrap().stdout;
    let names: Vec<&str> =
        stdout.split_whitespace().filter(|name| !["PWD", "SHLVL", "OLDPWD", "_"].contains(name)).collect();
    assert_eq!(names, ["PATH", "SAMUEL_PROCESS_MARK"]);
}

#[tokio::test]
async fn a_stream_gives_events_usage_and_cost() {
    let script = format!("echo '{INIT}'; echo 'not json'; echo '{DONE}'");
    let (outcome, port) = call("claude", &script, AgentClocks::default()).await;
    let output = outcome.unwrap();
    assert_eq!(output.exit_code, 0);
    assert_eq!(output.usage.unwrap().cost_usd, Some(0.25));
    assert!(matches!(
        &port.events()[..],
        [AgentEvent::Ready { .. }, AgentEvent::Unreadable { line }, AgentEvent::Usage(_)] if line == "not json"
    ));
}

#[tokio::test]
async fn an_agent_that_says_it_failed_has_failed_whatever_its_exit_code() {
    let failed = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"result":"no way"}"#;
    let (outcome, _) = call("claude", &format!("echo '{failed}'; exit 0"), AgentClocks::default()).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Reported { message, .. } if message == "no way"));
}

#[tokio::test]
async fn a_stream_without_a_final_event_is_no_success() {
    for name in ["claude", "codex", "gemini", "copilot"] {
        for (script, said) in [
            (&*format!("echo '{INIT}'"), ""),
            (r#"echo '{"type":"system"}'"#, ""),
            ("true", ""),
            ("echo Please log in", ": Please log in"),
        ] {
            let (outcome, _) = call(name, script, AgentClocks::default()).await;
            let AgentError::Reported { message, .. } = outcome.unwrap_err() else {
                panic!("{name}: {script}")
            };
            assert_eq!(message, format!("the stream ended without a final event{said}"), "{name}: {script}");
        }
    }
    for name in ["command", "kiro"] {
        assert_eq!(call(name, "true", AgentClocks::default()).await.0.unwrap().exit_code, 0);
    }
}

#[tokio::test]
async fn an_agent_ended_by_a_signal_says_so() {
    let (outcome, _) = call("command", "kill -9 $$", AgentClocks::default()).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Signal { signal: 9, .. }));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let config = AgentConfig { command: vec!["no-such-agent".into()], ..AgentConfig::new("claude") };
    let agent = agent::build(&config, supervisor()).unwrap();
    let error = agent.invoke(request(Path::new("/"), ""), &Recorder::default()).await.unwrap_err();
    assert!(matches!(error, AgentError::NotFound { program, .. } if program == "no-such-agent"));
}

#[test]
fn suggests_path_of_agent_in_project() {
    let dir = tempfile::tempdir().unwrap();
    let config = AgentConfig { command: vec!["agent.sh".into()], ..AgentConfig::new("command") };
    let agent = agent::build(&config, supervisor()).unwrap();
    let env = [("PATH".to_owned(), "/nowhere".to_owned())];
    let help = || agent.check(&env, dir.path()).unwrap_err().help().prose();
    assert!(!help().contains("./"), "{}", help());
    std::fs::write(dir.path().join("agent.sh"), "").unwrap();
    assert!(help().contains("write `./agent.sh`"), "{}", help());
}

#[tokio::test]
async fn each_way_in_which_an_agent_cannot_start_is_a_message_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain", "#!/bin/sh\n", 0o644);
    file("crlf", "#!/bin/sh\r\nexit 0\r\n", 0o755);
    file("env-crlf", "#!/usr/bin/env sh\r\nexit 0\r\n", 0o755);
    file("orphan", "#!/nowhere/sh\n", 0o755);
    file("busy", "#!/bin/sh\n", 0o755);
    std::fs::create_dir(dir.path().join("directory")).unwrap();
    let _writer = std::fs::File::options().append(true).open(dir.path().join("busy")).unwrap();
    for (program, message, help) in [
        (
            "./absent",
            "needs the program \"./absent\", which was not found: there is no DIR/absent",
            "relative path",
        ),
        ("./gone/agent", "there is no directory `DIR/./gone`", "or create `DIR/./gone`"),
        ("./directory", "`DIR/./directory` is a directory, not a program", "Name the program"),
        ("./plain", "`DIR/./plain` is not executable: permission is denied", "chmod +x DIR/./plain"),
        ("./crlf", "the first line of `DIR/./crlf` ends with a carriage return", "Unix line ends"),
        ("./env-crlf", "the first line of `DIR/./env-crlf` ends with a carriage return", "Unix line ends"),
        ("./orphan", "`DIR/./orphan` is a script for `/nowhere/sh`, which was not found", "the first line"),
        ("./busy", "`DIR/./busy` is open for writing (text file busy)", "whoever writes it"),
    ] {
        let config = AgentConfig { command: vec![program.into()], ..AgentConfig::new("command") };
        let agent = agent::build(&config, supervisor()).unwrap();
        let error = agent.invoke(request(dir.path(), ""), &Recorder::default()).await.unwrap_err();
        let shown = |text: String| text.replace(&*dir.path().to_string_lossy(), "DIR");
        assert!(shown(error.to_string()).contains(message), "{program}: {error}");
        assert!(shown(error.help().prose()).contains(help), "{program}: {:?}", error.help());
    }
    // What can be seen before a run is said before it.
    let absolute = dir.path().join("crlf").display().to_string();
    let config = AgentConfig { command: vec![absolute], ..AgentConfig::new("command") };
    let error = agent::build(&config, supervisor()).unwrap().check(&[], dir.path()).unwrap_err();
    assert!(error.to_string().contains("carriage return"), "{error}");
    let config = AgentConfig { command: vec!["./absent".into()], ..AgentConfig::new("command") };
    let error = agent::build(&config, supervisor()).unwrap().check(&[], dir.path()).unwrap_err();
    assert!(error.to_string().contains(&format!("there is no {}", dir.path().display())), "{error}");
}

#[tokio::test]
async fn what_an_agent_leaves_running_is_told_by_name() {
    let (outcome, port) =
        call("command", "setsid sleep 300 & sleep 301 & echo done", AgentClocks::default()).await;
    assert_eq!(outcome.unwrap().exit_code, 0);
    let left = port.left_running.lock().unwrap().clone().unwrap();
    assert_eq!(left.count, 2);
    assert!(left.named.iter().all(|process| ["sleep", "setsid", "sh"].contains(&&*process.name)), "{left:?}");
}

#[tokio::test]
async fn each_clock_is_an_outcome_of_its_own() {
    let quiet = AgentClocks { first_byte: Some(SHORT), ..AgentClocks::default() };
    let idle = AgentClocks { idle: Some(SHORT), ..AgentClocks::default() };
    let wall = AgentClocks { wall: Some(SHORT), ..AgentClocks::default() };
    let talks = format!("echo '{INIT}'; sleep 600");
    for (expected, script, clocks) in [
        ("first_byte", "sleep 600", quiet),
        ("idle", &talks, idle),
        ("wall", "while :; do echo x; sleep 0.05; done", wall),
    ] {
        let (outcome, _) = call("claude", script, clocks).await;
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, AgentError::Clock { clock, limit: SHORT, .. } if clock == expected),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_agent_that_may_be_silent_is_ended_by_the_idle_clock_from_its_start() {
    for name in ["command", "kiro"] {
        let idle = AgentClocks { idle: Some(SHORT), ..AgentClocks::default() };
        let (outcome, _) = call(name, "sleep 600", idle).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, AgentError::Clock { clock: "idle", limit: SHORT, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_agent_that_needs_most_of_its_wall_clock_is_not_asked_to_end() {
    let clocks = AgentClocks { wall: Some(5 * SHORT), ..AgentClocks::default() };
    let script = "trap 'echo asked to end' TERM; sleep 1.2 & wait $!; echo done";
    let (outcome, _) = call("command", script, clocks).await;
    assert_eq!(outcome.unwrap().stdout, "done");
}

#[tokio::test]
async fn an_agent_at_its_wall_clock_has_a_grace_in_which_it_cleans_up() {
    let dir = tempfile::tempdir().unwrap();
    let cleaned = dir.path().join("cleaned");
    let clocks = AgentClocks { wall: Some(2 * SHORT), ..AgentClocks::default() };
    let script = format!("trap 'sleep 0.5; echo > {}; exit' TERM; sleep 600 & wait $!", cleaned.display());
    let (outcome, _) = call("command", &script, clocks).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Clock { clock: "wall", .. }));
    assert!(cleaned.exists(), "the call returns when the agent is gone");
}

#[tokio::test]
async fn an_agent_that_lingers_after_its_final_event_has_succeeded() {
    let clocks = AgentClocks { linger: Some(SHORT), ..AgentClocks::default() };
    let (outcome, _) = call("claude", &format!("echo '{INIT}'; echo '{DONE}'; sleep 600"), clocks).await;
    assert_eq!(outcome.unwrap().exit_code, 0);
}

#[tokio::test]
async fn the_wall_clock_gives_notice_before_it_ends_an_agent() {
    let clocks = AgentClocks { wall: Some(2 * SHORT), ..AgentClocks::default() };
    let (outcome, port) = call("command", "sleep 600", clocks).await;
    assert!(matches!(outcome.unwrap_err(), AgentError::Clock { clock: "wall", .. }));
    assert_eq!(port.events(), [AgentEvent::SoftDeadline { remaining_ms: 60 }]);
}

#[tokio::test]
async fn a_cancelled_agent_takes_its_descendants_along() {
    let mark = Mark::new("agent-cancel");
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; setsid sleep 600 & echo up; sleep 600; sleep 600";
    let mut request = request(dir.path(), "");
    let (name, value) = mark.variable();
    request.env.push((name.to_owned(), value.to_owned()));
    let cancel = request.cancel.clone();
    let agent = agent("command", script, AgentClocks::default());
    let port = Recorder::default();
    let work = agent.invoke(request, &port);
    tokio::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        () = port.heard.notified() => {
            cancel.cancel();
            tokio::time::timeout(LONG, work).await.unwrap()
        }
    };
    assert!(matches!(outcome.unwrap_err(), AgentError::Cancelled { .. }));
    mark.assert_gone();
}

#[tokio::test]
async fn a_script_in_the_agents_place_reports_asks_and_has_its_supervisor_named() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("agent.sh");
    // The one that the documentation shows.
    let page = include_str!("../../../../docs/plugin-management.md");
    let (_, rest) = page.split_once("```sh\n#!/bin/sh\nread").unwrap();
    let text = format!("#!/bin/sh\nread{}", rest.split_once("```").unwrap().0);
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
    let granted = Capabilities::default().with(Capability::Exec, ["agent"]);
    let handler = Skill::new(&script, dir.path(), env, supervisor(), &granted).interactive();

    let blocks: fn(&AbilityCall) -> AbilityDecision = |_| AbilityDecision::Block { reason: "no".into() };
    for decide in [None, Some(blocks)] {
        let port = Arc::new(Recorder { decide, ..Recorder::default() });
        let scope = CallScope { port: Some(port.clone()), ..CallScope::new(Arc::new(SystemClock::new())) };
        let mut handlers = Registry::builder();
        handlers.api::<points::AgentInvoke, _>("script", None, handler.clone());
        let registry = handlers.build(&BTreeMap::new()).unwrap();
        let done = registry.dispatch::<points::AgentInvoke>(Default::default(), &scope).await;
        assert!(done.outcome.broken.is_empty(), "{:?}", done.outcome.broken);
        assert_eq!((port.texts(), port.tools()), (vec!["I begin".to_owned()], vec!["Bash".to_owned()]));
        assert_eq!(port.supervisors.lock().unwrap().len(), 1);
        assert_eq!(port.ended.lock().unwrap().len(), usize::from(decide.is_none()));
        let warnings = done.outcome.warnings.iter().map(|warning| &*warning.message);
        let refused = decide.map(|_| "the command was not allowed");
        let expected: Vec<&str> = refused.into_iter().chain(["this agent does little"]).collect();
        assert_eq!(warnings.collect::<Vec<_>>(), expected);
    }
}

/// Calls an agent whose program is a shell script, to go on in the conversation `c-1`;
/// returns its arguments too.
async fn goes_on(name: &str, script: &str) -> (Result<AgentInvokeOutput, AgentError>, String) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    std::fs::write(&program, format!("#!/bin/sh\nprintf '%s ' \"$@\" > args\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = vec![program.display().to_string()];
    let args = ["--model", "m"].map(String::from).to_vec();
    let agent = agent::build(&AgentConfig { command, args, ..AgentConfig::new(name) }, supervisor()).unwrap();
    let request = AgentRequest { conversation: ConversationId::new("c-1"), ..request(dir.path(), "go on") };
    let outcome = tokio::time::timeout(LONG, agent.invoke(request, &Recorder::default())).await;
    (outcome.expect("the script ends"), std::fs::read_to_string(dir.path().join("args")).unwrap())
}

#[tokio::test]
async fn each_agent_goes_on_in_a_conversation_by_arguments_of_its_own() {
    for (name, expected) in [
        (
            "claude",
            "-p --dangerously-skip-permissions --output-format stream-json --verbose --model m --resume c-1 ",
        ),
        (
            "codex",
            "exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --model m resume c-1 - ",
        ),
        ("gemini", "--output-format stream-json --approval-mode yolo --skip-trust --model m --resume c-1 "),
        (
            "copilot",
            "--allow-all --no-ask-user --output-format json --no-color --no-auto-update --model m --resume=c-1 ",
        ),
        ("kiro", "chat --no-interactive --trust-all-tools --model m "),
        ("command", "--model m "),
    ] {
        assert_eq!(goes_on(name, "true").await.1, expected);
        let resumes = agent(name, "true", AgentClocks::default()).resumes();
        assert_eq!(resumes, expected.contains("c-1"), "{name}");
    }
}

#[tokio::test]
async fn what_codex_counts_over_a_conversation_is_counted_once() {
    let script = r#"echo '{"type":"thread.started","thread_id":"c-1"}'
    echo x >> calls
    echo '{"type":"turn.completed","usage":{"input_tokens":'$(($(wc -l < calls) * 100))',"output_tokens":1}}'"#;
    let dir = tempfile::tempdir().unwrap();
    let agent = agent("codex", script, AgentClocks::default());
    for conversation in [None, ConversationId::new("c-1"), ConversationId::new("c-1")] {
        let request = AgentRequest { conversation, ..request(dir.path(), "go on") };
        let output = agent.invoke(request, &Recorder::default()).await.unwrap();
        assert_eq!(output.usage.unwrap().input_tokens, 100);
    }
}

#[tokio::test]
async fn a_conversation_is_lost_where_an_agent_says_that_it_is_not_there() {
    let none = r#"{"type":"result","is_error":true,"errors":["No conversation found with session ID: c-1"]}"#;
    let login = r#"{"type":"result","is_error":true,"result":"Invalid API key · Please run /login"}"#;
    let refused = r#"{"type":"result","is_error":true,"result":"no way"}"#;
    for (name, script, lost) in [
        ("claude", format!("echo '{none}'; exit 1"), Some("No conversation found with session ID: c-1")),
        (
            "codex",
            "printf 'Error: no rollout found for c-1\\n\\nStack backtrace:\\n 0: x' >&2; exit 1".to_owned(),
            Some("Error: no rollout found for c-1"),
        ),
        (
            "gemini",
            "echo 'Error resuming session: No previous sessions found for this project.' >&2; exit 42"
                .to_owned(),
            Some("Error resuming session: No previous sessions found for this project."),
        ),
        (
            "copilot",
            "echo \"Error: No session, task, or name matched 'c-1'.\" >&2; exit 1".to_owned(),
            Some("Error: No session, task, or name matched 'c-1'."),
        ),
        ("claude", format!("echo '{login}'; exit 1"), None),
        ("codex", "echo 'error: not logged in' >&2; exit 1".to_owned(), None),
        ("gemini", "exit 42".to_owned(), None),
        ("copilot", "echo 'Error: getaddrinfo ENOTFOUND' >&2; exit 1".to_owned(), None),
        ("claude", format!("echo '{INIT}'; echo '{none}'; exit 1"), None),
        ("claude", format!("echo '{INIT}'; echo '{refused}'; exit 1"), None),
        ("claude", format!("echo '{INIT}'; exit 1"), None),
        ("claude", "kill -9 $$".to_owned(), None),
        ("kiro", "exit 1".to_owned(), None),
    ] {
        let told = match goes_on(name, &script).await.0 {
            Err(AgentError::ConversationLost { conversation, message, .. }) => {
                assert_eq!(conversation, "c-1");
                Some(message)
            }
            _ => None,
        };
        assert_eq!(told.as_deref(), lost, "{name}: {script}");
    }
}

/// Calls an agent whose program writes down how it was called.
async fn words_and_variables(name: &str, bridge: Option<Bridge>) -> (Vec<String>, String) {
    let dir = tempfile::tempdir().unwrap();
    let command = ["/bin/sh", "-c", r#"printf '%s\n' "$@" > words; env > variables"#, "agent"];
    let config = AgentConfig { command: command.map(String::from).to_vec(), ..AgentConfig::new(name) };
    let agent = agent::build(&config, supervisor()).unwrap();
    let request = AgentRequest { bridge, ..request(dir.path(), "the prompt") };
    // It says nothing of how it ended.
    let _ = agent.invoke(request, &Recorder::default()).await;
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let words = read("words").lines().map(str::to_owned).collect();
    (words, read("variables"))
}

#[tokio::test]
async fn an_agent_is_called_as_ever_unless_its_hooks_are_to_ask() {
    let expected: [(&str, &[&str]); 4] = [
        ("claude", &["-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"]),
        (
            "codex",
            &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"],
        ),
        ("gemini", &["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"]),
        (
            "copilot",
            &["--allow-all", "--no-ask-user", "--output-format", "json", "--no-color", "--no-auto-update"],
        ),
    ];
    for (name, expected) in expected {
        let (words, variables) = words_and_variables(name, None).await;
        assert_eq!(words, expected, "{name}");
        assert!(!variables.contains("SAMUEL_SOCKET") && !variables.contains("GEMINI_"), "{variables}");

        let dir = tempfile::tempdir().unwrap();
        let bridge = Bridge {
            command: vec!["/opt/samuel".to_owned(), "hooks".to_owned(), "bridge".to_owned()],
            env: vec![("SAMUEL_SOCKET".to_owned(), "/run/s".to_owned())],
            deadline: Duration::from_secs(32),
            dir: dir.path().to_owned(),
            before: true,
            after: false,
        };
        let (words, variables) = words_and_variables(name, Some(bridge)).await;
        assert!(variables.contains("SAMUEL_SOCKET=/run/s"), "{name}");
        let options = words.join(" ");
        let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        // The run's address is there for whatever is wired.
        let written = files.filter(|name| name != "run.json").count();
        match name {
            "claude" => {
                assert!(options.contains("--settings") && options.contains("PreToolUse"), "{options}")
            }
            "codex" => assert!(options.ends_with("--dangerously-bypass-hook-trust -"), "{options}"),
            "copilot" => assert!(options.contains("--plugin-dir") && written == 1, "{options}"),
            // Others can write to the directory above.
            _ => assert_eq!((options, written), (expected.join(" "), 0)),
        }
    }
}
