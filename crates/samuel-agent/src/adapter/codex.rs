//! Codex: `codex exec --json`.
//!
//! Follows «Non-interactive mode» of the Codex documentation; checked with
//! version 0.169.0. The stream has a `thread.started` line, `turn.started`,
//! `item.started` and `item.completed` lines for commands, file changes and
//! messages, and closes with `turn.completed` or `turn.failed`. Codex counts
//! the tokens of a conversation, over all its calls, but reports no cost. It words
//! commands and tools of MCP servers in another way than to its hooks; they are told as
//! the hooks have them, so that the two can be compared.

use std::sync::Arc;

use samuel_model::{clock::Clock, payload::AbilityStatus};
use serde_json::{Value, json};

use super::{Cli, Reports, Speaks};
use crate::{
    AgentEvent,
    limit::failure,
    provider,
    stream::{Ending, Fields, Progress, StreamParser},
};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "codex",
    program: Some("codex"),
    args: &["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    model_flag: Some("--model"),
    resume_args: &["resume", "{conversation}"],
    lost_words: &["no rollout found"],
    // The dash stands for a prompt on standard input.
    last_args: &["-"],
    env: &["OPENAI_*", "CODEX_*", "AZURE_OPENAI_*", "RUST_LOG"],
    provider: Some(provider::OPENAI),
    notice: Some(
        "codex runs with --dangerously-bypass-approvals-and-sandbox: it edits files and runs commands without asking",
    ),
    speaks: Speaks::Throughout,
    reports: Reports::Tokens,
    final_event: true,
    parser: |clock, before| Box::new(CodexParser { clock, progress: Progress::after(before), error: None }),
};

/// Reads the stream.
struct CodexParser {
    clock: Arc<dyn Clock>,
    progress: Progress,
    /// The last `error` line. Codex writes one for each attempt to reconnect
    /// too, so it counts only when the turn does not complete after it.
    error: Option<String>,
}

impl CodexParser {
    fn item(&mut self, item: &Value, stage: Stage) -> Vec<AgentEvent> {
        let id = item.text_at("/id");
        match (item.text_at("/type"), stage) {
            ("agent_message", Stage::Completed) => vec![self.progress.text(item.text_at("/text"))],
            ("agent_message" | "reasoning" | "todo_list" | "error", _) | (_, Stage::Updated) => Vec::new(),
            (kind, Stage::Started) => vec![self.tool_call(id, kind, item)],
            (kind, Stage::Completed) => {
                let mut events = Vec::new();
                // Some versions tell of these when they are over, without a start.
                if matches!(kind, "file_change" | "web_search") && !self.progress.is_open(id) {
                    events.push(self.tool_call(id, kind, item));
                }
                events.push(self.progress.tool_result(id, status_of(item), &output_of(item)));
                events
            }
        }
    }

    fn tool_call(&mut self, id: &str, kind: &str, item: &Value) -> AgentEvent {
        let (tool, input) = match kind {
            "mcp_tool_call" => mcp_call(item),
            "command_execution" => (kind.to_owned(), command(item).unwrap_or_else(|| input_of(item))),
            _ => (kind.to_owned(), input_of(item)),
        };
        self.progress.tool_call(id, &tool, &input)
    }

    fn failed(&mut self, message: &str) -> Vec<AgentEvent> {
        let ending = failure(&provider_words(message), self.clock.now());
        self.progress.ended(ending).into_iter().collect()
    }
}

#[derive(Clone, Copy)]
enum Stage {
    Started,
    Updated,
    Completed,
}

impl StreamParser for CodexParser {
    fn event(&mut self, event: &Value) -> Vec<AgentEvent> {
        let item = event.pointer("/item").unwrap_or(&Value::Null);
        match event.text_at("/type") {
            "thread.started" => vec![self.progress.ready(event.some_text_at("/thread_id"), None)],
            "item.started" => self.item(item, Stage::Started),
            "item.updated" => self.item(item, Stage::Updated),
            "item.completed" => self.item(item, Stage::Completed),
            "turn.completed" => {
                self.progress.ending = Some(Ending::Done);
                let usage = event.pointer("/usage").map(|usage| usage.usage_at(USAGE));
                usage.map(|usage| self.progress.consumed_in_all(usage)).into_iter().collect()
            }
            "turn.failed" => {
                let before = self.error.take().unwrap_or_default();
                let message = event.some_text_at("/error/message").unwrap_or(&before).to_owned();
                self.failed(&message)
            }
            "error" => {
                self.error = Some(event.text_at("/message").to_owned());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn finish(&mut self) -> Vec<AgentEvent> {
        match (self.error.take(), &self.progress.ending) {
            (Some(message), None) => self.failed(&message),
            _ => Vec::new(),
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Where the counts are; the first has those that were read from a cache in it.
const USAGE: [&str; 3] = ["/input_tokens", "/output_tokens", "/cached_input_tokens"];

/// Returns what an item was asked to do: its fields without those that say how
/// it went.
fn input_of(item: &Value) -> Value {
    let Some(fields) = item.as_object() else { return Value::Null };
    let outcome = ["id", "type", "status", "exit_code", "aggregated_output", "result", "error"];
    let asked = fields.iter().filter(|(name, _)| !outcome.contains(&name.as_str()));
    asked.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the arguments of a command as Codex's hooks have them. The stream shows the shell that runs
/// it, quoted as one line: `/bin/bash -lc 'ls -l'`. Nothing where it shows anything else.
fn command(item: &Value) -> Option<Value> {
    let words = shlex::split(item.pointer("/command")?.as_str()?)?;
    let is_option = |word: &String| word.starts_with('-');
    match words.as_slice() {
        [_, options @ .., command] if !options.is_empty() && options.iter().all(is_option) => {
            Some(json!({ "command": command }))
        }
        _ => None,
    }
}

/// Returns the tool of an MCP server and its arguments as Codex's hooks have them, which have letters,
/// digits and `_` alone in the name.
fn mcp_call(item: &Value) -> (String, Value) {
    let plain = |at: &str| item.text_at(at).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let tool = format!("mcp__{}__{}", plain("/server"), plain("/tool"));
    (tool, item.pointer("/arguments").cloned().unwrap_or_default())
}

fn status_of(item: &Value) -> AbilityStatus {
    let exit_code = item.pointer("/exit_code").and_then(Value::as_i64).unwrap_or(0);
    match item.text_at("/status") {
        "failed" | "declined" => AbilityStatus::Error,
        _ if exit_code != 0 => AbilityStatus::Error,
        _ => AbilityStatus::Success,
    }
}

fn output_of(item: &Value) -> String {
    let texts = ["/aggregated_output", "/error/message"].iter().find_map(|at| item.some_text_at(at));
    match (texts, item.pointer("/result")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(result)) if !result.is_null() => result.to_string(),
        _ => String::new(),
    }
}

/// Returns the provider's words from an error that is its JSON answer.
fn provider_words(message: &str) -> String {
    let answer = serde_json::from_str::<Value>(message).unwrap_or(Value::Null);
    let (kind, words) = (answer.text_at("/error/type"), answer.text_at("/error/message"));
    match (kind, words) {
        (_, "") => message.to_owned(),
        ("", words) => words.to_owned(),
        (kind, words) => format!("{kind}: {words}"),
    }
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;
