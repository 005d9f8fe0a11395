//! Errors of the core as exceptions.
//!
//! The classes are Python's (`samuel.errors`); which one fits follows from the
//! error's code, which is the same as everywhere.

use pyo3::{
    Bound, PyAny, PyErr, PyResult, Python, intern,
    types::{PyAnyMethods, PyModule},
};
use samuel_core::{
    model::{Coded, ErrorCode},
    text::described,
};

use crate::remedy::remedy_text;

/// Turns an error of the core into an exception.
pub(crate) fn raise(py: Python<'_>, error: &dyn Coded) -> PyErr {
    let message = described(error);
    let location = error.location();
    let place = location.map(|place| (place.file, place.line, place.column));
    made(py, error.code(), &message, &remedy_text(&error.help()), place)
}

/// Makes an exception of a code.
pub(crate) fn coded(py: Python<'_>, code: ErrorCode, message: &str) -> PyErr {
    made(py, code, message, &remedy_text(code.help), None)
}

/// The file, the line and the column of an error.
type Place = (std::path::PathBuf, Option<usize>, Option<usize>);

fn made(py: Python<'_>, code: ErrorCode, message: &str, help: &str, place: Option<Place>) -> PyErr {
    let make = || -> PyResult<Bound<'_, PyAny>> {
        let errors = PyModule::import(py, intern!(py, "samuel.errors"))?;
        errors.call_method1(intern!(py, "_make"), (code.name, message, help, code.retryable, place))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}
