//! Reading an agent's output line by line.
//!
//! Each adapter has a [`StreamParser`]: it turns lines into events and keeps a
//! [`Progress`], from which the call's outcome is made. Parsers do no I/O.
//!
//! They are forgiving: the streams of real agents change with every release, so
//! an event or field that is not known is left out, and only a line that is no
//! JSON object at all is reported.

use std::collections::{BTreeMap, VecDeque};

use samuel_model::{Usage, payload::AbilityStatus};
use serde_json::Value;

use super::{
    AbilityCall, AbilityResult, AgentEvent,
    text::{Answer, MAX_SUMMARY, MAX_TEXT, MAX_UNREADABLE, arguments, excerpt},
};

/// Tool calls that are remembered until their results come.
const MAX_OPEN_CALLS: usize = 1_024;
/// Bytes kept of the id of a call and of the name of its tool.
const MAX_NAME: usize = 256;
/// Answers that more is expected of: as many as work at the same time.
const MAX_OPEN_ANSWERS: usize = 16;

/// Turns an agent's standard output into events.
pub(super) trait StreamParser: Send {
    /// Reads one line: an event, unless the stream is none of JSON objects.
    ///
    /// An empty line is nothing. A line that is no object is an event that says
    /// so: some agents print warnings among their events.
    fn parse(&mut self, line: &str) -> Vec<AgentEvent> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        match serde_json::from_str::<Value>(line) {
            Ok(event) if event.is_object() => self.event(&event),
            _ => vec![AgentEvent::Unreadable { line: excerpt(line, MAX_UNREADABLE) }],
        }
    }

    /// Reads one event.
    fn event(&mut self, _: &Value) -> Vec<AgentEvent> {
        Vec::new()
    }

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
    /// The conversation it is in, once it names it.
    pub(super) conversation: Option<String>,
    /// What earlier calls consumed in that conversation.
    pub(super) before: Usage,
    /// What the agent says was consumed in the conversation, over all its calls, where it
    /// counts like that.
    pub(super) in_all: Option<Usage>,
    open_calls: BTreeMap<String, String>,
}

/// What the answers of a stream consumed, where each is told of several times.
///
/// Only the last answers are kept apart. What was consumed by those before them
/// is in the sum for good, so a stream costs the same for each of its lines,
/// however many it has.
#[derive(Debug, Default)]
pub(super) struct Answers {
    before: Usage,
    open: VecDeque<(String, Usage)>,
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

impl Ending {
    /// Returns the event that tells of a refusal.
    pub(super) fn limit(&self) -> Option<AgentEvent> {
        let Self::RateLimited { message, resets_at } = self else { return None };
        Some(AgentEvent::RateLimited { resets_at: *resets_at, message: message.clone() })
    }
}

impl Progress {
    /// Begins after earlier calls in the same conversation.
    pub(super) fn after(before: Usage) -> Self {
        Self { before, ..Self::default() }
    }

    pub(super) fn ready(&mut self, session_id: Option<&str>, model: Option<&str>) -> AgentEvent {
        self.ready = true;
        self.conversation = session_id.map(str::to_owned);
        AgentEvent::Ready { session_id: session_id.map(str::to_owned), model: model.map(str::to_owned) }
    }

    pub(super) fn text(&mut self, text: &str) -> AgentEvent {
        self.answer.push_line(text);
        AgentEvent::Text { text: excerpt(text, MAX_TEXT) }
    }

    pub(super) fn tool_call(&mut self, call_id: &str, tool: &str, input: &Value) -> AgentEvent {
        self.nested_call(None, call_id, tool, input)
    }

    /// Takes a tool call that may be made from another one, such as by a subagent.
    pub(super) fn nested_call(
        &mut self,
        parent: Option<&str>,
        call_id: &str,
        tool: &str,
        input: &Value,
    ) -> AgentEvent {
        let (call_id, ability_id) = (excerpt(call_id, MAX_NAME), excerpt(tool, MAX_NAME));
        if self.open_calls.len() < MAX_OPEN_CALLS {
            self.open_calls.insert(call_id.clone(), ability_id.clone());
        }
        let parent_id = parent.map(|parent| excerpt(parent, MAX_NAME));
        AgentEvent::ToolCall(AbilityCall { call_id, ability_id, input: arguments(input), parent_id })
    }

    /// Says whether a tool call was told of whose result is still to come.
    pub(super) fn is_open(&self, call_id: &str) -> bool {
        self.open_calls.contains_key(&excerpt(call_id, MAX_NAME))
    }

    pub(super) fn tool_result(&mut self, call_id: &str, status: AbilityStatus, output: &str) -> AgentEvent {
        let call_id = excerpt(call_id, MAX_NAME);
        AgentEvent::ToolResult(AbilityResult {
            ability_id: self.open_calls.remove(&call_id).unwrap_or_default(),
            call_id,
            status,
            output_summary: (!output.is_empty()).then(|| excerpt(output, MAX_SUMMARY)),
            ..AbilityResult::default()
        })
    }

    pub(super) fn consumed(&mut self, usage: Usage) -> AgentEvent {
        self.usage = Some(usage);
        AgentEvent::Usage(usage)
    }

    /// Takes what was consumed in the conversation over all its calls.
    pub(super) fn consumed_in_all(&mut self, usage: Usage) -> AgentEvent {
        self.in_all = Some(usage);
        self.consumed(usage.beyond(&self.before))
    }

    /// Takes down how the agent ended, and tells of a refusal.
    pub(super) fn ended(&mut self, ending: Ending) -> Option<AgentEvent> {
        let told = ending.limit();
        self.ending = Some(ending);
        told
    }
}

impl Answers {
    /// Takes what an answer consumed so far, and returns the sum of all.
    pub(super) fn consumed(&mut self, id: &str, usage: Usage) -> Usage {
        let id = excerpt(id, MAX_NAME);
        match self.open.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => *known = usage,
            None => {
                if self.open.len() >= MAX_OPEN_ANSWERS
                    && let Some((_, oldest)) = self.open.pop_front()
                {
                    self.before += oldest;
                }
                self.open.push_back((id, usage));
            }
        }
        let mut sum = self.before;
        self.open.iter().for_each(|(_, one)| sum += *one);
        sum
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
    /// Returns what was consumed, from the counts of what was read, written, and read from a cache.
    fn usage_at(&self, [input, output, cached]: [&str; 3]) -> Usage {
        Usage {
            input_tokens: self.count_at(input),
            output_tokens: self.count_at(output),
            cached_tokens: self.count_at(cached),
            cost_usd: None,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tokens: u64) -> Usage {
        Usage { input_tokens: tokens, ..Usage::default() }
    }

    #[test]
    fn an_answer_that_is_told_of_again_counts_once() {
        let mut answers = Answers::default();
        assert_eq!(answers.consumed("a", read(5)), read(5));
        assert_eq!(answers.consumed("b", read(2)), read(7), "of a subagent, in between");
        assert_eq!(answers.consumed("a", read(6)), read(8));
    }

    #[test]
    fn a_million_answers_are_kept_in_the_room_of_a_few() {
        let mut answers = Answers::default();
        let long = "x".repeat(1 << 20);
        let mut sum = Usage::default();
        for n in 0..1_000_000_u64 {
            sum = match n % 100_000 {
                0 => answers.consumed(&format!("{n}{long}"), read(1)),
                _ => answers.consumed(&n.to_string(), read(1)),
            };
            // As many additions a line as there are answers kept apart.
            assert!(answers.open.len() <= MAX_OPEN_ANSWERS);
        }
        assert_eq!(sum, read(1_000_000));
        assert!(answers.open.iter().all(|(id, _)| id.len() <= MAX_NAME + '…'.len_utf8()));
    }

    #[test]
    fn what_is_remembered_of_open_calls_is_bounded() {
        let mut progress = Progress::default();
        let long = "x".repeat(1 << 16);
        for n in 0..10_000 {
            progress.tool_call(&format!("{n}{long}"), &long, &Value::Null);
        }
        let bytes: usize = progress.open_calls.iter().map(|(id, tool)| id.len() + tool.len()).sum();
        assert!(bytes <= MAX_OPEN_CALLS * 2 * (MAX_NAME + '…'.len_utf8()), "{bytes}");
    }
}
