//! What the agent is told of earlier work.
//!
//! [`progress_context`] is the default of `context.progress`: Markdown with a
//! summary line, what was learned, what was completed, where discovery has
//! looked and what failed last. Sections without entries are left out. The log
//! itself, and its rotation, belong to the [state](crate::state).

use std::{collections::HashSet, fmt::Write};

use super::{summary::plan_summary, task_context::recently_completed};
use crate::{
    context::{ContextLimits, FailedCheck},
    model::{FailureClass, Plan, Task},
    state::{ProgressEntry, ProgressKind, ProgressLog},
    text::{counted, one_line},
};

/// Areas that discovery explored, at most.
const MAX_EXPLORED: usize = 20;
/// Errors from the log, at most.
const MAX_ERRORS: usize = 5;
/// The longest entry, in characters; agents write some of them.
const MAX_ENTRY_CHARS: usize = 500;

/// The failures of the last quality check.
#[derive(Clone, Copy, Debug)]
pub struct Failures<'a> {
    /// The checks that failed.
    pub of_check: &'a [FailedCheck],
    /// Where they are told, so that the agent reads each of them once.
    pub told: ToldIn,
}

/// Where the failures of the last quality check are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldIn {
    /// Among the last failures of the progress context.
    Here,
    /// In the template of the prompt.
    InTheTemplate,
}

/// Tells of earlier work; `limits` say how many learnings and completions are
/// listed.
pub fn progress_context(
    plan: &Plan,
    log: &ProgressLog,
    failures: Failures<'_>,
    limits: &ContextLimits,
) -> String {
    let mut text = String::from("# Progress\n\n");
    let iterations = plan.progress.total_iterations_run;
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}; {} so far.", plan_summary(plan), counted(iterations, "iteration"));

    let learnings = latest(log, ProgressKind::Learning, limits.max_learnings as usize);
    section(&mut text, "Key learnings", &learnings);
    let completed = recently_completed(plan).take(limits.max_completed as usize).map(completion);
    section(&mut text, "Recent completions", &completed.collect::<Vec<_>>());
    section(&mut text, "Areas explored", &latest(log, ProgressKind::Explored, MAX_EXPLORED));
    let mut failed: Vec<String> = match failures.told {
        ToldIn::Here => failures.of_check.iter().map(failure).collect(),
        ToldIn::InTheTemplate => Vec::new(),
    };
    failed.extend(errors_beside(log, failures.of_check));
    section(&mut text, "Last failures", &failed);
    text
}

fn section(text: &mut String, heading: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {heading}\n");
    for entry in entries {
        let _ = writeln!(text, "- {entry}");
    }
}

/// Returns the last errors of the log without the one that is about the last
/// quality check, which is told elsewhere.
fn errors_beside(log: &ProgressLog, failures: &[FailedCheck]) -> Vec<String> {
    let told: Vec<String> =
        failures.iter().map(|failure| format!("{}: {}", failure.command, failure.message)).collect();
    let told = in_line(&format!("{}: {}", FailureClass::QualityCheck, told.join("; ")));
    let mut lines = latest(log, ProgressKind::Error, MAX_ERRORS + 1);
    if !failures.is_empty() {
        lines.retain(|line| !line.starts_with(&told));
    }
    let beyond = lines.len().saturating_sub(MAX_ERRORS);
    lines.split_off(beyond)
}

/// Returns the last notes of a kind, the oldest of them first, each text once.
fn latest(log: &ProgressLog, kind: ProgressKind, count: usize) -> Vec<String> {
    let mut seen = HashSet::new();
    let notes = log.notes(kind).rev().filter(|(_, text)| !text.trim().is_empty() && seen.insert(*text));
    let mut lines: Vec<String> = notes.take(count).map(|(entry, text)| note(entry, text)).collect();
    lines.reverse();
    lines
}

fn note(entry: &ProgressEntry, text: &str) -> String {
    let text = in_line(text);
    match &entry.task {
        Some(task) => format!("{text} (task {task})"),
        None => text,
    }
}

fn completion(task: &Task) -> String {
    let title = in_line(&task.title);
    match task.commit_sha.as_deref().and_then(|sha| sha.get(..sha.len().min(10))) {
        Some(sha) => format!("{} {title} ({sha})", task.id),
        None => format!("{} {title}", task.id),
    }
}

fn failure(check: &FailedCheck) -> String {
    format!("`{}`: {}", in_line(&check.command), in_line(&check.message))
}

/// Puts a text into one line of bounded length, so that it stays one entry.
fn in_line(text: &str) -> String {
    one_line(text, MAX_ENTRY_CHARS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::model::{Status, TaskId};

    fn plan() -> Plan {
        let completed = |n: usize| Task {
            status: Status::Completed,
            completed_at: Some(format!("2026-11-21T10:{n:02}:00Z").parse().unwrap()),
            commit_sha: Some(format!("{n:040}")),
            ..Task::new(TaskId::new(n.to_string()), format!("Title {n}"))
        };
        let mut tasks: Vec<Task> = (1..=12).map(completed).collect();
        tasks.push(Task::new(TaskId::new("13"), "Open"));
        let mut plan = Plan { tasks, ..Plan::default() };
        plan.progress.total_iterations_run = 14;
        plan
    }

    fn context(log: &str, failures: &[FailedCheck]) -> String {
        let failures = Failures { of_check: failures, told: ToldIn::Here };
        progress_context(&plan(), &ProgressLog::parse(log), failures, &ContextLimits::default())
    }

    fn lines<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
        let from = text.lines().skip_while(|line| *line != format!("## {heading}")).skip(2);
        from.take_while(|line| line.starts_with("- ")).collect()
    }

    #[test]
    fn a_new_plan_has_a_summary_and_no_empty_sections() {
        let failures = Failures { of_check: &[], told: ToldIn::Here };
        let text =
            progress_context(&Plan::default(), &ProgressLog::default(), failures, &ContextLimits::default());
        assert_eq!(text, "# Progress\n\n0 of 0 tasks completed; 0 iterations so far.\n");
    }

    #[test]
    fn the_last_fifty_learnings_are_told_in_order_and_once() {
        let mut log: String =
            (0..60).map(|n| format!("[2026-11-21T10:00:00Z] [task:{n}] LEARNING: fact {n}\n")).collect();
        log += "[2026-11-21T11:00:00Z] LEARNING: fact 59\nwhat an agent wrote by itself\n";
        let text = context(&log, &[]);
        let learnings = lines(&text, "Key learnings");
        assert_eq!(learnings.len(), 50);
        assert_eq!((learnings.first(), learnings.last()), (Some(&"- fact 10 (task 10)"), Some(&"- fact 59")));
    }

    #[test]
    fn the_last_ten_completions_are_told_with_their_commits() {
        let text = context("", &[]);
        let completions = lines(&text, "Recent completions");
        assert_eq!(completions.len(), 10);
        assert_eq!(completions.first(), Some(&"- 12 Title 12 (0000000000)"));
        assert!(text.contains("\n12 of 13 tasks completed, 1 pending; 14 iterations so far.\n"), "{text}");
    }

    #[test]
    fn failures_of_the_last_check_stand_before_errors_of_the_log() {
        let check = FailedCheck {
            command: "cargo test".to_owned(),
            message: "exit code 101".to_owned(),
            ..FailedCheck::default()
        };
        let log = "[2026-11-21T10:00:00Z] [iteration:2] ERROR: agent\u{240a}crashed\n\
                   [2026-11-21T10:00:00Z] EXPLORED: src/parser\n";
        let text = context(log, &[check]);
        assert_eq!(lines(&text, "Last failures"), ["- `cargo test`: exit code 101", "- agent crashed"]);
        assert_eq!(lines(&text, "Areas explored"), ["- src/parser"]);
    }

    #[test]
    fn a_failure_that_the_template_tells_is_told_by_it_alone() {
        let check = FailedCheck {
            command: "cargo test".to_owned(),
            message: "exit code 101".to_owned(),
            ..FailedCheck::default()
        };
        let log = "[2026-11-21T10:00:00Z] [iteration:1] ERROR: quality-check: cargo test: exit code 1\n\
                   [2026-11-21T10:00:00Z] [iteration:2] ERROR: quality-check: cargo test: exit code 101\n";
        let failures = Failures { of_check: &[check], told: ToldIn::InTheTemplate };
        let log = ProgressLog::parse(log);
        let text = progress_context(&plan(), &log, failures, &ContextLimits::default());
        assert_eq!(lines(&text, "Last failures"), ["- quality-check: cargo test: exit code 1"]);
    }

    #[test]
    fn no_entry_is_longer_than_a_few_lines() {
        let log = format!("[2026-11-21T10:00:00Z] LEARNING: {}\n", "ü".repeat(5_000));
        let text = context(&log, &[]);
        assert!(text.chars().count() < 1_500, "{}", text.len());
    }
}
