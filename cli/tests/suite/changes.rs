//! Commands that change the plan.

use std::collections::BTreeSet;

use crate::bench::{Bench, Ran};

#[test]
fn done_keeps_what_it_was_told_first() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "done", "1", "--commit-sha", "abcd", "--iteration", "5"]);
    bench.ok(&["run", "done", "1"]);
    let task = &bench.tasks()[0];
    assert_eq!((&task["commit_sha"], &task["iteration"]), (&"abcd".into(), &5.into()));
    assert!(task["completed_at"].is_string() && task["created_at"].is_string());
}

#[test]
fn a_commit_that_is_not_there_is_left_out() {
    let bench = Bench::with_tasks(&["First", "Second", "Third", "Fourth"]);
    bench.ok(&["run", "done", "1", "--commit-sha", ""]);
    bench.ok(&["run", "done", "2", "--commit-sha", " \n"]);
    bench.ok(&["run", "done", "3", "--commit-sha"]);
    bench.ok(&["run", "done", "4", "--commit-sha", &"0123456789abcDEF".repeat(4)]);
    let tasks = bench.tasks();
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{tasks:?}");
    assert!(tasks[..3].iter().all(|task| task["commit_sha"].is_null()), "{tasks:?}");
    assert_eq!(tasks[3]["commit_sha"].as_str().unwrap().len(), 64);
}

#[test]
fn what_is_no_commit_is_refused_with_the_way_out() {
    let bench = Bench::with_tasks(&["First"]);
    for text in ["abc", "HEAD", "main", "abcd 1234", &"a".repeat(65)] {
        let ran = bench.samuel(&["run", "done", "1", "--commit-sha", text]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}: {ran:?}");
        let way_out = "4 to 64 hexadecimal digits; leave it out where there is none";
        assert!(ran.stderr.contains(way_out), "{ran:?}");
    }
    assert_eq!(bench.status("1"), "pending");
}

#[test]
fn the_command_of_the_prompt_works_without_git_and_without_a_commit() {
    for (has_repository, command) in [(false, "run done 1$"), (true, "run done 1 --commit-sha")] {
        let bench = Bench::with_tasks(&["First"]);
        if has_repository {
            let made =
                std::process::Command::new("git").args(["init", "-q"]).current_dir(bench.root()).status();
            assert!(made.unwrap().success());
        }
        let ran = bench.start(&format!("grep '{command}' | head -1 > do.sh; sh do.sh"), &[]);
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        assert!(bench.tasks()[0]["commit_sha"].is_null(), "{command}");
    }
}

#[test]
fn tasks_are_listed_with_their_ids_in_a_column() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "task", "add", "1.10", "Tenth"]);
    let listed = bench.ok(&["run", "tasks"]).stdout;
    assert_eq!(listed, "[ ] 1     medium    First\n[ ] 1.10  medium    Tenth\n");
}

#[test]
fn a_task_that_is_not_there_is_an_error_and_changes_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let before = std::fs::read(bench.prd()).unwrap();
    for command in ["done", "skip", "reset"] {
        let ran = bench.samuel(&["run", command, "999"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        assert_eq!(
            ran.stderr,
            "error: there is no task 999\nhelp: List the tasks with `samuel run tasks`.\n"
        );
        let document = bench.samuel(&["run", command, "999", "--json"]).json();
        assert_eq!(document["error"]["code"], "E_TASK_NOT_FOUND");
    }
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
}

#[test]
fn skip_stores_its_reason_and_reset_clears_it() {
    let bench = Bench::with_tasks(&["First", "Second", "Third"]);
    bench.ok(&["run", "skip", "3", "--reason", "not now"]);
    assert_eq!(
        (bench.status("3").as_str(), &bench.tasks()[2]["skip_reason"]),
        ("skipped", &"not now".into())
    );
    bench.ok(&["run", "reset", "3"]);
    assert_eq!(
        (bench.status("3").as_str(), &bench.tasks()[2]["skip_reason"]),
        ("pending", &serde_json::Value::Null)
    );
}

#[test]
fn a_wrong_word_is_answered_with_those_that_would_do() {
    let bench = Bench::with_tasks(&[]);
    let ran = bench.samuel(&["run", "enqueue", "x", "--priority", "urgent"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("critical, high, medium, low"), "{}", ran.stderr);
    assert_eq!(bench.samuel(&["run", "enqueue", ""]).code, 2);
    assert_eq!(bench.samuel(&["run", "enqueue", "a\nb"]).code, 2);
    assert_eq!(bench.tasks().len(), 0);
}

#[test]
fn every_detail_of_a_new_task_is_stored() {
    let bench = Bench::with_tasks(&["First"]);
    let title = "a, \"b\" | #c: 日本語 🚀";
    let details = ["--priority", "high", "--complexity", "complex", "--source", "pilot-discovery"];
    let more = ["--description", "one\ntwo", "--depends-on", "1"];
    bench.ok(&[&["run", "enqueue", title][..], &details, &more].concat());
    let document = bench.ok(&["run", "task", "add", "1.10", "Ten", "--depends-on", "1,2", "--json"]).json();
    assert_eq!(document["data"]["task"]["parent_id"], "1");
    let tasks = bench.tasks();
    assert_eq!((&tasks[1]["id"], &tasks[1]["title"]), (&"2".into(), &title.into()));
    assert_eq!((&tasks[1]["priority"], &tasks[1]["complexity"]), (&"high".into(), &"complex".into()));
    assert_eq!(
        (&tasks[1]["source"], &tasks[1]["description"]),
        (&"pilot-discovery".into(), &"one\ntwo".into())
    );
    assert_eq!((&tasks[2]["id"], &tasks[2]["depends_on"]), (&"1.10".into(), &serde_json::json!(["1", "2"])));
    assert_eq!(bench.samuel(&["run", "task", "add", "1.10", "Again"]).code, 1);
}

#[test]
fn ids_are_unique_under_32_writers() {
    let bench = Bench::with_tasks(&[]);
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let write = |n: usize| {
            let document = bench.ok(&["run", "enqueue", &format!("task {n}"), "--json"]).json();
            document["data"]["task"]["id"].as_str().unwrap().to_owned()
        };
        let writers: Vec<_> = (0..32).map(|n| scope.spawn(move || write(n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!((ids.len(), bench.tasks().len()), (32, 32));
}

#[test]
fn of_the_tasks_2_to_10_with_one_priority_2_is_next() {
    let bench = Bench::with_tasks(&["1"; 10]);
    bench.ok(&["run", "done", "1"]);
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["next"]["task"]["id"], "2");
}

#[test]
fn a_subdirectory_belongs_to_the_project_around_it() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("src/deep/x.rs", "");
    assert_eq!(bench.samuel_in("src/deep", &["run", "done", "1"]).code, 0);
    assert_eq!(bench.status("1"), "completed");
}

#[test]
fn another_project_can_be_named() {
    let (bench, other) = (Bench::with_tasks(&["First"]), Bench::empty());
    let root = bench.root();
    assert_eq!(other.ok(&["-C", root.to_str().unwrap(), "run", "done", "1"]).stdout, "1 is completed\n");
    let ran = other.samuel(&["run", "tasks", "-C", "/nowhere/at/all"]);
    assert_eq!((ran.code, ran.stderr.lines().next()), (2, Some("error: /nowhere/at/all is not a directory")));
}

#[test]
fn a_change_from_inside_a_run_knows_its_project_and_iteration() {
    let (bench, elsewhere) = (Bench::with_tasks(&["First"]), Bench::empty());
    let mut command = elsewhere.command(&["run", "done", "1"]);
    command.env("SAMUEL_RUN_ID", "r").env("SAMUEL_ITERATION", "4").env("SAMUEL_PROJECT_ROOT", bench.root());
    assert_eq!(Ran::of(command).code, 0);
    assert_eq!(bench.tasks()[0]["iteration"], 4);
    assert!(bench.read(".samuel/run/journal.jsonl").contains("\"actor\":\"agent\""));
}

#[test]
fn titles_cannot_act_on_the_terminal() {
    let bench = Bench::with_tasks(&["naïve 日本語 🚀 \u{202e}gnp.exe \u{1b}[2J"]);
    let listed = bench.ok(&["run", "tasks"]).stdout;
    assert_eq!(listed, "[ ] 1  medium    naïve 日本語 🚀 \\u{202e}gnp.exe \\u{1b}[2J\n");
    assert_eq!(bench.tasks()[0]["title"], "naïve 日本語 🚀 \u{202e}gnp.exe \u{1b}[2J");
}

#[test]
fn a_change_waits_for_a_plan_that_the_loop_is_about_to_put_back() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    // As `git clean -fdx` does it.
    let agent = "[ -e ../once ] || { touch ../once; rm -rf .samuel; \"$SAMUEL_BINARY\" run tasks 2>../told; }; \
                 \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\" 2>>../told";
    let ran = bench.start(agent, &["--max-iterations", "2"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "completed"));
    let told = std::fs::read_to_string(bench.root().parent().unwrap().join("told")).unwrap();
    assert!(!told.contains("samuel run init") && !told.contains("samuel run restore"), "{told}");
}

#[test]
fn a_progress_log_that_is_removed_is_told_once_and_begins_with_that() {
    for removed in [".samuel", ".samuel/run/progress.md"] {
        let bench = Bench::with_tasks(&["First", "Second"]);
        let agent = format!(
            "[ -e ../once ] || {{ touch ../once; rm -r {removed}; }}; \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\""
        );
        let ran = bench.start(&agent, &["--max-iterations", "2"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let told = "progress.md was removed while a loop was at work";
        assert_eq!(ran.stderr.matches(told).count(), 1, "{removed}: {ran:?}");
        let log = bench.read(".samuel/run/progress.md");
        assert!(log.lines().next().unwrap().contains(told), "{removed}: {log}");
        assert!(!bench.start(&agent, &[]).stderr.contains(told), "it is not told again");
    }
}

#[test]
fn a_completed_task_that_is_skipped_is_said_to_have_been_completed() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "done", "1"]);
    assert_eq!(bench.ok(&["run", "skip", "1"]).stdout, "1 is skipped; it was completed before\n");
    assert_eq!(bench.ok(&["run", "skip", "2"]).stdout, "2 is skipped\n");
}
