//! Reading an agent's output line by line.
//!
//! Each adapter has a [`StreamParser`]: it turns lines into events and keeps a
//! [`Progress`], from which the call's outcome is made. Parsers do no I/O.
//!
//! They are forgiving: the streams of real agents change with every release, so
//! an event or field that is not known is left out, and only a line that is no
//! JSON object at all is reported.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    AbilityCall, AbilityResult, AgentEvent,
    text::{Answer, MAX_SUMMARY, MAX_TEXT, MAX_UNREADABLE, arguments, excerpt},
};
use crate::model::{Usage, payload::AbilityStatus};

/// Tool calls that are remembered until their results come.
const MAX_OPEN_CALLS: usize = 1_024;

/// Turns an agent's standard output into events.
pub(super) trait StreamParser: Send {
    /// Reads one line.
    fn parse(&mut self, line: &str) -> Vec<AgentEvent>;

    /// Takes note that there will be no more lines.
    fn finish(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }

    /// Returns what the lines so far came to.
    fn progress(&self) -> &Progress;
}

/// What an agent's stream came to so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// What was consumed.
    pub(super) usage: Option<Usage>,
    /// Whether the agent has said that it is up.
    pub(super) ready: bool,
    /// How the agent says it ended, once it does.
    pub(super) ending: Option<Ending>,
    /// What it said.
    pub(super) answer: Answer,
    open_calls: BTreeMap<String, String>,
}

/// How an agent says it ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    /// It did what it could.
    Done,
    /// It failed.
    Failed {
        /// Its words.
        message: String,
    },
    /// Its provider refused.
    RateLimited {
        /// The provider's words.
        message: String,
        /// When the limit ends.
        resets_at: Option<jiff::Timestamp>,
    },
}

impl Progress {
    pub(super) fn ready(&mut self, session_id: Option<&str>, model: Option<&str>) -> AgentEvent {
        self.ready = true;
        AgentEvent::Ready { session_id: session_id.map(str::to_owned), model: model.map(str::to_owned) }
    }

    pub(super) fn text(&mut self, text: &str) -> AgentEvent {
        self.answer.push_line(text);
        AgentEvent::Text { text: excerpt(text, MAX_TEXT) }
    }

    pub(super) fn tool_call(&mut self, call_id: &str, tool: &str, input: &Value) -> AgentEvent {
        if self.open_calls.len() < MAX_OPEN_CALLS {
            self.open_calls.insert(call_id.to_owned(), tool.to_owned());
        }
        AgentEvent::ToolCall(AbilityCall {
            call_id: call_id.to_owned(),
            ability_id: tool.to_owned(),
            input: arguments(input),
        })
    }

    pub(super) fn tool_result(&mut self, call_id: &str, status: AbilityStatus, output: &str) -> AgentEvent {
        AgentEvent::ToolResult(AbilityResult {
            call_id: call_id.to_owned(),
            ability_id: self.open_calls.remove(call_id).unwrap_or_default(),
            status,
            duration_ms: None,
            output_summary: (!output.is_empty()).then(|| excerpt(output, MAX_SUMMARY)),
        })
    }

    pub(super) fn consumed(&mut self, usage: Usage) -> AgentEvent {
        self.usage = Some(usage);
        AgentEvent::Usage(usage)
    }
}

/// Reads a line as a JSON object.
///
/// An empty line is nothing. A line that is no object is an event that says
/// so: some agents print warnings among their events.
pub(super) fn object(line: &str) -> Result<Option<Value>, AgentEvent> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Value>(line) {
        Ok(value) if value.is_object() => Ok(Some(value)),
        _ => Err(AgentEvent::Unreadable { line: excerpt(line, MAX_UNREADABLE) }),
    }
}

/// Reads a JSON document's fields by pointer, whatever is missing or of
/// another type.
pub(super) trait Fields {
    /// Returns a text, or the empty text.
    fn text_at(&self, pointer: &str) -> &str;
    /// Returns a text that is there and not empty.
    fn some_text_at(&self, pointer: &str) -> Option<&str>;
    /// Returns a count, or 0.
    fn count_at(&self, pointer: &str) -> u64;
    /// Returns the items of a list, or none.
    fn items_at(&self, pointer: &str) -> &[Value];
}

impl Fields for Value {
    fn text_at(&self, pointer: &str) -> &str {
        self.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn some_text_at(&self, pointer: &str) -> Option<&str> {
        Some(self.text_at(pointer)).filter(|text| !text.is_empty())
    }

    fn count_at(&self, pointer: &str) -> u64 {
        self.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    }

    fn items_at(&self, pointer: &str) -> &[Value] {
        self.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}
