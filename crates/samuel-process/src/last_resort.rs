//! What Samuel does about a supervisor by itself: look at it, let it go on,
//! and do its work.

use super::{Process, SupervisorId, heartbeat::Seen};

#[cfg(target_os = "linux")]
pub(super) use super::remains::{Traces, sweep};

/// Looks what a supervisor does.
#[cfg(target_os = "linux")]
pub(super) fn look(id: SupervisorId) -> Seen {
    use super::proc_table::{State, find, is_gone};
    match find(id).map(|entry| entry.state) {
        Some(State::Alive) => Seen::Alive,
        Some(State::Stopped) => Seen::Stopped,
        None if !is_gone(id) => Seen::Alive,
        Some(State::Traced | State::Dead) | None => Seen::Beyond,
    }
}

/// Lets a supervisor go on that may have been stopped.
#[cfg(target_os = "linux")]
pub(super) fn wake(id: SupervisorId) {
    if let Some(entry) = super::proc_table::find(id) {
        entry.signal(rustix::process::Signal::CONT);
    }
}

/// Returns the first living processes of a group.
#[cfg(target_os = "linux")]
pub(super) fn members_of(group: rustix::process::Pid) -> Vec<Process> {
    let group = group.as_raw_nonzero().get();
    let members =
        super::proc_table::all().into_iter().filter(|entry| entry.group == group && !entry.is_dead());
    members.take(super::left::MAX_NAMED).map(|entry| Process::of(entry.pid)).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{Traces, look, members_of, sweep, wake};

/// Where there are no supervisors.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Process, Seen, SupervisorId};
    use crate::{Remains, mark::Mark};
    use std::time::Duration;

    /// No traces.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Traces;

    impl Traces {
        pub(crate) fn of_mark(_: Mark) -> Self {
            Self
        }

        pub(crate) fn with_sessions(self, _: impl IntoIterator<Item = u32>) -> Self {
            self
        }
    }

    pub(crate) fn sweep(_: &Traces, _: Duration) -> Remains {
        Remains::default()
    }

    pub(crate) fn look(_: SupervisorId) -> Seen {
        Seen::Beyond
    }

    pub(crate) fn wake(_: SupervisorId) {}

    pub(crate) fn members_of(_: rustix::process::Pid) -> Vec<Process> {
        Vec::new()
    }
}
