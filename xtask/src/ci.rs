//! `cargo xtask ci`: what CI runs, which is the script `.ci/run`.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// Runs the script.
///
/// # Errors
/// Fails for arguments, and where the script does.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let [] = args else { bail!("usage: cargo xtask ci") };
    let script = workspace::root().join(".ci/run");
    let status =
        Command::new(&script).status().with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(status.success(), "{} failed", script.display());
    Ok(())
}
