//! Commands that change the plan.

use std::{collections::BTreeSet, process::Command};

use crate::bench::{AtTerminal, Bench, Ran};

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
            bench.git(&["init", "--quiet"]);
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
    assert_eq!(
        listed,
        "[ ] 1       medium    medium   First  (0 of 1 part settled)\n  [ ] 1.10  medium    medium   Tenth\n"
    );
}

#[test]
fn a_task_that_is_not_there_is_an_error_and_changes_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let before = std::fs::read(bench.prd()).unwrap();
    for command in ["done", "skip", "reset"] {
        let ran = bench.samuel(&["run", command, "999"]).fails(1);
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
    let ran = bench.samuel(&["run", "enqueue", "x", "--priority", "urgent"]).fails(2);
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
    bench.ok(&["run", "enqueue", "Third"]);
    let document = bench.ok(&["run", "task", "add", "1.10", "Ten", "--depends-on", "1,3", "--json"]).json();
    assert_eq!(document["data"]["task"]["parent_id"], "1");
    let tasks = bench.tasks();
    assert_eq!((&tasks[1]["id"], &tasks[1]["title"]), (&"2".into(), &title.into()));
    assert_eq!((&tasks[1]["priority"], &tasks[1]["complexity"]), (&"high".into(), &"complex".into()));
    assert_eq!(
        (&tasks[1]["source"], &tasks[1]["description"]),
        (&"pilot-discovery".into(), &"one\ntwo".into())
    );
    assert_eq!((&tasks[3]["id"], &tasks[3]["depends_on"]), (&"1.10".into(), &serde_json::json!(["1", "3"])));
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
    assert_eq!(
        other.ok(&["-C", root.to_str().unwrap(), "run", "done", "1"]).stdout,
        "1 is completed (change 3)\n"
    );
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
    assert_eq!(listed, "[ ] 1  medium    medium   naïve 日本語 🚀 \\u{202e}gnp.exe \\u{1b}[2J\n");
    assert_eq!(bench.tasks()[0]["title"], "naïve 日本語 🚀 \u{202e}gnp.exe \u{1b}[2J");
}

#[test]
fn a_change_waits_for_a_plan_that_the_loop_is_about_to_put_back() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    // As `git clean -fdx` does it.
    let agent = "[ -e ../once ] || { touch ../once; rm -rf .samuel; \"$SAMUEL_BINARY\" run tasks 2>../told; }; \
                 \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\" 2>>../told";
    bench.start(agent, &["--max-iterations", "2"]).ends(0);
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
        let ran = bench.start(&agent, &["--max-iterations", "2"]).ends(0);
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
    assert_eq!(bench.ok(&["run", "skip", "1"]).stdout, "1 is skipped; it was completed before (change 5)\n");
    assert_eq!(bench.ok(&["run", "skip", "2"]).stdout, "2 is skipped (change 6)\n");
}

/// Returns the number of the change that a command printed last.
fn change(ran: &Ran) -> String {
    let (_, number) = ran.stdout.trim_end().rsplit_once("change ").expect("a number");
    number.trim_end_matches(')').to_owned()
}

#[test]
fn a_task_is_edited_with_options_and_the_change_taken_back() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let made =
        bench.ok(&["run", "edit", "2", "--title", "Other", "--depends-on", "1", "--acceptance", "it works"]);
    assert!(made.stdout.starts_with("2 Other is changed (change "), "{made:?}");
    let task = &bench.tasks()[1];
    assert_eq!((&task["title"], &task["depends_on"][0]), (&"Other".into(), &"1".into()));
    bench.ok(&["run", "edit", "2", "--depends-on", "", "--title", "Again"]);
    assert_eq!(bench.tasks()[1]["depends_on"].as_array().unwrap().len(), 0);
    let refused = bench.samuel(&["run", "undo", &change(&made), "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (1, &"E_TASK_NOT_UNDONE".into()));
    let undone = bench.ok(&["run", "undo"]);
    assert!(undone.stdout.starts_with("task 2 was changed (change "), "{undone:?}");
    bench.ok(&["run", "undo", &change(&made)]);
    assert_eq!(bench.tasks()[1]["title"], "Second");
}

#[test]
#[expect(clippy::print_stdout, clippy::disallowed_macros, reason = "a test that is skipped says so")]
fn a_container_without_a_session_of_its_own_changes_the_plan_and_takes_it_back() {
    let bench = Bench::with_tasks(&["First"]);
    if !Command::new("unshare").args(["--pid", "--fork", "true"]).status().is_ok_and(|ended| ended.success())
    {
        println!("skipped: a container without a session: unshare is not allowed here");
        return;
    }
    let contained = |args: &[&str]| Ran::of(bench.command_below("unshare --pid --fork \"$0\" \"$@\"", args));
    let made = contained(&["run", "edit", "1", "--title", "Other"]);
    assert_eq!((made.code, &bench.tasks()[0]["title"]), (0, &"Other".into()), "{made:?}");
    let undone = contained(&["run", "undo"]);
    assert_eq!((undone.code, &bench.tasks()[0]["title"]), (0, &"First".into()), "{undone:?}");
}

#[test]
fn without_options_an_editor_opens_with_the_task_as_toml() {
    let bench = Bench::with_tasks(&["First"]);
    let edit = |editor: &str| bench.samuel_where("EDITOR", editor, &["run", "edit", "1"]);
    let ran = edit("sed -i s/First/Second/");
    assert_eq!((ran.code, &bench.tasks()[0]["title"]), (0, &"Second".into()), "{ran:?}");
    assert_eq!(edit("true").stdout, "nothing is different\n");
    for (editor, code) in [("false", 1), ("sed -i s/=/:/", 2), ("", 2)] {
        let ran = edit(editor);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{editor}: {ran:?}");
    }
    assert_eq!(bench.tasks()[0]["title"], "Second");
    // What somebody typed is not lost by a slip.
    for slip in ["sed -i s/medium/urgent/", "sed -i s/Second//"] {
        let ran = edit(slip);
        let (_, path) =
            ran.stderr.split_once("What you wrote is kept in ").unwrap_or_else(|| panic!("{ran:?}"));
        let path = path.split(": ").next().unwrap();
        assert!(std::fs::read_to_string(path).unwrap().contains("title = "), "{ran:?}");
        std::fs::remove_file(path).unwrap();
    }
    let ran = edit("no-such-editor");
    assert!(
        ran.stderr.contains("no-such-editor cannot be started") && ran.stderr.contains("Set VISUAL"),
        "{ran:?}"
    );
}

#[test]
fn what_others_need_stays_and_goes_with_them() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "task", "add", "1.1", "Part", "--depends-on", "2"]);
    for (args, told) in [
        (&["run", "rm", "1"][..], "error: task 1 cannot be removed: 1.1 is a part of it\n"),
        (&["run", "rm", "2"], "error: task 2 cannot be removed: 1.1 depends on it\n"),
        (&["run", "rm", "2", "9"], "error: there is no task 9\n"),
    ] {
        let ran = bench.samuel(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
        assert!(ran.stderr.starts_with(told), "{ran:?}");
    }
    let removed = bench.ok(&["run", "rm", "1", "2", "--with-parts"]);
    assert!(
        removed.stdout.starts_with("task 1 was removed\ntask 2 was removed\ntask 1.1 was removed (change "),
        "{removed:?}"
    );
    bench.ok(&["run", "undo"]);
    assert_eq!(bench.tasks().len(), 3);
}

#[test]
fn a_group_waits_for_its_part_which_is_blocked() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "enqueue", "Second", "--parent", "1"]);
    let ran = bench.samuel(&["run", "done", "1"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.starts_with("error: task 1 is a group, which is completed once its parts are; open: 2\n"),
        "{ran:?}"
    );
    bench.ok(&["run", "block", "2", "--reason", "no key"]);
    assert_eq!((bench.status("2").as_str(), &bench.tasks()[1]["skip_reason"]), ("blocked", &"no key".into()));
}

#[test]
fn an_agent_may_not_edit_remove_or_take_back() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let before = std::fs::read(bench.prd()).unwrap();
    for args in [
        &["run", "edit", "1", "--acceptance", ""][..],
        &["run", "edit", "1"],
        &["run", "rm", "2"],
        &["run", "undo"],
    ] {
        let ran = bench.samuel_where("SAMUEL_RUN_ID", "r", &[args, &["--json"]].concat());
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &"E_TASK_DENIED".into()), "{args:?}");
    }
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
}

#[test]
fn a_plan_follows_its_prd_and_keeps_what_was_done() {
    let bench = Bench::with_tasks(&[]);
    let prd = bench.root().join("prd.md");
    let write = |tasks: &str| std::fs::write(&prd, format!("# P\n\n## Tasks\n\n{tasks}")).unwrap();
    write("### 1 First\n\n### 2 Second\n");
    bench.ok(&["run", "convert", "prd.md"]);
    bench.ok(&["run", "done", "1", "--commit-sha", "abcd"]);
    bench.ok(&["run", "enqueue", "Mine"]);
    let same = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(same.stdout, "the plan is up to date\n");
    write("### 1 First of all\n\n### 4 Fourth\n");
    let before = std::fs::read(bench.prd()).unwrap();
    let shown = bench.ok(&["run", "convert", "--update", "--dry-run", "prd.md"]).stdout;
    let diff = "+ 4 Fourth\n~ 1 First (completed)\n  title\n    -First\n    +First of all\n1 task not in the PRD any more, left as \
                it is: 2\n  remove it with --prune\n";
    assert_eq!(shown, format!("{diff}nothing was changed\n"));
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    let made = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(made.stdout, format!("{diff}change {}\n", change(&made)));
    let pruned = bench.ok(&["run", "convert", "--update", "--prune", "prd.md"]);
    assert!(pruned.stdout.starts_with("- 2 Second\nchange "), "{pruned:?}");
    let said: Vec<String> = bench
        .tasks()
        .iter()
        .map(|task| format!("{} {} {}", task["id"], task["title"], task["status"]))
        .collect();
    assert_eq!(
        said,
        [r#""1" "First of all" "completed""#, r#""4" "Fourth" "pending""#, r#""3" "Mine" "pending""#,]
    );
    bench.ok(&["run", "undo"]);
    bench.ok(&["run", "undo"]);
    assert_eq!(bench.tasks()[0]["title"], "First");
}

#[test]
fn what_was_edited_stays_and_what_both_sides_changed_is_told() {
    let bench = Bench::with_tasks(&[]);
    let write = |text: &str| bench.write("prd.md", &format!("# P\n\n## Tasks\n\n{text}"));
    write("### 1 First\n\nOne.\n\n### 2 Second\n\nTwo.\n\n### 3 Third\n");
    bench.ok(&["run", "convert", "prd.md"]);
    bench.ok(&["run", "edit", "1", "--title", "Mine"]);
    bench.ok(&["run", "edit", "2", "--description", "Mine."]);
    bench.ok(&["run", "rm", "3"]);
    let before = std::fs::read(bench.prd()).unwrap();
    let same = bench.ok(&["run", "convert", "--update", "--prune", "prd.md"]);
    let left_out = "1 task of the PRD removed here, and not added again: 3\n  add what was removed with `samuel run task add`\n";
    assert_eq!(same.stdout, format!("{left_out}the plan is up to date\n"));
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    write("### 1 First\n\nOne, and more.\n\n### 2 Second\n\nTheirs.\n\n### 3 Third\n");
    let made = bench.ok(&["run", "convert", "--update", "prd.md"]);
    let conflict = "1 task changed here and in the PRD; what is here stays:\n~ 2 Second\n  description\n    \
                    -Mine.\n    +Theirs.\n  take what the PRD says with `samuel run edit`\n";
    let first = "~ 1 Mine\n  description\n    -One.\n    +One, and more.\n";
    assert_eq!(made.stdout, format!("{first}{conflict}{left_out}change {}\n", change(&made)));
    assert_eq!(bench.tasks()[1]["description"], "Mine.");
    let shown = bench.ok(&["run", "convert", "--update", "--dry-run", "--json", "prd.md"]).json();
    let field = &shown["data"]["conflicts"][0]["fields"][0];
    assert_eq!((&field["field"], &field["after"][0]), (&"description".into(), &"Theirs.".into()));
    assert_eq!(shown["data"]["left_out"][0]["id"], "3");
    bench.ok(&["run", "edit", "2", "--description", "Theirs."]);
    bench.ok(&["run", "task", "add", "3", "Third"]);
    let agreed = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(agreed.stdout, "the plan is up to date\n");
}

#[test]
fn at_a_terminal_an_update_is_shown_before_it_is_made() {
    let bench = Bench::with_tasks(&[]);
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1 First\n");
    bench.ok(&["run", "convert", "prd.md"]);
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1 First\n\nMore.\n");
    let before = std::fs::read(bench.prd()).unwrap();
    let update = |answer: &str| {
        let mut command = AtTerminal::spawn(&bench, &["run", "convert", "--update", "prd.md"]);
        assert!(command.wait_for("    +More.\r\nChange the plan? [y/N] "));
        assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
        command.type_in(answer);
        command.end()
    };
    let (code, shown) = update("n\n");
    assert!(code == 0 && shown.ends_with("nothing was changed\r\n"), "{code}: {shown}");
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    let (code, shown) = update("y\n");
    assert!(code == 0 && shown.contains("\nchange "), "{code}: {shown}");
    assert_eq!(bench.tasks()[0]["description"], "More.");
    bench.ok(&["run", "undo"]);
    let (code, shown) = AtTerminal::spawn(&bench, &["run", "convert", "--update", "--yes", "prd.md"]).end();
    assert!(code == 0 && !shown.contains("Change the plan?"), "{code}: {shown}");
    assert_eq!(bench.tasks()[0]["description"], "More.");
}

#[test]
fn a_prd_is_found_again_whatever_directory_it_was_named_from() {
    let bench = Bench::empty();
    bench.write("docs/prd.md", "# Notes\n\n## Tasks\n\n### 1 One\n");
    bench.write("sub/x", "");
    bench.ok(&["run", "init", "--prd", "sub/../docs/prd.md"]);
    let status = bench.ok(&["run", "status", "--json"]).json()["data"].clone();
    assert_eq!(status["source_prd"], "docs/prd.md");
    let ran = bench.samuel(&["run", "convert", "-"]);
    assert!(ran.code == 2 && ran.stderr.contains("stdin is for --update"), "{ran:?}");
    let ran = bench.samuel(&["run", "convert", "docs/prd.md"]);
    assert!(ran.stderr.contains("samuel run convert --update"), "{ran:?}");
}

#[test]
fn the_form_that_a_prd_was_forced_into_is_remembered_at_each_update() {
    let bench = Bench::with_tasks(&[]);
    let write = |text: &str| bench.write("prd.md", &format!("# P\n\n## Tasks\n\n- [ ] A box\n\n{text}"));
    write("1. First\n");
    bench.ok(&["run", "convert", "--format", "numbered-list", "prd.md"]);
    let same = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(same.stdout, "the plan is up to date\n");
    write("1. First\n2. Second\n");
    let added = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(added.stdout, format!("+ 2 Second\nchange {}\n", change(&added)));
    let shown = bench.ok(&["run", "convert", "--update", "--format", "checklist", "prd.md"]).stdout;
    assert!(shown.contains("  form of the PRD\n    -numbered-list\n    +checklist\n"), "{shown}");
    let again = bench.ok(&["run", "convert", "--update", "--json", "prd.md"]).json();
    assert_eq!(again["data"]["is_changed"], false);
    bench.ok(&["run", "undo"]);
    let same = bench.ok(&["run", "convert", "--update", "prd.md"]);
    assert_eq!(same.stdout, "the plan is up to date\n");
    let plan = std::fs::read_to_string(bench.prd()).unwrap();
    std::fs::write(bench.prd(), plan.replace("prd_format: numbered-list", "prd_format: poem")).unwrap();
    let ran = bench.samuel(&["run", "convert", "--update", "prd.md"]);
    assert!(ran.code == 1 && ran.stderr.contains("unknown form \"poem\""), "{ran:?}");
    assert!(ran.stderr.contains("--format <NAME>"), "{ran:?}");
}

#[test]
fn an_update_marks_the_completed_tasks_that_it_touches() {
    let bench = Bench::with_tasks(&[]);
    let write = |text: &str| bench.write("prd.md", &format!("# P\n\n## Tasks\n\n{text}"));
    write("### 1 First\n\n### 2 Second\n\n### 3 Third\n\n### 4 Fourth\n");
    bench.ok(&["run", "convert", "prd.md"]);
    for id in ["1", "2"] {
        bench.ok(&["run", "done", id]);
    }
    write("### 1 First\n\nMore.\n\n### 3 Third\n");
    let shown = bench.ok(&["run", "convert", "--update", "--dry-run", "prd.md"]).stdout;
    assert!(shown.contains("~ 1 First (completed)\n"), "{shown}");
    assert!(shown.contains("left as they are: 2 (completed), 4\n"), "{shown}");
    let pruned = ["run", "convert", "--update", "--dry-run", "--prune", "prd.md"];
    let shown = bench.ok(&pruned).stdout;
    assert!(shown.contains("- 2 Second (completed)\n- 4 Fourth\n"), "{shown}");
    let data = bench.ok(&[&pruned[..], &["--json"]].concat()).json()["data"].clone();
    assert_eq!(data["changed"][0]["is_completed"], true);
    let removed = [&data["removed"][0], &data["removed"][1]];
    assert_eq!(removed.map(|task| task["is_completed"] == true), [true, false]);
}

#[test]
fn a_task_at_work_that_an_update_makes_a_group_is_told() {
    let bench = Bench::with_tasks(&[]);
    let write = |text: &str| bench.write("prd.md", &format!("# P\n\n## Tasks\n\n{text}"));
    write("- [/] 1 First\n- [ ] 2 Second\n");
    bench.ok(&["run", "convert", "prd.md"]);
    assert_eq!(bench.status("1"), "in_progress");
    write("- [/] 1 First\n  - [ ] 1.1 Part\n- [ ] 2 Second\n  - [ ] 2.1 Part\n");
    let ran = bench.ok(&["run", "convert", "--update", "--dry-run", "--json", "prd.md"]);
    let regrouped = ran.json()["data"]["regrouped"].clone();
    assert_eq!((regrouped.as_array().unwrap().len(), &regrouped[0]["id"]), (1, &"1".into()));
    let ran = bench.ok(&["run", "convert", "--update", "prd.md"]);
    let told = "task 1 is being worked on and becomes a group: it is pending until its parts are completed";
    assert!(ran.stderr.contains(told) && !ran.stderr.contains("task 2"), "{ran:?}");
    assert_eq!(bench.status("1"), "pending");
    for id in ["1.1", "2.1"] {
        bench.ok(&["run", "done", id]);
    }
    assert_eq!(bench.status("1"), "completed");
}

#[test]
fn another_prd_with_the_same_ids_takes_no_completions_unasked() {
    let bench = Bench::with_tasks(&[]);
    let write = |titles: &[&str]| {
        let rows = titles.iter().enumerate().map(|(place, title)| format!("### {} {title}\n\n", place + 1));
        bench.write("prd.md", &format!("# P\n\n## Tasks\n\n{}", rows.collect::<String>()));
    };
    write(&["Read", "Write", "Sync", "Ship"]);
    bench.ok(&["run", "convert", "prd.md"]);
    bench.ok(&["run", "done", "1"]);
    write(&["Cook", "Bake", "Fry", "Ship"]);
    let before = std::fs::read(bench.prd()).unwrap();
    let ran = bench.samuel(&["run", "convert", "--update", "prd.md"]);
    let told = "3 of 4 tasks have the id of another task: this looks like another PRD";
    assert!(ran.code == 1 && ran.stderr.contains(told) && ran.stderr.contains("`--yes`"), "{ran:?}");
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    let shown = bench.ok(&["run", "convert", "--update", "--dry-run", "prd.md"]).stdout;
    assert!(shown.starts_with(&format!("! {told}\n~ 1 Read (completed)\n")), "{shown}");
    let mut command = AtTerminal::spawn(&bench, &["run", "convert", "--update", "prd.md"]);
    assert!(command.wait_for(told) && command.wait_for("Change the plan? [y/N] "));
    command.type_in("n\n");
    assert_eq!((command.end().0, std::fs::read(bench.prd()).unwrap()), (0, before));
    bench.ok(&["run", "convert", "--update", "--yes", "prd.md"]);
    assert_eq!(bench.tasks()[0]["title"], "Cook");
    // Half of them may have other titles.
    write(&["Roast", "Boil", "Fry", "Ship"]);
    bench.ok(&["run", "convert", "--update", "prd.md"]);
}

#[test]
fn a_first_conversion_is_shown_without_being_written() {
    let bench = Bench::empty();
    bench.write("prd.md", "# Notes\n\n## Tasks\n\n### 1 Store\n\n### 1.1 Save\n\n### 2 Ship\n\n### Later\n");
    let files = || {
        let entries = std::fs::read_dir(bench.root()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>()
    };
    let before = files();
    let shown = bench.ok(&["run", "convert", "--dry-run", "prd.md"]);
    assert!(shown.stdout.starts_with("Notes\n[ ] 1  "), "{shown:?}");
    assert!(shown.stdout.contains("\n  [ ] 1.1  ") && shown.stdout.contains("3 tasks from "), "{shown:?}");
    assert!(shown.stdout.ends_with("nothing was written\n"), "{shown:?}");
    assert!(shown.stderr.contains("\"Later\""), "{shown:?}");
    assert_eq!(files(), before);
    let data = bench.ok(&["run", "convert", "--dry-run", "--json", "prd.md"]).json()["data"].clone();
    assert_eq!(
        (&data["name"], &data["replaces"], &data["form"]),
        (&"Notes".into(), &0.into(), &"headings".into())
    );
    assert_eq!((&data["list"]["total"], &data["list"]["rows"][1]["depth"]), (&3.into(), &1.into()));
    bench.ok(&["run", "convert", "prd.md"]);
    let plan = std::fs::read(bench.prd()).unwrap();
    let refused = bench.samuel(&["run", "convert", "--dry-run", "prd.md"]);
    assert!(refused.code == 1 && refused.stderr.contains("--update"), "{refused:?}");
    let forced = bench.ok(&["run", "convert", "--dry-run", "--force", "prd.md"]).stdout;
    assert!(forced.contains("in place of the plan that is there, which has 3 tasks\n"), "{forced}");
    assert_eq!(std::fs::read(bench.prd()).unwrap(), plan);
}

#[test]
fn an_agent_opens_what_it_blocked_and_not_what_a_user_did() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "block", "1", "--reason", "not now"]);
    let as_agent = |args: &[&str]| bench.samuel_where("SAMUEL_RUN_ID", "r", args);
    for command in ["reset", "done", "skip"] {
        let ran = as_agent(&["run", command, "1", "--json"]);
        assert_eq!((ran.code, &ran.json()["error"]["code"]), (1, &"E_TASK_DENIED".into()), "{command}");
    }
    assert_eq!(bench.status("1"), "blocked");
    assert_eq!(as_agent(&["run", "block", "2"]).code, 0);
    assert_eq!(as_agent(&["run", "reset", "2"]).code, 0);
    bench.ok(&["run", "reset", "1"]);
    assert_eq!((bench.status("1"), bench.status("2")), ("pending".to_owned(), "pending".to_owned()));
}
