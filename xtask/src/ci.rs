//! `cargo xtask ci`: what CI runs, which is the script `.ci/run`.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Runs the script.
///
/// # Errors
/// Fails where the script does.
pub(crate) fn run() -> Result<()> {
    let script = workspace::root().join(".ci/run");
    let status =
        Command::new(&script).status().with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(status.success(), "{} failed", script.display());
    Ok(())
}
