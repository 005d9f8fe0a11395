//! What was trusted before, as Python sees it.

use std::path::{Path, PathBuf};

use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};
use samuel_core::{
    clock::{Clock as _, SystemClock},
    trust::{Executables, TrustStore, TrustStoreError},
};

use crate::{convert::to_python, error::raise, gate::detached};

/// What was trusted, kept in a directory outside of the projects that it is about.
#[pyclass(frozen, name = "TrustStore", module = "samuel")]
pub(crate) struct PyTrustStore(pub(crate) TrustStore);

#[pymethods]
impl PyTrustStore {
    #[new]
    fn new(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        told(py, detached(py, || TrustStore::open(&directory))).map(Self)
    }

    /// What was trusted of a project; None where nothing was.
    fn recorded<'py>(&self, py: Python<'py>, root: PathBuf) -> PyResult<Option<Bound<'py, PyAny>>> {
        let record = told(py, detached(py, || self.0.recorded(&root)))?;
        record.map(|record| to_python(py, &record)).transpose()
    }

    /// Forgets what was trusted of a project, and says whether anything was.
    fn revoke(&self, py: Python<'_>, root: PathBuf) -> PyResult<bool> {
        told(py, detached(py, || self.0.revoke(&root)))
    }
}

impl PyTrustStore {
    /// Keeps that what a project would execute is trusted.
    pub(crate) fn record(&self, py: Python<'_>, root: &Path, executables: &Executables) -> PyResult<()> {
        told(py, detached(py, || self.0.record(root, executables, SystemClock::new().now())))
    }
}

fn told<T>(py: Python<'_>, result: Result<T, TrustStoreError>) -> PyResult<T> {
    result.map_err(|error| raise(py, &error))
}
