//! Claims as the commands tell of them, and give them back.

use std::sync::Arc;

use samuel_core::{
    clock::SystemClock,
    model::{ReleaseReason, TaskId},
    project::Project,
    state::{Actor, Mutation},
};

use crate::bench::Bench;

/// Makes a change as a program that runs several agents, and returns its number.
fn change(bench: &Bench, mutation: Mutation) -> u64 {
    let project = Project::open(bench.root(), None, Arc::new(SystemClock::new())).unwrap();
    project.plan_store().mutate(mutation, Actor::Runtime).unwrap().revision
}

fn claim(bench: &Bench, of: &str) -> u64 {
    change(bench, Mutation::Claim { task: of.parse().unwrap(), worker: "lane-1".to_owned() })
}

#[test]
fn who_works_on_what_is_listed_shown_and_told_by_the_status() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let before = std::fs::read_to_string(bench.prd()).unwrap();
    assert!(!before.contains("claims"), "{before}");
    let token = claim(&bench, "1");
    claim(&bench, "@merge");
    let listed = bench.ok(&["run", "tasks"]).stdout;
    assert!(listed.contains("First  (by lane-1 since "), "{listed}");
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(status.contains("Claimed    1 by lane-1 since "), "{status}");
    assert!(status.contains("\n             @merge by lane-1 since "), "{status}");
    assert!(status.contains("Next       2 Second"), "{status}");
    let shown = bench.ok(&["run", "show", "1"]).stdout;
    assert!(
        shown.contains("Claimed    by lane-1 since ")
            && shown.contains("claim, pending to in_progress: by lane-1"),
        "{shown}"
    );
    let document = bench.ok(&["run", "tasks", "--json"]).json();
    let row = &document["data"]["rows"][0]["claim"];
    assert_eq!((&row["task"], &row["token"], &row["phase"]), (&"1".into(), &token.into(), &"working".into()));
    assert!(document["data"]["rows"][1]["claim"].is_null());
    let reason = ReleaseReason::Conflict { files: vec!["src/a.rs".to_owned()] };
    let kept = Some("samuel/run/1-2".to_owned());
    change(&bench, Mutation::Release { task: TaskId::new("1").into(), token, reason, kept });
    let listed = bench.ok(&["run", "tasks"]).stdout;
    let told = "(no attempt counted: it is in conflict in src/a.rs; kept as samuel/run/1-2)";
    assert!(listed.contains(told), "{listed}");
}

#[test]
fn a_task_is_given_back_once() {
    let bench = Bench::with_tasks(&["First"]);
    claim(&bench, "1");
    assert_eq!(bench.status("1"), "in_progress");
    let ran = bench.ok(&["run", "release", "1", "--reason", "its machine is down"]);
    assert!(ran.stdout.starts_with("1 is pending (change "), "{ran:?}");
    assert_eq!(bench.status("1"), "pending");
    let shown = bench.ok(&["run", "show", "1"]).stdout;
    assert!(shown.contains("in_progress to pending: its machine is down"), "{shown}");
    let again = bench.samuel(&["run", "release", "1"]).fails(1);
    assert!(again.stderr.starts_with("error: task 1 is claimed by nobody\n"), "{again:?}");
    assert!(again.stderr.ends_with("help: There is nothing to give back.\n"), "{again:?}");
    claim(&bench, "@discover");
    let role = bench.ok(&["run", "release", "@discover"]);
    assert!(role.stdout.starts_with("@discover is given back (change "), "{role:?}");
    let unknown = bench.samuel(&["run", "release", "9", "--json"]).json();
    assert_eq!(unknown["error"]["code"], "E_TASK_NOT_FOUND");
    assert_eq!(bench.samuel(&["run", "release", "@other"]).code, 2);
    let text = std::fs::read_to_string(bench.prd()).unwrap();
    assert!(!text.contains("claims"), "{text}");
}

#[test]
fn a_loop_leaves_what_is_claimed_to_its_worker() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    claim(&bench, "1");
    let ran = bench.start("\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"", &[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let stands = (bench.status("1"), bench.status("2"));
    assert_eq!(stands, ("in_progress".to_owned(), "completed".to_owned()));
    assert!(bench.ok(&["run", "status"]).stdout.contains("1 is claimed by lane-1 since "));
}
