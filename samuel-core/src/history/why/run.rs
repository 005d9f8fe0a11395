//! Why a run stopped.

use std::collections::BTreeMap;

use super::{Why, WhyReason};
use crate::{
    event::{Event, PlanChange},
    history::{History, HistoryError, LogEntry, RunState, event_line, runs::is_under_way},
    hook::HookPoint,
    model::{ExitReason, IterationOutcome, TaskId},
};

/// How many failed iterations are named.
const MAX_FAILURES: usize = 10;
/// How many results that were the same are named.
const MAX_REPEATS: usize = 3;
/// How many tasks are named that somebody blocked or asked about, the last ones.
const MAX_BLOCKED: usize = 25;

impl History {
    pub(super) fn why_run(&self, run: &str) -> Result<Why, HistoryError> {
        let entries = self.held(run, |entry| decides(&entry.record.event))?;
        let about = format!("run {run}");
        let finished = entries.iter().rev().find(|entry| matches!(entry.record.event, Event::RunFinished(_)));
        let Some(finished) = finished else { return self.why_no_end(run, about, &entries) };
        let Event::RunFinished(report) = &finished.record.event else {
            return self.why_no_end(run, about, &entries);
        };
        let why = report.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let answer = format!("it ended as {}{why}", report.exit_reason);
        let mut reasons: Vec<WhyReason> =
            rests_on(report.exit_reason, &entries).into_iter().map(WhyReason::of).collect();
        if let Some(fault) = &report.fault {
            reasons.insert(0, WhyReason::new(format!("{}: {}", fault.code, fault.message)));
        }
        reasons.push(WhyReason::of(finished));
        Ok(Why::of(about, answer, reasons))
    }

    /// Says what is known of a run that did not tell that it ended, beside what decides about ends.
    fn why_no_end(&self, run: &str, about: String, deciding: &[LogEntry]) -> Result<Why, HistoryError> {
        let mut entries = self.entries(run);
        let (mut last, mut told) = (None, None);
        while let Some(entry) = entries.next_entry()? {
            if event_line(&entry.record.event).is_some() {
                told = Some(entry.clone());
            }
            last = Some(entry);
        }
        let Some(last) = last else {
            return Err(HistoryError::no_events(run, entries.unreadable()));
        };
        let state = if is_under_way(&*self.lane, run)? { RunState::UnderWay } else { RunState::CutOff };
        let answer = match state {
            RunState::UnderWay if holds(deciding) => {
                "it has not stopped: its loop holds until somebody lets it go on".to_owned()
            }
            RunState::UnderWay => "it has not stopped: its loop is at work".to_owned(),
            _ => "it was cut off: its loop is gone, and no end is recorded, nor why".to_owned(),
        };
        let mut named: Vec<&LogEntry> = blocked(deciding);
        if state == RunState::UnderWay {
            named.extend(waiting_calls(deciding));
            let is_command = |entry: &&LogEntry| matches!(entry.record.event, Event::Commanded { .. });
            named.extend(deciding.iter().rev().find(is_command));
        }
        named.extend(&told);
        if told.as_ref().is_none_or(|told| told.record.seq != last.record.seq) {
            named.push(&last);
        }
        named.sort_by_key(|entry| entry.record.seq);
        named.dedup_by_key(|entry| entry.record.seq);
        let reasons = named.into_iter().map(WhyReason::of).collect();
        Ok(Why::of(about, answer, reasons))
    }
}

/// Says whether a run can end because of an event.
fn decides(event: &Event) -> bool {
    match event {
        Event::HookFired { outcome, .. } => {
            outcome.refused.is_some() || outcome.abort.is_some() || !outcome.broken.is_empty()
        }
        Event::RunStarted { .. }
        | Event::IterationFinished { .. }
        | Event::QualityChecked { .. }
        | Event::TasksTakenBack { .. }
        | Event::TaskCompleted { .. }
        | Event::PlanChanged { .. }
        | Event::Commanded { .. }
        | Event::ApprovalAsked { .. }
        | Event::ApprovalGiven { .. }
        | Event::Paused
        | Event::Resumed
        | Event::Waiting { until: Some(_), .. }
        | Event::Stopping { .. }
        | Event::RunFinished(_) => true,
        _ => false,
    }
}

/// Says whether a point fired, and somebody there said no or broke.
fn fired_at(event: &Event, wanted: HookPoint) -> bool {
    matches!(event, Event::HookFired { point, .. } if *point == wanted)
}

/// Returns the events that led to an end, in the order in which they happened.
fn rests_on(reason: ExitReason, entries: &[LogEntry]) -> Vec<&LogEntry> {
    let mut chosen: Vec<&LogEntry> = Vec::new();
    let mut last = |count: usize, is_one: &dyn Fn(&Event) -> bool| {
        let found = entries.iter().rev().filter(|entry| is_one(&entry.record.event)).take(count);
        chosen.extend(found);
    };
    let is_finished = |event: &Event| matches!(event, Event::IterationFinished { .. });
    let has_failed = |event: &Event| match event {
        Event::IterationFinished { outcome, .. } => *outcome == IterationOutcome::Failed,
        _ => false,
    };
    last(1, &|event| matches!(event, Event::Stopping { .. }));
    match reason {
        ExitReason::Completed => last(1, &|event| matches!(event, Event::QualityChecked { ok: true, .. })),
        ExitReason::Blocked => {
            last(1, &|event| matches!(event, Event::QualityChecked { ok: false, .. }));
            last(1, &is_finished);
        }
        ExitReason::ConsecutiveFailures => {
            let in_a_row = entries.iter().rev().find_map(|entry| match &entry.record.event {
                Event::IterationFinished { consecutive_failures, .. } => Some(*consecutive_failures),
                _ => None,
            });
            let count = usize::try_from(in_a_row.unwrap_or_default()).unwrap_or(MAX_FAILURES);
            last(count.clamp(1, MAX_FAILURES), &has_failed);
        }
        ExitReason::NoProgress => last(MAX_REPEATS, &is_finished),
        ExitReason::GateStop => last(1, &|event| fired_at(event, HookPoint::IterationGate)),
        ExitReason::StopBlocked => last(1, &|event| fired_at(event, HookPoint::SessionStop)),
        ExitReason::StrictHook => {
            last(1, &|event| matches!(event, Event::HookFired { outcome, .. } if outcome.abort.is_some()));
        }
        ExitReason::RateLimited => {
            last(1, &|event| matches!(event, Event::Waiting { .. }));
            last(1, &is_finished);
        }
        ExitReason::EmptyDiscovery => last(2, &is_finished),
        ExitReason::Cancelled => {
            last(1, &|event| match event {
                Event::Commanded { command, .. } => command == "cancel" || command == "stop",
                _ => false,
            });
            last(1, &is_finished);
        }
        _ => last(1, &is_finished),
    }
    if reason == ExitReason::Blocked {
        chosen.extend(blocked(entries));
    }
    chosen.sort_by_key(|entry| entry.record.seq);
    chosen.dedup_by_key(|entry| entry.record.seq);
    chosen
}

/// Returns the changes by which tasks were left that somebody blocked or asked about: of each the last
/// one, where nothing came after it that opens or completes the task.
fn blocked(entries: &[LogEntry]) -> Vec<&LogEntry> {
    let mut last: BTreeMap<&TaskId, &LogEntry> = BTreeMap::new();
    for entry in entries {
        match &entry.record.event {
            // Other words for the same task open nothing.
            Event::PlanChanged { change: PlanChange::Changed, .. } => {}
            Event::PlanChanged { task, .. } | Event::TaskCompleted { task, .. } => {
                last.insert(task, entry);
            }
            _ => {}
        }
    }
    let is_blocked = |entry: &&LogEntry| {
        matches!(
            entry.record.event,
            Event::PlanChanged { change: PlanChange::Blocked | PlanChange::Asked, .. }
        )
    };
    let mut blocked: Vec<&LogEntry> = last.into_values().filter(is_blocked).collect();
    blocked.sort_by_key(|entry| entry.record.seq);
    blocked.drain(..blocked.len().saturating_sub(MAX_BLOCKED));
    blocked
}

/// Returns the events that asked for approval of calls which wait for it.
fn waiting_calls(entries: &[LogEntry]) -> Vec<&LogEntry> {
    let mut waiting: BTreeMap<u64, &LogEntry> = BTreeMap::new();
    for entry in entries {
        match &entry.record.event {
            Event::ApprovalAsked { call, .. } => _ = waiting.insert(*call, entry),
            Event::ApprovalGiven { call, .. } => _ = waiting.remove(call),
            _ => {}
        }
    }
    waiting.into_values().collect()
}

/// Says whether the run holds, by the last event that says so or the contrary.
fn holds(entries: &[LogEntry]) -> bool {
    let mut events = entries.iter().rev().map(|entry| &entry.record.event);
    events.find(|event| matches!(event, Event::Paused | Event::Resumed)) == Some(&Event::Paused)
}
