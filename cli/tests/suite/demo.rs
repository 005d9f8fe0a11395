//! The demonstration.

use crate::bench::{Bench, Ran};

#[test]
fn the_demonstration_does_the_whole_job_without_an_identity_or_a_home() {
    let bench = Bench::empty();
    let kept = bench.path("demo");
    let mut command = bench.command(&["demo", "--keep", "demo", "--json"]);
    command.env_remove("HOME");
    let ran = Ran::of(command);
    let document = ran.json();
    assert_eq!((ran.code, &document["data"]["report"]["exit_reason"]), (0, &"completed".into()), "{ran:?}");
    let tasks = document["data"]["tasks"].as_array().unwrap();
    let commits = document["data"]["commits"].as_array().unwrap();
    assert_eq!((tasks.len(), commits.len()), (3, 4));
    for (task, commit) in tasks.iter().zip(commits[..3].iter().rev()) {
        let (sha, short) = (task["commit_sha"].as_str().unwrap(), commit.as_str().unwrap());
        assert!(task["status"] == "completed" && sha.starts_with(short.split(' ').next().unwrap()));
    }
    assert!(kept.join("greet.sh").is_file() && kept.join(".samuel/run/prd.toon").is_file());
    let journal = std::fs::read_to_string(kept.join(".samuel/run/journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"actor\":\"agent\"").count(), 3);
}

#[test]
fn the_demonstration_shows_tasks_commits_and_files_and_leaves_nothing() {
    let bench = Bench::empty();
    let ran = bench.ok(&["demo"]);
    for text in
        ["[x] 3  low       Tell people about it", "feat: greet by name", "  tests/world.sh", "--keep DIR"]
    {
        assert!(ran.stdout.contains(text), "{text} is not in {}", ran.stdout);
    }
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
    assert_eq!(bench.files(), []);
}

#[test]
fn a_directory_with_something_in_it_is_not_used() {
    let bench = Bench::empty();
    bench.write("mine.txt", "x");
    let ran = bench.samuel(&["demo", "--keep", "."]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("is not empty"), "{ran:?}");
    assert_eq!(bench.files().len(), 1);
}
