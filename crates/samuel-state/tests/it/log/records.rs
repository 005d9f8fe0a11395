//! Records that are none, and what is named of them.

use std::sync::LazyLock;

use proptest::prelude::*;
use samuel_state::{LogContent, LogFold, LogRecord, MAX_LOG_RECORD_BYTES, VoidReason};

use super::*;

fn record(writer: &str, n: u64, content: &str) -> String {
    format!(
        r#"{{"format":1,"plan":"parser","writer":"{writer}","n":{n},"at":"2026-01-01T00:00:00Z","actor":"user",{content}}}"#
    )
}

#[test]
fn what_is_no_record_is_named_and_changes_nothing() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    let before = store.digest();
    let done = r#""mutation":{"type":"done","id":"1"}"#;
    let bad: Vec<(Vec<u8>, &str)> = vec![
        (vec![0xff, 0, 1], "it cannot be read"),
        (b"".into(), "it cannot be read"),
        (b"{\"format\":".into(), "it cannot be read"),
        (b"[1]".into(), "it cannot be read"),
        (vec![b'x'; MAX_LOG_RECORD_BYTES + 1], "it has 1000001 bytes"),
        (record("two", 1, done).replace("parser", "lexer").into(), "it is of the plan \"lexer\""),
        (record("", 1, done).into(), "its writer has no name"),
        (record("two", 0, done).into(), "it has no number that a writer gives"),
        (record("two", u64::MAX, done).into(), "it has no number that a writer gives"),
        (record("two", 1, r#""mutation":{"type":"telepathy"}"#).into(), "its change is not known"),
        (record("three", 1, r#""mutation":{"type":"done"}"#).into(), "its change is not known"),
        (
            record("four", 1, r#""import":{"part":2,"of":2,"replace":true,"text":"{}"}"#).into(),
            "it is a part of a plan",
        ),
        (
            record("five", 1, r#""import":{"part":1,"of":1,"replace":true,"text":"{"}"#).into(),
            "its change is not known",
        ),
    ];
    for (bytes, _) in &bad {
        log.put(bytes.clone());
    }
    assert_eq!(titles(&store).len(), 3);
    let told: Vec<String> = store.void_records().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), bad.len());
    for (told, (_, expected)) in told.iter().zip(&bad) {
        assert!(told.contains(expected), "{told}: {expected}");
    }
    assert!(told[9].starts_with("record 11 by two changes nothing"), "{}", told[9]);
    // Writers whose records were void go on after them.
    log.put(record("two", 2, r#""mutation":{"type":"done","id":"1"}"#));
    store.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!((store.load().unwrap().plan.progress.completed_tasks, titles(&store).len()), (1, 4));
    assert_ne!(store.digest(), before);
}

#[test]
fn what_a_log_cannot_take_is_refused_before_it_is_appended() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    let task = NewTask { description: "x".repeat(MAX_LOG_RECORD_BYTES), ..NewTask::new("large") };
    let refused = store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap_err();
    assert_eq!(refused.code().name, "E_FLEET_RECORD");
    assert!(refused.to_string().starts_with("a record of enqueue has 1000"), "{refused}");
    assert_eq!(log.records().len(), 1);
    store.mutate(enqueue("more"), Actor::User).unwrap();
    for (plan, writer) in [("", "one"), ("parser", "a\nb"), ("parser", &*"x".repeat(201))] {
        let setup = LogSetup { plan: plan.to_owned(), ..setup(writer) };
        let opened = LogStore::open(log.client(), setup, LogMirror::in_memory(), clock());
        assert_eq!(code(opened), "E_FLEET_RECORD");
    }
}

#[test]
fn an_agent_changes_no_more_by_a_record_than_by_a_store() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    let record =
        record("two", 1, r#""mutation":{"type":"remove","ids":["1"]}"#).replace("\"user\"", "\"agent\"");
    log.put(record);
    assert_eq!((titles(&store).len(), store.void_records().len()), (3, 0), "it is no change of an agent");
}

/// The records of a small log.
static VALID: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    store.mutate(enqueue("more"), Actor::User).unwrap();
    store.mutate(claim("1", "left"), Actor::Runtime).unwrap();
    log.records().into_iter().map(|(_, record)| record).collect()
});

proptest! {
    #[test]
    fn no_bytes_make_a_fold_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = LogFold::new(PLAN).fold(1, &bytes);
    }

    #[test]
    fn no_change_of_a_record_makes_a_fold_panic(which in 0..3_usize, at in any::<proptest::sample::Index>(), to in any::<u8>()) {
        let mut fold = LogFold::new(PLAN);
        for (number, mut record) in VALID.iter().cloned().enumerate() {
            if number == which {
                let at = at.index(record.len());
                record[at] = to;
            }
            let _ = fold.fold(number as u64 + 1, &record);
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written(n in 1..1_000_000_u64, title in "[^\u{0}]{1,80}") {
        let content = LogContent::Mutation(enqueue(&title));
        let record = LogRecord::new(PLAN, "one", n, clock().now(), &Actor::Agent.into(), content);
        let read: LogRecord = serde_json::from_slice(&record.encode().unwrap()).unwrap();
        prop_assert_eq!(read, record);
    }
}

#[test]
fn void_reasons_say_what_they_are() {
    assert_eq!(VoidReason::TooLarge { bytes: 7 }.to_string(), "it has 7 bytes");
}
