//! The mark by which a command's processes are known.
//!
//! It is a variable in the command's environment, which descendants inherit,
//! and the name of its control group. It says whose command it is: the process
//! that embeds Samuel, by pid and start time. So the next run can find what a
//! dead process left without knowing its commands one by one. The last part is
//! random, so that no program carries a mark by chance. A mark is no secret:
//! whoever takes one is ended with the command.

use super::SupervisorId;
use std::fmt;

/// The environment variable that carries the mark.
pub(super) const VARIABLE: &str = "SAMUEL_PROCESS_MARK";

/// The mark of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    client: SupervisorId,
    nonce: u64,
}

impl Mark {
    /// Makes the mark of one more command of this process.
    pub(super) fn new(client: SupervisorId) -> Self {
        let mut nonce = [0; 8];
        // Without randomness a mark still says whose it is.
        let _ = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::NONBLOCK);
        Self { client, nonce: u64::from_le_bytes(nonce) }
    }

    /// Returns how the marks of all commands of a process begin.
    pub(super) fn prefix(client: SupervisorId) -> String {
        format!("{}.{}.", client.pid, client.start_time)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:016x}", Self::prefix(self.client), self.nonce)
    }
}
