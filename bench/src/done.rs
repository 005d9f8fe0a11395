//! How long an agent waits for `samuel run done`, and the store for itself.

use std::{
    cell::Cell,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

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

/// Measures the command within a call of an agent, where the loop is asked, beside it with the files of the
/// same plan.
pub(super) fn measure_through_a_loop() -> Result<Gate> {
    let samuel = built("samuel")?;
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    let (_, store) = fixture::planned(root.path(), TASKS)?;
    let called = Called::start(&samuel, root.path())?;

    let number = Cell::new(0);
    let done = |command: &mut Command| {
        number.set(number.get() + 1);
        spawn(command.args(["run", "done"]).arg(number.get().to_string()).current_dir(root.path()))
    };
    let mut through = || done(Command::new(&samuel).envs(called.variables.iter().cloned()));
    let of_files =
        |(name, _): &&(String, String)| !["SAMUEL_SOCKET", "SAMUEL_TOKEN"].contains(&name.as_str());
    let without: Vec<(String, String)> = called.variables.iter().filter(of_files).cloned().collect();
    let mut with_files = || done(Command::new(&samuel).envs(without.iter().cloned()));
    let [took, probe_took] = in_turns(ROUNDS, [&mut through, &mut with_files])?;

    let completed = store.load()?.plan.count(Status::Completed);
    ensure!(completed == 2 * (ROUNDS + 1), "{completed} tasks are done instead of {}", 2 * (ROUNDS + 1));
    Ok(Gate {
        name: "samuel run done through the loop",
        took,
        probe: "samuel run done with the files".to_owned(),
        probe_took,
        limit: 1.5,
        notes: Vec::new(),
    })
}

/// A loop whose agent does nothing until this is dropped.
struct Called {
    run: Child,
    /// What its agent was given.
    variables: Vec<(String, String)>,
}

impl Called {
    /// How long a loop may take to call its agent.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn start(samuel: &Path, root: &Path) -> Result<Self> {
        let script = "env | grep ^SAMUEL_ > told && mv told called; sleep 600";
        let words = ["/bin/sh", "-c", script].into_iter().flat_map(|word| ["--agent-command", word]);
        let run = Command::new(samuel)
            .args(["run", "start", "--yes", "--agent", "command"])
            .args(words)
            .current_dir(root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut called = Self { run, variables: Vec::new() };
        let (path, deadline) = (root.join("called"), Instant::now() + Self::PATIENCE);
        while !path.exists() {
            ensure!(Instant::now() < deadline, "the loop has not called its agent");
            thread::sleep(Duration::from_millis(20));
        }
        let told = fs::read_to_string(path)?;
        let split =
            |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        called.variables = told.lines().filter_map(split).collect();
        ensure!(called.variables.iter().any(|(name, _)| name == "SAMUEL_TOKEN"), "it was given no token");
        Ok(called)
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        // What its agent started ends with it.
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
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
