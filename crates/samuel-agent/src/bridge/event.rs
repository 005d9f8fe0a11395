//! What an agent's hook is about, and what it is answered.

use std::path::PathBuf;

use samuel_hook::AbilityCall;
use samuel_model::payload::{AbilityStatus, Json, SessionSource};

/// The most bytes of an agent's name for its session.
pub(super) const MAX_SESSION: usize = 1 << 10;

/// What an agent's hook was started for.
#[derive(Clone, Debug, PartialEq)]
pub struct HookInput {
    /// At which of the agent's events.
    pub at: At,
    /// The agent's name for its session; empty where it has none.
    pub session_id: String,
    /// The directory the agent works in; nothing where it does not say.
    pub cwd: Option<PathBuf>,
    /// Whether nobody is there to be asked, as far as the agent says.
    pub is_unattended: bool,
    /// What happened.
    pub event: BridgeEvent,
}

impl HookInput {
    /// Stands for what an agent said at an event and cannot be read.
    pub fn unread(at: At) -> Self {
        let event = BridgeEvent::SessionEnd { reason: String::new() };
        Self { at, session_id: String::new(), cwd: None, is_unattended: false, event }
    }
}

/// An event of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The agent's name for it, such as `PreToolUse`.
    pub name: &'static str,
    /// What it is.
    pub kind: EventKind,
}

/// Which hook point an agent's event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `session.start`.
    SessionStart,
    /// `prompt.submit`.
    PromptSubmit,
    /// `ability.before`.
    Before,
    /// `ability.after`.
    After,
    /// `ability.after` of a call that failed, where the agent has an event of its own for it.
    Failed,
    /// `session.stop`.
    Stop,
    /// `session.end`.
    SessionEnd,
}

impl EventKind {
    /// Says whether the agent takes a "no" here.
    pub fn decides(self) -> bool {
        matches!(self, Self::PromptSubmit | Self::Before | Self::Stop)
    }
}

/// What happened in an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum BridgeEvent {
    /// A session began.
    SessionStart {
        /// Whether it goes on with an earlier one.
        source: SessionSource,
    },
    /// A prompt was submitted.
    PromptSubmit {
        /// The prompt.
        prompt: String,
    },
    /// A tool is about to be called. The call's id is empty where the agent's hooks have none.
    Before(AbilityCall),
    /// A tool call ended.
    After(EndedCall),
    /// The agent wants to stop.
    Stop,
    /// The session ended.
    SessionEnd {
        /// The agent's word for why, such as `prompt_input_exit`.
        reason: String,
    },
}

/// A tool call that ended, as an agent's hook tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndedCall {
    /// The tool, such as `Bash`.
    pub ability_id: String,
    /// The agent's id for the call; empty where its hooks have none.
    pub call_id: String,
    /// The arguments, a JSON document; shortened.
    pub input: Json,
    /// How it ended; nothing where the agent's hooks do not say.
    pub status: Option<AbilityStatus>,
    /// How long it took, in milliseconds, where that is known.
    pub duration_ms: Option<u64>,
    /// The result, shortened.
    pub output_summary: Option<String>,
}

/// What an agent's hook is answered. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Why it may not be.
    pub block: Option<String>,
    /// The arguments that the call is to be made with instead, a JSON document.
    pub input: Option<Json>,
    /// Texts for the model.
    pub text: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
}

impl HookAnswer {
    /// Says no.
    pub fn blocked(reason: impl Into<String>) -> Self {
        Self { block: Some(reason.into()), ..Self::default() }
    }
}

/// What a bridge prints, and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BridgeOutput {
    /// Its standard output: one JSON document, or nothing.
    pub stdout: String,
    /// Its standard error, for people.
    pub stderr: String,
    /// Its exit code.
    pub exit_code: u8,
}

/// An input that an agent's hook was given and that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// It is no JSON object.
    #[error("the input of the hook is no JSON object")]
    NoObject {
        /// Why not.
        source: serde_json::Error,
    },
    /// A field is missing or has another type.
    #[error("the input of the hook has no {field}")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// The agent's name for its session is longer than any that is kept.
    #[error("the name of the session has {length} bytes, and at most {MAX_SESSION} are read")]
    LongSession {
        /// How long it is, in bytes.
        length: usize,
    },
    /// The agent has no such event.
    #[error("{agent} has no event \"{event}\" that is bridged; those are {}", known.join(", "))]
    UnknownEvent {
        /// The agent.
        agent: &'static str,
        /// What was named.
        event: String,
        /// The agent's events.
        known: Vec<&'static str>,
    },
}
