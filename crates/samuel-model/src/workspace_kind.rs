//! Which workspaces there are.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::digest_of;

/// Where the workspaces of all projects are, below the caller's directory.
const DIRECTORY: &str = "workspaces";
/// How many digits of the digest of its path name a project.
const KEY_DIGITS: usize = 32;

/// Where agents and checks work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceKind {
    /// In the user's work tree. The default with the sandbox `host`.
    #[default]
    InPlace,
    /// In a clone of it, from which checked commits reach the user's branch.
    Clone,
}

/// A name that no workspace has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown workspace \"{0}\"; there are in-place and clone")]
pub struct UnknownWorkspace(String);

impl FromStr for WorkspaceKind {
    type Err = UnknownWorkspace;

    fn from_str(name: &str) -> Result<Self, UnknownWorkspace> {
        let found = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| kind).ok_or_else(|| UnknownWorkspace(name.to_owned()))
    }
}

impl WorkspaceKind {
    /// Every kind, by its name in samuel.toml.
    pub const NAMES: [(&str, Self); 2] = [("in-place", Self::InPlace), ("clone", Self::Clone)];

    /// Returns its name in samuel.toml.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InPlace => "in-place",
            Self::Clone => "clone",
        }
    }

    /// Names the directory of a project's workspace, below a directory that is the user's
    /// alone. Touches nothing.
    #[doc(hidden)]
    pub fn directory_of(state_dir: &Path, root: &Path) -> PathBuf {
        state_dir.join(DIRECTORY).join(Self::key_of(root))
    }

    /// Returns where lanes of a project work, and what is noted of their branches.
    #[doc(hidden)]
    pub fn lanes_directory_of(state_dir: &Path, root: &Path) -> PathBuf {
        Self::directory_of(state_dir, root).join("lanes")
    }

    /// Returns whether a name can be that of a directory with workspaces.
    #[doc(hidden)]
    pub fn is_key(name: &str) -> bool {
        name.len() == KEY_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns what tells a project apart from all others: digits of its path's digest.
    #[doc(hidden)]
    pub fn key_of(root: &Path) -> String {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let digest = digest_of(root.as_os_str().as_encoded_bytes());
        digest.trim_start_matches("sha256:").chars().take(KEY_DIGITS).collect()
    }
}
