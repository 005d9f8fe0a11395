//! What a plugin may reach outside itself.
//!
//! [`Capabilities`] is one type for two things: what a manifest asks for and
//! what the user granted. Each [`Capability`] has targets: paths, programs,
//! variables, hosts. Checking a call against them is the tier's that runs it.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A kind of thing a plugin can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Capability {
    /// Reading files; its targets are globs under `/workspace`, the project.
    #[serde(rename = "filesystem.read")]
    FilesystemRead,
    /// Writing files; its targets are globs under `/workspace`.
    #[serde(rename = "filesystem.write")]
    FilesystemWrite,
    /// Running commands; its targets are programs, with what their arguments
    /// must be where they name some: `git log *`.
    #[serde(rename = "exec")]
    Exec,
    /// Reading environment variables; its targets are names, or the beginning
    /// of names and `*`, which covers no secrets.
    #[serde(rename = "env")]
    Env,
    /// Changing the agent's environment; its targets are names as those of
    /// [`Env`](Self::Env). Names that decide which program runs, where it
    /// connects or who the agent is cannot be granted.
    #[serde(rename = "agent.env")]
    AgentEnv,
    /// HTTP requests; its targets are hosts, or `*.` and a domain, with a port
    /// where it is another one than 443.
    #[serde(rename = "network.outbound")]
    NetworkOutbound,
    /// Listing and changing tasks; its targets are `read` and `write`.
    #[serde(rename = "samuel.api")]
    SamuelApi,
    /// Asking a model. Reserved: it can be declared and is never offered.
    #[serde(rename = "assistant.invoke")]
    AssistantInvoke,
}

impl Capability {
    /// All of them, in the order they are listed.
    pub const ALL: [Self; 8] = [
        Self::FilesystemRead,
        Self::FilesystemWrite,
        Self::Exec,
        Self::Env,
        Self::AgentEnv,
        Self::NetworkOutbound,
        Self::SamuelApi,
        Self::AssistantInvoke,
    ];

    /// Returns its name in manifests and messages, such as `filesystem.read`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FilesystemRead => "filesystem.read",
            Self::FilesystemWrite => "filesystem.write",
            Self::Exec => "exec",
            Self::Env => "env",
            Self::AgentEnv => "agent.env",
            Self::NetworkOutbound => "network.outbound",
            Self::SamuelApi => "samuel.api",
            Self::AssistantInvoke => "assistant.invoke",
        }
    }

    /// Returns the name of its interface in `wit/`, such as `files-read`;
    /// nothing for one that is about what a handler answers.
    pub fn interface(self) -> Option<&'static str> {
        match self {
            Self::FilesystemRead => Some("files-read"),
            Self::FilesystemWrite => Some("files-write"),
            Self::Exec => Some("exec"),
            Self::Env => Some("env"),
            Self::AgentEnv => None,
            Self::NetworkOutbound => Some("http"),
            Self::SamuelApi => Some("tasks"),
            Self::AssistantInvoke => Some("assistant"),
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Capability {
    type Err = UnknownCapability;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|capability| capability.as_str() == name);
        found.ok_or_else(|| UnknownCapability { name: name.to_owned() })
    }
}

/// There is no capability of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown capability `{name}`")]
pub struct UnknownCapability {
    /// The name.
    pub name: String,
}

/// Capabilities and their targets, as asked for or as granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(BTreeMap<Capability, Vec<String>>);

impl Capabilities {
    /// Says whether a capability is among them.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains_key(&capability)
    }

    /// Returns the targets of a capability; none where it is not among them.
    pub fn targets(&self, capability: Capability) -> &[String] {
        self.0.get(&capability).map(Vec::as_slice).unwrap_or_default()
    }

    /// Adds a capability with its targets, in place of those it had.
    #[must_use]
    pub fn with<T: Into<String>>(
        mut self,
        capability: Capability,
        targets: impl IntoIterator<Item = T>,
    ) -> Self {
        self.0.insert(capability, targets.into_iter().map(Into::into).collect());
        self
    }

    /// Lists the capabilities with their targets, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Capability, &[String])> {
        self.0.iter().map(|(capability, targets)| (*capability, targets.as_slice()))
    }

    /// Returns what is here and not among others: capabilities, or targets of
    /// one, that the others lack.
    #[must_use]
    pub fn beyond(&self, others: &Self) -> Self {
        let new = self.0.iter().filter_map(|(capability, targets)| {
            let known = others.targets(*capability);
            let new: Vec<String> = targets.iter().filter(|target| !known.contains(target)).cloned().collect();
            (!new.is_empty() || !others.has(*capability)).then_some((*capability, new))
        });
        Self(new.collect())
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_are_capabilities_and_targets_that_were_not_there() {
        let granted = Capabilities::default().with(Capability::Exec, ["git"]).with(Capability::Env, ["A"]);
        let asked = Capabilities::default()
            .with(Capability::Exec, ["git", "curl"])
            .with(Capability::Env, ["A"])
            .with::<&str>(Capability::AssistantInvoke, []);
        let expected = Capabilities::default()
            .with(Capability::Exec, ["curl"])
            .with::<&str>(Capability::AssistantInvoke, []);
        assert_eq!(asked.beyond(&granted), expected);
        assert!(granted.beyond(&asked).is_empty());
    }
}
