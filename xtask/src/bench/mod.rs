//! `cargo xtask bench <name>`: what is measured and has a gate.
//!
//! A gate is a ratio: what Samuel takes, to a probe of what nobody can do
//! without, measured in turns in one process. So a slow or busy machine slows
//! both alike, and the same gate holds everywhere. Everything is measured in a
//! release build, which is built first. With `--against` the probe is the same
//! benchmark of an earlier commit.

mod against;
mod bridge;
mod done;
mod figures;
mod fixture;
mod gate;
mod hook_files;
mod hooks;
mod iteration;
mod lanes;
mod measure;
mod prd;
mod python;
mod record;
mod run_loop;
mod sandbox;
mod snapshot;
mod start;
mod toon;
#[cfg(feature = "wasm")]
mod wasm;

use std::{path::PathBuf, process::Command, sync::Arc};

use anyhow::{Context as _, Result, bail, ensure};
use samuel_core::{clock::SystemClock, hook::CallScope};

use crate::workspace;

/// One benchmark: its name, what it measures, its `run`, and where that is.
type Bench = (&'static str, &'static str, fn(&[String]) -> Result<()>, Where);

/// Which build of this task a benchmark runs in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    /// A release build, since the task itself measures.
    Release,
    /// Any: what it starts measures.
    Anywhere,
}

const BENCHES: &[Bench] = &[
    (
        "hooks",
        "what dispatch costs a handler, a point without one, a session hook, and a run with many of them",
        hooks::run,
        Where::Release,
    ),
    (
        "lanes",
        "what several lanes bring, what a claim, a landing and a work tree cost, and memory over 1,000 tasks",
        lanes::run,
        Where::Release,
    ),
    (
        "loop",
        "an iteration, a snapshot of 100,000 files, `samuel run done`, the start of the program",
        run_loop::run,
        Where::Release,
    ),
    ("prd", "the conversion of a PRD of 50,000 tasks beside its Markdown parser", prd::run, Where::Release),
    ("python", "handlers, events and TOON from Python", python::run, Where::Anywhere),
    (
        "sandbox",
        "a call in bwrap and in a container, a plugin that is an image, the broker, the proxy",
        sandbox::run,
        Where::Release,
    ),
    ("toon", "the TOON codec beside serde_json and another codec", toon::run, Where::Release),
    ("wasm", "what a handler in a WASM component costs", wasm, Where::Release),
];

/// Runs a benchmark in a release build; further arguments are its own, but for `--against` and a revision, with which
/// it is compared.
///
/// # Errors
/// Fails where a gate is missed, or something cannot be measured.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        for (name, what, ..) in BENCHES {
            println!("  {name:<8} {what}");
        }
        return Ok(());
    };
    let Some((_, _, bench, place)) = BENCHES.iter().find(|(known, ..)| known == name) else {
        let names: Vec<&str> = BENCHES.iter().map(|(name, ..)| *name).collect();
        bail!("there is no benchmark \"{name}\"; there is {}", names.join(", "));
    };
    if cfg!(debug_assertions) && *place == Where::Release {
        return again_in_release(args);
    }
    match against::split(rest)? {
        (Some(revision), rest) => against::run(revision, name, &rest, *place),
        (None, rest) => bench(&rest),
    }
}

/// Measures components in a build that has them.
fn wasm(args: &[String]) -> Result<()> {
    #[cfg(feature = "wasm")]
    return wasm::run(args);
    #[cfg(not(feature = "wasm"))]
    bail!("this build has no components: {args:?}")
}

/// Returns what the calls share that are measured.
fn scope() -> CallScope {
    CallScope {
        run_id: "20261121T100000Z-01234567".into(),
        session: "project".into(),
        iteration: 1,
        ..CallScope::new(Arc::new(SystemClock::new()))
    }
}

/// Builds everything that is measured, and starts this task again in it.
fn again_in_release(args: &[String]) -> Result<()> {
    let build = "build --release --locked --package xtask --package samuel-cli --features xtask/wasm";
    let build: Vec<&str> = build.split(' ').collect();
    ensure!(workspace::cargo(&build).status()?.success(), "the release build failed");
    let status = Command::new(release("xtask")).arg("bench").args(args).status()?;
    ensure!(status.success(), "the benchmark did not pass");
    Ok(())
}

/// Returns a program of the release build.
fn release(program: &str) -> PathBuf {
    workspace::target().join("release").join(program)
}

/// Returns the path of a program of the release build that must be there.
fn built(program: &str) -> Result<PathBuf> {
    let path = release(program);
    path.canonicalize().with_context(|| format!("{} was not built", path.display()))
}
