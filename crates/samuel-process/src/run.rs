//! Running a command to its end in one call.

use super::{CommandOutput, CommandSpec, ProcessError, Running, Supervisor};
use std::{pin::pin, time::Duration};
use tokio_util::sync::CancellationToken;

/// The time between SIGTERM and SIGKILL after a cancellation.
const CANCEL_GRACE: Duration = Duration::from_millis(250);

/// Runs a command and returns when it has ended.
///
/// A command that is at work at the timeout of `spec`, or when `cancel` is, gets SIGTERM, and
/// SIGKILL after its [grace](CommandSpec::grace), 250 ms at most after `cancel`. The call
/// returns once all processes below the command are gone, but for those that a
/// [background](CommandSpec::background) command leaves when it exits; and 1.1 s after the
/// SIGKILL in any case. Dropping the future does what dropping a [`Running`] does. Needs a tokio
/// runtime with I/O and time.
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
    let grace = spec.grace.min(CANCEL_GRACE);
    let (running, _) = Running::launch(spec, supervisor)?;
    let stopper = running.stopper();
    let mut ended = pin!(running.wait());
    tokio::select! {
        biased;
        ended = &mut ended => return ended,
        () = cancel.cancelled() => stopper.terminate(grace),
    }
    ended.await
}
