//! Codex's hooks.
//!
//! Follows «Hooks» of the Codex documentation; checked with version 0.169.0. They speak as Claude
//! Code's do, but do not say how a call ended: a command that failed is an ordinary result. Of
//! several `-c` for one event the last alone counts, so ours holds what the configuration's own
//! arguments say there; hooks of configuration files run beside it.

use serde_json::Value;

use super::{
    At, BridgeError, BridgeOutput, EventKind, HookAnswer, HookInput, Protocol, Wire, WireError, Wiring,
    claude, hook_json, payload,
};

/// The protocol.
#[derive(Debug)]
pub(super) struct Codex;

impl Protocol for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("SessionStart", EventKind::SessionStart),
            ("UserPromptSubmit", EventKind::PromptSubmit),
            ("PreToolUse", EventKind::Before),
            ("PostToolUse", EventKind::After),
            ("Stop", EventKind::Stop),
            ("SessionEnd", EventKind::SessionEnd),
        ]
    }

    fn read(&self, payload: &Value, at: At) -> Result<HookInput, BridgeError> {
        let event = claude::event(payload, at.kind, None)?;
        let (session_id, cwd) = (payload::text_of(payload, "session_id"), payload::cwd(payload));
        Ok(HookInput { at, session_id, cwd, is_unattended: true, event })
    }

    fn answer(&self, asked: &HookInput, answer: &HookAnswer) -> BridgeOutput {
        // Codex takes other arguments with `allow` alone, and makes the call where it is asked to ask.
        hook_json::answer(&asked.at, answer, hook_json::Changed::Allow)
    }
}

impl Wire for Codex {
    fn wire(&self, wiring: &mut Wiring<'_>) -> Result<(), WireError> {
        let timeout = wiring.timeout().as_secs();
        for (event, command) in wiring.hooks(self) {
            let key = format!("hooks.{event}");
            let mut groups = configured(&wiring.words, &key)?;
            groups.push(group(command, timeout));
            wiring.words.extend(["-c".to_owned(), format!("{key}={}", toml::Value::Array(groups))]);
        }
        let on = ["-c", "features.hooks=true", "--dangerously-bypass-hook-trust"];
        wiring.words.extend(on.map(str::to_owned));
        Ok(())
    }

    fn notice(&self) -> &'static str {
        "its hooks ask about tool calls, with --dangerously-bypass-hook-trust: every hook of its configuration \
         runs, reviewed or not"
    }
}

fn group(command: String, timeout: u64) -> toml::Value {
    let hook = toml::Table::from_iter([
        ("type".to_owned(), "command".into()),
        ("command".to_owned(), command.into()),
        ("timeout".to_owned(), i64::try_from(timeout).unwrap_or(i64::MAX).into()),
    ]);
    toml::Table::from_iter([("hooks".to_owned(), toml::Value::Array(vec![hook.into()]))]).into()
}

/// Returns the groups of hooks that the last `-c` of a command line sets for an event.
fn configured(words: &[String], key: &str) -> Result<Vec<toml::Value>, WireError> {
    let overrides = words.windows(2).filter_map(|pair| match pair {
        [option, value] if matches!(option.as_str(), "-c" | "--config") => Some(value.as_str()),
        _ => None,
    });
    let joined = words.iter().filter_map(|word| word.strip_prefix("--config="));
    let is_for_event = |set: &&str| set.split_once('=').is_some_and(|(name, _)| name.trim() == key);
    let Some(set) = overrides.chain(joined).rfind(is_for_event) else { return Ok(Vec::new()) };
    let groups = set.split_once('=').and_then(|(_, value)| {
        let table = format!("groups = {value}").parse::<toml::Table>().ok()?;
        table.get("groups")?.as_array().cloned()
    });
    let problem = || "it is no list of groups of hooks".to_owned();
    groups.ok_or_else(|| WireError::Settings { place: format!("`-c {key}=`"), problem: problem() })
}
