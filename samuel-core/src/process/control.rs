//! Samuel's hold on a command that has been launched.
//!
//! A [`Control`] reports [`Event`]s and takes orders; behind it is a
//! supervisor process, or only the process group. Dropping it kills the command.

use super::{
    ExitStatus, SupervisorId,
    wire::{Job, Order, Report},
};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::{future::pending, io, os::unix::process::ExitStatusExt, time::Duration};
use tokio::{io::Interest, net::UnixStream, process::Child, runtime::Handle, time::timeout};

/// How long a process that has nothing left to do may take to exit, in the
/// background, before its reaping is left to the runtime.
const REAP_LIMIT: Duration = Duration::from_secs(5);

/// What happens to a command, in this order.
#[derive(Debug)]
pub(super) enum Event {
    /// The program runs under this pid.
    Started { pid: u32 },
    /// It could not be executed.
    StartFailed { error: io::Error },
    /// The program has ended; what it left may still run.
    Exited(ExitStatus),
    /// The last order has been carried out.
    Swept { leaked: usize, survivors: usize },
    /// The supervisor is gone without having done its work.
    Lost,
    /// The supervisor's program ended without having shown that it is one.
    NotASupervisor,
}

/// What becomes of the processes that an exited command left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftovers {
    Kill,
    Keep,
}

/// A launched command.
#[derive(Debug)]
pub(super) enum Control {
    Supervised(Supervised),
    Group(Group),
}

impl Control {
    /// Waits for the next event. Cancel safe.
    pub(super) async fn event(&mut self) -> Event {
        match self {
            Self::Supervised(supervised) => supervised.event().await,
            Self::Group(group) => group.event().await,
        }
    }

    /// Sends SIGTERM to the command's process group.
    pub(super) fn terminate(&mut self) {
        match self {
            Self::Supervised(supervised) => supervised.order(Order::Terminate),
            Self::Group(group) => {
                group.signal(Signal::TERM);
                group.signal(Signal::CONT);
            }
        }
    }

    /// Kills the command with everything below it; [`Event::Swept`] follows.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Supervised(supervised) => supervised.order(Order::Kill),
            Self::Group(group) => group.kill(),
        }
    }

    /// Ends the watch over a command that has exited; [`Event::Swept`] follows.
    pub(super) fn settle(&mut self, leftovers: Leftovers) {
        match (self, leftovers) {
            (Self::Supervised(supervised), Leftovers::Kill) => supervised.order(Order::Sweep),
            (Self::Supervised(supervised), Leftovers::Keep) => supervised.order(Order::Release),
            (Self::Group(group), leftovers) => group.settle(leftovers),
        }
    }

    /// Reaps our own child, which has ended or is about to; what takes longer
    /// than `limit` is reaped in the background.
    pub(super) async fn reap(&mut self, limit: Duration) {
        let child = match self {
            Self::Supervised(supervised) => &mut supervised.child,
            Self::Group(group) => &mut group.child,
        };
        if let Some(running) = child
            && timeout(limit, running.wait()).await.is_ok()
        {
            *child = None;
        }
    }

    /// Returns which process supervises.
    pub(super) fn supervisor(&self) -> Option<SupervisorId> {
        match self {
            Self::Supervised(supervised) => Some(supervised.id),
            Self::Group(_) => None,
        }
    }
}

/// Whether a child is certain to end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Certain,
    /// It never showed that it is a supervisor.
    Doubtful,
}

/// Sees to it that a child does not stay a zombie.
fn reap_in_background(child: Option<Child>, ending: Ending) {
    if let (Some(mut child), Ok(runtime)) = (child, Handle::try_current()) {
        runtime.spawn(async move {
            if timeout(REAP_LIMIT, child.wait()).await.is_err() && ending == Ending::Doubtful {
                // It is gone already if this fails.
                let _ = child.kill().await;
            }
        });
    }
}

/// A command below a supervisor process.
#[derive(Debug)]
pub(super) struct Supervised {
    /// Closing it makes the supervisor kill everything.
    control: UnixStream,
    child: Option<Child>,
    id: SupervisorId,
    /// What the socket has not taken yet: a large job.
    outgoing: Vec<u8>,
    /// The start of a report.
    incoming: Vec<u8>,
    lost: bool,
    ending: Ending,
}

impl Supervised {
    pub(super) fn new(control: UnixStream, child: Child, id: SupervisorId, job: &Job) -> Self {
        Self {
            control,
            child: Some(child),
            id,
            outgoing: job.encode(),
            incoming: Vec::new(),
            lost: false,
            ending: Ending::Doubtful,
        }
    }

    fn order(&mut self, order: Order) {
        self.outgoing.push(order as u8);
        self.flush();
    }

    /// Writes what the socket takes. A supervisor that is gone shows when
    /// its reports are read.
    fn flush(&mut self) {
        while !self.outgoing.is_empty() {
            match self.control.try_write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.outgoing.clear(),
            }
        }
    }

    async fn event(&mut self) -> Event {
        if self.lost {
            return pending().await;
        }
        loop {
            if let Some(event) = self.next_report() {
                return event;
            }
            let interest = match self.outgoing.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            let Ok(ready) = self.control.ready(interest).await else { return self.lose() };
            if ready.is_writable() {
                self.flush();
            }
            if ready.is_readable() || ready.is_read_closed() {
                let mut buffer = [0; 8 * Report::SIZE];
                match self.control.try_read(&mut buffer) {
                    Ok(0) => return self.lose(),
                    Ok(read) => self.incoming.extend(buffer.iter().take(read)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return self.lose(),
                }
            }
        }
    }

    fn next_report(&mut self) -> Option<Event> {
        loop {
            let frame = *self.incoming.first_chunk()?;
            self.incoming.drain(..Report::SIZE);
            return Some(match Report::decode(frame) {
                Some(Report::Ready) => {
                    self.ending = Ending::Certain;
                    continue;
                }
                Some(Report::Started { pid }) => Event::Started { pid },
                Some(Report::StartFailed { errno }) => {
                    Event::StartFailed { error: io::Error::from_raw_os_error(errno) }
                }
                Some(Report::Exited(status)) => Event::Exited(status),
                Some(Report::Swept { leaked, survivors }) => {
                    Event::Swept { leaked: leaked as usize, survivors: survivors as usize }
                }
                None => self.lose(),
            });
        }
    }

    /// The supervisor is dead, killed by the command perhaps. Everything that
    /// stayed in its session can still be found.
    fn lose(&mut self) -> Event {
        self.lost = true;
        if self.ending == Ending::Doubtful {
            return Event::NotASupervisor;
        }
        #[cfg(target_os = "linux")]
        super::proc_table::kill_session(self.id.pid);
        Event::Lost
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        reap_in_background(self.child.take(), self.ending);
    }
}

/// A command that is only held by its process group.
#[derive(Debug)]
pub(super) struct Group {
    child: Option<Child>,
    /// Pid of the command and id of its group.
    id: Option<Pid>,
    stage: Stage,
    killed: bool,
}

/// How far the events of a group have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Launched,
    Running,
    Exited,
    Settled { leaked: usize },
    Finished,
}

impl Group {
    pub(super) fn new(child: Child) -> Self {
        let id = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        Self { child: Some(child), id, stage: Stage::Launched, killed: false }
    }

    async fn event(&mut self) -> Event {
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
                    return Event::Lost;
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
            Stage::Settled { leaked } => {
                self.stage = Stage::Finished;
                Event::Swept { leaked, survivors: 0 }
            }
            Stage::Exited | Stage::Finished => pending().await,
        }
    }

    fn kill(&mut self) {
        self.killed = true;
        self.signal(Signal::KILL);
        if self.stage == Stage::Exited {
            self.settle(Leftovers::Kill);
        }
    }

    fn settle(&mut self, leftovers: Leftovers) {
        let alive = self.id.is_some_and(|group| test_kill_process_group(group).is_ok());
        let sweep = alive && leftovers == Leftovers::Kill;
        if sweep {
            self.signal(Signal::KILL);
        }
        self.stage = Stage::Settled { leaked: usize::from(sweep && !self.killed) };
    }

    /// Signals the group. It exists for as long as it has a member, and is
    /// left alone once it has been settled.
    fn signal(&self, signal: Signal) {
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
        reap_in_background(self.child.take(), Ending::Certain);
    }
}
