//! Running a command to its end in one call.

use super::{CommandOutput, CommandSpec, ProcessError, Supervisor, drive::Drive};
use tokio_util::sync::CancellationToken;

/// Runs a command and returns when it has ended.
///
/// Returns at the latest 100 ms after the timeout of `spec`, and 400 ms after
/// `cancel`, however the command behaves. All processes below it are killed
/// then, but for those that a [background](CommandSpec::background) command
/// leaves when it exits. Dropping the future kills them too. Needs a tokio
/// runtime with I/O and time.
///
/// ```
/// use samuel_core::process::{CommandSpec, Supervisor, run};
/// use tokio_util::sync::CancellationToken;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let spec = CommandSpec::shell("tr a-z A-Z", "/").stdin("hello");
/// // A program with a supervisor at hand names it here instead.
/// let output = run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await?;
/// assert!(output.success());
/// assert_eq!(output.stdout.text(), "HELLO");
/// # Ok::<(), samuel_core::process::ProcessError>(())
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
    Drive::launch(spec, supervisor, None, None)?.complete(cancel).await
}
