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

/// Lists processes for a message: `17 (sleep), 18 (sh)`.
pub fn listed(processes: &[Process]) -> String {
    let listed: Vec<String> = processes.iter().map(ToString::to_string).collect();
    listed.join(", ")
}

/// How many processes that a command left are named.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nowhere else can they be named"))]
pub(super) const MAX_NAMED: usize = 8;

/// Processes that were still there when their command had ended, and were ended then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftRunning {
    /// How many there were.
    pub count: usize,
    /// The first eight of them. Fewer where they were gone before they could be named.
    pub named: Vec<Process>,
}

impl LeftRunning {
    pub(super) fn new(count: usize, named: Vec<Process>) -> Option<Self> {
        (count > 0).then_some(Self { count, named })
    }
}

/// Reads `1 process running, which was ended: 17 (sleep)`.
impl fmt::Display for LeftRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str("1 process running, which was ended")?,
            count => write!(f, "{count} processes running, which were ended")?,
        }
        if self.named.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", listed(&self.named))?;
        match self.count.saturating_sub(self.named.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
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
        Self::with_name(pid, &name)
    }
}

impl Process {
    /// Takes a name as the kernel keeps it.
    pub(super) fn with_name(pid: u32, name: &[u8]) -> Self {
        Self { pid, name: String::from_utf8_lossy(name).trim_end().escape_debug().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_running_is_told_by_number_and_name() {
        let process = |pid| Process { pid, name: "sleep".to_owned() };
        let told = |count, named| LeftRunning::new(count, named).map(|left| left.to_string());
        assert_eq!(told(0, vec![]), None);
        assert_eq!(
            told(1, vec![process(17)]).as_deref(),
            Some("1 process running, which was ended: 17 (sleep)")
        );
        let several = "3 processes running, which were ended: 17 (sleep), 18 (sleep) and 1 more";
        assert_eq!(told(3, vec![process(17), process(18)]).as_deref(), Some(several));
        assert_eq!(told(2, vec![]).as_deref(), Some("2 processes running, which were ended"));
    }
}
