//! The prompt context as handlers read it.
//!
//! Most handlers read one group of it or none, so a group becomes Python
//! objects when it is asked for, once.

use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods, sync::PyOnceLock};
use samuel_core::context::ContextView;
use serde::Serialize;

use crate::convert::to_python;

/// Everything a handler may read, by group.
#[pyclass(frozen, name = "PromptContext", module = "samuel")]
pub(crate) struct PyPromptContext {
    view: ContextView,
    groups: [PyOnceLock<Py<PyAny>>; 11],
}

impl PyPromptContext {
    /// Wraps a context.
    pub(crate) fn new(view: ContextView) -> Self {
        Self { view, groups: [const { PyOnceLock::new() }; 11] }
    }

    fn group<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        group: &(impl Serialize + ?Sized),
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(known) = self.groups.get(place) else { return to_python(py, group) };
        let made = known.get_or_try_init(py, || to_python(py, group).map(Bound::unbind))?;
        Ok(made.bind(py).clone())
    }
}

/// Defines the getters of the groups.
macro_rules! groups {
    ($($place:literal $name:ident $doc:literal;)+) => {
        #[pymethods]
        impl PyPromptContext {
            $(#[doc = $doc]
            #[getter]
            fn $name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.group(py, $place, &self.view.base().$name)
            })+

            /// What plugins contributed, by namespace.
            #[getter]
            fn plugins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.group(py, 10, self.view.plugins())
            }

            fn __repr__(&self) -> String {
                format!("<PromptContext of iteration {}>", self.view.base().iteration.number)
            }
        }
    };
}

groups! {
    0 samuel "The running Samuel.";
    1 project "The project the loop works on.";
    2 methodology "The methodology that is run.";
    3 iteration "The iteration.";
    4 config "The frozen configuration of the run.";
    5 guardrails "The rules that work must keep to.";
    6 paths "Where files are.";
    7 state "How far the plan is.";
    8 mode "What kind of iteration this is.";
    9 hooks "Which handlers are registered.";
}
