//! Claude Code: `claude -p --output-format stream-json`.
//!
//! Follows «Run Claude Code programmatically» and «CLI reference» of the Claude
//! Code documentation and the message types of its Agent SDK reference; checked
//! with version 2.1.330. The stream opens with a `system` line, has an
//! `assistant` line for each block of an answer and a `user` line for each tool
//! result, and closes with a `result` line.

use std::sync::Arc;

use samuel_model::{Usage, clock::Clock, payload::AbilityStatus};
use serde_json::{Map, Value};

use super::{Cli, Reports, Speaks};
use crate::{
    AgentEvent,
    limit::{failure, from_epoch, is_limit},
    provider,
    stream::{Answers, Ending, Fields, Progress, StreamParser},
    text::{MAX_SUMMARY, excerpt},
};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "claude",
    program: Some("claude"),
    args: &["-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"],
    model_flag: Some("--model"),
    resume_args: &["--resume", "{conversation}"],
    lost_words: &["No conversation found"],
    last_args: &[],
    // Claude Code talks to Anthropic, to Bedrock or to Vertex, as its own
    // variables say. It refuses to skip permissions as root without IS_SANDBOX.
    env: &[
        "ANTHROPIC_*",
        "CLAUDE_*",
        "IS_SANDBOX",
        "API_TIMEOUT_MS",
        "BASH_*_TIMEOUT_MS",
        "BASH_MAX_OUTPUT_LENGTH",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "DISABLE_PROMPT_CACHING*",
        "MAX_THINKING_TOKENS",
        "MAX_MCP_OUTPUT_TOKENS",
        "MCP_TIMEOUT",
        "MCP_TOOL_TIMEOUT",
        "AWS_REGION",
        "AWS_PROFILE",
        "AWS_BEARER_TOKEN_BEDROCK",
        "CLOUD_ML_REGION",
        "VERTEX_*",
    ],
    provider: Some(provider::ANTHROPIC),
    notice: Some(
        "claude runs with --dangerously-skip-permissions: it edits files and runs commands without asking",
    ),
    speaks: Speaks::Throughout,
    reports: Reports::TokensAndCost,
    final_event: true,
    parser: |clock, _| Box::new(ClaudeParser::new(clock)),
};

/// Reads the stream.
struct ClaudeParser {
    clock: Arc<dyn Clock>,
    progress: Progress,
    /// What the answers consumed: an id comes once for each of its blocks.
    answers: Answers,
    /// What the results so far told of.
    results: Usage,
    /// Set by a rejected request, until the result says whether it mattered.
    limit: Option<Limit>,
}

struct Limit {
    resets_at: Option<jiff::Timestamp>,
}

impl ClaudeParser {
    fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            progress: Progress::default(),
            answers: Answers::default(),
            results: Usage::default(),
            limit: None,
        }
    }

    fn assistant(&mut self, event: &Value) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        // What a subagent says and does names the call that started it.
        let parent = event.some_text_at("/parent_tool_use_id");
        for block in event.items_at("/message/content") {
            match block.text_at("/type") {
                "text" => events.push(self.progress.text(block.text_at("/text"))),
                "tool_use" => {
                    let input = block.pointer("/input").unwrap_or(&Value::Null);
                    let (id, name) = (block.text_at("/id"), block.text_at("/name"));
                    events.push(self.progress.nested_call(parent, id, name, input));
                }
                _ => {}
            }
        }
        if let Some(usage) = event.pointer("/message/usage") {
            let total = self.answers.consumed(event.text_at("/message/id"), usage_of(usage, OF_MESSAGE));
            events.push(self.progress.consumed(total));
        }
        events
    }

    fn tool_results(&mut self, event: &Value) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        for block in event.items_at("/message/content") {
            if block.text_at("/type") == "tool_result" {
                let failed = block.pointer("/is_error").and_then(Value::as_bool).unwrap_or(false);
                let status = if failed { AbilityStatus::Error } else { AbilityStatus::Success };
                let output = content_text(block.pointer("/content").unwrap_or(&Value::Null));
                events.push(self.progress.tool_result(block.text_at("/tool_use_id"), status, &output));
            }
        }
        events
    }

    /// Reads the report on the account's limits that comes with every answer.
    /// Only a rejection that extra usage does not cover stops the work.
    fn rate_limit(&mut self, event: &Value) -> Vec<AgentEvent> {
        let info = event.pointer("/rate_limit_info").unwrap_or(&Value::Null);
        let covered = info.pointer("/isUsingOverage").and_then(Value::as_bool).unwrap_or(false);
        if info.text_at("/status") != "rejected" || covered {
            return Vec::new();
        }
        let resets_at = info.pointer("/resetsAt").and_then(Value::as_i64).and_then(from_epoch);
        self.limit = Some(Limit { resets_at });
        let message =
            format!("the {} limit is reached", info.some_text_at("/rateLimitType").unwrap_or("usage"));
        vec![AgentEvent::RateLimited { resets_at, message }]
    }

    fn result(&mut self, event: &Value) -> Vec<AgentEvent> {
        let mut events: Vec<AgentEvent> = event.items_at("/permission_denials").iter().map(denial).collect();
        if let Some(usage) = usage_since_last_result(event) {
            self.results += usage;
            events.push(self.progress.consumed(self.results));
        } else if let Some(usage) = result_usage(event) {
            events.push(self.progress.consumed(usage));
        }
        let ending = self.ending(event);
        if self.limit.is_none() {
            events.extend(ending.limit());
        }
        self.progress.ending = Some(ending);
        events
    }

    fn ending(&self, event: &Value) -> Ending {
        let failed = event.pointer("/is_error").and_then(Value::as_bool).unwrap_or(false);
        let subtype = event.text_at("/subtype");
        if !failed && !subtype.starts_with("error") {
            return Ending::Done;
        }
        let errors = event.items_at("/errors").iter().find_map(Value::as_str);
        let message = event.some_text_at("/result").or(errors).unwrap_or(subtype);
        let rejected =
            event.count_at("/api_error_status") == 429 || is_limit(event.text_at("/api_error_type"));
        match failure(message, self.clock.now()) {
            Ending::RateLimited { message, resets_at } => {
                let known = self.limit.as_ref().and_then(|limit| limit.resets_at);
                Ending::RateLimited { message, resets_at: known.or(resets_at) }
            }
            _ if rejected || self.limit.is_some() => Ending::RateLimited {
                message: excerpt(message, MAX_SUMMARY),
                resets_at: self.limit.as_ref().and_then(|limit| limit.resets_at),
            },
            failed => failed,
        }
    }
}

impl StreamParser for ClaudeParser {
    fn event(&mut self, event: &Value) -> Vec<AgentEvent> {
        match (event.text_at("/type"), event.text_at("/subtype")) {
            ("system", "init") => {
                vec![self.progress.ready(event.some_text_at("/session_id"), event.some_text_at("/model"))]
            }
            ("assistant", _) => self.assistant(event),
            ("user", _) => self.tool_results(event),
            ("rate_limit_event", _) => self.rate_limit(event),
            ("result", _) => self.result(event),
            _ => Vec::new(),
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Where the counts of a message are, and those that were written to the cache.
const OF_MESSAGE: ([&str; 3], &str) =
    (["/input_tokens", "/output_tokens", "/cache_read_input_tokens"], "/cache_creation_input_tokens");
/// Where those of a model are.
const OF_MODEL: ([&str; 3], &str) =
    (["/inputTokens", "/outputTokens", "/cacheReadInputTokens"], "/cacheCreationInputTokens");

/// What is counted as input is neither read from the cache nor written to it.
fn usage_of(counts: &Value, (places, written): ([&str; 3], &str)) -> Usage {
    let mut usage = counts.usage_at(places);
    let of_cache = usage.cached_tokens.saturating_add(counts.count_at(written));
    usage.input_tokens = usage.input_tokens.saturating_add(of_cache);
    usage
}

/// Adds up what models consumed, which a table has by their names.
fn of_models(models: &Map<String, Value>) -> Usage {
    let mut usage = Usage { cost_usd: Some(0.0), ..Usage::default() };
    for model in models.values() {
        let cost_usd = model.pointer("/costUSD").and_then(Value::as_f64);
        usage += Usage { cost_usd, ..usage_of(model, OF_MODEL) };
    }
    usage
}

/// Reads what was consumed since the result before: of a conversation that goes on, the
/// totals are those of all its calls.
fn usage_since_last_result(event: &Value) -> Option<Usage> {
    event.pointer("/model_usage_since_last_result").and_then(Value::as_object).map(of_models)
}

/// Reads the totals: per model, which counts subagents too, or of the main
/// conversation where there is no such table.
fn result_usage(event: &Value) -> Option<Usage> {
    let models = event.pointer("/modelUsage").and_then(Value::as_object).filter(|models| !models.is_empty());
    let mut total = match models {
        Some(models) => of_models(models),
        None => usage_of(event.pointer("/usage")?, OF_MESSAGE),
    };
    total.cost_usd = event.pointer("/total_cost_usd").and_then(Value::as_f64);
    Some(total)
}

fn denial(denial: &Value) -> AgentEvent {
    let input = denial.pointer("/tool_input").map(Value::to_string).unwrap_or_default();
    AgentEvent::PermissionDenied {
        tool: denial.text_at("/tool_name").to_owned(),
        message: excerpt(&input, MAX_SUMMARY),
    }
}

/// Joins a result's content, which is a text or a list of blocks.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.some_text_at("/text")).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
