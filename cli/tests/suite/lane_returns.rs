//! What comes back from the queue: in conflict, with checks that fail, and once too often.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use samuel_core::testing::ScriptedLanes;
use serde_json::{Value, json};

use crate::{
    bench::{Ran, says},
    lane_ground::{Ground, commits_on, into_of, task, told},
};

/// Returns what a run told, and the document at its end.
fn played(ran: &Ran) -> Vec<Value> {
    ran.events().0
}

#[test]
fn of_two_in_conflict_one_goes_back_with_the_files_and_the_branch_and_the_innocent_lands() {
    let ground = Ground::with(&["1", "2", "3"])
        .agents(|lanes| lanes.conflicting("1", "2").meeting(["1", "2", "3"]).forgetting("2"));
    let ran = ground.start(3, &["--json"]).ends(0);
    let events = played(&ran);
    let returned = told(&events, "task_returned");
    let [back] = &returned[..] else { panic!("{returned:?}") };
    assert_eq!(back["reason"], "it is in conflict in conflict-1-2.txt");
    let (culprit, kept) = (back["task"].as_str().unwrap(), back["kept"].as_str().unwrap());
    let prompt = ground.lanes.prompt(culprit, 2).unwrap();
    says(&prompt, &["did not land: it is in conflict in conflict-1-2.txt", kept]);
    ground.sh(&format!("git rev-parse --verify --quiet {kept}"));
    assert_eq!(ground.lanes.calls("3").unwrap(), 1);
    let into = into_of(&ran);
    ground.all_landed(&into, &["1", "2", "3"], &ran);
    let mut lines: Vec<String> =
        ground.sh(&format!("git show {into}:conflict-1-2.txt")).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["1", "2"], "both are in it");
}

/// The first one lands as it is; the second is checked by the queue, and until all others are submitted, so that these
/// are merged together.
#[test]
fn of_a_batch_whose_checks_fail_the_culprit_alone_goes_back_with_the_failures() {
    let ground = Ground::with(&["1", "2", "3", "4", "5"]).agents(|lanes| lanes.clashing("3", "4"));
    let notes = ground.notes().display().to_string();
    // A check of the queue says with how many tasks, and waits until it may go on.
    let waits = format!(
        "case $PWD in */queue.clone/*) ls made-* | wc -l >> {notes}/checked; while ! test -e {notes}/go; do sleep 0.02; done;; esac"
    );
    let checks = json!([waits, ScriptedLanes::CHECK]);
    ground.bench.configure(&format!("quality_checks = {checks}"));
    ground.bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    let late = format!(
        "case $SAMUEL_TASK_ID in 1) after=all;; 2) after=landed;; *) after=checked;; esac; \
         while ! test -e {notes}/$after; do sleep 0.02; done\n"
    );
    let agent = late + &ground.lanes.command();
    let args = [&ground.bench.start_args(&agent)[..], &["--jobs", "5", "--json"]].concat();
    let mut run = ground.bench.command(&args);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut claimed, mut submitted, mut returned) = (0, 0, Vec::new());
    let mut into = String::new();
    for line in BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap) {
        let event: Value = serde_json::from_str(&line).unwrap();
        match event["event"].as_str().unwrap_or_default() {
            "task_claimed" => claimed += 1,
            "task_submitted" => submitted += 1,
            "task_returned" => returned.push(event.clone()),
            "task_landed" => {
                event["into"].as_str().unwrap().clone_into(&mut into);
                fs::write(format!("{notes}/landed"), "").unwrap();
            }
            _ => continue,
        }
        for (is_so, file) in [(claimed == 5, "all"), (submitted == 5, "go")] {
            if is_so {
                fs::write(format!("{notes}/{file}"), "").unwrap();
            }
        }
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let [back] = &returned[..] else { panic!("{returned:?}") };
    assert!(["3", "4"].contains(&back["task"].as_str().unwrap()), "{back}");
    let reason = back["reason"].as_str().unwrap();
    says(reason, &["the checks failed with it: ", "the two sides of 3-4 do not fit"]);
    let prompt = ground.lanes.prompt(back["task"].as_str().unwrap(), 2).unwrap();
    says(&prompt, &["the two sides of 3-4 do not fit", back["kept"].as_str().unwrap()]);
    let checked = fs::read_to_string(format!("{notes}/checked")).unwrap();
    let checked: Vec<&str> = checked.split_whitespace().collect();
    assert_eq!(checked[..3], ["2", "5", "5"], "the second, then all three together, and once more");
    assert_eq!(ground.lanes.calls("5").unwrap(), 1, "the innocent are not done again");
    assert_eq!(ground.landed(&into), ["1", "2", "3", "4", "5"]);
}

#[test]
fn three_attempts_that_do_not_land_block_the_task_and_the_run_ends_with_code_3() {
    let ground = Ground::with_tasks(vec![task("1", &[], &[]), task("2", &[], &[]), task("3", &["1"], &[])]);
    // It passes in the work tree of its lane and in no other.
    let check =
        "case $PWD in */queue.clone/*) if test -e made-1.txt; then echo it does not fit; exit 1; fi;; esac";
    ground.bench.configure(&format!("quality_checks = [{}]", json!(check)));
    ground.bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    ground.bench.git(&["branch", "trunk"]);
    // Somebody commits meanwhile, so that nothing lands as it was checked before.
    let root = ground.bench.root().display().to_string();
    let moves = format!(
        "if test $SAMUEL_TASK_ID = 1; then (cd {root}; {}); fi\n",
        commits_on("trunk", "theirs-$SAMUEL_ITERATION")
    );
    let agent = moves + &ground.lanes.command();
    let more = ["--jobs", "2", "--into", "trunk", "--json"];
    let ran = ground.bench.start(&agent, &more).ends(3);
    let (events, document) = ran.events();
    assert_eq!(document["data"]["report"]["exit_reason"], "blocked", "{document}");
    let returned = told(&events, "task_returned");
    let reasons: Vec<&str> = returned.iter().map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason.contains("it does not fit")), "{reasons:?}");
    let status = |id: &str| ground.bench.status(id);
    assert_eq!([status("1"), status("2"), status("3")], ["blocked", "completed", "pending"]);
    assert_eq!(ground.landed("trunk"), ["2"]);
    let shown = ground.bench.ok(&["run", "show", "1"]).stdout;
    assert!(shown.contains("3 attempts did not land"), "{shown}");
    // What was made stays.
    let kept = returned[2]["kept"].as_str().unwrap();
    assert_eq!(ground.sh(&format!("git show {kept}:made-1.txt")), "1");
}

#[test]
fn where_all_tasks_declare_the_same_files_they_are_done_one_after_the_other() {
    let tasks = [("1", "src"), ("2", "src/a.rs"), ("3", "./src//a.rs"), ("4", "src/*.rs")];
    let ground = Ground::with_tasks(tasks.map(|(id, file)| task(id, &[], &[file])).to_vec());
    let notes = ground.notes().display().to_string();
    let alone = format!("mkdir {notes}/alone && trap 'rmdir {notes}/alone' EXIT\n");
    let agent = alone + &ground.lanes.command();
    let ran = ground.bench.start(&agent, &["--jobs", "4", "--json"]).ends(0);
    let (events, document) = ran.events();
    assert_eq!(document["data"]["report"]["failed_iterations"], 0, "{document}");
    let waits: Vec<&str> =
        told(&events, "waiting").iter().map(|event| event["reason"].as_str().unwrap()).collect();
    assert!(waits.iter().any(|reason| reason.contains(" to land, which declares src")), "{waits:?}");
    // One is claimed when the one before has landed.
    let order: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    let order: Vec<&str> =
        order.into_iter().filter(|name| ["task_claimed", "task_landed"].contains(name)).collect();
    assert_eq!(order, ["task_claimed", "task_landed"].repeat(4));
    ground.all_landed(&into_of(&ran), &["1", "2", "3", "4"], &ran);
}
