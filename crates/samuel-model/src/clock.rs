//! Time, as the caller gives it.
//!
//! Nothing in the crate asks the system for the time: a [`Clock`] is passed
//! in, the [`SystemClock`] by programs and a virtual one by tests.
//!
//! ```
//! use samuel_model::clock::{Clock, SystemClock};
//!
//! let clock = SystemClock::new();
//! let before = clock.elapsed();
//! assert!(clock.elapsed() >= before);
//! ```

use std::{fmt, time::Duration};

use async_trait::async_trait;

/// A source of time.
///
/// Implementations stand below [`async_trait`](macro@async_trait).
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the time of day.
    fn now(&self) -> jiff::Timestamp;

    /// Returns the time since some fixed moment; it never goes back.
    fn elapsed(&self) -> Duration;

    /// Waits. Dropping the future ends the wait.
    async fn sleep(&self, duration: Duration);
}

/// Counts whole milliseconds, as records and calls have them.
pub fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The system's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: std::time::Instant,
}

impl SystemClock {
    /// Creates a clock whose [`elapsed`](Clock::elapsed) starts at zero.
    pub fn new() -> Self {
        Self { started: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
