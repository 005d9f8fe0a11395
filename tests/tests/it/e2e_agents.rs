//! The main job with real agents: `samuel run start` takes a PRD of three
//! tasks to done with Claude Code and with Codex, over a scripted model; and
//! what session hooks print reaches the model.
//!
//! Each agent is installed from npm on the first run; where that is not
//! possible its test prints `skipped:` and the reason.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use samuel_core::history::History;
use samuel_tests::{
    model_server::{ModelRequest, ModelServer, Reply, Script, Tokens},
    real_agent::{RealAgent, installed},
};
use serde_json::{Value, json};

const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

const PRD: &str = "# Greeter

A program that greets, in three steps.

## Tasks

### 1.0 Lay the ground

Create the file for the first part.

### 2.0 Say hello

Create the file for the second part.

### 3.0 Say goodbye

Create the file for the third part.

Depends on: 2.0
";

/// What the model has the agent run: the work, a commit, and the mutation.
const WORK: &str = r#"set -e
echo "part $SAMUEL_TASK_ID" > "part-$SAMUEL_TASK_ID.txt"
git add -A
git commit -qm "feat: part $SAMUEL_TASK_ID"
"$SAMUEL_BINARY" run done "$SAMUEL_TASK_ID" --commit-sha "$(git rev-parse HEAD)"
echo work-is-done"#;

/// Answers with one tool call a conversation, then with words.
fn model(tool: &'static str, input: Value) -> Script {
    let tokens = Tokens { fresh: 1_000, cached: 0, output: 50 };
    Script::function(move |request: &ModelRequest| {
        if request.mentions("work-is-done") {
            Reply::text("The task is done.").with_tokens(tokens)
        } else {
            Reply::tool(tool, input.clone()).with_tokens(tokens)
        }
    })
}

struct Project {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Project {
    fn new(real: RealAgent, program: &Path, url: &str, home: &Path, check: &str) -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let project = Self { dir, env: real.env(home, url) };
        let args: Vec<String> = real.model_args(url);
        let config = format!(
            "version = \"2\"\n[methodology.ralph]\nagent = {:?}\nagent_command = [{:?}]\nagent_args = {args:?}\npause = 0\n\
             quality_checks = [{check:?}]\n",
            real.name(),
            program.display().to_string(),
        );
        fs::write(project.dir.path().join("samuel.toml"), config).unwrap();
        fs::write(project.dir.path().join("prd.md"), PRD).unwrap();
        fs::write(project.dir.path().join(".gitignore"), ".samuel/\n").unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Tester"],
            &["config", "user.email", "tester@example.invalid"],
            &["add", "-A"],
            &["commit", "-qm", "Start"],
        ] {
            assert!(
                Command::new("git").args(args).current_dir(project.dir.path()).status().unwrap().success()
            );
        }
        project
    }

    fn samuel(&self, args: &[&str]) -> Output {
        Command::new(SAMUEL)
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .envs(self.env.iter().cloned())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn git(&self, args: &[&str]) -> Vec<String> {
        let output = Command::new("git").args(args).current_dir(self.dir.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }
}

/// The lines of a JSON Lines output.
fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

/// What `samuel run start` came to.
struct Started {
    project: Project,
    server: ModelServer,
    /// The lines that it printed.
    events: Vec<Value>,
}

/// Takes the PRD to done, with a file of session hooks where there is a text
/// for one; `None` where the agent cannot be installed.
async fn start(real: RealAgent, hooks: &'static str, script: Script) -> Option<Started> {
    start_with(real, hooks, script, "test -f part-1.0.txt", &[]).await
}

/// Does the same with another check, and more arguments of the command.
async fn start_with(
    real: RealAgent,
    hooks: &'static str,
    script: Script,
    check: &'static str,
    more: &'static [&'static str],
) -> Option<Started> {
    let program = installed(real).await?;
    let server = ModelServer::start(script).await.unwrap();
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let url = server.url();
    let home_path = home.path().to_owned();
    let (started, project) = tokio::task::spawn_blocking(move || {
        let project = Project::new(real, &program, &url, &home_path, check);
        let init = project.samuel(&["run", "init", "--prd", "prd.md"]);
        assert!(init.status.success(), "{init:?}");
        if !hooks.is_empty() {
            fs::write(project.dir.path().join(".samuel/hooks.yml"), hooks).unwrap();
        }
        (project.samuel(&[&["run", "start", "--yes", "--json"], more].concat()), project)
    })
    .await
    .unwrap();
    let events = lines(&started);
    assert!(started.status.success(), "{started:?}");
    assert_eq!(events.last().unwrap()["ok"], true, "{events:?}");
    let run = events[0]["run_id"].as_str().unwrap();
    let recorded = samuel_core::project::Project::at(project.dir.path()).unwrap();
    let replay = History::of(&recorded).replay(run).unwrap();
    assert!(replay.equal, "{replay}");
    Some(Started { project, server, events })
}

/// Takes the PRD to done and checks what every agent must leave behind.
/// Returns the lines of `run start` and the document of `run status`.
async fn takes_a_prd_to_done(real: RealAgent, script: Script) -> Option<(Vec<Value>, Value)> {
    let Started { project, server, events } = start(real, "", script).await?;
    let tasks: Value = serde_json::from_slice(&project.samuel(&["run", "tasks", "--json"]).stdout).unwrap();
    let tasks = tasks["data"]["tasks"].as_array().unwrap().clone();
    assert_eq!(tasks.len(), 3);
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{tasks:?}");
    let commits = project.git(&["log", "--format=%H", "-n3"]);
    for task in &tasks {
        assert!(commits.iter().any(|commit| task["commit_sha"] == *commit.as_str()), "{task}");
    }
    let subjects = project.git(&["log", "--reverse", "--format=%s"]);
    assert_eq!(subjects, ["Start", "feat: part 1.0", "feat: part 2.0", "feat: part 3.0"]);

    let log = fs::read_to_string(project.dir.path().join(".samuel/run/progress.md")).unwrap();
    for id in ["1.0", "2.0", "3.0"] {
        assert!(log.contains(&format!("[task:{id}] STARTED")), "{log}");
        assert!(log.contains(&format!("[task:{id}] COMPLETED")), "{log}");
    }
    assert!(
        server.requests().iter().any(|request| request.mentions("Say goodbye")),
        "the prompt names the task"
    );
    let status: Value = serde_json::from_slice(&project.samuel(&["run", "status", "--json"]).stdout).unwrap();
    let plan = fs::read_to_string(project.dir.path().join(".samuel/run/prd.toon")).unwrap();
    assert!(plan.starts_with("# toon v3\n"), "{plan}");
    let left = fs::read_dir(project.dir.path().join(".claude")).is_ok();
    assert!(!left, "nothing is written to another tool's folder");
    Some((events, status))
}

fn figure(events: &[Value], name: &str) -> f64 {
    let finished = events.iter().find(|event| event["event"] == "run_finished").unwrap();
    finished["usage"][name].as_f64().unwrap_or(0.0)
}

/// The plan keeps what the run says it consumed.
fn adds_up(events: &[Value], status: &Value) {
    let kept = |name: &str| status["data"]["progress"][name].as_f64().unwrap();
    let tokens = figure(events, "input_tokens") + figure(events, "output_tokens");
    assert!(tokens > 0.0 && kept("tokens") == tokens, "{status}");
    assert!((kept("cost_usd") - figure(events, "cost_usd")).abs() < 1e-9, "{status}");
}

// Takes about 13 s: Claude Code is started for each of the three tasks.
#[tokio::test(flavor = "multi_thread")]
async fn claude_code_takes_a_prd_of_three_tasks_to_done() {
    let script = model("Bash", json!({"command": WORK, "description": "does the task"}));
    let Some((events, status)) = takes_a_prd_to_done(RealAgent::Claude, script).await else { return };
    assert!(figure(&events, "input_tokens") >= 6_000.0, "two requests a task");
    assert!(figure(&events, "cost_usd") > 0.0);
    adds_up(&events, &status);
    let calls = events.iter().filter(|e| e["event"] == "agent" && e["report"]["type"] == "tool_call").count();
    assert_eq!(calls, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_takes_a_prd_of_three_tasks_to_done() {
    let script = model("exec_command", json!({"cmd": WORK}));
    let Some((events, status)) = takes_a_prd_to_done(RealAgent::Codex, script).await else { return };
    assert!(figure(&events, "input_tokens") >= 6_000.0, "two requests a task");
    adds_up(&events, &status);
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_in_three_lanes_takes_a_prd_to_done_and_its_work_lands_once() {
    let script = model("Bash", json!({"command": WORK, "description": "does the task"}));
    let started = start_with(RealAgent::Claude, "", script, "ls part-*", &["--jobs", "3"]).await;
    let Some(Started { project, events, .. }) = started else { return };
    let report = &events.last().unwrap()["data"]["report"];
    let into = report["into"].as_str().unwrap_or_else(|| panic!("{report}"));
    let trailers = "--format=%(trailers:key=Samuel-Task,valueonly,separator=%x2C)";
    let mut landed = project.git(&["log", "--first-parent", trailers, into]);
    landed.retain(|line| !line.is_empty());
    landed.sort();
    assert_eq!(landed, ["1.0", "2.0", "3.0"], "{events:?}");
    let tasks: Value = serde_json::from_slice(&project.samuel(&["run", "tasks", "--json"]).stdout).unwrap();
    let on_branch = project.git(&["rev-list", into]);
    for task in tasks["data"]["tasks"].as_array().unwrap() {
        let commit = task["commit_sha"].as_str().unwrap_or_default();
        assert!(task["status"] == "completed" && on_branch.iter().any(|one| one == commit), "{task}");
        let id = task["id"].as_str().unwrap();
        let part = project.git(&["show", &format!("{into}:part-{id}.txt")]);
        assert_eq!(part, [format!("part {id}")]);
    }
    assert_eq!(project.git(&["log", "--format=%s"]), ["Start"], "the checkout stays");
    let claimed = events.iter().filter(|event| event["event"] == "task_claimed");
    let lanes: std::collections::BTreeSet<String> = claimed.map(|event| event["lane"].to_string()).collect();
    assert!(lanes.len() >= 2, "two of them have nothing to wait for: {lanes:?}");
    assert!(figure(&events, "input_tokens") >= 6_000.0, "what all lanes consumed is added up");
}

/// The first hook file of whoever begins with them: one command is for the
/// agent, the other is not.
const TRACER: &str = "hooks:
  post_iteration:
    - command: \"echo 'Test output for agent'\"
      pipe_output: true
    - command: \"echo 'Side effect only'\"
";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_hook_pipes_is_in_the_next_iterations_request_to_the_model() {
    let script = model("Bash", json!({"command": WORK, "description": "does the task"}));
    let Some(Started { server, events, .. }) = start(RealAgent::Claude, TRACER, script).await else { return };
    let requests = server.requests();
    let of = |text: &str| -> Vec<bool> {
        let told = requests.iter().filter(|request| request.mentions(text));
        told.map(|request| request.mentions("Test output for agent")).collect()
    };
    let (first, second) = (of("This is iteration 1"), of("This is iteration 2"));
    assert!(!first.is_empty() && first.iter().all(|is_told| !is_told), "{events:?}");
    assert!(!second.is_empty() && second.iter().all(|is_told| *is_told), "{events:?}");
    assert!(!requests.iter().any(|request| request.mentions("Side effect only")), "{events:?}");
    let is_named = |event: &&Value| event.to_string().contains("session:post_iteration#2");
    assert!(events.iter().any(|event| is_named(&event)), "it ran: {events:?}");
    let last = of("This is a turn after iteration 3");
    assert!(
        !last.is_empty() && last.iter().all(|is_told| *is_told),
        "the last output is delivered: {events:?}"
    );
}

// Takes about 15 s: Claude Code is started for each of the three tasks, for a failure, and for the turn after it.
#[tokio::test(flavor = "multi_thread")]
async fn the_recovery_turn_that_a_session_hook_pipes_to_remembers_the_turn_before_it() {
    const HOOKS: &str = "version: 1
hooks:
  on_error:
    - command: echo 'Nothing was changed yet'
      pipe_output: true
";
    const MUSED: &str = "I have thought it over and done nothing.";
    let input = json!({"command": WORK, "description": "does the task"});
    let script = Script::function(move |request: &ModelRequest| match request {
        request if request.mentions("work-is-done") => Reply::text("The task is done."),
        request if request.mentions("Nothing was changed yet") => Reply::text("I see."),
        request if request.mentions("This is iteration 1") => Reply::text(MUSED),
        _ => Reply::tool("Bash", input.clone()),
    });
    let Some(Started { server, events, .. }) = start(RealAgent::Claude, HOOKS, script).await else { return };
    let requests = server.requests();
    let recovery: Vec<_> =
        requests.iter().filter(|request| request.mentions("Nothing was changed yet")).collect();
    assert!(!recovery.is_empty(), "{events:?}");
    for text in [MUSED, "This is iteration 1", "Lay the ground", "This is another turn of iteration 1"] {
        assert!(recovery.iter().all(|request| request.mentions(text)), "{text}: {recovery:?}");
    }
    assert!(
        requests.iter().any(|request| request.mentions("This is iteration 2") && !request.mentions(MUSED)),
        "the next iteration begins anew: {events:?}"
    );
}
