//! The supervisor at work: it passes on what is said, and guards the keeper.

use super::{
    cgroup::Cgroup,
    client::{Client, WatchedClient},
    link::report,
    mark::Mark,
    proc_table::{Entry, State},
    remains::{self, Traces},
    sweep::{ABANDONED_SWEEP_LIMIT, Family},
    wire::{Order, REPORT_LIMIT, Report, SWEEP_LIMIT},
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
            self.begin()?.complete().await;
            Ok(())
        })
    }

    /// Goes to work, within a runtime.
    fn begin(self) -> io::Result<Watch> {
        self.control.set_nonblocking(true)?;
        self.link.set_nonblocking(true)?;
        Ok(Watch {
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
            owed: None,
            report_by: None,
            stops: 0,
            abandoned: None,
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
    /// A report of survivors that may still turn out to be dead.
    owed: Option<Report>,
    /// Until when Samuel waits for the last report, once the last order was given.
    report_by: Option<Instant>,
    stops: u32,
    /// Until when the keeper may sweep by itself, once nobody gives orders any more.
    abandoned: Option<Instant>,
}

impl Watch {
    async fn complete(mut self) {
        self.relay().await;
        let is_told = self.tell_if_alone();
        if self.keeper.is_some() && self.last.is_some() {
            // It has nothing left to do but to exit.
            let _ = timeout(EXIT_LIMIT, self.deaths.recv()).await;
            self.look_for_stop();
        }
        // One for all that is left to do, since one is waiting for the end of it.
        let deadline = match self.abandoned {
            Some(_) => Instant::now() + ABANDONED_SWEEP_LIMIT,
            None => self.report_by(),
        };
        match self.last {
            Some(Report::Swept { leaked, survivors }) => {
                let is_empty = self.leave_cgroup(deadline).await;
                if is_told {
                    return;
                }
                let survivors = if is_empty { survivors } else { survivors.max(1) };
                report(&self.control, Report::Swept { leaked, survivors });
            }
            // The command did not start.
            Some(_) => drop(self.leave_cgroup(deadline).await),
            None => {
                let survivors = self.sweep(deadline).await;
                report(&self.control, Report::KeeperLost { survivors });
            }
        }
    }

    /// Gives the last report at once where the keeper saw nobody and nobody but the keeper is left,
    /// which has only to exit: Samuel need not wait for that. Returns whether it did.
    fn tell_if_alone(&self) -> bool {
        let Some(swept @ Report::Swept { survivors: 0, .. }) = self.last else { return false };
        let is_alone = self.cgroup.as_ref().is_none_or(|group| group.holds_only(self.keeper));
        if is_alone {
            report(&self.control, swept);
        }
        is_alone
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
            let owed = self.owed;
            let report_by = self.report_by.unwrap_or_else(Instant::now);
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
                () = sleep_until(report_by), if owed.is_some() => {
                    self.owed = None;
                    owed.into_iter().for_each(|owed| report(&self.control, owed));
                }
                () = self.client.gone(), if !is_abandoned => self.abandon(),
                _ = term.recv(), if !is_abandoned => self.abandon(),
                _ = int.recv(), if !is_abandoned => self.abandon(),
                _ = hup.recv(), if !is_abandoned => self.abandon(),
            }
        }
    }

    /// Returns until when Samuel waits for the last report.
    fn report_by(&mut self) -> Instant {
        *self.report_by.get_or_insert_with(|| Instant::now() + REPORT_LIMIT)
    }

    /// Passes orders on to the keeper, and answers for itself.
    fn obey(&mut self, orders: &[u8]) {
        for byte in orders {
            let order = Order::from_byte(*byte);
            if order == Some(Order::Answer) {
                report(&self.control, Report::Alive);
            } else {
                if !matches!(order, Some(Order::Terminate | Order::Interrupt)) {
                    self.report_by();
                }
                self.look_for_tracer();
                // A keeper that is gone shows at the other end of the link.
                let _ = send(&self.link, &[*byte], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
        }
    }

    /// Passes reports on to Samuel. The last one waits until the keeper is gone
    /// too, so that it is true, but not longer than Samuel waits for it.
    fn pass_on(&mut self, bytes: &[u8]) {
        self.incoming.extend(bytes);
        while let Some(frame) = self.incoming.first_chunk().copied() {
            self.incoming.drain(..Report::SIZE);
            match Report::decode(frame) {
                Some(swept @ Report::Swept { survivors: 0, .. }) => self.last = Some(swept),
                Some(Report::Swept { leaked, .. }) => {
                    self.last = Some(Report::Swept { leaked, survivors: 0 });
                    let told = Report::decode(frame);
                    match &self.cgroup {
                        Some(group) => {
                            group.kill();
                            self.owed = told;
                            self.report_by.get_or_insert_with(|| Instant::now() + SWEEP_LIMIT);
                        }
                        None => told.into_iter().for_each(|told| report(&self.control, told)),
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
    async fn sweep(&mut self, deadline: Instant) -> u32 {
        // It may live on where it was given up.
        self.signal_keeper(Signal::KILL);
        let emptied = self.leave_cgroup(deadline).await;
        let mut family = Family::inherited();
        let swept = family.sweep(&mut self.deaths, deadline).await;
        let mut survivors = swept.survivors;
        if !emptied || self.cgroup.is_none() {
            let limit = deadline.saturating_duration_since(Instant::now());
            survivors = survivors.max(remains::sweep(&Traces::of_mark(self.mark), limit).left.len());
        }
        u32::try_from(survivors).unwrap_or(u32::MAX)
    }

    /// Empties and removes the control group; returns whether nobody is left in it.
    async fn leave_cgroup(&mut self, deadline: Instant) -> bool {
        let Some(group) = &self.cgroup else { return true };
        let is_empty = group.empty(deadline).await;
        if is_empty {
            group.remove();
        }
        is_empty
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

    use super::*;
    use tokio::{io::AsyncWriteExt, time::timeout};

    /// A watch over a keeper that the test plays, with a group in which somebody refuses to die.
    fn watch(group: &std::path::Path) -> (Watch, UnixStream, UnixStream) {
        std::fs::write(group.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        let (control, samuel) = UnixStream::pair().unwrap();
        let (link, keeper) = UnixStream::pair().unwrap();
        let guard = Guard {
            control: control.into_std().unwrap(),
            link: link.into_std().unwrap(),
            keeper: Pid::INIT,
            cgroup: Some(Cgroup { path: group.to_owned() }),
            client: Client::open(0),
            mark: Mark::parse("1.1.0000000000000000").unwrap(),
        };
        // No process stands behind it.
        let watch = Watch { keeper: None, ..guard.begin().unwrap() };
        (watch, samuel, keeper)
    }

    async fn last_report(mut samuel: UnixStream) -> Option<Report> {
        let mut frame = [0; Report::SIZE];
        timeout(Duration::from_secs(5), samuel.read_exact(&mut frame)).await.unwrap().unwrap();
        Report::decode(frame)
    }

    #[tokio::test]
    async fn survivors_are_reported_while_the_keeper_still_tries_to_end_them() {
        let group = tempfile::tempdir().unwrap();
        let (mut watch, mut samuel, mut keeper) = watch(group.path());
        samuel.write_all(&[Order::Sweep as u8]).await.unwrap();
        let told = Report::Swept { leaked: 2, survivors: 1 };
        keeper.write_all(&told.encode()).await.unwrap();
        tokio::select! {
            () = watch.relay() => unreachable!("the keeper lives"),
            report = last_report(samuel) => assert_eq!(report, Some(told)),
        }
    }

    #[tokio::test]
    async fn who_stays_in_the_group_of_a_keeper_that_saw_nobody_is_reported() {
        let group = tempfile::tempdir().unwrap();
        let (watch, samuel, mut keeper) = watch(group.path());
        keeper.write_all(&Report::Swept { leaked: 0, survivors: 0 }.encode()).await.unwrap();
        drop(keeper);
        let ((), report) = tokio::join!(watch.complete(), last_report(samuel));
        assert_eq!(report, Some(Report::Swept { leaked: 0, survivors: 1 }));
    }
}
