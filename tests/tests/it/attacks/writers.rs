//! Many writers beside a loop that is killed again and again.

use std::{
    collections::BTreeSet,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use samuel_core::{model::Status, state::PlanStore};

use crate::attacks::kit::{Dice, Target, kill_group, times};

pub(crate) const ENQUEUE_MANY: &str = env!("CARGO_BIN_EXE_enqueue-many");

/// How many write at the same time.
const WRITERS: usize = 16;

pub(crate) fn store(target: &Target) -> Arc<dyn PlanStore> {
    target.project().unwrap().plan_store()
}

/// Starts a loop in a process group of its own.
fn start(target: &Target) -> Child {
    let args =
        ["run", "start", "--agent", "scripted", "--agent-command", "script.toml", "--yes", "--pause", "0"];
    let mut command = target.samuel(&args);
    command.args(["--max-iterations", "100000"]).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().unwrap()
}

#[test]
fn sixteen_writers_beside_a_loop_that_is_killed_lose_nothing() {
    let each = times(10, 100);
    let target = Target::with_tasks(&["The first"]);
    target.write("script.toml", "[[calls]]\nrepeat = true\nsteps = [{ done = {} }]\n");
    let writer = |number: usize| {
        let mut command = Command::new(ENQUEUE_MANY);
        command.arg(target.root()).args([format!("writer {number}"), each.to_string()]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let writers: Vec<Child> = (0..WRITERS).map(writer).collect();
    let readers: Vec<_> =
        writers.into_iter().map(|writer| thread::spawn(|| writer.wait_with_output().unwrap())).collect();
    let mut dice = Dice(0xc0ff_ee11);
    let mut killed = 0;
    let deadline = Instant::now() + Duration::from_secs(if each > 10 { 600 } else { 60 });
    while killed < 3 || readers.iter().any(|reader| !reader.is_finished()) {
        assert!(Instant::now() < deadline, "a writer does not come to its end");
        let mut running = start(&target);
        thread::sleep(Duration::from_millis(50 + dice.below(350)));
        kill_group(&running);
        running.wait().unwrap();
        killed += 1;
        store(&target).load().expect("the plan can be read at any moment");
    }
    let mut told = Vec::new();
    for reader in readers {
        let output = reader.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        told.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned));
    }
    let unique: BTreeSet<&String> = told.iter().collect();
    assert_eq!((told.len(), unique.len()), (WRITERS * each, WRITERS * each));
    let loaded = store(&target).load().unwrap();
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let stored: BTreeSet<&str> = loaded.plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert!(told.iter().all(|id| stored.contains(id.as_str())), "an acknowledged task is lost");
    assert_eq!(stored.len(), told.len() + 1);
}

/// What each of them does, `$2` times: `$0` is samuel, `$1` its number. It prints its
/// tasks with the titles that they must have in the end.
const CHANGES: &str = r#"
for i in $(seq "$2"); do
  id="w$1-$i"
  "$0" run task add "$id" Task >&2 || exit 1
  "$0" run edit "$id" --title mine >&2 || exit 1
  "$0" run edit "$id" --title wrong >&2 || exit 1
  if "$0" run undo >&2; then title=mine; else title=wrong; fi
  "$0" run edit 1 --title "by $1-$i" >&2 || exit 1
  "$0" run done "$id" >&2 || exit 1
  echo "$id $title"
  # A PRD of its own, which knows nothing of what the others have.
  printf '# P\n\n## Tasks\n\n### Task p%s-%s: From the PRD of %s-%s\n' "$1" "$i" "$1" "$i" |
    "$0" run convert --update - >&2 || exit 1
  "$0" run edit "p$1-$i" --title edited >&2 || exit 1
  "$0" run done "p$1-$i" >&2 || exit 1
  echo "p$1-$i edited"
done
"#;

#[test]
fn sixteen_processes_that_edit_update_complete_and_take_back_beside_a_loop_lose_nothing() {
    let target = Target::with_tasks(&["The first"]);
    target.write("script.toml", "[[calls]]\nrepeat = true\nsteps = [{ done = {} }]\n");
    let samuel = target.samuel(&[]);
    let writer = |number: usize| {
        // A session of its own: whose change is whose is known by that.
        let mut command = Command::new("setsid");
        command.args(["--wait", "sh", "-c", CHANGES]).arg(samuel.get_program());
        command.args([number, times(1, 3)].map(|number| number.to_string()));
        command.env_clear().envs(samuel.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(target.root()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let writers: Vec<Child> = (0..WRITERS).map(writer).collect();
    let readers: Vec<_> =
        writers.into_iter().map(|writer| thread::spawn(|| writer.wait_with_output().unwrap())).collect();
    let deadline = Instant::now() + Duration::from_secs(120);
    while readers.iter().any(|reader| !reader.is_finished()) {
        assert!(Instant::now() < deadline, "a writer does not come to its end");
        // A loop that has done all there is ends; another one begins.
        let mut running = start(&target);
        running.wait().unwrap();
    }
    let mut told = Vec::new();
    for reader in readers {
        let output = reader.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        told.extend(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned));
    }
    let plan = store(&target).load().unwrap().plan;
    let mut said: Vec<String> =
        plan.tasks.iter().skip(1).map(|task| format!("{} {}", task.id, task.title)).collect();
    said.sort();
    told.sort();
    assert_eq!(said, told, "what was acknowledged stands, and nobody took back what was not theirs");
    assert!(plan.tasks.iter().skip(1).all(|task| task.status == Status::Completed));
}
