//! What is said over a run's socket (docs/run-socket.md).
//!
//! Every message is one line of JSON. A connection opens with a [`Hello`] and is answered with a
//! [`Welcome`]; then each [request](Asked) gets one answer, in order. What is refused is a
//! [`Refusal`]. What can be asked is in `verbs/`: here is what every message has.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    hook::RunAccess,
    model::{Coded, ErrorCode, Location},
    text::{causes, excerpt},
};

/// The protocol and its version.
pub const PROTOCOL: &str = "run/1";
/// The most bytes of a message, without its line feed.
pub const MAX_MESSAGE: usize = 1 << 20;
/// The variable that names the socket to an agent's hooks.
pub const SOCKET_VARIABLE: &str = RunAccess::SOCKET;
/// The variable that holds the token of one call of an agent.
pub const TOKEN_VARIABLE: &str = RunAccess::TOKEN;

/// How much is told of a name that there is not, in characters.
const MAX_NAME: usize = 256;
/// How much is told of what is wrong with a request, in bytes: it can repeat all of that.
pub(super) const MAX_PROBLEM: usize = 1 << 10;

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
    /// The plan that the run works on; absent with the run's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanOfRun>,
}

/// The plan that a run works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanOfRun {
    /// The root of the project, as the run knows it.
    pub root: PathBuf,
    /// The plan's file, as the run knows it.
    pub file: PathBuf,
    /// The methodology in use.
    pub methodology: String,
    /// When the plan was made, which tells it from one that replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<jiff::Timestamp>,
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
    /// The exit code of a command that ends with it.
    #[serde(default = "failure")]
    pub exit_code: u8,
    /// Whether the same request may work later.
    pub retryable: bool,
    /// Why, from the nearest cause on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do next, by the names under which each edge has words of its own for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Box<serde_json::Value>>,
    /// The file that it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Box<Location>>,
}

fn failure() -> u8 {
    1
}

impl Refusal {
    /// Refuses with a code.
    pub(in crate::engine) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code: code.name.to_owned(),
            message: message.into(),
            help: code.help.prose(),
            exit_code: code.exit_code,
            retryable: code.retryable,
            causes: Vec::new(),
            remedy: None,
            location: None,
        }
    }
}

impl Refusal {
    /// Refuses for an error, with all that it says.
    pub(crate) fn of(error: &dyn Coded) -> Self {
        let (code, help) = (error.code(), error.help());
        Self {
            help: help.prose(),
            remedy: serde_json::to_value(&help).ok().map(Box::new),
            causes: causes(error),
            location: error.location().map(Box::new),
            ..Self::new(code, error.to_string())
        }
    }
}

/// What a verb is answered with, whichever it is.
#[derive(Debug)]
pub(in crate::engine) struct Reply {
    /// The field that holds it.
    field: &'static str,
    value: Box<RawValue>,
}

impl Reply {
    /// Writes what is answered.
    ///
    /// # Errors
    /// Returns a refusal where that cannot be said in JSON: a fault in Samuel.
    pub(super) fn new(field: &'static str, value: &impl Serialize) -> Result<Self, Refusal> {
        let written = serde_json::value::to_raw_value(value);
        let value = written.map_err(|error| Refusal::new(ErrorCode::INTERNAL, error.to_string()))?;
        Ok(Self { field, value })
    }
}

impl Serialize for Reply {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.field, &self.value)])
    }
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

/// Writes a request.
pub(super) fn request(id: u64, verb: &str, body: &impl Serialize) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Request<'a, B> {
        id: u64,
        #[serde(flatten)]
        verb: BTreeMap<&'a str, &'a B>,
    }
    line(&Request { id, verb: BTreeMap::from([(verb, body)]) }, MAX_MESSAGE)
}

/// Writes a message as a line; nothing where it is longer than one may be.
pub(super) fn line(message: &impl Serialize, max: usize) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(message).ok().filter(|line| line.len() <= max)?;
    line.push(b'\n');
    Some(line)
}

/// A request, as far as every one is alike.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: u64,
    /// The verb that it names, which there may not be.
    pub(super) verb: String,
    pub(super) body: Box<RawValue>,
}

/// A line that is no request, with the id that its answer gets.
#[derive(Debug, PartialEq)]
pub(super) struct BadRequest {
    /// Nothing where the line does not even say that.
    pub(super) id: Option<u64>,
    pub(super) refusal: Box<Refusal>,
}

impl Asked {
    /// Takes a line apart.
    pub(super) fn read(line: &[u8]) -> Result<Self, BadRequest> {
        let malformed = |id, message: String| {
            let refusal = Box::new(Refusal::new(ErrorCode::SOCKET_MESSAGE, message));
            BadRequest { id, refusal }
        };
        let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(line)
            .map_err(|error| excerpt(&error.to_string(), MAX_PROBLEM))
            .map_err(|problem| malformed(None, format!("the request is no JSON object: {problem}")))?;
        let id = fields.remove("id").and_then(|id| serde_json::from_str::<u64>(id.get()).ok());
        let Some(id) = id else {
            return Err(malformed(None, "the \"id\" of a request is a whole number from 0".to_owned()));
        };
        match (fields.pop_first(), fields.is_empty()) {
            (Some((verb, body)), true) => Ok(Self { id, verb, body }),
            _ => Err(malformed(Some(id), "a request has an \"id\" and one verb".to_owned())),
        }
    }

    /// Refuses a verb that there is not.
    pub(super) fn unknown(&self) -> Refusal {
        let name: String = self.verb.chars().take(MAX_NAME).collect();
        Refusal::new(ErrorCode::SOCKET_VERB, format!("there is no verb {name:?}"))
    }
}
