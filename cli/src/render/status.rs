//! Where a plan stands, as text.

use samuel_core::{
    history::Activity,
    model::{
        AgentTotal, Claim, ClaimPhase, Doing, ExitReason, LiveState, LiveWorker, Mark, ProgressStatus,
        Status, WaitingCall,
    },
    project::{NextStep, OpenQuestion, OtherPlan, ProjectStatus},
    text::{counted, counted_are, dollars},
};

use super::{
    Places,
    claims::claim_text,
    history::{failures_text, figures_text},
    holder_text, named_ids, remedy_text, safe, safe_words,
    tasks::name,
    time_of_day,
    watch::consumed,
    with_local_time,
};

/// How many reasons for being blocked are shown.
const REASONS: usize = 10;

/// Words where a plan stands and what the last runs did; `adding` says how tasks come into a plan that has
/// none.
pub(crate) fn status_text(
    status: &ProjectStatus,
    activity: &Activity,
    places: &Places,
    adding: &str,
) -> String {
    let tasks = &status.tasks;
    let mut text = format!("{} ({})\n", safe(&status.project), safe(&status.methodology));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<11}{value}\n"));
    if let Some(prd) = &status.source_prd {
        line("PRD", places.shown(prd));
    }
    let open = [
        (tasks.in_progress, "in progress"),
        (tasks.pending, "pending"),
        (tasks.skipped, "skipped"),
        (tasks.blocked, "blocked"),
    ];
    let open: String = open
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    let percent = tasks.percent.map(|percent| format!(" ({percent}%)")).unwrap_or_default();
    let marked = [
        (tasks.unchanged, Mark::NoChange),
        (tasks.by_other_agent, Mark::OtherAgent),
        (tasks.by_edit, Mark::Edit),
    ];
    let marked = marked.iter().filter(|(count, _)| *count > 0);
    let marked: String = marked.map(|(count, mark)| format!(", {count} {}", mark.told())).collect();
    line("Tasks", format!("{} of {} completed{percent}{marked}{open}", tasks.completed, tasks.total));
    let at_work = match &status.next {
        NextStep::Task { task } => status.running && task.status == Status::InProgress,
        NextStep::Discovery => status.running && status.progress.discovery_room.is_some(),
        _ => false,
    };
    line(if at_work { "At work" } else { "Next" }, next(status, adding));
    // With lanes each has a call of its own.
    for call in status.calls.iter().filter(|_| activity.lanes.is_empty()) {
        let of = call.worker.map(|worker| format!("worker {worker}: ")).unwrap_or_default();
        line("Agent", format!("{of}{}, {}", safe(&call.name()), safe(&call.why)));
    }
    if !status.only.is_empty() {
        line("Run for", format!("{}, and what they depend on", named_ids(&status.only)));
    }
    for (place, claim) in status.claims.iter().filter(|claim| claim.is_live()).enumerate() {
        let title = if place == 0 { "Claimed" } else { "" };
        let gone = status.gone(claim);
        line(title, format!("{} {}", name(claim.task.as_str()), claim_text(claim, gone.as_deref())));
    }
    let waits = |claim: &&Claim| claim.phase == ClaimPhase::Submitted;
    if let Some(held) = status.live.as_ref().and_then(|live| live.held.as_deref()) {
        let waiting = status.claims.iter().filter(waits).count();
        line("Landing", format!("{} for this: {}", waits_text(waiting), safe_words(held)));
    }
    let progress = &status.progress;
    if progress.total_iterations_run > 0 {
        let cost =
            if progress.cost_usd > 0.0 { format!(", {}", dollars(progress.cost_usd)) } else { String::new() };
        let tokens = if progress.tokens > 0 {
            format!(", {}", counted(progress.tokens, "token"))
        } else {
            String::new()
        };
        line("Iterations", format!("{}{tokens}{cost}", progress.total_iterations_run));
    }
    if let agents @ [_, _, ..] = status.agents.as_slice() {
        for AgentTotal { agent, usage } in agents {
            line("", format!("{}{}", safe(agent), consumed(*usage)));
        }
    }
    let holder = status.holder.as_ref().map(|holder| format!(", {}", holder_text(holder)));
    if let (true, Some(until)) = (status.running, status.waits_until) {
        line("Waiting", format!("until {}, for the agent's usage limit", time_of_day(until)));
    }
    match (status.running, progress.status) {
        (true, _) => line("Loop", format!("running{}", holder.unwrap_or_default())),
        (false, ProgressStatus::Running) => {
            let then = "a start takes back what no check has passed";
            line("Loop", format!("not running (the last one was cut off: {then})"));
        }
        (false, ended) => {
            line("Loop", format!("not running ({})", ended.as_str().replace('_', " ")));
            if let Some(end) = &status.last_end {
                line("Last run", end_text(end.reason, end.detail.as_deref()));
            }
        }
    }
    for plan in &status.other_plans {
        line("Other plan", other_plan_text(plan));
    }
    // Without a record, for example because it was removed, ask the loop itself.
    if let (None, [], Some(live)) = (&activity.now, activity.lanes.as_slice(), &status.live) {
        text.push_str(&format!("  {:<11}{}\n", "Now", does(live)));
    }
    text.push_str(&figures_text(activity));
    match &status.next {
        NextStep::Blocked { reasons } => listed(&mut text, "Blocked", reasons),
        NextStep::UnderWay { reasons, .. } => listed(&mut text, "Waiting", reasons),
        _ => {}
    }
    if let Some(help) = status.help() {
        text.push_str(&format!("help: {}\n", remedy_text(&help)));
    }
    questions(&mut text, &status.questions, status.more_questions);
    text.push_str(&status.live.as_ref().map(approvals_text).unwrap_or_default());
    text.push_str(&failures_text(activity));
    text
}

/// Describes what a run does, and each of its workers in an iteration.
pub(crate) fn does(state: &LiveState) -> String {
    let does = match state.doing {
        Doing::Waiting => Some("waits"),
        Doing::Paused => Some("holds until it is resumed"),
        Doing::Ending => Some("is about to end"),
        Doing::Ended => Some("has ended"),
        Doing::GettingReady if state.workers.is_empty() => Some("gets ready"),
        _ => None,
    };
    let at_work: Vec<String> = state.workers.iter().filter_map(worker_does).collect();
    match does {
        Some(does) => does.to_owned(),
        None if at_work.is_empty() => "is between two iterations".to_owned(),
        None => at_work.join(", "),
    }
}

/// Describes what a worker does in an iteration.
fn worker_does(state: &LiveWorker) -> Option<String> {
    let of = state.worker.map(|worker| format!("worker {worker} ")).unwrap_or_default();
    let iteration = state.iteration;
    match (state.doing, &state.task) {
        (Doing::Discovering, _) => Some(format!("{of}looks for tasks (iteration {iteration})")),
        (Doing::Working, Some(task)) => {
            let title = state.title.as_deref().map(safe).unwrap_or_default();
            Some(format!("{of}works on {} {title} (iteration {iteration})", safe(task)))
        }
        _ => None,
    }
}

fn waits_text(tasks: usize) -> String {
    if tasks == 1 { "1 task waits".to_owned() } else { format!("{} wait", counted(tasks, "task")) }
}

/// Lists why tasks cannot be worked on.
fn listed(text: &mut String, title: &str, reasons: &[String]) {
    text.push_str(&format!("{title}:\n"));
    let shown = reasons.iter().take(REASONS);
    shown.for_each(|reason| text.push_str(&format!("  {}\n", safe(&with_local_time(reason)))));
    if reasons.len() > REASONS {
        text.push_str(&format!("  and {} more\n", reasons.len() - REASONS));
    }
}

/// Lists the questions that are open, with the answers that are proposed.
fn questions(text: &mut String, questions: &[OpenQuestion], more: usize) {
    if questions.is_empty() {
        return;
    }
    text.push_str("Questions (answer with `samuel run answer <ID> <TEXT>`):\n");
    for OpenQuestion { task, title, question, options } in questions.iter().take(REASONS) {
        let options: Vec<String> = options.iter().map(|option| safe_words(option)).collect();
        let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join(" | ")) };
        let (task, title, question) = (safe(task.as_str()), safe(title), safe_words(question));
        text.push_str(&format!("  {task} {title}: {question}{options}\n"));
    }
    let left_out = questions.len().saturating_sub(REASONS).saturating_add(more);
    if left_out > 0 {
        text.push_str(&format!("  and {left_out} more\n"));
    }
}

/// Lists the tool calls that wait for a person.
fn approvals_text(live: &LiveState) -> String {
    if live.approvals.is_empty() {
        return String::new();
    }
    let line = |call: &WaitingCall| {
        let (tool, input, reason) =
            (safe(&call.ability_id), safe_words(&call.input), safe_words(&call.reason));
        format!("  {} {tool} {input}: {reason}\n", call.call)
    };
    let mut lines: String = live.approvals.iter().take(REASONS).map(line).collect();
    if live.approvals.len() > REASONS {
        lines.push_str(&format!("  and {} more\n", live.approvals.len() - REASONS));
    }
    format!("Wait for `samuel run approve --call <NUMBER>` or `deny`:\n{lines}")
}

/// Says whose another plan is, where it is and how far it is.
pub(crate) fn other_plan_text(plan: &OtherPlan) -> String {
    let stands = match &plan.tasks {
        Some(tasks) => format!("{} of {} completed", tasks.completed, tasks.total),
        None => "it cannot be read".to_owned(),
    };
    format!("{}, {}: {stands}", safe(&plan.methodology), safe(&plan.path.display().to_string()))
}

/// Says how a run ended.
pub(crate) fn end_text(reason: ExitReason, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{reason}: {}", safe(&with_local_time(detail))),
        None => reason.to_string(),
    }
}

fn next(status: &ProjectStatus, adding: &str) -> String {
    let total = status.tasks.total;
    let failed_check = status.last_end.as_ref().is_some_and(|end| end.reason == ExitReason::Blocked);
    match &status.next {
        NextStep::Task { task } => {
            let owner = task.owner.as_ref().filter(|_| status.running);
            let by = owner.map(|owner| format!(" (by {})", safe(owner))).unwrap_or_default();
            format!("{} {}{by}", safe(task.id.as_str()), safe(&task.title))
        }
        NextStep::Discovery if status.running && status.progress.discovery_room.is_some() => {
            "looking for tasks".to_owned()
        }
        NextStep::Discovery => "look for tasks".to_owned(),
        NextStep::AllDone if total == 0 => {
            format!("nothing: the plan has no tasks; {adding}")
        }
        NextStep::AllDone if failed_check => {
            "the quality checks: every task is settled, and none has passed since".to_owned()
        }
        NextStep::AllDone if status.running => {
            "nothing is open; what the agent completed last stands once it was checked".to_owned()
        }
        NextStep::AllDone if status.progress.status == ProgressStatus::Running => {
            "nothing is open, but the run was cut off: the next start takes back, or checks, what nothing checked"
                .to_owned()
        }
        NextStep::AllDone => "nothing: the plan is done".to_owned(),
        NextStep::Blocked { .. } if status.tasks.completed + status.tasks.skipped == total => {
            "nothing that can be read; `samuel doctor --fix` asks what to make of the rest".to_owned()
        }
        NextStep::UnderWay { tasks, .. } => {
            format!("nothing more: {} under way", counted_are(*tasks, "task"))
        }
        NextStep::Blocked { reasons } => match reasons.len() {
            1 => "nothing: 1 task is blocked".to_owned(),
            count => format!("nothing: {count} tasks are blocked"),
        },
    }
}
