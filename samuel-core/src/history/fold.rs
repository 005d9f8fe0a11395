//! Putting events together to what a run was.
//!
//! Iterations and calls are kept by lane: what a lane tells belongs to its own. Work of lanes is completed once it
//! has landed, and the commits of the run are those that landed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    AgentShare, CheckHistory, EventRef, HeldBackTask, HistoryNote, HookFigures, IterationHistory, LandedTask,
    LogEntry, Now, ReturnedTask, RunHistory, RunKind, RunState, TurnHistory, event_line, event_name,
    numbers::Numbers, run_history::FoundTask,
};
use crate::{
    agent::AgentEvent,
    clock::whole_ms,
    event::{Event, EventRecord, PlanChange},
    hook::{HookStatus, Outcome},
    model::{
        Status, TaskId, Usage,
        payload::{Actor, Mode},
        with_model,
    },
};

/// How many warnings are kept.
const MAX_WARNINGS: usize = 500;
/// How many handlers are counted, each at each of its points.
const MAX_HOOKS: usize = 5_000;
/// How many checks are kept, the last ones.
const MAX_CHECKS: usize = 20_000;
/// How many iterations are kept, the first ones.
const MAX_ITERATIONS: usize = 100_000;
/// How many calls of agents are kept one by one; beyond them the last one of an iteration is.
const MAX_TURNS: usize = 200_000;
/// How many agents are counted, the first ones.
pub(super) const MAX_AGENTS: usize = 1_000;
/// How many tasks are kept that somebody holds back at once: they are looked through at every change of the plan.
const MAX_HELD: usize = 1_000;
/// How many tasks are kept that agents found.
const MAX_FOUND: usize = 1_000;

/// What somebody asks who wants a run to end.
pub(super) const ENDING: [&str; 2] = ["cancel", "stop"];

/// A run that is put together, event by event.
#[derive(Debug)]
pub(super) struct Fold {
    history: RunHistory,
    /// Where the last iteration of each lane stands among all of them.
    last: BTreeMap<Option<u32>, usize>,
    /// The place of the last iteration for each task among all of them.
    last_for: HashMap<TaskId, usize>,
    /// The agent that each lane called last, also in a turn after its iteration, and its name with its model as long as
    /// the call lasts.
    called: BTreeMap<Option<u32>, (String, Option<String>)>,
    /// The tasks of which it was told that they were completed.
    told: BTreeSet<TaskId>,
    /// The completed tasks, each with its place among all completions: a list of them may be long, and change with
    /// every event.
    completed: HashMap<TaskId, u64>,
    completions: u64,
    /// How many calls of agents are kept.
    turns: usize,
    /// What there is more of than is kept.
    left_out: BTreeSet<&'static str>,
    hooks: BTreeMap<(String, String), HookFigures>,
    agents: BTreeMap<String, AgentShare>,
    numbers: Numbers,
}

impl Fold {
    pub(super) fn new(run: &str) -> Self {
        let history = RunHistory::unknown(run.to_owned());
        Self {
            history,
            last: BTreeMap::new(),
            last_for: HashMap::new(),
            called: BTreeMap::new(),
            told: BTreeSet::new(),
            completed: HashMap::new(),
            completions: 0,
            turns: 0,
            left_out: BTreeSet::new(),
            hooks: BTreeMap::new(),
            agents: BTreeMap::new(),
            numbers: Numbers::default(),
        }
    }

    /// Says what came of it.
    pub(super) fn end(mut self, unreadable: u64) -> RunHistory {
        let gaps = &mut self.history.gaps;
        gaps.unreadable = unreadable;
        gaps.beginning = self.numbers.begins_later();
        gaps.missing = self.numbers.missing().saturating_sub(gaps.agent_text);
        self.history.hooks = self.hooks.into_values().collect();
        let mut completed: Vec<(TaskId, u64)> = self.completed.into_iter().collect();
        completed.sort_unstable_by_key(|(_, place)| *place);
        self.history.completed = completed.into_iter().map(|(task, _)| task).collect();
        leave_last(&mut self.history.checks, MAX_CHECKS);
        self.history.agents = self.agents.into_values().collect();
        if self.history.report.is_some() {
            self.history.state = RunState::Ended;
        }
        self.history
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, entry: &LogEntry) {
        let record = &entry.record;
        if !self.is_news(record) {
            return;
        }
        let (here, lane) = (event_ref(record), record.doer());
        let history = &mut self.history;
        match &record.event {
            Event::RunStarted { agent, model, tasks, guards, commit, goes_on_from, .. } => {
                history.started_at = Some(record.at);
                (history.agent, history.model) = (agent.clone(), model.clone());
                (history.tasks, history.guards) = (tasks.clone(), guards.clone());
                (history.first_commit, history.goes_on_from) = (commit.clone(), goes_on_from.clone());
                history.last_commit.clone_from(commit);
            }
            Event::LandingStarted { .. } => {
                (history.kind, history.started_at) = (RunKind::Landing, Some(record.at));
            }
            Event::IterationStarted { iteration, mode, task } => {
                let begun = IterationHistory {
                    lane,
                    mode: Some(*mode),
                    task: task.as_ref().map(|task| TaskId::new(task.id.clone())),
                    title: task.as_ref().map(|task| task.title.clone()).unwrap_or_default(),
                    started_at: Some(record.at),
                    began_ms: Some(record.elapsed_ms),
                    first_event: record.seq,
                    ..IterationHistory::unknown(*iteration, record.seq)
                };
                self.begin(lane, begun, &here);
            }
            Event::HookFired { point, outcome, .. } => self.hooks(&point.to_string(), outcome, &here),
            Event::AgentStarted { turn, agent, model, why, .. } => {
                let name = with_model(agent, model.as_deref());
                self.called.insert(lane, (agent.clone(), Some(name)));
                let is_full = self.turns >= MAX_TURNS;
                let turns = self.open(lane).map(|iteration| &mut iteration.turns);
                if let Some(turns) = turns {
                    // Whose the usage is that comes next must be known all the same.
                    let replaced = if is_full { turns.pop() } else { None };
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
                    self.turns += usize::from(replaced.is_none());
                    if replaced.is_some() {
                        self.leave_out("calls of agents", &here);
                    }
                }
            }
            Event::Agent { report: AgentEvent::ToolCall(_), .. } => {
                if let Some(turn) = self.turn(lane) {
                    turn.tool_calls = turn.tool_calls.saturating_add(1);
                }
            }
            Event::AgentFinished { exit_code, failure, usage, duration_ms, logs, .. } => {
                history.usage += *usage;
                if let Some(turn) = self.turn(lane) {
                    turn.took_ms = Some(*duration_ms);
                    (turn.exit_code, turn.failure) = (*exit_code, failure.clone());
                    (turn.usage, turn.logs) = (*usage, logs.clone());
                }
                let called = self.called.entry(lane).or_insert_with(|| (self.history.agent.clone(), None));
                called.1 = None;
                let share = AgentShare { agent: called.0.clone(), calls: 1, usage: *usage };
                if !share.add_to(&mut self.agents) {
                    self.leave_out("agents", &here);
                }
                // Its end says it in all; one that is cut off tells none.
                if let Some(iteration) = self.open(lane) {
                    iteration.usage += *usage;
                }
            }
            Event::TasksTakenBack { tasks, .. } => {
                self.are_not_completed(tasks);
                match self.open(lane) {
                    Some(iteration) => iteration.taken_back.extend(tasks.iter().cloned()),
                    None => self.history.taken_back_outside.extend(tasks.iter().cloned()),
                }
            }
            Event::TaskClaimed { base, .. } if history.first_commit.is_none() => {
                history.first_commit = Some(base.clone());
                history.last_commit.get_or_insert_with(|| base.clone());
            }
            Event::TaskCompleted { task, provisional, .. } => {
                self.told.insert(task.clone());
                if !provisional {
                    self.is_completed(task);
                }
            }
            Event::TaskReturned { task, attempt, reason, .. } => history.returned.push(ReturnedTask {
                task: task.clone(),
                attempt: *attempt,
                reason: reason.clone(),
                event: here.clone(),
            }),
            Event::TaskLanded { task, into, commit } => {
                let (task, into, commit) = (task.clone(), into.clone(), commit.clone());
                self.is_completed(&task);
                let history = &mut self.history;
                history.held.retain(|held| held.task != task);
                history.last_commit = Some(commit.clone());
                let place = self.last_for.get(&task).copied();
                if let Some(iteration) = place.and_then(|place| history.iterations.get_mut(place)) {
                    iteration.is_merged = true;
                }
                history.landed.push(LandedTask { task, into, commit });
            }
            // As the run itself counts: what was changed or removed was completed all the same.
            Event::PlanChanged { change, task, title, reason, actor } => {
                if (*change, *actor) == (PlanChange::Added, Actor::Agent)
                    && let Some(iteration) = self.looks_for_tasks(lane)
                    && self.history.found.len() < MAX_FOUND
                {
                    let (task, title) = (task.clone(), title.clone());
                    self.history.found.push(FoundTask { task, title, iteration });
                }
                if change.moves() {
                    self.are_not_completed(std::slice::from_ref(task));
                    self.set_aside(task, *change);
                }
                let history = &mut self.history;
                if change.moves() || change.is_of_queue() {
                    history.held.retain(|held| held.task != *task);
                }
                if *change == PlanChange::Held {
                    let (task, reason, by) = (task.clone(), reason.clone(), *actor);
                    if history.held.len() < MAX_HELD {
                        history.held.push(HeldBackTask { task, reason, by, event: here.clone() });
                    } else {
                        self.leave_out("tasks that are held back", &here);
                    }
                }
            }
            Event::Commanded { command, by, .. } if ENDING.contains(&command.as_str()) => {
                // Whoever asks for it later asks for what is under way.
                history.ended_by.get_or_insert_with(|| by.clone());
            }
            Event::QualityChecked { ok, result, failures, reason, commit, iteration, merged } => {
                let check = CheckHistory {
                    iteration: *iteration,
                    lane,
                    merged: merged.clone(),
                    ok: *ok,
                    result: *result,
                    failures: failures.clone(),
                    reason: reason.clone(),
                    commit: commit.clone(),
                    event: here.clone(),
                };
                history.checks.push(check);
                // Each time so many at once: to move all the others for one takes long.
                if history.checks.len() >= 2 * MAX_CHECKS {
                    leave_last(&mut history.checks, MAX_CHECKS);
                }
                // What was merged for a check has not landed yet.
                self.saw(lane, commit.as_ref().filter(|_| merged.is_empty()));
                if let Some(iteration) = self.open(lane) {
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
                uncommitted,
                committed_for_agent,
                ..
            } => {
                // What a lane has done is completed once it has landed.
                self.told.extend(completed.iter().cloned());
                for task in completed.iter().filter(|_| lane.is_none()) {
                    self.is_completed(task);
                }
                self.saw(lane, commit.as_ref());
                if self.open(lane).is_none() {
                    let unknown = IterationHistory::unknown(*number, record.seq);
                    self.begin(lane, IterationHistory { lane, ..unknown }, &here);
                }
                if let Some(iteration) = self.open(lane) {
                    iteration.took_ms =
                        iteration.began_ms.map(|began| record.elapsed_ms.saturating_sub(began));
                    (iteration.last_event, iteration.ended) = (record.seq, Some(here.clone()));
                    (iteration.outcome, iteration.failure) = (Some(*outcome), failure.clone());
                    (iteration.completed, iteration.usage) = (completed.clone(), *usage);
                    (iteration.excused, iteration.unrecorded) = (*excused, *unrecorded);
                    iteration.lost_its_task = record.event.lost_its_task();
                    iteration.commit.clone_from(commit);
                    iteration.uncommitted.clone_from(uncommitted);
                    iteration.committed_for_agent.clone_from(committed_for_agent);
                }
            }
            Event::Warning { message } => self.warn(message.clone(), &here),
            Event::Lagged { lost } => history.gaps.agent_text = history.gaps.agent_text.saturating_add(*lost),
            Event::RunFinished(report) => {
                // The report is of the run before, too, from which it goes on.
                let goes_on = history.goes_on_from.is_some();
                if !goes_on {
                    history.usage = report.usage;
                }
                history.report = Some(report.clone());
                self.completed.clear();
                for task in report.completed.iter().filter(|task| !goes_on || self.told.contains(*task)) {
                    self.completed.entry(task.clone()).or_insert(self.completions);
                    self.completions += 1;
                }
            }
            _ => {}
        }
        if let Some(iteration) = self.open(lane) {
            iteration.last_event = record.seq;
        }
    }

    /// Returns what the doer of an event that was taken does, as the event tells; `None` if it tells nothing of that.
    pub(super) fn now(&self, entry: &LogEntry) -> Option<Now> {
        let record = &entry.record;
        let (lane, is_over) = (record.doer(), matches!(record.event, Event::IterationFinished { .. }));
        let iteration = entry.iteration.filter(|_| !is_over);
        let last = self.last.get(&lane).and_then(|place| self.history.iterations.get(*place));
        let row = last.filter(|_| iteration.is_some());
        Some(Now {
            run: record.run_id.to_string(),
            lane,
            iteration,
            mode: row.and_then(|row| row.mode),
            task: entry.task.clone().filter(|_| iteration.is_some()),
            title: row.map(|row| row.title.clone()).unwrap_or_default(),
            began_at: row.and_then(|row| row.started_at),
            agent: self.called.get(&lane).and_then(|(_, name)| name.clone()),
            doing: event_line(&record.event)?,
            event: event_ref(record),
        })
    }

    /// Keeps what every event tells, and says whether it was not told before.
    fn is_news(&mut self, record: &EventRecord) -> bool {
        let history = &mut self.history;
        // That something is lost has the number of what comes next.
        let is_numbered = !matches!(record.event, Event::Lagged { .. });
        if is_numbered && !self.numbers.take(record.seq) {
            history.gaps.repeated = history.gaps.repeated.saturating_add(1);
            return false;
        }
        history.last_at = Some(record.at);
        history.took_ms = history.took_ms.max(record.elapsed_ms);
        history.last = Some(event_ref(record));
        true
    }

    /// Takes down that a task was completed.
    fn is_completed(&mut self, task: &TaskId) {
        self.completed.entry(task.clone()).or_insert(self.completions);
        self.completions += 1;
    }

    /// Takes down that tasks are not completed any more.
    fn are_not_completed(&mut self, tasks: &[TaskId]) {
        tasks.iter().for_each(|task| _ = self.completed.remove(task));
    }

    /// Stores whether a change sets a task aside, in the iterations that work on it.
    fn set_aside(&mut self, task: &TaskId, change: PlanChange) {
        let to = match change {
            PlanChange::Skipped => Some(Status::Skipped),
            PlanChange::Blocked | PlanChange::Asked => Some(Status::Blocked),
            _ => None,
        };
        for place in self.last.values() {
            let iteration = self.history.iterations.get_mut(*place);
            let is_of_task =
                |it: &&mut IterationHistory| it.outcome.is_none() && it.task.as_ref() == Some(task);
            if let Some(iteration) = iteration.filter(is_of_task) {
                iteration.set_aside = to;
            }
        }
    }

    /// Takes down that an iteration is the last one of a lane.
    fn begin(&mut self, lane: Option<u32>, iteration: IterationHistory, here: &EventRef) {
        if self.history.iterations.len() >= MAX_ITERATIONS {
            self.last.remove(&lane);
            return self.leave_out("iterations", here);
        }
        let place = self.history.iterations.len();
        self.last.insert(lane, place);
        self.last_for.extend(iteration.task.clone().map(|task| (task, place)));
        self.history.iterations.push(iteration);
    }

    /// Returns the last iteration of a lane.
    fn last_of(&mut self, lane: Option<u32>) -> Option<&mut IterationHistory> {
        self.history.iterations.get_mut(*self.last.get(&lane)?)
    }

    /// Returns the iteration of a lane that is under way.
    fn open(&mut self, lane: Option<u32>) -> Option<&mut IterationHistory> {
        self.last_of(lane).filter(|iteration| iteration.outcome.is_none())
    }

    /// Returns the iteration of a lane that looks for tasks and is under way.
    fn looks_for_tasks(&mut self, lane: Option<u32>) -> Option<u32> {
        self.open(lane).filter(|one| one.mode == Some(Mode::Discovery)).map(|one| one.iteration)
    }

    /// Returns the call of a lane that is under way.
    fn turn(&mut self, lane: Option<u32>) -> Option<&mut TurnHistory> {
        let iteration = self.last_of(lane)?;
        iteration.turns.last_mut().filter(|turn| turn.took_ms.is_none())
    }

    /// Takes down the commit that is checked out. Those of lanes are on branches of their own.
    fn saw(&mut self, lane: Option<u32>, commit: Option<&String>) {
        if let Some(commit) = commit.filter(|_| lane.is_none()) {
            self.history.last_commit = Some(commit.clone());
        }
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

    /// Warns once that there is more of something than is kept.
    fn leave_out(&mut self, what: &'static str, here: &EventRef) {
        if self.left_out.insert(what) {
            self.warn(format!("the record has more {what} than are told one by one"), here);
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

/// Leaves the last ones of many.
fn leave_last(checks: &mut Vec<CheckHistory>, count: usize) {
    let beyond = checks.len().saturating_sub(count);
    checks.drain(..beyond);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use std::sync::Arc;

    use super::*;
    use crate::{
        event::{CheckResult, EVENT_SCHEMA_VERSION},
        model::payload::{TaskBrief, Turn},
    };

    fn folded(events: impl Iterator<Item = Event>) -> RunHistory {
        let mut fold = Fold::new("r");
        for (seq, event) in (1..).zip(events) {
            let record = EventRecord {
                schema_version: EVENT_SCHEMA_VERSION,
                seq,
                at: jiff::Timestamp::UNIX_EPOCH,
                elapsed_ms: seq,
                run_id: Arc::from("r"),
                lane: None,
                event,
            };
            fold.take(&LogEntry { record, iteration: None, task: None });
        }
        fold.end(0)
    }

    fn began(iteration: u32) -> Event {
        Event::IterationStarted { iteration, mode: Mode::Implementation, task: None }
    }

    fn call(agent: &str) -> [Event; 2] {
        let (turn, agent) = (Turn::Main, agent.to_owned());
        let started = Event::AgentStarted { iteration: 1, turn, agent, model: None, why: String::new() };
        let finished = Event::AgentFinished {
            iteration: 1,
            turn,
            exit_code: Some(0),
            failure: None,
            usage: Usage { input_tokens: 1, ..Usage::default() },
            duration_ms: 1,
            logs: Vec::new(),
        };
        [started, finished]
    }

    fn warnings(history: &RunHistory) -> Vec<&str> {
        history.warnings.iter().map(|warning| warning.text.as_str()).collect()
    }

    #[test]
    fn of_more_iterations_than_any_run_has_the_first_are_kept_and_that_is_said() {
        let history = folded((1..=100_010).map(began));
        assert_eq!(history.iterations.len(), MAX_ITERATIONS);
        assert_eq!(history.iterations[MAX_ITERATIONS - 1].iteration, 100_000);
        assert_eq!(warnings(&history), ["the record has more iterations than are told one by one"]);
    }

    #[test]
    fn of_more_calls_than_any_run_has_the_sum_is_kept_and_of_more_agents_too() {
        let names = (0..201_000).map(|number| format!("agent {}", number % 1_500));
        let history = folded(std::iter::once(began(1)).chain(names.flat_map(|name| call(&name))));
        assert_eq!((history.iterations[0].turns.len(), history.agents.len()), (MAX_TURNS, MAX_AGENTS));
        assert_eq!(history.usage.input_tokens, 201_000);
        let of_agents: u64 = history.agents.iter().map(|total| total.usage.input_tokens).sum();
        assert_eq!(of_agents, 134_000);
        assert_eq!(warnings(&history).len(), 2, "{:?}", warnings(&history));
    }

    #[test]
    fn completions_are_in_their_order_whatever_was_taken_back_and_quick_however_many_there_are() {
        let completed = |id: u32| {
            let (task, title) = (TaskId::new(id.to_string()), String::new());
            Event::TaskCompleted { task, title, provisional: false, marks: Vec::new() }
        };
        let back =
            |id: u32| Event::TasksTakenBack { tasks: vec![TaskId::new(id.to_string())], reasons: Vec::new() };
        let history = folded([completed(1), completed(2), completed(3), back(1), completed(1)].into_iter());
        let order: Vec<&str> = history.completed.iter().map(TaskId::as_str).collect();
        assert_eq!(order, ["2", "3", "1"]);
        // Each of these would go through all others: that takes many minutes.
        let many: u32 = if std::env::var_os("SAMUEL_LONG").is_some() { 100_000 } else { 40_000 };
        let taken_back = (0..many / 2).flat_map(|id| [back(id), completed(id)]);
        let history = folded((0..many).map(completed).chain(taken_back));
        assert_eq!(history.completed.len(), many as usize);
        assert_eq!(history.completed.first(), Some(&TaskId::new((many / 2).to_string())));
    }

    #[test]
    fn merges_last_iteration_of_task_quickly() {
        let (one, two) = (TaskId::new("1"), TaskId::new("2"));
        let began = |task: &TaskId, iteration| {
            let task = Some(TaskBrief { id: task.to_string(), ..TaskBrief::default() });
            Event::IterationStarted { iteration, mode: Mode::Implementation, task }
        };
        let landed = |task: &TaskId| {
            let (into, commit) = ("main".to_owned(), "abcd".to_owned());
            Event::TaskLanded { task: task.clone(), into, commit }
        };
        // If each of these went through all iterations, that would take minutes.
        let unknown = (0..100_000).map(|_| landed(&two));
        let began = (1..=50_000).map(|number| began(&one, number));
        let history = folded(began.chain(unknown).chain([landed(&one)]));
        let merged: Vec<u32> =
            history.iterations.iter().filter(|it| it.is_merged).map(|it| it.iteration).collect();
        assert_eq!(merged, [50_000]);
    }

    #[test]
    fn of_many_checks_the_last_are_kept() {
        let checked = |iteration| Event::QualityChecked {
            iteration,
            ok: true,
            result: CheckResult::Passed,
            failures: Vec::new(),
            reason: None,
            commit: None,
            merged: Vec::new(),
        };
        let history = folded((1..=45_000).map(checked));
        let kept: Vec<u32> = history.checks.iter().map(|check| check.iteration).collect();
        assert_eq!((kept.len(), kept[0]), (MAX_CHECKS, 25_001));
    }
}
