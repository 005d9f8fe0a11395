//! The way from an agent to the run that called it.

use std::{fmt, path::PathBuf};

/// Where one call of an agent reaches its run, and by which token: for changes of the plan, and to read it
/// (docs/broker.md).
///
/// It is valid as long as the call lasts. In a sandbox the socket has to be shown to the agent.
#[derive(Clone, PartialEq, Eq)]
pub struct RunAccess {
    /// The socket, as this process finds it.
    pub socket: PathBuf,
    /// The token of the call, 64 hexadecimal digits.
    pub token: String,
}

impl RunAccess {
    /// The variable that names the socket to an agent.
    pub const SOCKET: &str = "SAMUEL_SOCKET";
    /// The variable that holds the token of the call.
    pub const TOKEN: &str = "SAMUEL_TOKEN";
    /// The variable that names the sandbox of the call.
    pub const SANDBOX: &str = "SAMUEL_SANDBOX";

    /// Returns the variables by which the agent's commands find the run.
    pub fn env(&self) -> Vec<(String, String)> {
        vec![
            (Self::SOCKET.to_owned(), self.socket.display().to_string()),
            (Self::TOKEN.to_owned(), self.token.clone()),
        ]
    }
}

impl fmt::Debug for RunAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunAccess").field("socket", &self.socket).finish_non_exhaustive()
    }
}
