//! What all lanes of a run have in common: its caps, and what was used of them.
//!
//! A lane asks before each turn ([`SharedBooks::may_begin`]) and says after it what it consumed. An
//! iteration is counted when it begins, so there are never more than the cap. What a turn costs is
//! known once it has ended, so a cap of cost, tokens or time is passed by at most one turn a lane.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use samuel_model::{
    Usage, add_cost,
    text::{counted, counted_were, dollars},
};

/// The caps of a run, over all of its lanes; nothing stands for no cap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedCaps {
    /// How many iterations may begin.
    pub iterations: Option<u32>,
    /// What they may cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many tokens they may read and write.
    pub tokens: Option<u64>,
    /// How long the run may take.
    pub time: Option<Duration>,
    /// After how many failures in a row, or tasks that are blocked in a row, whichever lanes they are of, no iteration
    /// begins.
    pub consecutive_failures: Option<u32>,
}

/// A cap that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cap {
    /// So many iterations have begun.
    Iterations {
        /// The cap.
        cap: u32,
    },
    /// They cost as much as they may.
    Cost {
        /// The cap, in US dollars.
        cap: f64,
        /// What they cost.
        used: f64,
    },
    /// They used as many tokens as they may.
    Tokens {
        /// The cap.
        cap: u64,
        /// What they used.
        used: u64,
    },
    /// The run took as long as it may.
    Time {
        /// The cap.
        cap: Duration,
    },
    /// So many iterations failed in a row.
    Failures {
        /// The cap.
        cap: u32,
    },
    /// So many tasks were blocked in a row, since they had used up what they may, and none has landed meanwhile.
    Blocked {
        /// The cap.
        cap: u32,
    },
}

impl Cap {
    /// Returns the setting that is the cap.
    pub fn setting(&self) -> &'static str {
        match self {
            Self::Iterations { .. } => "max_iterations",
            Self::Cost { .. } => "session_budget.max_cost_usd",
            Self::Tokens { .. } => "session_budget.max_tokens",
            Self::Time { .. } => "session_budget.max_wall_time",
            Self::Failures { .. } | Self::Blocked { .. } => "max_consecutive_failures",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations { cap: 1 } => f.write_str("1 iteration has begun"),
            Self::Iterations { cap } => write!(f, "{} have begun", counted(*cap, "iteration")),
            Self::Cost { cap, used } => write!(f, "{} of {} are spent", dollars(*used), dollars(*cap)),
            Self::Tokens { cap, used } => write!(f, "{used} of {} are used", counted(*cap, "token")),
            Self::Time { cap } => write!(f, "{} s are over", cap.as_secs()),
            Self::Failures { cap } => write!(f, "{} failed in a row", counted(*cap, "iteration")),
            Self::Blocked { cap } => {
                write!(f, "{} blocked in a row after their attempts", counted_were(*cap, "task"))
            }
        }
    }
}

/// The books of a run, over all of its lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedBooks {
    caps: SharedCaps,
    begun: u32,
    cost_usd: f64,
    tokens: u64,
    failures: u32,
    #[serde(default)]
    blocked: u32,
}

impl SharedBooks {
    /// Opens books in which nothing stands.
    pub fn new(caps: SharedCaps) -> Self {
        Self { caps, ..Self::default() }
    }

    /// Takes over what the run had used before it was interrupted.
    #[must_use]
    pub fn going_on(mut self, iterations: u32, usage: Usage) -> Self {
        self.begun = iterations;
        self.add(usage);
        self
    }

    /// Takes over the rows of failures and of blocked tasks from the books that the run had before it was interrupted.
    #[must_use]
    pub fn in_rows_of(mut self, earlier: &Self) -> Self {
        (self.failures, self.blocked) = (earlier.failures, earlier.blocked);
        self
    }

    /// Counts an iteration that is about to begin, unless a cap is reached. `elapsed` is how long the
    /// run has taken.
    ///
    /// # Errors
    /// Returns the cap; the iteration must not begin then, and nothing was counted.
    pub fn may_begin(&mut self, elapsed: Duration) -> Result<(), Cap> {
        match self.reached(elapsed) {
            Some(cap) => Err(cap),
            None => {
                self.begun = self.begun.saturating_add(1);
                Ok(())
            }
        }
    }

    /// Says which cap is reached.
    pub fn reached(&self, elapsed: Duration) -> Option<Cap> {
        let caps = &self.caps;
        let iterations = caps.iterations.filter(|cap| self.begun >= *cap).map(|cap| Cap::Iterations { cap });
        let failures = caps.consecutive_failures.filter(|cap| self.failures >= *cap);
        let blocked = caps.consecutive_failures.filter(|cap| self.blocked >= *cap);
        let cost = caps.cost_usd.filter(|cap| self.cost_usd >= *cap);
        let tokens = caps.tokens.filter(|cap| self.tokens >= *cap);
        failures
            .map(|cap| Cap::Failures { cap })
            .or(blocked.map(|cap| Cap::Blocked { cap }))
            .or(cost.map(|cap| Cap::Cost { cap, used: self.cost_usd }))
            .or(tokens.map(|cap| Cap::Tokens { cap, used: self.tokens }))
            .or(caps.time.filter(|cap| elapsed >= *cap).map(|cap| Cap::Time { cap }))
            .or(iterations)
    }

    /// Adds what a turn consumed, also one within an iteration.
    pub fn add(&mut self, usage: Usage) {
        self.cost_usd = add_cost(self.cost_usd, usage.cost_usd.unwrap_or(0.0));
        self.tokens = self.tokens.saturating_add(usage.tokens());
    }

    /// Takes down how an iteration ended: one that did not fail ends a row of failures.
    pub fn ended(&mut self, failed: bool) {
        self.failures = if failed { self.failures.saturating_add(1) } else { 0 };
    }

    /// Takes down that a task is blocked, since it has used up what it may.
    pub fn blocked(&mut self) {
        self.blocked = self.blocked.saturating_add(1);
    }

    /// Takes down that work has landed, which ends a row of tasks that are blocked.
    pub fn landed(&mut self) {
        self.blocked = 0;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn usage(cost_usd: f64, tokens: u64) -> Usage {
        Usage { input_tokens: tokens, cost_usd: Some(cost_usd), ..Usage::default() }
    }

    #[test]
    fn each_cap_ends_what_begins_and_says_which_it_is() {
        let caps = |change: fn(&mut SharedCaps)| {
            let mut caps = SharedCaps::default();
            change(&mut caps);
            let mut books = SharedBooks::new(caps);
            assert_eq!(books.may_begin(Duration::ZERO), Ok(()));
            books.add(usage(2.0, 100));
            books.ended(true);
            books.may_begin(Duration::from_secs(60)).map_err(|cap| cap.to_string())
        };
        let told = |text: &str| Err(text.to_owned());
        assert_eq!(caps(|_| {}), Ok(()));
        assert_eq!(caps(|caps| caps.iterations = Some(1)), told("1 iteration has begun"));
        assert_eq!(caps(|caps| caps.cost_usd = Some(1.5)), told("$2.00 of $1.50 are spent"));
        assert_eq!(caps(|caps| caps.tokens = Some(100)), told("100 of 100 tokens are used"));
        assert_eq!(caps(|caps| caps.time = Some(Duration::from_secs(60))), told("60 s are over"));
        assert_eq!(caps(|caps| caps.consecutive_failures = Some(1)), told("1 iteration failed in a row"));
    }

    #[test]
    fn a_success_in_any_lane_ends_a_row_of_failures() {
        let mut books =
            SharedBooks::new(SharedCaps { consecutive_failures: Some(2), ..SharedCaps::default() });
        for (failed, is_reached) in [(true, false), (false, false), (true, false), (true, true)] {
            books.ended(failed);
            assert_eq!(books.reached(Duration::ZERO).is_some(), is_reached);
        }
    }

    #[test]
    fn tasks_that_are_blocked_in_a_row_end_a_run_unless_something_lands() {
        let mut books =
            SharedBooks::new(SharedCaps { consecutive_failures: Some(2), ..SharedCaps::default() });
        books.blocked();
        books.landed();
        books.blocked();
        assert_eq!(books.reached(Duration::ZERO), None);
        books.blocked();
        let reached = books.reached(Duration::ZERO).map(|cap| cap.to_string());
        assert_eq!(reached.as_deref(), Some("2 tasks were blocked in a row after their attempts"));
    }

    #[test]
    fn books_that_go_on_have_what_was_used_and_the_rows_under_other_caps() {
        let mut before = SharedBooks::new(SharedCaps::default());
        before.ended(true);
        let caps = SharedCaps { cost_usd: Some(3.0), consecutive_failures: Some(2), ..SharedCaps::default() };
        let mut books = SharedBooks::new(caps).going_on(4, usage(2.0, 7)).in_rows_of(&before);
        assert_eq!(books.reached(Duration::ZERO), None);
        books.ended(true);
        assert_eq!(books.reached(Duration::ZERO), Some(Cap::Failures { cap: 2 }));
        books.ended(false);
        books.add(usage(1.0, 0));
        let reached = books.reached(Duration::ZERO).unwrap();
        assert_eq!(
            (reached, reached.setting()),
            (Cap::Cost { cap: 3.0, used: 3.0 }, "session_budget.max_cost_usd")
        );
    }

    proptest! {
        #[test]
        fn a_cap_is_passed_by_one_turn_a_lane_at_most(
            lanes in 1..8usize, turns in vec((0..8usize, 0.0..3.0f64, 0..50u64), 0..200)
        ) {
            let caps = SharedCaps {
                iterations: Some(30),
                cost_usd: Some(10.0),
                tokens: Some(200),
                ..SharedCaps::default()
            };
            let mut books = SharedBooks::new(caps);
            let (mut at_work, mut begun) = (vec![None; lanes], 0);
            for (lane, cost, tokens) in turns {
                let lane = lane % lanes;
                match at_work[lane].take() {
                    Some(usage) => books.add(usage),
                    None if books.may_begin(Duration::ZERO).is_ok() => {
                        begun += 1;
                        at_work[lane] = Some(usage(cost, tokens));
                    }
                    None => {}
                }
            }
            at_work.into_iter().flatten().for_each(|usage| books.add(usage));
            prop_assert!(begun <= 30);
            prop_assert!(books.cost_usd <= 10.0 + 3.0 * lanes as f64, "{}", books.cost_usd);
            prop_assert!(books.tokens <= 200 + 50 * lanes as u64, "{}", books.tokens);
        }
    }
}
