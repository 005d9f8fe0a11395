//! Attempts at something that a log may not answer.

use std::{
    ops::ControlFlow,
    thread,
    time::{Duration, Instant},
};

/// How long one attempt may take, and has, however little is left.
const ATTEMPT: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// How long the pauses between attempts are at first, and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Why there were no more attempts.
#[derive(Debug)]
pub(super) struct GaveUp<R> {
    /// Why the last one came to nothing.
    pub(super) reason: R,
    /// How long they took.
    pub(super) waited: Duration,
}

/// Attempts something again and again, once at least and for as long as somebody has patience, until it says that it is
/// through. Each attempt is told by when it has to end, and pauses become longer.
pub(super) fn attempts<T, R>(
    patience: Duration,
    mut attempt: impl FnMut(Instant) -> ControlFlow<T, R>,
) -> Result<T, GaveUp<R>> {
    let ([shortest, longest], [mut pause, longest_pause]) = (ATTEMPT, PAUSES);
    let began = Instant::now();
    loop {
        let left = patience.saturating_sub(began.elapsed());
        let reason = match attempt(Instant::now() + left.clamp(shortest, longest)) {
            ControlFlow::Break(done) => return Ok(done),
            ControlFlow::Continue(reason) => reason,
        };
        let waited = began.elapsed();
        if waited >= patience {
            return Err(GaveUp { reason, waited });
        }
        thread::sleep(pause.min(patience.saturating_sub(waited)));
        pause = pause.saturating_mul(2).min(longest_pause);
    }
}
