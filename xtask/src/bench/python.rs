//! `cargo xtask bench python`: what handlers, events and TOON cost in Python.
//!
//! The measuring is Python's own, in `bindings/python/tools/bench.py`; here the
//! package is built with the profile of wheels, whose gates they are, and its peer installed.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{python, workspace::root};

/// The TOON package that is measured beside ours.
const PEER: &str = "toons";

/// Builds and measures.
///
/// # Errors
/// Fails where a gate is missed, or something cannot be measured.
pub(super) fn run() -> Result<()> {
    let path = python::lay_out("wheel")?;
    // Without the peer the other gates still hold.
    let interpreter = python::environment(&[PEER]).unwrap_or_else(|error| {
        println!("skipped: {error:#}");
        "python3".into()
    });
    let script = root().join("bindings/python/tools/bench.py");
    let status = Command::new(interpreter).arg(script).env("PYTHONPATH", path).status()?;
    ensure!(status.success(), "the benchmark did not pass");
    Ok(())
}
