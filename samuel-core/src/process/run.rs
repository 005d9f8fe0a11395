//! Running a command to its end in one call.

use super::{CommandOutput, CommandSpec, ProcessError, Supervisor};
use tokio_util::sync::CancellationToken;

/// Runs a command and returns when it has ended.
///
/// Returns at the latest 100 ms after the timeout of `spec`, and 400 ms after
/// `cancel`, however the command behaves; all processes below it are killed
/// then, but for those that a
/// [background](CommandSpec::background) command leaves when it exits. Dropping
/// the future kills them too. Needs a tokio runtime with I/O and time.
///
/// # Errors
/// A [`ProcessError`] if the command could not be started or its supervisor
/// was killed. A command that fails is a [`CommandOutput`].
pub async fn run(
    spec: CommandSpec,
    supervisor: &Supervisor,
    cancel: &CancellationToken,
) -> Result<CommandOutput, ProcessError> {
    let _ = (spec, supervisor, cancel);
    unimplemented!()
}
