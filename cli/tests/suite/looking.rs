//! `run tasks`, `run show`, `run status` and the schemas of what they answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::bench::{Bench, Ran, says};

/// Two groups in each other, and a task that waits for one.
fn grouped() -> Bench {
    let bench = Bench::with_tasks(&["Parser"]);
    let add = |args: &[&str]| _ = bench.ok(&[&["run", "task", "add"], args].concat());
    add(&["1.1", "Lexer", "--parent", "1", "--priority", "high", "--complexity", "simple"]);
    add(&["1.2", "Grammar", "--parent", "1"]);
    add(&["1.2.1", "Rules", "--parent", "1.2", "--complexity", "complex"]);
    add(&["2", "Docs", "--depends-on", "1"]);
    bench.ok(&["run", "done", "1.1", "--commit-sha", "0a1b2c3d"]);
    bench
}

fn listed(bench: &Bench, args: &[&str]) -> String {
    bench.ok(&[&["run", "tasks"], args].concat()).stdout
}

#[test]
fn tasks_are_a_tree_where_there_are_groups_and_flat_on_request() {
    let bench = grouped();
    let tree = "\
[ ] 1          medium    medium   Parser  (1 of 2 parts settled)
  [x] 1.1      high      simple   Lexer  (0a1b2c3d)
  [ ] 1.2      medium    medium   Grammar  (0 of 1 part settled)
    [ ] 1.2.1  medium    complex  Rules
[ ] 2          medium    medium   Docs  (after 1)
";
    assert_eq!(listed(&bench, &[]), tree);
    assert_eq!(listed(&bench, &["--tree"]), tree);
    let flat = listed(&bench, &["--flat"]);
    assert!(flat.lines().count() == 5 && flat.lines().all(|line| line.starts_with('[')), "{flat}");
    bench.samuel(&["run", "tasks", "--tree", "--flat"]).fails(2);
}

#[test]
fn filters_keep_the_groups_above_and_say_what_is_left_out() {
    let bench = grouped();
    let ids = |args: &[&str]| -> Vec<String> {
        let text = listed(&bench, args);
        text.lines()
            .filter_map(|line| Some(line.trim_start().split_once("] ")?.1.split(' ').next()?.to_owned()))
            .collect()
    };
    assert_eq!(ids(&["--ready"]), ["1", "1.2", "1.2.1"]);
    assert_eq!(ids(&["--ready", "--flat"]), ["1.2.1"]);
    assert_eq!(ids(&["--status", "completed"]), ["1", "1.1"]);
    assert_eq!(ids(&["--status", "completed,skipped", "--status", "blocked", "--flat"]), ["1.1"]);
    assert_eq!(listed(&bench, &["--status", "blocked"]), "no task matches\n");
    let limited = listed(&bench, &["--status", "pending", "--flat", "--limit", "1"]);
    assert!(limited.ends_with("\nand 3 more, of 4 tasks\n"), "{limited}");
    assert_eq!(ids(&["--source", "manual", "--ready", "--flat"]), ["1.2.1"]);
    assert_eq!(listed(&bench, &["--source", "prd"]), "no task matches\n");
    for wrong in [&["--source", "dream"][..], &["--status", "ready"], &["--limit", "0"]] {
        bench.samuel(&[&["run", "tasks"], wrong].concat()).fails(2);
    }
    let data = bench.ok(&["run", "tasks", "--ready", "--tree", "--json"]).json()["data"].clone();
    let rows: Vec<Value> = data["rows"].as_array().unwrap().clone();
    assert_eq!(bench.tasks()[1]["id"], "1.1", "programs get the order of the plan");
    assert_eq!((&data["matching"], &data["total"], rows.len()), (&1.into(), &5.into(), 3));
    assert_eq!(
        rows[2],
        json!({ "id": "1.2.1", "depth": 2, "matches": true, "ready": true, "group": null, "claim": null, "gone": null })
    );
}

#[test]
fn the_status_says_how_much_is_done_and_groups_are_no_work() {
    let bench = grouped();
    let text = bench.ok(&["run", "status"]).stdout;
    assert!(text.contains("Tasks      1 of 3 completed (33%), 2 pending\n"), "{text}");
    let tasks = bench.ok(&["run", "status", "--json"]).json()["data"]["tasks"].clone();
    assert_eq!((&tasks["percent"], &tasks["groups"], &tasks["total"]), (&33.into(), &2.into(), &3.into()));
    let empty = Bench::with_tasks(&[]);
    assert!(empty.ok(&["run", "status"]).stdout.contains("Tasks      0 of 0 completed\n"));
}

#[test]
fn a_task_is_shown_with_what_it_belongs_to_and_what_happened_to_it() {
    let bench = grouped();
    bench.ok(&["run", "edit", "1.2.1", "--acceptance", "the tests pass", "--creates", "src/rules.rs"]);
    bench.ok(&["run", "block", "1.2.1", "--reason", "no\u{1b}[2J key"]);
    let text = bench.ok(&["run", "show", "1.2.1"]).stdout;
    says(
        &text,
        &[
            "1.2.1 Rules\n  Status     blocked: no\\u{1b}[2J key\n",
            "  Complexity complex\n",
            "  Creates    src/rules.rs\n",
            "Acceptance\n  - the tests pass\n",
            "Part of\n  [ ] 1.2 Grammar\n  [ ] 1 Parser\n",
            "user (",
            "): add\n",
            ": edit: files_to_create, acceptance\n",
            ": block, pending to blocked: no\\u{1b}[2J key\n",
        ],
    );
    let waiting = bench.ok(&["run", "show", "2"]).stdout;
    says(&waiting, &["Status     pending, waits for 1\n", "Depends on\n  [ ] 1 Parser\n"]);
    let group = bench.ok(&["run", "show", "1"]).stdout;
    says(&group, &["Group      1 of 2 parts settled\n", "Needed by\n  [ ] 2 Docs\n"]);
    let done = bench.ok(&["run", "show", "1.1", "--json"]).json()["data"].clone();
    assert_eq!(done["commits"], json!(["0a1b2c3d"]));
}

#[test]
fn attempts_are_shown_with_why_they_failed_and_their_logs() {
    let bench = Bench::with_tasks(&["First"]);
    bench.start("echo why; exit 7", &["--max-iterations", "1"]).ends(4);
    let text = bench.ok(&["run", "show", "1"]).stdout;
    says(
        &text,
        &[
            "Attempts\n",
            "  iteration 1 of run ",
            ": failed, ",
            "\n    agent-exit: command ended with exit code 7: why\n",
        ],
    );
    let log = text.lines().find(|line| line.ends_with("/1-1.out")).unwrap().trim();
    assert!(bench.read(log).starts_with("why\n"), "{text}");
    let mut command = bench.command(&["run", "show", "1", "-C", bench.root().to_str().unwrap()]);
    command.current_dir("/");
    let elsewhere = Ran::of(command).stdout;
    assert!(elsewhere.contains(bench.path(log).to_str().unwrap()), "{elsewhere}");
}

#[test]
fn an_id_that_no_task_has_is_answered_with_those_like_it() {
    let bench = grouped();
    for args in [&["run", "show", "1.2.2"][..], &["run", "done", "1.2.2"], &["run", "skip", "1.2.2"]] {
        let ran = bench.samuel(args).fails(1);
        says(
            &ran.stderr,
            &["error: there is no task 1.2.2\n", "help: Did you mean 1.2.1 or 1.2", "`samuel run tasks`"],
        );
    }
    let document = bench.samuel(&["run", "show", "1.2.2", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_TASK_NOT_FOUND");
}

/// Returns the schema of a command's document, closed: a key that it does not name is refused.
fn schema(bench: &Bench, command: &str) -> Value {
    let mut schema: Value = serde_json::from_str(&bench.ok(&["schema", command]).stdout).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{command}");
    for (name, definition) in schema["$defs"].as_object_mut().unwrap() {
        assert!(definition["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        if definition["properties"].is_object() {
            definition["additionalProperties"] = false.into();
        }
    }
    schema
}

#[test]
fn what_commands_answer_is_as_their_schemas_say() {
    let bench = grouped();
    bench.ok(&["run", "block", "2", "--reason", "later"]);
    let hooks = "version: 2\nhooks:\n  post_iteration:\n    - command: [echo, \"{{iteration}}\"]\n";
    bench.write(".samuel/hooks.yml", hooks);
    bench.start("exit 7", &["--max-iterations", "1"]).ends(4);
    let empty = Bench::empty();
    let mut asked = BTreeSet::new();
    for args in [
        &["run"][..],
        &["run", "status"],
        &["run", "tasks"],
        &["run", "tasks", "--ready", "--limit", "1"],
        &["run", "tasks", "--tree"],
        &["run", "show", "1"],
        &["run", "show", "1.1"],
        &["run", "show", "1.2.1"],
        &["run", "show", "nothere"],
        &["run", "prompt"],
        &["run", "prompt", "--stats"],
        &["run", "prompt", "--export"],
        &["run", "runs"],
        &["run", "queue"],
        &["run", "queue", "land", "--yes"],
        &["run", "lanes"],
        &["run", "merge", "--yes"],
        &["run", "clean"],
        &["run", "why"],
        &["run", "why", "check"],
        &["run", "report"],
        &["hooks", "list"],
        &["hooks", "show", "after:iteration"],
        &["hooks", "show", "quality.check"],
        &["hooks", "show", "session:post_iteration#1", "--expanded"],
        &["hooks", "validate"],
        &["hooks", "test", "session:post_iteration#1", "--yes"],
        &["hooks", "fire", "after:iteration", "--yes"],
        &["hooks", "fire", "after:iteration", "--dry-run"],
        &["hooks", "fire", "quality.check", "--yes"],
        &["hooks", "log"],
        &["hooks", "scaffold", "note", "--event", "SessionStart", "--language", "sh"],
    ] {
        for place in [&bench, &empty] {
            let document = place.samuel(&[args, &["--json"]].concat()).json();
            let command = document["command"].as_str().unwrap().to_owned();
            let validator = jsonschema::validator_for(&schema(&bench, &command)).unwrap();
            let errors: Vec<String> = validator
                .iter_errors(&document)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert_eq!(errors, [""; 0], "{args:?}: {document}");
            asked.insert(command);
        }
    }
    // No schema is there that nothing is held against.
    let all: Value = serde_json::from_str(&bench.ok(&["schema"]).stdout).unwrap();
    let known: BTreeSet<String> = all.as_object().unwrap().keys().cloned().collect();
    assert_eq!(asked, known);
}

#[test]
fn a_schema_refuses_what_is_not_so() {
    let bench = grouped();
    let validator = jsonschema::validator_for(&schema(&bench, "run show")).unwrap();
    let document = bench.ok(&["run", "show", "1.1", "--json"]).json();
    assert!(validator.is_valid(&document));
    for (pointer, wrong) in [
        ("/command", json!("run tasks")),
        ("/data/task/status", json!("finished")),
        ("/data/changes/0/change", json!("4")),
        ("/data/parents", json!([])),
        ("/data", json!(null)),
        ("/error", json!({ "code": "E_X" })),
    ] {
        let mut other = document.clone();
        *other.pointer_mut(pointer).unwrap() = wrong;
        assert!(!validator.is_valid(&other), "{pointer}");
    }
}

#[test]
fn a_schema_is_asked_for_by_the_name_of_the_command() {
    let bench = Bench::empty();
    let all = bench.ok(&["schema"]).stdout;
    assert!(!all.contains("$comment"), "where it is written is of no use to who asks for it");
    let printed = bench.ok(&["schema", "run", "tasks"]).stdout;
    assert_eq!(printed, bench.ok(&["schema", "run tasks"]).stdout);
    assert_eq!(
        serde_json::from_str::<Value>(&printed).unwrap()["properties"]["command"]["const"],
        "run tasks"
    );
    let ran = bench.samuel(&["schema", "run", "done"]).fails(2);
    says(
        &ran.stderr,
        &["there is no schema of what \"run done\" answers", "There are schemas for: run, run status"],
    );
}
