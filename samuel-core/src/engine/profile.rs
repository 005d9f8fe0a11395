//! How long handlers take, summed up from a run's events.
//!
//! A [`Profile`] takes every [`EventRecord`] of a run and answers with one
//! [`ProfileRow`] for each handler at each point. It keeps times, no events.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use crate::{
    event::{Event, EventRecord},
    hook::HookPoint,
};

/// How many times of one handler go into its median; later ones still count.
const MAX_SAMPLES: usize = 100_000;
/// From when on a handler of a context point is slow.
const SLOW_CONTEXT: Duration = Duration::from_millis(50);

/// The times of a run's handlers.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    handlers: BTreeMap<(HookPoint, String), Times>,
    /// The iteration under way and its start.
    open: Option<(u32, Duration)>,
    /// The last iteration that ended; what names it still comes after it.
    ended: u32,
    iterations: Duration,
}

/// The times of one handler at one point.
#[derive(Clone, Debug, Default)]
struct Times {
    samples: Vec<Duration>,
    count: u64,
    total: Duration,
    max: Duration,
    /// The part of the total that was spent inside iterations.
    in_iterations: Duration,
}

/// How long one handler took at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileRow {
    /// The point.
    pub point: HookPoint,
    /// The handler's id.
    pub handler: String,
    /// How often it ran.
    pub count: u64,
    /// The time that half of the calls stayed within, in milliseconds.
    pub median_ms: f64,
    /// The time that 95 of 100 calls stayed within, in milliseconds.
    pub p95_ms: f64,
    /// The longest time, in milliseconds.
    pub max_ms: f64,
    /// All calls together, in milliseconds.
    pub total_ms: f64,
    /// The part of all iterations' time it took, from 0 to 1; nothing for a
    /// handler that ran outside of iterations only.
    pub share: Option<f64>,
    /// Whether it is a context handler that took over 50 ms.
    pub slow: bool,
}

impl Profile {
    /// Creates a profile of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event into account; those of other kinds change nothing.
    pub fn take(&mut self, record: &EventRecord) {
        let elapsed = Duration::from_millis(record.elapsed_ms);
        match &record.event {
            Event::HookFired { point, iteration, outcome, .. } => {
                let took: Duration = outcome.timings.iter().map(|timing| timing.took).sum();
                self.enter(*iteration, elapsed, took);
                for timing in &outcome.timings {
                    let key = (*point, timing.handler.to_string());
                    self.handlers.entry(key).or_default().add(timing.took, self.open.is_some());
                }
            }
            Event::IterationStarted { iteration, .. } => self.enter(*iteration, elapsed, Duration::ZERO),
            Event::IterationFinished { iteration, .. } => {
                self.ended = *iteration;
                if let Some((_, started)) = self.open.take() {
                    self.iterations += elapsed.saturating_sub(started);
                }
            }
            _ => {}
        }
    }

    /// Begins an iteration with the first that is heard of it, which may be a
    /// point that has just ended.
    fn enter(&mut self, iteration: u32, elapsed: Duration, took: Duration) {
        if iteration > self.ended && self.open.is_none_or(|(open, _)| open != iteration) {
            self.open = Some((iteration, elapsed.saturating_sub(took)));
        }
    }

    /// Returns the time that all iterations took together.
    pub fn iterations(&self) -> Duration {
        self.iterations
    }

    /// Returns one row for each handler, in the order of the points.
    pub fn rows(&self) -> Vec<ProfileRow> {
        let row = |((point, handler), times): (&(HookPoint, String), &Times)| {
            let mut samples = times.samples.clone();
            samples.sort_unstable();
            let whole = self.iterations.as_secs_f64();
            let part = times.in_iterations.as_secs_f64();
            ProfileRow {
                point: *point,
                handler: handler.clone(),
                count: times.count,
                median_ms: millis(percentile(&samples, 50)),
                p95_ms: millis(percentile(&samples, 95)),
                max_ms: millis(times.max),
                total_ms: millis(times.total),
                share: (whole > 0.0 && part > 0.0).then(|| part / whole),
                slow: is_context(*point) && times.max > SLOW_CONTEXT,
            }
        };
        self.handlers.iter().map(row).collect()
    }
}

impl Times {
    fn add(&mut self, took: Duration, in_iteration: bool) {
        if self.samples.len() < MAX_SAMPLES {
            self.samples.push(took);
        }
        self.count += 1;
        self.total += took;
        self.max = self.max.max(took);
        if in_iteration {
            self.in_iterations += took;
        }
    }
}

/// Returns the smallest sample that so many of 100 stay within.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Says whether every iteration waits for the handlers of a point before the agent begins.
pub(super) fn is_context(point: HookPoint) -> bool {
    matches!(
        point,
        HookPoint::ContextSnapshot
            | HookPoint::ContextProgress
            | HookPoint::ContextTask
            | HookPoint::ContextExtra
    )
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use super::*;
    use crate::{
        event::EVENT_SCHEMA_VERSION,
        hook::{HookStatus, Outcome, Timing},
        model::{IterationOutcome, Usage, payload::Turn},
    };

    fn at(elapsed_ms: u64, event: Event) -> EventRecord {
        // Somebody sets the time of day back with every event.
        let at = jiff::Timestamp::UNIX_EPOCH - Duration::from_millis(elapsed_ms);
        let schema_version = EVENT_SCHEMA_VERSION;
        EventRecord { schema_version, seq: 1, at, elapsed_ms, run_id: "r".into(), lane: None, event }
    }

    fn fired(point: HookPoint, iteration: u32, took_ms: u64) -> Event {
        let took = Duration::from_millis(took_ms);
        let (status, class) = (HookStatus::Ok, None);
        let timing = Timing { handler: "default".into(), took, status, class, exit_code: None };
        let outcome = Outcome { timings: vec![timing], ..Outcome::default() };
        Event::HookFired { point, iteration, turn: Turn::Main, outcome }
    }

    /// Returns the end of an iteration that has succeeded.
    pub(in crate::engine) fn finished(iteration: u32) -> Event {
        Event::IterationFinished {
            iteration,
            outcome: IterationOutcome::Succeeded,
            failure: None,
            completed: Vec::new(),
            usage: Usage::default(),
            consecutive_failures: 0,
            excused: false,
            unrecorded: false,
            commit: None,
            uncommitted: Vec::new(),
            committed_for_agent: None,
        }
    }

    #[test]
    fn a_row_has_median_p95_maximum_and_share_of_the_iterations() {
        let mut profile = Profile::new();
        for n in 1..=20 {
            let start = u64::from(n) * 1_000;
            let took = if n == 20 { 80 } else { u64::from(n) };
            profile.take(&at(start + took, fired(HookPoint::ContextSnapshot, n, took)));
            profile.take(&at(start + 100, finished(n)));
        }
        let rows = profile.rows();
        assert_eq!(profile.iterations(), Duration::from_secs(2));
        assert_eq!((rows.len(), rows[0].count, rows[0].handler.as_str()), (1, 20, "default"));
        assert_eq!((rows[0].median_ms, rows[0].p95_ms, rows[0].max_ms), (10.0, 19.0, 80.0));
        assert_eq!(rows[0].share, Some((190.0 + 80.0) / 2_000.0));
        assert!(rows[0].slow);
    }

    #[test]
    fn a_point_outside_of_iterations_has_no_share() {
        let mut profile = Profile::new();
        profile.take(&at(10, fired(HookPoint::BeforeLoop, 0, 10)));
        profile.take(&at(20, fired(HookPoint::AgentInvoke, 1, 10)));
        profile.take(&at(20, finished(1)));
        // What closes the run names its last iteration.
        profile.take(&at(30, fired(HookPoint::AfterLoop, 1, 10)));
        let shares: Vec<_> = profile.rows().iter().map(|row| (row.point, row.share)).collect();
        let expected = [
            (HookPoint::BeforeLoop, None),
            (HookPoint::AgentInvoke, Some(1.0)),
            (HookPoint::AfterLoop, None),
        ];
        assert_eq!(shares, expected);
    }
}
