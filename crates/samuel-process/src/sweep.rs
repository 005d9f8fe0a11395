//! Ending everything below a supervisor.
//!
//! A [`Family`] is the command (the *leader*) and its descendants. The
//! supervisor is their subreaper: a process whose parent dies becomes its
//! child, whatever group or session it is in. So "no children left" means
//! "no descendants left", and the kernel answers that with one `waitpid`.

use super::{
    ExitStatus,
    left::MAX_NAMED,
    proc_table::{Entry, living_descendants},
    wire::Name,
};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait};
use std::{collections::BTreeSet, time::Duration};
use tokio::{
    signal::unix::Signal as SignalStream,
    time::{Instant, timeout},
};

/// How long a sweep tries when nobody waits any more: then even a machine
/// under heavy load must not leave anything.
pub(super) const ABANDONED_SWEEP_LIMIT: Duration = Duration::from_secs(30);

/// How long to wait for deaths before looking at the process table again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How long what dies with its command may take for that, before it counts as left behind.
const DYING: Duration = Duration::from_millis(100);

/// The processes of one command.
#[derive(Debug)]
pub(super) struct Family {
    /// The command; nothing for processes that were inherited from a keeper.
    leader: Option<Pid>,
    /// Known once the leader has ended and was reaped: its pid is free then,
    /// and nothing may be sent to it any more.
    status: Option<ExitStatus>,
    /// No children at all are left.
    extinct: bool,
}

/// What a sweep found.
#[derive(Clone, Debug, Default)]
pub(super) struct Swept {
    /// Processes that would have stayed.
    pub(super) leaked: usize,
    /// The first of them.
    pub(super) named: Vec<(Pid, Name)>,
    /// Processes that did stay.
    pub(super) survivors: usize,
}

impl Family {
    pub(super) fn new(leader: Pid) -> Self {
        Self { leader: Some(leader), status: None, extinct: false }
    }

    /// Describes what a keeper that was killed has left to its supervisor.
    pub(super) fn inherited() -> Self {
        Self { leader: None, status: None, extinct: false }
    }

    /// Returns how the leader ended, once it has.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.status
    }

    /// Reaps all children that have died.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.leader => self.status = exit_status(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.extinct = true;
                    return;
                }
            }
        }
    }

    /// Asks the command to end. A stopped process acts on SIGTERM only once it
    /// is continued.
    pub(super) fn terminate(&self) {
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
    }

    /// Interrupts the command, as Ctrl-C does.
    pub(super) fn interrupt(&self) {
        self.signal_group(Signal::INT);
    }

    /// Waits a moment for what dies with a command that has ended by itself, such as the first process of its sandbox.
    async fn wait_for_the_dying(&mut self, deaths: &mut SignalStream, deadline: Instant) {
        let until = deadline.min(Instant::now() + DYING);
        self.reap();
        while self.status.is_some() && !self.extinct && Instant::now() < until {
            let _ = timeout(LOOK_AGAIN, deaths.recv()).await;
            self.reap();
        }
    }

    /// Kills whatever is alive and waits until it is gone.
    ///
    /// Everything is stopped first, so that nothing can fork away
    /// between being seen and being killed. `deaths` is the stream of SIGCHLD.
    pub(super) async fn sweep(&mut self, deaths: &mut SignalStream, deadline: Instant) -> Swept {
        self.wait_for_the_dying(deaths, deadline).await;
        let running_group =
            self.leader.filter(|_| self.status.is_none()).map(|leader| leader.as_raw_nonzero().get());
        self.signal_group(Signal::KILL);
        let (mut leaked, mut named) = (BTreeSet::new(), Vec::new());
        loop {
            self.reap();
            if self.extinct {
                return Swept { leaked: leaked.len(), named, survivors: 0 };
            }
            let living = stop_all(deadline);
            // A group that was killed with its leader does not count as left behind.
            let left = living.iter().filter(|entry| Some(entry.group) != running_group);
            for entry in left {
                if leaked.insert(entry.key()) && named.len() < MAX_NAMED {
                    named.push((entry.pid, name_of(entry.pid)));
                }
            }
            for entry in &living {
                entry.signal(Signal::KILL);
            }
            if Instant::now() >= deadline {
                return Swept { leaked: leaked.len(), named, survivors: living.len() };
            }
            let _ = timeout(LOOK_AGAIN, deaths.recv()).await;
        }
    }

    fn signal_group(&self, signal: Signal) {
        if let (Some(leader), None) = (self.leader, self.status) {
            // It may have ended this moment: then there is nobody to tell.
            let _ = kill_process_group(leader, signal);
        }
    }
}

/// Returns the name of a process; an empty one if it is gone.
fn name_of(pid: Pid) -> Name {
    let text = std::fs::read(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
    let mut name = Name::default();
    let printed = text.strip_suffix(b"\n").unwrap_or(&text);
    name.iter_mut().zip(printed).for_each(|(place, byte)| *place = *byte);
    name
}

/// Stops all descendants, those too that were born meanwhile, and returns them.
fn stop_all(deadline: Instant) -> Vec<Entry> {
    stop_until_still(|| living_descendants(getpid()), deadline)
}

/// Stops all processes that `look` finds, until it finds no new ones, and returns them.
pub(super) fn stop_until_still(mut look: impl FnMut() -> Vec<Entry>, deadline: Instant) -> Vec<Entry> {
    let mut stopped = BTreeSet::new();
    loop {
        let living = look();
        let fresh: Vec<&Entry> = living.iter().filter(|entry| stopped.insert(entry.key())).collect();
        if fresh.is_empty() || Instant::now() >= deadline {
            return living;
        }
        for entry in fresh {
            entry.signal(Signal::STOP);
        }
    }
}

/// Reads a wait status; `None` if the process has not ended.
fn exit_status(status: WaitStatus) -> Option<ExitStatus> {
    let exited = status.exit_status().map(ExitStatus::Exited);
    exited.or_else(|| status.terminating_signal().map(ExitStatus::Signaled))
}
