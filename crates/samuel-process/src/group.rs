//! A command that is only held by its process group.

use super::{
    ExitStatus, Process,
    control::{Event, Leftovers},
    last_resort,
};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::{future::pending, os::unix::process::ExitStatusExt};
use tokio::{process::Child, runtime::Handle};

/// A command that is only held by its process group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) child: Option<Child>,
    /// Pid of the command and id of its group.
    id: Option<Pid>,
    stage: Stage,
    killed: bool,
}

/// How far the events of a group have come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Launched,
    Running,
    Exited,
    Settled { leaked: usize, named: Vec<Process> },
    Finished,
}

impl Group {
    pub(super) fn new(child: Child) -> Self {
        let id = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        Self { child: Some(child), id, stage: Stage::Launched, killed: false }
    }

    pub(super) async fn event(&mut self) -> Event {
        match self.stage {
            Stage::Launched => {
                self.stage = Stage::Running;
                let pid = self.id.map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
                Event::Started { pid }
            }
            Stage::Running => {
                let Some(child) = &mut self.child else { return pending().await };
                let Ok(status) = child.wait().await else {
                    self.stage = Stage::Finished;
                    return Event::Lost { swept: false, left: Vec::new() };
                };
                self.stage = Stage::Exited;
                if self.killed {
                    self.settle(Leftovers::Kill);
                }
                Event::Exited(match status.code() {
                    Some(code) => ExitStatus::Exited(code),
                    None => ExitStatus::Signaled(status.signal().unwrap_or_default()),
                })
            }
            Stage::Settled { leaked, ref mut named } => {
                let named = std::mem::take(named);
                self.stage = Stage::Finished;
                Event::Swept { leaked, named, survivors: 0 }
            }
            Stage::Exited | Stage::Finished => pending().await,
        }
    }

    pub(super) fn kill(&mut self) {
        self.killed = true;
        self.signal(Signal::KILL);
        if self.stage == Stage::Exited {
            self.settle(Leftovers::Kill);
        }
    }

    pub(super) fn settle(&mut self, leftovers: Leftovers) {
        let alive = self.id.is_some_and(|group| test_kill_process_group(group).is_ok());
        let sweep = alive && leftovers == Leftovers::Kill;
        let is_leak = sweep && !self.killed;
        let named = self.id.filter(|_| is_leak).map(last_resort::members_of).unwrap_or_default();
        if sweep {
            self.signal(Signal::KILL);
        }
        self.stage = Stage::Settled { leaked: usize::from(is_leak).max(named.len()), named };
    }

    /// Signals the group. It exists for as long as it has a member, and is
    /// left alone once it has been settled.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = self.id {
            // Nobody left to tell is fine.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Launched | Stage::Running | Stage::Exited) {
            self.signal(Signal::KILL);
        }
        // It does not stay a zombie.
        if let (Some(mut child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(async move { drop(child.wait().await) });
        }
    }
}
