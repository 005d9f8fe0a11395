//! Signals while a loop runs.
//!
//! The first SIGINT finishes the iteration; the second, or SIGTERM or SIGHUP
//! at any time, stops the agent and lets the closing points run for ten
//! seconds; the one after that leaves at once. Two of one kind in quick succession count
//! once: GNU `timeout` sends SIGTERM to the process and then to its group. A SIGHUP that was
//! ignored when the process started, as `nohup` has it, stays ignored. Before a loop runs any
//! of them leaves, which is not decided here. [`Escalation`] decides, without
//! any I/O; [`watch`] acts on it.

use std::{mem::MaybeUninit, ptr, time::Duration};

use samuel_core::{
    engine::{Controller, EndSignal},
    machine::Command,
    model::ErrorCode,
};
use tokio::{
    signal::unix::{Signal as Stream, SignalKind, signal},
    sync::mpsc,
    time::Instant,
};

use crate::failure::Failure;

/// How long the closing points may take after a stop.
const CLOSING: Duration = Duration::from_secs(10);
/// How long after a signal another one of its kind counts as the same.
const DOUBLED: Duration = Duration::from_millis(500);
/// How long the process has to say its last word.
const LAST_WORD: Duration = Duration::from_millis(300);

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
    HangUp,
}

impl Signal {
    /// Returns the exit code of a process that ended because of it.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Returns it as a run is told of it.
    fn of_run(self) -> EndSignal {
        match self {
            Self::Interrupt => EndSignal::Interrupt,
            Self::Terminate => EndSignal::Terminate,
            Self::HangUp => EndSignal::HangUp,
        }
    }

    /// Makes the failure of what it left behind.
    pub(crate) fn left(self, message: &str) -> Failure {
        Failure::new(ErrorCode::RUN_CANCELLED, message).exit_with(Some(self.exit_code()))
    }
}

/// What a signal leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The iteration under way is the last one.
    Finish,
    /// The agent is stopped.
    Stop,
    /// The process ends.
    Leave,
}

/// How far signals have gone.
#[derive(Debug, Default)]
pub(crate) struct Escalation {
    last: Option<Order>,
    /// The signal that led to it, and when.
    counted: Option<(Signal, Instant)>,
}

impl Escalation {
    /// Takes a signal and says what it leads to; nothing if it is the one before once more.
    pub(crate) fn take(&mut self, signal: Signal, now: Instant) -> Option<Order> {
        let is_doubled = |(counted, at): (Signal, Instant)| {
            counted == signal && now.saturating_duration_since(at) < DOUBLED
        };
        if self.counted.is_some_and(is_doubled) {
            return None;
        }
        let order = match (self.last, signal) {
            (None, Signal::Interrupt) => Order::Finish,
            (None | Some(Order::Finish), _) => Order::Stop,
            (Some(Order::Stop | Order::Leave), _) => Order::Leave,
        };
        self.last = Some(order);
        self.counted = Some((signal, now));
        Some(order)
    }
}

/// The signals of this process, from now on.
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
    /// None where it was ignored at the start.
    hang_up: Option<Stream>,
}

impl Signals {
    /// Takes over the signals. The runtime must be there, and stays their only
    /// listener: they no longer end the process.
    pub(crate) fn take_over() -> Result<Self, Failure> {
        let stream = |kind| {
            signal(kind).map_err(|error| Failure::internal("signals cannot be handled").because(&error))
        };
        Ok(Self {
            interrupt: stream(SignalKind::interrupt())?,
            terminate: stream(SignalKind::terminate())?,
            hang_up: (!is_hang_up_ignored()).then(|| stream(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = received(self.hang_up.as_mut()) => Signal::HangUp,
        }
    }
}

/// Waits for a signal; for ever where it is not listened to.
async fn received(stream: Option<&mut Stream>) {
    match stream {
        Some(stream) => drop(stream.recv().await),
        None => std::future::pending().await,
    }
}

/// Tells whether SIGHUP is ignored, as `nohup` asks of what it starts.
#[expect(unsafe_code, reason = "nothing else tells it outside of Linux, and no crate here asks it safely")]
fn is_hang_up_ignored() -> bool {
    let mut current = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the one in force to `current`, of which any
    // bytes are a value.
    unsafe {
        let asked = libc::sigaction(libc::SIGHUP, ptr::null(), current.as_mut_ptr());
        asked == 0 && current.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Gives the run the orders that signals lead to, and tells of each. Ends the
/// process itself if nobody does within a moment of [`Order::Leave`].
pub(crate) async fn watch(
    mut signals: Signals,
    run: Controller,
    told: mpsc::UnboundedSender<(Signal, Order)>,
) {
    let mut escalation = Escalation::default();
    let mut last = Signal::Interrupt;
    let mut deadline = None;
    loop {
        let order = tokio::select! {
            signal = signals.next() => {
                let Some(order) = escalation.take(signal, Instant::now()) else { continue };
                last = signal;
                order
            }
            () = until(deadline) => Order::Leave,
        };
        match order {
            Order::Finish => run.send_because_of(last.of_run(), Command::Cancel),
            Order::Stop => {
                run.send_because_of(last.of_run(), Command::Stop);
                deadline = Some(Instant::now() + CLOSING);
            }
            Order::Leave => {}
        }
        // Whoever listened has ended with the run.
        let _ = told.send((last, order));
        if order == Order::Leave {
            tokio::time::sleep(LAST_WORD).await;
            std::process::exit(i32::from(last.exit_code()));
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What signals lead to that come a second apart.
    fn orders(signals: &[Signal]) -> Vec<Order> {
        let (mut escalation, mut now) = (Escalation::default(), Instant::now());
        let orders = signals.iter().filter_map(|signal| {
            now += Duration::from_secs(1);
            escalation.take(*signal, now)
        });
        orders.collect()
    }

    #[test]
    fn two_of_one_kind_in_quick_succession_count_once_and_two_kinds_do_not() {
        let (mut escalation, now) = (Escalation::default(), Instant::now());
        let soon = now + Duration::from_millis(499);
        assert_eq!(escalation.take(Signal::Terminate, now), Some(Order::Stop));
        assert_eq!(escalation.take(Signal::Terminate, soon), None);
        // Those that do not count put nothing off.
        assert_eq!(escalation.take(Signal::Terminate, now + DOUBLED), Some(Order::Leave));
        let mut escalation = Escalation::default();
        assert_eq!(escalation.take(Signal::Interrupt, now), Some(Order::Finish));
        assert_eq!(escalation.take(Signal::HangUp, soon), Some(Order::Stop));
    }

    #[test]
    fn interrupts_finish_the_iteration_then_stop_then_leave() {
        assert_eq!(orders(&[Signal::Interrupt; 3]), [Order::Finish, Order::Stop, Order::Leave]);
    }

    #[test]
    fn a_termination_stops_at_once_and_the_next_signal_leaves() {
        assert_eq!(orders(&[Signal::Terminate, Signal::Interrupt]), [Order::Stop, Order::Leave]);
        assert_eq!(orders(&[Signal::Interrupt, Signal::Terminate]), [Order::Finish, Order::Stop]);
        assert_eq!(orders(&[Signal::HangUp, Signal::HangUp]), [Order::Stop, Order::Leave]);
    }
}
