//! What the arguments of a project's methods stand for.

use pyo3::{PyErr, PyResult, Python, exceptions::PyValueError};
use samuel_core::{
    model::{ErrorCode, InvalidTask, TaskId},
    prd::Form,
    project::PrdOptions,
    state::Existing,
};

use crate::error::coded;

pub(crate) fn task_id(py: Python<'_>, id: &str) -> PyResult<TaskId> {
    id.parse().map_err(|error: InvalidTask| coded(py, ErrorCode::TASK_INVALID, &error.to_string()))
}

pub(crate) fn reading(format: Option<&str>, allow_empty: bool) -> PyResult<PrdOptions> {
    let form = format.map(str::parse::<Form>).transpose();
    let form = form.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PrdOptions { form, allow_empty })
}

/// Refuses a word that is none of those there are.
pub(crate) fn one_of(argument: &str, word: &str, words: &[&str]) -> PyErr {
    PyValueError::new_err(format!("{argument} is one of {}, not {word:?}", words.join(", ")))
}

pub(crate) fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Refuse }
}
