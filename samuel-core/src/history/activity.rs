//! What the last runs cost, where they failed, and what the one that is under way does.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde::Serialize;

use super::{Eta, History, HistoryError, LogEntry, event_line, fold::event_ref, run_history::EventRef};
use crate::{
    event::Event,
    model::{Groups, IterationOutcome, Plan, Task, TaskId, Usage, payload::Mode, with_model},
    project::ProjectStatus,
    state::StateError,
};

/// How many runs are read, the last ones.
pub(super) const MAX_RUNS: usize = 20;
/// How much of their records is read, in bytes.
pub(super) const MAX_BYTES: u64 = 128 << 20;
/// How many failures are told, the last ones.
const MAX_FAILURES: usize = 5;
/// How many tasks and agents have figures of their own, the first that are met: a forged record names any number.
const MAX_TASKS: usize = 50_000;
const MAX_AGENTS: usize = 1_000;
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
            let before = sum.clone();
            match self.add(run, is_live, since, &mut sum) {
                Ok(Added::All { read }) => {
                    bytes = bytes.saturating_add(read);
                    sum.activity.runs += 1;
                }
                Ok(Added::OfAnotherPlan) => break,
                // What its record tells before that is no sum of the run.
                Err(_) => {
                    sum = before;
                    sum.activity.unread_runs += 1;
                }
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
        let (mut of_run, mut is_first) = (OfRun::default(), true);
        while let Some(entry) = entries.next_entry()? {
            if std::mem::take(&mut is_first) && since.is_some_and(|since| entry.record.at < since) {
                return Ok(Added::OfAnotherPlan);
            }
            sum.take(&entry, &mut of_run);
        }
        self.add_interrupted(since, &mut of_run, sum);
        // The newest run comes first, and of a run the last failure.
        let room = MAX_FAILURES.saturating_sub(sum.activity.last_failures.len());
        sum.activity.last_failures.extend(of_run.failures.into_iter().rev().take(room));
        if is_live {
            let told: Vec<Now> = of_run.lanes.into_values().filter_map(|lane| lane.now).collect();
            // What lands meanwhile, and what lanes hand in, does not end a hold.
            let is_at_work = told.iter().any(|now| now.iteration.is_some());
            let held = of_run.held.filter(|_| !is_at_work);
            sum.activity.now = held.or_else(|| told.iter().max_by_key(|now| now.event.seq).cloned());
            let at_work = told.into_iter().filter(|now| now.lane.is_some() && now.iteration.is_some());
            sum.activity.lanes = at_work.collect();
        }
        Ok(Added::All { read: entries.bytes() })
    }

    /// Adds the iterations that a run ended for the run that it continues to the figures of their tasks, as far as the
    /// record of that run has them.
    fn add_interrupted(&self, since: Option<Timestamp>, run: &mut OfRun, sum: &mut Sum) {
        let ended = std::mem::take(&mut run.interrupted);
        let numbers = ended.iter().map(|ended| ended.iteration).collect();
        let mut beginnings = self.beginnings_of(numbers, run.goes_on_from.take());
        let is_of_plan = |begun_in: &str| since.is_none_or(|since| !self.is_before(begun_in, since));
        for ended in ended {
            let begun = beginnings.remove(&ended.iteration);
            let Some((_, begun)) = begun.filter(|(begun_in, _)| is_of_plan(begun_in)) else { continue };
            let Some(task) = begun.task else { continue };
            let figures = sum.task(&task);
            figures.usage += ended.usage;
            figures.failed += u32::from(ended.has_failed);
            let is_it = |note: &&mut FailureNote| note.iteration == ended.iteration && note.task.is_none();
            if let Some(note) = run.failures.iter_mut().find(is_it) {
                note.task = Some(task);
            }
        }
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

#[derive(Clone, Default)]
struct Sum {
    activity: Activity,
    agents: BTreeMap<String, AgentShare>,
    tasks: BTreeMap<TaskId, TaskFigures>,
    /// The figures of the last task beyond the most, which are not told.
    beyond: Option<TaskFigures>,
    /// How long iterations took that worked on tasks.
    took: Vec<u64>,
    completed: usize,
}

/// What is known of the run that is read.
#[derive(Default)]
struct OfRun {
    /// The agent that it has.
    agent: String,
    /// What is known of each lane; of a run without lanes all is.
    lanes: BTreeMap<Option<u32>, OfLane>,
    failures: Vec<FailureNote>,
    /// That it holds, where it does.
    held: Option<Now>,
    goes_on_from: Option<String>,
    /// The iterations that it ended and did not begin.
    interrupted: Vec<Interrupted>,
}

/// How an iteration ended that was cut off in the run before.
struct Interrupted {
    iteration: u32,
    usage: Usage,
    has_failed: bool,
}

/// What is known of a lane.
#[derive(Default)]
struct OfLane {
    /// The agent that was called last.
    agent: Option<String>,
    /// The agent that is called, with its model.
    calling: Option<String>,
    /// Whether an iteration is under way, and when it began, in milliseconds.
    has_begun: bool,
    began_ms: u64,
    mode: Mode,
    title: String,
    began_at: Option<Timestamp>,
    now: Option<Now>,
}

impl Sum {
    fn task(&mut self, id: &TaskId) -> &mut TaskFigures {
        let none = || TaskFigures {
            task: id.clone(),
            iterations: 0,
            failed: 0,
            taken_back: 0,
            took_ms: 0,
            usage: Usage::default(),
        };
        if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(id) {
            return self.beyond.insert(none());
        }
        self.tasks.entry(id.clone()).or_insert_with(none)
    }

    /// Adds what a call of an agent consumed.
    fn called(&mut self, agent: &str, usage: Usage) {
        if self.agents.len() >= MAX_AGENTS && !self.agents.contains_key(agent) {
            return;
        }
        let share = self.agents.entry(agent.to_owned()).or_insert_with(|| AgentShare {
            agent: agent.to_owned(),
            calls: 0,
            usage: Usage::default(),
        });
        share.calls += 1;
        share.usage += usage;
    }

    fn take(&mut self, entry: &LogEntry, run: &mut OfRun) {
        let record = &entry.record;
        let lane = run.lanes.entry(record.doer()).or_default();
        match &record.event {
            Event::RunStarted { agent, goes_on_from, .. } => {
                run.agent.clone_from(agent);
                run.goes_on_from.clone_from(goes_on_from);
            }
            Event::AgentStarted { agent, model, .. } => {
                (lane.agent, lane.calling) = (Some(agent.clone()), Some(with_model(agent, model.as_deref())));
            }
            Event::IterationStarted { mode, task, .. } => {
                (lane.began_ms, lane.mode, lane.began_at) = (record.elapsed_ms, *mode, Some(record.at));
                lane.has_begun = true;
                lane.title = task.as_ref().map(|task| task.title.clone()).unwrap_or_default();
                if let Some(task) = &entry.task {
                    self.task(task).iterations += 1;
                }
            }
            Event::AgentFinished { usage, .. } => {
                lane.calling = None;
                self.called(lane.agent.as_ref().unwrap_or(&run.agent), *usage);
            }
            Event::TasksTakenBack { tasks, .. } => {
                tasks.iter().for_each(|task| self.task(task).taken_back += 1);
            }
            Event::TaskLanded { .. } => self.completed += 1,
            Event::IterationFinished { iteration, outcome, failure, completed, usage, excused, .. } => {
                // What met a usage limit or lost its task is no failure, and says nothing of how long work takes.
                let failure = failure.as_ref().filter(|_| !excused);
                // One that was interrupted ends in the run that goes on, and began in the one before: how
                // long it took is not known.
                let began_here = std::mem::take(&mut lane.has_begun);
                let took = if began_here { record.elapsed_ms.saturating_sub(lane.began_ms) } else { 0 };
                let is_work = lane.mode == Mode::Implementation && *outcome != IterationOutcome::Cancelled;
                if began_here && is_work && !excused {
                    self.took.push(took);
                    // What a lane has done is completed once it has landed.
                    self.completed += if record.lane.is_none() { completed.len() } else { 0 };
                }
                if let Some(task) = &entry.task {
                    let figures = self.task(task);
                    figures.took_ms = figures.took_ms.saturating_add(took);
                    figures.usage += *usage;
                    figures.failed += u32::from(failure.is_some());
                } else if !began_here {
                    let (iteration, usage, has_failed) = (*iteration, *usage, failure.is_some());
                    run.interrupted.push(Interrupted { iteration, usage, has_failed });
                }
                if let Some(failure) = failure {
                    run.failures.push(FailureNote {
                        iteration: *iteration,
                        task: entry.task.clone(),
                        class: failure.class.to_string(),
                        message: failure.message.clone(),
                        event: event_ref(record),
                    });
                    let beyond = run.failures.len().saturating_sub(MAX_FAILURES);
                    run.failures.drain(..beyond);
                }
            }
            _ => {}
        }
        let is_over = matches!(record.event, Event::IterationFinished { .. });
        let in_iteration = entry.iteration.filter(|_| !is_over);
        if let Some(doing) = event_line(&record.event) {
            let now = Now {
                run: record.run_id.to_string(),
                lane: record.doer(),
                iteration: in_iteration,
                mode: in_iteration.map(|_| lane.mode),
                task: entry.task.clone().filter(|_| in_iteration.is_some()),
                title: if in_iteration.is_some() { lane.title.clone() } else { String::new() },
                began_at: lane.began_at.filter(|_| in_iteration.is_some()),
                agent: lane.calling.clone(),
                doing,
                event: event_ref(record),
            };
            match record.event {
                Event::Paused => run.held = Some(now.clone()),
                Event::Resumed | Event::Stopping { .. } | Event::RunFinished(_) => run.held = None,
                _ => {}
            }
            lane.now = Some(now);
        }
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
            sum.called(&format!("agent {number}"), Usage::default());
        }
        assert_eq!((sum.tasks.len(), sum.agents.len()), (MAX_TASKS, MAX_AGENTS));
        assert_eq!(sum.tasks.get(&TaskId::new("0")).map(|task| task.iterations), Some(2));
        assert_eq!(sum.agents.get("agent 0").map(|share| share.calls), Some(2));
    }
}
