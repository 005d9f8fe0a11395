//! What a run is held to, and what a start says of it: tasks, limits, warnings, the agent.

use crate::bench::{Bench, says};

/// An agent that records its task as done.
const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

#[test]
fn a_run_for_some_tasks_works_on_them_alone_and_ends_as_completed() {
    let bench = Bench::with_tasks(&["First", "Second", "Third", "Fourth"]);
    bench.ok(&["run", "done", "4"]);
    let ran = bench.start(DONE, &["--task", "3", "--task", "1", "--task", "4"]).ends(0);
    says(
        &ran.stdout,
        &[", for 3, 1, 4, and what that depends on\n", "iteration 2: 3 Third\n", "tasks left: 1 (2)\n"],
    );
    says(&ran.stderr, &["warning: task 4, which the run is for, is completed already. Reset the task"]);
    assert_eq!((bench.status("2"), bench.status("3")), ("pending".to_owned(), "completed".to_owned()));
    let preview = bench.ok(&["run", "start", "--dry-run", "--agent-command", "true", "--task", "3"]);
    says(&preview.stdout, &["none: completed: 3, which the run was for, is completed or skipped"]);
}

#[test]
fn a_task_that_is_not_in_the_plan_is_refused_with_the_nearest() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "task", "add", "setup", "Second"]);
    for more in [&[][..], &["--dry-run"]] {
        let ran = bench.start(DONE, &[&["--task", "stup"][..], more].concat()).fails(1);
        says(&ran.stderr, &["the plan has no task stup", "Did you mean setup? List the tasks"]);
    }
    assert_eq!(bench.status("1"), "pending");
}

#[test]
fn no_iterations_is_no_limit_in_the_file_and_as_an_option() {
    for (config, option) in
        [("max_iterations = 1", &["--max-iterations", "0"][..]), ("max_iterations = 0", &[])]
    {
        let bench = Bench::with_tasks(&["First", "Second", "Third"]);
        bench.configure(config);
        let ran = bench.start(DONE, option).ends(0);
        assert!(!ran.stdout.contains("at most"), "{ran:?}");
        assert!(!ran.stderr.contains("tasks are left to do"), "{ran:?}");
    }
}

#[test]
fn each_limit_has_an_option_that_its_end_names() {
    let ends = |agent: &str, option: [&str; 2], reason: &str| {
        let bench = Bench::with_tasks(&["First", "Second"]);
        let ran = bench.start(agent, &option).ends(4);
        says(&ran.stderr, &[reason, &format!("or pass a higher {}", option[0])]);
    };
    let fails_later = "test -e made && exit 3; touch made; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    let reason = "consecutive-failures: an iteration failed, and the limit is 1";
    ends(fails_later, ["--max-failures", "1"], reason);
    ends("sleep 60", ["--max-time", "1s"], "wall-clock: the limit of 1s was reached");
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start(DONE, &["--max-cost", "0.5"]).ends(0);
    says(&ran.stderr, &["session_budget.max_cost_usd never ends a run"]);
    for (option, value, rule) in [
        ("--max-cost", "free", "expected a number, found text"),
        ("--max-time", "0s", "expected a duration from 1s to 720h"),
        ("--max-failures", "0", "expected a whole number of at least 1"),
    ] {
        says(&bench.samuel(&["run", "start", option, value]).fails(2).stderr, &[option, rule]);
    }
}

#[test]
fn a_plan_that_is_longer_than_a_run_is_told_of_when_it_is_made_and_when_it_is_begun() {
    let bench = Bench::empty();
    let tasks: String = (1..=22).map(|number| format!("- [ ] Write part {number} of it\n")).collect();
    bench.write("prd.md", &format!("# Parts\n\n## Tasks\n\n{tasks}"));
    let told = "warning: 22 tasks are left to do, but a run that starts now makes at most 20 iterations, with one \
                task in each. Start again as often as it takes, or raise max_iterations in samuel.toml, where 0 sets \
                no limit.\n";
    let made = bench.ok(&["run", "init", "--prd", "prd.md"]);
    let converted = bench.ok(&["run", "convert", "--force", "prd.md"]);
    let begun = bench.start("exit 1", &["--max-failures", "1"]).ends(4);
    for ran in [made, converted, begun] {
        assert_eq!(ran.stderr.matches(told).count(), 1, "{ran:?}");
    }
    let begun = bench.start("exit 1", &["--max-failures", "1", "--max-iterations", "22"]).ends(4);
    assert!(!begun.stderr.contains("left to do"), "{begun:?}");
}

#[test]
fn what_makes_a_run_worth_less_is_warned_of_once_with_what_to_do() {
    let bench = Bench::with_tasks(&["First"]);
    let unchecked = "warning: no quality checks are configured, so what an agent calls done is done. Set \
                     quality_checks in samuel.toml";
    let alone = "warning: the project is not in a git repository, so nothing an agent does can be undone. Run `git \
                 init`";
    let dry = bench.ok(&["run", "start", "--dry-run", "--agent-command", "true"]);
    let ran = bench.start(DONE, &[]).ends(0);
    for ran in [dry, ran] {
        assert_eq!([unchecked, alone].map(|told| ran.stderr.matches(told).count()), [1, 1], "{ran:?}");
    }
    bench.ok(&["run", "reset", "1"]);
    bench.configure("quality_checks = [\"true\"]");
    bench.make_repository(&["."]);
    let quiet = bench.start("exit 1", &["--max-failures", "1"]).ends(4);
    assert!(!quiet.stderr.contains("warning: "), "{quiet:?}");
    bench.write("new.txt", "");
    let dirty = bench.start("exit 1", &["--max-failures", "1"]).ends(4);
    let told = "warning: 1 file is not committed (new.txt), so it cannot be told from what the agent does. Commit \
                or stash what is not committed first.";
    assert_eq!(dirty.stderr.matches("warning: ").count(), 1, "{dirty:?}");
    says(&dirty.stderr, &[told]);
}

#[test]
fn an_agent_that_is_missing_is_told_of_with_its_place_before_anything_else() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("agent = \"claude\"");
    let ran = bench.samuel_where("PATH", "/nowhere", &["run", "start", "--yes"]).fails(1);
    says(&ran.stderr, &["samuel.toml:3:", "needs the program \"claude\"", "Install the agent"]);
    assert!(!ran.stderr.contains("This run executes"), "{ran:?}");
}
