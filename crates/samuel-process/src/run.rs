//! Running a command to its end in one call.

use super::{
    CommandOutput, CommandSpec, ProcessError, Stopper, Supervisor,
    drive::{Drive, Listener},
    running::joined,
};
use std::{path::PathBuf, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Runs a command and returns when it has ended.
///
/// A command that is at work at the timeout of `spec`, or when `cancel` is, gets SIGTERM, and
/// SIGKILL after its [grace](CommandSpec::grace), 250 ms at most after `cancel`. The call
/// returns once all processes below the command are gone, but for those that a
/// [background](CommandSpec::background) command leaves when it exits; and 1.1 s after the
/// SIGKILL in any case. Dropping the future kills them at once, or
/// [after their grace](CommandSpec::grace_when_dropped). Needs a tokio runtime with I/O and time.
///
/// ```
/// use samuel_process::{CommandSpec, Supervisor, run};
/// use tokio_util::sync::CancellationToken;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let spec = CommandSpec::shell("tr a-z A-Z", "/").stdin("hello");
/// // A program with a supervisor at hand names it here instead.
/// let output = run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await?;
/// assert!(output.success());
/// assert_eq!(output.stdout.text(), "HELLO");
/// # Ok::<(), samuel_process::ProcessError>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// A [`ProcessError`] if the command could not be started or its supervisor
/// was killed. A command that fails is a [`CommandOutput`].
pub async fn run(
    spec: CommandSpec,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
) -> Result<CommandOutput, ProcessError> {
    if spec.grace_when_dropped {
        return run_in_a_task(spec, supervisor, cancel).await;
    }
    Drive::launch(spec, supervisor, None, None)?.complete(cancel).await
}

/// Does the same in a task, which sees the command through when the call is dropped.
async fn run_in_a_task(
    spec: CommandSpec,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
) -> Result<CommandOutput, ProcessError> {
    let program = PathBuf::from(&spec.program);
    let (stopper, requests) = Stopper::new();
    let (last_output, _) = watch::channel(Instant::now());
    let dropped = TerminatedWhenDropped { stopper, grace: spec.grace };
    let listener = Listener { requests, last_output, started: None };
    let drive = Drive::launch(spec, supervisor, None, Some(listener))?;
    let cancel = cancel.clone();
    let ended = tokio::spawn(async move { drive.complete(&cancel).await }).await;
    // It has ended: there is nobody to tell.
    drop(dropped);
    joined(ended, &program)
}

/// Has a command ended politely when this goes, unless it has ended.
struct TerminatedWhenDropped {
    stopper: Stopper,
    grace: Duration,
}

impl Drop for TerminatedWhenDropped {
    fn drop(&mut self) {
        self.stopper.terminate(self.grace);
    }
}
