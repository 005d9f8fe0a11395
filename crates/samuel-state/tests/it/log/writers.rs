//! Writers whose records are lost, stored twice, or come late.

use std::time::Instant;

use samuel_state::{LogContent, LogError, LogOutcome, LogRecord, PlanLog, ReadRecord, TaskChange, Watch};

use super::*;

#[test]
fn a_change_whose_acknowledgement_was_lost_is_made_once_and_known() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    log.set_faults(LogFaults { lost_acks: 100, ..LogFaults::default() });
    let applied = store.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!(applied.change, TaskChange::Added { id: TaskId::new("4") });
    assert_eq!((titles(&store).len(), log.records().len()), (4, 2));
}

#[test]
fn the_first_copy_of_a_record_says_what_came_of_it() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    log.set_faults(LogFaults { twice: 100, ..LogFaults::default() });
    let token = store.mutate(claim("1", "left"), Actor::Runtime).unwrap().revision;
    assert_eq!(store.load().unwrap().plan.live_claim(&TaskId::new("1")).unwrap().token, token);
    let applied = store.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!((applied.revision, titles(&store).len(), store.repeated()), (token + 1, 4, 2));
}

#[test]
fn what_is_not_known_can_be_offered_again() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    log.set_faults(LogFaults { lost: 100, ..LogFaults::default() });
    assert_eq!(code(store.mutate(enqueue("more"), Actor::User)), "E_FLEET_UNACKNOWLEDGED");
    assert_eq!(code(store.retry()), "E_FLEET_UNACKNOWLEDGED");
    log.set_faults(LogFaults::default());
    assert!(matches!(store.retry(), Ok(Some(LogOutcome::Applied(applied))) if applied.revision == 2));
    assert!(matches!(store.retry(), Ok(None)), "it is known");
    assert_eq!(titles(&store).len(), 4);
}

#[test]
fn a_record_that_comes_after_the_next_one_of_its_writer_is_void() {
    let mut orders = [0, 0];
    for seed in 0..30 {
        let log = MemoryLog::with_faults(seed, LogFaults::default());
        let store = store(&log, "one");
        store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
        log.set_faults(LogFaults { delayed: 100, ..LogFaults::default() });
        assert_eq!(code(store.mutate(enqueue("early"), Actor::User)), "E_FLEET_UNACKNOWLEDGED");
        log.set_faults(LogFaults::default());
        let late = store.mutate(enqueue("late"), Actor::User).unwrap();
        log.deliver();
        let titles = titles(&store);
        match late.revision {
            2 => assert_eq!(titles, ["late"]),
            _ => assert_eq!(titles, ["early", "late"]),
        }
        orders[titles.len() - 1] += 1;
        assert_eq!(log.records().len(), 3);
    }
    assert!(orders.iter().all(|count| *count > 0), "{orders:?}");
}

#[test]
fn all_who_read_a_log_come_to_the_same_plan() {
    let faults = LogFaults { lost_acks: 20, lost: 10, twice: 20, delayed: 20, gaps: 20 };
    for seed in 0..20 {
        let log = MemoryLog::with_faults(seed, faults);
        let stores: Vec<_> = ["one", "two", "three"].map(|writer| store(&log, writer)).into();
        let _ = stores[0].import(plan_of(&["1", "2", "3"]), Actor::User, Existing::Refuse);
        for round in 0..20 {
            for store in &stores {
                // Whether it is known or not, it is the same for all.
                let _ = store.mutate(enqueue(&format!("{round}")), Actor::User);
                let _ = store.mutate(claim("1", "left"), Actor::Runtime);
            }
        }
        log.deliver();
        let digests: Vec<String> = stores
            .iter()
            .map(|store| {
                store.read_on().unwrap();
                store.digest()
            })
            .collect();
        assert!(digests.iter().all(|digest| *digest == digests[0]), "seed {seed}");
        let newcomer = store(&log, "four");
        newcomer.read_on().unwrap();
        assert_eq!(newcomer.digest(), digests[0], "seed {seed}");
    }
}

#[test]
fn who_is_cut_off_reads_what_is_known_and_changes_nothing() {
    let log = MemoryLog::new();
    let (one, client) = (store(&log, "one"), log.client());
    let cut = LogStore::open(client.clone(), setup("two"), LogMirror::in_memory(), clock()).unwrap();
    one.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    assert_eq!(titles(&cut), ["Task 1"]);
    client.cut_off(true);
    one.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!(titles(&cut), ["Task 1"]);
    assert_eq!(code(cut.mutate(enqueue("other"), Actor::User)), "E_FLEET_UNACKNOWLEDGED");
    client.cut_off(false);
    assert_eq!(titles(&cut), ["Task 1", "more"]);
    assert!(cut.retry().unwrap().is_some());
    assert_eq!(titles(&one), ["Task 1", "more", "other"]);
}

#[test]
fn a_long_log_is_read_in_several_parts() {
    let (log, one) = with_plan("one", &LogMirror::in_memory());
    // One is read at a time of 256 records: these are two whole parts, and a third.
    for n in 1..=520 {
        let content = LogContent::Mutation(enqueue(&format!("{n}")));
        let record = LogRecord::new(PLAN, "two", n, clock().now(), &Actor::User.into(), content);
        log.put(record.encode().unwrap());
    }
    let mirror = LogMirror::in_memory();
    let newcomer = open(&log, "three", &mirror);
    assert_eq!((titles(&newcomer).len(), titles(&one).len()), (523, 523));
    drop(newcomer);
    let again = open(&log, "three-2", &mirror);
    again.mutate(enqueue("more"), Actor::User).unwrap();
    assert_eq!((titles(&again).len(), mirror.records(PLAN).unwrap().len()), (524, 522));
}

#[test]
fn who_never_reached_a_log_says_so() {
    let log = MemoryLog::new();
    let store = LogStore::open(log.clone(), setup("one"), LogMirror::in_memory(), clock()).unwrap();
    log.cut_off(true);
    assert_eq!(code(store.load()), "E_FLEET_UNREACHABLE");
    assert_eq!(code(store.exists()), "E_FLEET_UNREACHABLE");
}

#[test]
fn two_processes_with_one_name_are_found_out() {
    let (log, one) = with_plan("one", &LogMirror::in_memory());
    let two = store(&log, "one");
    assert_eq!(code(two.mutate(enqueue("two"), Actor::User)), "E_FLEET_WRITER");
    one.mutate(enqueue("one"), Actor::User).unwrap();
    assert_eq!(code(two.load()), "E_FLEET_WRITER", "for good");
    assert_eq!(
        LogSetup::new(PLAN, "w", clock().now()).writer.len(),
        LogSetup::new(PLAN, "w", clock().now()).writer.len()
    );
    assert_ne!(
        LogSetup::new(PLAN, "w", clock().now()).writer,
        LogSetup::new(PLAN, "w", clock().now()).writer,
        "each start has its own"
    );
}

#[test]
fn a_fold_is_told_of_each_record_once() {
    let (log, _store) = with_plan("one", &LogMirror::in_memory());
    let (_, record) = log.records().pop().unwrap();
    let mut fold = samuel_state::LogFold::new(PLAN);
    assert!(matches!(fold.fold(1, &record).unwrap(), ReadRecord::Counted { n: 1, .. }));
    assert!(matches!(fold.fold(2, &record).unwrap(), ReadRecord::Repeated { n: 1, .. }));
    assert_eq!(fold.last_of("one"), 1);
}

#[test]
fn what_was_seen_meanwhile_is_not_appended_again() {
    let (log, store) = with_plan("one", &LogMirror::in_memory());
    log.set_faults(LogFaults { delayed: 100, ..LogFaults::default() });
    assert_eq!(code(store.mutate(enqueue("more"), Actor::User)), "E_FLEET_UNACKNOWLEDGED");
    log.set_faults(LogFaults::default());
    log.deliver();
    assert_eq!(titles(&store).len(), 4);
    assert!(matches!(store.retry(), Ok(Some(LogOutcome::Applied(applied))) if applied.revision == 2));
    assert_eq!((log.records().len(), store.repeated()), (2, 0));
}

#[test]
fn patience_may_be_endless() {
    let log = MemoryLog::with_faults(7, LogFaults { lost_acks: 50, ..LogFaults::default() });
    let setup = LogSetup { patience: Duration::MAX, ..setup("one") };
    let mirror = LogMirror::in_memory();
    let store = LogStore::open(log.client(), setup, mirror.clone(), clock()).unwrap();
    store.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    for title in ["a", "b", "c"] {
        store.mutate(enqueue(title), Actor::User).unwrap();
    }
    let anew = MemoryLog::with_faults(8, LogFaults { lost_acks: 50, ..LogFaults::default() });
    let recovery = samuel_state::recover(&anew, PLAN, &[mirror], clock().now(), Duration::MAX);
    assert_eq!(recovery.unwrap().appended, 4);
    assert_eq!(titles(&super::store(&anew, "two")).len(), 4);
}

/// A log that takes no lines of the progress log.
#[derive(Debug)]
struct WithoutProgress(MemoryLog);

impl PlanLog for WithoutProgress {
    fn append(&self, record: &[u8], deadline: Instant) -> Result<u64, LogError> {
        if memchr::memmem::find(record, br#""progress":["#).is_some() {
            let reason = "it does not answer".to_owned();
            return Err(LogError::Unreachable { place: "memory".to_owned(), reason });
        }
        self.0.append(record, deadline)
    }

    fn read(&self, after: u64, max: usize) -> Result<Vec<(u64, Vec<u8>)>, LogError> {
        self.0.read(after, max)
    }

    fn head(&self) -> Result<u64, LogError> {
        self.0.head()
    }

    fn watch(&self, after: u64) -> Result<Watch, LogError> {
        self.0.watch(after)
    }
}

#[test]
fn a_task_that_is_refused_is_refused_whatever_becomes_of_the_line_about_it() {
    let log = WithoutProgress(MemoryLog::new());
    let store = LogStore::open(log, setup("one"), LogMirror::in_memory(), clock()).unwrap();
    store.import(plan_of(&["1"]), Actor::User, Existing::Refuse).unwrap();
    let begin = Mutation::BeginDiscovery { room: 0 };
    store.mutate(begin, Actor::Runtime).unwrap();
    let refused = store.mutate(enqueue("more"), Actor::Agent).unwrap_err();
    assert!(matches!(refused, StateError::DiscoveryFull { .. }), "{refused}");
}
