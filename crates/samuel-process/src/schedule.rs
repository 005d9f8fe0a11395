//! The clocks of one command.
//!
//! A [`Schedule`] is told what happens and says which [`Alarm`] rings
//! next. It has no timer of its own.

use super::{Clocks, CommandSpec, End};
use std::time::Duration;
use tokio::time::Instant;

/// How long a supervisor may take to report that the command runs; a Python interpreter
/// on a busy machine needs seconds.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Far enough to never come, near enough to be representable.
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// No clock runs.
    Never,
    /// The supervisor has not started the command in time.
    NotStarted,
    /// Ask the command to end, for this reason.
    Stop(End),
    /// Kill it.
    Kill,
    /// The command has exited; do not wait for its output any longer.
    DrainOver,
    /// The last order was given; do not wait for the answer any longer.
    CloseOver,
}

/// The clocks of one command.
#[derive(Debug)]
pub(super) struct Schedule {
    called: Instant,
    timeout: Option<Duration>,
    clocks: Clocks,
    started: Option<Instant>,
    last_output: Option<Instant>,
    finishing: Option<Instant>,
    kill_at: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// SIGTERM was sent.
    Stopping,
    Draining(Instant),
    Closing(Instant),
}

impl Schedule {
    pub(super) fn new(spec: &CommandSpec, called: Instant) -> Self {
        Self {
            called,
            timeout: spec.timeout,
            clocks: spec.clocks,
            started: None,
            last_output: None,
            finishing: None,
            kill_at: spec.timeout.map(|timeout| called + timeout.saturating_add(spec.grace).min(NEVER)),
            phase: Phase::Running,
        }
    }

    /// Returns the next alarm and when it rings.
    pub(super) fn next(&self) -> (Instant, Alarm) {
        let kill = self.kill_at.map(|at| (at, Alarm::Kill));
        let next = match self.phase {
            Phase::Closing(at) => Some((at, Alarm::CloseOver)),
            Phase::Draining(at) => Some((at, Alarm::DrainOver)),
            Phase::Stopping => kill,
            Phase::Running => self.stops().chain(kill).min_by_key(|(at, _)| *at),
        };
        next.unwrap_or((self.called + NEVER, Alarm::Never))
    }

    /// The clocks of a command that has not been asked to end.
    fn stops(&self) -> impl Iterator<Item = (Instant, Alarm)> {
        let stop = |from: Option<Instant>, after: Option<Duration>, end| {
            Some((from? + after?.min(NEVER), Alarm::Stop(end)))
        };
        let silent_since = self.started.filter(|_| self.last_output.is_none());
        let heard = match self.clocks.first_byte {
            Some(_) => self.last_output,
            // No other clock ends a silence from the start.
            None => self.last_output.or(self.started),
        };
        [
            self.started.is_none().then_some((self.called + START_LIMIT, Alarm::NotStarted)),
            stop(Some(self.called), self.timeout, End::TimedOut),
            stop(self.finishing, self.clocks.linger, End::Linger),
            stop(silent_since, self.clocks.first_byte, End::NoFirstByte),
            stop(heard, self.clocks.idle, End::Idle),
        ]
        .into_iter()
        .flatten()
    }

    pub(super) fn command_started(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// Takes note of output.
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_output = Some(now);
    }

    /// Starts the silence clocks anew: nobody was listening.
    pub(super) fn excuse_silence(&mut self, now: Instant) {
        match &mut self.last_output {
            Some(last) => *last = now,
            None => self.started = self.started.map(|_| now),
        }
    }

    /// Starts the linger clock, unless it runs already.
    pub(super) fn finishing(&mut self, now: Instant) {
        self.finishing.get_or_insert(now);
    }

    /// Sets when a command that was asked to end is killed, never later than before.
    pub(super) fn kill_after(&mut self, grace: Duration, now: Instant) {
        let at = now + grace.min(NEVER);
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
        self.phase = Phase::Stopping;
    }

    /// The command has exited: its output may come until `at`.
    pub(super) fn drain(&mut self, at: Instant) {
        self.phase = Phase::Draining(at);
    }

    /// The last order was given: its answer may come until `at`.
    pub(super) fn close(&mut self, at: Instant) {
        self.phase = Phase::Closing(at);
    }

    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.duration_since(self.called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn schedule(spec: CommandSpec) -> (Schedule, Instant) {
        let now = Instant::now();
        (Schedule::new(&spec, now), now)
    }

    fn spec() -> CommandSpec {
        CommandSpec::new("x", "/")
    }

    #[test]
    fn nothing_is_sent_before_the_timeout_and_the_kill_comes_a_grace_after_it() {
        let (mut schedule, now) = schedule(spec().timeout(9 * SECOND).grace(60 * SECOND));
        assert_eq!(schedule.next(), (now + 9 * SECOND, Alarm::Stop(End::TimedOut)));
        schedule.kill_after(60 * SECOND, now + 9 * SECOND);
        assert_eq!(schedule.next(), (now + 69 * SECOND, Alarm::Kill));
    }

    #[test]
    fn a_command_that_another_clock_has_stopped_gets_no_more_time_than_one_that_timed_out() {
        let (mut schedule, now) = schedule(spec().timeout(9 * SECOND).grace(SECOND));
        schedule.kill_after(Duration::MAX, now);
        assert_eq!(schedule.next(), (now + 10 * SECOND, Alarm::Kill));
    }

    #[test]
    fn a_silence_from_the_start_is_idle_where_nothing_waits_for_the_first_byte() {
        let clocks = Clocks { idle: Some(SECOND), ..Clocks::default() };
        let (mut schedule, now) = schedule(spec().clocks(clocks));
        assert_eq!(schedule.next().1, Alarm::NotStarted);
        schedule.command_started(now);
        assert_eq!(schedule.next(), (now + SECOND, Alarm::Stop(End::Idle)));
    }

    #[test]
    fn the_first_byte_ends_one_clock_and_starts_the_next() {
        let clocks = Clocks { first_byte: Some(2 * SECOND), idle: Some(SECOND), linger: None };
        let (mut schedule, now) = schedule(spec().clocks(clocks));
        schedule.command_started(now);
        assert_eq!(schedule.next(), (now + 2 * SECOND, Alarm::Stop(End::NoFirstByte)));
        schedule.heard(now + SECOND);
        assert_eq!(schedule.next(), (now + 2 * SECOND, Alarm::Stop(End::Idle)));
        schedule.excuse_silence(now + 5 * SECOND);
        assert_eq!(schedule.next(), (now + 6 * SECOND, Alarm::Stop(End::Idle)));
    }

    #[test]
    fn the_linger_clock_runs_from_the_first_notice() {
        let clocks = Clocks { linger: Some(SECOND), ..Clocks::default() };
        let (mut schedule, now) = schedule(spec().clocks(clocks));
        schedule.command_started(now);
        assert_eq!(schedule.next().1, Alarm::Never);
        schedule.finishing(now);
        schedule.finishing(now + SECOND);
        assert_eq!(schedule.next(), (now + SECOND, Alarm::Stop(End::Linger)));
    }

    #[test]
    fn a_timeout_beyond_the_range_of_the_clock_is_no_timeout() {
        let clocks = Clocks { idle: Some(Duration::MAX), ..Clocks::default() };
        let (mut schedule, now) = schedule(spec().timeout(Duration::MAX).clocks(clocks));
        schedule.command_started(now);
        schedule.heard(now);
        assert!(schedule.next().0 > now + NEVER / 2);
    }
}
