//! `restore`: a plan that was lost comes back.

use crate::bench::{Bench, Ran, says};

#[test]
fn a_plan_that_is_gone_comes_back_and_the_present_one_is_kept_beside_it() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    std::fs::remove_dir_all(bench.path(".samuel")).unwrap();
    assert_eq!(bench.samuel(&["run", "tasks"]).code, 1);
    let restored = bench.ok(&["run", "restore"]).stdout;
    assert!(
        restored.starts_with("Restored plan 1: project: 2 tasks, 0 completed, last changed "),
        "{restored}"
    );
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("Second"));
    assert_eq!(bench.read(".samuel/run/.gitignore"), "*\n");

    bench.ok(&["run", "init", "--force"]);
    let listed = bench.ok(&["run", "restore", "--list"]).stdout;
    assert!(
        listed.contains("(the present plan has all of its tasks)") && listed.contains("2 tasks"),
        "{listed}"
    );
    let data = bench.ok(&["run", "restore", "--list", "--json"]).json()["data"].clone();
    let numbers: Vec<_> = data["plans"].as_array().unwrap().iter().map(|plan| &plan["number"]).collect();
    let last = numbers.len();
    let before = &data["plans"][last - 2];
    assert_eq!((&before["tasks"], &before["current"]), (&2.into(), &false.into()), "{data}");
    let data = bench.ok(&["run", "restore", &before["number"].to_string(), "--json"]).json()["data"].clone();
    assert!(data["backup"].as_str().unwrap().contains("prd.toon.bak-"), "{data}");
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("First"));
}

#[test]
fn a_plan_whose_tasks_say_something_else_by_now_has_lost_nothing() {
    let bench = Bench::with_tasks(&["One", "Two", "Three"]);
    for change in [&["rm", "3"][..], &["undo"], &["edit", "2", "--title", "New title"], &["done", "1"]] {
        bench.ok(&[&["run"][..], change].concat());
    }
    let ran = bench.samuel(&["run", "restore"]).fails(1);
    says(&ran.stderr, &["samuel run restore --list"]);
    assert_eq!(bench.status("1"), "completed");
    // By its number it is to be had all the same.
    let restored = bench.ok(&["run", "restore", "1"]).stdout;
    says(&restored, &["Restored plan 1: ", "completed since it was kept, and open again: 1\n"]);
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("Two"));
}

#[test]
fn of_many_tasks_that_are_open_again_the_first_are_named() {
    let titles: Vec<String> = (1..=12).map(|number| format!("Task {number}")).collect();
    let bench = Bench::with_tasks(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 1..=12 {
        bench.ok(&["run", "done", &number.to_string()]);
    }
    let kept = bench.ok(&["run", "restore", "--list", "--json"]).json();
    let open = |plan: &&serde_json::Value| plan["completed"] == 0 && plan["tasks"] == 12;
    let number = kept["data"]["plans"].as_array().unwrap().iter().find(open).unwrap()["number"].to_string();
    let restored = bench.ok(&["run", "restore", &number]).stdout;
    says(&restored, &["open again: 1, 2, 3, ", " and 2 more\n"]);
}

#[test]
fn a_plan_that_is_not_kept_is_an_error_with_a_way_on() {
    let bench = Bench::with_tasks(&["First"]);
    for args in [&["run", "restore", "77"][..], &["run", "restore"]] {
        let ran = bench.samuel(args).fails(1);
        assert!(ran.stderr.contains("samuel run restore --list"), "{ran:?}");
    }
    let document = bench.samuel(&["run", "restore", "77", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_STATE_NOT_KEPT");
    assert_eq!(bench.samuel(&["run", "restore", "--list", "1"]).code, 2);
}

#[test]
fn where_the_plan_is_gone_or_corrupt_a_kept_one_is_offered() {
    let bench = Bench::with_tasks(&["First"]);
    std::fs::write(bench.path(".samuel/run/prd.toon"), "\0\0").unwrap();
    for broken in ["corrupt", "gone"] {
        for args in [
            &["run"][..],
            &["run", "status"],
            &["run", "done", "1"],
            &["run", "tasks"],
            &["doctor", "--fix", "--yes"],
        ] {
            let ran = bench.samuel(args);
            assert_ne!(ran.code, 0, "{broken}: {args:?}: {ran:?}");
            assert!(
                ran.stderr.contains("1 plan is kept: put the last one back with `samuel run restore`"),
                "{broken}: {args:?}: {ran:?}"
            );
        }
        let doctor = bench.samuel(&["doctor"]).stdout;
        assert!(doctor.contains("put the last one back with `samuel run restore`"), "{broken}: {doctor}");
        let _ = std::fs::remove_dir_all(bench.path(".samuel"));
    }
    bench.ok(&["run", "restore"]);
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("First"));
}

#[test]
fn doctor_names_the_file_in_place_of_the_plan() {
    let bench = Bench::with_tasks(&["First"]);
    let state = bench.path(".samuel");
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::write(&state, "").unwrap();
    let doctor = bench.samuel(&["doctor"]).stdout;
    let help = format!(
        "help: Remove \"{}\", or restore what belongs there. 1 plan is kept: put the last one back with",
        state.display()
    );
    assert!(doctor.contains(&help), "{doctor}");
    std::fs::remove_file(state).unwrap();
    bench.ok(&["run", "restore"]);
}

#[test]
fn where_no_state_directory_is_known_the_start_and_doctor_say_that_no_plan_is_kept() {
    let bench = Bench::with_tasks(&["First"]);
    let told = "no plan is kept outside of the work tree: no directory for it is known";
    let start =
        ["run", "start", "--yes", "--agent", "command", "--agent-command", "true", "--max-iterations", "1"];
    for (args, home) in [(&start[..], true), (&start, false), (&["doctor"], true), (&["doctor"], false)] {
        let mut command = bench.command(args);
        if !home {
            command.env_remove("HOME");
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.matches(told).count(), usize::from(!home), "{args:?}: {text}");
        let is_start = args.contains(&"start");
        let warned = text.contains(
            "a start that can keep them has a check decide on what this run completes. Set HOME, or",
        );
        assert_eq!(warned, is_start && !home, "{args:?}: {text}");
    }
}

#[test]
fn what_is_kept_where_no_directory_is_known_is_not_said_to_be_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    for args in [&["run", "restore", "--list"][..], &["run", "restore"]] {
        let mut command = bench.command(args);
        command.env_remove("HOME");
        let ran = Ran::of(command).fails(1);
        let told = "no directory for it is known";
        assert!(ran.stderr.contains(told) && ran.stderr.contains("SAMUEL_STATE_DIR"), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_completion_that_a_kept_plan_does_not_have_is_named() {
    let damages: [fn(&Bench); 2] = [
        |bench| std::fs::remove_file(bench.prd()).unwrap(),
        |bench| {
            let text = bench.read(".samuel/run/prd.toon");
            let rows = text.lines().filter(|line| !line.contains(",Third,")).map(|line| format!("{line}\n"));
            std::fs::write(bench.prd(), rows.collect::<String>().replace("tasks[3]", "tasks[2]")).unwrap();
        },
    ];
    for damage in damages {
        let bench = Bench::with_tasks(&["First", "Second", "Third"]);
        bench.ok(&["run", "done", "2"]);
        damage(&bench);
        let data = bench.ok(&["run", "restore", "--json"]).json()["data"].clone();
        assert_eq!(data["reopened"], serde_json::json!(["2"]), "{data}");
        bench.ok(&["run", "done", "2"]);
        damage(&bench);
        let restored = bench.ok(&["run", "restore"]).stdout;
        assert!(restored.contains("completed since it was kept, and open again: 2\n"), "{restored}");
    }
}
