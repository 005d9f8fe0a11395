//! A project: its plan, and the changes to it.
//!
//! Every change is the one that the command makes: atomic, under the lock,
//! written to the journal.

use std::{path::PathBuf, sync::Arc};

use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};
use samuel_core::{
    clock::SystemClock,
    model::{Task, TaskId},
    project::{InitOptions, Project, find_root},
    state::{Actor, Existing, Mutation, NewTask, StateError},
};
use serde::Deserialize;

use crate::{
    convert::{from_python, to_python},
    error::{coded, raise},
    gate::detached,
};

/// A project on disk.
#[pyclass(frozen, name = "Project", module = "samuel._samuel")]
pub(crate) struct PyProject(pub(crate) Project);

/// A task that somebody adds under an id.
#[derive(Deserialize)]
struct Added {
    id: Option<TaskId>,
    parent_id: Option<TaskId>,
    #[serde(flatten)]
    task: NewTask,
}

impl PyProject {
    fn change<'py>(&self, py: Python<'py>, actor: &str, mutation: Mutation) -> PyResult<Bound<'py, PyAny>> {
        let actor = if actor == "agent" { Actor::Agent } else { Actor::User };
        let applied = detached(py, || self.0.plan_store().mutate(mutation, actor));
        let applied = applied.map_err(|error| raise(py, &error))?;
        to_python(py, &applied.task)
    }
}

fn task_id(py: Python<'_>, id: &str) -> PyResult<TaskId> {
    id.parse().map_err(|error: samuel_core::model::InvalidTask| {
        coded(py, samuel_core::model::ErrorCode::TASK_INVALID, &error.to_string())
    })
}

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Refuse }
}

#[pymethods]
impl PyProject {
    #[new]
    fn new(
        py: Python<'_>,
        root: PathBuf,
        methodology: Option<String>,
        state_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let opened =
            detached(py, || Project::open(root, methodology.as_deref(), Arc::new(SystemClock::new())));
        let opened = opened.map(|project| project.keeping_plans_in(state_dir));
        opened.map(Self).map_err(|error| raise(py, &error))
    }

    #[staticmethod]
    fn find_root(start: PathBuf) -> Option<PathBuf> {
        find_root(&start)
    }

    #[getter]
    fn root(&self) -> PathBuf {
        self.0.root().to_owned()
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    #[getter]
    fn methodology(&self) -> &str {
        self.0.methodology()
    }

    #[getter]
    fn run_dir(&self) -> PathBuf {
        self.0.run_dir().path().to_owned()
    }

    /// The names of the plugins that samuel.toml lists, in order.
    #[getter]
    fn listed_plugins(&self) -> Vec<String> {
        self.0.config().plugins.iter().map(|plugin| plugin.name.clone()).collect()
    }

    fn init<'py>(&self, py: Python<'py>, prd: Option<PathBuf>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let options = InitOptions { prd, existing: existing(force) };
        let done = detached(py, || self.0.initialise(&options)).map_err(|error| raise(py, &error))?;
        to_python(py, &done)
    }

    fn convert<'py>(&self, py: Python<'py>, prd: PathBuf, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let done = detached(py, || self.0.convert_prd(&prd, existing(force)));
        to_python(py, &done.map_err(|error| raise(py, &error))?)
    }

    fn kept_plans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let plans = detached(py, || self.0.kept_plans()).map_err(|error| raise(py, &error))?;
        to_python(py, &plans)
    }

    fn restore<'py>(&self, py: Python<'py>, number: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        let restored = detached(py, || self.0.restore_plan(number)).map_err(|error| raise(py, &error))?;
        to_python(py, &restored)
    }

    fn tasks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let loaded = detached(py, || self.0.plan_store().load()).map_err(|error| raise(py, &error))?;
        to_python(py, &loaded.plan.tasks)
    }

    fn task<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        let loaded = detached(py, || self.0.plan_store().load()).map_err(|error| raise(py, &error))?;
        match loaded.plan.task(&id) {
            Some(task) => to_python(py, task),
            None => Err(raise(py, &StateError::TaskNotFound { id })),
        }
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = detached(py, || self.0.status()).map_err(|error| raise(py, &error))?;
        to_python(py, &status)
    }

    fn progress(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let log = detached(py, || self.0.plan_store().progress()).map_err(|error| raise(py, &error))?;
        Ok(log.entries().map(ToString::to_string).collect())
    }

    fn done<'py>(
        &self,
        py: Python<'py>,
        actor: &str,
        id: &str,
        commit_sha: Option<String>,
        iteration: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        self.change(py, actor, Mutation::Done { id, commit_sha, iteration })
    }

    fn skip<'py>(
        &self,
        py: Python<'py>,
        actor: &str,
        id: &str,
        reason: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        self.change(py, actor, Mutation::Skip { id, reason })
    }

    fn reset<'py>(&self, py: Python<'py>, actor: &str, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        self.change(py, actor, Mutation::Reset { id })
    }

    /// Adds a task: with an id of its own if it has one, else with the next.
    fn enqueue<'py>(
        &self,
        py: Python<'py>,
        actor: &str,
        task: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let added: Added =
            from_python(task).map_err(|error| pyo3::exceptions::PyTypeError::new_err(error.to_string()))?;
        let Added { id, parent_id, task } = added;
        let Some(id) = id else { return self.change(py, actor, Mutation::Enqueue { task }) };
        let id = task_id(py, id.as_str())?;
        let NewTask {
            title,
            description,
            priority,
            complexity,
            source,
            depends_on,
            files_to_create,
            files_to_modify,
            guardrails,
            acceptance,
        } = task;
        let parent_id = parent_id.or_else(|| {
            let plan = self.0.plan_store().load().ok()?.plan;
            id.numbered_parent().filter(|parent| plan.task(parent).is_some())
        });
        let task = Task {
            description,
            priority,
            complexity,
            source,
            depends_on,
            files_to_create,
            files_to_modify,
            guardrails,
            acceptance,
            parent_id,
            ..Task::new(id, title)
        };
        self.change(py, actor, Mutation::Add { task: Box::new(task) })
    }
}
