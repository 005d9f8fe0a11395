//! Every store keeps the contract, whether it keeps files or not.

use std::sync::Arc;

use samuel_model::{
    Plan,
    clock::{Clock, SystemClock},
};
use samuel_state::{
    Actor, Existing, FileStore, Holder, LaneStore, LogMirror, LogSetup, LogStore, MemoryLane, MemoryStore,
    Mutation, NewTask, PlanStore, RunDir, StateError,
    testing::{ChannelStore, LogFaults, MemoryLog, store_suite},
};

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::new())
}

fn in_memory() -> Arc<dyn PlanStore> {
    Arc::new(MemoryStore::new(clock()))
}

/// Gives one store in files after the other.
fn in_files() -> impl FnMut() -> Arc<FileStore> {
    let root = tempfile::tempdir().expect("a directory can be made");
    let mut number = 0;
    move || {
        number += 1;
        let project = root.path().join(number.to_string());
        std::fs::create_dir(&project).expect("a directory can be made");
        Arc::new(FileStore::new(RunDir::new(project), clock()))
    }
}

#[test]
fn a_plan_in_files_keeps_the_contract() {
    let mut open = in_files();
    store_suite::plan_store(|| open());
}

#[test]
fn a_plan_in_memory_keeps_the_contract() {
    store_suite::plan_store(in_memory);
}

#[tokio::test]
async fn the_suite_runs_within_a_runtime_too() {
    store_suite::plan_store(in_memory);
}

#[test]
fn a_plan_behind_a_channel_keeps_the_contract() {
    store_suite::plan_store(|| Arc::new(ChannelStore::over(in_memory())));
}

#[test]
fn a_plan_in_files_behind_a_channel_keeps_the_contract() {
    let mut open = in_files();
    store_suite::plan_store(|| Arc::new(ChannelStore::over(open())));
}

fn in_log(log: MemoryLog) -> Arc<dyn PlanStore> {
    let opened =
        LogStore::open(log, LogSetup::new("plan", "one", clock().now()), LogMirror::in_memory(), clock());
    Arc::new(opened.expect("nothing is mirrored yet"))
}

#[test]
fn a_plan_in_a_log_keeps_the_contract() {
    store_suite::plan_store(|| in_log(MemoryLog::new()));
}

#[test]
fn a_plan_in_a_log_that_loses_answers_and_stores_twice_and_late_keeps_the_contract() {
    let faults = LogFaults { lost_acks: 20, lost: 10, twice: 20, delayed: 15, gaps: 30 };
    let mut seed = 0;
    store_suite::plan_store(|| {
        seed += 1;
        in_log(MemoryLog::with_faults(seed, faults))
    });
}

#[test]
fn a_lane_in_files_keeps_the_contract() {
    let mut open = in_files();
    store_suite::lane_store(|| open());
}

#[test]
fn a_lane_in_memory_keeps_the_contract() {
    let dir = tempfile::tempdir().expect("a directory can be made");
    store_suite::lane_store(|| Arc::new(MemoryLane::new(RunDir::new(dir.path()), clock())));
}

#[test]
fn a_loop_that_died_in_a_discovery_keeps_nobody_from_adding_tasks_in_memory() {
    let lane = MemoryLane::new(RunDir::new("/nowhere"), clock());
    let store = MemoryStore::new(clock()).beside(&lane);
    store.import(Plan::default(), Actor::User, Existing::Refuse).expect("there is none");
    let at_work = lane.lock_loop(&Holder::this_process(clock().now(), "run-1")).expect("it is free");
    store.mutate(Mutation::BeginDiscovery { room: 1 }, Actor::Runtime).expect("there is a plan");
    let add = || store.mutate(Mutation::Enqueue { task: NewTask::new("t") }, Actor::User);
    add().expect("there is room");
    assert!(matches!(add(), Err(StateError::DiscoveryFull { .. })));
    drop(at_work);
    add().expect("nobody looks for tasks");
    let plan = store.load().expect("there is a plan").plan;
    assert_eq!((plan.tasks.len(), plan.progress.discovery_room), (2, None));
}
