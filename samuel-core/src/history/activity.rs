//! What the last runs cost, where they failed, and what the one that is under way does.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use jiff::Timestamp;
use serde::Serialize;

use super::{
    Eta, History, HistoryError, IterationHistory, RunHistory,
    fold::{Fold, MAX_AGENTS},
    run_history::EventRef,
};
use crate::{
    event::Event,
    model::{Groups, IterationOutcome, Plan, Task, TaskId, Usage, payload::Mode},
    project::ProjectStatus,
    state::StateError,
};

/// How many runs are read, the last ones.
pub(super) const MAX_RUNS: usize = 20;
/// How much of their records is read, in bytes.
pub(super) const MAX_BYTES: u64 = 128 << 20;
/// How many failures are told, the last ones.
const MAX_FAILURES: usize = 5;
/// How many tasks have figures of their own, the first that are met: a forged record names any number.
const MAX_TASKS: usize = 50_000;
/// What is read of the records.
const WANTED: &[&str] = &[
    "run_started",
    "iteration_started",
    "iteration_finished",
    "agent_started",
    "agent_finished",
    "task_completed",
    "task_landed",
    "landing_held",
    "tasks_taken_back",
    "quality_checked",
    "tool_call",
    "waiting",
    "paused",
    "resumed",
    "stopping",
    "run_finished",
];

/// What the last runs did, and the one that is under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// What the loop does now; nothing where none is recorded that is under way.
    pub now: Option<Now>,
    /// What each lane does that is at work, in their order; none in a run without lanes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Now>,
    /// The last failures, the newest first; at most 5.
    pub last_failures: Vec<FailureNote>,
    /// What each agent consumed.
    pub agents: Vec<AgentShare>,
    /// The tasks that iterations were for, in natural order.
    pub tasks: Vec<TaskFigures>,
    /// How much longer the plan may take.
    pub eta: Eta,
    /// How many runs it rests on, the last ones for the present plan.
    pub runs: usize,
    /// How many of these could not be read, or not to their end.
    pub unread_runs: usize,
    /// How many older ones are recorded and were not read, most of them perhaps for plans that were replaced.
    pub more_runs: usize,
}

/// Where a plan stands, and what the last runs did.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// Where the plan stands.
    #[serde(flatten)]
    pub status: ProjectStatus,
    /// What the last runs did.
    pub activity: Activity,
}

/// What a loop does now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Now {
    /// The run.
    pub run: String,
    /// The lane; nothing where the whole run is told of, and in a run without lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// The iteration under way; nothing between two.
    pub iteration: Option<u32>,
    /// What it is for.
    pub mode: Option<Mode>,
    /// The task, where it is for one.
    pub task: Option<TaskId>,
    /// The task's title.
    pub title: String,
    /// When the iteration began.
    pub began_at: Option<Timestamp>,
    /// The agent that is called, with its model; nothing between two calls.
    pub agent: Option<String>,
    /// What was told last, on one line.
    pub doing: String,
    /// The event that told it.
    pub event: EventRef,
}

/// A failure of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureNote {
    /// The iteration.
    pub iteration: u32,
    /// The task, where it was for one.
    pub task: Option<TaskId>,
    /// The kind of thing that failed.
    pub class: String,
    /// What failed, on one line.
    pub message: String,
    /// The event.
    pub event: EventRef,
}

/// What the calls of an agent consumed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentShare {
    /// The agent.
    pub agent: String,
    /// How many calls came to their end.
    pub calls: u64,
    /// What they consumed.
    pub usage: Usage,
}

impl AgentShare {
    /// Adds it to the shares of all agents, unless it is one of more than are counted. Returns whether it is counted.
    pub(super) fn add_to(self, agents: &mut BTreeMap<String, Self>) -> bool {
        if let Some(known) = agents.get_mut(&self.agent) {
            known.calls = known.calls.saturating_add(self.calls);
            known.usage += self.usage;
            return true;
        }
        let is_counted = agents.len() < MAX_AGENTS;
        if is_counted {
            agents.insert(self.agent.clone(), self);
        }
        is_counted
    }
}

/// What the iterations for a task came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskFigures {
    /// The task.
    pub task: TaskId,
    /// How many iterations were for it.
    pub iterations: u32,
    /// How many of them failed.
    pub failed: u32,
    /// How often its completion was taken back.
    pub taken_back: u32,
    /// How long those took that came to their end, in milliseconds.
    pub took_ms: u64,
    /// What they consumed.
    pub usage: Usage,
}

impl TaskFigures {
    fn none(task: &TaskId) -> Self {
        let (task, usage) = (task.clone(), Usage::default());
        Self { task, iterations: 0, failed: 0, taken_back: 0, took_ms: 0, usage }
    }

    /// Returns those of the tasks of a run.
    pub(super) fn of_run(run: &RunHistory) -> BTreeMap<TaskId, Self> {
        let mut all: BTreeMap<TaskId, Self> = BTreeMap::new();
        let taken_back = run.iterations.iter().flat_map(|row| &row.taken_back);
        for task in taken_back.chain(&run.taken_back_outside) {
            all.entry(task.clone()).or_insert_with(|| Self::none(task)).taken_back += 1;
        }
        for row in &run.iterations {
            let Some(task) = &row.task else { continue };
            let figures = all.entry(task.clone()).or_insert_with(|| Self::none(task));
            figures.iterations += 1;
            figures.failed += u32::from(row.has_failed());
            figures.took_ms = figures.took_ms.saturating_add(row.took_ms.unwrap_or_default());
            figures.usage += row.usage;
        }
        all
    }

    fn add(&mut self, more: &Self) {
        self.iterations = self.iterations.saturating_add(more.iterations);
        self.failed = self.failed.saturating_add(more.failed);
        self.taken_back = self.taken_back.saturating_add(more.taken_back);
        self.took_ms = self.took_ms.saturating_add(more.took_ms);
        self.usage += more.usage;
    }
}

impl History {
    /// Says what the last runs for the present plan did: at most 20, and no more of their records than 128 MiB.
    /// Runs from before the plan was stored as a whole were for another one, whatever its tasks are called. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::State`] where the records cannot be listed. One that cannot be read
    /// is left out.
    pub fn activity(&self) -> Result<Activity, HistoryError> {
        let runs = self.recorded()?;
        let under_way = self.under_way()?;
        let since = self.plan_since();
        let mut sum = Sum::default();
        let mut bytes = 0_u64;
        for run in runs.iter().rev().take(MAX_RUNS) {
            if bytes > MAX_BYTES {
                break;
            }
            let is_live = under_way.as_deref() == Some(run);
            match self.add(run, is_live, since, &mut sum) {
                Ok(Added::All { read }) => {
                    bytes = bytes.saturating_add(read);
                    sum.activity.runs += 1;
                }
                Ok(Added::OfAnotherPlan) => break,
                Err(_) => sum.activity.unread_runs += 1,
            }
        }
        let mut activity = sum.activity;
        activity.more_runs = runs.len().saturating_sub(activity.runs + activity.unread_runs);
        activity.agents = sum.agents.into_values().collect();
        activity.tasks = sum.tasks.into_values().collect();
        let left = match self.project.plan_store().load() {
            Ok(loaded) => tasks_left(&loaded.plan),
            // Without a plan nothing is left of one.
            Err(StateError::NotInitialised { .. }) => 0,
            Err(error) => return Err(error.into()),
        };
        activity.eta = Eta::of(left, sum.took, sum.completed);
        Ok(activity)
    }

    /// Adds a run to the sum, unless it began before the plan did.
    fn add(
        &self,
        run: &str,
        is_live: bool,
        since: Option<Timestamp>,
        sum: &mut Sum,
    ) -> Result<Added, HistoryError> {
        let mut entries = self.entries(run).wanting(WANTED);
        let (mut fold, mut live, mut is_first) = (Fold::new(run), Live::default(), true);
        while let Some(entry) = entries.next_entry()? {
            if std::mem::take(&mut is_first) && since.is_some_and(|since| entry.record.at < since) {
                return Ok(Added::OfAnotherPlan);
            }
            fold.take(&entry);
            if is_live && let Some(now) = fold.now(&entry) {
                live.take(&entry.record.event, now);
            }
        }
        let mut history = fold.end(entries.unreadable());
        self.fill_in(&mut history);
        for row in &mut history.iterations {
            let is_before = |run: &String| since.is_some_and(|since| self.is_before(run, since));
            // Its task is one of another plan.
            if row.began_in.as_ref().is_some_and(is_before) {
                (row.task, row.began_in) = (None, None);
            }
        }
        sum.add(history);
        if is_live {
            live.tell(&mut sum.activity);
        }
        Ok(Added::All { read: entries.bytes() })
    }
}

/// What became of a run that was to be added to a sum.
enum Added {
    /// It is in it, with so much of its record, in bytes.
    All { read: u64 },
    /// It is not, and no older one would be.
    OfAnotherPlan,
}

/// Counts the tasks that a loop still works on. What only waits to be landed takes no more iterations.
fn tasks_left(plan: &Plan) -> usize {
    let groups = Groups::of(&plan.tasks);
    let queued: HashSet<&TaskId> = plan
        .claimed_tasks()
        .filter(|(_, claim)| claim.phase.is_in_queue())
        .map(|(task, _)| &task.id)
        .collect();
    let is_left = |(place, task): &(usize, &Task)| {
        !groups.is_group(*place) && !task.is_settled() && !queued.contains(&task.id)
    };
    plan.tasks.iter().enumerate().filter(is_left).count()
}

#[derive(Default)]
struct Sum {
    activity: Activity,
    agents: BTreeMap<String, AgentShare>,
    tasks: BTreeMap<TaskId, TaskFigures>,
    /// The figures of the last task beyond the most, which are not told.
    beyond: Option<TaskFigures>,
    /// How long iterations took that worked on tasks.
    took: Vec<u64>,
    completed: usize,
    /// How iterations ended that were cut off in an older run, by that run and their numbers.
    ends: BTreeMap<(String, u32), IterationHistory>,
}

impl Sum {
    fn task(&mut self, id: &TaskId) -> &mut TaskFigures {
        if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(id) {
            return self.beyond.insert(TaskFigures::none(id));
        }
        self.tasks.entry(id.clone()).or_insert_with(|| TaskFigures::none(id))
    }

    /// Adds a run, which is older than those that were added before.
    fn add(&mut self, mut run: RunHistory) {
        let room = MAX_FAILURES.saturating_sub(self.activity.last_failures.len());
        self.activity.last_failures.extend(last_failures(&run, room));
        // An iteration counts in the run in which it began, as it ended.
        for row in run.iterations.iter_mut().filter(|row| row.outcome.is_none()) {
            if let Some(end) = self.ends.remove(&(run.run.clone(), row.iteration)) {
                (row.failure, row.excused, row.usage) = (end.failure, end.excused, end.usage);
            }
        }
        let ended = run.iterations.extract_if(.., |row| row.began_in.is_some());
        self.ends.extend(ended.filter_map(|row| Some(((row.began_in.clone()?, row.iteration), row))));
        for row in &run.iterations {
            // How long it took is not known of one that was interrupted. What met a usage limit or lost its task says
            // nothing of how long work takes.
            let is_work = row.mode == Some(Mode::Implementation) && !row.excused;
            let is_work = is_work && row.outcome != Some(IterationOutcome::Cancelled);
            let Some(took) = row.took_ms.filter(|_| is_work) else { continue };
            self.took.push(took);
            // What a lane has done is completed once it has landed.
            self.completed += if row.lane.is_none() { row.completed.len() } else { 0 };
        }
        self.completed += run.landed.len();
        for (task, figures) in TaskFigures::of_run(&run) {
            self.task(&task).add(&figures);
        }
        for share in run.agents {
            share.add_to(&mut self.agents);
        }
    }
}

/// Returns the last failures of a run, the newest first.
fn last_failures(run: &RunHistory, count: usize) -> Vec<FailureNote> {
    let note = |row: &IterationHistory| {
        let failure = row.failure.as_ref().filter(|_| row.has_failed())?;
        Some(FailureNote {
            iteration: row.iteration,
            task: row.task.clone(),
            class: failure.class.to_string(),
            message: failure.message.clone(),
            event: row.ended.clone()?,
        })
    };
    let mut notes: Vec<FailureNote> = run.iterations.iter().filter_map(note).collect();
    notes.sort_by_key(|note| Reverse(note.event.seq));
    notes.truncate(count);
    notes
}

/// What a run does that is under way.
#[derive(Default)]
struct Live {
    /// What each lane does; of a run without lanes all of it.
    lanes: BTreeMap<Option<u32>, Now>,
    /// That it holds, where it does.
    held: Option<Now>,
}

impl Live {
    fn take(&mut self, event: &Event, now: Now) {
        match event {
            Event::Paused => self.held = Some(now.clone()),
            Event::Resumed | Event::Stopping { .. } | Event::RunFinished(_) => self.held = None,
            _ => {}
        }
        self.lanes.insert(now.lane, now);
    }

    fn tell(self, activity: &mut Activity) {
        let told: Vec<Now> = self.lanes.into_values().collect();
        // What lands meanwhile, and what lanes hand in, does not end a hold.
        let is_at_work = told.iter().any(|now| now.iteration.is_some());
        let held = self.held.filter(|_| !is_at_work);
        activity.now = held.or_else(|| told.iter().max_by_key(|now| now.event.seq).cloned());
        let at_work = told.into_iter().filter(|now| now.lane.is_some() && now.iteration.is_some());
        activity.lanes = at_work.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_tasks_and_agents_than_there_can_be_the_first_have_figures() {
        let mut sum = Sum::default();
        for number in (0..MAX_TASKS + 100).chain([0]) {
            sum.task(&TaskId::new(number.to_string())).iterations += 1;
            let agent = format!("agent {number}");
            AgentShare { agent, calls: 1, usage: Usage::default() }.add_to(&mut sum.agents);
        }
        assert_eq!((sum.tasks.len(), sum.agents.len()), (MAX_TASKS, MAX_AGENTS));
        assert_eq!(sum.tasks.get(&TaskId::new("0")).map(|task| task.iterations), Some(2));
        assert_eq!(sum.agents.get("agent 0").map(|share| share.calls), Some(2));
    }
}
