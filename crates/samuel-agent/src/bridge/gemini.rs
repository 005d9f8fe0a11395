//! Gemini CLI's hooks.
//!
//! Follows «Hooks reference» of the Gemini CLI documentation; checked with version 0.61.0. Calls have
//! no id. A command that failed is an ordinary result that names its exit code; other tools
//! say that they failed. No option of the command line adds settings: a file can stand in for the
//! machine's own, if it and all directories above it are root's.

use std::path::{Path, PathBuf};

use samuel_model::payload::AbilityStatus;
use serde_json::{Map, Value, json};

use super::{
    At, BridgeError, BridgeOutput, EndedCall, EventKind, HookAnswer, HookInput, Protocol, Wire, WireError,
    Wiring, hook_json, json_with_comments, payload,
};
use crate::stream::Fields;

/// The variable that names the machine's settings.
const SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
/// The variable that names what the machine's settings fall back on, by default beside them.
const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
/// Where they are on this system, unless the variable says.
const MACHINE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/GeminiCli/settings.json"
} else {
    "/etc/gemini-cli/settings.json"
};

/// The protocol.
#[derive(Debug)]
pub(super) struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("SessionStart", EventKind::SessionStart),
            ("BeforeAgent", EventKind::PromptSubmit),
            ("BeforeTool", EventKind::Before),
            ("AfterTool", EventKind::After),
            ("AfterAgent", EventKind::Stop),
            ("SessionEnd", EventKind::SessionEnd),
        ]
    }

    fn read(&self, payload: &Value, at: At) -> Result<HookInput, BridgeError> {
        let event = payload::event(payload, at.kind, payload::TOOL, || ended(payload))?;
        let (session_id, cwd) = (payload::text_of(payload, "session_id"), payload::cwd(payload));
        Ok(HookInput { at, session_id, cwd, is_unattended: true, event })
    }

    fn answer(&self, asked: &HookInput, answer: &HookAnswer) -> BridgeOutput {
        let (mut fields, mut specific) = (Map::new(), Map::new());
        let kind = asked.at.kind;
        if let (true, Some(reason)) = (kind.decides(), &answer.block) {
            fields.insert("decision".into(), "deny".into());
            fields.insert("reason".into(), reason.as_str().into());
        } else if let (EventKind::Before, Some(input)) = (kind, hook_json::input_of(answer)) {
            specific.insert("tool_input".into(), input);
        }
        if let (EventKind::SessionStart | EventKind::PromptSubmit | EventKind::After, Some(text)) =
            (kind, hook_json::context(answer))
        {
            specific.insert("additionalContext".into(), text.into());
        }
        if !specific.is_empty() {
            specific.insert("hookEventName".into(), asked.at.name.into());
            fields.insert("hookSpecificOutput".into(), specific.into());
        }
        if let Some(message) = hook_json::message(answer) {
            fields.insert("systemMessage".into(), message.into());
        }
        hook_json::printed(fields)
    }
}

impl Wire for Gemini {
    fn wire(&self, wiring: &mut Wiring<'_>) -> Result<(), WireError> {
        // It goes over a file that others could have written, and over the machine's own with it.
        if !wiring.is_roots() {
            return Ok(());
        }
        let machine = PathBuf::from(wiring.variable(SETTINGS).unwrap_or(MACHINE));
        let mut settings = match wiring.read(&machine)? {
            Some(text) => parsed(&text, &machine)?,
            None => Map::new(),
        };
        let millis = u64::try_from(wiring.timeout().as_millis()).unwrap_or(u64::MAX);
        if !super::merge_hooks(&mut settings, hook_json::settings(wiring.hooks(self), millis)) {
            let problem = "its \"hooks\" are no lists by event".to_owned();
            return Err(WireError::Settings { place: machine.display().to_string(), problem });
        }
        let config = settings.entry("hooksConfig").or_insert(json!({}));
        if let Some(config) = config.as_object_mut() {
            config.entry("enabled").or_insert(json!(true));
        }
        if wiring.variable(DEFAULTS).is_none() {
            let defaults = machine.with_file_name("system-defaults.json");
            wiring.env.push((DEFAULTS.to_owned(), defaults.display().to_string()));
        }
        let ours = wiring.bridge.dir.join("gemini-settings.json");
        wiring.env.push((SETTINGS.to_owned(), ours.display().to_string()));
        wiring.files.push((ours, Value::from(settings).to_string()));
        Ok(())
    }

    fn notice(&self) -> &'static str {
        "its hooks ask about tool calls, by a file that stands in for the machine's settings and holds them; Gemini \
         CLI takes one from root alone, so as another user it is not asked before its tool calls"
    }
}

fn ended(payload: &Value) -> Result<EndedCall, BridgeError> {
    let error = payload.some_text_at("/tool_response/error/message");
    let told = payload.pointer("/tool_response/llmContent").unwrap_or(&Value::Null);
    let status = match error {
        Some(_) => AbilityStatus::Error,
        None if told.as_str().is_some_and(names_exit_code) => AbilityStatus::Error,
        None => AbilityStatus::Success,
    };
    let shown = payload.some_text_at("/tool_response/returnDisplay").map(Value::from);
    Ok(EndedCall {
        ability_id: payload::tool(payload, "tool_name")?,
        call_id: String::new(),
        input: payload::arguments(payload, "tool_input"),
        status: Some(status),
        duration_ms: None,
        output_summary: error.map(str::to_owned).or_else(|| payload::summary(shown.as_ref().unwrap_or(told))),
    })
}

/// Says whether the result of a command names an exit code, as it does for one that failed, or a
/// signal that ended it.
fn names_exit_code(told: &str) -> bool {
    told.lines().any(|line| line.starts_with("Exit Code: ") || line.starts_with("Signal: "))
}

fn parsed(text: &str, place: &Path) -> Result<Map<String, Value>, WireError> {
    serde_json::from_str(&json_with_comments::stripped(text)).map_err(|error| WireError::Settings {
        place: place.display().to_string(),
        problem: error.to_string(),
    })
}
