//! What only a log or a mirror that is broken shows.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{
    mirror::SyncFault,
    replica::{Anchor, Replica},
    *,
};
use crate::{
    Actor, Existing, Mutation, NewTask, PlanStore as _, ProgressEntry, ProgressKind, StateError, Watch,
    progress::MAX_LOG_BYTES, testing::MemoryLog,
};
use samuel_model::{
    Coded as _, Plan,
    clock::{Clock as _, SystemClock},
};

fn setup(writer: &str) -> LogSetup {
    LogSetup { writer: writer.to_owned(), patience: Duration::ZERO, ..LogSetup::new("p", writer, now()) }
}

fn now() -> jiff::Timestamp {
    SystemClock::new().now()
}

fn open<L: PlanLog>(log: L, mirror: LogMirror) -> LogStore<L> {
    LogStore::open(log, setup("one"), mirror, Arc::new(SystemClock::new())).unwrap()
}

fn enqueue() -> Mutation {
    Mutation::Enqueue { task: NewTask::new("more") }
}

fn code<T: std::fmt::Debug>(answer: Result<T, StateError>) -> &'static str {
    answer.unwrap_err().code().name
}

#[test]
fn a_mirror_that_could_not_be_synced_once_is_trusted_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let (log, mirror) = (MemoryLog::new(), LogMirror::at(dir.path().join("p.jsonl")));
    let store = open(log.client(), mirror);
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    store.replica().mirror.fault = Some(SyncFault::Write);
    let refused = store.mutate(enqueue(), Actor::User).unwrap_err();
    assert_eq!(refused.code().name, "E_STATE_IO");
    assert!(refused.to_string().starts_with("cannot sync the mirror"), "{refused}");
    // The system says that it is synced, and knows nothing any more of what it could not write.
    store.replica().mirror.fault = None;
    assert_eq!(code(store.retry()), "E_STATE_IO");
    assert_eq!(code(store.mutate(enqueue(), Actor::User)), "E_STATE_IO");
    assert_eq!(code(store.load()), "E_STATE_IO");
    assert_eq!(log.records().len(), 2, "nothing is appended");
}

#[test]
fn a_mirror_whose_directory_could_not_be_opened_once_is_synced_later() {
    let dir = tempfile::tempdir().unwrap();
    let (log, mirror) = (MemoryLog::new(), LogMirror::at(dir.path().join("p.jsonl")));
    let store = open(log.client(), mirror);
    store.replica().mirror.fault = Some(SyncFault::Open);
    assert_eq!(code(store.import(Plan::default(), Actor::User, Existing::Refuse)), "E_STATE_IO");
    store.replica().mirror.fault = None;
    store.mutate(enqueue(), Actor::User).unwrap();
    assert_eq!(store.load().unwrap().plan.tasks.len(), 1);
}

#[test]
fn a_log_whose_numbers_begin_with_none_is_read_on() {
    let log = MemoryLog::new();
    open(log.client(), LogMirror::in_memory())
        .import(Plan::default(), Actor::User, Existing::Refuse)
        .unwrap();
    let fold = LogFold::new("p");
    let mut replica = Replica::open(fold, "p", "two", LogMirror::in_memory(), now()).unwrap();
    replica.anchor = Some(Anchor { number: 0, record: b"{}".to_vec() });
    replica.read_on(&log).unwrap();
    assert_eq!(replica.read_to, 1);
}

#[test]
fn a_progress_log_that_rotation_does_not_shorten_is_cut_at_a_line() {
    let store = open(MemoryLog::new(), LogMirror::in_memory());
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    let learned = |number: usize| {
        let text = format!("{number:06} {}", "ü".repeat(60_000));
        ProgressEntry::note("2026-01-01T00:00:00Z".parse().unwrap(), ProgressKind::Learning, &text)
    };
    let entries: Vec<_> = (0..80).map(learned).collect();
    store.append_progress(&entries).unwrap();
    let log = store.progress().unwrap();
    let kept: Vec<_> = log.entries().cloned().collect();
    let bytes =
        |entries: &[ProgressEntry]| entries.iter().map(|e| e.to_string().len() as u64 + 1).sum::<u64>();
    assert!(bytes(&kept) <= MAX_LOG_BYTES, "{}", bytes(&kept));
    assert!(kept == entries[entries.len() - kept.len()..], "whole lines from the end");
    assert!(
        bytes(&entries[entries.len() - kept.len() - 1..]) > MAX_LOG_BYTES,
        "and no fewer than there is room for"
    );
}

/// A log that keeps whoever reads it waiting, once it was told to.
#[derive(Debug)]
struct Slow {
    log: MemoryLog,
    waits: Mutex<Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>>,
}

impl PlanLog for Slow {
    fn append(&self, record: &[u8], deadline: Instant) -> Result<u64, LogError> {
        self.log.append(record, deadline)
    }

    fn read(&self, after: u64, max: usize) -> Result<Vec<(u64, Vec<u8>)>, LogError> {
        let waits = self.waits.lock().unwrap().take();
        if let Some((reads, go_on)) = waits {
            reads.send(()).unwrap();
            go_on.recv().unwrap();
        }
        self.log.read(after, max)
    }

    fn head(&self) -> Result<u64, LogError> {
        self.log.head()
    }

    fn watch(&self, after: u64) -> Result<Watch, LogError> {
        self.log.watch(after)
    }
}

#[test]
fn what_is_known_is_told_while_somebody_waits_for_the_log() {
    let log = Slow { log: MemoryLog::new(), waits: Mutex::default() };
    let store = Arc::new(open(log, LogMirror::in_memory()));
    store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
    let ((reads, is_read), (go_on, waits)) = (mpsc::channel(), mpsc::channel());
    *store.log().waits.lock().unwrap() = Some((reads, waits));
    let reader = thread::spawn({
        let store = Arc::clone(&store);
        move || store.read_on()
    });
    is_read.recv().unwrap();
    let (told, known) = mpsc::channel();
    thread::spawn({
        let store = Arc::clone(&store);
        move || {
            drop(store.watch());
            told.send((store.read_to(), store.folded().is_some()))
        }
    });
    let known = known.recv_timeout(Duration::from_secs(20));
    go_on.send(()).unwrap();
    reader.join().unwrap().unwrap();
    assert_eq!(known, Ok((1, true)));
}
