//! What a plugin can do, in plain words.
//!
//! Capabilities and points are names; what follows from some of them is more
//! than the name says. Whoever is asked to install a plugin reads it here.

use super::{
    Capabilities, Capability, Manifest,
    exec_grant::{ExecGrant, Reach},
};
use crate::{environment::is_secret, hook::HookPoint};

/// Points whose handlers stand between Samuel and the agent: a plugin that
/// begins to handle one is asked about again.
pub(super) const TELLING: [HookPoint; 2] = [HookPoint::BeforeAgentInvoke, HookPoint::AgentInvoke];

/// Says in plain words what follows from what a plugin handles and from these
/// capabilities, one line each. Nothing where the names say it all.
pub fn consequences(manifest: &Manifest, capabilities: &Capabilities) -> Vec<String> {
    let mut lines = Vec::new();
    if manifest.binding(HookPoint::BeforeAgentInvoke).is_some() {
        lines.push("It decides what the agent is told: it may change every prompt".to_owned());
    }
    if manifest.binding(HookPoint::AgentInvoke).is_some() {
        lines.push("It runs in the agent's place, and says what the agent did".to_owned());
    }
    for target in capabilities.targets(Capability::Exec) {
        let words = match ExecGrant::parse(target).ok().and_then(|grant| grant.reach()) {
            Some(Reach::AnyProgram) => "It can start any program",
            Some(Reach::ProjectCode) => "It runs code of the project, so that it can start any program",
            None => continue,
        };
        lines.push(format!("{words}: exec {target}"));
    }
    let read = capabilities.targets(Capability::Env).iter().filter(|name| is_secret(name));
    lines.extend(read.map(|name| format!("It reads what is likely a secret: {name}")));
    let changed = capabilities.targets(Capability::AgentEnv);
    if !changed.is_empty() {
        lines.push(format!("It changes variables of the agent: {}", changed.join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::path::Path;

    use super::*;

    #[test]
    fn what_follows_from_points_and_targets_is_said() {
        let text = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
                    [capabilities]\nexec = [\"git\", \"git log *\", \"cargo test\"]\n\
                    env = [\"API_KEY\", \"LANG\"]\nagent.env = [\"RUST_LOG\"]\n\
                    [hooks]\n\"before:agent.invoke\" = \"a.sh\"\n\"agent.invoke\" = \"b.sh\"\n";
        let manifest = Manifest::parse(Path::new("samuel-plugin.toml"), text).unwrap();
        let lines = consequences(&manifest, &manifest.capabilities);
        let expected = [
            "It decides what the agent is told: it may change every prompt",
            "It runs in the agent's place, and says what the agent did",
            "It can start any program: exec git",
            "It runs code of the project, so that it can start any program: exec cargo test",
            "It reads what is likely a secret: API_KEY",
            "It changes variables of the agent: RUST_LOG",
        ];
        assert_eq!(lines, expected);
    }
}
