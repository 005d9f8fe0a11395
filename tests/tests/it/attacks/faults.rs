//! What a run survives: being killed at any moment, company, and whatever is done
//! to its files.
//!
//! `SAMUEL_LONG=1` kills five hundred times instead of a few, changes three
//! hundred files and sends signals in a hundred runs.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use samuel_core::{
    model::{Plan, ProgressStatus, Status, Task, TaskId},
    state::{Actor, Existing, Mutation, NewTask, PlanStore, TaskChange},
};

use crate::attacks::{
    kit::{Dice, Target, all_below, times, wait_within},
    terminal::terminal,
    writers::{ENQUEUE_MANY, store},
};

/// A project whose scripted agent completes one task a call.
fn project(tasks: usize, steps: &str) -> (Target, Arc<dyn PlanStore>) {
    let target = Target::new();
    target.write("script.toml", format!("[[calls]]\nrepeat = true\nsteps = [{steps}]\n"));
    let store = store(&target);
    let tasks = (1..=tasks).map(|id| Task::new(TaskId::new(id.to_string()), format!("Task {id}"))).collect();
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    (target, store)
}

/// The command line of a loop.
fn start_line() -> Vec<&'static str> {
    let line =
        "run start --agent scripted --agent-command script.toml --yes --pause 0 --max-iterations 100000";
    line.split(' ').collect()
}

/// Starts a loop, which tells what it does in the file `told`.
fn start(target: &Target) -> Child {
    let told = fs::File::options().create(true).append(true).open(target.path("told")).unwrap();
    target.samuel(&start_line()).stdout(told).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts somebody who adds tasks, and tells each.
fn enqueues(target: &Target, name: &str, count: usize) -> Child {
    let mut command = Command::new(ENQUEUE_MANY);
    command.arg(target.root()).args([name, &count.to_string()]).stdout(Stdio::piped()).spawn().unwrap()
}

fn kills() -> usize {
    times(12, 500)
}

fn ids(store: &Arc<dyn PlanStore>) -> BTreeSet<TaskId> {
    let loaded = store.load().expect("prd.toon is readable at any moment");
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded.plan.tasks.iter().map(|task| task.id.clone()).collect()
}

// Takes about 8 s: the loop is started 13 times.
#[test]
fn a_loop_that_is_killed_at_any_moment_loses_nothing_and_goes_on() {
    let kills = kills();
    let (target, store) =
        project(kills, r#"{ write = { path = "made.txt", content = "{{task_id}}" } }, { done = {} }"#);
    let mut acknowledged = ids(&store);
    let mut dice = Dice(0x5eed_cafe);
    let length = || fs::metadata(target.path("told")).map_or(0, |told| told.len());
    for round in 0..kills {
        let begun = length();
        let mut running = start(&target);
        // Every second one is killed at work, however slowly it starts.
        if round % 2 == 0 {
            wait_within(Duration::from_secs(60), "a loop at work", || length() > begun);
        }
        thread::sleep(Duration::from_millis(dice.below(250)));
        let task = NewTask::new(format!("Added in round {round}"));
        if let TaskChange::Added { id } =
            store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap().change
        {
            acknowledged.insert(id);
        }
        thread::sleep(Duration::from_millis(dice.below(50)));
        running.kill().unwrap();
        running.wait().unwrap();
        let stored = ids(&store);
        assert!(acknowledged.is_subset(&stored), "round {round} lost {:?}", acknowledged.difference(&stored));
    }
    let before = store.load().unwrap().plan.progress.total_iterations_run;
    assert!(start(&target).wait().unwrap().success(), "the last start finishes the plan");
    let plan = store.load().unwrap().plan;
    let open: Vec<&TaskId> =
        plan.tasks.iter().filter(|task| task.status != Status::Completed).map(|t| &t.id).collect();
    assert!(open.is_empty(), "{open:?}");
    assert!(before > 0 && plan.progress.total_iterations_run > before, "counters are cumulative");
    let told = target.read("told");
    let resumed = told.lines().filter(|line| line.starts_with("going on as run ")).count();
    assert!(resumed > 0, "no start went on with a run that was killed: {told}");
    assert_eq!(plan.progress.completed_tasks as usize, plan.tasks.len());
}

#[test]
fn a_command_that_is_killed_has_either_happened_or_not() {
    let (target, store) = project(1, "");
    let mut dice = Dice(0x0dd_ba11);
    let mut acknowledged = 0;
    for round in 0..kills() / 2 {
        let mut running = enqueues(&target, "killed", 1000);
        let lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let (tell, heard) = mpsc::channel();
        let reader = thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|id| tell.send(TaskId::new(id)).unwrap());
        });
        // Every second one is killed while it changes the plan, however slowly it
        // starts; of the others some have not begun.
        let mut told: Vec<TaskId> = if round % 2 == 0 { heard.recv().into_iter().collect() } else { vec![] };
        thread::sleep(Duration::from_millis(dice.below(120)));
        running.kill().unwrap();
        running.wait().unwrap();
        reader.join().unwrap();
        told.extend(heard);
        let stored = ids(&store);
        assert!(told.iter().all(|id| stored.contains(id)), "round {round}");
        acknowledged += told.len();
    }
    assert!(acknowledged > 0, "some commands were acknowledged");
    assert!(ids(&store).len() > acknowledged);
}

// Takes about 7 s: 32 processes add 12 tasks each, one after the other.
#[test]
fn thirty_two_processes_beside_a_running_loop_lose_no_task() {
    let each = times(12, 50);
    let (target, store) = project(1, r#"{ sleep = { ms = 50 } }, { done = {} }"#);
    let writers: Vec<Child> =
        (0..32).map(|writer| enqueues(&target, &format!("writer {writer}"), each)).collect();
    let mut running = start(&target);
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
    kill_process(Pid::from_child(running), Signal::INT).unwrap();
}

/// Who ends a run, at any phase of it.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// GNU `timeout`, which sends SIGTERM to the process and then to its group.
    Timeout,
    /// Somebody who hangs up on `nohup`, and then ends it.
    Nohup,
    /// A terminal that is closed.
    Terminal,
}

/// Starts a loop below a program of the system.
fn start_below(target: &Target, program: &[&str], stdin: impl Into<Stdio>) -> Child {
    let mut below = target.samuel_below(program, &start_line());
    below.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(running: &Child, signal: Signal) {
    // It may have ended by itself.
    let _ = kill_process(Pid::from_child(running), signal);
}

/// Returns how a run ended, with the exit codes that it may have.
fn ended(target: &Target, ends: Ends, after: Duration) -> (Option<i32>, Vec<i32>) {
    let (mut running, codes) = match ends {
        Ends::Timeout => {
            let limit = format!("{:.3}", after.as_secs_f64());
            (start_below(target, &["timeout", &limit], Stdio::null()), vec![124])
        }
        Ends::Nohup => {
            let running = start_below(target, &["nohup"], Stdio::null());
            thread::sleep(after);
            signal(&running, Signal::HUP);
            thread::sleep(Duration::from_millis(20));
            signal(&running, Signal::TERM);
            (running, vec![143])
        }
        Ends::Terminal => {
            let (terminal, other_end) = terminal();
            let running = start_below(target, &["setsid", "--ctty"], other_end);
            thread::sleep(after);
            drop(terminal);
            (running, vec![129])
        }
    };
    let mut status = None;
    soon(&format!("{ends:?}: the run ends"), || {
        status = running.try_wait().unwrap();
        status.is_some()
    });
    (status.and_then(|status| status.code()), codes)
}

#[test]
fn a_run_that_is_ended_in_any_phase_says_so_and_leaves_nothing_half_done() {
    let rounds = times(6, 100);
    let (target, store) = project(1, "{ done = {} }");
    let mut dice = Dice(0x0051_67a1);
    let mut told = 0;
    for round in 0..rounds {
        for number in 0..8 {
            let task = NewTask::new(format!("Task {number} of round {round}"));
            store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap();
        }
        let ends = [Ends::Timeout, Ends::Nohup, Ends::Terminal][round % 3];
        // In short from its start on, evenly.
        let after = times(50 + 110 * round, 0) as u64;
        let after = Duration::from_millis(if after > 0 { after } else { 1 + dice.below(700) });
        let (code, codes) = ended(&target, ends, after);
        let described = format!("round {round}: {ends:?} after {after:?} ended with {code:?}");
        // Before the run listens, the system ends it; and it may have been done.
        let is_told = code.is_some_and(|code| codes.contains(&code));
        assert!(is_told || code.is_none() || code == Some(0), "{described}");
        told += usize::from(is_told);
        let plan = store.load().unwrap().plan;
        assert_ne!(plan.progress.status, ProgressStatus::Running, "{described}");
        assert!(plan.tasks.iter().all(|task| task.status != Status::InProgress), "{described}");
    }
    assert!(told >= rounds / 2, "{told} of {rounds} runs were ended by a signal that they heard");
    assert!(start(&target).wait().unwrap().success(), "the last start finishes the plan");
}

/// How long nothing may take.
const HANG: Duration = Duration::from_secs(10);
/// The tasks whose plan is attacked.
const TITLES: [&str; 4] = ["Parse dates", "Format dates", "Compare dates", "Print dates"];

/// How many files are changed, half of them beside a loop.
fn mutations() -> usize {
    times(40, 300)
}

/// A project of these tasks whose agent works until it is told to go on, and
/// whose check fails.
fn attacked() -> Target {
    let target = Target::with_tasks(&TITLES);
    let agent = "cat >/dev/null; date +%N >made; : >at-work; until [ -e go-on ]; do sleep 0.01; done; rm -f at-work go-on";
    target.write("agent.sh", agent);
    target.configure(
        "agent = \"command\"\nagent_command = [\"sh\", \"agent.sh\"]\nquality_checks = [\"false\"]\n\
         max_iterations = 100000\nmax_consecutive_failures = 100000\ntask_budget = { max_attempts = 0 }\npause = 0",
    );
    target
}

/// The files below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = all_below(directory);
    files.retain(|path| !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()));
    files.sort();
    files
}

/// Does something to a file, and says what. It may be gone meanwhile.
fn mutate(dice: &mut Dice, path: &Path) -> String {
    // What stands in a file's place since an earlier round would keep whoever reads it
    // waiting, or lead whoever writes to it out of the project.
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        let _ = fs::remove_file(path);
        return format!("remove what stands at {}", path.display());
    }
    let bytes = fs::read(path).unwrap_or_default();
    let at = usize::try_from(dice.below(bytes.len() as u64 + 1)).unwrap();
    let (before, after) = bytes.split_at(at);
    let kinds =
        ["cut", "remove", "flip", "insert", "directory", "link", "pipe", "append", "move", "settle", "zeros"];
    let kind = kinds.into_iter().nth(usize::try_from(dice.below(kinds.len() as u64)).unwrap()).unwrap();
    let write = |bytes: &[u8]| fs::write(path, bytes);
    let _ = match kind {
        "cut" => write(before),
        "remove" => fs::remove_file(path),
        "flip" => write(
            &[
                before,
                &after.iter().take(1).map(|byte| byte ^ 0x15).collect::<Vec<_>>(),
                after.get(1..).unwrap_or_default(),
            ]
            .concat(),
        ),
        "insert" => write(&[before, b"\n\"5\",\xff,{", after].concat()),
        "directory" => fs::remove_file(path).and_then(|()| fs::create_dir(path)),
        "link" => fs::remove_file(path).and_then(|()| std::os::unix::fs::symlink("/etc/hostname", path)),
        "pipe" => fs::remove_file(path).and_then(|()| Command::new("mkfifo").arg(path).status().map(drop)),
        "append" => write(&[&bytes[..], b"{\"seq\":99999999,\"revision\":7,\"kind\":\"x\"}\n"].concat()),
        "move" => fs::rename(path, path.with_extension("moved")),
        "zeros" => write(&vec![0; 100_000]),
        _ => write(
            String::from_utf8_lossy(&bytes)
                .replace(",in_progress,", ",completed,")
                .replace(",pending,", ",completed,")
                .as_bytes(),
        ),
    };
    format!("{kind} {} at {at} of {}", path.display(), bytes.len())
}

/// Makes sure that every task stands in the plan's file or in a plan that is kept.
fn nothing_is_lost(target: &Target, told: &str) {
    let kept = files_below(&target.home().join(".local/state/samuel/plans"));
    let texts: Vec<String> = kept
        .into_iter()
        .chain([target.path(".samuel/run/prd.toon")])
        .filter(|path| path.is_file())
        .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned())
        .collect();
    for title in TITLES {
        assert!(texts.iter().any(|text| text.contains(title)), "{title} is lost: {told}");
    }
}

/// Waits for something, and fails at the limit.
fn soon(what: &str, is_so: impl FnMut() -> bool) {
    wait_within(HANG, what, is_so);
}

#[test]
fn whatever_an_agent_does_to_the_state_loses_no_task_and_completes_none() {
    let target = attacked();
    let store = store(&target);
    let mut dice = Dice(0xfeed_f00d);
    let told = fs::File::create(target.path("told")).unwrap();
    let start = || {
        let mut command = target.samuel(&["run", "start", "--yes", "--json"]);
        command.stdout(told.try_clone().unwrap()).stderr(told.try_clone().unwrap()).spawn().unwrap()
    };
    let at_work = target.path("at-work");
    let mut running = start();
    for round in 0..mutations() / 2 {
        soon("the agent", || at_work.exists() || running.try_wait().unwrap().is_some());
        if let Some(status) = running.try_wait().unwrap() {
            panic!("round {round}: the loop ended with {status}: {}", target.read("told"));
        }
        let files = files_below(&target.path(".samuel"));
        let path = files.get(usize::try_from(dice.below(files.len() as u64)).unwrap()).unwrap();
        let done = format!("round {round}: {}", mutate(&mut dice, path));
        nothing_is_lost(&target, &done);
        fs::write(target.path("go-on"), "").unwrap();
        soon(&done, || !at_work.exists() || running.try_wait().unwrap().is_some());
    }
    soon("the agent", || at_work.exists());
    interrupt(&running);
    fs::write(target.path("go-on"), "").unwrap();
    soon("the end", || running.try_wait().unwrap().is_some());
    let told = target.read("told");
    assert!(!told.contains("panicked"), "{told}");
    let plan = store.load().unwrap().plan;
    assert_eq!(plan.count(Status::Completed), 0, "{:?}", plan.tasks);
}

#[test]
fn whatever_is_done_to_the_state_between_runs_loses_no_task() {
    let target = attacked();
    let state = [target.path(".samuel"), target.home().join(".local")];
    let saved: Vec<(PathBuf, Vec<u8>)> = state
        .iter()
        .flat_map(|directory| files_below(directory))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    let commands: [&[&str]; 7] = [
        &["run", "status"],
        &["run", "tasks", "--json"],
        &["run", "done", "1"],
        &["run", "enqueue", "One more"],
        &["doctor"],
        &["run", "restore"],
        &["run", "start", "--yes", "--agent-command", "true", "--max-iterations", "1"],
    ];
    let mut dice = Dice(0x00ba_d5ed);
    for round in 0..mutations() / 2 {
        for directory in &state {
            fs::remove_dir_all(directory).unwrap();
        }
        for (path, bytes) in &saved {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let mut done = format!("round {round}");
        for _ in 0..=dice.below(2) {
            let files = files_below(&target.path(".samuel"));
            let Some(path) = files.get(usize::try_from(dice.below(files.len().max(1) as u64)).unwrap())
            else {
                break;
            };
            done += &format!(", {}", mutate(&mut dice, path));
        }
        for args in [commands.get(round % commands.len()).unwrap(), &commands[3]] {
            let mut command = target.samuel(args);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            soon(&format!("{args:?} after {done}"), || child.try_wait().unwrap().is_some());
            let output = child.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(!stderr.contains("panicked"), "{args:?} after {done}: {stderr}");
            assert!(
                matches!(output.status.code(), Some(0 | 1 | 3 | 4 | 5)),
                "{args:?} after {done}: {stderr}"
            );
            nothing_is_lost(&target, &done);
        }
    }
}
