//! What a command left behind, by name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A process as a person finds it again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// The name of its program, at most 15 bytes as Linux keeps it, with what
    /// cannot be printed escaped; empty where it is not known.
    pub name: String,
}

/// Reads `17 (sleep)`.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " ({})", self.name) }
    }
}

/// Lists processes for a message.
pub(crate) fn listed(processes: &[Process]) -> String {
    let listed: Vec<String> = processes.iter().map(ToString::to_string).collect();
    listed.join(", ")
}

/// What became of processes that were found without their supervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Remains {
    /// Those that were ended.
    pub ended: Vec<Process>,
    /// Those that could not be: they are stuck in the kernel or belong to another user.
    pub left: Vec<Process>,
}

#[cfg(target_os = "linux")]
impl Process {
    /// Looks up the name of a process.
    pub(super) fn of(pid: rustix::process::Pid) -> Self {
        let pid = pid.as_raw_nonzero().get().cast_unsigned();
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        Self { pid, name: String::from_utf8_lossy(&name).trim_end().escape_debug().to_string() }
    }
}
