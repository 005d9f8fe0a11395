//! All that is known of a task: what plan and journal say, and the iterations that worked on it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{
    History, HistoryError, IterationHistory, RunHistory, RunState,
    activity::{MAX_BYTES, MAX_RUNS},
};
use crate::{
    model::{Status, TaskId, Usage, with_model},
    project::{Attempt, AttemptEnd, TaskHistory},
    state::{StateError, of_iteration},
};

/// How many attempts are returned, the last ones.
const MAX_ATTEMPTS: usize = 50;
/// How many runs in a row a run continues, at most.
const MAX_CONTINUED: usize = 8;
/// What is read of the records.
const WANTED: &[&str] = &[
    "run_started",
    "iteration_started",
    "iteration_finished",
    "agent_started",
    "agent_finished",
    "quality_checked",
    "tasks_taken_back",
    "plan_changed",
    "task_landed",
    "task_returned",
    "run_finished",
];

/// The runs that were read, each with the run that it continues.
type Continued = BTreeMap<String, Option<String>>;

impl History {
    /// Returns all that is known of a task. Blocks.
    ///
    /// Its changes begin where the plan was last stored as a whole, and go back as far as the journal does. Its attempts
    /// are those of the last 20 runs for the present plan, as far as their records are kept.
    ///
    /// # Errors
    /// Returns [`StateError::TaskNotFound`] for an id that no task has, and the errors of
    /// [`PlanStore::load`](crate::state::PlanStore::load),
    /// [`PlanStore::journal_since`](crate::state::PlanStore::journal_since) and
    /// [`LaneStore::recorded_runs`](crate::state::LaneStore::recorded_runs).
    pub fn task(&self, id: &TaskId) -> Result<TaskHistory, StateError> {
        let history = self.project.task_without_attempts(id)?;
        let mut attempts = self.attempts(id)?;
        let more_attempts = attempts.len().saturating_sub(MAX_ATTEMPTS);
        attempts.drain(..more_attempts);
        for attempt in &mut attempts {
            if let (Some(run), Some(iteration)) = (&attempt.run, attempt.iteration) {
                attempt.logs = of_iteration(&self.project.run_dir(), run, iteration);
            }
        }
        Ok(TaskHistory { attempts, more_attempts, ..history })
    }

    /// Returns the iterations for a task, the oldest first.
    fn attempts(&self, id: &TaskId) -> Result<Vec<Attempt>, StateError> {
        let runs = match self.recorded() {
            Ok(runs) => runs,
            Err(HistoryError::State(error)) => return Err(error),
            Err(_) => Vec::new(),
        };
        let since = self.plan_since();
        let (mut read, mut bytes) = (Vec::new(), 0_u64);
        for run in runs.iter().rev().take(MAX_RUNS) {
            if bytes > MAX_BYTES || since.is_some_and(|since| self.is_before(run, since)) {
                break;
            }
            // A record that cannot be read has no attempts to return.
            if let Ok((history, size)) = self.folded_with_size(run, WANTED) {
                bytes = bytes.saturating_add(size);
                read.push(history);
            }
        }
        let (mut attempts, mut continued) = (Vec::new(), Continued::new());
        for run in read.into_iter().rev() {
            add(&mut attempts, &run, id, &continued);
            continued.insert(run.run, run.goes_on_from);
        }
        Ok(attempts)
    }
}

/// Adds the attempts of a run. The end of an iteration that began in a run before it belongs to the attempt there, and
/// so does a merge of work that was submitted before.
fn add(attempts: &mut Vec<Attempt>, run: &RunHistory, id: &TaskId, continued: &Continued) {
    let first = run.goes_on_from.as_deref();
    let earlier = std::iter::successors(first, |run| continued.get(*run)?.as_deref());
    let earlier: Vec<&str> = earlier.take(MAX_CONTINUED).collect();
    let is_of_earlier = !run.iterations.iter().any(|row| row.is_merged && row.task.as_ref() == Some(id));
    if is_of_earlier
        && run.landed.iter().any(|landed| landed.task == *id)
        && let Some(last) = attempts.last_mut()
        && matches!(last.end, AttemptEnd::Open | AttemptEnd::Returned)
    {
        last.end = AttemptEnd::Completed;
    }
    for row in &run.iterations {
        if let Some(began_at) = row.started_at.filter(|_| row.task.as_ref() == Some(id)) {
            attempts.push(attempt_of(run, row, began_at, id));
        } else if !row.began_here() {
            let is_it = |attempt: &&mut Attempt| {
                attempt.end == AttemptEnd::CutOff
                    && attempt.iteration == Some(row.iteration)
                    && attempt.run.as_deref().is_some_and(|run| earlier.contains(&run))
            };
            if let Some(attempt) = attempts.iter_mut().rev().find(is_it) {
                // When it was cut off is not known.
                end(attempt, row, id);
            }
        }
    }
    add_returned(attempts, run, id);
}

/// Adds why work did not land to the attempt that submitted it, which may be of an earlier run.
fn add_returned(attempts: &mut [Attempt], run: &RunHistory, id: &TaskId) {
    for returned in run.returned.iter().filter(|returned| returned.task == *id) {
        let is_its =
            |row: &&IterationHistory| row.task.as_ref() == Some(id) && row.first_event < returned.event.seq;
        let iteration = run.iterations.iter().rev().find(is_its).map(|row| row.iteration);
        let is_it = |attempt: &&mut Attempt| match iteration {
            Some(_) => attempt.run.as_deref() == Some(run.run.as_str()) && attempt.iteration == iteration,
            None => attempt.run.as_deref() != Some(run.run.as_str()),
        };
        let attempt = attempts.iter_mut().rev().find(is_it);
        if let Some(attempt) = attempt.filter(|attempt| attempt.end == AttemptEnd::Open) {
            attempt.end = AttemptEnd::Returned;
            attempt.fail(&returned.reason);
        }
    }
}

/// Returns the attempt that an iteration was.
fn attempt_of(run: &RunHistory, row: &IterationHistory, began_at: Timestamp, id: &TaskId) -> Attempt {
    let mut attempt = Attempt::begun(&run.run, row.iteration, began_at);
    if let Some(lane) = row.lane {
        // As claims name it.
        attempt.owner = Some(format!("{}/lane-{lane}", run.run));
    }
    for turn in &row.turns {
        attempt.call(&with_model(&turn.agent, turn.model.as_deref()));
    }
    let events = row.first_event..=row.last_event;
    let checks =
        run.checks.iter().filter(|check| check.lane == row.lane && events.contains(&check.event.seq));
    for failure in checks.filter(|check| !check.ok).flat_map(|check| &check.failures) {
        attempt.fail(&format!("{}: {}", failure.command, failure.message));
    }
    if row.outcome.is_some() {
        let took =
            row.took_ms.map(|took| SignedDuration::from_millis(i64::try_from(took).unwrap_or(i64::MAX)));
        attempt.ended_at = took.and_then(|took| began_at.checked_add(took).ok());
        end(&mut attempt, row, id);
    } else {
        attempt.usage = Some(row.usage).filter(|usage| *usage != Usage::default());
        if run.state == RunState::UnderWay {
            attempt.end = AttemptEnd::UnderWay;
        }
    }
    attempt
}

/// Adds the end of an iteration to its attempt.
fn end(attempt: &mut Attempt, row: &IterationHistory, id: &TaskId) {
    if let Some(failure) = &row.failure {
        attempt.fail(&format!("{}: {}", failure.class, failure.message));
    }
    attempt.usage = Some(row.usage);
    // A worker's work completes its task once it is merged.
    let is_completed = if row.lane.is_some() { row.is_merged } else { row.completed.contains(id) };
    attempt.end = match row.set_aside {
        _ if is_completed => AttemptEnd::Completed,
        Some(Status::Skipped) => AttemptEnd::Skipped,
        Some(_) => AttemptEnd::Blocked,
        None if row.taken_back.contains(id) => AttemptEnd::TakenBack,
        None if row.has_failed() => AttemptEnd::Failed,
        None => AttemptEnd::Open,
    };
}
