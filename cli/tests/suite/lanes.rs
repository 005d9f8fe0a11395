//! Several lanes, as the command starts them.

use std::process::Command;

use crate::bench::{Bench, Ran};

fn git(bench: &Bench, directory: &str, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(bench.path(directory)).env("HOME", bench.root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A project of two tasks, in a repository with a commit.
fn with_repository() -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    git(&bench, ".", &["init", "--quiet", "--initial-branch=main"]);
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
        git(&bench, ".", &["config", key, value]);
    }
    bench.write("a.txt", "one\n");
    git(&bench, ".", &["add", "a.txt", "samuel.toml"]);
    git(&bench, ".", &["commit", "--quiet", "--message", "Start"]);
    bench
}

#[test]
fn the_demonstration_in_lanes_comes_to_the_tree_of_the_one_without() {
    let bench = Bench::empty();
    bench.ok(&["demo", "--keep", "alone", "--json"]);
    let document = bench.ok(&["demo", "--keep", "lanes", "--jobs", "3", "--json"]).json();
    assert_eq!(document["data"]["report"]["exit_reason"], "completed", "{document}");
    let branch = document["data"]["branch"].as_str().unwrap();
    assert!(branch.starts_with("samuel/") && branch.ends_with("/result"), "{branch}");
    let tree = git(&bench, "lanes", &["rev-parse", &format!("{branch}^{{tree}}")]);
    assert_eq!(tree, git(&bench, "alone", &["rev-parse", "HEAD^{tree}"]));
    assert_eq!(document["data"]["commits"].as_array().unwrap().len(), 4);
    let told = bench.ok(&["demo", "--jobs", "2"]).stdout;
    assert!(told.contains("landed: 3 on samuel/") && told.contains("` takes it over"), "{told}");
}

#[test]
fn a_run_with_lanes_leaves_the_checkout_alone_and_says_how_to_take_the_work_over() {
    let bench = with_repository();
    let head = git(&bench, ".", &["rev-parse", "HEAD"]);
    let work = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    let command = format!("sh -c '{work}'");
    let args = ["run", "start", "--yes", "--jobs", "2", "--pause", "0", "--agent-command", &command];
    let told = bench.ok(&args).stdout;
    assert!(told.contains("[1] iteration ") && told.contains("submitted: "), "{told}");
    assert_eq!(git(&bench, ".", &["rev-parse", "HEAD"]), head);
    assert!(!bench.path("made-1").exists());
    let (_, merge) = told.rsplit_once("; `").unwrap();
    let (merge, _) = merge.split_once("` takes it over").unwrap();
    let merge: Vec<&str> = merge.split(' ').skip(1).collect();
    git(&bench, ".", &merge);
    assert!(bench.path("made-1").exists() && bench.path("made-2").exists());
    let listed = bench.ok(&["run", "tasks"]).stdout;
    assert_eq!(listed.matches("[x]").count(), 2, "{listed}");
}

#[test]
fn lanes_that_cannot_be_are_refused_with_what_to_do() {
    let bench = with_repository();
    let refused = |args: &[&str], code: i32| -> Ran {
        let start = ["run", "start", "--yes", "--agent-command", "true"];
        bench.samuel(&[&start[..], args].concat()).fails(code)
    };
    for jobs in ["0", "65", "-1", "many"] {
        let said = refused(&["--jobs", jobs], 2).stderr;
        assert!(said.contains("--jobs"), "{said}");
    }
    let said = refused(&["--jobs", "2", "--into", "nowhere"], 2).stderr;
    assert!(said.contains("work cannot land on nowhere: there is no such branch"), "{said}");
    let said = refused(&["--into", "main"], 2).stderr;
    assert!(said.contains("is for runs with several lanes") && said.contains("--jobs"), "{said}");
    let said = refused(&["--jobs", "2", "--sandbox", "bwrap"], 2).stderr;
    assert!(said.contains("do not go together"), "{said}");
    bench.configure("parallel = { jobs = 99 }");
    let said = bench.samuel(&["run", "start", "--yes"]).fails(2).stderr;
    assert!(said.contains("samuel.toml:3") && said.contains("a whole number from 1 to 64"), "{said}");
    let bare = Bench::with_tasks(&["First"]);
    let start = ["run", "start", "--yes", "--agent-command", "true", "--jobs", "2"];
    let said = bare.samuel(&start).fails(1).stderr;
    assert!(said.contains("it is in no git repository") && said.contains("Work with one lane"), "{said}");
}
