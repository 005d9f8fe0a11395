//! The way from an agent's own hooks to the run that called it.

use std::{path::PathBuf, time::Duration};

/// How the tool calls of one call of an agent reach the run: by the agent's own hooks, which start a
/// command that asks the run.
///
/// The runtime makes one for a call where a handler of `ability.before` or `ability.after` is
/// registered ([`AgentPort::bridge`](super::AgentPort::bridge)); an adapter wires it on the agent's
/// command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The command, word for word, the program first. The adapter adds the name of the agent's
    /// protocol, such as `claude`, as its last word.
    pub command: Vec<String>,
    /// The variables that the command finds the run by, for the agent's environment.
    pub env: Vec<(String, String)>,
    /// How long the command takes at most before it answers "no" by itself. The timeout that is
    /// wired is longer, since agents let a call pass when a hook runs out of time.
    pub deadline: Duration,
    /// A private directory (mode 0700) of this call, outside of the project, for files that wire it.
    /// It is removed after the call.
    pub dir: PathBuf,
    /// Whether anybody wants to be asked before a tool call.
    pub before: bool,
    /// Whether anybody wants to be told after one.
    pub after: bool,
}
