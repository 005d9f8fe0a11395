//! Handlers that broke.
//!
//! A [`HookFailure`] is an infrastructure failure: the handler could not
//! answer. A handler that answers "no" gives a verdict instead, which is part
//! of its output (docs/hooks.md).

use std::fmt;

use samuel_model::text::described;
use serde::{Deserialize, Serialize};

use crate::BreakClass;

/// A handler that could not answer.
///
/// Any error becomes one through `?`, with the class [`BreakClass::Failed`] and
/// its causes in the message.
/// It is no `std::error::Error` itself, because only then can `?` do that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFailure {
    /// How the handler broke.
    pub class: BreakClass,
    /// What happened, in one line.
    pub message: String,
    /// Further lines: causes, places, what to do next.
    #[serde(default)]
    pub details: Vec<String>,
}

impl HookFailure {
    /// Creates a failure.
    pub fn new(class: BreakClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), details: Vec::new() }
    }
}

impl fmt::Display for HookFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class, self.message)
    }
}

impl<E: std::error::Error> From<E> for HookFailure {
    fn from(error: E) -> Self {
        Self::new(BreakClass::Failed, described(&error))
    }
}
