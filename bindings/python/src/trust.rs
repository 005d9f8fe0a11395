//! What was trusted before, as Python sees it.

use std::path::{Path, PathBuf};

use pyo3::{Bound, PyAny, PyResult, Python, pyclass, pymethods};
use samuel_core::{
    clock::{Clock as _, SystemClock},
    trust::{Executables, RefusalReason, TrustPolicy, TrustStore, TrustStoreError},
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
    /// Says whether what a project would execute is trusted.
    pub(crate) fn allows(&self, py: Python<'_>, root: &Path, executables: &Executables) -> PyResult<bool> {
        let policy = TrustPolicy::recorded(self.0.clone());
        match detached(py, || policy.decide(root, executables, SystemClock::new().now())) {
            Ok(()) => Ok(true),
            Err(refusal) => match &refusal.reason {
                RefusalReason::Unreadable(error) => Err(raise(py, error)),
                _ => Ok(false),
            },
        }
    }

    /// Keeps that what a project would execute is trusted.
    pub(crate) fn record(&self, py: Python<'_>, root: &Path, executables: &Executables) -> PyResult<()> {
        told(py, detached(py, || self.0.record(root, executables, SystemClock::new().now())))
    }
}

/// Returns the policy of a caller who `trusted` or not, `decided` or not with a look at what would
/// execute, or who has a store decide.
pub(crate) fn policy(trusted: bool, decided: bool, store: Option<&PyTrustStore>) -> TrustPolicy {
    match (store, decided, trusted) {
        (Some(store), ..) => TrustPolicy::recorded(store.0.clone()),
        (None, true, _) => TrustPolicy::ask(move |_, _| trusted),
        (None, false, true) => TrustPolicy::TrustAll,
        (None, false, false) => TrustPolicy::Refuse,
    }
}

fn told<T>(py: Python<'_>, result: Result<T, TrustStoreError>) -> PyResult<T> {
    result.map_err(|error| raise(py, &error))
}
