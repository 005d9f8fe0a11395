//! Why a check failed.

use super::{PassedOver, Why, WhyReason, damaged, the_last};
use crate::{
    event::CheckResult,
    history::{
        CheckHistory, EventRef, History, HistoryError,
        words::{ids, verdict},
    },
    model::payload::CheckFailure,
    text::excerpt,
};

/// How many lines of what a check printed are told, the last ones, and how much of each in bytes.
const MAX_LINES: usize = 12;
const MAX_LINE_BYTES: usize = 400;
/// What is read of a record.
const WANTED: &[&str] = &["quality_checked", "run_started"];

impl History {
    pub(super) fn why_check(&self) -> Result<Why, HistoryError> {
        let about = "the last check".to_owned();
        let runs = self.last_runs()?;
        if runs.is_empty() {
            return Err(HistoryError::NoRuns);
        }
        let (mut looked_at, mut passed_over) = (0, PassedOver::default());
        let (mut last, mut nothing_to_ask): (Option<CheckHistory>, Option<CheckHistory>) = (None, None);
        let mut of_queue: Option<CheckHistory> = None;
        // The first of those that failed in a row, and the one before it, which did not.
        let (mut since, mut before): (Option<CheckHistory>, Option<CheckHistory>) = (None, None);
        'runs: for run in &runs {
            looked_at += 1;
            let Some(folded) = passed_over.read(run, self.folded(run, WANTED)) else { continue };
            passed_over.damaged.extend(damaged(run, folded.gaps.unreadable));
            if last.is_none() {
                of_queue =
                    folded.checks.iter().rev().find(|check| is_of_queue(check) && says(check)).cloned();
            }
            for check in folded.checks.into_iter().rev() {
                if last.as_ref().is_some_and(|last| is_beside(&check, last)) {
                    continue;
                }
                let has_failed = match check.result {
                    CheckResult::Passed => false,
                    CheckResult::Failed | CheckResult::Advisory => true,
                    // Neither this nor the next says how the work is.
                    CheckResult::Cancelled => continue,
                    // It is unverified.
                    _ => {
                        nothing_to_ask.get_or_insert(check);
                        continue;
                    }
                };
                if last.is_none() {
                    last = Some(check.clone());
                }
                if !has_failed {
                    before = Some(check);
                    break 'runs;
                }
                since = Some(check);
            }
        }
        let (read, unread) = passed_over.of(looked_at)?;
        let Some(last) = last else {
            let runs = the_last(read);
            let (answer, reasons) = match nothing_to_ask {
                Some(asked) => {
                    let reason =
                        WhyReason { events: vec![asked.event], ..WhyReason::new(verdict(asked.result)) };
                    (
                        format!("nothing was checked in {runs}, for want of anything to check with"),
                        vec![reason],
                    )
                }
                None => (format!("no check is recorded in {runs}"), Vec::new()),
            };
            return Ok(Why { unread, ..Why::of(about, answer, reasons) });
        };
        let Some(since) = since else {
            let answer = format!("{} {}{}", verdict(last.result), place(&last), at(&last));
            let events = vec![last.event.clone()];
            let mut reasons = vec![WhyReason { events, ..WhyReason::new("it passed") }];
            reasons.extend(beside(&last, of_queue));
            return Ok(Why { unread, ..Why::of(about, answer, reasons) });
        };
        let commands: Vec<&str> = last.failures.iter().map(|failure| failure.command.as_str()).collect();
        let what = match (commands.as_slice(), &last.reason) {
            ([], Some(reason)) => format!(": {reason}"),
            ([], None) => String::new(),
            (commands, _) => format!(": {}", commands.join(", ")),
        };
        let mut answer = format!("{}{what}", verdict(last.result));
        answer.push_str(&match &since.commit {
            Some(commit) => format!(", since commit {commit}"),
            None => format!(", since the one {}", place(&since)),
        });
        let mut reasons: Vec<WhyReason> =
            last.failures.iter().map(|failure| of(failure, &last.event)).collect();
        if let Some(reason) = &last.reason {
            reasons.push(WhyReason { events: vec![last.event.clone()], ..WhyReason::new(reason) });
        }
        let first = format!("it failed first {}{}", of_run(&since), at(&since));
        reasons.push(WhyReason { events: vec![since.event], ..WhyReason::new(first) });
        reasons.push(match before {
            Some(passed) => WhyReason {
                events: vec![passed.event.clone()],
                ..WhyReason::new(format!("it passed last {}{}", of_run(&passed), at(&passed)))
            },
            None => WhyReason::new("no check that passed is recorded before it"),
        });
        reasons.extend(beside(&last, of_queue));
        Ok(Why { unread, ..Why::of(about, answer, reasons) })
    }
}

/// Says whether a check was of another work tree: of another lane, of another run with lanes, or of the queue.
fn is_beside(check: &CheckHistory, last: &CheckHistory) -> bool {
    check.lane != last.lane
        || is_of_queue(check) != is_of_queue(last)
        || check.lane.is_some() && check.event.run != last.event.run
}

fn is_of_queue(check: &CheckHistory) -> bool {
    !check.merged.is_empty()
}

/// Says whether a check says how the work is.
fn says(check: &CheckHistory) -> bool {
    !matches!(check.result, CheckResult::Cancelled | CheckResult::Unverified)
}

/// Tells of the last check of merged work, where the last one of all is of what a lane has made.
fn beside(last: &CheckHistory, of_queue: Option<CheckHistory>) -> Option<WhyReason> {
    let check = of_queue.filter(|_| !is_of_queue(last))?;
    let why: Vec<String> = match &check.reason {
        Some(reason) => vec![reason.clone()],
        None => check.failures.iter().map(|one| format!("{}: {}", one.command, one.message)).collect(),
    };
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
    let text = format!("before it {} {}{}{why}", verdict(check.result), place(&check), at(&check));
    Some(WhyReason { details: tails(&check.failures), events: vec![check.event], ..WhyReason::new(text) })
}

/// Says what was checked.
fn place(check: &CheckHistory) -> String {
    match (check.merged.as_slice(), check.iteration) {
        ([], 0) => "outside of an iteration".to_owned(),
        ([], iteration) => format!("in iteration {iteration}"),
        (merged, _) => format!("for the merged work of {}", ids(merged)),
    }
}

fn of_run(check: &CheckHistory) -> String {
    let of = if is_of_queue(check) { "in" } else { "of" };
    format!("{} {of} run {}", place(check), check.event.run)
}

fn at(check: &CheckHistory) -> String {
    check.commit.as_ref().map(|commit| format!(", at commit {commit}")).unwrap_or_default()
}

fn of(failure: &CheckFailure, event: &EventRef) -> WhyReason {
    let code = failure.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    let text = format!("{}{code}: {}", failure.command, failure.message);
    WhyReason {
        details: tails(std::slice::from_ref(failure)),
        events: vec![event.clone()],
        ..WhyReason::new(text)
    }
}

/// Returns the last lines that checks printed, and where the rest is.
pub(super) fn tails(failures: &[CheckFailure]) -> Vec<String> {
    let mut told = Vec::new();
    for failure in failures {
        let lines: Vec<&str> = failure.tail.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.iter().skip(lines.len().saturating_sub(MAX_LINES));
        told.extend(last.map(|line| excerpt(line, MAX_LINE_BYTES)));
        told.extend(failure.log.as_ref().map(|log| format!("all of it: {log}")));
    }
    told
}
