//! What a run says in which one of several lanes cannot go on.

use serde_json::{Value, json};

use crate::{bench::says, lane_ground::Ground};

#[test]
fn a_lane_that_cannot_go_on_ends_the_run_with_its_reason_and_code() {
    // Two are at work at once, and the check of the second worker breaks the record of its clone.
    let ground = Ground::with(&["1", "2", "3", "4"]).agents(|lanes| lanes.meeting(["1", "2"]));
    let check = "case $PWD in */lane-2.clone/*) rm ../record.json; mkdir ../record.json;; esac";
    ground.bench.configure(&format!("quality_checks = [{}]", json!(check)));
    ground.sh("git commit --quiet --all --message Check");
    let ran = ground.start(2, &["--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "E_WORKSPACE_FAILED", "{ran:?}");
    says(last["error"]["message"].as_str().unwrap(), &["lane 2 cannot go on: ", "record.json"]);
    let status = ground.bench.ok(&["run", "tasks"]).stdout;
    assert!(!status.contains("working"), "{status}");
}
