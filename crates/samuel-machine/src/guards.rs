//! What a single task may consume, and what is left of a run's budget for another iteration.
//!
//! A task that was tried too often, or that used up its budget, is blocked with the reason, and
//! the run goes on with others. An attempt is a failed iteration in which the agent did
//! something: one that cannot work at all is no task's fault, and ends the run as ever.

use std::collections::{BTreeMap, VecDeque};

use samuel_config::format_duration;
use samuel_model::{
    FailureClass, TaskId, Usage,
    payload::{Actor, Mode},
    text::{counted, counted_were, dollars, one_line},
};
use samuel_state::{Mutation, ProgressKind, plan::MAX_REPEATS};
use serde::{Deserialize, Serialize};

use super::{Core, Machine, RunLimits, iteration::Iteration, settle::NOTHING_RECORDED};
use crate::event::{Event, PlanChange};

/// Of how many iterations the use is known that a forecast is made of.
const MEASURED: usize = 5;
/// Of how many at least: fewer say too little to refuse one.
const LEAST_MEASURED: usize = 3;

/// What is known of what tasks and iterations consumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Guards {
    /// What each task consumed that is not settled.
    tasks: BTreeMap<TaskId, TaskUse>,
    /// How many tasks were blocked since the last completion.
    pub(super) parked: u32,
    /// What the last iterations consumed, the latest last.
    measured: VecDeque<Measured>,
    /// How long the run was under way when the plan was loaded last, in milliseconds.
    pub(super) elapsed_ms: u64,
    /// Whether a call of the agent has told what it consumes, or which tools it calls.
    tells: bool,
}

/// What was consumed for one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TaskUse {
    attempts: u32,
    usage: Usage,
}

/// What one iteration consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    usage: Usage,
    duration_ms: u64,
}

impl Guards {
    /// Takes down how many attempts at a task have failed in all lanes, this one among them.
    pub(super) fn tried_in_lanes(&mut self, id: TaskId, attempts: u32) {
        if attempts > 0 || self.tasks.contains_key(&id) {
            self.tasks.entry(id).or_default().attempts = attempts;
        }
    }

    /// Returns how many attempts have failed at each task.
    fn attempts(&self) -> BTreeMap<TaskId, u32> {
        let tried = self.tasks.iter().filter(|(_, task)| task.attempts > 0);
        tried.map(|(id, task)| (id.clone(), task.attempts)).collect()
    }

    /// Takes over from the run before what tasks consumed.
    pub(super) fn succeed(&mut self, earlier: &Self) {
        self.tasks.clone_from(&earlier.tasks);
    }
}

impl Machine {
    /// Returns how many attempts have failed at each task, as far as the machine knows.
    pub fn attempts(&self) -> BTreeMap<TaskId, u32> {
        self.core.guards.attempts()
    }

    /// Returns the tasks that the run has completed.
    pub fn completed(&self) -> &[TaskId] {
        &self.core.counters.completed
    }
}

impl Core {
    /// Says whether the work tree has to be looked at before an iteration, to see later whether
    /// its agent did anything: where nothing else tells, and where it matters.
    pub(super) fn needs_tree(&self, iteration: &Iteration) -> bool {
        let Some(max) = self.setup.limits.max_task_attempts else { return false };
        let Some(id) = iteration.task_id().filter(|_| !self.guards.tells) else { return false };
        let attempts = self.guards.tasks.get(&id).map_or(0, |task| task.attempts);
        self.counters.consecutive_failures > 0 || attempts.saturating_add(1) >= max.get()
    }

    /// Takes down what an iteration consumed, before its books are closed, and blocks its task
    /// where that has used up what it may.
    pub(super) fn guard_task(&mut self, iteration: &mut Iteration, tree: Option<&str>) {
        if std::mem::replace(&mut iteration.guarded, true) {
            return;
        }
        self.guards.tells |= iteration.usage.tokens() > 0 || iteration.called_tool;
        if !iteration.checked.is_empty() {
            self.guards.parked = 0;
        }
        for id in &iteration.checked {
            self.guards.tasks.remove(id);
        }
        let Some(id) = iteration.task_id() else { return };
        if iteration.left_alone || iteration.checked.contains(&id) {
            self.guards.tasks.remove(&id);
            return;
        }
        let attempted = is_attempt(iteration, tree);
        let stuck = self.stuck(iteration);
        let task = self.guards.tasks.entry(id.clone()).or_default();
        task.usage += iteration.usage;
        task.attempts = task.attempts.saturating_add(u32::from(attempted));
        let used_up = used_up(&self.setup.limits, task, iteration);
        let Some(reason) = used_up.or(stuck) else { return };
        self.guards.tasks.remove(&id);
        self.guards.parked = self.guards.parked.saturating_add(1);
        self.counters.consecutive_failures = 0;
        self.repeat = super::core::Repeat::default();
        self.log(ProgressKind::Found, Some(id.clone()), format!("blocked: {reason}"));
        self.emit(Event::PlanChanged {
            change: PlanChange::Blocked,
            task: id,
            title: iteration.task.as_ref().map(|task| task.title.clone()).unwrap_or_default(),
            reason: Some(reason.clone()),
            actor: Actor::Runtime,
        });
        iteration.parked = Some(reason);
    }

    /// Says why the task of a lane gets no further, where its iterations end in the same way again and again and nothing
    /// changes. What ends a single loop is one task's fault here.
    fn stuck(&self, iteration: &Iteration) -> Option<String> {
        if !self.setup.in_lane || self.repeat.count < MAX_REPEATS {
            return None;
        }
        let what = match &iteration.failure {
            Some(failure) => format!("it failed in the same way ({}: {})", failure.class, failure.message),
            None if self.repeat.key.starts_with(NOTHING_RECORDED) => {
                "its agent ended well without recording what became of it".to_owned()
            }
            None => return None,
        };
        Some(format!("{MAX_REPEATS} times in a row {what}, and nothing changed"))
    }

    /// Blocks the task of an iteration, where [`guard_task`](Self::guard_task) says so.
    pub(super) fn queue_parking(&mut self, iteration: &Iteration) {
        if let (Some(id), Some(reason)) = (iteration.task_id(), iteration.parked.clone()) {
            self.mutations.push_back(Mutation::Block { id, reason: Some(reason) });
        }
    }

    /// Says how often a task was tried in vain, over all runs.
    pub(super) fn attempts(&self, id: &TaskId) -> u32 {
        self.guards.tasks.get(id).map_or(0, |task| task.attempts)
    }

    /// Forgets what a task consumed, since somebody changed what becomes of it.
    pub(super) fn forget_use(&mut self, id: &TaskId) {
        self.guards.tasks.remove(id);
    }

    /// Remembers what an iteration consumed, for forecasts.
    pub(super) fn measure(&mut self, iteration: &Iteration) {
        if iteration.excused || iteration.cancelled {
            return;
        }
        if self.guards.measured.len() >= MEASURED {
            self.guards.measured.pop_front();
        }
        let measured = Measured { usage: iteration.usage, duration_ms: iteration.agent_ms };
        self.guards.measured.push_back(measured);
    }

    /// Says which limit the next iteration would probably exceed, after the setting, and why;
    /// nothing where it fits, or where too little is known.
    pub(super) fn forecast(&self, elapsed_ms: u64) -> Option<(&'static str, String)> {
        let (limits, measured) = (&self.setup.limits, &self.guards.measured);
        if self.setup.in_lane || !limits.forecast || measured.len() < LEAST_MEASURED {
            return None;
        }
        let of = measured.len();
        let said = |what: String, left: String| {
            format!(
                "the next iteration would take about {what}, the median of the last {of}, and {left} left"
            )
        };
        let used = self.counters.usage;
        let cost = median(measured.iter().filter_map(|one| one.usage.cost_usd), f64::total_cmp);
        if let (Some(max), Some(cost)) = (limits.max_cost_usd, cost) {
            let left = max - used.cost_usd.unwrap_or(0.0);
            if cost > left {
                let left = format!("{} of {} is", dollars(left.max(0.0)), dollars(max));
                return Some(("session_budget.max_cost_usd", said(dollars(cost), left)));
            }
        }
        let tokens = median(measured.iter().map(|one| one.usage.tokens()), u64::cmp);
        if let (Some(max), Some(tokens)) = (limits.max_tokens, tokens) {
            let left = max.saturating_sub(used.tokens());
            if tokens > left {
                let what = counted(tokens, "token");
                return Some(("session_budget.max_tokens", said(what, format!("{left} of {max} are"))));
            }
        }
        let time = median(measured.iter().map(|one| one.duration_ms), u64::cmp);
        if let (Some(max), Some(time)) = (limits.max_wall_ms, time) {
            let left = max.saturating_sub(elapsed_ms);
            if time > left {
                let duration = |ms: u64| format_duration(std::time::Duration::from_millis(ms));
                let left = format!("{} of {} is", duration(left), duration(max));
                return Some(("session_budget.max_wall_time", said(duration(time), left)));
            }
        }
        None
    }
}

/// Says whether an iteration failed although its agent did something.
fn is_attempt(iteration: &Iteration, tree: Option<&str>) -> bool {
    let Some(failure) = iteration.failure.as_ref().filter(|_| !iteration.excused && !iteration.cancelled)
    else {
        return false;
    };
    if failure.class == FailureClass::Interrupted || iteration.mode != Mode::Implementation {
        return false;
    }
    let told = iteration.usage.tokens() > 0 || iteration.called_tool || iteration.plan_changed;
    let wrote = match (&iteration.tree, tree) {
        (Some(before), Some(after)) => before != after,
        // What the tree was is not known; the attempt that would be the last knows it.
        _ => iteration.called && failure.class != FailureClass::AgentStart,
    };
    told || wrote
}

/// Says what a task has used up that it may consume.
fn used_up(limits: &RunLimits, task: &TaskUse, iteration: &Iteration) -> Option<String> {
    if let Some(max) = limits.max_task_attempts.filter(|max| task.attempts >= max.get()) {
        let last = iteration.failure.as_ref().map_or_else(String::new, |failure| {
            let message = one_line(&failure.message, 200);
            format!("; the last one: {}: {message}", failure.class)
        });
        let attempts = counted(max.get(), "attempt");
        let failed = if task.attempts == 1 { "has failed" } else { "have failed" };
        return Some(format!("{attempts} {failed} (task_budget.max_attempts){last}"));
    }
    let cost = task.usage.cost_usd.unwrap_or(0.0);
    if let Some(max) = limits.max_task_cost_usd.filter(|max| cost >= *max) {
        let (spent, max) = (dollars(cost), dollars(max));
        return Some(format!("{spent} was spent on it of at most {max} (task_budget.max_cost_usd)"));
    }
    let tokens = task.usage.tokens();
    let max = limits.max_task_tokens.filter(|max| tokens >= *max)?;
    let used = counted_were(tokens, "token");
    Some(format!("{used} used on it of at most {max} (task_budget.max_tokens)"))
}

/// Returns the middle of some values, the lower of two.
fn median<T: Copy>(
    values: impl Iterator<Item = T>,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(order);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

impl Machine {
    /// Forgets what a task consumed and how often it was tried, since somebody reset it.
    pub fn forget_attempts(&mut self, id: &TaskId) {
        self.core.forget_use(id);
    }

    /// Forgets it of all tasks, since the plan was replaced.
    pub fn forget_all_attempts(&mut self) {
        self.core.guards.tasks.clear();
        self.core.agents.forget_earlier();
    }
}
