//! Kinds of plugins.

use std::{fmt, str::FromStr};

use samuel_contract::nearest;
use serde::{Deserialize, Serialize};

/// What a plugin is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// A WebAssembly component.
    Wasm,
    /// A container image.
    Oci,
    /// Scripts.
    Skill,
    /// Profiles of methodologies, and no handlers of its own.
    Methodology,
}

impl PluginKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Wasm, Self::Oci, Self::Skill, Self::Methodology];

    /// Returns the word that manifests use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Oci => "oci",
            Self::Skill => "skill",
            Self::Methodology => "methodology",
        }
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is no kind of plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of plugin \"{name}\"; use wasm, oci, skill or methodology")]
pub struct UnknownKind {
    name: String,
    /// The nearest kind, where one is near.
    pub nearest: Option<PluginKind>,
}

impl FromStr for PluginKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let of = |name: &str| Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        of(name).ok_or_else(|| {
            let near = nearest(name, Self::ALL.iter().map(|kind| kind.as_str()));
            UnknownKind { name: name.to_owned(), nearest: near.and_then(of) }
        })
    }
}
