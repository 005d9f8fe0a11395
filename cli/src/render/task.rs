//! All that is known of one task, as text.

use samuel_core::{
    model::{Mark, Status},
    project::{Attempt, AttemptEnd, HistoryChange, RelatedTask, RelatedTasks, TaskHistory},
    text::{counted, dollars, lasting},
};

use super::{
    Places,
    claims::claim_text,
    safe, safe_words,
    tasks::{mark, name, parts_text},
    time_of_day,
};

/// How many characters of a text that somebody wrote are shown.
const MAX_TEXT: usize = 20_000;

/// Words all that is known of a task.
pub(crate) fn task_text(history: &TaskHistory, places: &Places) -> String {
    let task = &history.task;
    let mut text = format!("{} {}\n", name(task.id.as_str()), safe(&task.title));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<11}{value}\n"));
    line("Status", standing(history));
    line("Priority", task.priority.to_string());
    line("Complexity", task.complexity.to_string());
    line("Source", task.source.to_string());
    match (&history.claim, &task.owner) {
        (Some(claim), _) if claim.is_live() => {
            line("Claimed", claim_text(claim, history.gone.as_deref()));
        }
        (Some(claim), _) => line("Earlier", claim_text(claim, None)),
        (None, Some(owner)) => line("Owner", name(owner)),
        (None, None) => {}
    }
    if let Some(group) = history.group {
        line("Group", parts_text(group));
    }
    for (name, files) in [("Creates", &task.files_to_create), ("Changes", &task.files_to_modify)] {
        if !files.is_empty() {
            line(name, files.iter().map(|file| places.shown(file)).collect::<Vec<_>>().join(", "));
        }
    }
    if let Some(at) = task.created_at {
        line("Added", time_of_day(at));
    }
    if let Some(at) = task.completed_at {
        let by = task.iteration.map(|number| format!(", in iteration {number}")).unwrap_or_default();
        line("Completed", format!("{}{by}", time_of_day(at)));
    }
    if !history.commits.is_empty() {
        let commits: Vec<String> = history.commits.iter().map(|sha| safe(sha)).collect();
        line("Commits", commits.join(", "));
    }
    if !task.description.trim().is_empty() {
        text.push_str("Description\n");
        let shown: String = task.description.chars().take(MAX_TEXT).collect();
        shown.trim_end().lines().for_each(|line| text.push_str(&format!("  {}\n", safe(line))));
        if shown.len() < task.description.len() {
            text.push_str("  … the rest is in --json\n");
        }
    }
    for (name, items) in [("Acceptance", &task.acceptance), ("Guardrails", &task.guardrails)] {
        section(&mut text, name, 0, items.iter().map(|item| format!("- {}", safe_words(item))));
    }
    for (name, related) in [
        ("Part of", &history.parents),
        ("Parts", &history.parts),
        ("Depends on", &history.depends_on),
        ("Needed by", &history.dependents),
    ] {
        related_tasks(&mut text, name, related);
    }
    let attempts = history.attempts.iter().flat_map(|attempt| attempt_lines(attempt, places));
    section(&mut text, "Attempts", history.more_attempts, attempts);
    section(&mut text, "History", history.more_changes, history.changes.iter().map(change_line));
    if !history.whole {
        text.push_str("  what was before is in the journal no more\n");
    }
    text
}

/// Writes lines below a heading, and before them how many are left out.
fn section(text: &mut String, name: &str, left_out: usize, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    text.push_str(&format!("{name}\n"));
    if left_out > 0 {
        text.push_str(&format!("  {left_out} earlier\n"));
    }
    lines.for_each(|line| text.push_str(&format!("  {line}\n")));
}

fn related_tasks(text: &mut String, name: &str, related: &RelatedTasks) {
    section(text, name, 0, related.tasks.iter().map(related_line));
    if related.more > 0 {
        text.push_str(&format!("  and {} more\n", related.more));
    }
}

fn related_line(task: &RelatedTask) -> String {
    match task.status {
        Some(status) => format!("{} {} {}", mark(status), name(task.id.as_str()), safe(&task.title)),
        None => format!("{}, which does not exist", name(task.id.as_str())),
    }
}

/// Says where a task stands, and what follows for it.
fn standing(history: &TaskHistory) -> String {
    let task = &history.task;
    let status = task.status.as_str().replace('_', " ");
    if let Some(question) = task.open_question() {
        return format!("{status}, waits for an answer: {}", safe_words(&question.line()));
    }
    if let (Status::Skipped | Status::Blocked, Some(reason)) = (task.status, &task.skip_reason) {
        return format!("{status}: {}", safe_words(reason));
    }
    let waits: Vec<String> = history.waits_for.iter().map(|id| name(id.as_str())).collect();
    match (task.status, history.group.is_some()) {
        (Status::Pending, _) if !waits.is_empty() => format!("{status}, waits for {}", waits.join(", ")),
        (Status::Pending, false) if history.ready => format!("{status}, ready to be worked on"),
        _ => match Mark::told_of(&task.marks) {
            Some(marks) => format!("{status} {marks}"),
            None => status,
        },
    }
}

fn attempt_lines(attempt: &Attempt, places: &Places) -> Vec<String> {
    let iteration = match attempt.iteration {
        Some(number) => format!("iteration {number}"),
        None => "an iteration".to_owned(),
    };
    let run = attempt.run.as_ref().map(|run| format!(" of run {}", name(run))).unwrap_or_default();
    let worker = attempt.owner.as_deref().and_then(|owner| Some(owner.rsplit_once("/lane-")?.1));
    let worker = worker.map(|worker| format!(", worker {}", safe(worker))).unwrap_or_default();
    let began = time_of_day(attempt.began_at);
    let mut line = format!("{began}  {iteration}{run}{worker}: {}", end_text(attempt.end));
    if !attempt.agents.is_empty() {
        let agents: Vec<String> = attempt.agents.iter().map(|agent| safe(agent)).collect();
        line.push_str(&format!(", by {}", agents.join(", then ")));
    }
    if let Some(took) = attempt.ended_at.map(|end| end.duration_since(attempt.began_at)) {
        line.push_str(&format!(", {}", lasting(took.try_into().unwrap_or_default())));
    }
    if let Some(usage) = attempt.usage.filter(|usage| usage.tokens() > 0) {
        line.push_str(&format!(", {}", counted(usage.tokens(), "token")));
    }
    if let Some(cost) = attempt.usage.and_then(|usage| usage.cost_usd).filter(|cost| *cost > 0.0) {
        line.push_str(&format!(", {}", dollars(cost)));
    }
    let failures = attempt.failures.iter().map(|failure| format!("  {}", safe_words(failure)));
    let logs = attempt.logs.iter().map(|log| format!("  {}", places.shown(places.below(log))));
    [line].into_iter().chain(failures).chain(logs).collect()
}

fn end_text(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::UnderWay => "under way",
        AttemptEnd::Completed => "completed",
        AttemptEnd::Skipped => "skipped",
        AttemptEnd::Blocked => "blocked",
        AttemptEnd::TakenBack => "completed, and taken back",
        AttemptEnd::Failed => "failed",
        AttemptEnd::Open => "ended, and the task was open",
        AttemptEnd::Returned => "submitted, and did not land",
        AttemptEnd::CutOff => "cut off",
    }
}

fn change_line(change: &HistoryChange) -> String {
    let by = change.by.as_ref().map(|by| format!(" ({})", name(by))).unwrap_or_default();
    let mut line = format!(
        "{:<5} {}  {}{by}: {}",
        change.change,
        time_of_day(change.at),
        change.actor,
        safe(&change.what.replace('_', " "))
    );
    match (change.before, change.after) {
        (Some(before), Some(after)) => line.push_str(&format!(", {before} to {after}")),
        (None, Some(after)) => line.push_str(&format!(", {after}")),
        _ => {}
    }
    if !change.details.is_empty() {
        let details: Vec<String> = change.details.iter().map(|detail| safe_words(detail)).collect();
        line.push_str(&format!(": {}", details.join("; ")));
    }
    line
}
