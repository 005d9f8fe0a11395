//! What a point's handlers said and did.
//!
//! An [`Outcome`] is the same for every point and can be stored: it is what the
//! loop decides by, what events carry and what the progress log is written
//! from. The output itself stays with [`Dispatched`](super::Dispatched).

use std::{fmt, sync::Arc, time::Duration};

use samuel_model::payload::{HookResults, TextItem};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BreakClass, HookFailure, HookPoint, HookStatus, OnFailure, SkipReason};

/// What a point's handlers said and did, without the output itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The reason of the first refusal that counts at this point.
    pub refused: Option<String>,
    /// The reason of the first refusal, where the point's `strict = false` makes it
    /// advice that does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Text for the agent, with who said it.
    pub said: Vec<Said>,
    /// Handlers that broke.
    pub broken: Vec<Broken>,
    /// The broken handler that ends more than its own work.
    pub abort: Option<Abort>,
    /// Everything the user should know.
    pub warnings: Vec<HookWarning>,
    /// How long each handler took.
    pub timings: Vec<Timing>,
    /// What plugins wrote to the log of the run, in order: the first 200 lines of a call, each up to 1,000
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<LoggedLine>,
    /// What repository hooks report, merged; nothing where none reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Box<HookResults>>,
    /// Why no handler of the chain was called in this iteration, where it is
    /// for iterations of the other mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
}

/// A section of the prompt that its handler wants in a file as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScratchFile {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The file, below the scratch directory of whoever brings the handler.
    pub path: String,
    /// The section's text.
    pub content: String,
}

/// Returns the owner in a handler's id, which is the part before the colon: a plugin's name, `api`, or a kind of hook
/// file. An id without a colon is returned whole.
pub fn owner_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(owner, _)| owner)
}

/// Who brings the hooks of a repository.
const REPOSITORY: &str = "repo";

/// A call of a handler that answered or broke, for logs of hooks. It is not stored with the run; its [`Timing`] is.
#[derive(Clone, Debug)]
pub struct HandlerCall {
    /// The result of the call, and the time it took.
    pub timing: Timing,
    /// The lines that the handler wrote for the log of hooks.
    pub logs: Vec<String>,
    /// The input and the answer. `None` unless it is the call of a repository hook and
    /// [`CallScope::traced`](super::CallScope::traced) is set.
    pub trace: Option<Box<Trace>>,
}

/// The input and the answer of a call, for logs of hooks.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The input of the point, as JSON.
    pub input: Value,
    /// The standard output of the last process that the handler started and that ended. `None` if it started none, or if
    /// [`CallScope::exchanges`](super::CallScope::exchanges) is not set.
    pub printed: Option<String>,
    /// The answer of the handler as JSON, or its failure if it broke.
    pub answer: Value,
}

impl HandlerCall {
    /// Returns the id that the called repository hook has in its file, or `None` if another handler was called.
    pub fn repository_hook(&self) -> Option<&str> {
        repository_hook(&self.timing.handler)
    }
}

/// Returns the id that a repository hook has in its file, by its handler's id `repo:ID`. Returns `None` for the id of
/// another handler.
pub fn repository_hook(handler: &str) -> Option<&str> {
    handler.split_once(':').filter(|(owner, _)| *owner == REPOSITORY).map(|(_, id)| id)
}

impl ScratchFile {
    /// Returns who brings the handler: a plugin's name, or `api`.
    pub fn owner(&self) -> &str {
        owner_of(&self.handler)
    }
}

/// Text for the agent, with who said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The point it said it at.
    pub point: HookPoint,
    /// What it said.
    pub item: TextItem,
    /// In whose name it is said.
    #[serde(default)]
    pub speaker: Speaker,
}

/// In whose name text for the agent is said. A handler's id does not tell: it may
/// be any name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The handler's own.
    #[default]
    Handler,
    /// The user's: what the caller of a run steers it with.
    User,
    /// The handler's own, to the user: a message that the agent reads along with its next prompt.
    ToUser,
}

/// A handler that broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The point that it was asked at.
    pub point: HookPoint,
    /// How it broke.
    pub failure: HookFailure,
    /// Whether its thread is still running, because nothing can end it.
    pub abandoned: bool,
}

/// A broken handler that ends more than its own work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abort {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The point that it was asked at.
    pub point: HookPoint,
    /// What ends.
    pub action: OnFailure,
    /// How the handler broke.
    pub failure: HookFailure,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the handler {} of {} broke: {}", self.handler, self.point, self.failure)
    }
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the handler {} of {} broke: {}", self.handler, self.point, self.failure)
    }
}

/// Something the user should know of a handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookWarning {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The class of the failure, or `refused`, `overrides`, `slow`, `scratch`.
    pub class: String,
    /// What there is to know, in one line.
    pub message: String,
}

/// A line that a plugin wrote to the log of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedLine {
    /// The handler's id.
    pub handler: Arc<str>,
    /// How important it is.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
}

/// How important a line of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For whoever looks for a mistake in the plugin.
    Debug,
    /// What was done.
    Info,
    /// What is odd, and did not stop the handler.
    Warn,
    /// What went wrong.
    Error,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        })
    }
}

impl Timing {
    /// Says in one word how the call ended: by the class of a failure, where it has one.
    pub fn ended(&self) -> &'static str {
        self.class.map_or(self.status.as_str(), BreakClass::as_str)
    }
}

/// How long a handler took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The time it took.
    pub took: Duration,
    /// How the call ended.
    pub status: HookStatus,
    /// How it failed or broke; nothing where it did not, and of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<BreakClass>,
    /// The code that its process exited with; nothing where it had none, or a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}
