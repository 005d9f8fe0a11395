//! The answers that Claude Code and Codex read from a hook.

use serde_json::{Map, Value, json};

use super::{At, BridgeOutput, EventKind, HookAnswer};

/// How a call is let through with other arguments.
#[derive(Clone, Copy)]
pub(super) enum Changed {
    /// It is made.
    Allow,
    /// The user is asked, and shown them.
    Ask,
}

/// Says an answer.
pub(super) fn answer(at: &At, answer: &HookAnswer, changed: Changed) -> BridgeOutput {
    let mut fields = Map::new();
    let mut specific = Map::new();
    match (at.kind, &answer.block) {
        (EventKind::Before, Some(reason)) => {
            specific.insert("permissionDecision".into(), "deny".into());
            specific.insert("permissionDecisionReason".into(), reason.as_str().into());
        }
        (EventKind::PromptSubmit | EventKind::Stop, Some(reason)) => {
            fields.insert("decision".into(), "block".into());
            fields.insert("reason".into(), reason.as_str().into());
        }
        _ => {}
    }
    if let (EventKind::Before, None, Some(input)) = (at.kind, &answer.block, input_of(answer)) {
        let decision = match changed {
            Changed::Allow => "allow",
            Changed::Ask => "ask",
        };
        specific.insert("permissionDecision".into(), decision.into());
        specific.insert("updatedInput".into(), input);
    }
    if let (true, Some(text)) = (takes_context(at.kind), context(answer)) {
        specific.insert("additionalContext".into(), text.into());
    }
    if !specific.is_empty() {
        specific.insert("hookEventName".into(), at.name.into());
        fields.insert("hookSpecificOutput".into(), specific.into());
    }
    if let Some(message) = message(answer) {
        fields.insert("systemMessage".into(), message.into());
    }
    printed(fields)
}

fn takes_context(kind: EventKind) -> bool {
    use EventKind::{After, Failed, PromptSubmit, SessionStart};
    matches!(kind, SessionStart | PromptSubmit | After | Failed)
}

/// Returns the arguments that replace a call's.
pub(super) fn input_of(answer: &HookAnswer) -> Option<Value> {
    answer.input.as_deref().and_then(|input| serde_json::from_str(input).ok())
}

/// Joins the texts for the model.
pub(super) fn context(answer: &HookAnswer) -> Option<String> {
    (!answer.text.is_empty()).then(|| answer.text.join("\n\n"))
}

/// Joins the messages for the user.
pub(super) fn message(answer: &HookAnswer) -> Option<String> {
    (!answer.messages.is_empty()).then(|| answer.messages.join("\n"))
}

/// Prints an answer; nothing where it says nothing.
pub(super) fn printed(fields: Map<String, Value>) -> BridgeOutput {
    let stdout = if fields.is_empty() { String::new() } else { Value::from(fields).to_string() + "\n" };
    BridgeOutput { stdout, ..BridgeOutput::default() }
}

/// The settings that wire events: a list of one matcher for each, which holds for every tool.
pub(super) fn settings(hooks: impl IntoIterator<Item = (&'static str, String)>, timeout: u64) -> Value {
    let one =
        |command: String| json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]);
    hooks.into_iter().map(|(event, command)| (event.to_owned(), one(command))).collect::<Map<_, _>>().into()
}
