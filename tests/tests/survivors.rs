//! No process survives a run, however the run ends.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

const SAMUEL: &str = env!("CARGO_BIN_EXE_samuel-under-test");

/// An agent that ignores being asked to end and leaves processes everywhere:
/// one in its group, one in a session of its own, one that was orphaned.
const AGENT: &str = "trap '' TERM INT HUP
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'trap \"\" TERM; sleep 1000 & exec sleep 1000' &)
touch agent-is-up
sleep 1000";

struct Run {
    dir: tempfile::TempDir,
    mark: String,
    child: Child,
}

impl Run {
    fn start(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mark = format!("SAMUEL_TEST_MARK_{name}_{}", std::process::id());
        fs::write(dir.path().join("agent.sh"), format!("export {mark}=1\n{AGENT}\n")).unwrap();
        let samuel = |args: &[&str]| {
            let mut command = Command::new(SAMUEL);
            command
                .args(args)
                .current_dir(dir.path())
                .env_clear()
                .env("PATH", std::env::var("PATH").unwrap());
            command.env("HOME", dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        assert!(samuel(&["run", "init"]).status().unwrap().success());
        assert!(samuel(&["run", "enqueue", "Never ends"]).status().unwrap().success());
        let start = ["run", "start", "--agent", "command", "--agent-command", "sh agent.sh", "--yes"];
        let child = samuel(&start).spawn().unwrap();
        let run = Self { dir, mark, child };
        wait_for("the agent to come up", || run.dir.path().join("agent-is-up").exists());
        // A forked shell carries the mark only once it has become its command.
        wait_for("the agent's processes to carry its mark", || run.processes() >= 4);
        run
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Counts the processes that inherited the agent's mark.
    fn processes(&self) -> usize {
        let marked = |entry: &fs::DirEntry| has_mark(&entry.path(), &self.mark);
        fs::read_dir("/proc").unwrap().flatten().filter(marked).count()
    }

    /// Waits for the run to end, and returns its exit code.
    fn ends(&mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "the run does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn progress(&self) -> String {
        fs::read_to_string(self.dir.path().join(".samuel/run/progress.md")).unwrap()
    }
}

fn has_mark(process: &Path, mark: &str) -> bool {
    let environ = fs::read(process.join("environ")).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !condition() {
        assert!(Instant::now() < deadline, "gave up waiting for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sigterm_ends_the_agents_whole_tree_and_the_run_in_order() {
    let mut run = Run::start("term");
    run.signal(Signal::TERM);
    assert_eq!(run.ends(), Some(143));
    wait_for("the agent's processes to go", || run.processes() == 0);
    assert!(run.progress().contains("the loop ended"), "after:loop ran: {}", run.progress());
}

#[test]
fn a_second_sigint_ends_the_agents_whole_tree() {
    let mut run = Run::start("int");
    run.signal(Signal::INT);
    // The first one lets the iteration go on.
    thread::sleep(Duration::from_millis(600));
    assert!(run.child.try_wait().unwrap().is_none());
    run.signal(Signal::INT);
    assert_eq!(run.ends(), Some(130));
    wait_for("the agent's processes to go", || run.processes() == 0);
    assert!(run.progress().contains("the loop ended"), "after:loop ran: {}", run.progress());
}

#[test]
fn sigkill_of_samuel_leaves_nothing() {
    let mut run = Run::start("kill");
    run.signal(Signal::KILL);
    run.ends();
    wait_for("the agent's processes to go", || run.processes() == 0);
}
