//! A run, as it goes: lines as things happen, and on a terminal what happens now.
//!
//! Lines go to stdout, one as an iteration starts and one as it ends. The
//! moving line goes to stderr and only where both are a terminal.

use std::time::Duration;

use samuel_core::{
    agent::AgentEvent,
    engine::{Event, EventRecord, Failure, RunReport},
    model::{
        IterationOutcome, TaskId, Usage,
        payload::{Mode, TaskBrief},
    },
    process::Process,
};

use super::safe;
use crate::{
    reply::set_in,
    terminal::{self, MovingLine, Stream, remark},
};

/// How much of what an agent says or does fits into the moving line.
const ACTIVITY: usize = 60;

/// Shows a run to a person.
pub(crate) struct Watch {
    /// Whether there is a terminal to draw on.
    draws: bool,
    bar: Option<MovingLine>,
    max_iterations: u32,
    /// The iteration under way: its number, what it is about, its start.
    iteration: Option<(u32, String, jiff::Timestamp)>,
    /// What earlier calls of the agent consumed, and the one under way.
    spent: Usage,
    call: Usage,
    activity: String,
}

impl Watch {
    /// Begins to show a run; `draws` says whether there is a terminal.
    pub(crate) fn new(draws: bool) -> Self {
        Self {
            draws,
            bar: None,
            max_iterations: 0,
            iteration: None,
            spent: Usage::default(),
            call: Usage::default(),
            activity: "starting".to_owned(),
        }
    }

    /// Prints a line.
    pub(crate) fn line(&self, text: &str) {
        self.suspended(|| {
            // The run goes on whether or not its lines can be written.
            let _ = terminal::show(Stream::Out, &format!("{text}\n"));
        });
    }

    /// Ends the line on the terminal in which somebody was asked something.
    pub(crate) fn end_line(&self) {
        if self.draws {
            remark("");
        }
    }

    fn warn(&self, text: &str) {
        self.suspended(|| remark(&format!("warning: {}", set_in(text))));
    }

    fn suspended(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.beside(print),
            None => print(),
        }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, record: &EventRecord) {
        self.tell(record);
        self.follow(record);
        self.draw();
    }

    /// Prints the lines of an event that is worth some.
    fn tell(&mut self, record: &EventRecord) {
        match &record.event {
            Event::RunStarted { resumed, agent, max_iterations } => {
                let verb = if *resumed { "going on with" } else { "starting" };
                let (run, agent) = (&record.run_id, safe(agent));
                self.line(&format!("{verb} run {run} with {agent}, at most {max_iterations} iterations"));
            }
            Event::IterationStarted { iteration, mode, task } => {
                self.line(&format!("iteration {iteration}: {}", about(*mode, task.as_ref())));
            }
            Event::TaskCompleted { task, title, .. } => {
                self.line(&format!("  done: {} {}", safe(task.as_str()), safe(title)));
            }
            Event::TasksTakenBack { tasks, .. } => self.line(&format!("  taken back: {}", ids(tasks))),
            Event::QualityChecked { failures, .. } => {
                for failure in failures {
                    let (command, message) = (safe(&failure.command), safe(&failure.message));
                    self.line(&format!("  check failed: {command}: {message}"));
                }
            }
            Event::IterationFinished { iteration, outcome, failure, usage, .. } => {
                self.iteration_finished(*iteration, *outcome, failure.as_ref(), *usage, record.at);
            }
            Event::Warning { message } => self.warn(message),
            Event::Swept { swept, ended, left } => self.swept(*swept, ended, left),
            Event::HookFired { outcome, point, .. } => {
                for warning in &outcome.warnings {
                    self.warn(&format!("{point} {}: {}", warning.handler, warning.message));
                }
            }
            Event::RunFinished(report) => self.finished(report),
            _ => {}
        }
    }

    /// Says what was done without the supervisor, and what could not be.
    fn swept(&mut self, swept: bool, ended: &[Process], left: &[Process]) {
        let listed = |processes: &[Process]| {
            let listed: Vec<String> =
                processes.iter().map(|process| safe(&process.to_string()).to_string()).collect();
            listed.join(", ")
        };
        if !ended.is_empty() {
            self.line(&format!("  ended what a killed run had left: {}", listed(ended)));
        }
        if !left.is_empty() {
            self.warn(&format!("these processes could not be ended: {}", listed(left)));
        } else if !swept {
            self.warn("the supervisor of the agent was killed; processes may be left that cannot be found");
        }
    }

    /// Keeps what the moving line says.
    fn follow(&mut self, record: &EventRecord) {
        match &record.event {
            Event::RunStarted { max_iterations, .. } => {
                self.max_iterations = *max_iterations;
                // Not before: until now somebody may have been asked something.
                self.bar = self.draws.then(MovingLine::new);
            }
            Event::IterationStarted { iteration, mode, task } => {
                self.iteration = Some((*iteration, about(*mode, task.as_ref()), record.at));
                self.activity = "preparing".to_owned();
            }
            Event::AgentStarted { agent, .. } => {
                self.call = Usage::default();
                self.activity = format!("{} is at work", safe(agent));
            }
            Event::Agent { report, .. } => self.agent(report),
            Event::AgentFinished { usage, .. } => {
                self.spent += *usage;
                self.call = Usage::default();
                self.activity = "checking".to_owned();
            }
            Event::Waiting { wait_ms, reason } => {
                let wait = seconds(Duration::from_millis(*wait_ms));
                self.activity = format!("waiting {wait}: {}", safe(reason));
            }
            Event::Paused => self.activity = "paused".to_owned(),
            _ => {}
        }
    }

    fn agent(&mut self, report: &AgentEvent) {
        match report {
            AgentEvent::Text { text } => {
                let line = text.lines().rev().find(|line| !line.trim().is_empty());
                self.activity = line.map_or_else(String::new, shortened);
            }
            AgentEvent::ToolCall(call) => {
                self.activity = shortened(&format!("{} {}", call.ability_id, call.input));
            }
            AgentEvent::Usage(usage) => self.call = *usage,
            AgentEvent::PermissionDenied { tool, message } => {
                self.warn(&format!("the agent may not use {tool}: {message}"));
            }
            AgentEvent::RateLimited { message, .. } => self.warn(&format!("usage limit: {message}")),
            AgentEvent::SoftDeadline { remaining_ms } => {
                let left = seconds(Duration::from_millis(*remaining_ms));
                self.warn(&format!("the agent is ended in {left}"));
            }
            _ => {}
        }
    }

    fn iteration_finished(
        &mut self,
        iteration: u32,
        outcome: IterationOutcome,
        failure: Option<&Failure>,
        usage: Usage,
        at: jiff::Timestamp,
    ) {
        let started = self.iteration.take().map(|(_, _, started)| started).unwrap_or(at);
        let took = seconds(at.duration_since(started).unsigned_abs());
        let mut line = format!("iteration {iteration}: {outcome} in {took}{}", consumed(usage));
        if let Some(failure) = failure {
            line.push_str(&format!(", {}: {}", failure.class, safe(&failure.message)));
        }
        self.line(&line);
        self.activity = "between iterations".to_owned();
    }

    fn finished(&mut self, report: &RunReport) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
        let done = match report.completed.as_slice() {
            [] => "nothing".to_owned(),
            completed => ids(completed),
        };
        let failed = match report.failed_iterations {
            0 => String::new(),
            failed => format!(" ({failed} failed)"),
        };
        let detail = report.detail.as_deref().map(|detail| format!(": {}", safe(detail))).unwrap_or_default();
        self.line(&format!(
            "{}{detail}\n  iterations: {}{failed}{}\n  completed: {done}",
            report.exit_reason,
            report.iterations,
            consumed(report.usage)
        ));
    }

    fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        let mut total = self.spent;
        total += self.call;
        let what = match &self.iteration {
            Some((number, about, _)) => format!("{number}/{} · {about} · ", self.max_iterations),
            None => String::new(),
        };
        let cost = total.cost_usd.map(|cost| format!(" · ${cost:.2}")).unwrap_or_default();
        bar.say(&format!("{what}{}{cost}", self.activity));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }
}

/// Says what an iteration is about.
fn about(mode: Mode, task: Option<&TaskBrief>) -> String {
    match (mode, task) {
        (Mode::Implementation, Some(task)) => format!("{} {}", safe(&task.id), safe(&task.title)),
        (Mode::Implementation, None) => "no task".to_owned(),
        (Mode::Discovery, _) => "discovery".to_owned(),
    }
}

fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(|task| safe(task.as_str())).collect::<Vec<_>>().join(", ")
}

fn consumed(usage: Usage) -> String {
    let tokens = if usage.tokens() > 0 { format!(", {} tokens", usage.tokens()) } else { String::new() };
    let cost = usage.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
    tokens + &cost
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(ACTIVITY).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    safe(&short)
}

/// Writes a time as people read it.
pub(crate) fn seconds(duration: Duration) -> String {
    let secs = duration.as_secs();
    match secs {
        0..60 => format!("{:.1}s", duration.as_secs_f64()),
        60..3_600 => format!("{}m{:02}s", secs / 60, secs % 60),
        _ => format!("{}h{:02}m", secs / 3_600, secs % 3_600 / 60),
    }
}
