//! Where the workspace is, and how its cargo is called.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is a directory of the workspace")
}

/// Returns the directory cargo builds into.
pub(crate) fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(path) => root().join(path),
        None => root().join("target"),
    }
}

/// Returns a call of the cargo that runs this task, in the root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = call(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// Returns the call of a program without what cargo sets for this one, which is not meant for it.
pub(crate) fn call(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Longest time for a command, several times what the slowest takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(25 * 60);

/// Runs a command within [`LIMIT`], and returns how it ended.
///
/// # Errors
/// Fails if the command cannot be run, or takes too long.
pub(crate) fn finish(name: &str, command: &mut Command) -> Result<ExitStatus> {
    let mut child = command.spawn().with_context(|| format!("{name} cannot be run"))?;
    let status = wait(&mut child, LIMIT)?;
    status.with_context(|| format!("{name}: killed after {} minutes", LIMIT.as_secs() / 60))
}

/// Runs a command without its output.
///
/// # Errors
/// Fails if the command cannot be run, takes longer than the limit or fails: with the last line that it printed.
pub(crate) fn quietly(limit: Duration, command: &mut Command) -> Result<()> {
    let printed = tempfile::NamedTempFile::new()?;
    let stderr = printed.reopen()?;
    // Both write at one position.
    let stdout = stderr.try_clone()?;
    let spawned = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn();
    let mut child = spawned.context("it cannot be run")?;
    let Some(status) = wait(&mut child, limit)? else {
        bail!("it took more than {} s", limit.as_secs());
    };
    let printed = fs::read(printed.path())?;
    let printed = String::from_utf8_lossy(&printed);
    let reason = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    ensure!(status.success(), "{}", reason.trim());
    Ok(())
}

/// How long a child has to end what it started, once it was asked to end.
const GRACE: Duration = Duration::from_secs(15);

/// Waits for the end of a child. One that takes longer than the limit is asked to end, so that it can end what it started,
/// and killed after 15 seconds; then there is no status.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && child.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
