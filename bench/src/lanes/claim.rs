//! What a claim costs beside the start of a task, which a run without lanes writes down in its place.

use std::cell::Cell;

use anyhow::{Result, ensure};
use samuel_core::{
    model::{Status, TaskId},
    state::{Actor, Mutation},
};

use super::super::{fixture, gate::Gate, measure::in_turns};

const TASKS: usize = 1_000;
const ROUNDS: usize = 31;

/// Measures both in plans of 1,000 tasks, each in one of its own.
pub(super) fn measure() -> Result<Gate> {
    let roots = [(); 2].map(|()| tempfile::tempdir_in(crate::workspace::target()));
    let [claimed, started] = roots;
    let (claimed, started) = (claimed?, started?);
    let (_claimed, claims) = fixture::planned(claimed.path(), TASKS)?;
    let (_started, starts) = fixture::planned(started.path(), TASKS)?;
    let number = Cell::new(0);
    let mut claim = || {
        number.set(number.get() + 1);
        let (task, worker) = (TaskId::new(number.get().to_string()).into(), "run/lane-1".to_owned());
        claims.mutate(Mutation::Claim { task, worker }, Actor::Runtime)?;
        Ok(())
    };
    let mut start = || {
        let id = TaskId::new(number.get().to_string());
        starts.mutate(Mutation::StartTask { id, owner: None }, Actor::Runtime)?;
        Ok(())
    };
    let [took, probe_took] = in_turns(ROUNDS, [&mut claim, &mut start])?;
    for store in [claims, starts] {
        let begun = store.load()?.plan.count(Status::InProgress);
        ensure!(begun == ROUNDS + 1, "{begun} tasks are begun instead of {}", ROUNDS + 1);
    }
    Ok(Gate {
        name: "claim, 1,000 tasks",
        took,
        probe: "start of a task".to_owned(),
        probe_took,
        limit: 1.3,
        notes: Vec::new(),
    })
}
