//! A command at work, whose output is read line by line.

use super::{CommandOutput, CommandSpec, Line, ProcessError, Supervisor, SupervisorId};
use std::time::Duration;
use tokio::time::Instant;

/// A running command.
///
/// Dropping it kills the command and everything below it.
#[derive(Debug)]
pub struct Running {}

/// Ends a [`Running`] command from elsewhere; clones act on the same command.
#[derive(Clone, Debug)]
pub struct Stopper {}

/// Starts a command whose standard output is read while it runs.
///
/// Returns once the program has been started. `spec.timeout` is the wall clock;
/// the other clocks are in `spec.clocks`.
///
/// # Errors
/// A [`ProcessError`] if the command could not be started.
pub async fn spawn(spec: CommandSpec, supervisor: &Supervisor) -> Result<Running, ProcessError> {
    let _ = (spec, supervisor);
    unimplemented!()
}

impl Running {
    /// Waits for the next line of standard output; `None` when there will be
    /// no more. Cancel safe. A consumer that does not call this holds the command
    /// back once some lines are waiting, as a full pipe does.
    pub async fn next_line(&mut self) -> Option<Line> {
        unimplemented!()
    }

    /// Waits for the end of the command; lines not fetched yet are dropped.
    ///
    /// # Errors
    /// [`ProcessError::SupervisorLost`].
    pub async fn wait(self) -> Result<CommandOutput, ProcessError> {
        unimplemented!()
    }

    /// Returns the supervisor's identity, for the journal.
    pub fn supervisor(&self) -> Option<SupervisorId> {
        unimplemented!()
    }

    /// Returns the pid of the command itself.
    pub fn pid(&self) -> u32 {
        unimplemented!()
    }

    /// Returns when the command last wrote something, or when it started.
    pub fn last_output(&self) -> Instant {
        unimplemented!()
    }

    /// Returns a handle that can end the command.
    pub fn stopper(&self) -> Stopper {
        unimplemented!()
    }
}

impl Stopper {
    /// Sends SIGTERM now and kills what is left after `grace`.
    pub fn terminate(&self, grace: Duration) {
        let _ = grace;
        unimplemented!()
    }

    /// Kills the command and everything below it now.
    pub fn kill(&self) {
        unimplemented!()
    }

    /// Says that the command has done its work: it should exit by itself now,
    /// and is ended after [`Clocks::linger`](super::Clocks::linger) if it does not.
    pub fn finishing(&self) {
        unimplemented!()
    }
}
