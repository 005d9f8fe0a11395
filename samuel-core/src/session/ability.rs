//! A call of an ability: what is asked, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Feedback;
use crate::{hook::AbilityDecision, model::payload::AbilityStatus};

/// Names who calls an ability where nobody is named.
fn caller() -> String {
    "session".to_owned()
}

/// A call of an ability that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AbilityRequest {
    /// The ability, such as `Bash`; at most 1 KiB, as all names.
    pub ability_id: String,
    /// Its arguments, at most 1 MiB of JSON.
    pub input: Value,
    /// The id of the call, unique among those under way; by default one is made, such as `call-1`.
    #[serde(default)]
    pub call_id: Option<String>,
    /// The id of the call that this one is made from, while that is under way.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// What groups calls of one kind, such as `git.push`.
    #[serde(default)]
    pub operation_key: Option<String>,
    /// Who makes the call; by default `session`.
    #[serde(default = "caller")]
    pub caller: String,
}

impl AbilityRequest {
    /// Describes a call of an ability with arguments.
    pub fn new(ability_id: impl Into<String>, input: Value) -> Self {
        Self {
            ability_id: ability_id.into(),
            input,
            call_id: None,
            parent_id: None,
            operation_key: None,
            caller: caller(),
        }
    }

    /// Gives the call an id.
    #[must_use]
    pub fn call_id(mut self, id: impl Into<String>) -> Self {
        self.call_id = Some(id.into());
        self
    }

    /// Says which call this one is made from, by its id.
    #[must_use]
    pub fn within(mut self, call_id: impl Into<String>) -> Self {
        self.parent_id = Some(call_id.into());
        self
    }

    /// Groups the call with others of one kind.
    #[must_use]
    pub fn operation_key(mut self, key: impl Into<String>) -> Self {
        self.operation_key = Some(key.into());
        self
    }

    /// Names who makes the call.
    #[must_use]
    pub fn caller(mut self, name: impl Into<String>) -> Self {
        self.caller = name.into();
        self
    }
}

/// What the handlers of `ability.before` decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbilityPermission {
    /// The id of the call, by which [`after`](super::Session::after) knows it.
    pub call_id: String,
    /// Whether the call may be made, and with which arguments. What a person was to decide on is
    /// denied, since nobody is asked.
    pub decision: AbilityDecision,
    /// What the handlers said beside it.
    pub feedback: Feedback,
}

/// A call that may be made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Permitted {
    /// The id of the call, for those that are made [from it](AbilityRequest::within).
    pub call_id: String,
    /// The arguments, as the handlers left them.
    pub input: Value,
}

/// What an ability returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AbilityOutput<T> {
    /// The value, for the caller.
    pub value: T,
    /// The result in words, for the handlers, which are given the first 4 KiB.
    pub summary: Option<String>,
    /// The files that the call changed; nothing where that is unknown.
    pub changed_files: Option<Vec<String>>,
}

impl<T> AbilityOutput<T> {
    /// Wraps what an ability returned, of which the handlers are told nothing more.
    pub fn new(value: T) -> Self {
        Self { value, summary: None, changed_files: None }
    }

    /// Says what came of it in words.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Says which files it changed, relative to the project.
    #[must_use]
    pub fn changed_files<P: Into<String>>(mut self, files: impl IntoIterator<Item = P>) -> Self {
        self.changed_files = Some(files.into_iter().map(Into::into).collect());
        self
    }
}

/// How a call ended that somebody else made, for the handlers of `ability.after`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AbilityReport {
    /// The id of the call.
    pub call_id: String,
    /// How it ended.
    pub status: AbilityStatus,
    /// The result in words; the handlers are given the first 4 KiB.
    #[serde(default)]
    pub output_summary: Option<String>,
    /// The files that the call changed; nothing where that is unknown.
    #[serde(default)]
    pub changed_files: Option<Vec<String>>,
    /// How long it took, in milliseconds; by default as long as it was under way.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// The ability; needed only where [`before`](super::Session::before) was not asked.
    #[serde(default)]
    pub ability_id: Option<String>,
    /// The arguments; needed only where [`before`](super::Session::before) was not asked.
    #[serde(default)]
    pub input: Option<Value>,
}

/// How a call of an ability ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AbilityEnd<T, E> {
    /// It returned this.
    Returned(T),
    /// It failed with this.
    Failed(E),
    /// It was not made.
    Blocked {
        /// Why not, for whoever asked for it.
        reason: String,
    },
    /// The caller gave it up.
    Cancelled,
}

/// What came of a call of an ability.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AbilityOutcome<T, E> {
    /// The id of the call.
    pub call_id: String,
    /// How it ended.
    pub end: AbilityEnd<T, E>,
    /// What the handlers said before it.
    pub before: Feedback,
    /// What they said after it; nothing of a call that was not made.
    pub after: Option<Feedback>,
}
