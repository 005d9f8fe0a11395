//! The end of a handler's call: how it ended, and how a handler broke.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ErrorCode;

/// How a call of a handler ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookStatus {
    /// It answered.
    Ok,
    /// It answered "no".
    Refused,
    /// It wants a person to decide.
    Asked,
    /// It answered, but what it ran failed: the command of a session hook, or an agent that did
    /// not come to its own end.
    Failed,
    /// It could not answer.
    Broke,
}

impl HookStatus {
    /// Returns the word that files and messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Asked => "asked",
            Self::Failed => "failed",
            Self::Broke => "broke",
        }
    }
}

impl fmt::Display for HookStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

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
