//! Samuel's hold on a command that has been launched.
//!
//! A [`Control`] reports [`Event`]s and takes orders; behind it is a
//! supervisor process, or only the process group. Dropping it kills the command.

use super::{
    Containment, ExitStatus, Process, SupervisorId, group::Group, supervised::Supervised, wire::Order,
};
use rustix::{
    net::{Shutdown, shutdown},
    process::Signal,
};
use std::{io, sync::Weak};
use tokio::net::UnixStream;

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
    Swept { leaked: usize, named: Vec<Process>, survivors: usize },
    /// The supervisor is gone without having done its work, which was done
    /// by others: everything is gone if they could be sure of it, but for these.
    Lost { swept: bool, left: Vec<Process> },
    /// The supervisor's program ended without having shown that it is one. Others had to end what
    /// it had started all the same if there is a list, of those that they could not end.
    NotASupervisor { left: Option<Vec<Process>> },
}

/// What cuts the connection to a supervisor from outside of the task that holds it.
#[derive(Debug)]
pub(super) struct Lifeline(pub(super) Weak<UnixStream>);

impl Lifeline {
    /// Has the supervisor end everything and report, as it does when Samuel is gone.
    pub(super) fn cut(&self) {
        if let Some(control) = self.0.upgrade() {
            // One that is gone has ended it all.
            let _ = shutdown(&*control, Shutdown::Write);
        }
    }
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

    /// Sends SIGINT to the command's process group.
    pub(super) fn interrupt(&mut self) {
        match self {
            Self::Supervised(supervised) => supervised.order(Order::Interrupt),
            Self::Group(group) => group.signal(Signal::INT),
        }
    }

    /// Kills the command with everything below it; [`Event::Swept`] follows.
    pub(super) fn kill(&mut self) {
        match self {
            Self::Supervised(supervised) => supervised.close(Order::Kill),
            Self::Group(group) => group.kill(),
        }
    }

    /// Ends the watch over a command that has exited; [`Event::Swept`] follows.
    pub(super) fn settle(&mut self, leftovers: Leftovers) {
        match (self, leftovers) {
            (Self::Supervised(supervised), Leftovers::Kill) => supervised.close(Order::Sweep),
            (Self::Supervised(supervised), Leftovers::Keep) => supervised.close(Order::Release),
            (Self::Group(group), leftovers) => group.settle(leftovers),
        }
    }

    /// Reaps our own child if it has ended; one that is about to is reaped in the background.
    pub(super) fn reap(&mut self) {
        let child = match self {
            Self::Supervised(supervised) => &mut supervised.child,
            Self::Group(group) => &mut group.child,
        };
        if child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
            *child = None;
        }
    }

    /// Tells whether the supervisor is lost and what it was to end is being ended by others.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Supervised(supervised) => supervised.is_lost(),
            Self::Group(_) => false,
        }
    }

    /// Returns what cuts the connection to the supervisor; a group has none.
    pub(super) fn lifeline(&self) -> Lifeline {
        match self {
            Self::Supervised(supervised) => supervised.lifeline(),
            Self::Group(_) => Lifeline(Weak::new()),
        }
    }

    /// Returns which process supervises.
    pub(super) fn supervisor(&self) -> Option<SupervisorId> {
        match self {
            Self::Supervised(supervised) => Some(supervised.id),
            Self::Group(_) => None,
        }
    }

    /// Returns what holds the command; the least that does until it has started.
    pub(super) fn containment(&self) -> Containment {
        match self {
            Self::Supervised(supervised) => supervised.containment,
            Self::Group(_) => Containment::Group,
        }
    }
}
