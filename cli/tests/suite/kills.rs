//! SIGKILL of Samuel, at points spread over a run in each sandbox: what is left, and what was acknowledged.
//!
//! By default two points in bubblewrap and one in podman; with `SAMUEL_LONG=1` 50 in each sandbox, docker's among them.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{
    fs,
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use samuel_tests::{
    engine::TestEngine,
    processes::{has_process, process_above, process_with, within},
};

use crate::{
    bench::{Bench, PATIENCE, Ran},
    containers::Wall,
};

fn is_long() -> bool {
    std::env::var_os("SAMUEL_LONG").is_some()
}

/// How many points there are, spread over the time that a run takes.
fn points() -> u32 {
    if is_long() { 50 } else { 2 }
}

/// When Samuel is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    After(Duration),
    /// Once a change of the plan was acknowledged to an agent.
    Acknowledged,
}

/// A project, its sandbox, and a word that stands in the arguments of whatever its agents start.
struct Ground<'a> {
    bench: Bench,
    wall: &'a Wall,
    word: String,
}

impl<'a> Ground<'a> {
    fn create(wall: &'a Wall, number: u32) -> Self {
        Self::with_tasks(wall, number, &["First", "Second"])
    }

    /// Creates one whose runs have one task to do; with `SAMUEL_LONG=1` two.
    fn of_few_tasks(wall: &'a Wall, number: u32) -> Self {
        Self::with_tasks(wall, number, if is_long() { &["First", "Second"] } else { &["First"] })
    }

    fn with_tasks(wall: &'a Wall, number: u32, titles: &[&str]) -> Self {
        let Wall { sandbox, keys, .. } = wall;
        let bench = Bench::with_tasks(titles);
        let text = format!(
            "version = \"2\"\n[methodology.ralph]\nsandbox = \"{sandbox}\"\nquality_checks = [\"test -e big\"]\n[sandbox]\nmounts = [\"/usr\"]\n{keys}\n"
        );
        bench.write("samuel.toml", &text);
        bench.write("big", &"old\n".repeat(100_000));
        let ground = Self { bench, wall, word: format!("{}{number:02}9", std::process::id()) };
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["config", "user.name", "Ada"],
            &["config", "user.email", "ada@example.org"],
            &["add", "samuel.toml", "big"],
            &["commit", "--quiet", "--message", "Start"],
        ] {
            ground.git(args);
        }
        ground
    }

    /// An agent that has changes of the plan acknowledged, writes what was, and leaves processes behind.
    fn agent(&self) -> String {
        format!(
            "setsid sleep {word} & sleep {word} & for n in 1 2 3; do $SAMUEL_BINARY run enqueue \"Found $SAMUEL_TASK_ID $n\" > /dev/null && \
             echo \"Found $SAMUEL_TASK_ID $n\" >> \"$SAMUEL_WORKSPACE/acknowledged\"; done; yes \"new $SAMUEL_TASK_ID\" | head -n 100000 > \"$SAMUEL_WORKSPACE/big\"; \
             $SAMUEL_BINARY run done $SAMUEL_TASK_ID > /dev/null; kill %1 %2",
            word = self.word
        )
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bench.command(args);
        command.envs(self.wall.env().iter().cloned());
        command
    }

    fn start(&self, agent: &str) -> Command {
        self.command(&[&self.bench.start_args(agent)[..], &["--max-iterations", "2"]].concat())
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.bench.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        String::from_utf8_lossy(&command.output().unwrap().stdout).trim().to_owned()
    }

    /// Says what is left of a run behind its end: containers, mounts, sockets and clones.
    fn left(&self) -> Vec<String> {
        let home = self.bench.root().parent().unwrap().join("home");
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounts = mounts.lines().filter(|line| line.contains(&*self.bench.root().to_string_lossy()));
        let containers = self.wall.containers(&self.bench);
        let containers = containers.lines().map(|name| format!("container {name}"));
        let left_in = files_below(&home).into_iter().filter(|path| {
            let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
            is_socket || path.components().any(|part| part.as_os_str() == "tree")
        });
        let files = left_in.map(|path| path.display().to_string());
        mounts.map(|line| format!("mount {line}")).chain(containers).chain(files).collect()
    }
}

/// Returns what lies below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

fn kill(number: u32) {
    let number = Pid::from_raw(number.try_into().unwrap()).unwrap();
    kill_process(number, Signal::KILL).unwrap();
}

/// Returns the lines of all files with a name below a directory.
fn lines_of(directory: &Path, name: &str) -> Vec<String> {
    let files =
        files_below(directory).into_iter().filter(|path| path.file_name().is_some_and(|found| found == name));
    let texts = files.map(|path| fs::read_to_string(path).unwrap_or_default());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns the walls that can be used here. docker's are tried in the long form.
fn walls() -> Vec<Wall> {
    usable(Wall::usual())
}

fn usable(mut walls: Vec<Wall>) -> Vec<Wall> {
    walls.retain(|wall| {
        let ground = Ground::create(wall, 0);
        let checked = Ran::of(ground.command(&["run", "start", "--dry-run", "--agent-command", "true"]));
        let problem = checked.stderr.lines().find(|line| line.contains("cannot be used"));
        problem.inspect(|line| println!("skipped: {}: {line}", wall.name)).is_none()
    });
    walls
}

// Takes about 20 s: five runs in bubblewrap and two in podman, of two iterations each.
#[test]
fn whenever_samuel_is_killed_nothing_stays_and_nothing_acknowledged_is_lost() {
    for wall in walls() {
        // In containers a run takes several times as long, so in short no whole run is made to spread points over.
        if wall.engine.is_some() && !is_long() {
            killed_at(Ground::create(&wall, 1), Moment::Acknowledged);
            continue;
        }
        let whole = Ground::create(&wall, 0);
        let begun = Instant::now();
        let ran = Ran::of(whole.start(&whole.agent()));
        let lasts = begun.elapsed();
        assert!(whole.git(&["log", "--format=%s"]).lines().count() >= 2, "{}: {ran:?}", wall.name);
        for point in 0..points() {
            let moment = Moment::After(lasts * (2 * point + 1) / (2 * points()));
            killed_at(Ground::create(&wall, point + 1), moment);
        }
    }
}

fn killed_at(ground: Ground<'_>, moment: Moment) {
    let place = format!("{}, killed at {moment:?}", ground.wall.name);
    let home = ground.bench.root().parent().unwrap().to_owned();
    let mut samuel =
        ground.start(&ground.agent()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    match moment {
        // The point in time is what is tried out.
        Moment::After(point) => thread::park_timeout(point),
        Moment::Acknowledged => {
            let is_acknowledged = || !lines_of(&home, "acknowledged").is_empty();
            assert!(within(PATIENCE, is_acknowledged), "{place}: nothing was acknowledged");
        }
    }
    samuel.kill().unwrap();
    samuel.wait().unwrap();
    assert!(within(Duration::from_secs(1), || !has_process(&ground.word)), "{place}: a process is left");
    let tree = fs::read_to_string(ground.bench.path("big")).unwrap_or_default();
    let first = tree.lines().next().unwrap_or_default().to_owned();
    let is_cut = tree.lines().any(|line| line != first);
    // What was cut off in the middle of its fast-forward, the next start finishes.
    let again = Ran::of(ground.start(&ground.agent()));
    let containers = ground.wall.containers(&ground.bench);
    assert!(containers.is_empty(), "{place}: {containers}");
    assert!(!has_process(&ground.word), "{place}: {again:?}");
    let tree = fs::read_to_string(ground.bench.path("big")).unwrap();
    let lines: std::collections::BTreeSet<&str> = tree.lines().collect();
    assert!(lines.len() == 1 && tree.lines().count() == 100_000, "{place}: was cut: {is_cut}, {lines:?}");
    let changed = ground.git(&["status", "--porcelain", "--untracked-files=no"]);
    assert_eq!(changed, "", "{place}: {again:?}");
    let titles: Vec<String> = ground
        .bench
        .tasks()
        .iter()
        .map(|task| task["title"].as_str().unwrap_or_default().to_owned())
        .collect();
    for acknowledged in lines_of(&home, "acknowledged") {
        assert!(titles.contains(&acknowledged), "{place}: {acknowledged} is lost: {titles:?}");
    }
}

// Takes about 14 s: a podman with a storage of its own copies the image for each container.
#[test]
fn nothing_is_left_behind_a_normal_end() {
    // docker's storage is the test's own as it is.
    let others = walls().into_iter().filter(|wall| wall.name != "podman");
    for wall in others.chain(usable(Wall::apart().into_iter().collect())) {
        let ground = Ground::create(&wall, 71);
        let kept = wall.engine.as_ref().map(TestEngine::images);
        let ran =
            Ran::of(ground.command(&ground.bench.start_args("$SAMUEL_BINARY run done $SAMUEL_TASK_ID")));
        assert_eq!(ran.code, 0, "{}: {ran:?}", wall.name);
        assert_eq!(ground.left(), [""; 0], "{}: {ran:?}", wall.name);
        assert!(!has_process(&ground.word));
        if let Some(engine) = &wall.engine {
            assert_eq!(
                (Some(engine.images()), engine.all_containers().as_str()),
                (kept, ""),
                "{}",
                wall.name
            );
        }
    }
}

/// Who is killed beside Samuel.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// What Samuel has started: bubblewrap, or the command of an engine.
    Client,
    /// The first process of the sandbox.
    Guest,
}

// Takes about 10 s: two runs in each sandbox.
#[test]
fn a_sandbox_whose_client_or_guest_is_killed_fails_its_call_and_nothing_stays() {
    let walls = walls();
    for wall in &walls {
        for victim in [Victim::Client, Victim::Guest] {
            // In short the client of an engine, whose container goes on without it, and the guest of bubblewrap.
            let is_usual = wall.engine.is_some() == matches!(victim, Victim::Client);
            if walls.len() > 1 && !is_usual && !is_long() {
                continue;
            }
            let ground = Ground::of_few_tasks(wall, 81 + victim as u32);
            let place = format!("{}, {victim:?}", wall.name);
            let agent = format!("setsid sleep {word} & sleep {word}", word = ground.word);
            let mut samuel =
                ground.command(&[&ground.bench.start_args(&agent)[..], &["--max-iterations", "1"]].concat());
            let samuel = samuel.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            assert!(within(PATIENCE, || has_process(&ground.word)), "{place}: the agent is called");
            let root = ground.bench.root().display().to_string();
            let of_project = |arguments: &[String]| arguments.iter().any(|argument| argument.contains(&root));
            let is_client = |arguments: &[String]| {
                let program = arguments.first().map(|program| program.rsplit('/').next().unwrap_or_default());
                program == Some(wall.name) && of_project(arguments)
            };
            let is_guest = |arguments: &[String]| {
                arguments.first().is_some_and(|first| {
                    first.contains("samuel-guest") || first.ends_with("/run/samuel/guest")
                })
            };
            let agent = process_with(|arguments| arguments.contains(&ground.word)).unwrap();
            let found = match victim {
                Victim::Client => process_with(is_client),
                Victim::Guest => process_above(agent, is_guest),
            };
            kill(found.unwrap_or_else(|| panic!("{place}: who is it?")));
            let gone = within(Duration::from_secs(5), || !has_process(&ground.word));
            let ended = samuel.wait_with_output().unwrap();
            let told =
                String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
            assert!(gone, "{place}: a process is left: {told}");
            assert_eq!(ground.bench.status("1"), "pending", "{place}: {told}");
            let containers = wall.containers(&ground.bench);
            assert!(containers.is_empty(), "{place}: {containers}: {told}");
            let again =
                Ran::of(ground.command(&ground.bench.start_args("$SAMUEL_BINARY run done $SAMUEL_TASK_ID")));
            assert_eq!(again.code, 0, "{place}: {again:?}");
            assert_eq!(ground.left(), [""; 0], "{place}: {again:?}");
        }
    }
}

// Takes about 10 s: three runs in containers and two sweeps.
#[test]
fn of_two_runs_of_two_projects_neither_sweeps_the_other() {
    // In short in the last sandbox, which is podman where that can be used: it is containers that are swept.
    let count = if is_long() { usize::MAX } else { 1 };
    for wall in walls().into_iter().rev().take(count) {
        let (one, other) = (Ground::of_few_tasks(&wall, 91), Ground::of_few_tasks(&wall, 92));
        let wait = format!(
            "sleep {} & while ! test -e '{}/.git/objects/go'; do sleep 0.1; done; kill $!; $SAMUEL_BINARY run done $SAMUEL_TASK_ID",
            one.word,
            one.bench.root().display()
        );
        let waiting =
            one.command(&one.bench.start_args(&wait)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        assert!(within(PATIENCE, || has_process(&one.word)), "{}: the agent is called", wall.name);
        let ran = Ran::of(other.command(&other.bench.start_args("$SAMUEL_BINARY run done $SAMUEL_TASK_ID")));
        assert_eq!(ran.code, 0, "{}: {ran:?}", wall.name);
        if wall.engine.is_some() {
            let swept = Ran::of(other.command(&["run", "sandbox", "sweep"]));
            assert!(swept.stdout.contains("No containers of this project are left"), "{swept:?}");
            // Its own run's container, which is at work, stays as well.
            let swept = Ran::of(one.command(&["run", "sandbox", "sweep"]));
            assert!(swept.stdout.contains("No containers of this project are left"), "{swept:?}");
        }
        assert!(has_process(&one.word), "{}: the other one goes on", wall.name);
        fs::write(one.bench.path(".git/objects/go"), "").unwrap();
        let ended = waiting.unwrap().wait_with_output().unwrap();
        assert!(ended.status.success(), "{}: {}", wall.name, String::from_utf8_lossy(&ended.stderr));
        for ground in [one, other] {
            let tasks = ground.bench.tasks();
            assert_eq!(tasks.len(), if is_long() { 2 } else { 1 }, "{}: {tasks:?}", wall.name);
            assert!(tasks.iter().all(|task| task["status"] == "completed"), "{}: {tasks:?}", wall.name);
            assert_eq!(ground.left(), [""; 0], "{}", wall.name);
        }
    }
}
