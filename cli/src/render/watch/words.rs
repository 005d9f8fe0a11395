//! The words of what is shown of a run.

use samuel_core::{
    event::PlanChange,
    model::{
        TaskId, Usage,
        payload::{Mode, TaskBrief},
    },
    text::{counted, dollars},
};

use crate::render::{named_ids, safe, safe_words};

/// How much of what an agent says or does fits into the moving line.
const ACTIVITY: usize = 60;

/// Names the command that merges a branch, unless it is the user's.
pub(in crate::render) fn taking_over(into: &str) -> String {
    match into.starts_with("samuel/") {
        true => format!("; `samuel run merge {}` merges it", safe(into)),
        false => String::new(),
    }
}

/// Names a branch with work that is not in what is checked out.
pub(in crate::render) fn unmerged(branch: &str) -> String {
    format!("{} has work that is not merged: `samuel run merge {}`", safe(branch), safe(branch))
}

/// Says what an iteration is about.
pub(super) fn about(mode: Mode, task: Option<&TaskBrief>) -> String {
    match (mode, task) {
        (Mode::Implementation, Some(task)) => format!("{} {}", safe(&task.id), safe(&task.title)),
        (Mode::Implementation, None) => "no task".to_owned(),
        (Mode::Discovery, _) => "discovery".to_owned(),
    }
}

/// Says what became of a task beside the loop.
pub(super) fn plan_changed(change: PlanChange, task: &TaskId, title: &str, reason: Option<&str>) -> String {
    let what = match change {
        PlanChange::Skipped => "skipped",
        PlanChange::Blocked => "blocked",
        PlanChange::Asked => "asked",
        PlanChange::Answered => "answered",
        PlanChange::Reset => "pending again",
        PlanChange::Added => "added",
        PlanChange::Reopened => "no longer completed",
        PlanChange::Removed => "removed from the plan",
        PlanChange::Held => "held back in the queue",
        PlanChange::LetGo => "let go of in the queue",
        _ => "changed",
    };
    let why = reason.map(|reason| format!(": {}", safe_words(reason))).unwrap_or_default();
    format!("{what}: {} {}{why}", safe(task.as_str()), safe(title))
}

/// Lists tasks.
pub(super) fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(|task| safe(task.as_str())).collect::<Vec<_>>().join(", ")
}

/// Counts tasks and names the first of them.
pub(super) fn some_ids(tasks: &[TaskId]) -> String {
    format!("{} ({})", tasks.len(), named_ids(tasks))
}

/// Says what was consumed, after a comma; nothing where nothing was.
pub(in crate::render) fn consumed(usage: Usage) -> String {
    let tokens =
        if usage.tokens() > 0 { format!(", {}", counted(usage.tokens(), "token")) } else { String::new() };
    let cost = usage.cost_usd.map(|cost| format!(", {}", dollars(cost))).unwrap_or_default();
    tokens + &cost
}

/// Shortens what an agent says or does to what fits into the moving line.
pub(super) fn shortened(text: &str) -> String {
    cut(text, ACTIVITY)
}

/// Shortens a text to so many characters.
pub(super) fn cut(text: &str, chars: usize) -> String {
    let mut short: String = text.chars().take(chars).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    safe(&short)
}

/// Writes somebody's words: the lines after the first are marked, so that none of them looks like one of
/// Samuel's.
pub(super) fn below(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n    | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_several_lines_are_marked_and_act_on_nothing() {
        assert_eq!(below("one\r\ntwo\u{1b}[2J\n"), "one\n    | two\\u{1b}[2J");
    }
}
