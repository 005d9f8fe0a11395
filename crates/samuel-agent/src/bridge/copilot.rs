//! GitHub Copilot CLI's hooks.
//!
//! Follows «Hooks configuration» of the GitHub documentation; checked with version 1.0.102. The input
//! does not name its event, so the command does. Calls have no id. A command that failed is an
//! ordinary result whose last line names its exit code; other tools have an event for
//! a failure. A plugin's directory can be named on the command line.

use samuel_model::payload::AbilityStatus;
use serde_json::{Map, Value, json};

use super::{
    At, BridgeError, BridgeOutput, EndedCall, EventKind, HookAnswer, HookInput, Protocol, Wire, WireError,
    Wiring, hook_json, payload,
};
use crate::stream::Fields;

/// The protocol.
#[derive(Debug)]
pub(super) struct Copilot;

impl Protocol for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("sessionStart", EventKind::SessionStart),
            ("userPromptSubmitted", EventKind::PromptSubmit),
            ("preToolUse", EventKind::Before),
            ("postToolUse", EventKind::After),
            ("postToolUseFailure", EventKind::Failed),
            ("agentStop", EventKind::Stop),
            ("sessionEnd", EventKind::SessionEnd),
        ]
    }

    fn read(&self, payload: &Value, at: At) -> Result<HookInput, BridgeError> {
        let event = payload::event(payload, at.kind, ["toolName", "toolArgs", "toolCallId"], || {
            ended(payload, at.kind)
        })?;
        let (session_id, cwd) = (payload::text_of(payload, "sessionId"), payload::cwd(payload));
        Ok(HookInput { at, session_id, cwd, is_unattended: true, event })
    }

    fn answer(&self, asked: &HookInput, answer: &HookAnswer) -> BridgeOutput {
        let mut fields = Map::new();
        let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        match (asked.at.kind, &answer.block, hook_json::input_of(answer)) {
            (EventKind::Before, Some(reason), _) => {
                say("permissionDecision", "deny".into());
                say("permissionDecisionReason", reason.as_str().into());
            }
            // Without a decision the user is asked as ever, where somebody is there.
            (EventKind::Before, None, Some(input)) => {
                say("modifiedArgs", input);
            }
            (EventKind::PromptSubmit | EventKind::Stop, Some(reason), _) => {
                say("decision", "block".into());
                say("reason", reason.as_str().into());
            }
            _ => {}
        }
        use EventKind::{After, Failed, PromptSubmit, SessionStart};
        let is_heard = matches!(asked.at.kind, SessionStart | PromptSubmit | After | Failed);
        if let (true, Some(text)) = (is_heard, hook_json::context(answer)) {
            say("additionalContext", text.into());
        }
        // It shows the user nothing of a hook's answer.
        let stderr = hook_json::message(answer).map(|message| message + "\n").unwrap_or_default();
        BridgeOutput { stderr, ..hook_json::printed(fields) }
    }
}

impl Wire for Copilot {
    fn wire(&self, wiring: &mut Wiring<'_>) -> Result<(), WireError> {
        let seconds = wiring.timeout().as_secs();
        let one = |command: String| json!([{"type": "command", "bash": command, "timeoutSec": seconds}]);
        let hooks = wiring.hooks(self).into_iter().map(|(event, command)| (event.to_owned(), one(command)));
        let hooks = json!({"version": 1, "hooks": hooks.collect::<Map<_, _>>()});
        let plugin = json!({
            "name": "samuel", "version": env!("CARGO_PKG_VERSION"), "hooks": "hooks.json",
            "description": "Asks the run of Samuel about tool calls",
        });
        let dir = wiring.bridge.dir.join("copilot-plugin");
        wiring.files.push((dir.join("plugin.json"), plugin.to_string()));
        wiring.files.push((dir.join("hooks.json"), hooks.to_string()));
        wiring.words.extend(["--plugin-dir".to_owned(), dir.display().to_string()]);
        Ok(())
    }

    fn notice(&self) -> &'static str {
        "its hooks ask about tool calls, by --plugin-dir; a repository in a folder that it trusts can switch hooks off"
    }
}

fn ended(payload: &Value, kind: EventKind) -> Result<EndedCall, BridgeError> {
    let told = payload.pointer("/toolResult/textResultForLlm").or_else(|| payload.get("error"));
    let told = told.unwrap_or(&Value::Null);
    let status = match payload.text_at("/toolResult/resultType") {
        _ if kind == EventKind::Failed => AbilityStatus::Error,
        "failure" | "denied" | "rejected" | "timeout" => AbilityStatus::Error,
        _ if told.as_str().is_some_and(names_exit_code) => AbilityStatus::Error,
        _ => AbilityStatus::Success,
    };
    Ok(EndedCall {
        ability_id: payload::tool(payload, "toolName")?,
        call_id: payload::text_of(payload, "toolCallId"),
        input: payload::arguments(payload, "toolArgs"),
        status: Some(status),
        duration_ms: None,
        output_summary: payload::summary(told),
    })
}

/// Says whether the result of a command ends with an exit code other than 0.
fn names_exit_code(told: &str) -> bool {
    let last = told.trim_end().rsplit('\n').next().unwrap_or_default();
    let code = last.strip_suffix('>').and_then(|line| line.split_once(" completed with exit code "));
    code.is_some_and(|(_, code)| code != "0")
}
