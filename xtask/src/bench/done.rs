//! How long an agent waits for `samuel run done`, and the store for itself.

use std::{fs, process::Command, sync::Arc};

use anyhow::{Result, ensure};
use samuel_core::{
    clock::SystemClock,
    git::Caller,
    model::{Status, TaskId},
    project::Project,
    state::{Actor, Existing, Mutation},
};

use super::{
    built, fixture,
    gate::{Gate, milliseconds},
    measure::{durable_write, in_turns, spawn},
};

const TASKS: usize = 1_000;
const ROUNDS: usize = 31;

/// Measures the command on a plan of 1,000 tasks, beside the least it could do.
pub(super) fn measure() -> Result<Gate> {
    let samuel = built("samuel")?;
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    let (project, store) = fixture::planned(root.path(), TASKS)?;
    let plan = fs::read(project.run_dir().prd())?;
    let beside = project.run_dir().path().to_owned();

    let mut number = 0;
    let mut done = || {
        number += 1;
        spawn(Command::new(&samuel).args(["run", "done"]).arg(number.to_string()).current_dir(root.path()))
    };
    let mut nothing = || spawn(&mut Command::new("true"));
    let mut write = || durable_write(&beside, &plan);
    let [took, spawned, wrote] = in_turns(ROUNDS, [&mut done, &mut nothing, &mut write])?;

    let completed = store.load()?.plan.count(Status::Completed);
    ensure!(completed == ROUNDS + 1, "{completed} tasks are done instead of {}", ROUNDS + 1);
    Ok(Gate {
        name: "samuel run done, 1,000 tasks",
        took,
        probe: format!("spawn of true + durable write of {} KB", plan.len() / 1_000),
        probe_took: spawned + wrote,
        limit: 3.0,
        notes: vec![format!("spawn {}, durable write {}", milliseconds(spawned), milliseconds(wrote))],
    })
}

/// Measures the command on such a plan in a directory of its methodology's own, beside it on the plan in
/// `.samuel/run`.
pub(super) fn measure_apart() -> Result<Gate> {
    let samuel = built("samuel")?;
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    let (project, first) = fixture::planned(root.path(), TASKS)?;
    fs::write(root.path().join("samuel.toml"), "version = \"2\"\n[methodology.ralph]\n[methodology.tdd]\n")?;
    let clock = Arc::new(SystemClock::new());
    let apart = Project::open_for_plan(Caller::of_process(), root.path(), Some("tdd"), clock)?;
    ensure!(
        apart.run_dir().path() == project.run_dir().path().join("tdd"),
        "tdd has no directory of its own"
    );
    let own = apart.plan_store();
    own.import((*first.load()?.plan).clone(), Actor::User, Existing::Replace)?;

    let done = |words: &'static [&'static str]| {
        let (samuel, root) = (samuel.clone(), root.path().to_owned());
        let mut number = 0;
        move || {
            number += 1;
            spawn(Command::new(&samuel).args(words).arg(number.to_string()).current_dir(&root))
        }
    };
    let (mut in_own, mut in_first) = (done(&["run", "tdd", "done"]), done(&["run", "done"]));
    let [took, probe_took] = in_turns(ROUNDS, [&mut in_own, &mut in_first])?;

    for store in [first, own] {
        let completed = store.load()?.plan.count(Status::Completed);
        ensure!(completed == ROUNDS + 1, "{completed} tasks are done instead of {}", ROUNDS + 1);
    }
    Ok(Gate {
        name: "the same in a methodology's directory",
        took,
        probe: "samuel run done in .samuel/run".to_owned(),
        probe_took,
        limit: 1.1,
        notes: Vec::new(),
    })
}

/// Measures the same change alone, without a process, in a plan of 10,000
/// tasks: what grows with the plan is reading, decoding, encoding and writing.
pub(super) fn measure_store() -> Result<Gate> {
    const TASKS: usize = 10_000;
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    let (project, store) = fixture::planned(root.path(), TASKS)?;
    let plan = fs::read(project.run_dir().prd())?;
    let beside = project.run_dir().path().to_owned();

    let mut number = 0;
    let mut done = || {
        number += 1;
        let id = TaskId::new(number.to_string());
        store.mutate(Mutation::Done { id, commit_sha: None, iteration: None }, Actor::Agent)?;
        Ok(())
    };
    let mut write = || durable_write(&beside, &plan);
    let [took, wrote] = in_turns(ROUNDS, [&mut done, &mut write])?;

    let completed = store.load()?.plan.count(Status::Completed);
    ensure!(completed == ROUNDS + 1, "{completed} tasks are done instead of {}", ROUNDS + 1);
    Ok(Gate {
        name: "done in the store, 10,000 tasks",
        took,
        probe: format!("durable write of {} KB", plan.len() / 1_000),
        probe_took: wrote,
        limit: 3.0,
        notes: Vec::new(),
    })
}
