//! Who is still there, by what one observer hears.
//!
//! Workers beat four times a lease. An observer that heard itself, but not another worker, for a whole lease of
//! its own monotonic clock takes that one for gone: clocks of others are never compared. An observer that was itself
//! stopped or out of touch has heard nothing meanwhile, so it rests for a lease before it judges anybody.

use std::{collections::BTreeMap, time::Duration};

use super::Rule;

/// How many workers are remembered that were heard of.
const MAX_WORKERS: usize = 10_000;

/// What an observer has heard.
#[derive(Clone, Debug)]
pub struct Ears {
    own: String,
    lease: Duration,
    /// When each worker was last heard, or was first known to hold something.
    heard: BTreeMap<String, Duration>,
    /// Since when the observer listens without a break.
    listens_since: Duration,
    looked: Duration,
}

impl Ears {
    /// Begins to listen, in the name of a worker.
    pub fn new(own: impl Into<String>, lease: Duration, now: Duration) -> Self {
        Self { own: own.into(), lease, heard: BTreeMap::new(), listens_since: now, looked: now }
    }

    /// Hears a beat of a worker, also the own one.
    pub fn hear(&mut self, now: Duration, worker: &str) {
        let before = self.heard.insert(worker.to_owned(), now);
        let silent = now.saturating_sub(before.unwrap_or(self.listens_since));
        if worker == self.own && silent > self.patience() {
            // Others were not heard either.
            self.out_of_touch(now);
        }
        while self.heard.len() > MAX_WORKERS {
            let oldest = self.heard.iter().min_by_key(|(_, heard)| **heard).map(|(worker, _)| worker.clone());
            oldest.map(|worker| self.heard.remove(&worker));
        }
    }

    /// Notes that the observer is at work, which it is no less often than it beats. One that was not has been
    /// stopped.
    pub fn look(&mut self, now: Duration) {
        if now.saturating_sub(self.looked) > self.patience() {
            self.out_of_touch(now);
        }
        self.looked = now;
    }

    /// Has the observer rest for a lease from now on: it was out of touch.
    pub fn out_of_touch(&mut self, now: Duration) {
        if Rule::Rest.is_kept() {
            self.listens_since = now;
        }
    }

    /// Says whether a worker that holds something is gone. Of one that was never heard the time begins with the first call.
    pub fn is_gone(&mut self, now: Duration, worker: &str) -> bool {
        let last = *self.heard.entry(worker.to_owned()).or_insert(now);
        let own = self.heard.get(&self.own).copied();
        let hears_itself = own.is_some_and(|own| now.saturating_sub(own) <= self.patience());
        hears_itself && now.saturating_sub(last.max(self.listens_since)) >= self.lease
    }

    /// How long an observer may be silent without having missed so much that it cannot judge.
    fn patience(&self) -> Duration {
        self.lease / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Listens for a while, to itself and to others.
    fn listen(ears: &mut Ears, from: u64, to: u64, others: &[&str]) {
        for second in (from..=to).step_by(20) {
            ears.look(at(second));
            ears.hear(at(second), "me");
            others.iter().for_each(|other| ears.hear(at(second), other));
        }
    }

    #[test]
    fn who_is_silent_for_a_lease_is_gone_and_not_before() {
        let mut ears = Ears::new("me", LEASE, at(0));
        listen(&mut ears, 0, 100, &["other"]);
        listen(&mut ears, 120, 140, &[]);
        assert!(!ears.is_gone(at(159), "other"));
        listen(&mut ears, 160, 160, &[]);
        assert!(ears.is_gone(at(160), "other"));
        assert!(!ears.is_gone(at(160), "new"), "nobody knows how long it is there");
    }

    #[test]
    fn who_does_not_hear_itself_judges_nobody() {
        let mut ears = Ears::new("me", LEASE, at(0));
        listen(&mut ears, 0, 40, &["other"]);
        for second in (60..300).step_by(20) {
            ears.look(at(second));
            assert!(!ears.is_gone(at(second), "other") || second <= 70);
        }
    }

    #[test]
    fn who_was_stopped_or_out_of_touch_rests_for_a_lease() {
        let mut ears = Ears::new("me", LEASE, at(0));
        listen(&mut ears, 0, 100, &["other"]);
        // It is stopped, and what waited for it is heard late.
        listen(&mut ears, 400, 440, &[]);
        assert!(!ears.is_gone(at(459), "other"));
        listen(&mut ears, 460, 460, &[]);
        assert!(ears.is_gone(at(460), "other"));
        ears.out_of_touch(at(470));
        assert!(!ears.is_gone(at(480), "other"));
    }
}
