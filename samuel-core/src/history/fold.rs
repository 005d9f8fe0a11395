//! Putting events together to what a run was.

use std::collections::BTreeMap;

use super::{
    CheckHistory, EventRef, HistoryNote, HookFigures, IterationHistory, LogEntry, RunHistory, RunState,
    TurnHistory, event_name,
};
use crate::{
    agent::AgentEvent,
    clock::whole_ms,
    event::{Event, EventRecord, PlanChange},
    hook::{HookStatus, Outcome},
    model::{AgentTotal, TaskId, Usage},
};

/// How many warnings are kept.
const MAX_WARNINGS: usize = 500;
/// How many handlers are counted, each at each of its points.
const MAX_HOOKS: usize = 5_000;
/// How many checks are kept, the last ones.
const MAX_CHECKS: usize = 20_000;

/// A run that is put together, event by event.
#[derive(Debug)]
pub(super) struct Fold {
    history: RunHistory,
    hooks: BTreeMap<(String, String), HookFigures>,
    agents: BTreeMap<String, Usage>,
    /// The number of the last event.
    seq: u64,
}

impl Fold {
    pub(super) fn new(run: &str) -> Self {
        let history = RunHistory::unknown(run.to_owned());
        Self { history, hooks: BTreeMap::new(), agents: BTreeMap::new(), seq: 0 }
    }

    /// Says what came of it.
    pub(super) fn end(mut self, unreadable: u64) -> RunHistory {
        self.history.gaps.unreadable = unreadable;
        self.history.hooks = self.hooks.into_values().collect();
        let agents = self.agents.into_iter();
        self.history.agents = agents.map(|(agent, usage)| AgentTotal { agent, usage }).collect();
        if self.history.report.is_some() {
            self.history.state = RunState::Ended;
        }
        self.history
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, entry: &LogEntry) {
        let record = &entry.record;
        self.count(record);
        let here = event_ref(record);
        let history = &mut self.history;
        match &record.event {
            Event::RunStarted { agent, model, tasks, guards, commit, goes_on_from, .. } => {
                history.started_at = Some(record.at);
                (history.agent, history.model) = (agent.clone(), model.clone());
                (history.tasks, history.guards) = (tasks.clone(), guards.clone());
                (history.first_commit, history.goes_on_from) = (commit.clone(), goes_on_from.clone());
                history.last_commit.clone_from(commit);
            }
            Event::IterationStarted { iteration, mode, task } => {
                history.iterations.push(IterationHistory {
                    mode: Some(*mode),
                    task: task.as_ref().map(|task| TaskId::new(task.id.clone())),
                    title: task.as_ref().map(|task| task.title.clone()).unwrap_or_default(),
                    started_at: Some(record.at),
                    began_ms: Some(record.elapsed_ms),
                    first_event: record.seq,
                    ..IterationHistory::unknown(*iteration, record.seq)
                });
            }
            Event::HookFired { point, outcome, .. } => self.hooks(&point.to_string(), outcome, &here),
            Event::AgentStarted { turn, agent, model, why, .. } => {
                let turns = self.open().map(|iteration| &mut iteration.turns);
                if let Some(turns) = turns {
                    turns.push(TurnHistory {
                        turn: *turn,
                        agent: agent.clone(),
                        model: model.clone(),
                        why: why.clone(),
                        tool_calls: 0,
                        took_ms: None,
                        exit_code: None,
                        failure: None,
                        usage: Usage::default(),
                        logs: Vec::new(),
                    });
                }
            }
            Event::Agent { report: AgentEvent::ToolCall(_), .. } => {
                if let Some(turn) = self.turn() {
                    turn.tool_calls = turn.tool_calls.saturating_add(1);
                }
            }
            Event::AgentFinished { exit_code, failure, usage, duration_ms, logs, .. } => {
                history.usage += *usage;
                let agent = match self.turn() {
                    Some(turn) => {
                        turn.took_ms = Some(*duration_ms);
                        (turn.exit_code, turn.failure) = (*exit_code, failure.clone());
                        (turn.usage, turn.logs) = (*usage, logs.clone());
                        turn.agent.clone()
                    }
                    None => self.history.agent.clone(),
                };
                *self.agents.entry(agent).or_default() += *usage;
            }
            Event::TasksTakenBack { tasks, .. } => {
                history.completed.retain(|task| !tasks.contains(task));
                match self.open() {
                    Some(iteration) => iteration.taken_back.extend(tasks.iter().cloned()),
                    None => self.history.taken_back_outside.extend(tasks.iter().cloned()),
                }
            }
            // As the run itself counts: what was changed or removed was completed all the same.
            Event::PlanChanged { change, task, .. }
                if !matches!(change, PlanChange::Added | PlanChange::Changed | PlanChange::Removed) =>
            {
                history.completed.retain(|completed| completed != task);
            }
            Event::QualityChecked { ok, result, failures, reason, commit, iteration } => {
                let check = CheckHistory {
                    iteration: *iteration,
                    ok: *ok,
                    result: *result,
                    failures: failures.clone(),
                    reason: reason.clone(),
                    commit: commit.clone(),
                    event: here.clone(),
                };
                history.checks.push(check);
                let beyond = history.checks.len().saturating_sub(MAX_CHECKS);
                history.checks.drain(..beyond);
                saw(&mut history.last_commit, commit.as_ref());
                if let Some(iteration) = self.open() {
                    iteration.check = Some(*result);
                }
            }
            Event::IterationFinished {
                iteration: number,
                outcome,
                failure,
                completed,
                usage,
                excused,
                unrecorded,
                commit,
                ..
            } => {
                saw(&mut history.last_commit, commit.as_ref());
                for task in completed {
                    if !history.completed.contains(task) {
                        history.completed.push(task.clone());
                    }
                }
                if self.open().is_none() {
                    self.history.iterations.push(IterationHistory::unknown(*number, record.seq));
                }
                if let Some(iteration) = self.open() {
                    iteration.took_ms =
                        iteration.began_ms.map(|began| record.elapsed_ms.saturating_sub(began));
                    iteration.last_event = record.seq;
                    (iteration.outcome, iteration.failure) = (Some(*outcome), failure.clone());
                    (iteration.completed, iteration.usage) = (completed.clone(), *usage);
                    (iteration.excused, iteration.unrecorded) = (*excused, *unrecorded);
                    iteration.commit.clone_from(commit);
                }
            }
            Event::Warning { message } => self.warn(message.clone(), &here),
            Event::Lagged { lost } => history.gaps.agent_text = history.gaps.agent_text.saturating_add(*lost),
            Event::RunFinished(report) => {
                history.completed.clone_from(&report.completed);
                history.usage = report.usage;
                history.report = Some(report.clone());
            }
            _ => {}
        }
        if let Some(iteration) = self.open() {
            iteration.last_event = record.seq;
        }
    }

    /// Keeps what every event tells.
    fn count(&mut self, record: &EventRecord) {
        let history = &mut self.history;
        if history.last.is_none() {
            history.gaps.beginning = record.seq > 1;
        } else if record.seq > self.seq.saturating_add(1) {
            history.gaps.missing = history.gaps.missing.saturating_add(record.seq - self.seq - 1);
        }
        self.seq = record.seq;
        history.last_at = Some(record.at);
        history.took_ms = history.took_ms.max(record.elapsed_ms);
        history.last = Some(event_ref(record));
    }

    /// Returns the iteration under way.
    fn open(&mut self) -> Option<&mut IterationHistory> {
        self.history.iterations.last_mut().filter(|iteration| iteration.outcome.is_none())
    }

    /// Returns the call under way.
    fn turn(&mut self) -> Option<&mut TurnHistory> {
        let iteration = self.history.iterations.last_mut()?;
        iteration.turns.last_mut().filter(|turn| turn.took_ms.is_none())
    }

    fn hooks(&mut self, point: &str, outcome: &Outcome, here: &EventRef) {
        for timing in &outcome.timings {
            let handler = timing.handler.to_string();
            let key = (point.to_owned(), handler.clone());
            if self.hooks.len() >= MAX_HOOKS && !self.hooks.contains_key(&key) {
                continue;
            }
            let figures = self.hooks.entry(key).or_insert_with(|| HookFigures {
                point: point.to_owned(),
                handler,
                calls: 0,
                not_ok: 0,
                total_ms: 0,
                longest_ms: 0,
            });
            let took = whole_ms(timing.took);
            figures.calls += 1;
            figures.not_ok += u64::from(timing.status != HookStatus::Ok);
            figures.total_ms = figures.total_ms.saturating_add(took);
            figures.longest_ms = figures.longest_ms.max(took);
        }
        for warning in &outcome.warnings {
            self.warn(format!("{point} {}: {}", warning.handler, warning.message), here);
        }
    }

    fn warn(&mut self, text: String, here: &EventRef) {
        let history = &mut self.history;
        match history.warnings.len() < MAX_WARNINGS {
            true => history.warnings.push(HistoryNote { text, event: here.clone() }),
            false => history.more_warnings += 1,
        }
    }
}

fn saw(last: &mut Option<String>, commit: Option<&String>) {
    if let Some(commit) = commit {
        *last = Some(commit.clone());
    }
}

/// Names an event.
pub(super) fn event_ref(record: &EventRecord) -> EventRef {
    EventRef {
        run: record.run_id.to_string(),
        seq: record.seq,
        at: record.at,
        event: event_name(&record.event).to_owned(),
    }
}
