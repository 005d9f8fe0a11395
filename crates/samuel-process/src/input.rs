//! Standard input of a running command, written while it works.

use super::ProcessError;
use std::{io, time::Duration};
use tokio::{net::unix::pipe::Sender, time::timeout};

/// The writing end of a command's standard input, where that is
/// [`Stdin::Piped`](super::Stdin::Piped). Dropping it is the end of the file.
#[derive(Debug)]
pub struct StdinPipe(Sender);

impl StdinPipe {
    pub(super) fn new(pipe: Sender) -> Self {
        Self(pipe)
    }

    /// Writes all of `bytes`, in at most `limit`.
    ///
    /// They are in the pipe then, and not for certain read. A call that fails or is dropped may
    /// have written a part of them, so that a line is cut: what follows it means something else.
    ///
    /// # Errors
    /// [`ProcessError::InputTimeout`] if the command has not taken them all in time, and
    /// [`ProcessError::InputClosed`] if it takes no more.
    pub async fn write(&mut self, bytes: &[u8], limit: Duration) -> Result<(), ProcessError> {
        let mut written = 0;
        let all = timeout(limit, self.write_all(bytes, &mut written)).await;
        match all {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(ProcessError::InputClosed { written }),
            Err(_) => Err(ProcessError::InputTimeout { written, limit }),
        }
    }

    /// Writes as long as it takes, and counts.
    async fn write_all(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        while let Some(rest @ [_, ..]) = bytes.get(*written..) {
            self.0.writable().await?;
            match self.0.try_write(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => *written += taken?,
            }
        }
        Ok(())
    }

    /// Writes all there is to write, and closes the pipe. A command that does not read them all is
    /// no error.
    pub(super) async fn feed(self, bytes: Vec<u8>) {
        let _ = self.write_all(&bytes, &mut 0).await;
    }
}
