//! `init` and `convert`.

use crate::bench::Bench;

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
fn a_companion_with_a_checklist_wins_over_headings() {
    let bench = Bench::empty();
    bench.write("prd-notes.md", PRD);
    let list = "- [x] 1.1 Save [~3,000 tokens - High]\n  - [ ] 1.2 Load\n";
    bench.write("tasks-notes.md", list);
    let ran = bench.ok(&["run", "init", "--prd", "prd-notes.md", "--json"]).json();
    assert_eq!(ran["data"]["converted"]["form"], "companion");
    let tasks = bench.tasks();
    assert_eq!((&tasks[0]["status"], &tasks[0]["complexity"]), (&"completed".into(), &"complex".into()));
    assert_eq!(tasks[1]["depends_on"], serde_json::json!(["1.1"]));
}

#[test]
fn no_task_at_all_is_a_warning_that_says_what_was_looked_for() {
    let bench = Bench::empty();
    bench.write("prd.md", "# Only words\n\nNothing to do.\n");
    let document = bench.ok(&["run", "init", "--prd", "prd.md", "--json"]).json();
    assert_eq!(document["data"]["converted"]["tasks"], 0);
    assert!(document["warnings"][0].as_str().unwrap().contains("looked for headings"), "{document}");
    let ran = bench.ok(&["run", "convert", "prd.md"]);
    assert!(ran.stderr.starts_with("warning: "), "{ran:?}");
}

#[test]
fn init_writes_a_configuration_with_the_checks_it_found() {
    let bench = Bench::empty();
    bench.write("Cargo.toml", "[package]\nname = \"x\"\n");
    bench.ok(&["run", "init"]);
    let config = bench.read("samuel.toml");
    assert!(config.contains("\nquality_checks = [\"cargo test\"]\n"), "{config}");
    assert!(config.contains("\ndefault_methodology = \"ralph\"\n"), "{config}");
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
fn a_plan_with_tasks_is_replaced_only_by_force_and_kept_as_a_backup() {
    let bench = Bench::with_tasks(&["Mine"]);
    bench.write("prd.md", PRD);
    let before = bench.files();
    for args in [&["run", "init"][..], &["run", "init", "--prd", "prd.md"], &["run", "convert", "prd.md"]] {
        let ran = bench.samuel(args);
        assert_eq!(ran.code, 1);
        assert!(
            ran.stderr.contains("there is a plan at ") && ran.stderr.contains("--force"),
            "{}",
            ran.stderr
        );
    }
    let plain: Vec<_> = bench.files().into_iter().filter(|(path, _)| !path.ends_with("lock")).collect();
    let expected: Vec<_> = before.into_iter().filter(|(path, _)| !path.ends_with("lock")).collect();
    assert_eq!(plain, expected);
    let document = bench.ok(&["run", "convert", "prd.md", "--force", "--json"]).json();
    let backup = document["data"]["backup"].as_str().unwrap();
    assert!(std::fs::read_to_string(backup).unwrap().contains("Mine"));
    assert_eq!(bench.tasks().len(), 2);
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
    let ran = bench.samuel(&["run", "init", "--prd", "prd.md"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
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
    let ran = bench.samuel(&["run", "init", "--prd", "nowhere.md"]);
    assert_eq!(ran.code, 1);
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
