#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed set-up fails the test"
)]

mod abilities;
mod life;
mod same_as_a_loop;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;
use crate::{
    engine::Events,
    event::{Event, EventRecord},
    hook::{Call, HookFailure, HookPoint, points},
    model::payload::*,
    testing::{Act, Bench, FakeHandler},
    trust::TrustPolicy,
};

/// Builds a trusted session of a bench.
fn of(bench: &Bench) -> SessionBuilder {
    Session::builder(bench.project().clone()).session("test").trust(TrustPolicy::TrustAll)
}

fn bench() -> Bench {
    Bench::with_tasks(&[("1", "Greet the world")]).unwrap()
}

/// Reads the events of a session that has ended.
async fn told(mut events: Events) -> Vec<EventRecord> {
    let mut told = Vec::new();
    while let Some(record) = events.next().await {
        told.push(record);
    }
    told
}

fn push() -> AbilityRequest {
    AbilityRequest::new("Bash", json!({ "command": "git push" }))
}
