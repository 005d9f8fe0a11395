//! A run that was played to its end, and its transcript.

use std::fmt::{self, Write};

use crate::{
    agent::AgentEvent,
    event::{Event, EventRecord, RunReport},
    history::{History, HistoryError},
    hook::{HookPoint, Outcome},
    machine::Replay,
    model::{
        TaskId,
        payload::{Deliver, Turn},
    },
    process,
    text::counted,
};

/// Everything a run told, and what came of it.
#[derive(Clone, Debug)]
pub struct Played {
    /// Every event, in order.
    pub events: Vec<EventRecord>,
    /// What came of the run.
    pub report: RunReport,
    /// The project's directory, which a transcript does not name.
    pub(super) root: String,
    /// Where its record is.
    pub(super) history: History,
}

impl Played {
    /// Returns the points that fired, in the order they were done.
    pub fn points(&self) -> Vec<HookPoint> {
        self.hooks().map(|(point, _)| point).collect()
    }

    /// Returns how often a point fired.
    pub fn count(&self, point: HookPoint) -> usize {
        self.hooks().filter(|(fired, _)| *fired == point).count()
    }

    /// Returns what came of a point, each time it fired.
    pub fn outcomes(&self, point: HookPoint) -> Vec<&Outcome> {
        self.hooks().filter(|(fired, _)| *fired == point).map(|(_, outcome)| outcome).collect()
    }

    fn hooks(&self) -> impl Iterator<Item = (HookPoint, &Outcome)> {
        self.events.iter().filter_map(|record| match &record.event {
            Event::HookFired { point, outcome, .. } => Some((*point, outcome)),
            _ => None,
        })
    }

    /// Feeds the recorded inputs of the run to a fresh machine, and compares what follows.
    ///
    /// # Errors
    /// Returns what [`History::replay`] returns.
    pub fn replay(&self) -> Result<Replay, HistoryError> {
        let run = self.events.first().map(|record| record.run_id.to_string());
        self.history.replay(&self.history.resolve(run.as_deref())?)
    }

    /// Returns the past of the project that it was a run of.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Writes the run down as a [`transcript`], with `<root>` for the project's
    /// directory.
    pub fn transcript(&self) -> String {
        transcript(&self.events).replace(&self.root, "<root>")
    }
}

/// Writes events as text that is the same for the same run: one line an event,
/// handlers with how they ended, no times, `<run>` for the run's id.
///
/// It is meant for snapshot tests: what changes in it has changed in the run.
pub fn transcript(events: &[EventRecord]) -> String {
    let mut text = String::new();
    for record in events {
        // Writing to a string cannot fail.
        let _ = write_event(&mut text, &record.event);
    }
    match events.first() {
        Some(record) => text.replace(&*record.run_id, "<run>"),
        None => text,
    }
}

fn write_event(text: &mut String, event: &Event) -> fmt::Result {
    match event {
        Event::RunStarted { resumed, agent, max_iterations, tasks, .. } => {
            let verb = if *resumed { "goes on" } else { "starts" };
            let limit = max_iterations.map(|max| format!(", at most {}", counted(max.get(), "iteration")));
            let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
            let tasks = if ids.is_empty() { String::new() } else { format!(", for {}", ids.join(", ")) };
            writeln!(text, "run {verb} with {agent}{}{tasks}", limit.unwrap_or_default())
        }
        Event::IterationStarted { iteration, mode, task } => {
            let mode = format!("{mode:?}").to_lowercase();
            let task = task.as_ref().map(|task| format!(" of {} {}", task.id, one_line(&task.title)));
            writeln!(text, "iteration {iteration}: {mode}{}", task.unwrap_or_default())
        }
        Event::HookFired { point, turn, outcome, .. } => write_hook(text, *point, *turn, outcome),
        Event::AgentStarted { turn, agent, .. } => writeln!(text, "agent {agent} is called{}", of(*turn)),
        Event::Agent { report, .. } => write_report(text, report),
        Event::AgentFinished { turn, exit_code, failure, .. } => {
            let code = exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
            let failure = failure.as_ref().map(|f| format!(", {}: {}", f.class, one_line(&f.message)));
            writeln!(text, "agent ended{}{code}{}", of(*turn), failure.unwrap_or_default())
        }
        Event::TaskCompleted { task, provisional, .. } => {
            writeln!(text, "task {task} completed{}", if *provisional { ", provisionally" } else { "" })
        }
        Event::TaskClaimed { task, attempt, .. } => writeln!(text, "task {task} claimed, attempt {attempt}"),
        Event::TaskSubmitted { task, .. } => writeln!(text, "task {task} submitted"),
        Event::TaskLanded { task, into, .. } => writeln!(text, "task {task} landed on {}", one_line(into)),
        Event::TaskReturned { task, attempt, reason, .. } => {
            writeln!(text, "task {task} returned, attempt {attempt}: {}", one_line(reason))
        }
        Event::LandingStarted { into } => writeln!(text, "landing on {} starts", one_line(into)),
        Event::LandingHeld { reason, .. } => writeln!(text, "landing held: {}", one_line(reason)),
        Event::TasksTakenBack { tasks, reasons } => {
            let tasks: Vec<&str> = tasks.iter().map(|task| task.as_str()).collect();
            writeln!(text, "tasks taken back: {} ({})", tasks.join(", "), one_line(&reasons.join("; ")))
        }
        Event::QualityChecked { ok, failures, .. } => {
            writeln!(text, "checks {}", if *ok { "passed" } else { "failed" })?;
            failures.iter().try_for_each(|failure| {
                writeln!(text, "  {}: {}", one_line(&failure.command), one_line(&failure.message))
            })
        }
        Event::IterationFinished { iteration, outcome, failure, completed, consecutive_failures, .. } => {
            let completed: Vec<&str> = completed.iter().map(|task| task.as_str()).collect();
            write!(text, "iteration {iteration} {outcome}, completed [{}]", completed.join(", "))?;
            match failure {
                Some(failure) => writeln!(
                    text,
                    ", {}: {}, {consecutive_failures} in a row",
                    failure.class,
                    one_line(&failure.message)
                ),
                None => writeln!(text),
            }
        }
        Event::Waiting { wait_ms, reason, until } => {
            write!(text, "waits {wait_ms} ms: {}", one_line(reason))?;
            match until {
                Some(until) => writeln!(text, ", until {until}"),
                None => writeln!(text),
            }
        }
        Event::PlanChanged { change, task, reason, .. } => {
            writeln!(text, "task {task} {change:?}{}", in_brackets(reason))
        }
        Event::RequestRefused { code, message, .. } => {
            writeln!(text, "request refused: {} ({code})", one_line(message))
        }
        Event::AbilityBlocked { ability_id, reason, .. } => {
            writeln!(text, "{} blocked: {}", one_line(ability_id), one_line(reason))
        }
        Event::Commanded { command, by, text: told } => {
            writeln!(text, "{command} by {}{}", one_line(by), in_brackets(told))
        }
        Event::ApprovalAsked { call, ability_id, reason, .. } => {
            writeln!(text, "call {call}, {}, waits for approval: {}", one_line(ability_id), one_line(reason))
        }
        Event::ApprovalGiven { call, approved, reason } => {
            let what = if *approved { "approved" } else { "denied" };
            writeln!(text, "call {call} {what}{}", in_brackets(reason))
        }
        Event::Paused => writeln!(text, "paused"),
        Event::Resumed => writeln!(text, "resumed"),
        Event::Stopping { reason, detail } => writeln!(text, "stopping: {reason}{}", in_brackets(detail)),
        Event::Warning { message } => writeln!(text, "warning: {}", one_line(message)),
        Event::Swept { swept, ended, left } => {
            let (ended, left) = (process::listed(ended), process::listed(left));
            writeln!(text, "processes ended: [{ended}], left: [{left}], swept: {swept}")
        }
        Event::Lagged { lost } => writeln!(text, "{lost} events lost"),
        Event::RunFinished(report) => writeln!(
            text,
            "run ended: {}{}, {}, {} failed, completed [{}]",
            report.exit_reason,
            in_brackets(&report.detail),
            counted(report.iterations, "iteration"),
            report.failed_iterations,
            report.completed.iter().map(|task| task.as_str()).collect::<Vec<_>>().join(", ")
        ),
        _ => Ok(()),
    }
}

fn write_hook(text: &mut String, point: HookPoint, turn: Turn, outcome: &Outcome) -> fmt::Result {
    write!(text, "{point}{}", of(turn))?;
    for (place, timing) in outcome.timings.iter().enumerate() {
        let separator = if place == 0 { ": " } else { ", " };
        write!(text, "{separator}{} {}", timing.handler, timing.ended())?;
    }
    if let Some(why) = &outcome.skipped {
        write!(text, ": skipped, {why}")?;
    }
    writeln!(text)?;
    if let Some(reason) = &outcome.refused {
        writeln!(text, "  refused: {}", one_line(reason))?;
    }
    if let Some(abort) = &outcome.abort {
        let action = format!("{:?}", abort.action).to_lowercase();
        writeln!(text, "  {action}: {} {}", abort.handler, one_line(&abort.failure.to_string()))?;
    }
    for warning in &outcome.warnings {
        writeln!(text, "  warning: {} {}: {}", warning.handler, warning.class, one_line(&warning.message))?;
    }
    for said in &outcome.said {
        let when = if said.item.deliver == Deliver::Now { "now" } else { "next" };
        writeln!(text, "  says ({when}): {}: {}", said.handler, one_line(&said.item.content))?;
    }
    Ok(())
}

fn write_report(text: &mut String, report: &AgentEvent) -> fmt::Result {
    match report {
        AgentEvent::Ready { .. } => Ok(()),
        AgentEvent::Text { text: said } => writeln!(text, "  > {}", one_line(said)),
        AgentEvent::ToolCall(call) => writeln!(text, "  {} {}", call.ability_id, one_line(&call.input)),
        AgentEvent::ToolResult(result) => {
            let status = format!("{:?}", result.status).to_lowercase();
            writeln!(text, "  {} {status}", result.ability_id)
        }
        AgentEvent::Usage(usage) => writeln!(text, "  {} tokens so far", usage.tokens()),
        AgentEvent::PermissionDenied { tool, message } => {
            writeln!(text, "  {tool} was denied: {}", one_line(message))
        }
        AgentEvent::RateLimited { message, .. } => writeln!(text, "  usage limit: {}", one_line(message)),
        AgentEvent::SoftDeadline { remaining_ms } => writeln!(text, "  {remaining_ms} ms are left"),
        AgentEvent::Unreadable { line } => writeln!(text, "  unreadable: {}", one_line(line)),
        _ => Ok(()),
    }
}

/// Names an extra turn.
fn of(turn: Turn) -> &'static str {
    match turn {
        Turn::Main => "",
        Turn::Recovery => " (recovery)",
        Turn::Immediate => " (immediate)",
        Turn::Final => " (final)",
    }
}

fn in_brackets(detail: &Option<String>) -> String {
    detail.as_ref().map(|detail| format!(" ({})", one_line(detail))).unwrap_or_default()
}

/// Keeps an event on its line, whatever its texts hold.
fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', "⏎").replace('\r', "")
}
