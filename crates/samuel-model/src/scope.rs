//! Which tasks of a plan a run is for.
//!
//! A [`Scope`] names tasks; what they depend on and which parts they have follows from
//! the plan, of which `plan::Work` reads what is left to do.

use serde::{Deserialize, Serialize};

use super::{Plan, TaskId, did_you_mean};

/// The tasks of a plan that a run is for. Written down it is a list of ids, which is
/// empty where it is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<TaskId>", into = "Vec<TaskId>")]
pub enum Scope {
    /// All of them. The default.
    #[default]
    All,
    /// These, with what they depend on; a group stands for its parts. There is at least
    /// one, and each once.
    Tasks(Vec<TaskId>),
}

impl Scope {
    /// Returns the tasks that it names; none where it is all of them.
    pub fn tasks(&self) -> &[TaskId] {
        match self {
            Self::All => &[],
            Self::Tasks(ids) => ids,
        }
    }

    /// Says whether it is all tasks.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Holds it against a plan.
    ///
    /// # Errors
    /// Returns the tasks that the plan does not have.
    pub fn check(&self, plan: &Plan) -> Result<(), UnknownTasks> {
        let unknown = self.tasks().iter().filter(|id| plan.task(id).is_none());
        let unknown: Vec<UnknownTask> =
            unknown.map(|id| UnknownTask { id: id.clone(), nearest: plan.nearest_ids(id) }).collect();
        if unknown.is_empty() { Ok(()) } else { Err(UnknownTasks { unknown }) }
    }
}

impl From<Vec<TaskId>> for Scope {
    fn from(mut ids: Vec<TaskId>) -> Self {
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        if ids.is_empty() { Self::All } else { Self::Tasks(ids) }
    }
}

impl From<Scope> for Vec<TaskId> {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::All => Self::new(),
            Scope::Tasks(ids) => ids,
        }
    }
}

/// Tasks were named that are not in the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan has no task {}", ids(unknown.iter().map(|unknown| &unknown.id), " and no task "))]
pub struct UnknownTasks {
    /// Each of them; at least one.
    pub unknown: Vec<UnknownTask>,
}

/// A task that is not in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTask {
    /// The id that was given.
    pub id: TaskId,
    /// The ids of the plan that are most like it, three at most.
    pub nearest: Vec<TaskId>,
}

impl UnknownTasks {
    /// Asks whether the nearest were meant, in one line; empty where none is near.
    pub fn suggestion(&self) -> String {
        let asked = self.unknown.iter().filter_map(|UnknownTask { id, nearest }| {
            let asked = did_you_mean(nearest)?;
            Some(match self.unknown.len() {
                1 => asked,
                _ => format!("{} by {id}?", asked.trim_end_matches('?')),
            })
        });
        asked.collect::<Vec<_>>().join(" ")
    }
}

fn ids<'a>(ids: impl Iterator<Item = &'a TaskId>, between: &str) -> String {
    ids.map(TaskId::as_str).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    fn scope(ids: &[&str]) -> Scope {
        ids.iter().map(|id| TaskId::new(*id)).collect::<Vec<_>>().into()
    }

    #[test]
    fn it_is_written_down_as_a_list_that_is_empty_for_all_tasks() {
        for (scope, written) in [(Scope::All, "[]"), (scope(&["2", "1", "2"]), r#"["2","1"]"#)] {
            assert_eq!(serde_json::to_string(&scope).ok().as_deref(), Some(written));
            assert_eq!(serde_json::from_str::<Scope>(written).ok(), Some(scope));
        }
    }

    #[test]
    fn tasks_that_are_not_in_the_plan_are_refused_with_the_nearest() {
        let tasks = ["1", "1.1", "1.2", "1.3", "1.4", "9", "setup"];
        let tasks = tasks.iter().map(|id| Task::new(TaskId::new(*id), "t")).collect();
        let plan = Plan { tasks, ..Plan::default() };
        let told = |ids: &[&str]| {
            let error = scope(ids).check(&plan).expect_err("one is not there");
            (error.to_string(), error.suggestion())
        };
        let told_of = |message: &str, suggestion: &str| (message.to_owned(), suggestion.to_owned());
        assert_eq!(told(&["1.9"]), told_of("the plan has no task 1.9", "Did you mean 1.1 or 1.2 or 1.3?"));
        assert_eq!(
            told(&["stup", "9", "xyz"]),
            told_of("the plan has no task stup and no task xyz", "Did you mean setup by stup?")
        );
        assert_eq!(told(&["xyz"]).1, "");
        assert_eq!(scope(&["9", "1.4"]).check(&plan), Ok(()));
        assert_eq!(Scope::All.check(&Plan::default()), Ok(()));
    }
}
