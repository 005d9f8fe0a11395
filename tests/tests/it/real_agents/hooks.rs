//! Hook points around the tool calls of real agents, by the agents' own hooks.

use std::{fs, num::NonZero, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use samuel_core::{
    agent,
    engine::RunBuilder,
    event::Event,
    hook::{Answer, Call, HookFailure, points},
    model::payload::{
        AbilityAfterInput, AbilityAfterOutput, AbilityBeforeInput, AbilityBeforeOutput, AbilityStatus,
        TextItem,
    },
    testing::{Bench, FakeHandler, Played},
};
use samuel_tests::{
    model_server::{Block, Reply, Script},
    real_agent::RealAgent,
};
use serde_json::json;

use super::{Bed, WALL};

pub(super) const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");
pub(super) const REASON: &str = "not \"on\" this machine";
const REMARK: &str = "look at it once more";

/// Calls the agent's own shell.
pub(super) fn shell(real: RealAgent, command: &str) -> Reply {
    let (tool, input) = match real {
        RealAgent::Claude => ("Bash", json!({"command": command, "description": "works"})),
        RealAgent::Codex => ("exec_command", json!({"cmd": command})),
        RealAgent::Gemini => ("run_shell_command", json!({"command": command, "description": "works"})),
        RealAgent::Copilot => ("bash", json!({"command": command, "description": "works"})),
    };
    Reply::blocks([Block::tool(tool, input)])
}

/// Has an agent call its shell three times: to write a file that it may not, one that it may, and to
/// fail.
pub(super) fn three_calls(real: RealAgent) -> Script {
    let commands = ["echo no > blocked.txt", "echo one > made.txt", "echo oops; exit 3"];
    let calls = commands.map(|command| shell(real, command));
    Script::replies(calls.into_iter().chain([Reply::text("All done.")]))
}

/// Keeps one command back and changes another.
pub(super) async fn guard(call: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
    let input = &call.input().input;
    if input.contains("blocked.txt") {
        return Ok(AbilityBeforeOutput::refuse(REASON));
    }
    let updated_input = input.contains("echo one").then(|| input.replace("echo one", "echo two"));
    Ok(AbilityBeforeOutput { updated_input, ..AbilityBeforeOutput::default() })
}

/// A directory in which an agent takes settings from us: Gemini CLI does so where root alone can
/// write, from root.
pub(super) fn private_dir(real: RealAgent) -> Option<tempfile::TempDir> {
    if real != RealAgent::Gemini {
        return Some(tempfile::tempdir().unwrap());
    }
    let dir = rustix::process::geteuid().is_root().then(|| tempfile::tempdir_in("/run").ok()).flatten();
    if dir.is_none() {
        println!("skipped: Gemini CLI takes the settings of a call from root alone");
    }
    dir
}

/// Every file below a directory, with what is in it as far as it is text.
pub(super) fn files(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&path)),
            kind if kind.is_file() => {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                found.push((path.display().to_string(), text));
            }
            _ => {}
        }
    }
    found
}

/// What the handlers around the calls of an agent were given, and what the model was told.
struct Hooked {
    bed: Bed,
    bench: Bench,
    before: Vec<AbilityBeforeInput>,
    after: Vec<AbilityAfterInput>,
    sockets: tempfile::TempDir,
}

/// Has an agent call its shell three times in a run with a closure on both sides.
async fn hooked(real: RealAgent) -> Option<Hooked> {
    let sockets = private_dir(real)?;
    let bed = Bed::new(WALL, real, three_calls(real)).await?;
    let bench = Bench::with_tasks(&[("1", "Work")]).unwrap();
    let seen = FakeHandler::<points::AbilityBefore>::answers(AbilityBeforeOutput::default());
    let text = vec![TextItem { content: REMARK.to_owned(), ..TextItem::default() }];
    let after =
        FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput { text, ..Default::default() });
    let run: RunBuilder =
        bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = run
        .socket_dir(sockets.path())
        .bridge([SAMUEL, "hooks", "bridge"].map(str::to_owned))
        .hook("seen", seen.clone())
        .hook::<points::AbilityBefore, _>("guard", guard)
        .hook("after", after.clone())
        .settings(move |settings| {
            settings.agent = real.name().to_owned();
            settings.max_iterations = NonZero::new(1);
        });
    let played = bench.play(run).await.unwrap();
    let before: Vec<_> = seen.calls().iter().map(|call| call.input().clone()).collect();
    let after: Vec<_> = after.calls().iter().map(|call| call.input().clone()).collect();
    assert!(!before.is_empty(), "{real:?}: {:#?}", played.events);
    Some(Hooked { bed, bench, before, after, sockets })
}

async fn check(real: RealAgent) {
    let Some(Hooked { bed, bench, before, after, sockets }) = hooked(real).await else { return };
    let root = bench.project().root();

    // One call was stopped, and the model was told why; another was made with other arguments, of which
    // the handlers were asked too.
    assert!(before.len() == 4 && before.iter().all(|call| call.enforced), "{before:#?}");
    assert!(!root.join("blocked.txt").exists());
    let requests = bed.server.requests();
    assert!(requests.iter().any(|request| request.mentions(REASON)), "{real:?}: {:?}", requests.last());
    assert_eq!(fs::read_to_string(root.join("made.txt")).unwrap(), "two\n");

    // What was stopped has no end; what failed says so.
    let ended: Vec<_> = after.iter().map(|call| call.status).collect();
    assert_eq!(ended, [AbilityStatus::Success, AbilityStatus::Error], "{after:#?}");
    let told = requests.iter().filter(|request| request.mentions(REMARK)).count();
    // Codex's hook does not say how a call ended. Its stream does, too late to tell the model then, so
    // both texts wait for the turn at the end of the run.
    let expected = if real == RealAgent::Codex { 1 } else { 2 };
    assert_eq!(told, expected, "{real:?}: what is said after a call reaches the model");

    // Nothing of it is left: not in the user's files, the repository's, or where the run listened.
    let is_ours = |(_, text): &&(String, String)| text.contains("hooks bridge") || text.contains(SAMUEL);
    let is_kept_by_agent = |(path, _): &&(String, String)| {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        ["settings", "config", "hooks", "plugin"].iter().any(|part| name.contains(part))
    };
    let at_home = files(bed.home.path());
    assert_eq!(
        at_home.iter().filter(is_kept_by_agent).filter(is_ours).collect::<Vec<_>>(),
        [] as [&(String, String); 0]
    );
    let own = [".claude", ".codex", ".gemini", ".github", ".copilot"];
    assert!(own.iter().all(|name| !root.join(name).exists()));
    assert!(files(sockets.path()).is_empty());
}

#[tokio::test]
async fn a_closure_stops_and_changes_calls_of_claude_and_hears_which_fail() {
    check(RealAgent::Claude).await;
}

#[tokio::test]
async fn a_closure_stops_and_changes_calls_of_codex_and_hears_which_fail() {
    check(RealAgent::Codex).await;
}

#[tokio::test]
async fn a_closure_stops_and_changes_calls_of_gemini_and_hears_which_fail() {
    check(RealAgent::Gemini).await;
}

#[tokio::test]
async fn a_closure_stops_and_changes_calls_of_copilot_and_hears_which_fail() {
    check(RealAgent::Copilot).await;
}

/// Counts the warnings that a call was made without asking.
fn without_asking(played: &Played) -> usize {
    let is_it =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("without asking"));
    played.events.iter().filter(|record| is_it(&record.event)).count()
}

/// A patch in a command, which Codex applies by itself and shows as a change of files.
const PATCH: &str = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: patched.txt\n+one\n*** End Patch\nE";
/// A command that has to be quoted to stand in the line of a shell.
const QUOTED: &str = "printf '%s' \"it's \\$5\" > quoted.txt";

#[tokio::test]
async fn commands_and_patches_of_codex_are_those_that_were_asked_about() {
    let real = RealAgent::Codex;
    let calls = [PATCH, QUOTED].map(|command| shell(real, command));
    let replies = Script::replies(calls.into_iter().chain([Reply::text("All done.")]));
    let sockets = tempfile::tempdir().unwrap();
    let Some(bed) = Bed::new(WALL, real, replies).await else { return };
    let bench = Bench::with_tasks(&[("1", "Work")]).unwrap();
    let before = FakeHandler::<points::AbilityBefore>::answers(AbilityBeforeOutput::default());
    let after = FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput::default());
    let run = bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = run
        .socket_dir(sockets.path())
        .bridge([SAMUEL, "hooks", "bridge"].map(str::to_owned))
        .hook("before", before.clone())
        .hook("after", after.clone())
        .settings(move |settings| {
            settings.agent = real.name().to_owned();
            settings.max_iterations = NonZero::new(1);
        });
    let played = bench.play(run).await.unwrap();
    let root = bench.project().root();
    assert_eq!(fs::read_to_string(root.join("patched.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(root.join("quoted.txt")).unwrap(), "it's $5");
    let asked: Vec<_> = before.calls().iter().map(|call| call.input().clone()).collect();
    assert!(asked.len() == 2 && asked.iter().all(|call| call.enforced), "{asked:#?}");
    let ended: Vec<_> = after.calls().iter().map(|call| call.input().status).collect();
    assert_eq!(ended, [AbilityStatus::Success; 2]);
    assert_eq!(without_asking(&played), 0, "{:#?}", played.events);
}

#[tokio::test]
async fn where_gemini_takes_no_settings_of_a_call_its_calls_are_seen_and_not_prevented() {
    let real = RealAgent::Gemini;
    let replies = Script::replies([shell(real, "echo one > made.txt"), Reply::text("All done.")]);
    let Some(bed) = Bed::new(WALL, real, replies).await else { return };
    // Whoever may write here can put another directory in the place of the run's.
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let bench = Bench::with_tasks(&[("1", "Work")]).unwrap();
    let before = FakeHandler::<points::AbilityBefore>::answers(AbilityBeforeOutput::default());
    let run = bench.run(agent::Script::default()).agent(Arc::clone(&bed.agent)).env(bed.host.clone());
    let run = run
        .socket_dir(shared.path().join("sockets"))
        .bridge([SAMUEL, "hooks", "bridge"].map(str::to_owned))
        .hook("before", before.clone())
        .settings(move |settings| {
            settings.agent = real.name().to_owned();
            settings.max_iterations = NonZero::new(1);
        });
    let played = bench.play(run).await.unwrap();
    assert_eq!(fs::read_to_string(bench.project().root().join("made.txt")).unwrap(), "one\n");
    let seen: Vec<_> = before.calls().iter().map(|call| call.input().clone()).collect();
    assert!(seen.len() == 1 && !seen[0].enforced, "{seen:#?}");
    assert_eq!(without_asking(&played), 1, "{:#?}", played.events);
}
