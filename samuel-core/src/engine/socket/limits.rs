//! What a server allows: how many, how long, how often. How much, each verb says.

use std::time::Duration;

use tokio::time::Instant;

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at the same time that have shown a token.
    pub(super) connections: usize,
    /// Of these, by the tokens of calls of agents: the others are left for people.
    pub(super) of_calls: usize,
    /// How many more wait to be let in; others are refused at once.
    pub(super) waiting: usize,
    /// Connections at the same time that have shown none yet.
    pub(super) silent: usize,
    /// How long the first message may take, and how long a connection waits to be let in.
    pub(super) first: Duration,
    /// How long the first message may take while there are so many others that nobody else is accepted.
    pub(super) first_in_a_crowd: Duration,
    /// How long any other may take, from the answer before it.
    pub(super) idle: Duration,
    /// How long a peer may take to read an answer.
    pub(super) write: Duration,
    /// How often a token may be used for verbs that count.
    pub(super) rate: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            of_calls: 56,
            waiting: 0,
            silent: 64,
            first: Duration::from_secs(5),
            first_in_a_crowd: Duration::from_millis(250),
            idle: Duration::from_secs(30),
            write: Duration::from_secs(5),
            rate: Rate { burst: 200, per_second: 50 },
        }
    }
}

impl Limits {
    /// What the path allows that is shown to a sandbox.
    pub(super) fn of_sandbox() -> Self {
        Self { connections: 16, of_calls: 16, waiting: 64, ..Self::default() }
    }
}

/// How often something may happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// How often at once.
    pub(super) burst: u32,
    /// How often in a second, for as long as it goes on.
    pub(super) per_second: u32,
}

/// How often something happened lately, held against a [`Rate`].
#[derive(Debug)]
pub(super) struct Meter {
    rate: Rate,
    /// What may still happen at once.
    left: f64,
    at: Instant,
}

impl Meter {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, left: rate.burst.into(), at: Instant::now() }
    }

    /// Says whether it may happen once more now.
    pub(super) fn admits(&mut self) -> bool {
        let now = Instant::now();
        let regained = (now - self.at).as_secs_f64() * f64::from(self.rate.per_second);
        self.left = (self.left + regained).min(self.rate.burst.into());
        self.at = now;
        let admits = self.left >= 1.0;
        if admits {
            self.left -= 1.0;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_admitted_and_then_as_many_as_the_rate_says() {
        let mut meter = Meter::new(Rate { burst: 200, per_second: 50 });
        let admitted = |meter: &mut Meter| (0..1_000).filter(|_| meter.admits()).count();
        assert_eq!(admitted(&mut meter), 200);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(admitted(&mut meter), 50);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(admitted(&mut meter), 200, "no more than a burst is saved up");
    }
}
