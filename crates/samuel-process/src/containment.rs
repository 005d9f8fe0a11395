//! What holds the processes that a command starts.

use serde::Serialize;

/// What holds the processes that a command starts, from the weakest to the
/// strongest.
///
/// It is chosen when the command starts: the strongest that the machine allows,
/// and at most [`CommandSpec::containment`](super::CommandSpec::containment).
/// It matters where the supervisor itself is attacked. As long as that one
/// lives, it finds every descendant in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Containment {
    /// Only the process group, without a supervisor.
    Group,
    /// The supervisor, and a mark in the environment of the command by which
    /// its processes are found should the supervisor be lost. One that cleans its
    /// environment, leaves the session and loses its parent is not found then.
    Mark,
    /// A control group (cgroup v2) of the command's own beside all that. The
    /// kernel kills everything in it at once, whoever else is dead. A process that may write to
    /// the control groups of the machine can leave it, so here too the loss of both supervisors
    /// is reported as not swept.
    Cgroup,
}

impl Containment {
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Group => 0,
            Self::Mark => 1,
            Self::Cgroup => 2,
        }
    }

    pub(super) fn from_code(code: u32) -> Option<Self> {
        [Self::Group, Self::Mark, Self::Cgroup].into_iter().find(|known| known.code() == code)
    }
}
