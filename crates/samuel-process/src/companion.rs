//! What belongs to a command and goes with it, such as the container it runs in.

use super::{CommandOutput, ProcessError};
use std::{fmt, sync::Arc};
use tokio::task::spawn_blocking;

/// Something that belongs to a command.
///
/// One that is dropped without having been released belonged to a command that was never started, or whose
/// runtime is gone: there is no time left for more than a word then.
pub trait Companion: fmt::Debug + Send + Sync {
    /// Lets it go, once the command has ended as is told here and before whoever waits for the command is
    /// told. Called on a thread where it may block, and once at most; it must come to an end by itself.
    fn release(&self, ended: &Result<CommandOutput, ProcessError>);
}

/// Releases the companions of a command, one after the other, and returns how that ended.
pub(super) async fn release(
    companions: Vec<Arc<dyn Companion>>,
    ended: Result<CommandOutput, ProcessError>,
) -> Result<CommandOutput, ProcessError> {
    if companions.is_empty() {
        return ended;
    }
    let program = std::path::PathBuf::new();
    let released = spawn_blocking(move || {
        for companion in &companions {
            companion.release(&ended);
        }
        ended
    });
    released.await.unwrap_or(Err(ProcessError::RuntimeStopped { program }))
}
