//! What somebody asks of a run over several lanes, from another process.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
};

use serde_json::Value;

use crate::{
    bench::wait_until,
    lane_ground::{Ground, told},
};

/// Waits until something was told so often, and returns all events so far.
fn wait_told(lines: &mut impl Iterator<Item = String>, events: &mut Vec<Value>, kind: &str, times: usize) {
    while told(events, kind).len() < times {
        let line = lines.next().unwrap_or_else(|| panic!("{kind} was not told: {events:?}"));
        events.push(serde_json::from_str(&line).unwrap());
    }
}

#[test]
fn a_run_of_lanes_pauses_is_steered_goes_on_and_stops_in_all_of_them() {
    let ground = Ground::with(&["1", "2", "3", "4", "5", "6"]);
    let notes = ground.notes().display().to_string();
    // Each waits until there is a file of its own name.
    let waits = format!(
        "touch {notes}/up-$SAMUEL_TASK_ID; while ! test -e {notes}/go-$SAMUEL_TASK_ID; do sleep 0.02; done\n"
    );
    let agent = waits + &ground.lanes.command();
    let bench = &ground.bench;
    let mut command = bench.command(&[&bench.start_args(&agent)[..], &["--jobs", "2", "--json"]].concat());
    let mut run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut events = Vec::new();
    let up = |id: &str| Path::new(&format!("{notes}/up-{id}")).exists();
    let go = |id: &str| fs::write(format!("{notes}/go-{id}"), "").unwrap();
    wait_until("both lanes are at work", || up("1") && up("2"));
    wait_told(&mut lines, &mut events, "iteration_started", 2);

    // It is told once it was handed on.
    bench.ok(&["run", "pause"]);
    wait_told(&mut lines, &mut events, "commanded", 1);
    // The lane that does not lead would have begun with another task by the time that the first one rests.
    let second = told(&events, "iteration_started").into_iter().find(|event| event["lane"] == 2).unwrap();
    let second = second["task"]["id"].as_str().unwrap().to_owned();
    go(&second);
    wait_told(&mut lines, &mut events, "iteration_finished", 1);
    go(if second == "1" { "2" } else { "1" });
    wait_told(&mut lines, &mut events, "paused", 1);
    let begun = [3, 4, 5, 6].map(|id| ground.lanes.calls(&id.to_string()).unwrap());
    assert_eq!(begun, [0; 4], "{events:?}");

    bench.ok(&["run", "steer", "Mind the gap"]);
    wait_told(&mut lines, &mut events, "commanded", 2);
    bench.ok(&["run", "resume"]);
    wait_until("both lanes are at work again", || up("3") && up("4"));

    bench.ok(&["run", "stop"]);
    wait_told(&mut lines, &mut events, "commanded", 4);
    ["3", "4", "5", "6"].into_iter().for_each(go);
    let status = run.wait().unwrap();
    events.extend(lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()));
    assert!(!status.success(), "{events:?}");
    assert_eq!(events.last().unwrap()["error"]["code"], "E_RUN_CANCELLED", "{events:?}");
    for (kind, times) in [("commanded", 4), ("paused", 1), ("resumed", 1), ("iteration_started", 4)] {
        assert_eq!(told(&events, kind).len(), times, "{kind}: {events:?}");
    }
    // The turns that were under way have landed, and each of their agents was told.
    let statuses = ["1", "2", "3", "4", "5", "6"].map(|id| bench.status(id));
    assert_eq!(statuses, ["completed", "completed", "completed", "completed", "pending", "pending"]);
    for id in ["3", "4"] {
        let prompt = ground.lanes.prompt(id, 1).unwrap();
        assert!(prompt.contains("Mind the gap"), "{prompt}");
    }
    for id in ["1", "2"] {
        assert!(!ground.lanes.prompt(id, 1).unwrap().contains("Mind the gap"));
    }
}
