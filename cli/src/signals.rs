//! Signals while a loop runs (design, one iteration).
//!
//! The first SIGINT finishes the iteration; the second, or SIGTERM or SIGHUP
//! at any time, stops the agent and lets the closing points run for ten
//! seconds; the one after that leaves at once. Before a loop runs any of them
//! leaves, which is not decided here. [`Escalation`] decides, without
//! any I/O; [`watch`] acts on it.

use std::time::Duration;

use samuel_core::engine::{Controller, machine::Command};
use tokio::{
    signal::unix::{Signal as Stream, SignalKind, signal},
    sync::mpsc,
};

use crate::failure::Failure;

/// How long the closing points may take after a stop.
const CLOSING: Duration = Duration::from_secs(10);
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
pub(crate) struct Escalation(Option<Order>);

impl Escalation {
    /// Takes a signal and says what it leads to.
    pub(crate) fn take(&mut self, signal: Signal) -> Order {
        let order = match (self.0, signal) {
            (None, Signal::Interrupt) => Order::Finish,
            (None | Some(Order::Finish), _) => Order::Stop,
            (Some(Order::Stop | Order::Leave), _) => Order::Leave,
        };
        self.0 = Some(order);
        order
    }
}

/// The signals of this process, from now on.
pub(crate) struct Signals {
    interrupt: Stream,
    terminate: Stream,
    hang_up: Stream,
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
            hang_up: stream(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hang_up.recv() => Signal::HangUp,
        }
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
                last = signal;
                escalation.take(signal)
            }
            () = until(deadline) => Order::Leave,
        };
        match order {
            Order::Finish => run.send(Command::Cancel),
            Order::Stop => {
                run.send(Command::Stop);
                deadline = Some(tokio::time::Instant::now() + CLOSING);
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

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(signals: &[Signal]) -> Vec<Order> {
        let mut escalation = Escalation::default();
        signals.iter().map(|signal| escalation.take(*signal)).collect()
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
