//! `init` and `convert`.

use std::{io::Write, process::Stdio};

use crate::bench::{Bench, says};

const PRD: &str = "# PRD: Notes\n\n## Implementation Plan\n\n### 1 Store\n\nIn a file.\n\n```sh\n# 9 no task\n```\n\n\
                   ### 1.1 Search\n\nFast.\n";

#[test]
fn a_prd_becomes_a_plan_with_parents_and_descriptions() {
    let bench = Bench::empty();
    bench.write("docs/prd.md", PRD);
    let data = bench.ok(&["run", "init", "--prd", "docs/prd.md", "--json"]).json()["data"].clone();
    assert_eq!((&data["converted"]["tasks"], &data["converted"]["form"]), (&2.into(), &"headings".into()));
    let tasks = bench.tasks();
    assert_eq!((&tasks[0]["id"], &tasks[0]["title"]), (&"1".into(), &"Store".into()));
    assert_eq!(tasks[0]["description"], "In a file.\n\n```sh\n# 9 no task\n```");
    assert_eq!((&tasks[1]["id"], &tasks[1]["parent_id"]), (&"1.1".into(), &"1".into()));
    assert!(bench.read(".samuel/run/prd.toon").starts_with("# toon v3\n"));
    assert!(bench.read(".samuel/run/prd.toon").contains("docs/prd.md"));
    assert!(!bench.path(".claude").exists());
}

#[test]
fn warns_of_prd_outside_of_project() {
    let bench = Bench::empty();
    let outside = bench.tmp().join("out.md");
    std::fs::write(&outside, PRD).unwrap();
    let prd = outside.to_str().unwrap();
    for args in [&["run", "init", "--prd", prd][..], &["run", "convert", prd, "--update", "--yes"]] {
        let told = "prompts cannot quote this PRD. It cannot be read: it is not in the project. Copy it into";
        says(&bench.ok(args).stderr, &["warning: ", told]);
    }
    bench.write("prd.md", PRD);
    let inside = bench.ok(&["run", "convert", "prd.md", "--force"]).stderr;
    assert!(!inside.contains("cannot quote"), "{inside}");
}

#[test]
fn a_companion_with_a_checklist_wins_over_headings() {
    let bench = Bench::empty();
    bench.write("prd-notes.md", PRD);
    let list = "- [x] 1.1 Save [~3,000 tokens - High]\n- [ ] 1.2 Load\n  - [ ] 1.3 Find\n";
    bench.write("tasks-notes.md", list);
    let ran = bench.ok(&["run", "init", "--prd", "prd-notes.md", "--json"]).json();
    assert_eq!(ran["data"]["converted"]["form"], "companion");
    let tasks = bench.tasks();
    assert_eq!((&tasks[0]["status"], &tasks[0]["complexity"]), (&"completed".into(), &"complex".into()));
    assert_eq!(tasks[2]["depends_on"], serde_json::json!(["1.2"]));
}

#[test]
fn a_prd_without_tasks_is_refused_with_the_three_nearest_forms_unless_an_empty_plan_is_asked_for() {
    let bench = Bench::empty();
    bench.write("prd.md", "# Only words\n\nNothing to do.\n\n## Phase 1: Think\n\n- [x](y)\n");
    bench.write("words.md", "# Only words\n\nNothing to do.\n");
    let before = bench.files();
    let ran = bench.samuel(&["run", "convert", "words.md"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(
        ran.stderr.contains("looked for headings") && ran.stderr.contains("--allow-empty"),
        "{}",
        ran.stderr
    );
    let document = bench.samuel(&["run", "init", "--prd", "words.md", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_PRD_INVALID");
    let help = document["error"]["help"].as_str().unwrap();
    assert_eq!(help.matches(" (").count(), 3, "{help}");
    assert_eq!(bench.files(), before);

    let document = bench.ok(&["run", "init", "--prd", "words.md", "--allow-empty", "--json"]).json();
    assert_eq!(document["data"]["converted"]["tasks"], 0);
    assert!(document["warnings"][0].as_str().unwrap().contains("looked for headings"), "{document}");
    let ran = bench.ok(&["run", "convert", "words.md", "--allow-empty"]);
    assert!(ran.stderr.starts_with("warning: "), "{ran:?}");
}

#[test]
fn the_forms_are_listed_and_one_can_be_forced() {
    let bench = Bench::empty();
    let data = bench.ok(&["run", "convert", "--formats", "--json"]).json()["data"].clone();
    let names: Vec<&str> =
        data["forms"].as_array().unwrap().iter().map(|form| form["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"spec-kit") && names.contains(&"task-master"), "{names:?}");
    assert!(bench.ok(&["run", "convert", "--formats"]).stdout.contains("\nkiro "));

    bench.write("prd.md", "# P\n\n- [ ] box\n\n1. number\n2. another\n");
    let data =
        bench.ok(&["run", "init", "--prd", "prd.md", "--format", "numbered-list", "--json"]).json()["data"]
            .clone();
    assert_eq!(
        (&data["converted"]["form"], &data["converted"]["tasks"]),
        (&"numbered-list".into(), &2.into())
    );
    let ran = bench.samuel(&["run", "convert", "prd.md", "--format", "nonsense"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("unknown form \"nonsense\""), "{}", ran.stderr);
    let ran = bench.samuel(&["run", "convert", "prd.md", "--format", "kiro", "--force"]);
    assert_eq!(bench.tasks().len(), if ran.code == 0 { 1 } else { 2 }, "{ran:?}");
}

#[test]
fn what_is_no_prd_is_named_with_its_place_and_the_plan_stays() {
    let bench = Bench::with_tasks(&["Mine"]);
    bench.write("nul.md", "# P\n\n- [ ] a\0b\n");
    bench.write("page.md", "<!DOCTYPE html>\n<html></html>\n");
    bench.write("prd.json", "{\n  \"userStories\": [\n    oops\n  ]\n}\n");
    bench.write("twice.md", "# T\n\n## 1. A\n- [ ] 1.1 a\n- [ ] 1.1 b\n");
    bench.write("cycle.md", "# T\n\n- [ ] T001 a (depends on T002)\n- [ ] T002 b (depends on T001)\n");
    bench.write("forms.md", "# T\n\n## Tasks\n\n### 1 A\n### Task 1: B\n");
    bench.write(
        "group.md",
        "# T\n\n## Tasks\n\n### 1 A\n\n### 1.1 B\n\nDepends on: 2\n\n### 2 C\n\nDepends on: 1\n",
    );
    std::fs::write(bench.path("latin1.md"), b"# Notes\n\n- [ ] caf\xe9\n").unwrap();
    std::fs::write(bench.path("utf16.md"), b"\xff\xfe#\0 \0T\0\n\0").unwrap();
    let made = std::process::Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap();
    assert!(made.success());
    let plan = bench.read(".samuel/run/prd.toon");
    for (file, words, line) in [
        ("nul.md", "U+0000", Some(3)),
        ("page.md", "is HTML", None),
        ("prd.json", "cannot be read as JSON", Some(3)),
        ("twice.md", "must be corrected", Some(5)),
        ("cycle.md", "must be corrected", Some(3)),
        ("forms.md", "must be corrected", Some(6)),
        ("group.md", "must be corrected", Some(5)),
        ("latin1.md", "is not UTF-8 in line 3: the byte 0xe9", Some(3)),
        ("utf16.md", "is not UTF-8 in line 1: it is UTF-16", Some(1)),
        (".", "cannot be read", None),
        ("pipe", "cannot be read", None),
    ] {
        for how in ["--force", "--update"] {
            let ran = bench.samuel(&["run", "convert", file, how, "--json"]);
            let error = ran.json()["error"].clone();
            assert_eq!((ran.code, &error["code"]), (1, &"E_PRD_INVALID".into()), "{file}: {error}");
            assert!(error["message"].as_str().unwrap().contains(words), "{file}: {error}");
            assert_eq!(error["location"]["line"].as_u64(), line, "{file}: {error}");
            assert_eq!(bench.read(".samuel/run/prd.toon"), plan);
        }
    }
}

#[test]
fn what_comes_in_by_a_pipe_is_held_to_the_same() {
    let bench = Bench::with_tasks(&["Mine"]);
    let plan = bench.read(".samuel/run/prd.toon");
    let update = |bytes: &[u8], args: &[&str]| {
        let mut command = bench.command(&[&["run", "convert", "--update", "-", "--json"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), document)
    };
    for (bytes, words, line) in [
        (&b""[..], "no task", Some(1)),
        (b"# P\n\n- [ ] caf\xe9\n", "is not UTF-8 in line 3", Some(3)),
        (b"# P\n\n- [ ] a\0b\n", "U+0000", Some(3)),
        (b"<!DOCTYPE html>\n", "is HTML", None),
        // The pipe of a JSON document that ends early.
        (b"{\n  \"userStories\": [\n    {\"id\": \"US-1\",", "cannot be read as JSON", Some(3)),
    ] {
        let (code, document) = update(bytes, &["--prune"]);
        let error = &document["error"];
        assert_eq!((code, &error["code"]), (Some(1), &"E_PRD_INVALID".into()), "{document}");
        assert!(error["message"].as_str().unwrap().contains(words), "{document}");
        assert_eq!(error["location"]["line"].as_u64(), line, "{document}");
        assert_eq!(bench.read(".samuel/run/prd.toon"), plan);
    }
    // One of Markdown that ends early is a PRD all the same: what it lacks stays.
    update(b"# P\n\n- [ ] 7 a\n- [ ] 8 b\n", &[]);
    let (code, document) = update(b"# P\n\n- [ ] 7 a\n", &[]);
    assert_eq!((code, &document["data"]["orphans"][0]["id"]), (Some(0), &"8".into()));
    assert_eq!(bench.tasks().len(), 3);
}

#[test]
fn init_writes_a_configuration_with_the_checks_it_found() {
    let bench = Bench::empty();
    bench.write("Cargo.toml", "[package]\nname = \"x\"\n");
    bench.ok(&["run", "init"]);
    let config = bench.read("samuel.toml");
    says(&config, &["\nquality_checks = [\"cargo test\"]\n", "\ndefault_methodology = \"ralph\"\n"]);
    assert_eq!(bench.tasks().len(), 0);
}

#[test]
fn a_configuration_that_is_there_stays() {
    let bench = Bench::empty();
    bench.write("samuel.toml", "version = \"2\"\n# mine\n");
    bench.ok(&["run", "init"]);
    assert_eq!(bench.read("samuel.toml"), "version = \"2\"\n# mine\n");
}

#[test]
fn a_plan_with_tasks_is_replaced_only_by_force_and_kept_among_the_last_ten() {
    let bench = Bench::with_tasks(&["Mine"]);
    bench.write("prd.md", PRD);
    let before = bench.files();
    for args in [&["run", "init"][..], &["run", "init", "--prd", "prd.md"], &["run", "convert", "prd.md"]] {
        let ran = bench.samuel(args).ends(1);
        says(&ran.stderr, &["there is a plan at ", "--force"]);
    }
    let plain: Vec<_> = bench.files().into_iter().filter(|(path, _)| !path.ends_with("lock")).collect();
    let expected: Vec<_> = before.into_iter().filter(|(path, _)| !path.ends_with("lock")).collect();
    assert_eq!(plain, expected);
    let document = bench.ok(&["run", "convert", "prd.md", "--force", "--json"]).json();
    assert!(document["data"]["backup"].is_null(), "there is no second backup: {document}");
    assert_eq!(bench.tasks().len(), 2);
    bench.ok(&["run", "restore"]);
    assert_eq!(bench.tasks()[0]["title"], "Mine");
    let text = bench.ok(&["run", "convert", "prd.md", "--force"]).stdout;
    says(&text, &["the plan that was there is kept; `samuel run restore` puts it back"]);
}

#[test]
fn nothing_is_said_to_be_kept_where_no_plan_was_replaced() {
    let bench = Bench::with_tasks(&["Mine"]);
    bench.write("prd.md", PRD);
    std::fs::remove_file(bench.root().join(".samuel/run/prd.toon")).unwrap();
    let text = bench.ok(&["run", "convert", "prd.md", "--force"]).stdout;
    assert!(!text.contains("kept"), "{text}");
    let document = bench.ok(&["run", "init", "--force", "--json"]).json();
    assert!(document["data"]["kept"].is_u64(), "{document}");
}

#[test]
fn a_plan_without_tasks_makes_way_for_a_prd() {
    let bench = Bench::with_tasks(&[]);
    bench.write("prd.md", PRD);
    bench.ok(&["run", "convert", "prd.md"]);
    assert_eq!(bench.tasks().len(), 2);
}

#[test]
fn errors_of_a_prd_are_listed_with_their_lines_and_nothing_is_written() {
    let bench = Bench::empty();
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1 One\n\n### 1 Again\n");
    let before = bench.files();
    let ran = bench.samuel(&["run", "init", "--prd", "prd.md"]).fails(1);
    assert!(ran.stderr.contains("prd.md:7:1"), "{}", ran.stderr);
    let document = bench.samuel(&["run", "init", "--prd", "prd.md", "--json"]).json();
    assert_eq!(
        (&document["error"]["code"], &document["error"]["location"]["line"]),
        (&"E_PRD_INVALID".into(), &7.into())
    );
    assert_eq!(document["data"]["findings"][0]["kind"], "duplicate-id");
    assert_eq!(bench.files(), before);
}

#[test]
fn a_prd_that_is_not_there_is_named() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["run", "init", "--prd", "nowhere.md"]).ends(1);
    assert!(ran.stderr.contains("nowhere.md not found"), "{}", ran.stderr);
    assert_eq!(bench.files(), []);
}

#[test]
fn a_dependency_that_is_no_task_is_said_to_be_left_out() {
    let bench = Bench::empty();
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1 One\n\nDepends on: 9\n");
    let ran = bench.ok(&["run", "init", "--prd", "prd.md"]);
    let told = "task 1 depends on 9, but there is no such task; the dependency is left out";
    assert!(ran.stderr.contains(told), "{ran:?}");
    assert_eq!(bench.tasks()[0]["depends_on"], serde_json::json!([]));
}
