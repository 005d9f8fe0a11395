//! Signals while a loop runs.

use rustix::process::Signal;

use std::time::Duration;

use crate::bench::{AtTerminal, Bench, Beside, wait_for_file, wait_until};

/// An agent that says it is up and waits; SIGTERM does not impress it.
const STUBBORN: &str = "trap '' TERM INT; echo $$ > pid; touch up; until [ -e go ]; do sleep 0.05; done; \
                        \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

/// A loop whose agent is up, and waits.
fn at_work(tasks: &[&str]) -> (Bench, Beside) {
    let bench = Bench::with_tasks(tasks);
    let run = bench.spawn(&bench.start_args(STUBBORN));
    wait_for_file(&bench.path("up"));
    (bench, run)
}

fn is_alive(bench: &Bench) -> bool {
    std::path::Path::new(&format!("/proc/{}", bench.read("pid").trim())).exists()
}

/// Sends a signal that does not count as the one before once more.
fn once_more(run: &Beside, signal: Signal) {
    std::thread::sleep(Duration::from_millis(600));
    run.signal(signal);
}

/// Makes sure that the run was closed, and that the agent is gone.
fn ended_with_its_agent(bench: &Bench) {
    assert!(!is_alive(bench));
    is_closed(bench);
}

/// Makes sure that the progress log tells of the end of the run.
fn is_closed(bench: &Bench) {
    let progress = bench.read(".samuel/run/progress.md");
    assert!(progress.contains("the loop ended after 1 iteration"), "{progress}");
}

/// Makes sure that the record says which signal ended the last run.
fn names_the_signal(bench: &Bench, words: &str) {
    let why = bench.ok(&["run", "why", "run"]).stdout;
    assert!(why.contains(words), "{why}");
    let by = words.rsplit(' ').next().unwrap();
    let report = bench.ok(&["run", "report"]).stdout;
    assert!(report.contains(&format!("asked by {by}")), "{report}");
}

#[test]
fn the_first_interrupt_finishes_the_iteration() {
    let (bench, mut run) = at_work(&["First", "Second"]);
    run.signal(Signal::INT);
    run.wait_for("finishing the iteration");
    bench.write("go", "");
    run.wait_for("iteration 1: succeeded");
    assert_eq!(run.code(), 130);
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "pending"));
    names_the_signal(&bench, "stop by SIGINT");
}

#[test]
fn the_second_interrupt_stops_the_agent_and_closes_the_run() {
    let (bench, mut run) = at_work(&["First"]);
    run.signal(Signal::INT);
    run.wait_for("finishing the iteration");
    once_more(&run, Signal::INT);
    run.wait_for("iteration 1: cancelled");
    assert_eq!(run.code(), 130);
    assert!(!is_alive(&bench));
    assert_eq!(bench.status("1"), "pending");
    is_closed(&bench);
}

#[test]
fn the_third_interrupt_leaves_at_once_and_the_agent_goes_all_the_same() {
    let (bench, mut run) = at_work(&["First"]);
    for said in ["finishing the iteration", "stopping the agent"] {
        once_more(&run, Signal::INT);
        run.wait_for(said);
    }
    once_more(&run, Signal::INT);
    assert_eq!(run.code(), 130);
    wait_until("the agent is gone", || !is_alive(&bench));
    bench.write("go", "");
    assert_eq!(bench.start(STUBBORN, &[]).code, 0);
}

#[test]
fn a_termination_stops_at_once() {
    let (bench, run) = at_work(&["First"]);
    run.signal(Signal::TERM);
    assert_eq!(run.code(), 143);
    ended_with_its_agent(&bench);
    names_the_signal(&bench, "stop --now by SIGTERM");
}

#[test]
fn a_termination_that_is_sent_twice_still_closes_the_run() {
    let (bench, mut run) = at_work(&["First"]);
    run.signal(Signal::TERM);
    run.wait_for("stopping the agent");
    run.signal(Signal::TERM);
    assert_eq!(run.code(), 143);
    ended_with_its_agent(&bench);
}

#[test]
fn a_hang_up_stops_the_run_but_for_one_that_was_told_to_ignore_it() {
    let (bench, run) = at_work(&["First", "Second"]);
    run.signal(Signal::HUP);
    assert_eq!(run.code(), 129);
    is_closed(&bench);
    names_the_signal(&bench, "stop --now by SIGHUP");

    std::fs::remove_file(bench.path("up")).unwrap();
    let mut run = bench.spawn_ignoring_hang_up(&bench.start_args(STUBBORN));
    wait_for_file(&bench.path("up"));
    run.signal(Signal::HUP);
    run.signal(Signal::INT);
    run.wait_for("finishing the iteration");
    bench.write("go", "");
    run.wait_for(": succeeded");
    assert_eq!(run.code(), 130);
    assert_eq!(bench.status("1"), "completed");
}

#[test]
fn a_run_that_a_signal_ended_goes_on_with_the_next_start() {
    let (bench, run) = at_work(&["First"]);
    run.signal(Signal::TERM);
    assert_eq!(run.code(), 143);
    bench.write("go", "");
    assert_eq!(bench.start(STUBBORN, &[]).code, 0);
    assert_eq!(bench.status("1"), "completed");
}

#[test]
fn a_signal_at_the_question_leaves_without_an_answer() {
    let bench = Bench::with_tasks(&["First"]);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let run = AtTerminal::spawn(&bench, &["run", "start", "--agent-command", "touch ran"]);
        assert!(run.wait_for("Run this? [y/N]"));
        run.signal(signal);
        let (ended, shown) = run.end();
        assert_eq!(ended, code, "{shown}");
        assert!(shown.contains("[y/N] \r\nerror: left before the run was under way"), "{shown}");
        let again = "help: Go on with `samuel run start --agent-command 'touch ran'`.";
        assert!(shown.contains(again), "{shown}");
        assert!(!bench.path("ran").exists());
    }
}

#[test]
fn a_signal_while_the_start_waits_for_a_lock_leaves_at_once() {
    let bench = Bench::with_tasks(&["First"]);
    let open = |name: &str| std::fs::File::options().write(true).create(true).truncate(false).open(name);
    let open = |name: &str| open(bench.path(name).to_str().unwrap()).unwrap();
    let held = open(".samuel/run/lock");
    held.lock().unwrap();
    let run = bench.spawn(&bench.start_args("touch ran"));
    // It has opened the lock that it then waits for.
    let opened = std::path::PathBuf::from(format!("/proc/{}/fd", run.child.id()));
    let lock = bench.path(".samuel/run/lock");
    wait_until("the start wants the lock", || {
        let files = std::fs::read_dir(&opened).into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file == lock)
    });
    run.signal(Signal::INT);
    assert_eq!(run.code(), 130);
    assert!(!bench.path("ran").exists());
}
