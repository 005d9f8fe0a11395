//! Why a handler was not called.

use std::collections::BTreeSet;

use super::{PassedOver, Why, WhyReason, the_last};
use crate::{
    event::Event,
    history::{History, HistoryError, LogEntry, fold::event_ref},
    hook::{HookPoint, HookStatus, Outcome},
};

/// How much alike two ids must be for one to be meant by the other, of 1.
const LIKENESS: f64 = 0.6;
/// How many ids are looked at for one that was meant, and how long each can be, in bytes: how alike two are takes time and
/// memory as their lengths multiplied.
const MAX_CALLED: usize = 5_000;
const MAX_ID_BYTES: usize = 200;

impl History {
    pub(super) fn why_handler(&self, handler: &str) -> Result<Why, HistoryError> {
        let about = format!("handler {handler}");
        let runs = self.last_runs()?;
        if runs.is_empty() {
            return Err(HistoryError::NoRuns);
        }
        // The points that it stands at, as far as runs called it there.
        let mut points: BTreeSet<String> = BTreeSet::new();
        let mut called: BTreeSet<String> = BTreeSet::new();
        let mut newest: Vec<LogEntry> = Vec::new();
        // The run that called it last, where that is not the newest.
        let mut earlier = None;
        let (mut looked_at, mut passed_over) = (0, PassedOver::default());
        for run in &runs {
            let fired = self.held(run, |entry| matches!(entry.record.event, Event::HookFired { .. }));
            looked_at += 1;
            let Some((fired, damage)) = passed_over.read(run, fired) else { continue };
            passed_over.damaged.extend(damage);
            for (point, outcome) in fired.iter().filter_map(hook) {
                if ran(outcome, handler) {
                    points.insert(point.to_string());
                }
                let ids = outcome.timings.iter().map(|timing| &*timing.handler);
                remember(&mut called, ids);
            }
            if looked_at - passed_over.runs.len() == 1 {
                newest = fired;
            } else if !points.is_empty() {
                earlier = Some(run);
            }
            if !points.is_empty() {
                break;
            }
        }
        let (read, unread) = passed_over.of(looked_at)?;
        let of_points: Vec<&LogEntry> = newest
            .iter()
            .filter(|entry| hook(entry).is_some_and(|(point, _)| points.contains(&point.to_string())))
            .collect();
        let last = of_points.last().copied();
        let skipped = skipped(&newest);
        if points.is_empty() && skipped.is_empty() && unread.is_empty() {
            let nearest = meant(handler, &called).map(str::to_owned);
            return Err(HistoryError::NotCalled {
                handler: handler.to_owned(),
                runs: the_last(read),
                nearest,
            });
        }
        let (answer, reasons) = match last.and_then(|entry| Some((entry, hook(entry)?))) {
            _ if points.is_empty() => {
                let meant = meant(handler, &called).map(|id| format!(". Did you mean {id}?"));
                let (runs, meant) = (the_last(read), meant.unwrap_or_default());
                (format!("it was not called in {runs}: no chain that fired has it{meant}"), skipped)
            }
            None => {
                let named: Vec<String> = points.into_iter().collect();
                (format!("{} did not fire in the last run", named.join(" and ")), Vec::new())
            }
            Some((entry, (point, outcome))) => match how(outcome, handler) {
                Some(ended) => {
                    (format!("it was called at {point}, and ended {ended}"), vec![of(entry, outcome)])
                }
                None => {
                    // Of a chain that has not called it nothing tells that it still is one of its handlers.
                    let why = match earlier {
                        Some(run) => format!(
                            " in the last run, which does not tell whether it is still there; run {run} called it last"
                        ),
                        None => because(outcome),
                    };
                    (format!("it was not called at {point}{why}"), vec![of(entry, outcome)])
                }
            },
        };
        Ok(Why { unread, ..Why::of(about, answer, reasons) })
    }
}

/// Takes down the ids of handlers that were called, as far as one of them may be meant by another.
fn remember<'a>(called: &mut BTreeSet<String>, ids: impl Iterator<Item = &'a str>) {
    for id in ids.filter(|id| id.len() <= MAX_ID_BYTES) {
        if called.len() < MAX_CALLED && !called.contains(id) {
            called.insert(id.to_owned());
        }
    }
}

/// Returns the handler with the likest id, of those that were called, if it may be meant.
fn meant<'a>(handler: &str, called: &'a BTreeSet<String>) -> Option<&'a str> {
    let alike = called.iter().map(|other| (strsim::normalized_damerau_levenshtein(handler, other), other));
    let likest = alike.max_by(|(left, _), (right, _)| left.total_cmp(right));
    likest.filter(|(likeness, _)| *likeness > LIKENESS).map(|(_, other)| other.as_str())
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

/// Returns how a call of a handler ended, where it was called. The name of a plugin stands for its only handler of the
/// chain.
fn how(outcome: &Outcome, handler: &str) -> Option<&'static str> {
    let is_of_plugin = |id: &str| id.split_once(':').is_some_and(|(plugin, _)| plugin == handler);
    let mut of_plugin = outcome.timings.iter().filter(|timing| is_of_plugin(&timing.handler));
    let only = of_plugin.next().filter(|_| of_plugin.next().is_none());
    let called = outcome.timings.iter().find(|timing| &*timing.handler == handler).or(only);
    called.map(|timing| timing.ended())
}

/// Says why the chain did not come to a handler.
fn because(outcome: &Outcome) -> String {
    if let Some(why) = &outcome.skipped {
        return format!(": {why}");
    }
    if let Some(abort) = &outcome.abort {
        return format!(": {} broke before it, which ended the chain", abort.handler);
    }
    let refused = outcome.timings.iter().rev().find(|timing| timing.status == HookStatus::Refused);
    let who = refused.or(outcome.timings.last()).map(|timing| timing.handler.to_string()).unwrap_or_default();
    match &outcome.refused {
        Some(reason) => format!(": {who} refused before it: {reason}"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_handlers_that_a_record_names_those_are_remembered_that_can_be_meant() {
        let mut called = BTreeSet::new();
        let long = "x".repeat(1 << 20);
        remember(&mut called, [long.as_str(), "api:x", "api:x"].into_iter());
        assert_eq!(called.iter().collect::<Vec<_>>(), ["api:x"]);
        let many: Vec<String> = (0..20_000).map(|number| format!("api:{number}")).collect();
        remember(&mut called, many.iter().map(String::as_str));
        assert_eq!(called.len(), MAX_CALLED);
        assert_eq!(meant("api:y", &called), Some("api:x"));
    }
}
