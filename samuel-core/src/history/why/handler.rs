//! Why a handler was not called.

use std::collections::BTreeSet;

use super::{GoneOver, Why, WhyReason, the_last};
use crate::{
    event::Event,
    history::{History, HistoryError, LogEntry, fold::event_ref},
    hook::{HookPoint, Outcome},
};

impl History {
    pub(super) fn why_handler(&self, handler: &str) -> Result<Why, HistoryError> {
        let about = format!("handler {handler}");
        let runs = self.last_runs()?;
        if runs.is_empty() {
            return Err(HistoryError::NoRuns);
        }
        // The points that it stands at, as far as runs called it there.
        let mut points: BTreeSet<String> = BTreeSet::new();
        let mut newest: Vec<LogEntry> = Vec::new();
        let (mut looked_at, mut gone_over) = (0, GoneOver::default());
        for run in &runs {
            let fired = self.held(run, |entry| matches!(entry.record.event, Event::HookFired { .. }));
            looked_at += 1;
            let Some(fired) = gone_over.read(run, fired) else { continue };
            for (point, outcome) in fired.iter().filter_map(hook) {
                if ran(outcome, handler) {
                    points.insert(point.to_string());
                }
            }
            if looked_at - gone_over.runs.len() == 1 {
                newest = fired;
            }
            if !points.is_empty() {
                break;
            }
        }
        let unread = gone_over.of(looked_at)?;
        let of_points: Vec<&LogEntry> = newest
            .iter()
            .filter(|entry| hook(entry).is_some_and(|(point, _)| points.contains(&point.to_string())))
            .collect();
        let last = of_points.last().copied();
        let (answer, reasons) = match last.and_then(|entry| Some((entry, hook(entry)?))) {
            _ if points.is_empty() => (
                format!(
                    "it was not called in {}: no chain that fired has it",
                    the_last(looked_at - unread.len())
                ),
                skipped(&newest),
            ),
            None => {
                let named: Vec<String> = points.into_iter().collect();
                (format!("{} did not fire in the last run", named.join(" and ")), Vec::new())
            }
            Some((entry, (point, outcome))) => match how(outcome, handler) {
                Some(ended) => {
                    (format!("it was called at {point}, and ended {ended}"), vec![of(entry, outcome)])
                }
                None => {
                    (format!("it was not called at {point}{}", because(outcome)), vec![of(entry, outcome)])
                }
            },
        };
        Ok(Why { unread, ..Why::of(about, answer, reasons) })
    }
}

fn hook(entry: &LogEntry) -> Option<(HookPoint, &Outcome)> {
    match &entry.record.event {
        Event::HookFired { point, outcome, .. } => Some((*point, outcome)),
        _ => None,
    }
}

fn ran(outcome: &Outcome, handler: &str) -> bool {
    how(outcome, handler).is_some()
}

/// Returns how a call of a handler ended, where it was called.
fn how(outcome: &Outcome, handler: &str) -> Option<&'static str> {
    outcome.timings.iter().find(|timing| &*timing.handler == handler).map(|timing| timing.ended())
}

/// Says why the chain did not come to a handler.
fn because(outcome: &Outcome) -> String {
    if let Some(why) = &outcome.skipped {
        return format!(": {why}");
    }
    if let Some(abort) = &outcome.abort {
        return format!(": {} broke before it, which ended the chain", abort.handler);
    }
    let last = outcome.timings.last().map(|timing| timing.handler.to_string()).unwrap_or_default();
    match &outcome.refused {
        Some(reason) => format!(": {last} refused before it: {reason}"),
        None => ", and the event does not tell why".to_owned(),
    }
}

fn of(entry: &LogEntry, outcome: &Outcome) -> WhyReason {
    let point = hook(entry).map(|(point, _)| point.to_string()).unwrap_or_default();
    let called: Vec<String> =
        outcome.timings.iter().map(|timing| format!("{} {}", timing.handler, timing.ended())).collect();
    let called = if called.is_empty() { "nobody".to_owned() } else { called.join(", ") };
    let text = format!("{point} called {called}");
    WhyReason { events: vec![event_ref(&entry.record)], ..WhyReason::new(text) }
}

/// Returns the chains of the last run of which no handler was called, each point once.
fn skipped(fired: &[LogEntry]) -> Vec<WhyReason> {
    let mut seen = BTreeSet::new();
    let skipped = fired.iter().rev().filter_map(|entry| {
        let (point, outcome) = hook(entry)?;
        let why = outcome.skipped.as_ref()?;
        seen.insert(point.to_string()).then(|| WhyReason {
            events: vec![event_ref(&entry.record)],
            ..WhyReason::new(format!("at {point} nobody was called: {why}"))
        })
    });
    skipped.collect()
}
