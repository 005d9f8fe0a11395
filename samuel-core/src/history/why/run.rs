//! Why a run stopped.

use std::collections::{BTreeMap, BTreeSet};

use super::{Why, WhyReason, damaged};
use crate::{
    event::{Event, PlanChange},
    history::{
        History, HistoryError, LogEntry, RunState, event_line,
        fold::{ENDING, event_ref},
        runs::{is_under_way, nothing_of},
    },
    hook::HookPoint,
    model::{ExitReason, FailureClass, IterationOutcome, TaskId},
};

/// How many failed iterations are named.
const MAX_FAILURES: usize = 10;
/// How many results that were the same are named.
const MAX_REPEATS: usize = 3;
/// How many are named who asked for the end of a run, the first ones.
const MAX_ASKED: usize = 10;
/// How many tasks are named that somebody blocked or asked about, the last ones.
const MAX_BLOCKED: usize = 25;

impl History {
    pub(super) fn why_run(&self, run: &str) -> Result<Why, HistoryError> {
        let (entries, damage) = self.held(run, |entry| decides(&entry.record.event))?;
        let about = format!("run {run}");
        let finished = entries.iter().rev().find(|entry| matches!(entry.record.event, Event::RunFinished(_)));
        let Some(finished) = finished else { return self.why_no_end(run, about, &entries) };
        let Event::RunFinished(report) = &finished.record.event else {
            return self.why_no_end(run, about, &entries);
        };
        let answer = format!("it ended as {}{}", report.exit_reason, because(report.detail.as_ref()));
        let mut reasons: Vec<WhyReason> =
            rests_on(report.exit_reason, &entries).into_iter().map(WhyReason::of).collect();
        if let Some(fault) = &report.fault {
            reasons.insert(0, WhyReason::new(format!("{}: {}", fault.code, fault.message)));
        }
        reasons.push(WhyReason::of(finished));
        reasons.extend(self.unmerged_work(run));
        Ok(Why { unread: damage.into_iter().collect(), ..Why::of(about, answer, reasons) })
    }

    /// Names the branch with merged work that is not in what is checked out.
    fn unmerged_work(&self, run: &str) -> Option<WhyReason> {
        let mut history = self.folded(run, &["task_landed", "run_finished"]).ok()?;
        self.name_unmerged(std::iter::once(&mut history));
        let branch = history.unmerged?;
        Some(WhyReason::new(format!("{branch} has work that is not merged into what is checked out")))
    }

    /// Says what is known of a run that did not tell that it ended, beside what decides about ends.
    fn why_no_end(&self, run: &str, about: String, deciding: &[LogEntry]) -> Result<Why, HistoryError> {
        let mut entries = self.entries(run);
        let (mut last, mut told) = (None, None);
        let (mut at_work, mut said) = (BTreeSet::new(), None::<LogEntry>);
        while let Some(entry) = entries.next_entry()? {
            match entry.record.event {
                Event::IterationStarted { .. } => _ = at_work.insert(entry.record.lane),
                Event::IterationFinished { .. } => _ = at_work.remove(&entry.record.lane),
                Event::Paused | Event::Resumed | Event::Stopping { .. } => said = Some(entry.clone()),
                _ => {}
            }
            if event_line(&entry.record.event).is_some() {
                told = Some(entry.clone());
            }
            last = Some(entry);
        }
        let Some(last) = last else {
            return match nothing_of(&*self.lane, run, entries.unreadable()) {
                HistoryError::NothingYet { .. } => {
                    let answer = "it has not stopped: it gets ready, and has told nothing yet";
                    Ok(Why::of(about, answer.to_owned(), Vec::new()))
                }
                error => Err(error),
            };
        };
        let state = if is_under_way(&*self.lane, run)? { RunState::UnderWay } else { RunState::CutOff };
        let answer = stands(state, said.as_ref().map(|entry| &entry.record.event), !at_work.is_empty());
        let mut named: Vec<&LogEntry> = blocked(deciding);
        named.extend(said.iter().filter(|entry| matches!(entry.record.event, Event::Stopping { .. })));
        if state == RunState::UnderWay {
            named.extend(waiting_calls(deciding));
            named.extend(held_landing(deciding));
            let is_command = |entry: &&LogEntry| matches!(entry.record.event, Event::Commanded { .. });
            named.extend(deciding.iter().rev().find(is_command));
        }
        named.extend(&told);
        named.sort_by_key(|entry| entry.record.seq);
        named.dedup_by_key(|entry| entry.record.seq);
        let mut reasons: Vec<WhyReason> = named.into_iter().map(WhyReason::of).collect();
        if told.is_none_or(|told| told.record.seq != last.record.seq) {
            let event = event_ref(&last.record);
            let text = format!("the last event of the record is {}", event.event);
            reasons.push(WhyReason { events: vec![event], ..WhyReason::new(text) });
        }
        let damage = damaged(run, entries.unreadable());
        Ok(Why { unread: damage.into_iter().collect(), ..Why::of(about, answer, reasons) })
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
        | Event::LandingHeld { .. }
        | Event::TaskLanded { .. }
        | Event::Paused
        | Event::Resumed
        | Event::Waiting { until: Some(_), .. }
        | Event::Stopping { .. }
        | Event::RunFinished(_) => true,
        _ => false,
    }
}

/// Says whether somebody asked for the end of the run.
fn asks_for_end(event: &Event) -> bool {
    matches!(event, Event::Commanded { command, .. } if ENDING.contains(&command.as_str()))
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
    last(1, &|event| matches!(event, Event::Stopping { .. }));
    match reason {
        ExitReason::Completed => last(1, &|event| matches!(event, Event::QualityChecked { ok: true, .. })),
        ExitReason::Blocked => {
            last(1, &|event| matches!(event, Event::QualityChecked { ok: false, .. }));
            last(1, &is_finished);
        }
        ExitReason::ConsecutiveFailures => {
            chosen.extend(failures_in_a_row(entries));
            // So many tasks that are blocked end a run too, and with lanes the queue blocks them as well.
            if entries.iter().any(|entry| entry.record.lane.is_some()) {
                chosen.extend(blocked(entries));
            }
        }
        ExitReason::NoProgress => chosen.extend(repeats(entries)),
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
            last(1, &is_finished);
            chosen.extend(entries.iter().filter(|entry| asks_for_end(&entry.record.event)).take(MAX_ASKED));
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

/// Returns the iterations that failed in a row, the last ones. With lanes they are of any lane, and others may have
/// ended well since: they were at work when the run began to end.
fn failures_in_a_row(entries: &[LogEntry]) -> Vec<&LogEntry> {
    let ended = || {
        entries.iter().rev().filter_map(|entry| match &entry.record.event {
            Event::IterationFinished { outcome, excused: false, unrecorded, .. } => {
                Some((entry, *outcome, *unrecorded))
            }
            _ => None,
        })
    };
    let has_failed =
        |(_, outcome, _): &(&LogEntry, IterationOutcome, bool)| *outcome == IterationOutcome::Failed;
    if ended().any(|(entry, ..)| entry.record.lane.is_some()) {
        // One in which the agent said nothing of its task neither failed nor came to something, nor did one that a kill
        // has cut off.
        let is_cut_off = |entry: &LogEntry| match &entry.record.event {
            Event::IterationFinished { failure: Some(failure), .. } => {
                failure.class == FailureClass::Interrupted
            }
            _ => false,
        };
        let counted = ended().filter(|(entry, outcome, unrecorded)| {
            *outcome != IterationOutcome::Cancelled && !unrecorded && !is_cut_off(entry)
        });
        let failed = counted.skip_while(|end| !has_failed(end)).take_while(has_failed).take(MAX_FAILURES);
        return failed.map(|(entry, ..)| entry).collect();
    }
    let last = entries.iter().rev().find_map(|entry| match &entry.record.event {
        Event::IterationFinished { consecutive_failures, .. } => Some(*consecutive_failures),
        _ => None,
    });
    let count = usize::try_from(last.unwrap_or_default()).unwrap_or(MAX_FAILURES).clamp(1, MAX_FAILURES);
    ended().filter(has_failed).take(count).map(|(entry, ..)| entry).collect()
}

/// Returns the ends of iterations that were the same, the last ones before it was said that the run will end: with lanes
/// those of the lane that first has so many which completed nothing and failed alike, looked at from there.
fn repeats(entries: &[LogEntry]) -> Vec<&LogEntry> {
    let mut ends: BTreeMap<Option<u32>, (Vec<&LogEntry>, bool)> = BTreeMap::new();
    let class_of = |entry: &LogEntry| match &entry.record.event {
        Event::IterationFinished { failure, .. } => failure.as_ref().map(|failure| failure.class),
        _ => None,
    };
    let is_stopping = |entry: &LogEntry| matches!(entry.record.event, Event::Stopping { .. });
    let decided = entries.iter().rposition(is_stopping).unwrap_or(entries.len());
    for entry in entries.iter().take(decided).rev() {
        let Event::IterationFinished { completed, excused, .. } = &entry.record.event else { continue };
        let lane = entry.record.lane;
        // It is no result, and without lanes it interrupts none.
        if *excused && lane.is_none() {
            continue;
        }
        let (of_lane, has_moved) = ends.entry(lane).or_default();
        let differs = of_lane.first().is_some_and(|last| class_of(last) != class_of(entry));
        // One that was interrupted has nothing in common with others.
        *has_moved |= class_of(entry) == Some(FailureClass::Interrupted)
            || lane.is_some() && (*excused || !completed.is_empty() || differs);
        if *has_moved {
            continue;
        }
        of_lane.push(entry);
        if of_lane.len() == MAX_REPEATS {
            return std::mem::take(of_lane);
        }
    }
    ends.into_values().map(|(of_lane, _)| of_lane).max_by_key(Vec::len).unwrap_or_default()
}

/// Returns the changes by which tasks were left that somebody blocked, asked about or holds back: of each the last
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
            Event::PlanChanged { change: PlanChange::Blocked | PlanChange::Asked | PlanChange::Held, .. }
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

/// Returns the event that says what is in the way of landings, where nothing has landed since.
fn held_landing(entries: &[LogEntry]) -> Option<&LogEntry> {
    let is_of_landing = |entry: &&LogEntry| {
        matches!(entry.record.event, Event::LandingHeld { .. } | Event::TaskLanded { .. })
    };
    let last = entries.iter().rev().find(is_of_landing)?;
    matches!(last.record.event, Event::LandingHeld { .. }).then_some(last)
}

/// Says how a run stands that did not tell its end, by the last event that says whether it holds or is about to end.
fn stands(state: RunState, said: Option<&Event>, is_at_work: bool) -> String {
    let text = match (state, said) {
        (RunState::UnderWay, Some(Event::Stopping { reason, detail })) => {
            return format!("it has not stopped: it is about to end as {reason}{}", because(detail.as_ref()));
        }
        (_, Some(Event::Stopping { reason, detail })) => {
            let why = because(detail.as_ref());
            return format!("it was cut off when it was about to end as {reason}{why}");
        }
        (RunState::UnderWay, Some(Event::Paused)) if is_at_work => {
            "it has not stopped: its loop holds, and lanes end what they have begun"
        }
        (RunState::UnderWay, Some(Event::Paused)) => {
            "it has not stopped: its loop holds until somebody lets it go on"
        }
        (RunState::UnderWay, _) => "it has not stopped: its loop is at work",
        _ => "it was cut off: its loop is gone, and no end is recorded, nor why",
    };
    text.to_owned()
}

/// Returns what an end has behind its reason.
fn because(detail: Option<&String>) -> String {
    detail.map(|detail| format!(": {detail}")).unwrap_or_default()
}
