//! The tool calls of one call of an agent, kept until their ends are told.
//!
//! How a call ended comes without its arguments and without what it was made from. [`ToolCalls`]
//! remembers them by the agent's id, so that the handlers of `ability.after` are told as
//! [`ToolCallFacts`]. Who reports calls is the port's business.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

use samuel_model::payload::AbilityStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AbilityCall, AbilityResult,
    file_tools::changed_files,
    text::{MAX_SUMMARY, excerpt},
};

/// How many calls are remembered; the oldest makes room.
const MAX_CALLS: usize = 1_000;
/// How many calls a path names at most, from the innermost on.
const MAX_PATH: usize = 32;

/// What there is to know of a tool call beside how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallFacts {
    /// The arguments, shortened to 4 KiB; nothing where they are not known.
    pub input_summary: Option<String>,
    /// The calls that it was made from, by the agent's ids for them, outermost first.
    pub path: Vec<String>,
    /// The files that its arguments name, if its tool changes files, relative to the project
    /// where they are in it; nothing where that is unknown, as of a shell command and of a call
    /// that did not succeed.
    pub changed_files: Option<Vec<String>>,
}

impl ToolCallFacts {
    /// Tells what the arguments of a call say, which are a JSON document, in a project.
    pub fn of(tool: &str, input: &str, root: &Path) -> Self {
        let value: Option<Value> = serde_json::from_str(input).ok();
        Self {
            input_summary: Some(excerpt(input, MAX_SUMMARY)),
            path: Vec::new(),
            changed_files: value.and_then(|value| changed_files(tool, &value, root)),
        }
    }

    /// Leaves out what only holds of a call that succeeded.
    #[must_use]
    pub fn ended(mut self, status: AbilityStatus) -> Self {
        self.changed_files = self.changed_files.filter(|_| status == AbilityStatus::Success);
        self
    }
}

/// The calls that an agent made, by its ids for them.
#[derive(Debug)]
pub struct ToolCalls {
    root: PathBuf,
    known: HashMap<String, ToolCallFacts>,
    /// The ids, oldest first.
    order: VecDeque<String>,
}

impl ToolCalls {
    /// Knows none yet, in a project.
    pub fn new(root: PathBuf) -> Self {
        Self { root, known: HashMap::new(), order: VecDeque::new() }
    }

    /// Remembers a call that is about to be made. Of one that is told of twice, by its own hooks and in
    /// the stream, the arguments that were told first stand.
    pub fn begin(&mut self, call: &AbilityCall) {
        let path = call.parent_id.as_ref().map(|parent| self.path_below(parent)).unwrap_or_default();
        if let Some(known) = self.known.get_mut(&call.call_id) {
            if known.path.is_empty() {
                known.path = path;
            }
            return;
        }
        let facts = ToolCallFacts { path, ..ToolCallFacts::of(&call.ability_id, &call.input, &self.root) };
        self.keep(&call.call_id, facts);
    }

    /// Remembers the arguments that a call is made with, as handlers left them.
    pub fn allow(&mut self, call_id: &str, tool: &str, input: &str) {
        if let Some(known) = self.known.get_mut(call_id) {
            let path = std::mem::take(&mut known.path);
            *known = ToolCallFacts { path, ..ToolCallFacts::of(tool, input, &self.root) };
        }
    }

    /// Tells what is known of a call that ended.
    pub fn end(&self, result: &AbilityResult) -> ToolCallFacts {
        let known = self.known.get(&result.call_id).cloned().unwrap_or_default();
        let facts = match &result.input {
            Some(input) => {
                ToolCallFacts { path: known.path, ..ToolCallFacts::of(&result.ability_id, input, &self.root) }
            }
            None => known,
        };
        facts.ended(result.status)
    }

    fn path_below(&self, parent: &str) -> Vec<String> {
        path_below(self.known.get(parent), parent)
    }

    fn keep(&mut self, call_id: &str, facts: ToolCallFacts) {
        // Without an id nothing tells one from another.
        if call_id.is_empty() {
            return;
        }
        while self.order.len() >= MAX_CALLS {
            let Some(oldest) = self.order.pop_front() else { break };
            self.known.remove(&oldest);
        }
        self.order.push_back(call_id.to_owned());
        self.known.insert(call_id.to_owned(), facts);
    }
}

/// Returns the calls around one that was made from another, of which this is known.
pub fn path_below(known: Option<&ToolCallFacts>, parent: &str) -> Vec<String> {
    let above = known.map(|known| known.path.as_slice()).unwrap_or_default();
    let skipped = (above.len() + 1).saturating_sub(MAX_PATH);
    above.iter().skip(skipped).cloned().chain([parent.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> ToolCalls {
        ToolCalls::new(PathBuf::from("/p"))
    }

    fn call(id: &str, tool: &str, input: &str, parent: Option<&str>) -> AbilityCall {
        AbilityCall {
            call_id: id.to_owned(),
            ability_id: tool.to_owned(),
            input: input.to_owned(),
            parent_id: parent.map(str::to_owned),
        }
    }

    fn ended(id: &str) -> AbilityResult {
        AbilityResult { call_id: id.to_owned(), ..AbilityResult::default() }
    }

    #[test]
    fn the_end_of_a_call_says_what_its_beginning_told() {
        let mut calls = calls();
        calls.begin(&call("1", "Task", "{}", None));
        calls.begin(&call("2", "Task", "{}", Some("1")));
        calls.begin(&call("3", "Edit", r#"{"file_path":"/p/a"}"#, Some("2")));
        let facts = calls.end(&ended("3"));
        assert_eq!(facts.path, ["1", "2"]);
        assert_eq!(facts.input_summary.as_deref(), Some(r#"{"file_path":"/p/a"}"#));
        assert_eq!(facts.changed_files, Some(vec!["a".to_owned()]));
        assert_eq!(calls.end(&ended("9")), ToolCallFacts::default(), "nobody told of it");
        let failed = AbilityResult { status: AbilityStatus::Error, ..ended("3") };
        assert_eq!(calls.end(&failed).changed_files, None, "whether it changed anything is unknown");
    }

    #[test]
    fn what_handlers_left_of_the_arguments_counts_and_not_what_the_stream_tells_later() {
        let mut calls = calls();
        calls.begin(&call("1", "Edit", r#"{"file_path":"a"}"#, None));
        calls.allow("1", "Edit", r#"{"file_path":"b"}"#);
        calls.begin(&call("1", "Edit", r#"{"file_path":"a"}"#, Some("0")));
        let facts = calls.end(&ended("1"));
        assert_eq!((facts.changed_files, facts.path), (Some(vec!["b".to_owned()]), vec!["0".to_owned()]));
    }

    #[test]
    fn arguments_that_come_with_the_end_are_the_calls_own() {
        let input = Some(r#"{"file_path":"c"}"#.to_owned());
        let result = AbilityResult { ability_id: "Write".to_owned(), input, ..ended("1") };
        assert_eq!(calls().end(&result).changed_files, Some(vec!["c".to_owned()]));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut calls = calls();
        let long = serde_json::json!({ "command": "x".repeat(1 << 16) }).to_string();
        for n in 0..2_000 {
            let parent = (n > 0).then(|| (n - 1).to_string());
            calls.begin(&call(&n.to_string(), "Bash", &long, parent.as_deref()));
        }
        assert_eq!((calls.known.len(), calls.order.len()), (MAX_CALLS, MAX_CALLS));
        let facts = calls.end(&ended("1999"));
        assert_eq!((facts.path.len(), facts.path.last().map(String::as_str)), (MAX_PATH, Some("1998")));
        assert!(facts.input_summary.is_some_and(|summary| summary.len() <= MAX_SUMMARY + '…'.len_utf8()));
        assert_eq!(calls.end(&ended("1")), ToolCallFacts::default());
    }
}
