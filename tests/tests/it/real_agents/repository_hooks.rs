//! Repository hooks and handlers in Python around the tool calls of real agents, and what is left of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use samuel_core::{agent, hook::points, testing::Bench};
use samuel_tests::{model_server::Script, real_agent::RealAgent};
use serde_json::{Value, json};

use super::{
    Bed, WALL,
    hooks::{REASON, SAMUEL, files, guard, private_dir, shell, three_calls},
};

/// Asks before each call, and stops one.
const GUARD: &str = "id: guard
event_type: PreAbilityCall
blocking: true
match: {ability_scope: [Bash, bash, run_shell_command]}
handler: {kind: script, command: sh scripts/hooks/guard.sh}
";
const GUARD_SCRIPT: &str = r#"case "$(cat)" in
  *blocked.txt*) echo '{"logs": ["stopped"], "block_execution": true, "messages_to_user": ["not \"on\" this machine"]}' ;;
  *) echo '{"logs": ["passed"]}' ;;
esac
"#;

/// Says how each call ended.
const WATCH: &str = "id: watch
event_type: PostAbilityCall
handler: {kind: script, command: sh scripts/hooks/watch.sh}
";
const WATCH_SCRIPT: &str = r#"case "$(cat)" in
  *'"status":"error"'*) echo '{"logs": ["error"]}' ;;
  *'"status":"success"'*) echo '{"logs": ["success"]}' ;;
esac
"#;

fn bench() -> Bench {
    let bench = Bench::builder().task("1", "Work").on_disk();
    let bench = bench.file(".system/hooks/guard.yaml", GUARD).file(".system/hooks/watch.yaml", WATCH);
    let bench =
        bench.file("scripts/hooks/guard.sh", GUARD_SCRIPT).file("scripts/hooks/watch.sh", WATCH_SCRIPT);
    bench.build().unwrap()
}

/// Has an agent work through a run; with repository hooks and the means to ask, or with neither.
async fn play(bed: &Bed, bench: &Bench, real: RealAgent, sockets: Option<&Path>) {
    let run = bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = match sockets {
        Some(sockets) => {
            run.hook_files().socket_dir(sockets).bridge([SAMUEL, "hooks", "bridge"].map(str::to_owned))
        }
        None => run,
    };
    let run = run.settings(move |settings| {
        settings.agent = real.name().to_owned();
        settings.max_iterations = NonZero::new(1);
    });
    bench.play(run).await.unwrap();
}

/// Returns the files below a directory by their paths in it.
fn contents(dir: &Path) -> BTreeMap<String, String> {
    let path = |path: String| path.strip_prefix(&format!("{}/", dir.display())).unwrap().to_owned();
    files(dir).into_iter().map(|(name, text)| (path(name), text)).collect()
}

/// Says whether a word may be a number or a part of an id: one of four letters can be all of a UUID's group.
fn is_of_an_id(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    name.contains(|c: char| c.is_ascii_digit())
        || name.len() == 4 && name.chars().all(|c| c.is_ascii_hexdigit())
}

/// Returns where an agent left files, without what differs from run to run: numbers, ids, the name of the
/// project, and the files that a database has beside it while it is open.
fn places(home: &Path, project: &Path) -> BTreeSet<String> {
    let project = project.file_name().unwrap().to_string_lossy().into_owned();
    let plain = |path: String| {
        let path = path.replace(&project, "#").replace(&project.to_lowercase(), "#");
        let words = path.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
        let plain = words.map(|word| if is_of_an_id(word) { "#" } else { word });
        plain.collect::<String>()
    };
    let is_beside = |path: &String| path.ends_with("-shm") || path.ends_with("-wal");
    contents(home).into_keys().filter(|path| !is_beside(path)).map(plain).collect()
}

fn wanted_log() -> Vec<(String, String, String, i64, String)> {
    let line = |hook: &str, event: &str, status: &str, log: &str| {
        (hook.to_owned(), event.to_owned(), status.to_owned(), 0, log.to_owned())
    };
    let (guarded, watched) = ("PreAbilityCall", "PostAbilityCall");
    vec![
        line("guard", guarded, "refused", "stopped"),
        line("guard", guarded, "ok", "passed"),
        line("watch", watched, "ok", "success"),
        line("guard", guarded, "ok", "passed"),
        line("watch", watched, "ok", "error"),
    ]
}

async fn check(real: RealAgent) {
    let Some(sockets) = private_dir(real) else { return };
    let Some(bed) = Bed::new(WALL, real, three_calls(real)).await else { return };
    let bench = bench();
    let root = bench.path();
    let before = contents(root);
    play(&bed, &bench, real, Some(sockets.path())).await;

    let requests = bed.server.requests();
    assert!(requests.iter().any(|request| request.mentions(REASON)), "{real:?}: {:?}", requests.last());
    let mut after = contents(root);
    let log = after.get(".system/logs/hooks.log").unwrap_or_else(|| panic!("{after:?}"));
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |line: &Value, at: &str| {
        line.pointer(at).and_then(Value::as_str).unwrap_or_else(|| panic!("{at}: {line}")).to_owned()
    };
    let mut told: Vec<_> = lines
        .iter()
        .map(|line| {
            assert!(line["duration_ms"].is_u64() && line["time"].is_string(), "{line}");
            let [hook, event, status, log] =
                ["/hook_id", "/event_type", "/status", "/logs/0"].map(|at| text(line, at));
            (hook, event, status, line["exit"].as_i64().unwrap(), log)
        })
        .collect();
    let mut wanted = wanted_log();
    if real == RealAgent::Codex {
        // Its stream says how a call ended, and when that is read the next may have been asked about.
        told.sort_by_key(|(hook, ..)| hook == "watch");
        wanted.sort_by_key(|(hook, ..)| hook == "watch");
    }
    assert_eq!(told, wanted, "{real:?}");

    // In the repository there is what the calls made, and what runs keep; all else is as it was.
    assert_eq!(after.remove("made.txt").as_deref(), Some("one\n"), "{real:?}");
    after.retain(|path, _| !path.starts_with(".system/logs/") && !path.starts_with(".samuel/"));
    let kept = before.into_iter().filter(|(path, _)| !path.starts_with(".samuel/"));
    assert_eq!(after, kept.collect(), "{real:?}");

    // At home there is nothing that the agent does not leave by itself.
    let Some(control) = Bed::new(WALL, real, three_calls(real)).await else { return };
    let alone = self::bench();
    play(&control, &alone, real, None).await;
    let ours = places(bed.home.path(), root);
    let own = places(control.home.path(), alone.path());
    assert_eq!(ours.difference(&own).collect::<Vec<_>>(), [] as [&String; 0], "{real:?}: {own:?}");
    assert!(files(sockets.path()).is_empty());
}

#[tokio::test]
async fn a_repository_hook_stops_a_call_of_claude_and_its_log_is_right() {
    check(RealAgent::Claude).await;
}

#[tokio::test]
async fn a_repository_hook_stops_a_call_of_codex_and_its_log_is_right() {
    check(RealAgent::Codex).await;
}

// Takes about 16 s: the agent works through two runs, with hooks and without.
#[tokio::test]
async fn a_repository_hook_stops_a_call_of_gemini_and_its_log_is_right() {
    check(RealAgent::Gemini).await;
}

// Takes about 16 s: the agent works through two runs, with hooks and without.
#[tokio::test]
async fn a_repository_hook_stops_a_call_of_copilot_and_its_log_is_right() {
    check(RealAgent::Copilot).await;
}

#[tokio::test]
async fn settings_of_claude_that_replace_the_environment_lead_its_hooks_nowhere_else() {
    let sockets = tempfile::tempdir().unwrap();
    let replies = Script::replies([shell(RealAgent::Claude, "echo no > blocked.txt")]);
    let Some(bed) = Bed::new(WALL, RealAgent::Claude, replies).await else { return };
    let settings = bed.home.path().join(".claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let elsewhere = json!({"SAMUEL_SOCKET": "", "SAMUEL_TOKEN": "none", "SAMUEL_STATE_DIR": "/nowhere"});
    fs::write(settings, json!({ "env": elsewhere }).to_string()).unwrap();
    let bench = Bench::with_tasks(&[("1", "Work")]).unwrap();
    let run = bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = run
        .socket_dir(sockets.path())
        .bridge([SAMUEL, "hooks", "bridge"].map(str::to_owned))
        .hook::<points::AbilityBefore, _>("guard", guard)
        .settings(|settings| {
            settings.agent = "claude".to_owned();
            settings.max_iterations = NonZero::new(1);
        });
    bench.play(run).await.unwrap();
    assert!(!bench.path().join("blocked.txt").exists());
    assert!(bed.server.requests().iter().any(|request| request.mentions(REASON)));
}

/// A run in Python whose handler stops a call and changes another; it prints what it was told.
const PYTHON: &str = r#"
import json, sys
import samuel

given = json.load(sys.stdin)
loop = samuel.Loop(
    given["project"], trust=True, env=given["env"], agent=given["agent"], agent_command=given["command"],
    agent_args=given["args"], socket_dir=given["sockets"], bridge=given["bridge"], max_iterations=1, pause=0,
)
told = []

@loop.hook("ability.before")
def guard(call):
    arguments = json.dumps(call.input.input)
    told.append(["before", call.input.enforced])
    if "blocked.txt" in arguments:
        return samuel.AbilityBeforeOutput(block=True, reason=given["reason"])
    if "echo one" in arguments:
        return samuel.AbilityBeforeOutput(updated_input=json.loads(arguments.replace("echo one", "echo two")))

@loop.hook("ability.after")
def after(call):
    told.append(["after", call.input.status])

loop.run()
print(json.dumps(told))
"#;

/// Returns where `cargo xtask test` lays the Python package out.
fn python_package() -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python/dev");
    if !package.join("samuel/_samuel.abi3.so").exists() {
        println!("skipped: the Python package is not built; `cargo xtask test` builds it");
        return None;
    }
    Some(package)
}

/// Checks an agent with handlers in Python; says whether it could be played.
async fn check_python(real: RealAgent) -> bool {
    let (Some(package), Some(sockets)) = (python_package(), private_dir(real)) else { return false };
    let Some(bed) = Bed::new(WALL, real, three_calls(real)).await else { return false };
    let bench = Bench::builder().task("1", "Work").on_disk().build().unwrap();
    let given = json!({
        "project": bench.path(), "env": bed.host.iter().cloned().collect::<BTreeMap<_, _>>(),
        "agent": real.name(), "command": bed.command, "args": bed.args, "sockets": sockets.path(),
        "bridge": [SAMUEL, "hooks", "bridge"], "reason": REASON,
    });
    let program = tokio::task::spawn_blocking(move || {
        let mut program = Command::new("python3")
            .args(["-c", PYTHON])
            .env("PYTHONPATH", package)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        program.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
        program.wait_with_output().unwrap()
    });
    let output = program.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let mut told: Vec<(String, Value)> =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{real:?}: {said}"));
    let before = || ("before".to_owned(), json!(true));
    let after = |status: &str| ("after".to_owned(), json!(status));
    let mut wanted = vec![before(), before(), after("success"), before(), after("error")];
    if real == RealAgent::Codex {
        told.sort_by_key(|(point, _)| point == "after");
        wanted.sort_by_key(|(point, _)| point == "after");
    }
    assert_eq!(told, wanted, "{real:?}: {said}");
    assert!(!bench.path().join("blocked.txt").exists());
    assert_eq!(fs::read_to_string(bench.path().join("made.txt")).unwrap(), "two\n");
    assert!(bed.server.requests().iter().any(|request| request.mentions(REASON)), "{real:?}");
    assert!(files(sockets.path()).is_empty());
    true
}

#[tokio::test]
async fn a_handler_in_python_stops_and_changes_calls_of_every_agent() {
    // In short with the first that can be played: in `hooks` a closure does the same with each.
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    for real in [RealAgent::Claude, RealAgent::Codex, RealAgent::Gemini, RealAgent::Copilot] {
        if check_python(real).await && !is_long {
            break;
        }
    }
}
