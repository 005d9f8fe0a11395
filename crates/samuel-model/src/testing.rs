//! The clock of tests: time that moves only when a test says so.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::{Notify, oneshot};

use crate::clock::Clock;

/// A clock that a test moves by hand. Clones show the same time.
///
/// Pauses, deadlines of handlers and the wall clock of a run all go by the
/// clock the run was given, so none of them passes by itself:
///
/// ```
/// use std::time::Duration;
/// use samuel_model::{clock::Clock, testing::VirtualClock};
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let clock = VirtualClock::new();
/// let sleeper = tokio::spawn({
///     let clock = clock.clone();
///     async move { clock.sleep(Duration::from_secs(3600)).await }
/// });
/// clock.pass(Duration::from_secs(3600)).await;
/// sleeper.await?;
/// # Ok::<(), tokio::task::JoinError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VirtualClock(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    start: Timestamp,
    state: Mutex<State>,
    /// Tells that somebody fell asleep.
    asleep: Notify,
}

#[derive(Debug, Default)]
struct State {
    elapsed: Duration,
    /// By how much the time of day was set back.
    set_back: Duration,
    /// Who sleeps, by the moment of waking and then by arrival.
    sleepers: BTreeMap<Wake, oneshot::Sender<()>>,
    arrivals: u64,
}

/// A moment on the clock, and the number of the sleeper.
type Wake = (Duration, u64);

impl VirtualClock {
    /// Creates a clock that shows 2026-01-01T00:00:00Z.
    pub fn new() -> Self {
        Self::at(Timestamp::constant(1_767_225_600, 0))
    }

    /// Creates a clock that shows a time.
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Shared { start, state: Mutex::default(), asleep: Notify::new() }))
    }

    /// Moves the time, and wakes whose time has come in the order of their
    /// moments, those of one moment in the order they fell asleep.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        let now = state.elapsed.saturating_add(by);
        while let Some(sleeper) = state.sleepers.first_entry().filter(|entry| entry.key().0 <= now) {
            // Nobody waits any more if the sleep was given up.
            let _ = sleeper.remove().send(());
        }
        state.elapsed = now;
    }

    /// Sets the time of day back, as somebody does who corrects the system's clock.
    /// What has elapsed stays, and so does who sleeps.
    pub fn set_back(&self, by: Duration) {
        let mut state = self.state();
        state.set_back = state.set_back.saturating_add(by);
    }

    /// Waits until somebody sleeps who will wake within a time, and then moves
    /// the time by it. This is how to let a pause pass without a race.
    pub async fn pass(&self, time: Duration) {
        loop {
            let asleep = self.0.asleep.notified();
            tokio::pin!(asleep);
            // Whoever falls asleep after the look below is noticed too.
            asleep.as_mut().enable();
            if self.next_wake().is_some_and(|left| left <= time) {
                return self.advance(time);
            }
            asleep.await;
        }
    }

    /// Returns how long the first sleeper still sleeps; nothing where nobody
    /// does.
    pub fn next_wake(&self) -> Option<Duration> {
        let state = self.state();
        state.sleepers.first_key_value().map(|((moment, _), _)| moment.saturating_sub(state.elapsed))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fall_asleep(&self, duration: Duration) -> (Sleep<'_>, oneshot::Receiver<()>) {
        let (sender, woken) = oneshot::channel();
        let mut state = self.state();
        state.arrivals += 1;
        let wake = (state.elapsed.saturating_add(duration), state.arrivals);
        state.sleepers.insert(wake, sender);
        drop(state);
        self.0.asleep.notify_waiters();
        (Sleep { clock: self, wake }, woken)
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let state = self.state();
        let now = self.0.start.checked_add(state.elapsed).unwrap_or(Timestamp::MAX);
        now.checked_sub(state.set_back).unwrap_or(Timestamp::MIN)
    }

    fn elapsed(&self) -> Duration {
        self.state().elapsed
    }

    async fn sleep(&self, duration: Duration) {
        if duration.is_zero() {
            return;
        }
        let (_sleep, woken) = self.fall_asleep(duration);
        let _ = woken.await;
    }
}

/// Somebody's sleep, forgotten when it is given up.
struct Sleep<'a> {
    clock: &'a VirtualClock,
    wake: Wake,
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.clock.state().sleepers.remove(&self.wake);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn sleepers_wake_in_the_order_of_their_moments_and_not_before() {
        let clock = VirtualClock::new();
        let woken = Arc::new(Mutex::new(Vec::new()));
        let sleep = |name, seconds| {
            let (clock, woken) = (clock.clone(), Arc::clone(&woken));
            tokio::spawn(async move {
                clock.sleep(SECOND * seconds).await;
                woken.lock().unwrap().push(name);
            })
        };
        let sleepers = [sleep("late", 3), sleep("first", 1), sleep("second", 1), sleep("never", 9)];
        tokio::task::yield_now().await;
        clock.advance(SECOND / 2);
        tokio::task::yield_now().await;
        assert!(woken.lock().unwrap().is_empty());
        clock.advance(SECOND * 3);
        for sleeper in sleepers.into_iter().take(3) {
            sleeper.await.unwrap();
        }
        assert_eq!(*woken.lock().unwrap(), ["first", "second", "late"]);
        assert_eq!(clock.next_wake(), Some(Duration::from_millis(5500)));
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:03.5Z");
    }

    #[tokio::test]
    async fn a_sleep_that_is_given_up_is_forgotten() {
        let clock = VirtualClock::new();
        let given_up = tokio::time::timeout(Duration::ZERO, clock.sleep(SECOND)).await;
        assert!(given_up.is_err());
        assert_eq!(clock.next_wake(), None);
    }
}
