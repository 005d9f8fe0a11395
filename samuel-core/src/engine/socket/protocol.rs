//! What is said over a run's socket (docs/run-socket.md).
//!
//! Every message is one line of JSON. A connection opens with a [`Hello`] and is answered with a
//! [`Welcome`]; then each [request](read_request) gets one answer, in order. What is refused is a
//! [`Refusal`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::model::{
    ErrorCode,
    payload::{AbilityStatus, Json, json_text},
};

/// The protocol and its version.
pub const PROTOCOL: &str = "run/1";
/// The most bytes of a message, without its line feed.
pub const MAX_MESSAGE: usize = 1 << 20;
/// The variable that names the socket to an agent's hooks.
pub const SOCKET_VARIABLE: &str = "SAMUEL_SOCKET";
/// The variable that holds the token of one call of an agent.
pub const TOKEN_VARIABLE: &str = "SAMUEL_TOKEN";

/// The most bytes of the name of a tool, and of the id of a call.
const MAX_NAME: usize = 256;

/// The first message of a connection.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    /// [`PROTOCOL`].
    pub(super) samuel: String,
    pub(super) token: String,
}

/// The answer to the first message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The run's id.
    pub run: String,
    /// The iteration that the token is for, from 1; absent with the run's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// The id of the task that the agent works on, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The verbs that the token allows.
    pub may: Vec<String>,
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

/// A request or a connection that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The code, such as `E_SOCKET_TOKEN`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub help: String,
    /// Whether the same request may work later.
    pub retryable: bool,
}

impl Refusal {
    /// Refuses with a code.
    pub(in crate::engine) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.name.to_owned(),
            message: message.into(),
            help: code.help.prose(),
            retryable: code.retryable,
        }
    }
}

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum Verb {
    AbilityBefore(AbilityBefore),
    AbilityAfter(AbilityAfter),
}

impl Verb {
    pub(in crate::engine) const ABILITY_BEFORE: &str = "ability_before";
    pub(in crate::engine) const ABILITY_AFTER: &str = "ability_after";
}

/// What a run answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::engine) enum Reply {
    Decision(Verdict),
    Text(Vec<String>),
}

/// An answer, as it is written.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answer<'a> {
    Welcome {
        ok: bool,
        #[serde(flatten)]
        welcome: &'a Welcome,
    },
    Done {
        id: u64,
        ok: bool,
        #[serde(flatten)]
        reply: &'a Reply,
    },
    Refused {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        ok: bool,
        error: &'a Refusal,
    },
}

/// A request, as it is written.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) verb: &'a Verb,
}

/// Writes a message as a line; nothing where it is longer than one may be.
pub(super) fn line(message: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message).ok().filter(|line| line.len() <= MAX_MESSAGE)?;
    line.push(b'\n');
    Some(line)
}

/// A line that is no request, with the id that its answer gets.
#[derive(Debug, PartialEq)]
pub(super) struct BadRequest {
    /// Nothing where the line does not even say that.
    pub(super) id: Option<u64>,
    pub(super) refusal: Refusal,
}

/// Reads a request of a connection that may do some verbs.
pub(super) fn read_request(line: &[u8], may: &[String]) -> Result<(u64, Verb), BadRequest> {
    let malformed = |id, message: String| {
        let refusal = Refusal::new(ErrorCode::SOCKET_MESSAGE, message);
        BadRequest { id, refusal }
    };
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(line)
        .map_err(|error| malformed(None, format!("the request is no JSON object: {error}")))?;
    let id = fields.get("id").and_then(|id| serde_json::from_str::<u64>(id.get()).ok());
    let Some(id) = id else {
        return Err(malformed(None, "the \"id\" of a request is a whole number from 0".to_owned()));
    };
    let mut verbs = fields.iter().filter(|(name, _)| *name != "id");
    let (Some((name, body)), None) = (verbs.next(), verbs.next()) else {
        return Err(malformed(Some(id), "a request has an \"id\" and one verb".to_owned()));
    };
    let refused = |code, message| BadRequest { id: Some(id), refusal: Refusal::new(code, message) };
    let read = match name.as_str() {
        Verb::ABILITY_BEFORE => body_of(body).map(Verb::AbilityBefore),
        Verb::ABILITY_AFTER => body_of(body).map(Verb::AbilityAfter),
        _ => {
            let name: String = name.chars().take(MAX_NAME).collect();
            return Err(refused(ErrorCode::SOCKET_VERB, format!("there is no verb {name:?}")));
        }
    };
    if !may.contains(name) {
        return Err(refused(ErrorCode::SOCKET_SCOPE, format!("the token does not allow {name}")));
    }
    let verb = read.map_err(|problem| malformed(Some(id), format!("{name}: {problem}")))?;
    let (Verb::AbilityBefore(AbilityBefore { ability_id, call_id, .. })
    | Verb::AbilityAfter(AbilityAfter { ability_id, call_id, .. })) = &verb;
    if ability_id.is_empty() || ability_id.len() > MAX_NAME || call_id.len() > MAX_NAME {
        let problem = format!("{name}: ability_id has 1 to {MAX_NAME} bytes, call_id {MAX_NAME} at most");
        return Err(malformed(Some(id), problem));
    }
    Ok((id, verb))
}

fn body_of<T: serde::de::DeserializeOwned>(body: &RawValue) -> Result<T, String> {
    serde_json::from_str(body.get()).map_err(|error| error.to_string())
}
