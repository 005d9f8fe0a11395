//! Changes of a plan, in the name of this process.

use pyo3::{Bound, PyAny, PyResult, Python, intern, types::PyAnyMethods};
use samuel_core::state::{Applied, Asker, Mutation, QueueOrder, StateError};

use super::PyProject;
use crate::{arguments::task_id, convert::to_python, error::raise, gate::detached};

impl PyProject {
    pub(super) fn change<'py>(&self, py: Python<'py>, mutation: Mutation) -> PyResult<Bound<'py, PyAny>> {
        self.changed(py, || self.apply(mutation))
    }

    /// Makes a change without the interpreter, warns of work that does not land any more, and returns the task.
    pub(super) fn changed<'py>(
        &self,
        py: Python<'py>,
        change: impl FnOnce() -> Result<Applied, StateError> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let applied = detached(py, change).map_err(|error| raise(py, &error))?;
        warn_of_unlanded(py, &applied)?;
        to_python(py, &applied.task)
    }

    /// Makes the change that a person wants of submitted work.
    pub(super) fn order<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        order: QueueOrder,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        super::told(py, || {
            let plan = self.0.plan_store().load()?.plan;
            self.apply(Mutation::of_queue(&plan, &id, order)?).map(|applied| applied.task)
        })
    }

    /// Makes a change of the plan, if need be of that alone which the caller's run works on.
    pub(super) fn apply(&self, mutation: Mutation) -> Result<Applied, StateError> {
        self.0.plan_store().mutate_as(self.2.plan_of(&self.0), mutation, &self.asker())
    }

    /// Says who asks: this process, so that what it takes back is its own.
    pub(super) fn asker(&self) -> Asker {
        Asker { actor: self.2.actor(), name: Some(format!("python/{}", std::process::id())), worker: None }
    }
}

/// Warns of work that lanes had submitted and that does not land any more.
pub(super) fn warn_of_unlanded(py: Python<'_>, applied: &Applied) -> PyResult<()> {
    for work in &applied.not_landing {
        let errors = py.import(intern!(py, "samuel.errors"))?;
        errors.call_method1(intern!(py, "_warn_of_unlanded"), (work.task.as_str(), &work.branch))?;
    }
    Ok(())
}
