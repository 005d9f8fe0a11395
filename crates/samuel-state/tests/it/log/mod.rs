//! Plans in logs: what writers may rely on, and what happens when a log is not what it was.

mod format;
mod imports;
mod lost;
mod mirror;
mod records;
mod writers;

use std::{path::Path, sync::Arc, time::Duration};

use samuel_model::{Coded as _, Plan, Task, TaskId, clock::Clock, testing::VirtualClock};
use samuel_state::{
    Actor, Existing, LogMirror, LogSetup, LogStore, Mutation, NewTask, PlanStore as _, StateError,
    testing::{LogFaults, MemoryLog, log_suite},
};

const PLAN: &str = "parser";

fn clock() -> Arc<dyn Clock> {
    Arc::new(VirtualClock::new())
}

/// A setup whose writer has a name that is the same each time, and who tries once.
fn setup(writer: &str) -> LogSetup {
    LogSetup {
        writer: writer.to_owned(),
        patience: Duration::ZERO,
        trusted_for: Duration::ZERO,
        ..LogSetup::new(PLAN, writer, clock().now())
    }
}

fn open(log: &MemoryLog, writer: &str, mirror: &LogMirror) -> LogStore<MemoryLog> {
    LogStore::open(log.client(), setup(writer), mirror.clone(), clock()).unwrap()
}

fn store(log: &MemoryLog, writer: &str) -> LogStore<MemoryLog> {
    open(log, writer, &LogMirror::in_memory())
}

fn plan_of(ids: &[&str]) -> Plan {
    let tasks = ids.iter().map(|id| Task::new(TaskId::new(*id), format!("Task {id}"))).collect();
    Plan { tasks, ..Plan::default() }
}

/// Makes a log with a plan of three tasks, and a store of it.
fn with_plan(writer: &str, mirror: &LogMirror) -> (MemoryLog, LogStore<MemoryLog>) {
    let log = MemoryLog::new();
    let store = open(&log, writer, mirror);
    store.import(plan_of(&["1", "2", "3"]), Actor::User, Existing::Refuse).unwrap();
    (log, store)
}

fn enqueue(title: &str) -> Mutation {
    Mutation::Enqueue { task: NewTask::new(title) }
}

fn claim(id: &str, worker: &str) -> Mutation {
    Mutation::Claim { task: TaskId::new(id).into(), worker: worker.to_owned() }
}

fn titles(store: &LogStore<MemoryLog>) -> Vec<String> {
    store.load().unwrap().plan.tasks.iter().map(|task| task.title.clone()).collect()
}

fn code<T: std::fmt::Debug>(answer: Result<T, StateError>) -> &'static str {
    answer.unwrap_err().code().name
}

fn in_dir(dir: &Path) -> LogMirror {
    LogMirror::at(dir.join("worker/parser.jsonl"))
}

#[test]
fn a_log_in_memory_keeps_the_contract() {
    log_suite::plan_log(|| Arc::new(MemoryLog::new()));
    let faults = LogFaults { lost_acks: 20, twice: 20, gaps: 30, ..LogFaults::default() };
    log_suite::plan_log(|| Arc::new(MemoryLog::with_faults(7, faults)));
}
