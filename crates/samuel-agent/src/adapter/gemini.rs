//! Gemini CLI: `gemini --output-format stream-json`.
//!
//! Follows «Headless mode reference» of the Gemini CLI documentation; checked
//! with version 0.61.0. The stream has `init`, `message` (in pieces),
//! `tool_use` and `tool_result` lines, `error` lines for warnings, and closes
//! with `result`. Without `--prompt` the whole prompt is standard input. Gemini
//! counts tokens but reports no cost.

use std::sync::Arc;

use samuel_model::{clock::Clock, payload::AbilityStatus};
use serde_json::Value;

use super::{Cli, Reports, Speaks};
use crate::{
    AgentEvent,
    limit::failure,
    provider,
    stream::{Ending, Fields, Progress, StreamParser},
    text::{MAX_TEXT, excerpt},
};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "gemini",
    program: Some("gemini"),
    // A folder that is not trusted turns the approval mode back to asking,
    // which nobody can answer here.
    args: &["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
    model_flag: Some("--model"),
    resume_args: &["--resume", "{conversation}"],
    lost_words: &["No previous sessions found", "Invalid session identifier"],
    last_args: &[],
    env: &["GEMINI_*", "GOOGLE_*", "CLOUDSDK_CONFIG"],
    provider: Some(provider::GOOGLE),
    notice: Some("gemini runs with --approval-mode yolo: it edits files and runs commands without asking"),
    speaks: Speaks::Throughout,
    reports: Reports::Tokens,
    final_event: true,
    parser: |clock, _| Box::new(GeminiParser { clock, progress: Progress::default(), answering: false }),
};

/// Reads the stream.
struct GeminiParser {
    clock: Arc<dyn Clock>,
    progress: Progress,
    /// Whether the last line was a piece of an answer, so that the next piece
    /// goes on where it ended.
    answering: bool,
}

impl GeminiParser {
    fn message(&mut self, event: &Value) -> Vec<AgentEvent> {
        if event.text_at("/role") != "assistant" {
            return Vec::new();
        }
        let text = event.text_at("/content");
        let goes_on = event.pointer("/delta").and_then(Value::as_bool).unwrap_or(false);
        if std::mem::replace(&mut self.answering, goes_on) {
            self.progress.answer.push(text);
            return vec![AgentEvent::Text { text: excerpt(text, MAX_TEXT) }];
        }
        vec![self.progress.text(text)]
    }

    fn result(&mut self, event: &Value) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        if let Some(stats) = event.pointer("/stats") {
            let usage = stats.usage_at(["/input_tokens", "/output_tokens", "/cached"]);
            events.push(self.progress.consumed(usage));
        }
        let ending = match event.text_at("/status") {
            "error" => {
                let message = event.some_text_at("/error/message").unwrap_or("no reason given");
                failure(message, self.clock.now())
            }
            _ => Ending::Done,
        };
        events.extend(self.progress.ended(ending));
        events
    }
}

impl StreamParser for GeminiParser {
    fn event(&mut self, event: &Value) -> Vec<AgentEvent> {
        let kind = event.text_at("/type");
        if kind != "message" {
            self.answering = false;
        }
        match kind {
            "init" => {
                vec![self.progress.ready(event.some_text_at("/session_id"), event.some_text_at("/model"))]
            }
            "message" => self.message(event),
            "tool_use" => {
                let input = event.pointer("/parameters").unwrap_or(&Value::Null);
                vec![self.progress.tool_call(event.text_at("/tool_id"), event.text_at("/tool_name"), input)]
            }
            "tool_result" => {
                let failed = event.text_at("/status") == "error";
                let status = if failed { AbilityStatus::Error } else { AbilityStatus::Success };
                let output = event.some_text_at("/output").unwrap_or(event.text_at("/error/message"));
                vec![self.progress.tool_result(event.text_at("/tool_id"), status, output)]
            }
            "result" => self.result(event),
            _ => Vec::new(),
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
