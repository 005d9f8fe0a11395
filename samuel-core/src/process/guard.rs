//! The supervisor at work: it passes on what is said, and guards the keeper.

use super::{
    cgroup::Cgroup,
    client::{Client, WatchedClient},
    link::report,
    mark::Mark,
    proc_table::{Entry, State},
    remains::{self, Traces},
    sweep::{ABANDONED_SWEEP_LIMIT, Family, SWEEP_LIMIT},
    wire::{Order, Report},
};
use rustix::{
    net::{SendFlags, send},
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};
use std::{io, os::unix::net::UnixStream as StdUnixStream, time::Duration};
use tokio::{
    io::AsyncReadExt,
    net::UnixStream,
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

/// How often the keeper is looked at, beside the signals that tell of it.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How long a keeper may take to exit after its last word, before it is killed
/// with its control group.
const EXIT_LIMIT: Duration = Duration::from_millis(30);

/// How often a stopped keeper may go on. One that is stopped again and again
/// is under attack, and ends with its command.
const MAX_STOPS: u32 = 100;

/// What a guard is made with.
pub(super) struct Guard {
    pub(super) control: StdUnixStream,
    pub(super) link: StdUnixStream,
    pub(super) keeper: Pid,
    pub(super) cgroup: Option<Cgroup>,
    pub(super) client: Client,
    pub(super) mark: Mark,
}

impl Guard {
    /// Watches the keeper to its end, and what it kept to theirs.
    pub(super) fn watch(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            self.control.set_nonblocking(true)?;
            self.link.set_nonblocking(true)?;
            let watch = Watch {
                control: UnixStream::from_std(self.control)?,
                link: UnixStream::from_std(self.link)?,
                keeper: Some(self.keeper),
                deaths: signal(SignalKind::child())?,
                endings: [
                    signal(SignalKind::terminate())?,
                    signal(SignalKind::interrupt())?,
                    signal(SignalKind::hangup())?,
                ],
                client: self.client.watch(),
                cgroup: self.cgroup,
                mark: self.mark,
                incoming: Vec::new(),
                last: None,
                stops: 0,
                abandoned: None,
            };
            watch.complete().await;
            Ok(())
        })
    }
}

/// A guard at work.
struct Watch {
    control: UnixStream,
    link: UnixStream,
    /// Nothing once it was reaped: its pid is free then.
    keeper: Option<Pid>,
    deaths: SignalStream,
    endings: [SignalStream; 3],
    client: WatchedClient,
    cgroup: Option<Cgroup>,
    mark: Mark,
    /// The start of a report of the keeper.
    incoming: Vec<u8>,
    /// What the keeper said last, once it has done its work.
    last: Option<Report>,
    stops: u32,
    /// Until when the keeper may sweep by itself, once nobody gives orders any more.
    abandoned: Option<Instant>,
}

impl Watch {
    async fn complete(mut self) {
        self.relay().await;
        if self.keeper.is_some() && self.last.is_some() {
            // It has nothing left to do but to exit.
            let _ = timeout(EXIT_LIMIT, self.deaths.recv()).await;
            self.look_for_stop();
        }
        let limit = if self.abandoned.is_some() { ABANDONED_SWEEP_LIMIT } else { SWEEP_LIMIT };
        match self.last {
            Some(Report::Swept { leaked, survivors }) => {
                let survivors = if self.leave_cgroup(limit) { survivors } else { survivors.max(1) };
                report(&self.control, Report::Swept { leaked, survivors });
            }
            // The command did not start.
            Some(_) => drop(self.leave_cgroup(limit)),
            None => {
                let survivors = self.sweep(limit).await;
                report(&self.control, Report::KeeperLost { survivors });
            }
        }
    }

    /// Passes on what both sides say, until the keeper is gone.
    async fn relay(&mut self) {
        let mut looks = interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut orders = [0; 64];
        let mut reports = [0; 8 * Report::SIZE];
        loop {
            let [term, int, hup] = &mut self.endings;
            let is_abandoned = self.abandoned.is_some();
            let deadline = self.abandoned.unwrap_or_else(Instant::now);
            tokio::select! {
                read = self.link.read(&mut reports) => match read {
                    Ok(size @ 1..) => self.pass_on(reports.get(..size).unwrap_or_default()),
                    _ => return,
                },
                read = self.control.read(&mut orders), if !is_abandoned => match read {
                    Ok(size @ 1..) => self.obey(orders.get(..size).unwrap_or_default()),
                    _ => self.abandon(),
                },
                _ = self.deaths.recv() => self.look_for_stop(),
                _ = looks.tick() => self.look_for_tracer(),
                () = sleep_until(deadline), if is_abandoned => return,
                () = self.client.gone(), if !is_abandoned => self.abandon(),
                _ = term.recv(), if !is_abandoned => self.abandon(),
                _ = int.recv(), if !is_abandoned => self.abandon(),
                _ = hup.recv(), if !is_abandoned => self.abandon(),
            }
        }
    }

    /// Passes orders on to the keeper, and answers for itself.
    fn obey(&mut self, orders: &[u8]) {
        for byte in orders {
            if Order::from_byte(*byte) == Some(Order::Answer) {
                report(&self.control, Report::Alive);
            } else {
                self.look_for_tracer();
                // A keeper that is gone shows at the other end of the link.
                let _ = send(&self.link, &[*byte], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
        }
    }

    /// Passes reports on to Samuel. The last one waits until the keeper is gone
    /// too, so that it is true, unless somebody refuses to die.
    fn pass_on(&mut self, bytes: &[u8]) {
        self.incoming.extend(bytes);
        while let Some(frame) = self.incoming.first_chunk().copied() {
            self.incoming.drain(..Report::SIZE);
            match Report::decode(frame) {
                Some(swept @ Report::Swept { survivors: 0, .. }) => self.last = Some(swept),
                Some(Report::Swept { leaked, .. }) => {
                    self.last = Some(Report::Swept { leaked, survivors: 0 });
                    match &self.cgroup {
                        Some(group) => group.kill(),
                        None => report(&self.control, Report::decode(frame).unwrap_or(Report::Alive)),
                    }
                }
                Some(message) => {
                    if matches!(message, Report::StartFailed { .. }) {
                        self.last = Some(message);
                    }
                    report(&self.control, message);
                }
                None => {}
            }
        }
    }

    /// Nobody gives orders any more: the keeper sweeps as soon as it sees the
    /// end of the link.
    fn abandon(&mut self) {
        self.abandoned = Some(Instant::now() + ABANDONED_SWEEP_LIMIT);
        let _ = rustix::net::shutdown(&self.link, rustix::net::Shutdown::Write);
    }

    /// Lets a keeper go on that the command has stopped.
    fn look_for_stop(&mut self) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
        match self.keeper.map(|keeper| waitpid(Some(keeper), options)) {
            Some(Ok(Some((_, status)))) if status.stopped() => {
                self.stops += 1;
                self.signal_keeper(if self.stops < MAX_STOPS { Signal::CONT } else { Signal::KILL });
            }
            Some(Ok(Some(_)) | Err(_)) => self.keeper = None,
            Some(Ok(None)) | None => {}
        }
    }

    /// Ends a keeper that is held by a tracer, of which no signal tells: nobody
    /// but an attacker traces one.
    fn look_for_tracer(&self) {
        let entry = self.keeper.and_then(Entry::read);
        if entry.is_some_and(|entry| entry.state == State::Traced) {
            self.signal_keeper(Signal::KILL);
        }
    }

    fn signal_keeper(&self, signal: Signal) {
        if let Some(keeper) = self.keeper {
            let _ = kill_process(keeper, signal);
        }
    }

    /// Does the work of a keeper that was killed, and returns how many
    /// processes are left. Its children are ours now.
    async fn sweep(&mut self, limit: Duration) -> u32 {
        // It may live on where it was given up.
        self.signal_keeper(Signal::KILL);
        let emptied = self.leave_cgroup(limit);
        let mut family = Family::inherited();
        let swept = family.sweep(&mut self.deaths, limit).await;
        let mut survivors = swept.survivors;
        if !emptied || self.cgroup.is_none() {
            survivors = survivors.max(remains::sweep(&Traces::of_mark(self.mark), limit).left.len());
        }
        u32::try_from(survivors).unwrap_or(u32::MAX)
    }

    /// Empties and removes the control group; returns whether nobody is left in it.
    fn leave_cgroup(&mut self, limit: Duration) -> bool {
        let Some(group) = &self.cgroup else { return true };
        let is_empty = group.empty(limit);
        if is_empty {
            group.remove();
        }
        is_empty
    }
}
