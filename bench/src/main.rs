//! Benchmarks of Samuel, and the comparison of its TOON codec with the reference.
//!
//! `cargo xtask bench <name>` builds this program and `samuel` with the profile `wheel` and starts the benchmark of that
//! name.
//! A gate is a ratio: the time Samuel takes, to the time of a probe, which is the least work the task needs.
//! Both are measured in turns in one process, so a slow or busy machine slows both alike, and the same gate holds
//! everywhere.
#![allow(clippy::print_stdout, reason = "a benchmark reports to the terminal")]

mod bridge;
mod done;
mod fixture;
mod gate;
#[path = "../../xtask/src/guest.rs"]
#[expect(dead_code, reason = "the task of that name is not started here")]
mod guest;
mod hook_files;
mod hooks;
mod iteration;
mod lanes;
mod measure;
mod prd;
mod record;
mod run_loop;
mod sandbox;
mod snapshot;
mod start;
mod toon;
mod toon_case;
mod toon_oracle;
mod wasm;
#[path = "../../xtask/src/workspace.rs"]
#[expect(dead_code, reason = "tasks also wait for children")]
mod workspace;

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use anyhow::{Context as _, Result, bail};
use samuel_core::{clock::SystemClock, hook::CallScope};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark that the first argument names; the others are its own.
///
/// # Errors
/// Fails if a gate is missed, or something cannot be measured.
fn run(args: &[String]) -> Result<()> {
    let Some((name, args)) = args.split_first() else { bail!("usage: samuel-bench <name>") };
    match name.as_str() {
        "hooks" => hooks::run(args),
        "lanes" => lanes::run(args),
        "loop" => run_loop::run(args),
        "prd" => prd::run(args),
        "sandbox" => sandbox::run(args),
        "toon" => toon::run(args),
        "toon-oracle" => toon_oracle::run(args),
        "wasm" => wasm::run(args),
        _ => bail!("there is no benchmark \"{name}\""),
    }
}

/// Returns what the measured calls share.
fn scope() -> CallScope {
    CallScope {
        run_id: "20261121T100000Z-01234567".into(),
        session: "project".into(),
        iteration: 1,
        ..CallScope::new(Arc::new(SystemClock::new()))
    }
}

/// Returns the path of a program of the optimized build.
///
/// # Errors
/// Fails if the program was not built.
fn built(program: &str) -> Result<PathBuf> {
    let path = workspace::target().join("wheel").join(program);
    path.canonicalize().with_context(|| format!("{} was not built", path.display()))
}
