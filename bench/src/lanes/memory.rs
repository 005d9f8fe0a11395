//! What a run with lanes needs as it goes on: as much at its end as early in it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use samuel_core::{
    model::{Plan, Task, TaskId},
    state::{Actor, Existing},
};
use serde_json::Value;

use super::super::{built, fixture, measure::median_of};

const TASKS: usize = 1_000;
const FILES: usize = 300;
/// How many landings there are between two looks.
const EVERY: usize = 25;
/// How many of the looks are held against each other at the start, after the first ones, and at the end.
const LOOKS: usize = 8;
/// How many times what it had early it may have at its end.
const LIMIT: f64 = 1.25;

/// Runs 1,000 tasks with 4 lanes, and holds its memory at the end against that early on.
///
/// # Errors
/// Fails where the gate is missed.
pub(super) fn measure() -> Result<()> {
    let directory = tempfile::tempdir_in(crate::workspace::target())?;
    let root = directory.path().join("project");
    fixture::repository(&root, FILES)?;
    let (_, store) = fixture::planned(&root, 0)?;
    let tasks = (1..=TASKS).map(|id| Task::new(TaskId::new(id.to_string()), format!("Make file {id}")));
    store.import(Plan { tasks: tasks.collect(), ..Plan::default() }, Actor::User, Existing::Replace)?;
    let config = "version = \"2\"\n[methodology.ralph]\nquality_checks = [\"true\"]\nmax_iterations = 0\n";
    fs::write(root.join("samuel.toml"), config)?;
    let script = "[[calls]]\nrepeat = true\nsteps = [{ write = { path = \"made-{{task_id}}.txt\", content = \"x\" } }, { done = {} }]\n";
    fs::write(directory.path().join("script.toml"), script)?;
    let mut command = Command::new(built("samuel")?);
    command
        .args(
            "run start --yes --pause 0 --json --jobs 4 --agent scripted --agent-command ../script.toml"
                .split(' '),
        )
        .current_dir(&root)
        .env_clear()
        .envs(fixture::git_env())
        .env("HOME", directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut run = command.spawn()?;
    let lines = BufReader::new(run.stdout.take().context("its output is read")?).lines();
    let (mut landed, mut had) = (0, Vec::new());
    for line in lines {
        let event: Value = serde_json::from_str(&line?)?;
        if event.get("event").and_then(Value::as_str) != Some("task_landed") {
            continue;
        }
        landed += 1;
        if landed % EVERY == 0 {
            // It may have ended by then.
            had.extend(resident(run.id()));
        }
    }
    ensure!(run.wait()?.success() && landed == TASKS, "{landed} of {TASKS} tasks landed");
    let early = had.get(2..2 + LOOKS).context("too few looks")?;
    let late = had.get(had.len().saturating_sub(LOOKS)..).context("too few looks")?;
    let (early, late) = (median_of(early.to_vec()), median_of(late.to_vec()));
    let ratio = late as f64 / early as f64;
    let passes = ratio <= LIMIT;
    println!(
        "memory over {TASKS} tasks, 4 lanes: {early} KiB early, {late} KiB at the end, {ratio:.2}x of {LIMIT}x: {}",
        if passes { "pass" } else { "FAIL" }
    );
    ensure!(passes, "missed: memory over {TASKS} tasks");
    Ok(())
}

/// Returns how much memory a process has, in KiB.
fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
