//! One call of a handler, kept within its bounds.
//!
//! [`bounded`] waits for an answer, but not past the deadline or the end of the
//! run, and no panic gets through. What follows from how a call [`Ended`] is
//! dispatch's.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use samuel_model::clock::Clock;
use tokio_util::sync::CancellationToken;

use super::{BreakClass, HookFailure};

/// How long a handler without a deadline may take to end what it started.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// How a call ended.
#[derive(Debug)]
pub(super) enum Ended<O> {
    /// The handler answered, broke or panicked.
    Answered(Result<O, HookFailure>),
    /// It was left behind at its deadline.
    TimedOut(Duration),
    /// It was left behind when the run was cancelled.
    Cancelled,
}

/// Waits for an answer. Without a limit, which only those have who look after
/// processes, a cancelled handler is given time to end them.
pub(super) async fn bounded<O>(
    answer: impl Future<Output = Result<O, HookFailure>> + Send,
    limit: Option<Duration>,
    clock: &dyn Clock,
    cancel: &CancellationToken,
) -> Ended<O> {
    let answer = CatchPanic(pin!(answer));
    let timed = async {
        match limit {
            None => Ended::Answered(answer.await),
            Some(limit) => within(limit, clock, answer).await.map_or(Ended::TimedOut(limit), Ended::Answered),
        }
    };
    let mut timed = pin!(timed);
    tokio::select! {
        biased;
        ended = &mut timed => ended,
        () = cancel.cancelled() => match limit {
            Some(_) => Ended::Cancelled,
            None => within(CLEAN_UP, clock, timed).await.unwrap_or(Ended::Cancelled),
        }
    }
}

/// Waits for a future, but no longer than a time.
async fn within<T>(limit: Duration, clock: &dyn Clock, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        // Most handlers answer before the clock is asked.
        () = async { clock.sleep(limit).await } => None,
    }
}

/// A future whose panics become failures.
struct CatchPanic<'a, F>(Pin<&'a mut F>);

impl<O, F: Future<Output = Result<O, HookFailure>>> Future for CatchPanic<'_, F> {
    type Output = Result<O, HookFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.as_mut();
        panic::catch_unwind(AssertUnwindSafe(|| future.poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic.as_ref()))))
    }
}

/// Waits for a future and returns its value.
///
/// # Errors
/// Returns a [`HookFailure`] of the class [`BreakClass::Panicked`] if the future panics, with the message of the panic.
pub async fn catch_panic<O>(future: impl Future<Output = O> + Send) -> Result<O, HookFailure> {
    CatchPanic(pin!(async { Ok(future.await) })).await
}

/// Turns what a panic carried into a failure.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> HookFailure {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a message".to_owned());
    HookFailure::new(BreakClass::Panicked, message)
}
