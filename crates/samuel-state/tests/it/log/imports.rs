//! Whole plans, which come in parts.

use samuel_state::{ImportPart, LogContent, LogRecord};

use super::*;

/// A plan of about two megabytes.
fn large() -> Plan {
    let mut plan = plan_of(&["1", "2", "3", "4"]);
    for task in &mut plan.tasks {
        task.description = "\"line\\n\" ü\n".repeat(40_000);
    }
    plan
}

#[test]
fn a_large_plan_comes_in_parts_whatever_happens_to_them() {
    let faults = LogFaults { twice: 30, lost_acks: 30, gaps: 20, ..LogFaults::default() };
    let log = MemoryLog::with_faults(3, faults);
    let (one, other) = (store(&log, "one"), store(&log, "two"));
    one.import(large(), Actor::User, Existing::Refuse).unwrap();
    let parts = log.records();
    assert!(parts.len() > 8 && parts.iter().all(|(_, part)| part.len() < 700_000), "{}", parts.len());
    let descriptions =
        |plan: &Plan| plan.tasks.iter().map(|task| task.description.clone()).collect::<Vec<_>>();
    assert_eq!(descriptions(&other.load().unwrap().plan), descriptions(&large()));
    let before = log.records().len();
    assert_eq!(code(other.import(large(), Actor::User, Existing::Refuse)), "E_STATE_EXISTS");
    assert_eq!(log.records().len(), before, "nothing of it is written");
    assert_eq!(other.import(plan_of(&["1"]), Actor::User, Existing::Replace).unwrap().revision, 2);
    assert_eq!(titles(&one), ["Task 1"]);
}

#[test]
fn of_two_who_import_the_first_plan_at_once_one_is_refused() {
    let log = MemoryLog::new();
    let (one, other) = (store(&log, "one"), log.client());
    let late = LogStore::open(other.clone(), setup("two"), LogMirror::in_memory(), clock()).unwrap();
    late.read_on().unwrap();
    one.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    other.cut_off(true);
    assert_eq!(code(late.import(plan_of(&["2"]), Actor::User, Existing::Refuse)), "E_FLEET_UNACKNOWLEDGED");
    other.cut_off(false);
    assert_eq!(code(late.retry()), "E_STATE_EXISTS");
    assert_eq!(titles(&late), ["Task 1"]);
}

#[test]
fn what_is_said_of_a_plan_that_is_none_is_short() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    let text = format!(r#"{{"tasks":[{{"id":"1","status":"{}"}}]}}"#, "x".repeat(100_000));
    let part = ImportPart { part: 1, of: 1, replace: true, text };
    let record = LogRecord::new(PLAN, "two", 1, clock().now(), &Actor::User.into(), LogContent::Import(part));
    log.put(record.encode().unwrap());
    store.read_on().unwrap();
    let told: Vec<String> = store.void_records().iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("xxx") && told[0].len() < 500, "{told:?}");
}

#[test]
fn two_who_import_at_once_do_not_mix() {
    let log = MemoryLog::new();
    let part = |writer: &str, n: u64, text: &str| {
        let part = format!(
            r#"{{"import":{{"part":{n},"of":2,"replace":true,"text":{}}}}}"#,
            serde_json::to_string(text).unwrap()
        );
        let content: LogContent = serde_json::from_str(&part).unwrap();
        LogRecord::new(PLAN, writer, n, clock().now(), &Actor::User.into(), content).encode().unwrap()
    };
    let halves = |id: &str| {
        let text = serde_json::to_string(&plan_of(&[id])).unwrap();
        let (first, second) = text.split_at(text.len() / 2);
        (first.to_owned(), second.to_owned())
    };
    let (a, b) = (halves("a"), halves("b"));
    for (writer, n, text) in [("one", 1, &a.0), ("two", 1, &b.0), ("two", 2, &b.1), ("one", 2, &a.1)] {
        log.put(part(writer, n, text));
    }
    let store = store(&log, "three");
    assert_eq!((titles(&store), store.load().unwrap().revision), (vec!["Task a".to_owned()], 2));
}

#[test]
fn a_plan_whose_parts_are_not_all_there_is_none() {
    let log = MemoryLog::new();
    let one = store(&log, "one");
    one.import(large(), Actor::User, Existing::Refuse).unwrap();
    log.forget(1);
    let other = store(&log, "two");
    assert_eq!(code(other.load()), "E_STATE_NOT_INITIALISED");
    other.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    assert_eq!(titles(&other), ["Task 1"]);
}
