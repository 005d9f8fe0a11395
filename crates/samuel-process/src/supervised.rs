//! A command below a supervisor process.
//!
//! Samuel's end of the control socket. The supervisor is asked at intervals whether it is
//! still there ([`Heartbeat`]). When it is lost, everything that it was to end is
//! ended here, by the traces that the command carries.

use super::{
    Containment, Process, Remains, SupervisorId,
    control::{Event, Lifeline},
    heartbeat::{Beat, Heartbeat, Seen, Verdict},
    last_resort::{self, Traces},
    mark::Mark,
    wire::{Job, Order, Report},
};
use std::{future::pending, io, sync::Arc, time::Duration};
use tokio::{
    io::Interest,
    net::UnixStream,
    process::Child,
    runtime::Handle,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};

/// How long a supervisor that nobody listens to any more may sweep, in the
/// background, before it is ended and its work is done here: longer than it tries.
const REAP_LIMIT: Duration = Duration::from_secs(35);

/// The same of a program that never showed that it is a supervisor.
const DOUBTFUL_LIMIT: Duration = Duration::from_secs(5);

/// How often it may be found stopped meanwhile.
const MAX_STOPS: u32 = 3;

/// How often it is looked at meanwhile, whether somebody has stopped it.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How long to look for what a lost supervisor has left.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// A command below a supervisor process.
#[derive(Debug)]
pub(super) struct Supervised {
    /// Closing it makes the supervisor kill everything.
    control: Arc<UnixStream>,
    pub(super) child: Option<Child>,
    pub(super) id: SupervisorId,
    pub(super) containment: Containment,
    mark: Mark,
    /// The command's parent, once it is known.
    keeper: Option<u32>,
    /// What the socket has not taken yet: a large job.
    outgoing: Vec<u8>,
    /// The start of a report.
    incoming: Vec<u8>,
    heartbeat: Heartbeat,
    /// What the command left, as far as it was named.
    leaked: Vec<Process>,
    stage: Stage,
}

/// How far the supervisor has come.
#[derive(Debug)]
enum Stage {
    /// It has not shown that it is one.
    Doubtful,
    AtWork,
    /// It is gone, and its work is being done in a thread.
    Sweeping {
        remains: JoinHandle<Remains>,
        has_shown: bool,
    },
    /// There is nothing left to do.
    Finished,
}

impl Supervised {
    pub(super) fn new(control: UnixStream, child: Child, id: SupervisorId, mark: Mark, job: &Job) -> Self {
        Self {
            control: Arc::new(control),
            child: Some(child),
            id,
            containment: Containment::Mark,
            mark,
            keeper: None,
            outgoing: job.encode(),
            incoming: Vec::new(),
            heartbeat: Heartbeat::default(),
            leaked: Vec::new(),
            stage: Stage::Doubtful,
        }
    }

    pub(super) fn lifeline(&self) -> Lifeline {
        Lifeline(Arc::downgrade(&self.control))
    }

    /// Gives an order.
    pub(super) fn order(&mut self, order: Order) {
        self.outgoing.push(order as u8);
        self.flush();
    }

    /// Gives the last order, which a stopped supervisor must hear too.
    pub(super) fn close(&mut self, order: Order) {
        self.heartbeat.stop();
        match last_resort::look(self.id) {
            Seen::Alive => self.order(order),
            Seen::Stopped => {
                last_resort::wake(self.id);
                self.order(order);
            }
            Seen::Beyond => self.lose(),
        }
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

    /// Waits for the next event. Cancel safe.
    pub(super) async fn event(&mut self) -> Event {
        loop {
            match &mut self.stage {
                Stage::Finished => return pending().await,
                Stage::Sweeping { remains, has_shown } => {
                    let (remains, has_shown) = (remains.await.unwrap_or_default(), *has_shown);
                    self.stage = Stage::Finished;
                    if !has_shown {
                        let others = remains.ended.iter().any(|process| process.pid != self.id.pid);
                        let left = (others || !remains.left.is_empty()).then_some(remains.left);
                        return Event::NotASupervisor { left };
                    }
                    // Nobody is above them any more: what left the control group and cleaned its
                    // environment meanwhile is not found by anybody.
                    return Event::Lost { swept: false, left: remains.left };
                }
                Stage::Doubtful | Stage::AtWork => {}
            }
            if let Some(event) = self.next_report() {
                return event;
            }
            let interest = match self.outgoing.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            // An answer that is there comes before the question where it is.
            let ready = tokio::select! {
                biased;
                ready = self.control.ready(interest) => ready,
                () = at(self.heartbeat.due()) => {
                    self.beat();
                    continue;
                }
            };
            let Ok(ready) = ready else {
                self.lose();
                continue;
            };
            if ready.is_writable() {
                self.flush();
            }
            if ready.is_readable() || ready.is_read_closed() {
                let mut buffer = [0; 8 * Report::SIZE];
                match self.control.try_read(&mut buffer) {
                    Ok(0) => self.lose(),
                    Ok(read) => self.incoming.extend(buffer.iter().take(read)),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => self.lose(),
                }
            }
        }
    }

    fn next_report(&mut self) -> Option<Event> {
        loop {
            let frame = *self.incoming.first_chunk()?;
            self.incoming.drain(..Report::SIZE);
            return Some(match Report::decode(frame) {
                Some(Report::Ready { keeper, containment }) => {
                    self.stage = Stage::AtWork;
                    self.keeper = Some(keeper);
                    self.containment = containment;
                    continue;
                }
                Some(Report::Alive) => {
                    self.heartbeat.answered(Instant::now());
                    continue;
                }
                Some(Report::Started { pid }) => {
                    self.heartbeat.start(Instant::now());
                    Event::Started { pid }
                }
                Some(Report::StartFailed { errno }) => {
                    self.stage = Stage::Finished;
                    Event::StartFailed { error: io::Error::from_raw_os_error(errno) }
                }
                Some(Report::Exited(status)) => Event::Exited(status),
                Some(Report::Leaked { pid, name }) => {
                    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                    self.leaked.push(Process::with_name(pid, name.get(..end).unwrap_or_default()));
                    continue;
                }
                Some(Report::Swept { leaked, survivors }) => {
                    self.stage = Stage::Finished;
                    let named = std::mem::take(&mut self.leaked);
                    Event::Swept { leaked: leaked as usize, named, survivors: survivors as usize }
                }
                // The supervisor has swept as their new parent, and missed nobody.
                Some(Report::KeeperLost { survivors: 0 }) => {
                    self.stage = Stage::Finished;
                    Event::Lost { swept: true, left: Vec::new() }
                }
                Some(Report::KeeperLost { .. }) | None => {
                    self.lose();
                    return None;
                }
            });
        }
    }

    /// Asks the supervisor, or looks why it does not answer.
    fn beat(&mut self) {
        let now = Instant::now();
        if self.heartbeat.beat(now) == Beat::Ask {
            return self.order(Order::Answer);
        }
        match self.heartbeat.judge(last_resort::look(self.id)) {
            Verdict::Wait => {}
            Verdict::Continue => last_resort::wake(self.id),
            Verdict::Lost => self.lose(),
        }
    }

    /// Tells whether the supervisor is lost and its work is being done here.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.stage, Stage::Sweeping { .. })
    }

    /// The supervisor is dead or out of reach, by the command's doing perhaps.
    fn lose(&mut self) {
        self.heartbeat.stop();
        if self.is_lost() {
            return;
        }
        let has_shown = !matches!(self.stage, Stage::Doubtful);
        if let Some(child) = &mut self.child {
            // It is dead already if this fails.
            let _ = child.start_kill();
        }
        let traces = self.traces();
        let remains = spawn_blocking(move || last_resort::sweep(&traces, SWEEP_LIMIT));
        self.stage = Stage::Sweeping { remains, has_shown };
    }

    fn traces(&self) -> Traces {
        let leaders = self.keeper.into_iter().chain([self.id.pid]);
        Traces::of_mark(self.mark).with_sessions(leaders)
    }
}

impl Drop for Supervised {
    /// Sees to it that the supervisor does its work and does not stay a zombie.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let is_doubtful = matches!(self.stage, Stage::Doubtful);
        let (id, traces) = (self.id, self.traces());
        if !matches!(self.stage, Stage::Finished) {
            // A stopped one does not see that the socket is closed.
            last_resort::wake(id);
        }
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let limit = if is_doubtful { DOUBTFUL_LIMIT } else { REAP_LIMIT };
            let deadline = Instant::now() + limit;
            let mut stops = 0;
            while Instant::now() < deadline && stops < MAX_STOPS {
                if timeout(LOOK_INTERVAL, child.wait()).await.is_ok() {
                    return;
                }
                match last_resort::look(id) {
                    Seen::Alive => {}
                    Seen::Stopped => {
                        stops += 1;
                        last_resort::wake(id);
                    }
                    Seen::Beyond => break,
                }
            }
            // It is gone already if this fails.
            let _ = child.kill().await;
            let swept = spawn_blocking(move || last_resort::sweep(&traces, SWEEP_LIMIT));
            // Nobody waits for the result any more.
            let _ = swept.await;
        });
    }
}

/// Waits for a moment; for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
