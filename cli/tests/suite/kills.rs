//! SIGKILL of Samuel, at points spread over a run in each sandbox: what is left, and what was acknowledged.
//!
//! A handful of points by default, 50 in each sandbox with `SAMUEL_LONG=1`.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    bench::{Bench, Ran},
    containers,
};

/// How many points there are in each sandbox.
fn points() -> u32 {
    if std::env::var_os("SAMUEL_LONG").is_some() { 50 } else { 3 }
}

/// A project, its sandbox, and a word that stands in the arguments of whatever its agents start.
struct Ground {
    bench: Bench,
    engine: &'static str,
    word: String,
}

impl Ground {
    fn create(sandbox: &str, engine: &'static str, keys: &str, number: u32) -> Self {
        let bench = Bench::with_tasks(&["First", "Second"]);
        let text = format!(
            "version = \"2\"\n[methodology.ralph]\nsandbox = \"{sandbox}\"\nquality_checks = [\"test -e big\"]\n[sandbox]\nmounts = [\"/usr\"]\n{keys}\n"
        );
        bench.write("samuel.toml", &text);
        bench.write("big", &"old\n".repeat(100_000));
        let ground = Self { bench, engine, word: format!("{}{number:02}9", std::process::id()) };
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
        command.env("SAMUEL_GUEST", containers::guest());
        if !self.engine.is_empty() {
            command.env("SAMUEL_RUNTIME", self.engine);
        }
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

    /// Returns the containers of the project.
    fn containers(&self) -> String {
        if self.engine.is_empty() {
            return String::new();
        }
        // The label is a digest; a project's own are those that its sweep would look at.
        let all = Command::new(self.engine)
            .args(["ps", "--all", "--filter", "label=samuel.dir", "--format", "{{.Names}} {{.Mounts}}"])
            .output();
        let root = self.bench.root().display().to_string();
        let listed = String::from_utf8_lossy(&all.unwrap().stdout).into_owned();
        listed.lines().filter(|line| line.contains(&root)).collect()
    }
}

/// Says whether a process of this machine has a word in its arguments.
fn has_process(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
}

/// Waits for something, for a while.
fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if holds() {
            return true;
        }
        thread::yield_now();
    }
    holds()
}

/// Returns the lines of all files with a name below a directory.
fn lines_of(directory: &Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(lines_of(&entry.path(), name)),
            false if entry.file_name() == name => {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                found.extend(text.lines().map(str::to_owned));
            }
            false => {}
        }
    }
    found
}

#[test]
fn whenever_samuel_is_killed_nothing_stays_and_nothing_acknowledged_is_lost() {
    let mut walls = vec![("bwrap", "", String::new())];
    match containers::image() {
        Ok(image) => walls.push(("oci", "podman", format!("image = \"{image}\""))),
        Err(why) => println!("skipped: podman: {why}"),
    }
    for (sandbox, engine, keys) in walls {
        let whole = Ground::create(sandbox, engine, &keys, 0);
        let begun = Instant::now();
        let ran = Ran::of(whole.start(&whole.agent()));
        let lasts = begun.elapsed();
        if ran.stderr.contains("cannot be used") {
            println!("skipped: {}", ran.stderr.lines().next().unwrap_or_default());
            continue;
        }
        assert!(whole.git(&["log", "--format=%s"]).lines().count() >= 2, "{sandbox}: {ran:?}");
        for point in 0..points() {
            killed_at(
                sandbox,
                Ground::create(sandbox, engine, &keys, point + 1),
                lasts * (2 * point + 1) / (2 * points()),
            );
        }
    }
}

fn killed_at(sandbox: &str, ground: Ground, point: Duration) {
    let place = format!("{sandbox}, killed after {point:?}");
    let mut samuel =
        ground.start(&ground.agent()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The point in time is what is tried out.
    thread::park_timeout(point);
    samuel.kill().unwrap();
    samuel.wait().unwrap();
    assert!(within(Duration::from_secs(1), || !has_process(&ground.word)), "{place}: a process is left");
    let tree = fs::read_to_string(ground.bench.path("big")).unwrap_or_default();
    let first = tree.lines().next().unwrap_or_default().to_owned();
    let is_cut = tree.lines().any(|line| line != first);
    // What was cut off in the middle of its fast-forward, the next start finishes.
    let again = Ran::of(ground.start(&ground.agent()));
    assert!(ground.containers().is_empty(), "{place}: {}", ground.containers());
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
    let home = ground.bench.root().parent().unwrap().to_owned();
    for acknowledged in lines_of(&home, "acknowledged") {
        assert!(titles.contains(&acknowledged), "{place}: {acknowledged} is lost: {titles:?}");
    }
}
