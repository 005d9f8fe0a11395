//! What plugins see and change of the agent's environment.
//!
//! At `before:agent.invoke` and `agent.invoke` handlers are given the agent's
//! variables, secrets of the caller among them. A plugin is given the names of
//! all, and the values of those that its capability `env` covers ([`shown`]).
//! What it changes needs `agent.env` for each name, and some names are nobody's
//! to change ([`admit`]). Closures of the embedding program are its own code
//! and not limited here. Whatever runs plugins calls both.

use std::any::Any;

use super::{Capabilities, Capability};
use crate::{
    environment::{covers_variable, is_reserved},
    hook::{BreakClass, Call, HookFailure, Output, Point},
    model::payload::{AgentInvokeInput, BeforeAgentInvokeInput, BeforeAgentInvokeOutput},
};

/// Returns a call as a plugin may see it; nothing where it may see all of it.
pub(super) fn shown<P: Point>(call: &Call<P>, granted: &Capabilities) -> Option<Call<P>> {
    let mut input = env_of(call.input()).is_some().then(|| call.input().clone())?;
    let readable = granted.targets(Capability::Env);
    if let Some(env) = env_of_mut(&mut input) {
        env.retain(|(name, _)| covers_variable(readable, name));
    }
    let mut previous = call.previous().cloned();
    if let Some(changes) = previous.as_mut().and_then(changes_of_mut) {
        changes.retain(|(name, _)| covers_variable(readable, name));
    }
    Some(call.showing(input, previous))
}

/// Checks what a plugin answered, with the call as it was shown to it.
///
/// # Errors
/// Returns a failure of the class [`BreakClass::Denied`] where it chooses
/// another agent or sandbox, or changes a variable that is not its to change.
pub(super) fn admit<P: Point>(
    call: &Call<P>,
    output: &P::Output,
    granted: &Capabilities,
) -> Result<(), HookFailure> {
    let input = (call.input() as &dyn Any).downcast_ref::<BeforeAgentInvokeInput>();
    let output = (output as &dyn Any).downcast_ref::<BeforeAgentInvokeOutput>();
    let (Some(input), Some(output)) = (input, output) else { return Ok(()) };
    for (what, asked, stands) in
        [("agent", &output.agent, &input.agent), ("sandbox", &output.sandbox, &input.sandbox)]
    {
        if let Some(other) = asked.as_ref().filter(|other| *other != stands) {
            let message = format!("a plugin cannot choose the {what} \"{other}\"");
            return Err(denied(message, format!("the {what} is set in samuel.toml")));
        }
    }
    let changed = output.env.iter().filter(|(name, value)| changes(input, name, value.as_deref()));
    for (name, _) in changed {
        may_change(name, granted.targets(Capability::AgentEnv))?;
    }
    Ok(())
}

/// Says whether a variable would be another one. What the plugin cannot read
/// counts as changed, since it must not learn the value by trying.
fn changes(input: &BeforeAgentInvokeInput, name: &str, value: Option<&str>) -> bool {
    match value {
        Some(value) => !input.env.iter().any(|(known, held)| known == name && held == value),
        None => input.env_names.iter().any(|known| known == name),
    }
}

fn may_change(name: &str, granted: &[String]) -> Result<(), HookFailure> {
    let capability = Capability::AgentEnv;
    let shown = name.escape_default();
    if is_reserved(name) {
        let message = format!(
            "the agent's variable {shown} cannot be changed by a plugin, whatever {capability} grants"
        );
        let why = "it decides which program runs, where it connects or who the agent is";
        return Err(denied(message, why.to_owned()));
    }
    if !covers_variable(granted, name) {
        let message = format!("changing the agent's variable {shown} needs the capability {capability}");
        return Err(denied(message, format!("it is granted for: {}", listed(granted))));
    }
    Ok(())
}

fn listed(granted: &[String]) -> String {
    if granted.is_empty() { "nothing".to_owned() } else { granted.join(", ") }
}

fn denied(message: String, detail: String) -> HookFailure {
    let mut failure = HookFailure::new(BreakClass::Denied, message);
    failure.details.push(detail);
    failure
}

fn env_of<I: Any>(input: &I) -> Option<&Vec<(String, String)>> {
    let input: &dyn Any = input;
    let before = input.downcast_ref::<BeforeAgentInvokeInput>().map(|input| &input.env);
    before.or_else(|| input.downcast_ref::<AgentInvokeInput>().map(|input| &input.env))
}

fn env_of_mut<I: Any>(input: &mut I) -> Option<&mut Vec<(String, String)>> {
    let input: &mut dyn Any = input;
    if input.is::<BeforeAgentInvokeInput>() {
        return input.downcast_mut::<BeforeAgentInvokeInput>().map(|input| &mut input.env);
    }
    input.downcast_mut::<AgentInvokeInput>().map(|input| &mut input.env)
}

fn changes_of_mut<O: Output>(output: &mut O) -> Option<&mut Vec<(String, Option<String>)>> {
    let output: &mut dyn Any = output;
    output.downcast_mut::<BeforeAgentInvokeOutput>().map(|output| &mut output.env)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    fn input() -> BeforeAgentInvokeInput {
        BeforeAgentInvokeInput {
            agent: "claude".into(),
            sandbox: "host".into(),
            env: vec![("RUST_LOG".into(), "info".into())],
            env_names: vec!["PATH".into(), "RUST_LOG".into()],
            ..Default::default()
        }
    }

    #[test]
    fn a_value_that_is_not_seen_counts_as_changed() {
        assert!(!changes(&input(), "RUST_LOG", Some("info")));
        assert!(changes(&input(), "RUST_LOG", Some("debug")));
        assert!(changes(&input(), "PATH", Some("/usr/bin")));
        assert!(changes(&input(), "NEW", Some("")));
        assert!(changes(&input(), "PATH", None) && !changes(&input(), "NEW", None));
    }

    #[test]
    fn a_change_needs_its_name_granted_and_not_reserved() {
        let granted = ["RUST_LOG".to_owned(), "MY_*".to_owned(), "PATH".to_owned()];
        assert_eq!(may_change("RUST_LOG", &granted), Ok(()));
        assert_eq!(may_change("MY_FLAG", &granted), Ok(()));
        for name in ["PATH", "OTHER", "MY_PATH", "MY_TOKEN", ""] {
            let failure = may_change(name, &granted).unwrap_err();
            assert_eq!(failure.class, BreakClass::Denied, "{name}");
            assert!(failure.message.contains("agent.env") && failure.message.contains(name), "{failure}");
        }
    }
}
