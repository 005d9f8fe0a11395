//! What happened in runs, as text.

use std::time::Duration;

use samuel_core::{
    history::{Activity, Eta, EventRef, Now, RunKind, RunList, RunState, RunSummary, Why, WhyReason},
    text::{counted, lasting},
};

use super::{
    columns, named_ids, remedy_text, safe, safe_words, time_of_day,
    watch::{consumed, unmerged},
    with_local_time,
};

/// How many reasons are shown, and how many tasks of the figures.
const MAX_REASONS: usize = 30;
const MAX_TASKS: usize = 10;

/// Words a list of runs, one line each.
pub(crate) fn run_table(list: &RunList) -> String {
    if list.runs.is_empty() {
        return "no run is recorded here\n".to_owned();
    }
    let rows: Vec<[String; 5]> = list.runs.iter().map(row).collect();
    let mut text = columns(&rows);
    if list.more > 0 {
        text.push_str(&format!("and {} before these\n", counted(list.more, "run")));
    }
    text
}

fn row(run: &RunSummary) -> [String; 5] {
    let state = match (run.state, run.exit_reason) {
        _ if run.problem.is_some() => "unreadable".to_owned(),
        (_, Some(reason)) => reason.to_string(),
        (RunState::UnderWay, None) => "under way".to_owned(),
        (_, None) => "cut off".to_owned(),
    };
    let failed = if run.failed_iterations > 0 {
        format!(" ({} failed)", run.failed_iterations)
    } else {
        String::new()
    };
    let done = if run.completed.is_empty() {
        String::new()
    } else {
        format!(", completed {}", named_ids(&run.completed))
    };
    let unmerged =
        run.unmerged.as_deref().map(|branch| format!("; {}", unmerged(branch))).unwrap_or_default();
    let later = if run.begins_later { "; the beginning of its record is missing" } else { "" };
    let said = match &run.problem {
        Some(problem) => safe_words(problem),
        None if run.kind == RunKind::Landing => format!("a landing without a loop{done}{unmerged}{later}"),
        None => {
            format!(
                "{}{failed}{}{done}{unmerged}{later}",
                counted(run.iterations, "iteration"),
                consumed(run.usage)
            )
        }
    };
    let started = run.started_at.map(time_of_day).unwrap_or_default();
    [run.run.clone(), started, lasting(Duration::from_millis(run.took_ms)), state, said]
}

/// Words an answer: the answer, the reasons, and the events that they rest on.
pub(crate) fn why_text(why: &Why) -> String {
    let mut text = format!("{}: {}\n", safe(&why.about), safe_words(&with_local_time(&why.answer)));
    for reason in why.reasons.iter().take(MAX_REASONS) {
        text.push_str(&reason_text(reason));
    }
    if why.reasons.len() > MAX_REASONS {
        text.push_str(&format!("  and {} more\n", why.reasons.len() - MAX_REASONS));
    }
    if let Some(help) = why.help() {
        text.push_str(&format!("help: {}\n", remedy_text(&help)));
    }
    text
}

fn reason_text(reason: &WhyReason) -> String {
    let events: Vec<String> = reason.events.iter().map(event).collect();
    let events = if events.is_empty() { String::new() } else { format!("  [{}]", events.join("; ")) };
    let mut text = format!("  {}{events}\n", safe_words(&reason.text));
    for detail in &reason.details {
        text.push_str(&format!("    | {}\n", safe(&with_local_time(detail))));
    }
    text
}

fn event(event: &EventRef) -> String {
    format!("event {} of {}, {}", event.seq, safe(&event.run), time_of_day(event.at))
}

/// Words what a loop does now and what the last runs cost, a line each, beside where the plan stands.
pub(super) fn figures_text(activity: &Activity) -> String {
    let mut text = String::new();
    // With lanes what each of them does, and what was told last where none is at work.
    let last = activity.now.iter().filter(|_| activity.lanes.is_empty());
    for (place, now) in activity.lanes.iter().chain(last).enumerate() {
        let label = if place == 0 { "Now" } else { "" };
        text.push_str(&format!("  {label:<11}{}\n", now_text(now)));
    }
    if activity.runs == 0 {
        return text;
    }
    text.push_str(&format!("  {:<11}{}\n", "Time left", eta_text(&activity.eta)));
    for share in
        activity.agents.iter().filter(|share| share.usage.tokens() > 0 || share.usage.cost_usd.is_some())
    {
        let calls = counted(share.calls, "call");
        text.push_str(&format!(
            "  {:<11}{}: {calls}{}\n",
            "Agent",
            safe(&share.agent),
            consumed(share.usage)
        ));
    }
    text
}

/// Words what is done, and where.
fn now_text(now: &Now) -> String {
    let lane = now.lane.map(|lane| format!("[{lane}] ")).unwrap_or_default();
    let of = match (now.iteration, &now.task) {
        (Some(number), Some(task)) => {
            format!("iteration {number}, {} {}: ", safe(task.as_str()), safe(&now.title))
        }
        (Some(number), None) => format!("iteration {number}: "),
        (None, _) => String::new(),
    };
    // Without lanes the status has a line of its own for it.
    let agent = now.agent.as_ref().filter(|_| now.lane.is_some());
    let agent = agent.map(|agent| format!(", by {}", safe(agent))).unwrap_or_default();
    format!("{lane}{of}{}{agent}", safe_words(&now.doing))
}

/// Words which tasks took long in the last runs, and what failed there.
pub(super) fn failures_text(activity: &Activity) -> String {
    let mut text = String::new();
    let mut tasks: Vec<_> =
        activity.tasks.iter().filter(|task| task.iterations > 1 || task.failed > 0).collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.iterations));
    if !tasks.is_empty() {
        text.push_str("Tasks that took more than one iteration, or failed:\n");
    }
    for task in tasks.into_iter().take(MAX_TASKS) {
        let failed = if task.failed > 0 { format!(", {} failed", task.failed) } else { String::new() };
        let back = if task.taken_back > 0 {
            format!(", taken back {}", times(task.taken_back))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "  {}: {}{failed}{back}{}\n",
            safe(task.task.as_str()),
            counted(task.iterations, "iteration"),
            consumed(task.usage)
        ));
    }
    if !activity.last_failures.is_empty() {
        text.push_str("Last failures:\n");
    }
    for failure in &activity.last_failures {
        let task =
            failure.task.as_ref().map(|task| format!(", task {}", safe(task.as_str()))).unwrap_or_default();
        text.push_str(&format!(
            "  {} iteration {}{task}: {}: {}\n",
            time_of_day(failure.event.at),
            failure.iteration,
            safe(&failure.class),
            safe_words(&failure.message)
        ));
    }
    text
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn eta_text(eta: &Eta) -> String {
    match (eta.low_ms, eta.high_ms, &eta.unknown) {
        _ if eta.tasks == 0 => "none: no task is open".to_owned(),
        (Some(low), Some(high), _)
            if lasting(Duration::from_millis(low)) == lasting(Duration::from_millis(high)) =>
        {
            format!(
                "{} of work for {}, by {} so far",
                lasting(Duration::from_millis(low)),
                counted(eta.tasks, "task"),
                counted(eta.iterations, "iteration")
            )
        }
        (Some(low), Some(high), _) => format!(
            "{} to {} of work for {}, by {} so far",
            lasting(Duration::from_millis(low)),
            lasting(Duration::from_millis(high)),
            counted(eta.tasks, "task"),
            counted(eta.iterations, "iteration")
        ),
        (_, _, Some(unknown)) => safe_words(unknown),
        _ => "unknown".to_owned(),
    }
}
