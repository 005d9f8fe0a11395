//! What of a session goes on in another process.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::SessionError;
use crate::{engine::KeptPoints, git::ObjectId, machine::MAX_STOP_BLOCKS, text::excerpt};

/// The version of the form.
const VERSION: u32 = 1;
/// How many calls may be open; the oldest makes room.
const MAX_CALLS: usize = 64;
/// How long a name or an id may be, in bytes.
pub(super) const MAX_NAME: usize = 1_024;
/// How long what is kept of the arguments of a call is, in bytes.
pub(super) const MAX_SUMMARY: usize = 4 * 1024;

/// What of a session goes on in another process: plain data, a few kilobytes of JSON and never more
/// than a few megabytes, which the caller keeps.
///
/// It holds nothing secret but the [shortened](OpenCall::input_summary) arguments of calls under
/// way, and decides how often a stop can be blocked: keep it where neither the agent nor other
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
    /// The call that it was made from; nothing where it was made from none.
    pub parent_id: Option<String>,
    /// What groups calls of one kind, where the caller said.
    pub operation_key: Option<String>,
    /// When it began.
    pub began_at: Timestamp,
    /// Its arguments, shortened.
    pub input_summary: Option<String>,
}

impl SessionState {
    pub(super) fn new(id: &str, session: &str, head: Option<ObjectId>) -> Self {
        Self {
            version: VERSION,
            id: id.to_owned(),
            session: session.to_owned(),
            head: head.map(|head| head.to_string()),
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
        let of_calls = self.calls.iter().flat_map(|call| {
            [
                Some(&call.call_id),
                Some(&call.ability_id),
                call.parent_id.as_ref(),
                call.operation_key.as_ref(),
            ]
        });
        let mut names = [&self.id, &self.session].into_iter().chain(of_calls.flatten());
        let is_long = |summary: &String| summary.len() > MAX_SUMMARY + '…'.len_utf8();
        if names.any(|name| name.len() > MAX_NAME)
            || self.calls.len() > MAX_CALLS
            || self.calls.iter().filter_map(|call| call.input_summary.as_ref()).any(is_long)
            || self.stop_block_count > MAX_STOP_BLOCKS
        {
            return refused("it holds more than a session can have".to_owned());
        }
        let start = match &self.head {
            None => None,
            Some(head) => match ObjectId::parse(head) {
                Some(start) => Some(start),
                None => return refused(format!("\"{head}\" is no commit")),
            },
        };
        Ok(KeptPoints { id: self.id.as_str().into(), session: self.session.clone(), start })
    }

    /// Begins a call, under an id of its own where it has none.
    pub(super) fn begin(&mut self, mut call: OpenCall) -> String {
        self.calls_begun += 1;
        if call.call_id.is_empty() {
            call.call_id = format!("call-{}", self.calls_begun);
        }
        let call_id = call.call_id.clone();
        self.calls.retain(|open| open.call_id != call_id);
        if self.calls.len() >= MAX_CALLS {
            self.calls.remove(0);
        }
        self.calls.push(call);
        call_id
    }

    /// Notes that a call is being made, with the arguments as the handlers left them.
    pub(super) fn permit(&mut self, call_id: &str, input: &str, now: Timestamp) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.call_id == call_id) {
            (call.began_at, call.input_summary) = (now, Some(excerpt(input, MAX_SUMMARY)));
        }
    }

    /// Ends a call; nothing where it is not under way.
    pub(super) fn finish(&mut self, call_id: &str) -> Option<OpenCall> {
        let place = self.calls.iter().position(|call| call.call_id == call_id)?;
        Some(self.calls.remove(place))
    }

    /// Returns the abilities that a call was made from, outermost first.
    pub(super) fn path_to(&self, call: &OpenCall) -> Vec<String> {
        let mut path = Vec::new();
        let mut parent = call.parent_id.as_deref();
        while let Some(outer) = parent.and_then(|id| self.calls.iter().find(|call| call.call_id == id)) {
            path.push(outer.ability_id.clone());
            parent = outer.parent_id.as_deref();
            // One that names itself has no outermost call.
            if path.len() >= MAX_CALLS {
                break;
            }
        }
        path.reverse();
        path
    }
}
