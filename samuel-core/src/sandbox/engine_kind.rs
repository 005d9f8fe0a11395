//! Which engines of containers there are.

use serde::Serialize;

/// A kind of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// podman, which has no service.
    Podman,
    /// docker, behind whose command a service runs containers.
    Docker,
}

impl EngineKind {
    /// All kinds, in the order in which they are looked for.
    pub const ALL: [Self; 2] = [Self::Podman, Self::Docker];

    /// Returns the name of its command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }

    /// Returns the kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
