//! Where a change of a plan comes from, as the environment of its process says.
//!
//! Samuel tells each process of a run what it works on
//! ([`BeforeAgentInvoke`](crate::hook::points::BeforeAgentInvoke)). [`ChangeOrigin`] reads that
//! back: for the records, since a process can leave it out, and so that what is left of
//! an agent does not change a plan that has replaced its own.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::Project;
use crate::{model::TaskId, state::Actor, workspace::project_of};

/// The run from which a change of a plan comes, if it comes from one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeOrigin {
    run_id: Option<String>,
    /// Whether it is a call of an agent that can reach its run.
    is_call: bool,
    iteration: Option<u32>,
    task: Option<TaskId>,
    root: Option<PathBuf>,
    methodology: Option<String>,
    plan: Option<(String, Timestamp)>,
}

impl ChangeOrigin {
    /// Reads an environment: `SAMUEL_RUN_ID`, `SAMUEL_SOCKET`, `SAMUEL_ITERATION`, `SAMUEL_TASK_ID`,
    /// `SAMUEL_PROJECT_ROOT`, `SAMUEL_METHODOLOGY` and `SAMUEL_PLAN`, each by its name. What is empty or not as Samuel sets it counts
    /// as not set.
    pub fn of_env<'a>(var: impl Fn(&str) -> Option<&'a str>) -> Self {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let plan = var("SAMUEL_PLAN").and_then(|plan| plan.split_once('@'));
        Self {
            run_id: var("SAMUEL_RUN_ID").map(str::to_owned),
            is_call: var("SAMUEL_SOCKET").is_some(),
            iteration: var("SAMUEL_ITERATION").and_then(|number| number.parse().ok()).filter(|n| *n > 0),
            task: var("SAMUEL_TASK_ID").and_then(|id| id.parse().ok()),
            root: var("SAMUEL_PROJECT_ROOT").map(PathBuf::from),
            methodology: var("SAMUEL_METHODOLOGY").map(str::to_owned),
            plan: plan.and_then(|(methodology, made)| Some((methodology.to_owned(), made.parse().ok()?))),
        }
    }

    /// Says on whose behalf the change is made: an agent's within a run, else a user's.
    /// Whether a completion stands does not depend on it.
    pub fn actor(&self) -> Actor {
        if self.run_id.is_some() || self.is_call { Actor::Agent } else { Actor::User }
    }

    /// Returns the iteration of the run, from 1.
    pub fn iteration(&self) -> Option<u32> {
        self.iteration
    }

    /// Returns the task of the iteration, if there is one.
    pub fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// Returns the methodology of the run, which is meant where a command names none; nothing
    /// outside of a run, or for another project than the run's.
    pub fn methodology_at(&self, root: &Path) -> Option<&str> {
        let is_there = self.run_id.is_some() && self.is_of(root);
        self.methodology.as_deref().filter(|_| is_there)
    }

    /// Returns when the plan was made that the run works on; nothing outside of a run, or
    /// where another project or methodology is meant.
    pub fn plan_of(&self, project: &Project) -> Option<Timestamp> {
        let (methodology, made_at) = self.plan.as_ref()?;
        let is_it = self.is_of(project.root()) && methodology == project.methodology();
        is_it.then_some(*made_at)
    }

    /// Says whether the run is of the project at a root, by whatever path that is reached. The variable may name a
    /// workspace of the project.
    fn is_of(&self, root: &Path) -> bool {
        let resolved = |path: &Path| path.canonicalize().ok();
        let is_root = |own: &Path| {
            own == root || resolved(own).is_some_and(|own| resolved(root).is_some_and(|root| own == root))
        };
        self.root
            .as_deref()
            .is_some_and(|own| is_root(own) || project_of(own).is_some_and(|own| is_root(&own)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_a_run_says_of_itself_is_read_and_counts_for_its_own_plan_only() {
        let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (project, other) = (Project::at(here.path()).unwrap(), Project::at(elsewhere.path()).unwrap());
        let root = project.root().to_str().unwrap();
        let of = |run: &'static str, iteration: &'static str, plan: &'static str| {
            ChangeOrigin::of_env(|name| match name {
                "SAMUEL_RUN_ID" => Some(run),
                "SAMUEL_ITERATION" => Some(iteration),
                "SAMUEL_PROJECT_ROOT" => Some(root),
                "SAMUEL_PLAN" => Some(plan),
                _ => None,
            })
        };
        let origin = of("r", "4", "ralph@1970-01-01T00:00:00Z");
        assert_eq!((origin.actor(), origin.iteration()), (Actor::Agent, Some(4)));
        assert_eq!(origin.plan_of(&project), Some(Timestamp::UNIX_EPOCH));
        assert_eq!(origin.plan_of(&other), None);
        assert_eq!(of("r", "4", "other@1970-01-01T00:00:00Z").plan_of(&project), None);
        let link = elsewhere.path().join("link");
        std::os::unix::fs::symlink(here.path(), &link).unwrap();
        assert_eq!(origin.plan_of(&Project::at(link).unwrap()), Some(Timestamp::UNIX_EPOCH));
        let nothing = of("", "0", "ralph@yesterday");
        assert_eq!((nothing.actor(), nothing.iteration()), (Actor::User, None));
        assert_eq!(nothing.plan_of(&project), None);
    }
}
