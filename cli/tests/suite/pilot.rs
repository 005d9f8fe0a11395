//! `pilot` and `--discover-only`: a run that looks for tasks. (Seed document 004, phases 3 and 8.)

use crate::bench::{Bench, Ran, says, wait_for_file};

/// What tells a discovery's prompt from that of a task.
const DISCOVERY: &str = "*'it only looks for tasks'*";

/// An agent that does something where it looks for tasks, and completes those that it is given.
fn agent(discovers: &str) -> String {
    let done = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";
    format!("prompt=$(cat); case $prompt in {DISCOVERY}) {discovers};; *) {done};; esac")
}

fn pilot(bench: &Bench, words: &[&str], agent: &str, more: &[&str]) -> Ran {
    let start = bench.start_args(agent);
    bench.samuel(&[words, &start[2..], more].concat())
}

fn modes(ran: &Ran) -> Vec<String> {
    let (events, _) = ran.events();
    let started = events.iter().filter(|event| event["event"] == "iteration_started");
    started.map(|event| event["mode"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn seed_004_a_pilot_begins_in_an_empty_directory_finds_tasks_does_them_and_ends() {
    let bench = Bench::empty();
    let finds = "if [ ! -e found ]; then touch found; for t in A B; do \"$SAMUEL_BINARY\" run enqueue $t --source \
                 pilot-discovery; done; fi";
    let ran = pilot(&bench, &["run", "pilot"], &agent(finds), &["--json"]).ends(4);
    assert_eq!(modes(&ran), ["discovery", "implementation", "implementation", "discovery", "discovery"]);
    let (_, last) = ran.events();
    assert_eq!(last["data"]["report"]["exit_reason"], "empty-discovery");
    let told: Vec<_> =
        bench.tasks().iter().map(|task| (task["status"].clone(), task["source"].clone())).collect();
    assert_eq!(
        told,
        [("completed".into(), "pilot-discovery".into()), ("completed".into(), "pilot-discovery".into())]
    );
    let ran = pilot(&bench, &["run", "ralph", "pilot"], &agent("true"), &[]).ends(4);
    assert!(ran.stdout.contains("discovery found nothing twice in a row"), "{ran:?}");
}

#[test]
fn seed_004_discover_only_works_on_no_task() {
    for words in [&["run"][..], &["auto", "ralph"], &["run", "pilot"]] {
        let bench = Bench::with_tasks(&["First"]);
        let words = [words, &["--discover-only"]].concat();
        let ran = pilot(&bench, &words, &agent("true"), &["--json"]).ends(4);
        assert_eq!(modes(&ran), ["discovery", "discovery"], "{words:?}");
        assert_eq!(bench.status("1"), "pending");
    }
}

#[test]
fn discover_only_may_stand_anywhere_on_a_run_without_a_command() {
    for words in [
        &["run", "--discover-only", "pilot", "--focus", "tasks"][..],
        &["run", "--focus", "start", "--discover-only"],
        &["run", "--discover-only", "ralph", "--focus", "x"],
        &["run", "--discover-only", "rw", "pilot"],
        &["auto", "rw", "--discover-interval", "3", "--discover-only"],
        &["--json", "run", "--discover-only"],
        &["run", "--json", "--discover-only"],
        &["-C", ".", "run", "ralph", "-C.", "--discover-only"],
    ] {
        let bench = Bench::with_tasks(&["First"]);
        let json: &[&str] = if words.contains(&"--json") { &[] } else { &["--json"] };
        let ran = pilot(&bench, words, &agent("true"), json).ends(4);
        assert_eq!(modes(&ran), ["discovery", "discovery"], "{words:?}");
    }
}

#[test]
fn discover_only_is_no_option_of_another_command_and_no_word_of_one() {
    let bench = Bench::with_tasks(&["First"]);
    for words in [["run", "--discover-only", "start"], ["run", "--discover-only", "tasks"]] {
        let ran = bench.samuel(&words).fails(2);
        says(
            &ran.stderr,
            &["--discover-only is an option of `pilot`", "Use `samuel run --discover-only` alone"],
        );
    }
    bench.ok(&["run", "enqueue", "--", "--discover-only"]);
    assert_eq!(bench.tasks().len(), 2);
}

#[test]
fn a_pilot_of_interval_3_looks_for_tasks_at_1_4_7_and_10_of_the_iterations_of_all_runs() {
    let bench = Bench::with_tasks(&["1", "2", "3", "4", "5", "6"]);
    let finds = "\"$SAMUEL_BINARY\" run enqueue More";
    let mut all = Vec::new();
    for iterations in ["5", "1", "4", "2"] {
        let more = ["--discover-interval", "3", "--max-iterations", iterations, "--json"];
        all.extend(modes(&pilot(&bench, &["run", "pilot"], &agent(finds), &more).ends(4)));
    }
    let looks =
        |mode: &str| all.iter().zip(1..).filter(|(of, _)| *of == mode).map(|(_, number)| number).collect();
    let (found, worked): (Vec<u32>, Vec<u32>) = (looks("discovery"), looks("implementation"));
    assert_eq!((found, worked.len()), (vec![1, 4, 7, 10], 8));
    let progress = bench.ok(&["run", "status", "--json"]).json()["data"]["progress"].clone();
    assert_eq!(
        (&progress["last_discovery_iteration"], &progress["completed_tasks"]),
        (&10.into(), &8.into())
    );
}

#[test]
fn a_run_that_finds_nothing_says_what_to_do_next_and_that_its_agent_has_to_add_tasks() {
    let bench = Bench::empty();
    let ran = pilot(&bench, &["run", "pilot"], "true", &[]).ends(4);
    says(&ran.stderr, &["hint: the command is given each prompt", "`$SAMUEL_BINARY run enqueue <title>`"]);
    says(
        &ran.stderr,
        &["help: Read .samuel/run/progress.md. Then say with --focus what to look at, or add tasks"],
    );
    let help = bench.ok(&["run", "pilot", "--help"]).stdout;
    assert!(!help.contains("--task "), "it is refused: {help}");
}

#[test]
fn the_status_names_the_discovery_and_the_call_that_are_under_way() {
    let bench = Bench::empty();
    let start = bench.start_args("");
    let at_work = agent("touch at-work; sleep 60");
    let words = [&["run", "pilot"], &start[2..12], &[at_work.as_str()]].concat();
    let mut running = bench.spawn(&words);
    wait_for_file(&bench.path("at-work"));
    says(
        &bench.ok(&["run", "status"]).stdout,
        &["At work    looking for tasks\n", "Agent      command, the configured agent\n"],
    );
    let call = bench.ok(&["run", "status", "--json"]).json()["data"]["calls"][0].clone();
    assert_eq!((&call["agent"], &call["iteration"]), (&"command".into(), &1.into()), "{call}");
    running.signal(rustix::process::Signal::KILL);
    running.child.wait().unwrap();
    let after = bench.ok(&["run", "status"]).stdout;
    assert!(!after.contains("At work") && !after.contains("Agent "), "{after}");
}

#[test]
fn seed_004_phase_8_a_pilot_is_set_in_its_table_and_by_options() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.write(
        "samuel.toml",
        "version = \"2\"\n[methodology.ralph.pilot]\nenabled = true\ndiscover_interval = 2\n\
         max_discovery_tasks = 7\nfocus = \"testing\"\n",
    );
    let seen = pilot(&bench, &["run", "start"], &agent("true"), &["--dry-run"]).stdout;
    says(&seen, &["Look for missing, weak or failing tests.", "Add at most 7 tasks"]);
    let seen =
        pilot(&bench, &["run", "pilot"], &agent("true"), &["--dry-run", "--focus", "the lexer"]).stdout;
    says(&seen, &["the lexer", "Add at most 7 tasks"]);
    let ran = pilot(&bench, &["run", "start"], &agent("true"), &["--json", "--max-iterations", "3"]);
    assert_eq!(modes(&ran), ["discovery", "implementation", "discovery"], "{ran:?}");
}

#[test]
fn a_discovery_adds_no_more_than_it_may_whoever_asks_and_however_many_at_once() {
    // Through the loop, and with the files.
    for leaves_loop in ["", "unset SAMUEL_SOCKET SAMUEL_TOKEN; "] {
        let bench = Bench::empty();
        let many = "for n in $(seq 32); do \"$SAMUEL_BINARY\" run enqueue \"task $n\" --json > out.$n & done; wait; exit 7";
        let more = ["--max-discovery-tasks", "3", "--max-iterations", "1"];
        let ran = pilot(&bench, &["run", "pilot"], &agent(&format!("{leaves_loop}{many}")), &more).ends(4);
        assert_eq!(bench.tasks().len(), 3, "{leaves_loop}");
        let refused = (1..=32).filter(|n| bench.read(&format!("out.{n}")).contains("E_DISCOVERY_FULL"));
        assert_eq!(refused.count(), 29, "{leaves_loop}");
        let told = "a discovery iteration is under way, and it has added as many tasks as it may";
        assert!((1..=32).any(|n| bench.read(&format!("out.{n}")).contains(told)));
        let said = "not added, the discovery iteration has added as many tasks as it may: task ";
        assert!(ran.text().contains(said) || !leaves_loop.is_empty(), "{ran:?}");
        let log = bench.read(".samuel/run/progress.md");
        let lines = log.lines().filter(|line| line.contains(&format!("FOUND: {said}")));
        assert!((1..=29).contains(&lines.count()), "{log}");
        // It has ended with its iteration.
        bench.ok(&["run", "enqueue", "one more"]);
    }
}

#[test]
fn a_discovery_may_ask_about_the_last_task_it_had_room_for_and_the_end_says_how_to_answer() {
    let bench = Bench::empty();
    let asks = "if [ ! -e found ]; then touch found; \"$SAMUEL_BINARY\" run enqueue A; \
                \"$SAMUEL_BINARY\" run ask 1 'Which?'; \"$SAMUEL_BINARY\" run enqueue B; true; fi";
    let ran = pilot(&bench, &["run", "pilot"], &agent(asks), &["--max-discovery-tasks", "1"]).ends(4);
    assert_eq!(bench.tasks().len(), 1, "{ran:?}");
    says(&ran.stdout, &["asked: 1 A: Which?", "iteration 3: discovery"]);
    assert_eq!(ran.text().matches("not added, the discovery").count(), 1, "told once: {ran:?}");
    says(&ran.stderr, &["discovery found nothing twice in a row; 1 waits for an answer: Which?"]);
    says(&ran.stderr, &["open those that are blocked with `samuel run answer`"]);
}

#[test]
fn a_discovery_that_was_killed_keeps_nobody_from_adding_tasks() {
    let bench = Bench::empty();
    let fills = "\"$SAMUEL_BINARY\" run enqueue A; touch full; sleep 60";
    let start = bench.start_args("");
    let agent = agent(fills);
    let words = [&["run", "pilot", "--max-discovery-tasks", "1"], &start[2..12], &[agent.as_str()]].concat();
    let mut running = bench.spawn(&words);
    running.wait_for("A");
    let ran = bench.samuel(&["run", "enqueue", "B"]).fails(1);
    assert!(ran.stderr.contains("a discovery iteration is under way"), "{ran:?}");
    running.signal(rustix::process::Signal::KILL);
    running.child.wait().unwrap();
    bench.ok(&["run", "enqueue", "B"]);
}

#[test]
fn the_status_and_a_dry_run_know_that_tasks_are_looked_for_next() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("pilot = true");
    assert!(bench.ok(&["run"]).stdout.contains("Next       look for tasks"));
    assert_eq!(bench.ok(&["run", "status", "--json"]).json()["data"]["next"]["kind"], "discovery");
    let before = bench.files();
    let ran =
        bench.samuel(&["run", "pilot", "--dry-run", "--agent-command", "true", "--focus", "error handling"]);
    assert!(ran.code == 0 && ran.stdout.contains("error handling"), "{ran:?}");
    assert!(ran.stdout.contains("it only looks for tasks"), "{ran:?}");
    assert_eq!(bench.files(), before);
}

#[test]
fn a_dry_run_without_a_plan_looks_at_an_empty_one_and_writes_nothing() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["run", "pilot", "--dry-run", "--agent-command", "true"]);
    assert!(ran.code == 0 && ran.stdout.contains("it only looks for tasks"), "{ran:?}");
    assert_eq!(bench.files(), []);
}

#[test]
fn a_pilot_is_not_warned_of_its_empty_plan() {
    let bench = Bench::empty();
    let ran = pilot(&bench, &["run", "--discover-only"], &agent("true"), &[]).ends(4);
    assert!(ran.stderr.contains("the run begins with an empty one"), "{ran:?}");
    assert!(!ran.text().contains("the plan has no tasks"), "{ran:?}");
}

#[test]
fn bad_options_are_refused_before_anything_is_made() {
    let bench = Bench::empty();
    for (more, told) in [
        (&["--discover-interval", "0"][..], "expected a whole number of at least 1"),
        (&["--max-discovery-tasks", "0"], "expected a whole number of at least 1"),
        (&["--task", "1"], "a run that is for some tasks looks for no others"),
    ] {
        let ran = pilot(&bench, &["run", "pilot"], "true", more).fails(2);
        assert!(ran.stderr.contains(told), "{ran:?}");
        assert_eq!(bench.files(), []);
    }
}

#[test]
fn a_focus_without_measure_and_an_interval_of_0_are_refused_at_their_place_and_touch_nothing() {
    for (setting, told) in [
        (
            format!("focus = \"{}\"", "f".repeat(100_000)),
            "pilot.focus: text of 100000 bytes is out of range, expected text of at most 4096 bytes",
        ),
        (
            "discover_interval = 0".to_owned(),
            "pilot.discover_interval: 0 is out of range, expected a whole number of at least 1",
        ),
    ] {
        let bench = Bench::with_tasks(&["First"]);
        bench.write("samuel.toml", &format!("version = \"2\"\n[methodology.ralph.pilot]\n{setting}\n"));
        let before = bench.files();
        let ran = pilot(&bench, &["run", "pilot"], &agent("true"), &[]).ends(2);
        says(&ran.stderr, &[told, "samuel.toml:3:", "Change the value, or remove the key."]);
        assert!(ran.stderr.len() < 2_000, "{} bytes", ran.stderr.len());
        assert!(bench.files() == before, "a file was changed");
    }
    // A file of that size is refused before any of it is read.
    let bench = Bench::with_tasks(&["First"]);
    bench.configure(&format!("pilot = {{ focus = \"{}\" }}", "f".repeat(1 << 20)));
    let before = bench.files();
    let ran = pilot(&bench, &["run", "pilot"], &agent("true"), &[]).ends(2);
    says(&ran.stderr, &["samuel.toml:1:1: the file is larger than 262144 bytes"]);
    assert!(bench.files() == before, "a file was changed");
    let bench = Bench::with_tasks(&["First"]);
    let (long, before) = ("f".repeat(5_000), bench.files());
    let ran = pilot(&bench, &["run", "pilot"], &agent("true"), &["--focus", &long]).ends(2);
    says(&ran.stderr, &["--focus", "text of at most 4096 bytes"]);
    assert!(bench.files() == before, "a file was changed");
}

#[test]
fn a_pilot_that_is_refused_leaves_the_repository_as_it_was() {
    let bench = Bench::empty();
    let before = bench.files();
    let start = bench.start_args("true");
    let untrusted: Vec<&str> = ["run", "pilot"]
        .into_iter()
        .chain(start[2..].iter().copied().filter(|word| *word != "--yes"))
        .collect();
    let ran = bench.samuel(&untrusted).ends(78);
    says(&ran.stderr, &["wrote ", "removed ", "nothing was run"]);
    assert_eq!(bench.files(), before);
    assert!(!bench.path(".samuel").exists());
    // What is there already stays.
    bench.configure("max_iterations = 1");
    bench.write(".samuel/notes.md", "mine\n");
    let before = bench.files();
    bench.samuel(&untrusted).ends(78);
    assert_eq!(bench.files(), before);
    assert!(!bench.path(".samuel/run").exists());
    // What has run stays.
    pilot(&bench, &["run", "pilot"], "true", &[]);
    assert!(bench.path(".samuel/run/prd.toon").exists());
}
