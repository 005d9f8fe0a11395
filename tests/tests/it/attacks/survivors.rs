//! No process survives a run, however the run ends.

use std::{
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::attacks::kit::{Target, marked, wait_within};

/// How long anything may take here.
const LIMIT: Duration = Duration::from_secs(15);

/// An agent that ignores being asked to end and leaves processes everywhere:
/// one in its group, one in a session of its own, one that was orphaned.
const AGENT: &str = "trap '' TERM INT HUP
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'trap \"\" TERM; sleep 1000 & exec sleep 1000' &)
touch agent-is-up
sleep 1000";

struct Run {
    target: Target,
    mark: String,
    child: Child,
}

impl Run {
    fn start(name: &str) -> Self {
        let target = Target::with_tasks(&["Never ends"]);
        let mark = format!("SAMUEL_TEST_MARK_{name}_{}", std::process::id());
        target.write("agent.sh", format!("export {mark}=1\n{AGENT}\n"));
        let start = ["run", "start", "--agent", "command", "--agent-command", "sh agent.sh", "--yes"];
        let child = target.samuel(&start).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let run = Self { target, mark, child };
        wait_within(LIMIT, "the agent to come up", || run.target.path("agent-is-up").exists());
        // A forked shell carries the mark only once it has become its command.
        wait_within(LIMIT, "the agent's processes to carry its mark", || marked(&run.mark).len() >= 4);
        run
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the run and the agent's whole tree to end, and returns its exit code.
    fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        wait_within(LIMIT, "the run to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        wait_within(LIMIT, "the agent's processes to go", || marked(&self.mark).is_empty());
        status.and_then(|status| status.code())
    }

    fn progress(&self) -> String {
        self.target.read(".samuel/run/progress.md")
    }
}

#[test]
fn sigterm_ends_the_agents_whole_tree_and_the_run_in_order() {
    let mut run = Run::start("term");
    run.signal(Signal::TERM);
    assert_eq!(run.ends(), Some(143));
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
    assert!(run.progress().contains("the loop ended"), "after:loop ran: {}", run.progress());
}

#[test]
fn sigkill_of_samuel_leaves_nothing() {
    let mut run = Run::start("kill");
    run.signal(Signal::KILL);
    run.ends();
}
