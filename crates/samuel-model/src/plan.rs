//! A plan: the project, its tasks and how far they are.
//!
//! [`Plan`] is what `prd.toon` holds. It decides
//! nothing; the state module changes it and says which task is next.

use serde::{Deserialize, Serialize};

use super::{Claim, Status, Task, TaskId, words};

/// The version of the layout of `prd.toon`.
pub const PLAN_VERSION: &str = "2";

/// How alike two ids must be for one to be suggested for the other, from 0 to 1.
const LIKENESS: f64 = 0.75;
/// How many ids are suggested.
const MAX_NEAREST: usize = 3;

/// A project, its tasks and their progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of the layout; see [`PLAN_VERSION`].
    pub version: String,
    /// Grows by one with every stored change, from 1.
    pub revision: u64,
    /// What the plan is about.
    pub project: PlanHeader,
    /// The tasks, in the order they were added.
    pub tasks: Vec<Task>,
    /// How far the work is, over all runs.
    pub progress: Progress,
    /// Who works on what, while several work on the plan, and what is kept of attempts that came
    /// to nothing; mostly empty. Each task and role has one at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// What the PRD said when the plan last followed it, as digests; empty where there
    /// was none. `state::merge` reads and writes it.
    #[serde(default)]
    pub baseline: String,
}

impl Plan {
    /// Returns the task with an id.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| &task.id == id)
    }

    /// Returns the ids that are most like one that no task has, at most three, the likest
    /// first.
    pub fn nearest_ids(&self, id: &TaskId) -> Vec<TaskId> {
        let alike = |task: &Task| strsim::jaro_winkler(id.as_str(), task.id.as_str());
        let alike = self.tasks.iter().map(|task| (alike(task), task));
        let mut near: Vec<_> = alike.filter(|(likeness, _)| *likeness > LIKENESS).collect();
        near.sort_by(|(left, a), (right, b)| right.total_cmp(left).then_with(|| a.id.cmp(&b.id)));
        near.into_iter().take(MAX_NEAREST).map(|(_, task)| task.id.clone()).collect()
    }

    /// Counts the tasks that stand somewhere.
    pub fn count(&self, status: Status) -> usize {
        self.tasks.iter().filter(|task| task.status == status).count()
    }
}

/// Asks whether one of some ids was meant; nothing where there are none.
pub fn did_you_mean(nearest: &[TaskId]) -> Option<String> {
    let words = nearest.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" or ");
    (!nearest.is_empty()).then(|| format!("Did you mean {words}?"))
}

/// What a plan is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanHeader {
    /// The name of the project.
    pub name: String,
    /// A description, any number of lines.
    #[serde(default)]
    pub description: String,
    /// The PRD it was converted from, relative to the project.
    #[serde(default)]
    pub source_prd: Option<String>,
    /// The name of the form that the PRD is read in, where somebody said so; each update
    /// reads it in that form again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prd_format: Option<String>,
    /// The methodology that the plan was made for. A plan that names none is that of the
    /// default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methodology: Option<String>,
    /// When the plan was made.
    #[serde(default)]
    pub created_at: Option<jiff::Timestamp>,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Option<jiff::Timestamp>,
}

words! {
    /// Where the work on a plan stands.
    #[derive(Default)]
    ProgressStatus ("progress status") {
        /// Nothing has run yet.
        #[default]
        NotStarted = "not_started",
        /// A loop is running, or was when it died.
        Running = "running",
        /// The last run ended and tasks are left.
        Stopped = "stopped",
        /// Every task is completed or skipped.
        Completed = "completed",
    }
}

/// How far the work on a plan is, cumulative over its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Where the work stands.
    #[serde(default)]
    pub status: ProgressStatus,
    /// How many tasks the plan has, groups among them; what counts as work says
    /// [`TaskCounts`](super::TaskCounts).
    #[serde(default)]
    pub total_tasks: u64,
    /// How many of them are completed.
    #[serde(default)]
    pub completed_tasks: u64,
    /// The iteration of the current or last run, from 1; 0 before the first.
    #[serde(default)]
    pub current_iteration: u32,
    /// Iterations over all runs.
    #[serde(default)]
    pub total_iterations_run: u64,
    /// Those of them that implemented.
    #[serde(default)]
    pub impl_iterations: u64,
    /// Those of them that discovered.
    #[serde(default)]
    pub discovery_iterations: u64,
    /// When the last discovery iteration ended.
    #[serde(default)]
    pub last_discovery_at: Option<jiff::Timestamp>,
    /// Which of the iterations over all runs that was, from 1; 0 before the first.
    #[serde(default)]
    pub last_discovery_iteration: u64,
    /// How many tasks may still be added while a discovery iteration is under way; nothing while
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_room: Option<u32>,
    /// When the last iteration ended.
    #[serde(default)]
    pub last_iteration_at: Option<jiff::Timestamp>,
    /// What all runs cost, in US dollars, as far as agents say.
    #[serde(default)]
    pub cost_usd: f64,
    /// Tokens read and written by all runs.
    #[serde(default)]
    pub tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_not_there_is_answered_with_those_like_it() {
        let task = |id: &str| Task::new(TaskId::new(id), "t");
        let plan = Plan { tasks: ["2", "1.10", "1.2", "1.1", "parser"].map(task).into(), ..Plan::default() };
        let asked = |id: &str| did_you_mean(&plan.nearest_ids(&TaskId::new(id)));
        assert_eq!(asked("1.11").as_deref(), Some("Did you mean 1.1 or 1.10 or 1.2?"));
        assert_eq!((asked("parsr").as_deref(), asked("9")), (Some("Did you mean parser?"), None));
    }
}
