//! prd.toon as people and agents leave it.

use crate::bench::{AtTerminal, Bench, says, wait_for_file};

/// An agent that records its task as done.
const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

fn edited(edit: impl Fn(String) -> String) -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let text = edit(bench.read(".samuel/run/prd.toon"));
    std::fs::write(bench.prd(), text).unwrap();
    bench
}

#[test]
fn a_row_with_a_wrong_cell_count_is_skipped_told_and_kept() {
    let bench =
        edited(|text| {
            text.lines()
                .map(|line| {
                    if line.contains("Second") {
                        "  2,Second,broken\n".to_owned()
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect()
        });
    let ran = bench.ok(&["run", "tasks"]);
    assert!(ran.stdout.contains("First") && !ran.stdout.contains("Second"), "{ran:?}");
    assert!(ran.stderr.contains("prd.toon:"), "{ran:?}");
    // A save moves the row, so this is the last command that knows the line.
    let warned = bench.ok(&["run", "done", "1"]).stderr;
    assert!(warned.starts_with("warning: ") && warned.contains("prd.toon:13:3: "), "{warned}");
    assert!(bench.read(".samuel/run/prd.toon").contains("2,Second,broken"));
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["unparsed"], 1);
}

#[test]
fn a_damaged_row_is_a_task_again_once_somebody_agrees() {
    let bench = edited(|text| text.replace("\nprogress:", "\n  3,Third,by hand,pending,soon\nprogress:"));
    let before = bench.read(".samuel/run/prd.toon");
    let refused = bench.samuel(&["doctor", "--fix"]).ends(1);
    says(&refused.stderr, &["pass --yes", "priority is the default"]);
    assert_eq!(bench.read(".samuel/run/prd.toon"), before);

    let data = bench.ok(&["doctor", "--fix", "--yes", "--json"]).json()["data"].clone();
    assert_eq!(data["restored"][0]["id"], "3");
    assert_eq!(std::fs::read_to_string(data["backup"].as_str().unwrap()).unwrap(), before);
    assert_eq!(bench.status("3"), "pending");
    let again = bench.ok(&["doctor", "--fix"]);
    assert_eq!(again.stdout, "nothing is wrong with the plan\n");
}

#[test]
fn doctor_removes_recorded_environments() {
    let bench = Bench::with_tasks(&["First"]);
    let inputs = ".samuel/run/logs/20261129T100000Z-0a1b2c3d/inputs.jsonl";
    bench.write(inputs, "{\"env\":[[\"MY_FLAG\",\"zq9xk7v2m4tq8w1c\"]]}\n");
    let refused = bench.samuel(&["doctor", "--fix"]).ends(1);
    says(&refused.stderr, &["inputs.jsonl", "recorded  MY_FLAG", "pass --yes"]);
    let data = bench.ok(&["doctor", "--fix", "--yes", "--json"]).json()["data"].clone();
    assert_eq!(data["records"]["variables"][0], "MY_FLAG");
    assert_eq!(bench.read(inputs), "{\"env\":[]}\n");
    assert_eq!(bench.ok(&["doctor", "--fix"]).stdout, "nothing is wrong with the plan\n");
}

#[test]
fn a_line_that_no_repair_understands_stays_with_what_to_do_about_it() {
    let many = ",x".repeat(40);
    let bench = edited(|text| text.replace("\nprogress:", &format!("\n  3,Third,pending{many}\nprogress:")));
    let next = "Next: correct the lines that stay, or remove them; prd.toon has them in `unparsed`.";
    let refused = bench.samuel(&["doctor", "--fix"]).ends(1);
    assert!(!refused.stderr.contains("Next: "), "it has to be confirmed first: {refused:?}");
    for given in [&["doctor", "--fix", "--yes"][..], &["doctor", "--fix"]] {
        says(&bench.ok(given).stdout, &["stays     3,Third,pending", next]);
    }
    // As it says.
    let plan = bench.read(".samuel/run/prd.toon");
    bench.write(".samuel/run/prd.toon", &plan.replace(&many, ""));
    let restored = bench.ok(&["doctor", "--fix", "--yes"]).stdout;
    assert!(restored.contains("task 3") && !restored.contains("Next: "), "{restored}");
    assert_eq!(bench.status("3"), "pending");
}

#[test]
fn the_loop_goes_on_with_the_other_tasks() {
    let bench = edited(|text| {
        text.lines()
            .map(|line| if line.contains("Second") { "  2,broken\n".to_owned() } else { format!("{line}\n") })
            .collect()
    });
    bench.start(DONE, &["--max-iterations", "1"]);
    assert_eq!(bench.status("1"), "completed");
}

/// A plan whose first task cannot be read, and whose second depends on it.
fn with_an_unknown_dependency(more: &[&str]) -> Bench {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "enqueue", "Second", "--depends-on", "1"]);
    more.iter().for_each(|title| drop(bench.ok(&["run", "enqueue", title])));
    let damaged = bench.read(".samuel/run/prd.toon").replace(",First,", ",First,broken,and,");
    std::fs::write(bench.prd(), damaged).unwrap();
    bench
}

#[test]
fn a_task_with_an_unknown_dependency_alone_is_blocked_and_named() {
    let bench = with_an_unknown_dependency(&[]);
    let ran = bench.start(DONE, &[]).ends(3);
    assert!(ran.stderr.contains("blocked: 2 depends on 1, which does not exist"), "{ran:?}");
}

#[test]
fn beside_a_task_with_an_unknown_dependency_the_loop_works_on_the_others() {
    let bench = with_an_unknown_dependency(&["Third", "Fourth"]);
    let ran = bench.start(DONE, &[]).ends(3);
    let told = "default: task 2 depends on 1, which does not exist";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert_eq!((bench.status("3").as_str(), bench.status("4").as_str()), ("completed", "completed"));
    assert_eq!(bench.status("2"), "pending");
}

#[test]
fn beside_a_circle_the_loop_works_on_the_others() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "enqueue", "Second", "--depends-on", "1"]);
    bench.ok(&["run", "enqueue", "Third"]);
    // The first cell without a dependency is that of the first task.
    let text = bench.read(".samuel/run/prd.toon").replacen(r#""[]""#, r#""[\"2\"]""#, 1);
    std::fs::write(bench.prd(), text).unwrap();
    let ran = bench.start(DONE, &[]).ends(3);
    assert!(ran.stderr.contains("1 depends on itself: 1 -> 2 -> 1"), "{ran:?}");
    assert_eq!((bench.status("3").as_str(), bench.status("1").as_str()), ("completed", "pending"));
}

#[test]
fn versions_of_toon_3_are_read_and_others_refused() {
    let bench = edited(|text| text.replacen("# toon v3\n", "# toon v3.1\n", 1));
    assert_eq!(bench.ok(&["run", "tasks"]).stderr, "");
    let bench = edited(|text| text.replacen("# toon v3\n", "# toon v9\n", 1));
    let ran = bench.samuel(&["run", "tasks"]).ends(5);
    assert!(ran.stderr.contains("toon version") && ran.stderr.contains('9'), "{ran:?}");
    let bench = edited(|text| text.replacen("# toon v3\n", "", 1));
    assert!(bench.ok(&["run", "tasks"]).stderr.contains("warning: "));
    bench.ok(&["run", "done", "1"]);
    assert!(bench.read(".samuel/run/prd.toon").starts_with("# toon v3\n"));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_understood() {
    let bench = edited(|text| format!("\u{feff}{}", text.replace('\n', "\r\n")));
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("Second"));
    bench.ok(&["run", "done", "2"]);
    assert_eq!(bench.status("2"), "completed");
}

#[test]
fn an_id_without_quotes_stays_text() {
    let bench = Bench::with_tasks(&[]);
    bench.ok(&["run", "task", "add", "1.10", "Ten"]);
    bench.ok(&["run", "task", "add", "1.1", "One"]);
    let text = bench.read(".samuel/run/prd.toon").replace("\"1.10\"", "1.10").replace("\"1.1\"", "1.1");
    std::fs::write(bench.prd(), text).unwrap();
    bench.ok(&["run", "done", "1.10"]);
    assert_eq!((bench.status("1.10").as_str(), bench.status("1.1").as_str()), ("completed", "pending"));
}

#[test]
fn a_count_that_disagrees_with_the_rows_is_a_warning() {
    let bench = edited(|text| text.replacen("tasks[2]", "tasks[7]", 1));
    let ran = bench.ok(&["run", "tasks"]);
    assert!(ran.stdout.contains("First") && ran.stdout.contains("Second"), "{ran:?}");
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("prd.toon:"), "{ran:?}");
    bench.ok(&["run", "done", "1"]);
    assert!(bench.read(".samuel/run/prd.toon").contains("tasks[2]"));
}

#[test]
fn an_extra_column_survives_a_change() {
    let bench = edited(|text| {
        let rows = text.lines().map(|line| match line {
            line if line.starts_with("tasks[2]{") => line.replacen("{id", "{reviewer,id", 1),
            line if line.contains(",First,") || line.contains(",Second,") => line.replacen("  ", "  ada,", 1),
            line => line.to_owned(),
        });
        rows.map(|line| line + "\n").collect()
    });
    bench.ok(&["run", "done", "2"]);
    let text = bench.read(".samuel/run/prd.toon");
    assert!(text.contains("reviewer") && text.matches("ada").count() == 2, "{text}");
    assert_eq!(bench.status("2"), "completed");
}

#[test]
fn a_plan_that_is_broken_ends_a_start_and_one_that_an_agent_breaks_is_put_back() {
    let bench = Bench::with_tasks(&["First"]);
    let broken = "# toon v3\nversion: \"2\"\nproject: x\n";
    let breaks = "printf '# toon v3\nversion: \"2\"\nproject: x\n' > p; mv p .samuel/run/prd.toon";
    let ran = bench.start(breaks, &["--json", "--max-iterations", "1"]);
    assert_eq!((ran.code, ran.stdout.contains("put back")), (4, true), "{ran:?}");
    assert!(bench.read(".samuel/run/prd.toon").contains("First"));
    assert_eq!(bench.read(".samuel/run/prd.toon.unreadable"), broken);

    let bench = Bench::with_tasks(&["First"]);
    bench.write(".samuel/run/prd.toon", broken);
    let ran = bench.start("true", &["--json"]);
    let error =
        ran.stdout.lines().last().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let error = error.unwrap()["error"].clone();
    assert_eq!((ran.code, &error["code"]), (5, &"E_STATE_CORRUPT".into()), "{ran:?}");
    assert!(error["location"]["file"].as_str().unwrap().ends_with("prd.toon"), "{error}");
}

#[test]
fn a_declined_question_is_an_answer_and_no_error() {
    let bench = edited(|text| text.replace("\nprogress:", "\n  3,Third,by hand,pending,soon\nprogress:"));
    let start = ["run", "start", "--agent-command", "touch ran"];
    for (args, code, last) in [
        (&start[..], 78, "not started: what this project would run was declined"),
        (&["doctor", "--fix"], 1, "not repaired: the plan is as it was"),
    ] {
        let mut command = AtTerminal::spawn(&bench, args);
        assert!(command.wait_for("[y/N]"), "{args:?}");
        command.type_in("n\n");
        let (ended, shown) = command.end();
        assert_eq!((ended, shown.trim_end().lines().last()), (code, Some(last)), "{shown}");
        assert!(!shown.contains("error:") && !shown.contains("help: Review"), "{shown}");
    }
    assert!(!bench.path("ran").exists());
}

#[test]
fn times_are_told_to_the_second_with_the_offset_of_the_place() {
    let bench = Bench::with_tasks(&["One"]);
    let agent = "touch working; until [ -e go ]; do sleep 0.05; done";
    let beside = bench.spawn(&bench.start_args(agent));
    wait_for_file(&bench.path("working"));
    let in_kolkata = |args: &[&str]| bench.samuel_where("TZ", "IST-5:30", args);
    let status = in_kolkata(&["run", "status"]);
    let refused = in_kolkata(&["run", "start", "--yes", "--agent-command", "true"]);
    let json = bench.ok(&["run", "status", "--json"]).json();
    bench.write("go", "");
    beside.code();
    for shown in [&status.stdout, &refused.stderr] {
        let since = shown.split_once("since ").unwrap().1.split(')').next().unwrap();
        assert!(since.len() == 26 && since.ends_with(" +05:30"), "{shown}");
    }
    assert_eq!(refused.code, 75, "{refused:?}");
    assert!(json["data"]["holder"]["since"].as_str().unwrap().ends_with('Z'), "{json}");
    let progress = bench.read(".samuel/run/progress.md");
    let times =
        progress.lines().filter_map(|line| line.strip_prefix('[')?.split_once(']').map(|(time, _)| time));
    assert!(times.clone().count() > 0 && times.clone().all(|time| time.len() == 20), "{progress}");
}

#[test]
fn tasks_that_are_announced_and_missing_are_counted_as_such() {
    let bench = edited(|text| text.replace("tasks[2]", "tasks[9]").replace(",Second,", ",Second,more,"));
    let missing = "7 of 9 tasks are missing";
    let status = bench.ok(&["run", "status"]).stderr;
    assert!(status.contains(missing) && status.contains("1 line of the plan could not"), "{status}");
    let tasks = bench.ok(&["run", "tasks"]).stderr;
    assert!(tasks.contains(missing) && tasks.contains("1 line of the plan could not"), "{tasks}");
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["unparsed"], 1);
    let doctor = bench.samuel(&["doctor"]).stdout;
    assert!(doctor.contains(missing) && doctor.contains("1 line of it cannot be read"), "{doctor}");

    let bench = edited(|text| text.replace("tasks[2]", "tasks[9]"));
    let status = bench.ok(&["run", "status"]).stderr;
    assert!(status.contains(missing) && !status.contains("could not be understood"), "{status}");
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["unparsed"], 0);
}

#[test]
fn of_a_task_that_breaks_a_rule_doctor_does_not_say_to_skip_it() {
    let bench = edited(|text| text.replace(",First,", ",\"\","));
    let doctor = bench.samuel(&["doctor"]).ends(1);
    assert!(!doctor.stdout.contains("samuel run skip"), "{doctor:?}");
    assert!(doctor.stdout.contains("Correct the tasks named above in prd.toon"), "{doctor:?}");
}

#[test]
fn doctor_says_that_the_journal_of_a_loop_is_gone() {
    let told = "a loop worked on this plan before, but its journal is gone or cannot be read";
    let damages: [fn(&Bench); 3] = [
        |bench| std::fs::remove_file(bench.path(".samuel/run/journal.jsonl")).unwrap(),
        |bench| drop(bench.write(".samuel/run/journal.jsonl", "")),
        |bench| drop(bench.write(".samuel/run/journal.jsonl", "something else\n")),
    ];
    for damage in damages {
        let bench = Bench::with_tasks(&["First"]);
        assert!(!bench.samuel(&["doctor"]).stdout.contains(told));
        bench.start(DONE, &[]);
        assert!(!bench.samuel(&["doctor"]).stdout.contains(told));
        damage(&bench);
        let doctor = bench.samuel(&["doctor"]).stdout;
        assert!(doctor.contains(told), "{doctor}");
    }
}
