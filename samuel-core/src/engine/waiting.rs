//! Waiting for a length of time, or until a time of day.

use std::time::Duration;

use super::services::Services;
use crate::machine::Wait;

/// How often a long wait looks at the time of day.
const LOOK_AT_THE_TIME: Duration = Duration::from_secs(60);

impl Services {
    /// Returns how long it is until a moment; nothing for one that is over.
    pub(super) fn time_until(&self, moment: jiff::Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.clock.now())).unwrap_or_default()
    }

    /// Waits. A moment is waited for as long as it takes by the clock that never
    /// goes back, but no longer than until the time of day has come: the machine
    /// may have been suspended in between.
    pub(super) async fn wait(&self, wait: Wait) {
        let moment = match wait {
            Wait::For(ms) => return self.clock.sleep(Duration::from_millis(ms)).await,
            Wait::Until(moment) => moment,
        };
        let deadline = self.clock.elapsed().saturating_add(self.time_until(moment));
        loop {
            let left = deadline.saturating_sub(self.clock.elapsed()).min(self.time_until(moment));
            if left.is_zero() {
                return;
            }
            self.clock.sleep(left.min(LOOK_AT_THE_TIME)).await;
        }
    }
}

/// Returns milliseconds for a wait that began a moment ago: what is left of five
/// minutes are five minutes to whoever reads it.
pub(super) fn in_whole_seconds(left: Duration) -> u64 {
    u64::try_from(left.as_millis().div_ceil(1000) * 1000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_just_began_is_told_in_whole_seconds() {
        let told = [300_000, 299_999, 299_001, 299_000, 0].map(Duration::from_millis).map(in_whole_seconds);
        assert_eq!(told, [300_000, 300_000, 300_000, 299_000, 0]);
    }
}
