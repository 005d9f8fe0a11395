//! A run, as it goes: lines as things happen, and on a terminal what happens now.
//!
//! Lines go to stdout, one as an iteration starts and one as it ends. The
//! moving line goes to stderr and only where both are a terminal: `now` knows what it
//! says, and `words` are those of both.

mod now;
#[cfg(test)]
mod now_tests;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use samuel_core::{
    agent::AgentEvent,
    engine::EndSignal,
    event::{CheckResult, Event, EventRecord, RunReport},
    history::{LOST_ITS_TASK, attempt_of_return, command_words, event_line, left_uncommitted},
    hook::Speaker,
    model::{
        AgentTotal, IterationOutcome, Mark,
        payload::{CheckFailure, Turn},
    },
    process::Process,
    text::{counted, lasting},
};

pub(super) use self::words::{consumed, taking_over, unmerged};
use self::{
    now::Now,
    words::{about, below, cut, ids, plan_changed, some_ids},
};
use super::{Places, end_text, named_ids, safe, safe_words, time_of_day, with_local_time};
use crate::{
    signals::Order,
    terminal::{self, MovingLine, Stream, remark},
};

/// How many lines are shown of what a failed check printed, and how much of each.
const TAIL_LINES: usize = 10;
const TAIL_WIDTH: usize = 200;

/// Shows a run to a person.
pub(crate) struct Watch {
    /// Whether there is a terminal to draw on.
    draws: bool,
    places: Places,
    bar: Option<MovingLine>,
    now: Now,
    /// The lane that is told of, where there are several.
    lane: Option<u32>,
    /// The files that hold what the agent printed in the call that failed, by lane.
    logs: BTreeMap<Option<u32>, Vec<String>>,
    /// The lanes in whose iteration under way the check was told to have failed.
    told_checks: BTreeSet<Option<u32>>,
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
            now: Now::new(),
            lane: None,
            logs: BTreeMap::new(),
            told_checks: BTreeSet::new(),
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
            Order::Finish | Order::Stop if self.now.waits => "ending the run",
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
        self.lane = record.doer();
        self.tell(record);
        self.lane = None;
        match &record.event {
            // Not before: until now somebody may have been asked something.
            Event::RunStarted { .. } => self.bar = self.draws.then(MovingLine::new),
            Event::AgentFinished { logs, .. } => _ = self.logs.insert(record.lane, logs.clone()),
            _ => {}
        }
        self.now.follow(record);
        if let Some(bar) = &self.bar {
            let (line, below) = self.now.lines();
            bar.say(&line);
            bar.say_below(&below);
        }
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
            Event::TaskReturned { task, attempt, reason, kept, excused } => {
                let kept = kept.as_ref().map(|kept| format!("; its work is kept as {}", safe(kept)));
                self.line(&format!(
                    "did not land{}: {}: {}{}",
                    attempt_of_return(*attempt, *excused),
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
            Event::TaskCompleted { task, title, marks, .. } => {
                let marks = Mark::told_of(marks).map(|marks| format!(" ({marks})")).unwrap_or_default();
                self.line(&format!("  done: {} {}{marks}", safe(task.as_str()), safe(title)));
            }
            Event::PlanChanged { change, task, title, reason, .. } => {
                self.line(&format!("  {}", plan_changed(*change, task, title, reason.as_deref())));
            }
            // Whoever sends one is told what it leads to.
            Event::Commanded { by, .. } if EndSignal::named(by).is_some() => {}
            Event::Commanded { command, by, text } => {
                let told = text.as_ref().map(|text| format!(": {}", safe_words(text))).unwrap_or_default();
                self.line(&format!("{} by {}{told}", safe(command_words(command)), safe(by)));
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
                let why =
                    if self.told_checks.contains(&self.lane) { String::new() } else { format!(": {why}") };
                self.line(&format!("  taken back: {}{why}", ids(tasks)));
            }
            Event::QualityChecked { result, merged, .. } if !merged.is_empty() => {
                let is_news = matches!(result, CheckResult::Failed | CheckResult::Advisory);
                if let Some(line) = event_line(&record.event).filter(|_| is_news) {
                    self.line(&format!("  {}", below(&line)));
                }
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
            Event::Agent { report, .. } => self.agent(report),
            Event::Waiting { wait_ms, reason, until: Some(until) } => {
                let wait = lasting(Duration::from_millis(*wait_ms));
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

    /// Warns of what the agent met.
    fn agent(&self, report: &AgentEvent) {
        match report {
            AgentEvent::PermissionDenied { tool, message } => {
                self.warn(&format!("the agent may not use {tool}: {message}"));
            }
            AgentEvent::RateLimited { message, .. } => self.warn(&format!("usage limit: {message}")),
            AgentEvent::SoftDeadline { remaining_ms } => {
                let left = lasting(Duration::from_millis(*remaining_ms));
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
        match !failures.is_empty() || reason.is_some() {
            true => self.told_checks.insert(self.lane),
            false => self.told_checks.remove(&self.lane),
        };
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
        self.told_checks.remove(&record.lane);
        let Event::IterationFinished {
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
        } = &record.event
        else {
            return;
        };
        let succeeded = *outcome == IterationOutcome::Succeeded;
        let lost_its_task = record.event.lost_its_task();
        let took = self.now.begun(record.lane).map(|begun| {
            let took = lasting(Duration::from_millis(record.elapsed_ms.saturating_sub(begun)));
            format!(" {} {took}", if lost_its_task { "after" } else { "in" })
        });
        let took = took.unwrap_or_default();
        let outcome = match excused {
            _ if lost_its_task => "stopped",
            true => "met a usage limit",
            false => outcome.as_str(),
        };
        let mut line = format!("iteration {iteration}: {outcome}{took}");
        if lost_its_task {
            line.push_str(&format!(": {LOST_ITS_TASK}"));
        }
        line.push_str(&consumed(*usage));
        if let Some(failure) = failure.as_ref().filter(|_| !lost_its_task) {
            line.push_str(&format!(", {}: {}", failure.class, safe(&with_local_time(&failure.message))));
        }
        if *unrecorded {
            line.push_str(", but the task was not recorded as done");
        }
        self.line(&line);
        if let Some(left) = left_uncommitted(uncommitted, committed_for_agent.as_deref()) {
            self.line(&format!("  {}", safe_words(&left)));
        }
        if !succeeded && !completed.is_empty() {
            self.line(&format!("  completed all the same: {}", ids(completed)));
        }
        let logs = self.logs.remove(&record.lane).unwrap_or_default();
        if failure.is_some() {
            self.all_printed(&logs);
        }
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
        for (mark, tasks) in report.marked() {
            self.line(&format!("  completed {}: {}", mark.told(), some_ids(tasks)));
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
        if !report.submitted.is_empty() {
            let waits = if report.submitted.len() == 1 { "waits" } else { "wait" };
            self.line(&format!(
                "  {} {waits} to be landed; `samuel run queue` says why, `samuel run queue land` lands what nobody holds",
                ids(&report.submitted)
            ));
        }
        if let Some(into) = report.into.as_deref().filter(|_| !report.completed.is_empty()) {
            self.line(&format!("  the work is on {}{}", safe(into), taking_over(into)));
        }
        if let Some(into) = &report.unmerged {
            self.line(&format!("  {}", unmerged(into)));
        }
        if report.undelivered > 0 {
            self.line(&format!(
                "  texts that did not reach the agent, or in a turn that failed: {}",
                report.undelivered
            ));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use samuel_core::model::Usage;

    use super::*;

    #[test]
    fn what_an_agent_printed_is_that_of_its_own_lane() {
        let mut watch = Watch::new(false, Places::default());
        let answered = |log: &str| Event::AgentFinished {
            iteration: 1,
            turn: Turn::Main,
            exit_code: Some(1),
            failure: None,
            usage: Usage::default(),
            duration_ms: 1,
            logs: vec![log.to_owned()],
        };
        for (lane, log) in [(1, "1-1.out"), (2, "2-1.out")] {
            watch.event(&EventRecord {
                schema_version: 1,
                seq: 1,
                at: jiff::Timestamp::UNIX_EPOCH,
                elapsed_ms: 1,
                run_id: "r".into(),
                lane: Some(lane),
                event: answered(log),
            });
        }
        assert_eq!(watch.logs.get(&Some(1)), Some(&vec!["1-1.out".to_owned()]));
        assert_eq!(watch.logs.get(&Some(2)), Some(&vec!["2-1.out".to_owned()]));
    }
}
