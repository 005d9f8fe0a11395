//! Task budgets, the forecast and what a start says of them.

use crate::bench::{Bench, Ran};

/// An agent that calls a tool of Samuel's and fails at task 4, and completes every other one.
const POISONED: &str = "cat > /dev/null; if [ \"$SAMUEL_TASK_ID\" = 4 ]; then date +%s%N >> tried; exit 7; fi; \
                        \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

fn titles() -> Vec<String> {
    (1..=10).map(|n| format!("Task {n}")).collect()
}

fn ten_tasks() -> Bench {
    let titles = titles();
    Bench::with_tasks(&titles.iter().map(String::as_str).collect::<Vec<_>>())
}

fn tries(bench: &Bench) -> usize {
    bench.read("tried").lines().count()
}

fn report(ran: &Ran) -> serde_json::Value {
    ran.events().1["data"]["report"].clone()
}

#[test]
fn a_poison_task_of_ten_is_blocked_after_its_attempts_and_the_nine_others_are_done() {
    let bench = ten_tasks();
    let ran = bench.start(POISONED, &[]).ends(3);
    assert_eq!(tries(&bench), 3);
    let blocked = |n: usize| n == 4;
    for n in 1..=10 {
        let expected = if blocked(n) { "blocked" } else { "completed" };
        assert_eq!(bench.status(&n.to_string()), expected, "task {n}");
    }
    let reason = "3 attempts have failed (task_budget.max_attempts); the last one: agent-exit:";
    assert!(ran.text().contains(reason), "{ran:?}");
    let guards = ran.text().lines().filter(|line| line.contains("guards: ")).count();
    assert_eq!(guards, 1, "{ran:?}");
}

#[test]
fn require_change_refuses_an_empty_completion() {
    for (keys, is_repository) in
        [("", false), ("", true), ("\n[sandbox]\nworkspace = \"clone\"", true), ("parallel.jobs = 2", true)]
    {
        let bench = Bench::with_tasks(&["First", "Second"]);
        bench.configure(&format!("require_change = true\n{keys}"));
        bench.write("a.txt", "one\n");
        if is_repository {
            bench.make_repository(&["a.txt", "samuel.toml"]);
        }
        // The second attempt at task 2 records the work of the first one.
        let tried = bench.tmp().join("tried").display().to_string();
        let first = format!("test -e {tried} || {{ touch {tried}; echo x > made; exit 0; }}");
        let agent = format!(
            "cat > /dev/null; if test $SAMUEL_TASK_ID = 2; then {first}; fi; \
             \"$SAMUEL_BINARY\" run done $SAMUEL_TASK_ID"
        );
        let ran = bench.start(&agent, &["--max-attempts", "2"]).ends(3);
        let stands = (bench.status("1"), bench.status("2"));
        assert_eq!(stands, ("blocked".to_owned(), "completed".to_owned()), "{keys}: {ran:?}");
        let why = "nothing was changed since task 1 began (require_change)";
        assert!(ran.stdout.contains(why), "{keys}: {ran:?}");
    }
}

#[test]
fn require_change_refuses_another_empty_task() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.configure("require_change = true");
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    let agent = "cat > /dev/null; \"$SAMUEL_BINARY\" run done 2";
    let ran = bench.start(agent, &["--max-iterations", "1"]).ends(4);
    assert_eq!(bench.status("2"), "pending", "{ran:?}");
    let why = "nothing was changed since task 2 began (require_change)";
    assert!(ran.stdout.contains(why), "{ran:?}");
}

#[test]
fn require_change_refuses_what_cannot_be_compared() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("require_change = true");
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    let agent = "cat > /dev/null; git update-index --split-index; \"$SAMUEL_BINARY\" run done 1";
    let ran = bench.start(agent, &["--max-iterations", "1"]).ends(4);
    assert_eq!(bench.status("1"), "pending", "{ran:?}");
    assert!(ran.stdout.contains("no change is known since task 1 began"), "{ran:?}");
}

#[test]
fn credits_work_of_an_earlier_run() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("require_change = true\nquality_checks = [\"test -e ../home/ready\"]");
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    let commit = "echo two > a.txt; git commit --quiet --all --message Two";
    let agent = format!(
        "cat > /dev/null; grep -q two a.txt || {{ {commit}; }}; \
         \"$SAMUEL_BINARY\" run done 1 --commit-sha \"$(git rev-parse HEAD)\""
    );
    bench.start(&agent, &["--max-iterations", "1"]).ends(4);
    assert_eq!(bench.status("1"), "pending");
    bench.write("../home/ready", "");
    bench.start(&agent, &[]).ends(0);
    let task = &bench.tasks()[0];
    assert_eq!(
        (task["marks"].is_null(), &task["commit_sha"]),
        (true, &bench.git(&["rev-parse", "HEAD"]).into())
    );
}

#[test]
fn a_task_that_is_reset_has_new_attempts_in_a_later_run() {
    let bench = ten_tasks();
    let ran = bench.start(POISONED, &["--max-attempts", "2", "--json"]).ends(3);
    assert_eq!((tries(&bench), &report(&ran)["exit_reason"]), (2, &"blocked".into()));
    bench.ok(&["run", "reset", "4"]);
    bench.start(POISONED, &["--max-attempts", "2"]).ends(3);
    assert_eq!((tries(&bench), bench.status("4").as_str()), (4, "blocked"));
}

#[test]
fn a_start_and_a_dry_run_list_the_guards() {
    let bench = ten_tasks();
    let ran = bench.start(POISONED, &["--max-attempts", "5", "--dry-run"]).ends(0);
    assert!(ran.text().contains("guards: ") && ran.text().contains("5 failed attempts a task"), "{ran:?}");
    let ran = bench.start(POISONED, &["--max-attempts", "1", "--max-iterations", "1", "--json"]).ends(4);
    assert!(ran.stdout.contains("task_budget.max_attempts"), "{ran:?}");
}
