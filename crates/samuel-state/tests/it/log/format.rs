//! Formats of records: old logs for ever, and newer ones not at all.

use std::{collections::BTreeSet, fs};

use samuel_state::{LOG_FORMAT, LogFold, ReadRecord};
use serde_json::Value;

use super::*;

/// Every change that records of the format 1 have.
const CHANGES: [&str; 29] = [
    "done",
    "skip",
    "reset",
    "enqueue",
    "add",
    "start_task",
    "return_to_pending",
    "take_back",
    "block",
    "ask",
    "answer",
    "heard",
    "edit",
    "remove",
    "move",
    "update",
    "undo",
    "claim",
    "release",
    "submit",
    "hold",
    "unhold",
    "landing",
    "land",
    "drop",
    "begin_discovery",
    "commit_iteration",
    "add_usage",
    "set_progress_status",
];

fn data(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/log").join(name)).unwrap()
}

#[test]
fn a_log_of_the_format_1_comes_to_the_same_plan_for_ever() {
    let (log, mut fold) = (data("format-1.jsonl"), LogFold::new(PLAN));
    let mut told = Vec::new();
    let mut changes = BTreeSet::new();
    for (number, record) in log.lines().enumerate() {
        let read = fold.fold(number as u64 + 1, record.as_bytes()).unwrap();
        let change = serde_json::from_str::<Value>(record).ok();
        let change = change.and_then(|record| Some(record["mutation"]["type"].as_str()?.to_owned()));
        let outcome = match read {
            ReadRecord::Counted { outcome: Ok(_), .. } => {
                changes.extend(change.clone());
                "counts".to_owned()
            }
            ReadRecord::Counted { outcome: Err(error), .. } => error.code().name.to_owned(),
            ReadRecord::Repeated { .. } => "repeated".to_owned(),
            ReadRecord::Void { .. } => "void".to_owned(),
        };
        told.push(format!("{} {outcome}", change.as_deref().unwrap_or("-")));
    }
    let expected = data("format-1.outcomes");
    assert_eq!(told, expected.lines().collect::<Vec<_>>());
    assert_eq!(fold.digest(), data("format-1.digest").trim());
    assert!(CHANGES.iter().all(|change| changes.contains(*change)), "{changes:?}");
}

#[test]
fn a_worker_is_refused_at_the_first_record_of_a_newer_format() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    let (_, first) = log.records().pop().unwrap();
    let newer = String::from_utf8(first).unwrap().replace("\"format\":1", "\"format\":2");
    let newer = newer.replace("\"one\"", "\"newer\"");
    let number = log.put(newer);
    log.put(r#"{"format":1,"plan":"parser","writer":"two","n":1,"at":"2026-01-01T00:00:00Z","actor":"user","mutation":{"type":"done","id":"1"}}"#);
    let refused = store.mutate(enqueue("more"), Actor::User).unwrap_err();
    assert_eq!(refused.code().name, "E_FLEET_FORMAT");
    assert_eq!(
        refused.to_string(),
        format!(
            "record {number} of the plan parser has the format 2, and this version of Samuel reads up to {LOG_FORMAT}"
        )
    );
    assert_eq!(code(store.load()), "E_FLEET_FORMAT");
    assert_eq!(store.folded().unwrap().progress.completed_tasks, 0, "nothing after it counts");
    assert_eq!(log.records().len(), 3, "nothing is appended");
}
