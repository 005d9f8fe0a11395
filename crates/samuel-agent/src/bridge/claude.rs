//! Claude Code's hooks.
//!
//! Follows «Hooks reference» of the Claude Code documentation; checked with version 2.1.330. A hook of
//! `--settings` runs beside those of the user's settings; of several `--settings` the last alone
//! counts, so ours holds what the configuration's own arguments say there.

use std::path::Path;

use samuel_model::payload::AbilityStatus;
use serde_json::{Map, Value, json};

use super::{
    At, BridgeError, BridgeEvent, BridgeOutput, EndedCall, EventKind, HookAnswer, HookInput, Protocol, Wire,
    WireError, Wiring, hook_json, payload,
};

/// The protocol.
#[derive(Debug)]
pub(super) struct Claude;

impl Protocol for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("SessionStart", EventKind::SessionStart),
            ("UserPromptSubmit", EventKind::PromptSubmit),
            ("PreToolUse", EventKind::Before),
            ("PostToolUse", EventKind::After),
            ("PostToolUseFailure", EventKind::Failed),
            ("Stop", EventKind::Stop),
            ("SessionEnd", EventKind::SessionEnd),
        ]
    }

    fn directory_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn read(&self, payload: &Value, at: At) -> Result<HookInput, BridgeError> {
        let status = match at.kind {
            EventKind::Failed if payload::flag(payload, "is_interrupt") => AbilityStatus::Cancelled,
            EventKind::Failed => AbilityStatus::Error,
            _ => AbilityStatus::Success,
        };
        let event = event(payload, at.kind, Some(status))?;
        let (session_id, cwd) = (payload::text_of(payload, "session_id"), payload::cwd(payload));
        let is_unattended = payload::text_of(payload, "permission_mode") == "bypassPermissions";
        Ok(HookInput { at, session_id, cwd, is_unattended, event })
    }

    fn answer(&self, asked: &HookInput, answer: &HookAnswer) -> BridgeOutput {
        // A call that is let through is not put to the user any more, who has to see it where
        // somebody is there to ask.
        let changed = if asked.is_unattended { hook_json::Changed::Allow } else { hook_json::Changed::Ask };
        hook_json::answer(&asked.at, answer, changed)
    }
}

impl Wire for Claude {
    fn wire(&self, wiring: &mut Wiring<'_>) -> Result<(), WireError> {
        let hooks = hook_json::settings(wiring.hooks(self), wiring.timeout().as_secs());
        let mut settings = match configured(&wiring.words) {
            Some(value) => parsed(wiring, value)?,
            None => Map::new(),
        };
        if !super::merge_hooks(&mut settings, hooks) {
            let problem = "its \"hooks\" are no lists by event".to_owned();
            return Err(WireError::Settings { place: "--settings".to_owned(), problem });
        }
        // The settings of a repository could switch hooks off.
        settings.entry("disableAllHooks").or_insert(json!(false));
        wiring.words.extend(["--settings".to_owned(), Value::from(settings).to_string()]);
        Ok(())
    }

    fn notice(&self) -> &'static str {
        "its hooks ask about tool calls, by --settings, and run where settings switch all hooks off"
    }
}

/// Reads what Claude Code and Codex say alike; `status` is how a call ended, where that is known.
pub(super) fn event(
    payload: &Value,
    kind: EventKind,
    status: Option<AbilityStatus>,
) -> Result<BridgeEvent, BridgeError> {
    payload::event(payload, kind, payload::TOOL, || ended(payload, status))
}

fn ended(payload: &Value, status: Option<AbilityStatus>) -> Result<EndedCall, BridgeError> {
    let result = payload.get("tool_response").or_else(|| payload.get("error"));
    Ok(EndedCall {
        ability_id: payload::tool(payload, "tool_name")?,
        call_id: payload::text_of(payload, "tool_use_id"),
        input: payload::arguments(payload, "tool_input"),
        status,
        duration_ms: payload.get("duration_ms").and_then(Value::as_u64),
        output_summary: payload::summary(result.unwrap_or(&Value::Null)),
    })
}

/// Returns what the last `--settings` of a command line says.
fn configured(words: &[String]) -> Option<&str> {
    let (last, word) =
        words.iter().enumerate().rev().find(|(_, word)| word.split('=').next() == Some("--settings"))?;
    match word.split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(last + 1).map(String::as_str),
    }
}

/// Reads settings, which are a JSON document or the path of a file with one.
fn parsed(wiring: &Wiring<'_>, value: &str) -> Result<Map<String, Value>, WireError> {
    let text = match value.trim_start().starts_with('{') {
        true => value.to_owned(),
        false => wiring.read(Path::new(value))?.unwrap_or_else(|| "{}".to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| WireError::Settings {
        place: "the --settings of the configuration's arguments".to_owned(),
        problem: error.to_string(),
    })
}
