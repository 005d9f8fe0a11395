//! A run with lanes that is killed: what an agent was at is kept and told, what was submitted is not done again, and no
//! agent lives on.

use std::fs;

use rustix::process::Signal;

use crate::{
    bench::{says, wait_for_file, wait_until},
    lane_ground::Ground,
    lane_signals::processes,
};

// Takes about 6 s: a run with two workers that is killed, and the one that follows.
#[test]
fn after_a_kill_half_a_work_is_kept_and_told_and_what_was_submitted_lands_without_its_agent() {
    let ground = Ground::with(&["1", "2"]);
    let notes = ground.notes().display().to_string();
    let half = format!(
        "if test $SAMUEL_TASK_ID = 1 && ! test -e {notes}/again; then trap '' TERM INT HUP; echo half > half.txt; \
         touch {notes}/at; while :; do sleep 1; done; fi\n"
    );
    let agent = half + &ground.lanes.command();
    let args = [&ground.bench.start_args(&agent)[..], &["--jobs", "2", "--into", "main"]].concat();
    // A file of the user's is in the way of the landing.
    let in_the_way = ground.lanes.made("2");
    ground.bench.write(&in_the_way, "mine\n");
    let run = ground.bench.spawn(&args);
    wait_for_file(&ground.notes().join("at"));
    let waits = || {
        let queue = ground.bench.ok(&["run", "queue", "--json"]).json();
        queue["data"]["entries"].as_array().is_some_and(|entries| {
            entries.iter().any(|entry| entry["task"] == "2" && entry["place"] == "waits")
        })
    };
    wait_until("what was submitted waits", waits);
    run.signal(Signal::KILL);
    assert_eq!(run.code(), -1);
    let home = ground.bench.root().parent().unwrap().display().to_string();
    wait_until("no agent is left", || processes(&home).is_empty());
    fs::remove_file(ground.bench.path(&in_the_way)).unwrap();
    fs::write(ground.notes().join("again"), "").unwrap();
    let ran = ground.bench.start(&agent, &["--jobs", "2", "--into", "main"]).ends(0);
    ground.all_landed("main", &["1", "2"], &ran);
    assert_eq!(ground.lanes.calls("2").unwrap(), 1, "its agent is not called again");
    // It is taken out onto the branch of its task.
    let kept = ground.sh("git for-each-ref --format='%(refname)' refs/heads/samuel");
    let kept = kept.lines().find(|name| name.contains("/1-")).unwrap_or_else(|| panic!("{kept}"));
    assert_eq!(ground.sh(&format!("git show {kept}:half.txt")), "half");
    let told = format!("Its work is kept as {}", kept.trim_start_matches("refs/heads/"));
    says(&ground.lanes.prompt("1", 1).unwrap(), &["An earlier attempt at this task did not land", &told]);
    assert!(ground.tries("git show main:half.txt").is_err(), "nobody took it over");
}

#[test]
fn what_was_done_before_a_loop_holds_lands_meanwhile_and_a_kill_then_has_no_agent_called_again() {
    let ground = Ground::with(&["1", "2"]);
    let notes = ground.notes().display().to_string();
    let waits = format!("touch {notes}/up-$SAMUEL_TASK_ID; until test -e {notes}/go; do sleep 0.05; done\n");
    let agent = waits + &ground.lanes.command();
    let args = [&ground.bench.start_args(&agent)[..], &["--jobs", "2", "--into", "main"]].concat();
    let run = ground.bench.spawn(&args);
    ["1", "2"].iter().for_each(|id| wait_for_file(&ground.notes().join(format!("up-{id}"))));
    ground.bench.ok(&["run", "pause"]);
    fs::write(ground.notes().join("go"), "").unwrap();
    let has_landed = || ["1", "2"].iter().all(|id| ground.bench.status(id) == "completed");
    wait_until("what is done lands", has_landed);
    says(&ground.bench.ok(&["run", "why", "run"]).stdout, &["it has not stopped"]);
    run.signal(Signal::KILL);
    assert_eq!(run.code(), -1);
    let ran = ground.bench.start(&agent, &["--jobs", "2", "--into", "main"]).ends(0);
    ground.all_landed("main", &["1", "2"], &ran);
    assert_eq!(["1", "2"].map(|id| ground.lanes.calls(id).unwrap()), [1, 1], "{ran:?}");
}
