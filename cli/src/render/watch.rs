//! A run, as it goes: lines as things happen, and on a terminal what happens now.
//!
//! Lines go to stdout, one as an iteration starts and one as it ends. The
//! moving line goes to stderr and only where both are a terminal.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use samuel_core::{
    agent::AgentEvent,
    event::{CheckResult, Event, EventRecord, PlanChange, RunReport},
    hook::Speaker,
    model::{
        AgentTotal, IterationOutcome, TaskId, Usage,
        payload::{CheckFailure, Mode, TaskBrief, Turn},
    },
    process::Process,
    text::{counted, dollars},
};

use super::{Places, end_text, named_ids, safe, safe_words, time_of_day, with_local_time};
use crate::{
    signals::Order,
    terminal::{self, MovingLine, Stream, remark},
};

/// How much of what an agent says or does fits into the moving line.
const ACTIVITY: usize = 60;

/// How many lines are shown of what a failed check printed, and how much of each.
const TAIL_LINES: usize = 10;
const TAIL_WIDTH: usize = 200;

/// Shows a run to a person.
pub(crate) struct Watch {
    /// Whether there is a terminal to draw on.
    draws: bool,
    places: Places,
    bar: Option<MovingLine>,
    max_iterations: Option<NonZeroU32>,
    /// The lane that is told of, where there are several.
    lane: Option<u32>,
    /// The iterations under way, by lane: their numbers, what they are about, and when they began, in
    /// milliseconds since the run was built.
    iterations: BTreeMap<Option<u32>, (u32, String, u64)>,
    /// What earlier calls of the agent consumed, and those under way, by lane.
    spent: Usage,
    calls: BTreeMap<Option<u32>, Usage>,
    activity: String,
    /// The files that hold what the agent printed in the call that failed.
    logs: Vec<String>,
    /// Whether the check of the iteration under way was told to have failed.
    told_check: bool,
    /// Whether the run waits, for a usage limit or in a pause.
    waits: bool,
    /// Whether calls can have different agents.
    is_routed: bool,
}

impl Watch {
    /// Begins to show a run of the project whose files `places` names; `draws` says
    /// whether there is a terminal.
    pub(crate) fn new(draws: bool, places: Places) -> Self {
        Self {
            draws,
            places,
            bar: None,
            max_iterations: None,
            lane: None,
            iterations: BTreeMap::new(),
            spent: Usage::default(),
            calls: BTreeMap::new(),
            activity: "starting".to_owned(),
            logs: Vec::new(),
            told_check: false,
            waits: false,
            is_routed: false,
        }
    }

    /// Prints a line.
    pub(crate) fn line(&self, text: &str) {
        let lane = self.lane.map(|lane| format!("[{lane}] ")).unwrap_or_default();
        self.suspended(|| {
            // The run goes on whether or not its lines can be written.
            let _ = terminal::show(Stream::Out, &format!("{lane}{text}\n"));
        });
    }

    /// Says what a signal leads to.
    pub(crate) fn order(&self, order: Order) {
        self.line(match order {
            Order::Finish | Order::Stop if self.waits => "ending the run",
            Order::Finish => "finishing the iteration; once more stops the agent",
            Order::Stop => "stopping the agent; once more leaves at once",
            Order::Leave => "leaving",
        });
    }

    /// Ends the line on the terminal in which somebody was asked something.
    pub(crate) fn end_line(&self) {
        if self.draws {
            remark("");
        }
    }

    fn warn(&self, text: &str) {
        // Parts of it may be somebody else's words.
        self.suspended(|| remark(&format!("warning: {}", below(text))));
    }

    fn suspended(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.beside(print),
            None => print(),
        }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, record: &EventRecord) {
        self.lane = record.lane;
        self.tell(record);
        self.follow(record);
        self.lane = None;
        self.draw();
    }

    /// Prints the lines of an event that is worth some.
    fn tell(&mut self, record: &EventRecord) {
        match &record.event {
            Event::RunStarted { resumed, agent, model, routing, max_iterations, tasks, guards, .. } => {
                let verb = if *resumed { "going on as" } else { "starting" };
                let (run, agent) = (&record.run_id, safe(agent));
                let limit =
                    max_iterations.map(|max| format!(", at most {}", counted(max.get(), "iteration")));
                let tasks = match tasks.as_slice() {
                    [] => String::new(),
                    tasks => format!(", for {}, and what that depends on", named_ids(tasks)),
                };
                let model = model.as_ref().map(|model| format!(" ({})", safe(model))).unwrap_or_default();
                self.line(&format!(
                    "{verb} run {run} with {agent}{model}{}{tasks}",
                    limit.unwrap_or_default()
                ));
                if let Some(routing) = routing {
                    self.line(&format!("  other agents: {}", safe(routing)));
                    self.is_routed = true;
                }
                if !guards.is_empty() {
                    self.line(&super::guards(guards));
                }
            }
            Event::IterationStarted { iteration, mode, task } => {
                self.line(&format!("iteration {iteration}: {}", about(*mode, task.as_ref())));
            }
            Event::AgentStarted { turn, agent, model, why, .. } => {
                if *turn == Turn::Final {
                    self.line("last turn: what is still to be said to the agent");
                }
                if !self.is_routed {
                    return;
                }
                let model = model.as_ref().map(|model| format!(" ({})", safe(model))).unwrap_or_default();
                self.line(&format!("  agent: {}{model}, {}", safe(agent), safe(why)));
            }
            Event::TaskSubmitted { task, .. } => {
                self.line(&format!("  submitted: {}", safe(task.as_str())));
            }
            Event::TaskLanded { task, into, commit } => {
                let commit = commit.get(..10).unwrap_or(commit);
                self.line(&format!("landed: {} on {} as {commit}", safe(task.as_str()), safe(into)));
            }
            Event::TaskReturned { task, attempt, reason, kept } => {
                let kept = kept.as_ref().map(|kept| format!("; its work is kept as {}", safe(kept)));
                self.line(&format!(
                    "did not land: {}, attempt {attempt}: {}{}",
                    safe(task.as_str()),
                    below(reason),
                    kept.unwrap_or_default()
                ));
            }
            Event::LandingHeld { into, reason } => {
                self.line(&format!("the landing on {} waits: {}", safe(into), below(reason)));
            }
            Event::AgentFinished { turn: Turn::Final, failure: Some(failure), logs, .. } => {
                self.line(&format!("last turn: failed, {}: {}", failure.class, safe(&failure.message)));
                self.all_printed(logs);
            }
            Event::TaskCompleted { task, title, .. } => {
                self.line(&format!("  done: {} {}", safe(task.as_str()), safe(title)));
            }
            Event::PlanChanged { change, task, title, reason, .. } => {
                self.line(&format!("  {}", plan_changed(*change, task, title, reason.as_deref())));
            }
            Event::Commanded { command, by, text } => {
                let told = text.as_ref().map(|text| format!(": {}", safe_words(text))).unwrap_or_default();
                self.line(&format!("{} by {}{told}", safe(command), safe(by)));
            }
            Event::ApprovalAsked { call, ability_id, input, reason, .. } => {
                let (tool, input, reason) = (safe(ability_id), safe_words(input), safe_words(reason));
                self.line(&format!("  {tool} waits for approval: {reason}"));
                self.line(&format!("    {input}"));
                self.line(&format!(
                    "    `samuel run approve --call {call}` or `samuel run deny --call {call}`"
                ));
            }
            Event::ApprovalGiven { call, approved, .. } => {
                self.line(&format!("  call {call} is {}", if *approved { "approved" } else { "denied" }));
            }
            Event::Paused => self.line("holding until `samuel run resume`"),
            Event::Resumed => self.line("going on"),
            Event::TasksTakenBack { tasks, reasons } => {
                let why = reasons.iter().map(|reason| safe(reason)).collect::<Vec<_>>().join("; ");
                // A check that failed has just been told.
                let why = if self.told_check { String::new() } else { format!(": {why}") };
                self.line(&format!("  taken back: {}{why}", ids(tasks)));
            }
            Event::QualityChecked { result, failures, reason, .. } => {
                self.checked(*result, failures, reason.as_deref());
            }
            Event::AbilityBlocked { ability_id, reason, prevented, .. } => {
                let what = if *prevented { "blocked" } else { "blocked too late, so the turn ends" };
                self.line(&format!("  {what}: {}: {}", safe(ability_id), below(reason)));
            }
            // Without an iteration it is a warning, too.
            Event::RequestRefused { iteration: 1.., code, message, .. } => {
                self.line(&format!("  refused: {} ({})", safe(message), safe(code)));
            }
            Event::IterationFinished { .. } => self.iteration_finished(record),
            Event::Waiting { wait_ms, reason, until: Some(until) } => {
                let wait = seconds(Duration::from_millis(*wait_ms));
                self.line(&format!("waiting until {} ({wait}) for {}", time_of_day(*until), safe(reason)));
            }
            Event::Waiting { wait_ms: 0, reason, until: None } => {
                self.line(&format!("waits: {}", safe(reason)))
            }
            Event::Warning { message } => self.warn(message),
            Event::Swept { swept, ended, left } => self.swept(*swept, ended, left),
            Event::HookFired { outcome, point, .. } => {
                for warning in &outcome.warnings {
                    self.warn(&format!("{point} {}: {}", warning.handler, warning.message));
                }
                for said in outcome.said.iter().filter(|said| said.speaker == Speaker::ToUser) {
                    let content = below(&said.item.content);
                    self.line(&format!("  {} at {point}: {content}", safe(&said.handler)));
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
                self.waits = false;
                let begun = (*iteration, about(*mode, task.as_ref()), record.elapsed_ms);
                self.iterations.insert(record.lane, begun);
                self.activity = "preparing".to_owned();
            }
            Event::AgentStarted { agent, .. } => {
                self.calls.remove(&record.lane);
                self.activity = format!("{} is at work", safe(agent));
            }
            Event::Agent { report, .. } => self.agent(report),
            Event::AgentFinished { usage, logs, .. } => {
                self.logs.clone_from(logs);
                self.spent += *usage;
                self.calls.remove(&record.lane);
                self.activity = "checking".to_owned();
            }
            Event::Waiting { wait_ms, reason, until } => {
                self.waits = true;
                let wait = seconds(Duration::from_millis(*wait_ms));
                self.activity = match until {
                    Some(until) => format!("waiting until {} for {}", time_of_day(*until), safe(reason)),
                    None => format!("waiting {wait}: {}", safe(reason)),
                };
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
            AgentEvent::Usage(usage) => _ = self.calls.insert(self.lane, *usage),
            AgentEvent::PermissionDenied { tool, message } => {
                self.warn(&format!("the agent may not use {tool}: {message}"));
            }
            AgentEvent::RateLimited { message, .. } => self.warn(&format!("usage limit: {message}")),
            AgentEvent::SoftDeadline { remaining_ms } => {
                let left = seconds(Duration::from_millis(*remaining_ms));
                self.warn(&format!("the agent will be ended in {left}"));
            }
            _ => {}
        }
    }

    /// Tells how the checks went, as far as there is something to tell: the end of
    /// what each printed that failed, and where the rest is.
    fn checked(&mut self, result: CheckResult, failures: &[CheckFailure], reason: Option<&str>) {
        let verdict = match result {
            CheckResult::Advisory => "check failed, which is only advice",
            CheckResult::Cancelled => "check cancelled",
            _ => "check failed",
        };
        self.told_check = !failures.is_empty() || reason.is_some();
        for failure in failures {
            self.line(&format!("  {verdict}: `{}`: {}", safe(&failure.command), safe(&failure.message)));
            let printed: Vec<&str> = failure.tail.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in printed.iter().skip(printed.len().saturating_sub(TAIL_LINES)) {
                self.line(&format!("    | {}", cut(line, TAIL_WIDTH)));
            }
            if let Some(log) = &failure.log {
                self.line(&format!("    all of it: {}", self.places.shown(log)));
            }
        }
        if let Some(reason) = reason {
            self.line(&format!("  {verdict}: {}", safe(reason)));
        }
    }

    fn iteration_finished(&mut self, record: &EventRecord) {
        self.told_check = false;
        let Event::IterationFinished {
            iteration,
            outcome,
            failure,
            completed,
            usage,
            excused,
            unrecorded,
            ..
        } = &record.event
        else {
            return;
        };
        let succeeded = *outcome == IterationOutcome::Succeeded;
        // Who began to watch in the middle of it does not know.
        let took = self.iterations.remove(&record.lane).map(|(_, _, begun)| {
            format!(" in {}", seconds(Duration::from_millis(record.elapsed_ms.saturating_sub(begun))))
        });
        let took = took.unwrap_or_default();
        let outcome = if *excused { "met a usage limit" } else { outcome.as_str() };
        let mut line = format!("iteration {iteration}: {outcome}{took}{}", consumed(*usage));
        if let Some(failure) = failure {
            line.push_str(&format!(", {}: {}", failure.class, safe(&with_local_time(&failure.message))));
        }
        if *unrecorded {
            line.push_str(", but the task was not recorded as done");
        }
        self.line(&line);
        if !succeeded && !completed.is_empty() {
            self.line(&format!("  completed all the same: {}", ids(completed)));
        }
        let logs = std::mem::take(&mut self.logs);
        if failure.is_some() {
            self.all_printed(&logs);
        }
        self.activity = "between iterations".to_owned();
    }

    /// Names the files that hold what the agent printed in a call that failed, if there are some.
    fn all_printed(&self, logs: &[String]) {
        if !logs.is_empty() {
            let logs: Vec<String> = logs.iter().map(|log| self.places.shown(log)).collect();
            self.line(&format!("    all that the agent printed: {}", logs.join(", ")));
        }
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
        self.line(&format!(
            "{}\n  iterations: {}{failed}{}\n  completed: {done}",
            end_text(report.exit_reason, report.detail.as_deref()),
            report.iterations,
            consumed(report.usage)
        ));
        if let agents @ [_, _, ..] = report.agents.as_slice() {
            for AgentTotal { agent, usage } in agents {
                self.line(&format!("  {}{}", safe(agent), consumed(*usage)));
            }
        }
        for (what, tasks) in [("skipped", &report.skipped), ("left", &report.left)] {
            if !tasks.is_empty() {
                self.line(&format!("  tasks {what}: {}", some_ids(tasks)));
            }
        }
        if !report.unrecorded.is_empty() {
            let open = ids(&report.unrecorded);
            self.line(&format!("  not recorded as done, though the agent ended well: {open}"));
        }
        if let Some(into) = report.into.as_deref().filter(|_| !report.completed.is_empty()) {
            let into = safe(into);
            self.line(&format!("  the work is on {into}; `git merge {into}` takes it over"));
        }
        if report.undelivered > 0 {
            self.line(&format!(
                "  texts that did not reach the agent, or in a turn that failed: {}",
                report.undelivered
            ));
        }
    }

    fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        let mut total = self.spent;
        self.calls.values().for_each(|call| total += *call);
        let limit = self.max_iterations.map(|max| format!("/{max}")).unwrap_or_default();
        let of_lane = |(lane, (number, about, _)): (&Option<u32>, &(u32, String, u64))| match lane {
            Some(lane) => format!("[{lane}] {about} · "),
            None => format!("{number}{limit} · {about} · "),
        };
        let what: String = self.iterations.iter().map(of_lane).collect();
        let cost = total.cost_usd.map(|cost| format!(" · {}", dollars(cost))).unwrap_or_default();
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

/// Says what became of a task beside the loop.
fn plan_changed(change: PlanChange, task: &TaskId, title: &str, reason: Option<&str>) -> String {
    let what = match change {
        PlanChange::Skipped => "skipped",
        PlanChange::Blocked => "blocked",
        PlanChange::Asked => "asked",
        PlanChange::Answered => "answered",
        PlanChange::Reset => "pending again",
        PlanChange::Added => "added",
        PlanChange::Reopened => "no longer completed",
        PlanChange::Removed => "removed from the plan",
        _ => "changed",
    };
    let why = reason.map(|reason| format!(": {}", safe_words(reason))).unwrap_or_default();
    format!("{what}: {} {}{why}", safe(task.as_str()), safe(title))
}

fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(|task| safe(task.as_str())).collect::<Vec<_>>().join(", ")
}

/// Counts tasks and names the first of them.
fn some_ids(tasks: &[TaskId]) -> String {
    format!("{} ({})", tasks.len(), named_ids(tasks))
}

pub(super) fn consumed(usage: Usage) -> String {
    let tokens =
        if usage.tokens() > 0 { format!(", {}", counted(usage.tokens(), "token")) } else { String::new() };
    let cost = usage.cost_usd.map(|cost| format!(", {}", dollars(cost))).unwrap_or_default();
    tokens + &cost
}

fn shortened(text: &str) -> String {
    cut(text, ACTIVITY)
}

fn cut(text: &str, chars: usize) -> String {
    let mut short: String = text.chars().take(chars).collect();
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

/// Writes somebody's words: the lines after the first are marked, so that none of them looks like one of
/// Samuel's.
fn below(text: &str) -> String {
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
