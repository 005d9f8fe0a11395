//! Benchmarks: `cargo xtask bench <name>` builds and starts the one of that name.
//!
//! The benchmarks are the package `samuel-bench`, except that of the Python package, which Python measures itself.
//! Each is measured in an optimized build. With `--against` the same benchmark of an earlier commit runs in turns with it.

mod against;
mod figures;
mod python;

use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::workspace::{cargo, target};

/// The package of the benchmarks, and its program.
const PACKAGE: &str = "samuel-bench";

/// The benchmark that is not in the package.
const PYTHON: &str = "python";

/// The benchmarks, each by its name with what it measures.
const BENCHES: [(&str, &str); 8] = [
    (
        "hooks",
        "what dispatch costs a handler, a point without one, a session hook, and a run with many of them",
    ),
    (
        "lanes",
        "what several lanes bring, what a claim, a landing and a work tree cost, and memory over 1,000 tasks",
    ),
    ("loop", "an iteration, a snapshot of 100,000 files, `samuel run done`, the start of the program"),
    ("prd", "the conversion of a PRD of 50,000 tasks beside its Markdown parser"),
    (PYTHON, "handlers, events and TOON from Python"),
    ("sandbox", "a call in bwrap and in a container, a plugin that is an image, the broker, the proxy"),
    ("toon", "the TOON codec beside serde_json and another codec"),
    ("wasm", "what a handler in a WASM component costs"),
];

/// Runs a benchmark. `--against` and a revision compare it with an earlier commit; the other arguments are its own.
/// Lists the benchmarks if none is named.
///
/// # Errors
/// Fails if there is no benchmark of that name, it does not build, or it misses a gate.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some((name, rest)) = args.split_first() else {
        for (name, what) in BENCHES {
            println!("  {name:<8} {what}");
        }
        return Ok(());
    };
    if !BENCHES.iter().any(|(known, _)| known == name) {
        bail!("there is no benchmark \"{name}\"; there is {}", BENCHES.map(|(name, _)| name).join(", "));
    }
    match against::split(rest)? {
        (Some(revision), rest) => against::run(revision, name, &rest),
        (None, _) if name == PYTHON => python::run(),
        (None, rest) => optimized(name, &rest),
    }
}

/// Compares the TOON codec with the reference, in any build.
///
/// # Errors
/// Fails if the two differ, or cannot be compared.
pub(crate) fn toon_oracle(args: &[String]) -> Result<()> {
    let run = ["run", "--quiet", "--locked", "--package", PACKAGE, "--", "toon-oracle"];
    ensure!(cargo(&run).args(args).status()?.success(), "the comparison did not pass");
    Ok(())
}

/// Builds everything that is measured, and starts a benchmark of it.
fn optimized(name: &str, args: &[String]) -> Result<()> {
    let build = ["build", "--profile", "wheel", "--locked", "--package", PACKAGE, "--package", "samuel-cli"];
    ensure!(cargo(&build).status()?.success(), "the optimized build failed");
    let status = Command::new(target().join("wheel").join(PACKAGE)).arg(name).args(args).status()?;
    ensure!(status.success(), "the benchmark did not pass");
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn package_runs_every_benchmark_that_is_listed() {
        let source = std::fs::read_to_string(crate::workspace::root().join("bench/src/main.rs")).unwrap();
        for (name, _) in BENCHES.iter().filter(|(name, _)| *name != PYTHON) {
            assert!(source.contains(&format!("\n        \"{name}\" => ")), "{name}");
        }
    }
}
