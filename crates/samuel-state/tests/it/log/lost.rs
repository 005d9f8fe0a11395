//! Logs that have lost what they had acknowledged, and how it comes back.

use std::{fs, os::unix::fs::PermissionsExt as _};

use samuel_state::{LogError, recover};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// Two workers of one log, with a change each.
fn two() -> (MemoryLog, [LogStore<MemoryLog>; 2], [LogMirror; 2]) {
    let mirrors = [LogMirror::in_memory(), LogMirror::in_memory()];
    let (log, one) = with_plan("one", &mirrors[0]);
    let other = open(&log, "two", &mirrors[1]);
    one.mutate(claim("1", "left"), Actor::Runtime).unwrap();
    other.mutate(claim("2", "right"), Actor::Runtime).unwrap();
    (log, [one, other], mirrors)
}

#[test]
fn a_log_that_is_shorter_stops_all_and_is_appended_to_no_more() {
    for forgotten in 1..=3 {
        let (log, [one, other], _) = two();
        other.read_on().unwrap();
        one.read_on().unwrap();
        log.forget(forgotten);
        let left = log.records();
        for store in [&one, &other] {
            assert_eq!(code(store.mutate(enqueue("more"), Actor::User)), "E_FLEET_LOG_LOST");
            assert_eq!(code(store.load()), "E_FLEET_LOG_LOST");
            assert_eq!(code(store.retry()), "E_FLEET_LOG_LOST");
            assert_eq!(store.folded().unwrap().claims.len(), 2, "what it knew it still knows");
        }
        assert_eq!(log.records(), left);
    }
}

#[test]
fn a_log_with_other_records_at_the_same_numbers_is_found_out() {
    let (log, [one, other], _) = two();
    one.read_on().unwrap();
    log.forget(1);
    let newcomer = store(&log, "three");
    for title in ["a", "b", "c"] {
        newcomer.mutate(enqueue(title), Actor::User).unwrap();
    }
    let left = log.records();
    for store in [&one, &other] {
        let lost = store.mutate(enqueue("more"), Actor::User).unwrap_err();
        assert_eq!(
            lost.to_string(),
            "the log of the plan parser has lost records: record 3 is not the one that was read before"
        );
    }
    assert_eq!(log.records(), left);
}

#[test]
fn what_was_acknowledged_comes_back_from_the_longest_mirror() {
    for forgotten in 0..=3 {
        let (log, [one, other], mirrors) = two();
        other.read_on().unwrap();
        let digest = other.digest();
        drop([one, other]);
        log.forget(forgotten);
        let recovery = recover(&log, PLAN, &mirrors, clock().now(), PATIENCE).unwrap();
        assert_eq!((recovery.mirror, recovery.known, recovery.appended), (1, 3, forgotten));
        let stores = [open(&log, "one-2", &mirrors[0]), open(&log, "two-2", &mirrors[1])];
        for store in &stores {
            store.read_on().unwrap();
            assert_eq!(store.digest(), digest);
        }
        stores[0].mutate(enqueue("more"), Actor::User).unwrap();
        stores[1].mutate(enqueue("and more"), Actor::User).unwrap();
        assert_eq!(
            recover(&log, PLAN, &mirrors, clock().now(), PATIENCE).unwrap().appended,
            0,
            "it is all there"
        );
    }
}

#[test]
fn a_log_that_was_made_anew_with_other_numbers_is_taken_over_by_whoever_starts() {
    let (_, [one, other], mirrors) = two();
    other.read_on().unwrap();
    let digest = other.digest();
    drop(one);
    let faults = LogFaults { lost_acks: 40, twice: 40, gaps: 60, ..LogFaults::default() };
    let anew = MemoryLog::with_faults(5, faults);
    recover(&anew, PLAN, &mirrors, clock().now(), PATIENCE).unwrap();
    anew.set_faults(LogFaults::default());
    let store = open(&anew, "two-2", &mirrors[1]);
    store.read_on().unwrap();
    assert_eq!(store.digest(), digest);
    store.mutate(enqueue("more"), Actor::User).unwrap();
    let numbers: Vec<u64> = mirrors[1].records(PLAN).unwrap().iter().map(|record| record.number).collect();
    assert_eq!(numbers.len(), 4);
    assert_eq!(store.read_to(), anew.records().last().unwrap().0);
    assert_eq!(numbers.last(), anew.records().last().map(|(number, _)| number));
    // And it starts again from what it mirrors now.
    drop(store);
    assert_eq!(titles(&open(&anew, "two-3", &mirrors[1])).len(), 4);
}

#[test]
fn a_worker_that_starts_on_a_log_that_lost_something_stops() {
    let (log, [one, other], mirrors) = two();
    other.read_on().unwrap();
    drop([one, other]);
    log.forget(2);
    let store = open(&log, "two-2", &mirrors[1]);
    assert_eq!(code(store.mutate(enqueue("more"), Actor::User)), "E_FLEET_LOG_LOST");
    assert_eq!(log.records().len(), 1);
}

#[test]
fn histories_that_went_apart_are_not_put_together() {
    let (log, [one, other], mirrors) = two();
    other.read_on().unwrap();
    drop([one, other]);
    log.forget(1);
    let third = LogMirror::in_memory();
    open(&log, "three", &third).mutate(enqueue("else"), Actor::User).unwrap();
    let refused = recover(&log, PLAN, &mirrors, clock().now(), PATIENCE).unwrap_err();
    assert!(matches!(&refused, LogError::Diverged { what, at: 3, .. } if what == "the log"), "{refused}");
    let all: Vec<LogMirror> = mirrors.into_iter().chain([third]).collect();
    let refused = recover(&MemoryLog::new(), PLAN, &all, clock().now(), PATIENCE).unwrap_err();
    assert!(matches!(refused, LogError::Diverged { at: 3, .. }), "{refused}");
    assert_eq!(log.records().len(), 3);
}

#[test]
fn nothing_is_brought_back_from_a_mirror_that_was_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    store.mutate(enqueue("more"), Actor::User).unwrap();
    drop(store);
    let path = dir.path().join("worker/parser.jsonl");
    let changed = std::fs::read_to_string(&path).unwrap().replace("more", "less");
    std::fs::write(&path, changed).unwrap();
    log.forget(2);
    let refused = recover(&log, PLAN, &[in_dir(dir.path())], clock().now(), PATIENCE).unwrap_err();
    assert!(matches!(refused, LogError::Mirror { line: 3, .. }), "{refused}");
    assert_eq!(log.records(), []);
}

#[test]
fn nothing_is_brought_back_where_a_mirror_is_missing_or_a_worker_is_at_work() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    let other = LogMirror::at(dir.path().join("other/parser.jsonl"));
    let recovered = |mirrors: &[LogMirror]| recover(&log, PLAN, mirrors, clock().now(), PATIENCE);
    log.forget(1);
    let refused = recovered(&[in_dir(dir.path())]).unwrap_err();
    assert!(matches!(refused, LogError::MirrorHeld { .. }), "{refused}");
    drop(store);
    let refused = recovered(&[in_dir(dir.path()), other.clone()]).unwrap_err();
    let path = dir.path().join("other/parser.jsonl");
    assert_eq!(
        refused.to_string(),
        format!("cannot read the mirror {}: there is no such file", path.display())
    );
    assert!(!dir.path().join("other").exists(), "and none is made");
    assert_eq!(log.records(), []);
    assert_eq!(recovered(&[in_dir(dir.path())]).unwrap().appended, 1);
}

#[test]
fn a_mirror_that_is_named_twice_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    drop(store);
    log.forget(1);
    let twice = [in_dir(dir.path()), LogMirror::at(dir.path().join("worker/../worker/parser.jsonl"))];
    assert_eq!(recover(&log, PLAN, &twice, clock().now(), PATIENCE).unwrap().appended, 1);
}

#[test]
#[allow(clippy::print_stdout, reason = "it says that it was skipped")]
fn a_mirror_in_a_directory_that_is_read_only_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (log, store) = with_plan("one", &in_dir(dir.path()));
    drop(store);
    log.forget(1);
    let elsewhere = dir.path().join("copy/worker");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::copy(dir.path().join("worker/parser.jsonl"), elsewhere.join("parser.jsonl")).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(elsewhere.join("probe"), "").is_ok() {
        println!("skipped: this user may write into a directory that is read-only");
        return;
    }
    let recovered = recover(&log, PLAN, &[in_dir(&dir.path().join("copy"))], clock().now(), PATIENCE);
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(recovered.unwrap().appended, 1);
}

#[test]
fn who_resumes_on_a_log_with_other_numbers_is_told_of_each_change_once() {
    let faults = LogFaults { gaps: 100, ..LogFaults::default() };
    let (log, mirror) = (MemoryLog::with_faults(1, faults), LogMirror::in_memory());
    let store = open(&log, "one", &mirror);
    store.import(plan_of(&["1", "2", "3"]), Actor::User, Existing::Refuse).unwrap();
    for title in ["a", "b"] {
        store.mutate(enqueue(title), Actor::User).unwrap();
    }
    let known = store.journal_since(0).unwrap().records;
    drop(store);
    let anew = MemoryLog::new();
    recover(&anew, PLAN, std::slice::from_ref(&mirror), clock().now(), PATIENCE).unwrap();
    let store = open(&anew, "one-2", &mirror);
    assert_eq!(store.journal_since(0).unwrap().records, known, "under the same numbers");
    let seq = store.mutate(enqueue("c"), Actor::User).unwrap().seq;
    let last = known.last().unwrap().seq;
    let told = store.journal_since(last).unwrap();
    assert_eq!((told.records.len(), told.has_gap, told.records[0].seq), (1, false, seq.unwrap()));
}

#[test]
fn what_nobody_knows_is_not_offered_again_to_a_log_that_lost_something() {
    let log = MemoryLog::new();
    let client = log.client();
    let setup = LogSetup { trusted_for: Duration::MAX, ..setup("one") };
    let store = LogStore::open(client.clone(), setup, LogMirror::in_memory(), clock()).unwrap();
    store.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    store.mutate(enqueue("a"), Actor::User).unwrap();
    client.cut_off(true);
    assert_eq!(code(store.mutate(enqueue("b"), Actor::User)), "E_FLEET_UNACKNOWLEDGED");
    client.cut_off(false);
    log.forget(1);
    assert!(matches!(store.read_on(), Err(LogError::Lost { .. })));
    assert_eq!(code(store.retry()), "E_FLEET_LOG_LOST", "however long what was read is trusted");
    assert_eq!(log.records().len(), 1, "nothing is appended");
}
