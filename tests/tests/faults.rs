//! What a run survives: being killed at any moment, and company.
//!
//! `SAMUEL_LONG=1` kills five hundred times instead of a few.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use samuel_core::{
    clock::SystemClock,
    model::{Plan, Status, Task, TaskId},
    project::Project,
    state::{Actor, Change, Existing, FileStore, Mutation, NewTask, StateStore},
};

const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");
const ENQUEUE_MANY: &str = env!("CARGO_BIN_EXE_enqueue-many");

/// A project whose scripted agent completes one task a call.
fn project(tasks: usize, steps: &str) -> (tempfile::TempDir, FileStore) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script.toml"), format!("[[calls]]\nrepeat = true\nsteps = [{steps}]\n"))
        .unwrap();
    let store = Project::open(dir.path(), None, Arc::new(SystemClock::new())).unwrap().store();
    let tasks = (1..=tasks).map(|id| Task::new(TaskId::new(id.to_string()), format!("Task {id}"))).collect();
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    (dir, store)
}

fn samuel(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(SAMUEL);
    command
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", dir);
    command.stdin(Stdio::null());
    command
}

/// Starts a loop, which tells what it does in the file `told`.
fn start(dir: &Path) -> Child {
    let args = [
        "run",
        "start",
        "--agent",
        "scripted",
        "--agent-command",
        "script.toml",
        "--yes",
        "--pause",
        "0",
        "--max-iterations",
        "100000",
    ];
    let told = fs::File::options().create(true).append(true).open(dir.join("told")).unwrap();
    samuel(dir, &args).stdout(told).stderr(Stdio::null()).spawn().unwrap()
}

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn up_to(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn kills() -> usize {
    if std::env::var_os("SAMUEL_LONG").is_some() { 500 } else { 40 }
}

fn ids(store: &FileStore) -> BTreeSet<TaskId> {
    let loaded = store.load().expect("prd.toon is readable at any moment");
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded.plan.tasks.iter().map(|task| task.id.clone()).collect()
}

#[test]
fn a_loop_that_is_killed_at_any_moment_loses_nothing_and_goes_on() {
    let kills = kills();
    let (dir, store) =
        project(kills, r#"{ write = { path = "made.txt", content = "{{task_id}}" } }, { done = {} }"#);
    let mut acknowledged = ids(&store);
    let mut dice = Dice(0x5eed_cafe);
    for round in 0..kills {
        let mut running = start(dir.path());
        thread::sleep(Duration::from_millis(dice.up_to(250)));
        let task = NewTask::new(format!("Added in round {round}"));
        if let Change::Added { id } = store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap().change {
            acknowledged.insert(id);
        }
        thread::sleep(Duration::from_millis(dice.up_to(50)));
        running.kill().unwrap();
        running.wait().unwrap();
        let stored = ids(&store);
        assert!(acknowledged.is_subset(&stored), "round {round} lost {:?}", acknowledged.difference(&stored));
    }
    let before = store.load().unwrap().plan.progress.total_iterations_run;
    assert!(start(dir.path()).wait().unwrap().success(), "the last start finishes the plan");
    let plan = store.load().unwrap().plan;
    let open: Vec<&TaskId> =
        plan.tasks.iter().filter(|task| task.status != Status::Completed).map(|t| &t.id).collect();
    assert!(open.is_empty(), "{open:?}");
    assert!(before > 0 && plan.progress.total_iterations_run > before, "counters are cumulative");
    let told = fs::read_to_string(dir.path().join("told")).unwrap();
    let resumed = told.lines().filter(|line| line.starts_with("going on with run ")).count();
    assert!(resumed > 0, "no start went on with a run that was killed: {told}");
    assert_eq!(plan.progress.completed_tasks as usize, plan.tasks.len());
}

#[test]
fn a_command_that_is_killed_has_either_happened_or_not() {
    let (dir, store) = project(1, "");
    let mut dice = Dice(0x0dd_ba11);
    let mut acknowledged = 0;
    for round in 0..kills() / 2 {
        let mut running = Command::new(ENQUEUE_MANY)
            .args([dir.path().to_str().unwrap(), "killed", "1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let reader = thread::spawn(move || lines.map_while(Result::ok).map(TaskId::new).collect::<Vec<_>>());
        thread::sleep(Duration::from_millis(20 + dice.up_to(120)));
        running.kill().unwrap();
        running.wait().unwrap();
        let told = reader.join().unwrap();
        let stored = ids(&store);
        assert!(told.iter().all(|id| stored.contains(id)), "round {round}");
        acknowledged += told.len();
    }
    assert!(acknowledged > 0, "some commands were acknowledged");
    assert!(ids(&store).len() > acknowledged);
}

#[test]
fn thirty_two_processes_beside_a_running_loop_lose_no_task() {
    let each = if std::env::var_os("SAMUEL_LONG").is_some() { 50 } else { 12 };
    let (dir, store) = project(1, r#"{ sleep = { ms = 50 } }, { done = {} }"#);
    let writers: Vec<Child> = (0..32)
        .map(|writer| {
            Command::new(ENQUEUE_MANY)
                .args([dir.path().to_str().unwrap(), &format!("writer {writer}"), &each.to_string()])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut running = start(dir.path());
    let mut told = Vec::new();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success());
        told.extend(String::from_utf8(output.stdout).unwrap().lines().map(TaskId::new));
    }
    assert_eq!(told.len(), 32 * each);
    let unique: BTreeSet<&TaskId> = told.iter().collect();
    assert_eq!(unique.len(), told.len(), "ids are unique");
    let stored = ids(&store);
    assert!(told.iter().all(|id| stored.contains(id)));
    assert!(running.try_wait().unwrap().is_none(), "the loop is still at work");
    interrupt(&running);
    assert_eq!(running.wait().unwrap().code(), Some(130), "the loop ends when it is asked to");
}

/// Asks a loop to end after its iteration, as Ctrl-C does.
fn interrupt(running: &Child) {
    let pid = rustix::process::Pid::from_child(running);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}
