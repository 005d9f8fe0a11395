//! The keeper: the parent of one command, and the promise that it leaves nothing.
//!
//! It is a subreaper in a session of its own, starts the command in its own
//! process group, and then does what it is told until the supervisor asks for the
//! sweep or goes away. See `wire` for the conversation and `sweep` for the end.

use super::{
    Containment,
    client::{Client, WatchedClient},
    link::{next_order, report},
    sweep::{ABANDONED_SWEEP_LIMIT, Family, Swept},
    wire::{Job, Order, Report, SWEEP_LIMIT},
};
use rustix::process::{Pid, set_child_subreaper, setsid};
use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream},
};
use tokio::{
    net::UnixStream,
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    time::Instant,
};

/// What a keeper is made with.
pub(super) struct Keeper {
    /// To the supervisor; closing it makes the keeper kill everything.
    pub(super) link: StdUnixStream,
    pub(super) job: Job,
    pub(super) stdio: [OwnedFd; 3],
    /// What holds it together with the command.
    pub(super) containment: Containment,
    pub(super) client: Client,
}

impl Keeper {
    /// Keeps the command to its end.
    pub(super) fn keep(self) -> io::Result<()> {
        setsid()?;
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            self.link.set_nonblocking(true)?;
            let mut watch = Watch::new(UnixStream::from_std(self.link)?, self.client)?;
            watch.report(Report::Ready { keeper: std::process::id(), containment: self.containment });
            match start(self.job, self.stdio) {
                Ok(leader) => watch.complete(leader).await,
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or_default();
                    watch.report(Report::StartFailed { errno });
                }
            }
            Ok(())
        })
    }
}

/// Starts the command. The descriptors are closed here on return, so that
/// only the command holds them.
fn start(job: Job, stdio: [OwnedFd; 3]) -> io::Result<Pid> {
    Ok(Pid::from_child(&job.command(stdio).spawn()?))
}

/// A keeper at work.
struct Watch {
    control: UnixStream,
    /// SIGCHLD. Taking it also undoes an inherited setting to ignore it, with
    /// which the kernel would throw exit codes away.
    deaths: SignalStream,
    endings: [SignalStream; 3],
    client: WatchedClient,
}

/// Why the keeper stops watching.
enum Reason {
    Ordered(Order),
    /// Samuel or the supervisor is gone, or we are being ended ourselves.
    Abandoned,
}

impl Watch {
    fn new(control: UnixStream, client: Client) -> io::Result<Self> {
        Ok(Self {
            control,
            deaths: signal(SignalKind::child())?,
            endings: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ],
            client: client.watch(),
        })
    }

    async fn complete(&mut self, leader: Pid) {
        let mut family = Family::new(leader);
        self.report(Report::Started { pid: leader.as_raw_nonzero().get().cast_unsigned() });
        let reason = self.attend(&mut family).await;
        let told = family.status().is_some();
        let swept = match reason {
            Reason::Ordered(Order::Release) => Swept::default(),
            Reason::Ordered(_) => family.sweep(&mut self.deaths, Instant::now() + SWEEP_LIMIT).await,
            Reason::Abandoned => family.sweep(&mut self.deaths, Instant::now() + ABANDONED_SWEEP_LIMIT).await,
        };
        if let (false, Some(status)) = (told, family.status()) {
            self.report(Report::Exited(status));
        }
        for (pid, name) in &swept.named {
            self.report(Report::Leaked { pid: pid.as_raw_nonzero().get().cast_unsigned(), name: *name });
        }
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        self.report(Report::Swept { leaked: count(swept.leaked), survivors: count(swept.survivors) });
        if swept.survivors > 0 {
            // Samuel knows and goes on; nobody waits for the rest.
            family.sweep(&mut self.deaths, Instant::now() + ABANDONED_SWEEP_LIMIT).await;
        }
    }

    /// Reaps and passes on SIGTERM until it is time for the end.
    async fn attend(&mut self, family: &mut Family) -> Reason {
        let [term, int, hup] = &mut self.endings;
        loop {
            tokio::select! {
                _ = self.deaths.recv() => {
                    let known = family.status().is_some();
                    family.reap();
                    if let (false, Some(status)) = (known, family.status()) {
                        report(&self.control, Report::Exited(status));
                    }
                }
                order = next_order(&self.control) => match order {
                    Some(Order::Terminate) => family.terminate(),
                    Some(Order::Interrupt) => family.interrupt(),
                    // The supervisor answers for itself.
                    Some(Order::Answer) => {}
                    Some(order) => return Reason::Ordered(order),
                    None => return Reason::Abandoned,
                },
                () = self.client.gone() => return Reason::Abandoned,
                _ = term.recv() => return Reason::Abandoned,
                _ = int.recv() => return Reason::Abandoned,
                _ = hup.recv() => return Reason::Abandoned,
            }
        }
    }

    fn report(&self, message: Report) {
        report(&self.control, message);
    }
}
