//! Events in words, one line each.

use std::time::Duration;

use crate::{
    agent::AgentEvent,
    event::{CheckResult, Event, PlanChange},
    hook::{HookPoint, HookStatus, LogLevel, Outcome},
    model::{
        Mark, TaskId, Usage,
        payload::{Mode, TaskBrief, Turn},
    },
    process,
    text::{counted, dollars, excerpt, lasting, names},
};

/// How much is told of one thing that somebody said, in bytes.
const MAX_SAID: usize = 300;
/// How many files are named one by one.
const MAX_FILES: usize = 5;
/// How many tasks are named one by one.
const MAX_TASKS: usize = 20;

/// Why an iteration was stopped whose task was settled or given back while its agent worked on it.
pub const LOST_ITS_TASK: &str = "its task was settled or given back";

/// Returns the word for the kind of an event, as its JSON has it.
pub fn event_name(event: &Event) -> &'static str {
    match event {
        Event::RunStarted { .. } => "run_started",
        Event::LandingStarted { .. } => "landing_started",
        Event::IterationStarted { .. } => "iteration_started",
        Event::HookFired { .. } => "hook_fired",
        Event::AgentStarted { .. } => "agent_started",
        Event::Agent { .. } => "agent",
        Event::AgentFinished { .. } => "agent_finished",
        Event::TaskCompleted { .. } => "task_completed",
        Event::TaskClaimed { .. } => "task_claimed",
        Event::TaskSubmitted { .. } => "task_submitted",
        Event::TaskLanded { .. } => "task_landed",
        Event::TaskReturned { .. } => "task_returned",
        Event::LandingHeld { .. } => "landing_held",
        Event::PlanChanged { .. } => "plan_changed",
        Event::TasksTakenBack { .. } => "tasks_taken_back",
        Event::QualityChecked { .. } => "quality_checked",
        Event::AbilityBlocked { .. } => "ability_blocked",
        Event::RequestRefused { .. } => "request_refused",
        Event::IterationFinished { .. } => "iteration_finished",
        Event::Waiting { .. } => "waiting",
        Event::Commanded { .. } => "commanded",
        Event::ApprovalAsked { .. } => "approval_asked",
        Event::ApprovalGiven { .. } => "approval_given",
        Event::Paused => "paused",
        Event::Resumed => "resumed",
        Event::Stopping { .. } => "stopping",
        Event::Warning { .. } => "warning",
        Event::Swept { .. } => "swept",
        Event::Lagged { .. } => "lagged",
        Event::RunFinished(_) => "run_finished",
        _ => "unknown",
    }
}

/// Lists the files that an agent left uncommitted, and the commit in which Samuel stored them, if it did. Returns
/// nothing if there are none.
pub fn left_uncommitted(files: &[String], commit: Option<&str>) -> Option<String> {
    let files = Some(names(files, MAX_FILES)).filter(|files| !files.is_empty())?;
    Some(match commit {
        Some(commit) => format!("committed for the agent as {}: {files}", hash(commit)),
        None => format!("uncommitted: {files}"),
    })
}

/// Says which attempt it was whose work did not land, or that it counts as none.
pub fn attempt_of_return(attempt: u32, excused: bool) -> String {
    if excused { " (counts as no attempt)".to_owned() } else { format!(", attempt {attempt}") }
}

/// Returns the beginning of a commit's hash.
fn hash(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Says on one line what an event tells; nothing where a reader learns nothing from it, such as a
/// point at which only built-in handlers stand that had nothing to say. The words of others are as
/// they said them: whoever shows the line escapes it.
pub fn event_line(event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted { resumed, agent, model, max_iterations, tasks, goes_on_from, .. } => {
            let model = model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
            let verb = if *resumed { "the run goes on" } else { "the run starts" };
            let from = goes_on_from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
            let limit = max_iterations.map(|max| format!(", at most {}", counted(max.get(), "iteration")));
            let tasks = if tasks.is_empty() { String::new() } else { format!(", for {}", ids(tasks)) };
            format!("{verb}{from} with {agent}{model}{}{tasks}", limit.unwrap_or_default())
        }
        Event::LandingStarted { into } => format!("a landing on {into} starts"),
        Event::IterationStarted { iteration, mode, task } => {
            format!("iteration {iteration} begins: {}", aim(*mode, task.as_ref()))
        }
        Event::HookFired { point, outcome, .. } => return hook_line(*point, outcome),
        Event::AgentStarted { turn, agent, model, why, .. } => {
            let model = model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
            let why = if why.is_empty() { String::new() } else { format!(", {why}") };
            format!("{agent}{model} is called{}{why}", of(*turn))
        }
        Event::Agent { report, .. } => return report_line(report),
        Event::AgentFinished { turn, exit_code, failure, usage, duration_ms, .. } => {
            let code = exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
            let failure = failure.as_ref().map(|failure| format!(", {}: {}", failure.class, failure.message));
            let took = took(*duration_ms);
            format!(
                "the agent ended{}{code} after {took}{}{}",
                of(*turn),
                consumed(*usage),
                failure.unwrap_or_default()
            )
        }
        Event::TaskCompleted { task, title, provisional, marks } => {
            let how = if *provisional { ", provisionally" } else { "" };
            let marks = Mark::told_of(marks).map(|marks| format!(" {marks}")).unwrap_or_default();
            format!("task {task} is completed{marks}{how}: {title}")
        }
        Event::TaskClaimed { task, attempt, branch, .. } => {
            let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            format!("task {task} is claimed{attempt}: {branch}")
        }
        Event::TaskSubmitted { task, commit, .. } => {
            format!("task {task} is submitted as {}", hash(commit))
        }
        Event::TaskLanded { task, into, commit } => {
            format!("task {task} has landed on {into} as {}", hash(commit))
        }
        Event::TaskReturned { task, attempt, reason, kept, excused } => {
            let kept = kept.as_ref().map(|kept| format!("; its work is kept as {kept}")).unwrap_or_default();
            let counted = attempt_of_return(*attempt, *excused);
            format!("task {task} did not land{counted}: {reason}{kept}")
        }
        Event::LandingHeld { into, reason } => format!("the landing on {into} waits: {reason}"),
        Event::PlanChanged { change, task, reason, actor, .. } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("task {task} {} by {actor}{why}", changed(*change))
        }
        Event::TasksTakenBack { tasks, reasons } => {
            format!("taken back: {} ({})", ids(tasks), reasons.join("; "))
        }
        Event::QualityChecked { result, failures, reason, merged, .. } => {
            let of =
                if merged.is_empty() { String::new() } else { format!("merged work of {}: ", ids(merged)) };
            let failures = failures.iter().map(|failure| format!("{}: {}", failure.command, failure.message));
            let why: Vec<String> = failures.chain(reason.clone()).collect();
            let why = if why.is_empty() { String::new() } else { format!(": {}", why.join("; ")) };
            format!("{of}{}{why}", verdict(*result))
        }
        Event::AbilityBlocked { ability_id, reason, prevented, .. } => {
            let how = if *prevented { "was blocked" } else { "was seen too late, and ended the turn" };
            format!("{ability_id} {how}: {reason}")
        }
        Event::IterationFinished {
            iteration,
            outcome,
            failure,
            completed,
            usage,
            excused,
            unrecorded,
            uncommitted,
            committed_for_agent,
            ..
        } => {
            if event.lost_its_task() {
                return Some(format!(
                    "iteration {iteration} was stopped: {LOST_ITS_TASK}{}",
                    consumed(*usage)
                ));
            }
            let outcome = if *excused { "met a usage limit" } else { outcome.as_str() };
            let done =
                if completed.is_empty() { String::new() } else { format!(", completed {}", ids(completed)) };
            let failure = failure.as_ref().map(|failure| format!(", {}: {}", failure.class, failure.message));
            let failure = failure.unwrap_or_default();
            let left = left_uncommitted(uncommitted, committed_for_agent.as_deref());
            let left = left.map(|left| format!(", {left}")).unwrap_or_default();
            let silent = if *unrecorded { ", but the task was not recorded as done" } else { "" };
            format!("iteration {iteration} {outcome}{silent}{done}{}{failure}{left}", consumed(*usage))
        }
        Event::Waiting { wait_ms, reason, until } => {
            let until = until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
            let wait = if *wait_ms > 0 { format!(" {}", took(*wait_ms)) } else { String::new() };
            format!("waits{wait}{until}: {reason}")
        }
        Event::RequestRefused { verb, code, message, count, .. } => {
            let verb = verb.as_ref().map(|verb| format!("{verb} ")).unwrap_or_default();
            let count = if *count > 1 { format!(", {count} times so far") } else { String::new() };
            format!("{verb}refused over the run's socket: {message} ({code}{count})")
        }
        Event::Commanded { command, by, text } => {
            let told = text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("{} by {by}{told}", command_words(command))
        }
        Event::ApprovalAsked { call, ability_id, input, reason, .. } => {
            format!("call {call}, {ability_id}, waits for approval: {reason}: {input}")
        }
        Event::ApprovalGiven { call, approved, reason } => {
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("call {call} is {}{why}", if *approved { "approved" } else { "denied" })
        }
        Event::Paused => "paused".to_owned(),
        Event::Resumed => "resumed".to_owned(),
        Event::Stopping { reason, detail } => format!("stopping: {reason}{}", in_brackets(detail.as_deref())),
        Event::Warning { message } => format!("warning: {message}"),
        Event::Swept { swept, ended, left } => {
            let (ended, left) = (process::listed(ended), process::listed(left));
            let doubt = if *swept { "" } else { "; some may be left" };
            format!("processes ended: [{ended}], left: [{left}]{doubt}")
        }
        Event::Lagged { lost } => {
            let verb = if *lost == 1 { "is" } else { "are" };
            format!("{} of what the agent said {verb} not recorded", counted(*lost, "event"))
        }
        Event::RunFinished(report) => format!(
            "the run ended: {}{}, {}, completed {}",
            report.exit_reason,
            in_brackets(report.detail.as_deref()),
            counted(report.iterations, "iteration"),
            if report.completed.is_empty() { "nothing".to_owned() } else { ids(&report.completed) }
        ),
        _ => return None,
    })
}

fn hook_line(point: HookPoint, outcome: &Outcome) -> Option<String> {
    let is_built_in = |handler: &str| !handler.contains(':');
    // How a check of the built-in handler went is told by an event of its own.
    let is_told = point == HookPoint::QualityCheck;
    let is_well = |status| status == HookStatus::Ok || is_told && status == HookStatus::Refused;
    let is_quiet = outcome.timings.iter().all(|one| is_built_in(&one.handler) && is_well(one.status));
    let says_nothing = (outcome.refused.is_none() || is_told)
        && outcome.abort.is_none()
        && outcome.broken.is_empty()
        && outcome.said.is_empty()
        && outcome.logged.is_empty();
    if is_quiet && says_nothing && outcome.warnings.is_empty() && outcome.skipped.is_none() {
        return None;
    }
    let calls = outcome
        .timings
        .iter()
        .map(|timing| format!("{} {} in {}", timing.handler, timing.ended(), lasting(timing.took)));
    let mut parts: Vec<String> = calls.collect();
    parts.extend(outcome.skipped.as_ref().map(|why| format!("not called: {why}")));
    let has = |status| outcome.timings.iter().any(|timing| timing.status == status);
    let verb = if has(HookStatus::Asked) && !has(HookStatus::Refused) { "asks" } else { "refused" };
    parts.extend(outcome.refused.as_ref().map(|reason| format!("{verb}: {reason}")));
    parts.extend(outcome.broken.iter().map(|broken| format!("{} broke: {}", broken.handler, broken.failure)));
    if let (Some(abort), true) = (&outcome.abort, outcome.broken.is_empty()) {
        parts.push(format!("{} broke: {}", abort.handler, abort.failure));
    }
    parts.extend(
        outcome.warnings.iter().map(|warning| format!("{} warns: {}", warning.handler, warning.message)),
    );
    // One at `warn` is a warning already.
    let logged = outcome.logged.iter().filter(|line| line.level != LogLevel::Warn);
    parts.extend(logged.map(|line| format!("{} logs: {}", line.handler, short(&line.message))));
    let said = |said: &crate::hook::Said| format!("{} says: {}", said.handler, short(&said.item.content));
    parts.extend(outcome.said.iter().map(said));
    Some(format!("{point}: {}", parts.join("; ")))
}

fn report_line(report: &AgentEvent) -> Option<String> {
    Some(match report {
        AgentEvent::Ready { .. } | AgentEvent::Usage(_) => return None,
        AgentEvent::Text { text } => format!("> {}", short(text)),
        AgentEvent::ToolCall(call) => format!("{} {}", call.ability_id, short(&call.input.to_string())),
        AgentEvent::ToolResult(result) => {
            format!("{} {}", result.ability_id, format!("{:?}", result.status).to_lowercase())
        }
        AgentEvent::PermissionDenied { tool, message } => format!("{tool} was denied: {}", short(message)),
        AgentEvent::RateLimited { message, .. } => format!("usage limit: {}", short(message)),
        AgentEvent::SoftDeadline { remaining_ms } => format!("{} are left", took(*remaining_ms)),
        AgentEvent::Unreadable { line } => format!("unreadable: {}", short(line)),
        _ => return None,
    })
}

/// Keeps what somebody said on one line, and short.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    excerpt(&words.join(" "), MAX_SAID)
}

/// Says what an iteration is about.
pub(super) fn aim(mode: Mode, task: Option<&TaskBrief>) -> String {
    match (mode, task) {
        (Mode::Implementation, Some(task)) => format!("{} {}", task.id, task.title),
        (Mode::Implementation, None) => "no task".to_owned(),
        (Mode::Discovery, _) => "looking for tasks".to_owned(),
    }
}

/// Says how the checks went.
pub(super) fn verdict(result: CheckResult) -> &'static str {
    match result {
        CheckResult::Passed => "checks passed",
        CheckResult::Failed => "checks failed",
        CheckResult::Advisory => "checks failed, which is only advice",
        CheckResult::Cancelled => "checks were cancelled",
        // It is unverified.
        _ => "nothing to check with",
    }
}

/// Names what somebody asked of a run as the command line does.
pub fn command_words(command: &str) -> &str {
    match command {
        "cancel" => "stop",
        "stop" => "stop --now",
        command => command,
    }
}

fn changed(change: PlanChange) -> &'static str {
    match change {
        PlanChange::Skipped => "was skipped",
        PlanChange::Blocked => "was blocked",
        PlanChange::Reset => "was made pending again",
        PlanChange::Added => "was added",
        PlanChange::Reopened => "was reopened",
        PlanChange::Removed => "was removed",
        PlanChange::Asked => "waits for an answer, asked",
        PlanChange::Answered => "got its answer",
        PlanChange::Held => "is held back in the queue",
        PlanChange::LetGo => "was let go of in the queue",
        // It says something else.
        _ => "was changed",
    }
}

/// Names an extra turn.
pub(super) fn of(turn: Turn) -> &'static str {
    match turn {
        Turn::Main => "",
        Turn::Recovery => " (recovery)",
        Turn::Immediate => " (immediate)",
        Turn::Final => " (final)",
    }
}

/// Lists tasks, the first of many.
pub(super) fn ids(tasks: &[TaskId]) -> String {
    names(tasks, MAX_TASKS)
}

/// Says what was consumed, after a comma; nothing where that is not known.
pub(super) fn consumed(usage: Usage) -> String {
    let tokens =
        if usage.tokens() > 0 { format!(", {}", counted(usage.tokens(), "token")) } else { String::new() };
    let cost = usage.cost_usd.map(|cost| format!(", {}", dollars(cost))).unwrap_or_default();
    tokens + &cost
}

/// Writes how long something took.
pub(super) fn took(ms: u64) -> String {
    lasting(Duration::from_millis(ms))
}

pub(super) fn in_brackets(detail: Option<&str>) -> String {
    detail.map(|detail| format!(" ({detail})")).unwrap_or_default()
}
