//! Signals while several lanes work, and what is the same without lanes.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    bench::{Bench, Beside, wait_for_file, wait_until},
    lane_ground::{Ground, into_of, task},
};

/// How long a second signal may take to stop everything.
const STOPPED: Duration = Duration::from_secs(10);

/// Returns the paths below a directory whose names end so.
fn ending(directory: &Path, end: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(ending(&entry.path(), end));
        } else if entry.file_name().to_string_lossy().ends_with(end) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

/// Returns the processes that have a word among their arguments.
pub(crate) fn processes(word: &str) -> Vec<String> {
    let lines = fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

/// Makes sure that nothing of a run is left: no process below its directory, and no lock of git.
fn nothing_is_left(ground: &Ground) {
    let home = ground.bench.root().parent().unwrap().to_owned();
    let word = home.display().to_string();
    wait_until("all processes are gone", || processes(&word).is_empty());
    assert_eq!(ending(&home, "index.lock"), [] as [&str; 0]);
}

/// Three lanes whose agents say that they are up and wait, deaf to signals; a fourth task is left.
fn at_work() -> (Ground, Beside) {
    let mut tasks = ["1", "2", "3"].map(|id| task(id, &[], &[])).to_vec();
    tasks.push(task("4", &["1"], &[]));
    let ground = Ground::with_tasks(tasks).agents(|lanes| lanes.forgetting("2"));
    let notes = ground.notes().display().to_string();
    let waits = format!(
        "trap '' TERM INT HUP; sh -c 'while :; do sleep 1; done' {notes} & touch {notes}/up-$SAMUEL_TASK_ID; \
         while ! test -e {notes}/go; do sleep 0.1; done\n"
    );
    let agent = waits + &ground.lanes.command();
    let run = ground.bench.spawn(&[&ground.bench.start_args(&agent)[..], &["--jobs", "3"]].concat());
    wait_until("three agents are at work", || {
        (1..=3).all(|id| Path::new(&format!("{notes}/up-{id}")).exists())
    });
    (ground, run)
}

#[test]
fn the_first_interrupt_lets_all_turns_finish_and_lands_what_is_submitted() {
    let (ground, mut run) = at_work();
    run.signal(Signal::INT);
    run.wait_for("finishing the iteration");
    fs::write(ground.notes().join("go"), "").unwrap();
    assert_eq!(run.code(), 130);
    let statuses = ["1", "2", "3", "4"].map(|id| ground.bench.status(id));
    assert_eq!(statuses, ["completed", "completed", "completed", "pending"]);
    let into = ground.sh("git for-each-ref --format='%(refname:short)' 'refs/heads/samuel/*/result'");
    assert_eq!(ground.landed(&into), ["1", "2", "3"]);
    assert_eq!(ground.lanes.calls("4").unwrap(), 0);
    nothing_is_left(&ground);
}

// Takes about 16 s: for each of the three signals three lanes that are stopped, and a run that does all four tasks.
#[test]
fn a_second_interrupt_or_a_termination_stops_all_lanes_within_ten_seconds() {
    for signals in [&[Signal::INT, Signal::INT][..], &[Signal::TERM], &[Signal::HUP]] {
        let (ground, run) = at_work();
        ends_by(run, signals, "finishing the iteration");
        nothing_is_left(&ground);
        let statuses = ["1", "2", "3", "4"].map(|id| ground.bench.status(id));
        assert_eq!(statuses, ["pending"; 4], "{signals:?}");
        // All of it can be begun again.
        fs::write(ground.notes().join("go"), "").unwrap();
        let ran = ground.start(3, &["--into", "main"]);
        ground.all_landed("main", &["1", "2", "3", "4"], &ran);
        nothing_is_left(&ground);
    }
}

/// Starts a run with some keys of the methodology, and waits until something of it says that it hangs.
fn hanging(ground: &Ground, keys: &str, jobs: &str) -> Beside {
    ground.bench.configure(keys);
    ground.bench.git(&["commit", "--quiet", "--all", "--message", "Hang"]);
    let agent = ground.lanes.command();
    let run = ground.bench.spawn(&[&ground.bench.start_args(&agent)[..], &["--jobs", jobs]].concat());
    wait_for_file(&ground.notes().join("hangs"));
    run
}

/// A line of shell that says that it is there and is deaf to signals.
fn hangs(ground: &Ground) -> String {
    let notes = ground.notes().display().to_string();
    format!("trap '' TERM INT HUP; touch {notes}/hangs; while :; do sleep 1; done")
}

/// Makes sure that the last of some signals ends a run within ten seconds, which says something between two of them.
fn ends_by(mut run: Beside, signals: &[Signal], between: &str) {
    let mut begun = Instant::now();
    for (place, signal) in signals.iter().enumerate() {
        if place > 0 {
            run.wait_for(between);
            // One that comes at once does not count as another.
            std::thread::sleep(Duration::from_millis(600));
            begun = Instant::now();
        }
        run.signal(*signal);
    }
    assert!(run.code() > 128, "{signals:?}");
    assert!(begun.elapsed() < STOPPED, "{signals:?}: {:?}", begun.elapsed());
}

#[test]
fn a_setup_that_hangs_ends_with_any_signal_and_nothing_was_claimed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let ground = Ground::with(&["1", "2"]);
        let keys = format!("parallel = {{ setup = [{}] }}", serde_json::json!(hangs(&ground)));
        ends_by(hanging(&ground, &keys, "2"), &[signal], "finishing");
        nothing_is_left(&ground);
        assert!(!fs::read_to_string(ground.bench.prd()).unwrap().contains("claims"), "{signal:?}");
        assert_eq!(ground.lanes.calls("1").unwrap(), 0, "{signal:?}");
    }
}

#[test]
fn a_check_of_the_queue_that_hangs_ends_with_the_second_interrupt_or_a_termination() {
    for signals in [&[Signal::INT, Signal::INT][..], &[Signal::TERM]] {
        // Of two that begin at once, the queue checks one at least.
        let ground = Ground::with(&["1", "2"]).agents(|lanes| lanes.meeting(["1", "2"]));
        let check = format!("case $PWD in */queue.clone/*) {};; esac", hangs(&ground));
        let run = hanging(&ground, &format!("quality_checks = [{}]", serde_json::json!(check)), "2");
        ends_by(run, signals, "finishing");
        nothing_is_left(&ground);
        // What was submitted is landed by the next start, and not done again.
        ground.configure("");
        ground.bench.git(&["commit", "--quiet", "--all", "--message", "Go on"]);
        let ran = ground.start(2, &["--json"]).ends(0);
        ground.all_landed(&into_of(&ran), &["1", "2"], &ran);
        assert_eq!(["1", "2"].map(|id| ground.lanes.calls(id).unwrap()), [1, 1], "{signals:?}");
    }
}

// Takes about 10 s: for each of the two signals three lanes that are stopped, and a run that does all three tasks.
#[test]
fn agents_that_are_stopped_within_a_git_leave_no_lock_and_lose_nothing() {
    for signals in [&[Signal::INT, Signal::INT][..], &[Signal::TERM]] {
        let ground = Ground::with(&["1", "2", "3"]);
        let notes = ground.notes().display().to_string();
        // What an agent adds goes through a filter that does not end.
        let filter =
            format!("trap '' TERM INT HUP; touch {notes}/adds-$SAMUEL_TASK_ID; while :; do sleep 1; done");
        fs::write(ground.notes().join("filter"), filter).unwrap();
        ground.bench.write(".gitattributes", "slow-* filter=slow\n");
        ground.bench.git(&["add", ".gitattributes"]);
        ground.bench.git(&["commit", "--quiet", "--message", "Filter"]);
        let agent = format!(
            "trap '' TERM INT HUP; echo half > slow-$SAMUEL_TASK_ID; \
             git -c filter.slow.clean='sh {notes}/filter' add slow-$SAMUEL_TASK_ID"
        );
        let run = ground.bench.spawn(&[&ground.bench.start_args(&agent)[..], &["--jobs", "3"]].concat());
        for id in ["1", "2", "3"] {
            wait_for_file(&ground.notes().join(format!("adds-{id}")));
        }
        let home = ground.bench.root().parent().unwrap().to_owned();
        assert_eq!(ending(&home, "index.lock").len(), 3, "each git is amid its work");
        ends_by(run, signals, "finishing");
        nothing_is_left(&ground);
        let kept = ground.sh("git for-each-ref --format='%(refname)' refs/heads/samuel");
        for id in ["1", "2", "3"] {
            assert_eq!(ground.bench.status(id), "pending", "{signals:?}");
            let reference = kept.lines().find(|name| name.contains(&format!("/{id}-")));
            let reference = reference.unwrap_or_else(|| panic!("the work on {id} is gone: {kept}"));
            assert_eq!(ground.sh(&format!("git show {reference}:slow-{id}")), "half");
        }
        let ran = ground.start(3, &["--into", "main"]);
        ground.all_landed("main", &["1", "2", "3"], &ran);
    }
}

/// Returns what the events of a run are, without what differs from run to run.
fn shape(bench: &Bench, more: &[&str]) -> Vec<Value> {
    let agent = "echo $SAMUEL_TASK_ID > made-$SAMUEL_TASK_ID; git add .; git commit -qm \"Do $SAMUEL_TASK_ID\"; \
                 \"$SAMUEL_BINARY\" run done $SAMUEL_TASK_ID";
    let ran = bench.start(agent, &[&["--json"], more].concat()).ends(0);
    let (events, document) = ran.events();
    let names =
        |event: &Value| serde_json::json!([event["event"], event["task"], event["point"], event["lane"]]);
    let report = &document["data"]["report"];
    // When a word of the agent, and when what it changed, is heard is its own affair.
    let is_beside = |event: &&Value| event["event"] == "task_completed" || event["point"] == "task.completed";
    let events = || events.iter().filter(|event| event["event"] != "agent");
    let (beside, others): (Vec<&Value>, Vec<&Value>) = events().partition(is_beside);
    let end = serde_json::json!([report["iterations"], report["into"]]);
    others.into_iter().chain(beside).map(names).chain([end]).collect()
}

#[test]
fn with_one_lane_a_run_is_what_it_is_without_lanes() {
    let [plain, one] = [&[][..], &["--jobs", "1"]].map(|more| {
        let bench = Bench::with_tasks(&["First", "Second"]);
        bench.write("a.txt", "one\n");
        bench.make_repository(&["a.txt"]);
        let shape = shape(&bench, more);
        let plan = fs::read_to_string(bench.prd()).unwrap();
        let journal = bench.read(".samuel/run/journal.jsonl");
        let kinds: Vec<Value> = journal
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|record| serde_json::json!([record["kind"], record["mutation"]["type"], record["actor"]]))
            .collect();
        assert!(!plan.contains("claims") && !journal.contains("claim"), "{plan}");
        assert!(shape.iter().all(|event| event[3].is_null()), "{shape:?}");
        let refs = bench.git(&["for-each-ref", "--format=%(refname)"]);
        assert_eq!((refs.as_str(), bench.git(&["worktree", "list"]).lines().count()), ("refs/heads/main", 1));
        assert_eq!(bench.git(&["log", "--format=%s"]), "Do 2\nDo 1\nStart");
        let names: Vec<String> = bench
            .files()
            .into_iter()
            .map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        (shape, kinds, names.len())
    });
    assert_eq!(plain, one);
}
