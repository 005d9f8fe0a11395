//! Tool calls of an agent: its own hooks ask before one, and tell how it ended.

use serde::{Deserialize, Serialize};

use crate::{
    engine::socket::{
        RunClient, RunClientError,
        verb::{Holder, Verb, VerbSpec},
    },
    model::payload::{AbilityStatus, Json, json_text},
};

/// The verbs of this family.
pub(super) const VERBS: [VerbSpec; 2] =
    [VerbSpec::of::<AbilityBeforeVerb>(), VerbSpec::of::<AbilityAfterVerb>()];

/// The most bytes of the name of a tool, and of the id of a call.
const MAX_NAME: usize = 256;

/// `ability_before`.
pub(in crate::engine) struct AbilityBeforeVerb;

impl Verb for AbilityBeforeVerb {
    type Request = AbilityBefore;
    type Reply = Verdict;
    const NAME: &'static str = "ability_before";
    const REPLY: &'static str = "decision";
    const HOLDER: Holder = Holder::AgentCall;
    // How many wait for handlers is bounded, and a hook that is refused denies its call.
    const IS_RATED: bool = false;

    fn check(request: &AbilityBefore) -> Result<(), String> {
        check_names(&request.ability_id, &request.call_id)
    }
}

/// `ability_after`.
pub(in crate::engine) struct AbilityAfterVerb;

impl Verb for AbilityAfterVerb {
    type Request = AbilityAfter;
    type Reply = Vec<String>;
    const NAME: &'static str = "ability_after";
    const REPLY: &'static str = "text";
    const HOLDER: Holder = Holder::AgentCall;
    const IS_RATED: bool = false;

    fn check(request: &AbilityAfter) -> Result<(), String> {
        check_names(&request.ability_id, &request.call_id)
    }
}

fn check_names(ability_id: &str, call_id: &str) -> Result<(), String> {
    match ability_id.is_empty() || ability_id.len() > MAX_NAME || call_id.len() > MAX_NAME {
        true => Err(format!("ability_id has 1 to {MAX_NAME} bytes, call_id {MAX_NAME} at most")),
        false => Ok(()),
    }
}

impl RunClient {
    /// Asks whether a tool call may be made. [`AbilityBefore::deadline_ms`] is set to the time
    /// that is left.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub fn ability_before(&mut self, call: AbilityBefore) -> Result<Verdict, RunClientError> {
        let deadline_ms = self.deadline_ms();
        self.ask::<AbilityBeforeVerb>(&AbilityBefore { deadline_ms, ..call })
    }

    /// Tells how a tool call ended, and returns what handlers say to the agent's model, each text
    /// framed with who said it. [`AbilityAfter::deadline_ms`] is set to the time that is left.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub fn ability_after(&mut self, call: AbilityAfter) -> Result<Vec<String>, RunClientError> {
        let deadline_ms = self.deadline_ms();
        self.ask::<AbilityAfterVerb>(&AbilityAfter { deadline_ms, ..call })
    }
}

/// Asks whether a tool call may be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbilityBefore {
    /// The tool, such as `Bash`.
    pub ability_id: String,
    /// The agent's id for the call; empty where its hooks have none.
    #[serde(default)]
    pub call_id: String,
    /// The arguments, a JSON document.
    #[serde(with = "json_text")]
    pub input: Json,
    /// How long the run has for its answer, in milliseconds; it refuses then. At most 10 minutes,
    /// which is also what 0 means.
    #[serde(default)]
    pub deadline_ms: u64,
}

/// Tells how a tool call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbilityAfter {
    /// The tool, such as `Bash`.
    pub ability_id: String,
    /// The agent's id for the call; empty where its hooks have none.
    #[serde(default)]
    pub call_id: String,
    /// How it ended; nothing where the agent's hooks do not say. What the agent prints tells it then,
    /// and handlers are called once it does.
    #[serde(default)]
    pub status: Option<AbilityStatus>,
    /// How long it took, in milliseconds, where that is known.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// The arguments, a JSON document.
    #[serde(with = "json_text", default)]
    pub input: Json,
    /// The result, shortened.
    #[serde(default)]
    pub output_summary: Option<String>,
    /// Whether the agent's model can be told something at once. Where it cannot, texts wait for
    /// the next prompt.
    #[serde(default)]
    pub takes_text: bool,
    /// How long the run has for its answer, in milliseconds. At most 10 minutes, which is also what 0
    /// means.
    #[serde(default)]
    pub deadline_ms: u64,
}

/// Whether a tool call may be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Verdict {
    /// It may be made with these arguments.
    Allow {
        /// The arguments, as handlers left them.
        #[serde(with = "json_text")]
        input: Json,
        /// Whether they are other ones than were asked about.
        changed: bool,
    },
    /// It may not.
    Block {
        /// Why not, for the agent to read.
        reason: String,
    },
}
