//! Runs whose record a program keeps elsewhere, or not at all.

use std::sync::Arc;

use samuel_core::{
    clock::SystemClock,
    event::{Event, EventRecord},
    history::{HistoryError, WhyQuestion},
    model::{Coded as _, ErrorCode},
    state::{MemoryLane, RunDir},
    testing::{Bench, HeldAgent, store_suite},
};

use crate::history::{
    kit::{HANG, checked, history, on_disk},
    row_store::Rows,
};

#[test]
fn a_store_with_places_of_its_own_keeps_the_contract() {
    store_suite::lane_store(|| {
        let clock = Arc::new(SystemClock::new());
        Arc::new(Rows::over(Arc::new(MemoryLane::new(RunDir::new("/nowhere"), clock))))
    });
}

/// Makes a project of which something else keeps the record.
fn kept(store: impl FnOnce(&Bench) -> Rows) -> (Bench, Arc<Rows>) {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let rows = Arc::new(store(&bench));
    let of_bench = Arc::clone(&rows);
    (bench.over(|project| project.with_lane_store(of_bench)), rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_read_whole_from_a_store_with_places_of_its_own() {
    let (bench, rows) = kept(|bench| Rows::over(bench.lane()));
    let agent = Arc::new(HeldAgent::new());
    let run = checked(&bench, "true").agent(Arc::clone(&agent) as _);
    let run = run.settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut stream = handle.events();
    agent.called().await;
    // It is followed while it is under way.
    let mut tail = history(&bench).tail(handle.run_id());
    let first = tokio::time::timeout(HANG, tail.next()).await.unwrap().unwrap().unwrap();
    let mut told: Vec<EventRecord> = vec![first.record];
    agent.release();
    while let Some(entry) = tokio::time::timeout(HANG, tail.next()).await.unwrap().unwrap() {
        told.push(entry.record);
    }
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    handle.wait().await.unwrap();
    assert_eq!(told, events);

    let past = history(&bench);
    let id = past.resolve(None).unwrap();
    let (mut entries, mut read) = (past.entries(&id), Vec::new());
    while let Some(entry) = entries.next_entry().unwrap() {
        read.push(entry.record);
    }
    assert_eq!(read, events);
    assert_eq!(past.runs().unwrap().runs[0].iterations, 1);
    assert_eq!(
        past.why(&WhyQuestion::Run(None)).unwrap().answer,
        "it ended as max-iterations: the limit of 1 iteration was reached"
    );
    let page = past.report(&id).unwrap();
    assert!(page.to_markdown().contains("max-iterations") && page.run.gaps == Default::default());
    let replay = past.replay(&id).unwrap();
    assert!(replay.equal && replay.ended, "{replay:#?}");
    assert!(rows.len() > events.len(), "inputs are kept there, too");
    let logs = bench.project().run_dir().logs(&id);
    assert!(!logs.join("run.jsonl").exists() && !logs.join("inputs.jsonl").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_keeps_no_records_is_given_none_and_nothing_is_said_of_that() {
    let (bench, rows) = kept(|bench| Rows::without_records(bench.lane()));
    let played = bench.play(checked(&bench, "true")).await.unwrap();
    assert!(played.report.exit_reason.exit_code() == 0 && rows.len() == 0);
    let warned = |record: &&EventRecord| matches!(&record.event, Event::Warning { message } if message.contains("record"));
    assert_eq!(played.events.iter().find(warned), None);
    let past = history(&bench);
    assert_eq!(past.runs().unwrap().runs, []);
    assert!(matches!(past.resolve(None), Err(HistoryError::NoRuns)));
    let why = past.why(&WhyQuestion::Run(None)).unwrap_err();
    assert_eq!(why.code(), ErrorCode::RECORD_NOT_FOUND);
    assert_eq!(played.replay().unwrap_err().code(), ErrorCode::RECORD_NOT_FOUND);
}
