//! GitHub Copilot CLI: `copilot --output-format json`.
//!
//! Follows «GitHub Copilot CLI programmatic reference» of the GitHub
//! documentation and `copilot help`; checked with version 1.0.102. Standard
//! input is the prompt where there is no `--prompt`. The stream holds the
//! session's events, such as `assistant.message` and
//! `tool.execution_complete`, and closes with `result`. Copilot counts premium
//! requests; tokens appear only where an event carries them.

use std::sync::Arc;

use samuel_model::{clock::Clock, payload::AbilityStatus};
use serde_json::Value;

use super::{Cli, Reports, Speaks};
use crate::{
    AgentEvent,
    limit::{failure, is_limit},
    stream::{Ending, Fields, Progress, StreamParser},
    text::{MAX_SUMMARY, excerpt},
};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "copilot",
    program: Some("copilot"),
    args: &["--allow-all", "--no-ask-user", "--output-format", "json", "--no-color", "--no-auto-update"],
    model_flag: Some("--model"),
    resume_args: &["--resume={conversation}"],
    lost_words: &["No session, task, or name matched"],
    last_args: &[],
    env: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"],
    provider: None,
    notice: Some("copilot runs with --allow-all: it edits files and runs commands without asking"),
    speaks: Speaks::Throughout,
    reports: Reports::Tokens,
    final_event: true,
    parser: |clock, _| Box::new(CopilotParser { clock, progress: Progress::default(), error: None }),
};

/// Reads the stream.
struct CopilotParser {
    clock: Arc<dyn Clock>,
    progress: Progress,
    /// The session's error, until the result says whether it mattered.
    error: Option<Ending>,
}

impl CopilotParser {
    fn session_error(&mut self, data: &Value) -> Vec<AgentEvent> {
        let message = data.text_at("/message");
        let mut ending = failure(message, self.clock.now());
        let limited = data.count_at("/statusCode") == 429 || is_limit(data.text_at("/errorType"));
        if limited && matches!(ending, Ending::Failed { .. }) {
            ending = Ending::RateLimited { message: excerpt(message, MAX_SUMMARY), resets_at: None };
        }
        let told = ending.limit();
        self.error = Some(ending);
        told.into_iter().collect()
    }

    fn tool_complete(&mut self, data: &Value) -> Vec<AgentEvent> {
        let success = data.pointer("/success").and_then(Value::as_bool).unwrap_or(true);
        let status = if success { AbilityStatus::Success } else { AbilityStatus::Error };
        let output = data.some_text_at("/result/content").unwrap_or(data.text_at("/error/message"));
        let denied = matches!(data.text_at("/error/code"), "denied" | "rejected");
        let result = self.progress.tool_result(data.text_at("/toolCallId"), status, output);
        match (denied, &result) {
            (true, AgentEvent::ToolResult(ended)) => {
                let denial = AgentEvent::PermissionDenied {
                    tool: ended.ability_id.clone(),
                    message: excerpt(output, MAX_SUMMARY),
                };
                vec![denial, result]
            }
            _ => vec![result],
        }
    }

    fn usage(&mut self, data: &Value) -> Vec<AgentEvent> {
        let mut total = self.progress.usage.unwrap_or_default();
        total += data.usage_at(["/inputTokens", "/outputTokens", "/cacheReadTokens"]);
        vec![self.progress.consumed(total)]
    }

    fn result(&mut self, event: &Value) -> Vec<AgentEvent> {
        let exit_code = event.pointer("/exitCode").and_then(Value::as_i64).unwrap_or(0);
        self.progress.ending = Some(match (exit_code, self.error.take()) {
            (0, _) => Ending::Done,
            (_, Some(error)) => error,
            (code, None) => Ending::Failed { message: format!("the session ended with code {code}") },
        });
        // No event before this one names the session.
        let session = event.some_text_at("/sessionId").filter(|_| self.progress.ready);
        session.map(|id| self.progress.ready(Some(id), None)).into_iter().collect()
    }
}

impl StreamParser for CopilotParser {
    fn event(&mut self, event: &Value) -> Vec<AgentEvent> {
        let data = event.pointer("/data").unwrap_or(&Value::Null);
        match event.text_at("/type") {
            "session.tools_updated" if !self.progress.ready => {
                vec![self.progress.ready(None, data.some_text_at("/model"))]
            }
            "assistant.message" => match data.some_text_at("/content") {
                Some(text) => vec![self.progress.text(text)],
                None => Vec::new(),
            },
            "tool.execution_start" => {
                let input = data.pointer("/arguments").unwrap_or(&Value::Null);
                let (id, name) = (data.text_at("/toolCallId"), data.text_at("/toolName"));
                vec![self.progress.nested_call(data.some_text_at("/parentToolCallId"), id, name, input)]
            }
            "tool.execution_complete" => self.tool_complete(data),
            "assistant.usage" => self.usage(data),
            "session.error" => self.session_error(data),
            "result" => self.result(event),
            _ => Vec::new(),
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
#[path = "copilot_tests.rs"]
mod tests;
