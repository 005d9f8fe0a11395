//! What of a session goes on in another process.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::SessionError;
use crate::{
    agent::{ToolCallFacts, path_below},
    engine::KeptPoints,
    machine::MAX_STOP_BLOCKS,
};

/// The version of the form.
const VERSION: u32 = 1;
/// How many calls may be open; the oldest makes room.
const MAX_CALLS: usize = 64;
/// How long a name or an id may be, in bytes.
pub(super) const MAX_NAME: usize = 1_024;
/// How long the names of files are together that a call names, in bytes; of more it counts as
/// unknown which they are.
const MAX_FILES_BYTES: usize = 16 * 1024;
/// How long all that is kept is as JSON, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// What of a session goes on in another process: plain data, a few kilobytes of JSON and never more
/// than a few megabytes, which the caller keeps.
///
/// It holds nothing secret but the shortened arguments of [calls](OpenCall::facts) under way, and decides how often a stop can be blocked: keep it where neither the agent nor other
/// users can write, such as in a private directory outside of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// The version of the form, 1.
    pub version: u32,
    /// The id that events and the log of hooks carry.
    pub id: String,
    /// The name of the session.
    pub session: String,
    /// The commit at the start, in hexadecimal digits; nothing where there is none. What has changed
    /// since is what the session changed.
    pub head: Option<String>,
    /// How many stops in a row were blocked, 0 to 8.
    pub stop_block_count: u32,
    /// How many calls have begun.
    pub calls_begun: u64,
    /// The calls under way, in the order in which they began; at most 64.
    pub calls: Vec<OpenCall>,
    /// Whether the session has ended.
    pub ended: bool,
}

/// A call of an ability that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The id of the call.
    pub call_id: String,
    /// The ability, such as `Bash`.
    pub ability_id: String,
    /// What groups calls of one kind, where the caller said.
    pub operation_key: Option<String>,
    /// When it began.
    pub began_at: Timestamp,
    /// Its arguments, shortened, the calls around it, and the files that its arguments name, if
    /// its tool changes files.
    pub facts: ToolCallFacts,
}

impl SessionState {
    pub(super) fn new(id: &str, session: &str, head: Option<String>) -> Self {
        Self {
            version: VERSION,
            id: id.to_owned(),
            session: session.to_owned(),
            head,
            stop_block_count: 0,
            calls_begun: 0,
            calls: Vec::new(),
            ended: false,
        }
    }

    /// Checks that what was kept can be gone on with, and returns what goes on of its points.
    pub(super) fn check(&self) -> Result<KeptPoints, SessionError> {
        let refused = |problem: String| Err(SessionError::State { problem });
        if self.version != VERSION {
            return refused(format!("it has version {}, and this Samuel knows {VERSION}", self.version));
        }
        if self.ended {
            return Err(SessionError::Ended { session: self.session.clone() });
        }
        let names = [&self.id, &self.session].into_iter().chain(self.head.as_ref());
        let is_long = serde_json::to_vec(self).map_or(true, |kept| kept.len() > MAX_BYTES);
        if is_long
            || names.map(String::len).max() > Some(MAX_NAME)
            || self.calls.len() > MAX_CALLS
            || self.stop_block_count > MAX_STOP_BLOCKS
        {
            return refused("it holds more than a session can have".to_owned());
        }
        Ok(KeptPoints {
            id: self.id.as_str().into(),
            session: self.session.clone(),
            start: self.head.clone(),
        })
    }

    /// Begins a call, made from another where that is named, under an id of its own where it has
    /// none.
    pub(super) fn begin(&mut self, mut call: OpenCall, parent: Option<&str>) -> String {
        self.calls_begun += 1;
        if call.call_id.is_empty() {
            call.call_id = format!("call-{}", self.calls_begun);
        }
        let known = |id: &str| self.calls.iter().find(|open| open.call_id == id).map(|open| &open.facts);
        call.facts.path = parent.map(|parent| path_below(known(parent), parent)).unwrap_or_default();
        call.facts = bounded(call.facts);
        let call_id = call.call_id.clone();
        self.calls.retain(|open| open.call_id != call_id);
        if self.calls.len() >= MAX_CALLS {
            self.calls.remove(0);
        }
        self.calls.push(call);
        call_id
    }

    /// Notes that a call is made now, with arguments of which this is known.
    pub(super) fn permit(&mut self, call_id: &str, facts: ToolCallFacts, now: Timestamp) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.call_id == call_id) {
            let path = std::mem::take(&mut call.facts.path);
            (call.began_at, call.facts) = (now, ToolCallFacts { path, ..bounded(facts) });
        }
    }

    /// Ends a call; nothing where it is not under way.
    pub(super) fn finish(&mut self, call_id: &str) -> Option<OpenCall> {
        let place = self.calls.iter().position(|call| call.call_id == call_id)?;
        Some(self.calls.remove(place))
    }
}

fn bounded(mut facts: ToolCallFacts) -> ToolCallFacts {
    let length = |files: &Vec<String>| files.iter().map(String::len).sum::<usize>();
    facts.changed_files = facts.changed_files.filter(|files| length(files) <= MAX_FILES_BYTES);
    facts
}
