//! Handlers that broke.
//!
//! A [`HookFailure`] is an infrastructure failure: the handler could not
//! answer. A handler that answers "no" gives a verdict instead, which is part
//! of its output (docs/hooks.md).

use std::fmt;

use samuel_model::{ErrorCode, text::described};
use serde::{Deserialize, Serialize};

/// How a handler broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BreakClass {
    /// It returned an error.
    Failed,
    /// It did not answer in time.
    Timeout,
    /// It panicked or trapped.
    Panicked,
    /// The run was cancelled while it was at work.
    Cancelled,
    /// What it answered is not the point's output.
    BadOutput,
    /// It could not be started.
    Spawn,
    /// A signal ended its process.
    Signaled,
    /// It used a capability that was not granted.
    Denied,
    /// It is not trusted to run.
    Untrusted,
}

impl BreakClass {
    /// Returns the word that files and messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Panicked => "panicked",
            Self::Cancelled => "cancelled",
            Self::BadOutput => "bad_output",
            Self::Spawn => "spawn",
            Self::Signaled => "signaled",
            Self::Denied => "denied",
            Self::Untrusted => "untrusted",
        }
    }

    /// Returns the error code that goes with the class.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Failed | Self::Signaled => ErrorCode::HOOK_FAILED,
            Self::Timeout => ErrorCode::HOOK_TIMEOUT,
            Self::Panicked => ErrorCode::HOOK_PANICKED,
            Self::Cancelled => ErrorCode::HOOK_CANCELLED,
            Self::BadOutput => ErrorCode::HOOK_BAD_OUTPUT,
            Self::Spawn => ErrorCode::PROCESS_FAILED,
            Self::Denied => ErrorCode::HOOK_DENIED,
            Self::Untrusted => ErrorCode::TRUST_REFUSED,
        }
    }
}

impl fmt::Display for BreakClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

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
