//! `samuel` and `samuel run` alone.

use crate::bench::{Bench, Ran};

#[test]
fn run_alone_without_a_plan_says_what_to_do_and_fails() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["run"]).fails(1);
    for step in ["samuel run init\n", "samuel run init --prd <path>", "samuel run pilot", "samuel run --help"]
    {
        assert!(ran.stderr.contains(step), "{step} is not in {}", ran.stderr);
    }
    assert_eq!(bench.files(), []);
    let document = bench.samuel(&["run", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_STATE_NOT_INITIALISED");
}

#[test]
fn run_alone_with_a_plan_shows_its_status_and_changes_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.files();
    for args in [&["run"][..], &["run", "ralph"], &["run", "rw"], &["auto"], &["run", "status"]] {
        let ran = bench.ok(args);
        assert!(ran.stdout.contains("Next       1 First"), "{ran:?}");
    }
    assert_eq!(bench.files(), before);
}

#[test]
fn the_status_is_typed_for_programs() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "done", "1"]);
    let data = bench.ok(&["run", "--json"]).json()["data"].clone();
    assert_eq!((&data["tasks"]["total"], &data["tasks"]["completed"]), (&2.into(), &1.into()));
    assert_eq!((&data["next"]["kind"], &data["next"]["task"]["id"]), (&"task".into(), &"2".into()));
    assert_eq!((&data["running"], &data["methodology"]), (&false.into(), &"ralph".into()));
}

#[test]
fn the_version_needs_no_project_and_no_environment() {
    let bench = Bench::empty();
    let mut command = bench.command(&["--version"]);
    command.env_clear();
    assert_eq!(Ran::of(command).stdout, format!("samuel {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_goes_to_stdout_and_auto_says_that_it_is_an_alias() {
    let bench = Bench::empty();
    let help = bench.ok(&["auto", "--help"]).stdout;
    assert!(help.contains("(alias for samuel run)"), "{help}");
    for command in ["init", "convert", "start", "status", "tasks", "done", "skip", "reset", "enqueue", "task"]
    {
        assert!(help.contains(&format!("\n  {command}")), "{command} is not in {help}");
    }
    assert!(!bench.ok(&["--help"]).stdout.contains("__supervise"));
}

#[test]
fn the_help_of_a_command_is_headed_by_what_it_does() {
    let bench = Bench::empty();
    for (command, says) in [
        (&["run", "enqueue"][..], "Add a task; its id is the next free number\n"),
        (&["run", "task", "add"], "Add a task with an id of your own\n"),
    ] {
        let help = bench.ok(&[command, &["--help"]].concat()).stdout;
        assert!(help.starts_with(says), "{help}");
    }
}

#[test]
fn the_help_of_deny_says_what_it_takes_and_how_it_ends() {
    let help = Bench::empty().ok(&["run", "deny", "--help"]).stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    crate::bench::says(
        &words.join(" "),
        &[
            "Deny a tool call that waits for a person",
            "--call <NUMBER> [TEXT]",
            "Why, which the agent is told",
            "`samuel run status` lists the calls that wait, with their numbers.",
            "Exit codes: 0 told, 1 the call does not wait or no loop runs, 2 the text is none",
        ],
    );
}

#[test]
fn the_help_of_each_word_with_the_loop_says_how_it_ends() {
    let bench = Bench::empty();
    for verb in ["pause", "resume", "steer", "stop", "attach", "approve", "deny"] {
        let help = bench.ok(&["run", verb, "--help"]).stdout;
        let words: Vec<&str> = help.split_whitespace().collect();
        crate::bench::says(&words.join(" "), &["Exit codes: 0 ", ", 1 "]);
    }
}

#[test]
fn the_help_of_a_start_says_what_it_prints_for_programs() {
    let help = Bench::empty().ok(&["run", "start", "--help"]).stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("one document; a run and `run log` one per line"), "{help}");
}

#[test]
fn every_flag_of_a_start_stands_in_the_readme() {
    let help = Bench::empty().ok(&["run", "start", "--help"]).stdout;
    let readme = include_str!("../../../README.md");
    let line = readme.lines().find(|line| line.starts_with("| `samuel run start`")).unwrap();
    let options = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let flags = options.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    // A sentence may end with one at the start of a line.
    let flags = flags.map(|flag| flag.trim_end_matches('.'));
    let own: Vec<&str> =
        flags.filter(|flag| !["--json", "--directory", "--verbose", "--help"].contains(flag)).collect();
    assert!(own.len() > 10, "{help}");
    for flag in own {
        assert!(line.contains(&format!("`{flag}`")), "{flag}: {line}");
    }
}

#[test]
fn without_a_command_only_those_for_people_are_listed() {
    let ran = Bench::empty().samuel(&["--json"]);
    let error = ran.json()["error"].to_string();
    assert!(ran.code == 2 && error.contains("doctor") && !error.contains("__supervise"), "{error}");
}

#[test]
fn an_unknown_command_is_answered_with_the_nearest() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["runn"]).fails(2);
    assert!(ran.stderr.contains("'run'"), "{}", ran.stderr);
}

#[test]
fn a_wrong_command_line_is_one_document_too() {
    let bench = Bench::with_tasks(&[]);
    let ran = bench.samuel(&["run", "enqueue", "x", "--priority", "urgent", "--json"]);
    let document = ran.json();
    assert_eq!((ran.code, &document["command"]), (2, &"run enqueue".into()));
    assert_eq!((&document["ok"], &document["error"]["code"]), (&false.into(), &"E_USAGE".into()));
}
