//! What people change while lanes work: each change counts, agents are stopped, and their work is kept.

use std::{path::PathBuf, process::Command};

use rustix::process::Signal;

use crate::bench::{Bench, wait_for_file, wait_until};

/// Makes a pipe that whoever reads it waits at until somebody writes.
pub(crate) fn fifo(bench: &Bench, name: &str) -> PathBuf {
    let path = bench.tmp().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// A project whose agents wait for ever the first time that they are given a task, but for tasks from 5 on.
fn waiting(titles: &[&str]) -> (Bench, String) {
    let bench = Bench::with_tasks(titles);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    fifo(&bench, "never");
    let tmp = bench.tmp().display().to_string();
    let work = format!(
        "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; if [ $SAMUEL_TASK_ID -lt 5 ] && [ ! -e {tmp}/begun-$SAMUEL_TASK_ID ]; \
         then touch {tmp}/begun-$SAMUEL_TASK_ID; read line < {tmp}/never; fi; $SAMUEL_BINARY run done $SAMUEL_TASK_ID"
    );
    (bench, work)
}

#[test]
fn done_skip_reset_and_enqueue_count_while_lanes_work_and_what_agents_made_is_kept() {
    let (bench, work) = waiting(&["First", "Second", "Third", "Fourth"]);
    let run = bench.spawn(&[&bench.start_args(&work)[..], &["--jobs", "4"]].concat());
    for id in 1..=4 {
        wait_for_file(&bench.tmp().join(format!("begun-{id}")));
    }
    bench.ok(&["run", "enqueue", "Fifth"]);
    bench.ok(&["run", "skip", "1"]);
    bench.ok(&["run", "done", "2"]);
    bench.ok(&["run", "reset", "3"]);
    bench.ok(&["run", "release", "4"]);
    assert_eq!(run.code(), 0, "no agent waits any more");
    let stands: Vec<String> = (1..=5).map(|id| bench.status(&id.to_string())).collect();
    assert_eq!(stands, ["skipped", "completed", "completed", "completed", "completed"]);
    let result = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel/**/result"]);
    let landed = bench.git(&["ls-tree", "--name-only", &result]);
    let landed: Vec<&str> = landed.lines().filter(|file| file.starts_with("made-")).collect();
    assert_eq!(landed, ["made-3", "made-4", "made-5"], "what the user settled does not land");
    let kept = bench.git(&["for-each-ref", "--format=%(refname)", "refs/heads/samuel"]);
    for id in 1..=4 {
        let reference = kept.lines().find(|name| name.contains(&format!("/{id}-")));
        let reference = reference.unwrap_or_else(|| panic!("the work on {id} is gone: {kept}"));
        assert_eq!(bench.git(&["show", &format!("{reference}:made-{id}")]), "x");
    }
}

#[test]
fn reports_done_of_a_person_after_the_agents() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    fifo(&bench, "never");
    let tmp = bench.tmp().display().to_string();
    let work = format!(
        "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID; \
         touch {tmp}/said-$SAMUEL_TASK_ID; read line < {tmp}/never"
    );
    let mut run = bench.spawn(&[&bench.start_args(&work)[..], &["--jobs", "2"]].concat());
    ["1", "2"].iter().for_each(|id| wait_for_file(&bench.tmp().join(format!("said-{id}"))));
    // One of them is the task of the worker that leads.
    ["1", "2"].iter().for_each(|id| _ = bench.ok(&["run", "done", id]));
    let told = run.wait_for("completed: ");
    assert_eq!(run.code(), 0, "no agent waits any more");
    assert!(told.contains("1, 2"), "{told}");
    let report = bench.ok(&["run", "report", "--format", "md"]).stdout;
    assert_eq!(report.matches("- [x] ").count(), 2, "{report}");
}

/// A project in a repository with a check and four tasks.
fn checked(check: &str) -> Bench {
    let bench = Bench::with_tasks(&["First", "Second", "Third", "Fourth"]);
    bench.write("a.txt", "one\n");
    bench.configure(&format!("quality_checks = [\"{check}\"]"));
    bench.make_repository(&["a.txt", "samuel.toml"]);
    bench
}

/// The first two calls of agents write into the plan that each task has a status; the later ones work.
fn edited_by_agents(status: &str) {
    let bench = checked("true");
    let (root, tmp) = (bench.root().display().to_string(), bench.tmp().display().to_string());
    let work = format!(
        "cat > /dev/null; if mkdir {tmp}/call-1 2> /dev/null || mkdir {tmp}/call-2 2> /dev/null; then \
         sed -i 's/,in_progress,/,{status},/; s/,pending,/,{status},/' {root}/.samuel/run/prd.toon; exit 0; fi; \
         echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID"
    );
    let ran = bench.start(&work, &["--jobs", "2"]).ends(0);
    let result = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel/**/result"]);
    for task in bench.tasks() {
        assert_eq!(task["status"], "completed", "{task} {ran:?}");
        let commit = task["commit_sha"].as_str().unwrap_or_else(|| panic!("{task} {ran:?}"));
        bench.git(&["merge-base", "--is-ancestor", commit, &result]);
    }
}

#[test]
fn edit_of_plan_completes_no_task_of_workers() {
    edited_by_agents("completed");
}

#[test]
fn skip_by_edit_is_refused_for_workers() {
    edited_by_agents("skipped");
}

#[test]
fn edit_before_a_kill_confirms_nothing() {
    let bench = checked("false");
    let (root, tmp) = (bench.root().display().to_string(), bench.tmp().display().to_string());
    let work = format!(
        "cat > /dev/null; if mkdir {tmp}/edited 2> /dev/null; then \
         sed -i 's/,in_progress,/,completed,/; s/,pending,/,completed,/' {root}/.samuel/run/prd.toon; \
         touch {tmp}/up; fi; while :; do sleep 0.05; done"
    );
    let run = bench.spawn(&[&bench.start_args(&work)[..], &["--jobs", "2"]].concat());
    wait_for_file(&bench.tmp().join("up"));
    run.signal(Signal::KILL);
    assert_eq!(run.code(), -1);
    let ran = bench.start("cat > /dev/null", &["--jobs", "2", "--max-iterations", "2"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    for task in bench.tasks() {
        assert_ne!(task["status"], "completed", "{task} {ran:?}");
    }
}

#[test]
fn done_as_another_user_needs_passing_check_of_merged_work() {
    let bench = checked("false");
    let root = bench.root().display().to_string();
    let work = format!(
        "cat > /dev/null; for id in 1 2 3 4; do \
         env -i PATH=\"$PATH\" HOME=\"$HOME\" $SAMUEL_BINARY -C {root} run done $id; done; true"
    );
    let ran = bench.start(&work, &["--jobs", "2", "--max-iterations", "4"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    for task in bench.tasks() {
        assert_ne!(task["status"], "completed", "{task} {ran:?}");
    }
}

#[test]
fn the_queue_of_a_run_says_why_work_waits_and_heeds_who_holds_and_releases_it() {
    let bench = Bench::with_tasks(&["First", "Second", "Third"]);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    let go = fifo(&bench, "go");
    let work = format!(
        "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; [ $SAMUEL_TASK_ID != 3 ] || read line < {}; \
         $SAMUEL_BINARY run done $SAMUEL_TASK_ID",
        go.display()
    );
    // The first task's file is in the way of the landing.
    bench.write("made-1", "mine\n");
    let run = bench.spawn(&[&bench.start_args(&work)[..], &["--jobs", "3", "--into", "main"]].concat());
    let entry = |id: &str| {
        let document = bench.ok(&["run", "queue", "--json"]).json();
        let entries = document["data"]["entries"].as_array().unwrap().clone();
        entries.into_iter().find(|entry| entry["task"] == id)
    };
    let is_in_the_way = |id| {
        entry(id).is_some_and(|entry| {
            entry["place"] == "waits" && entry["why"].as_str().unwrap().contains("made-1")
        })
    };
    wait_until("the landing waits", || is_in_the_way("1"));
    bench.ok(&["run", "queue", "hold", "1"]);
    std::fs::remove_file(bench.path("made-1")).unwrap();
    wait_until("the second task has landed", || bench.status("2") == "completed");
    assert_eq!(bench.status("1"), "in_progress");
    assert!(entry("1").unwrap()["held_by"].as_str().unwrap().starts_with("the user ("));
    bench.ok(&["run", "queue", "release", "1"]);
    wait_until("the first task has landed", || bench.status("1") == "completed");
    std::fs::write(&go, "\n").unwrap();
    assert_eq!(run.code(), 0);
    for id in 1..=3 {
        assert_eq!(bench.read(&format!("made-{id}")), "x\n");
    }
}
