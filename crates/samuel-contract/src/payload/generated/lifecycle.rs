//! What `wit/v1/lifecycle.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{Extensions, yes};

/// `init.before`: what a handler is given.
///
/// Gate. Fires once, before `samuel init` writes anything.
/// A refusal ends the command with nothing written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct InitBeforeInput {
    /// The project's root directory, absolute.
    #[cfg_attr(feature = "wasm", component(name = "project-root"))]
    pub project_root: String,
    /// Whether existing files may be replaced.
    pub force: bool,
    /// Whether only the necessary files are asked for.
    pub minimal: bool,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `init.before`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct InitBeforeOutput {
    /// Whether the command may go on.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for InitBeforeOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

/// `init.after`: what a handler is given.
///
/// Observe. Fires once, after `samuel init` has written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct InitAfterInput {
    /// The project's root directory, absolute.
    #[cfg_attr(feature = "wasm", component(name = "project-root"))]
    pub project_root: String,
    /// Names of the plugins the project uses now.
    #[cfg_attr(feature = "wasm", component(name = "plugins-installed"))]
    pub plugins_installed: Vec<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `init.after`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct InitAfterOutput {
    /// Whether the handler is content; `false` is a warning.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for InitAfterOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}

/// `sync.before`: what a handler is given.
///
/// Gate. Fires once, before `samuel sync` writes anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SyncBeforeInput {
    /// The project's root directory, absolute.
    #[cfg_attr(feature = "wasm", component(name = "project-root"))]
    pub project_root: String,
    /// Whether the command only reports what it would write.
    #[cfg_attr(feature = "wasm", component(name = "dry-run"))]
    pub dry_run: bool,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `sync.before`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SyncBeforeOutput {
    /// Whether the command may go on.
    pub ok: bool,
    /// Why not, or why it is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether there is nothing to do; one handler is enough to skip.
    #[serde(default)]
    pub skip: bool,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for SyncBeforeOutput {
    fn default() -> Self {
        Self {
            ok: true,
            reason: Default::default(),
            skip: Default::default(),
            extensions: Default::default(),
        }
    }
}

/// `sync.after`: what a handler is given.
///
/// Observe. Fires once, after `samuel sync` has written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SyncAfterInput {
    /// The project's root directory, absolute.
    #[cfg_attr(feature = "wasm", component(name = "project-root"))]
    pub project_root: String,
    /// The files that were written, relative to the project.
    #[cfg_attr(feature = "wasm", component(name = "files-written"))]
    pub files_written: Vec<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `sync.after`: what a handler answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SyncAfterOutput {
    /// Whether the handler is content; `false` is a warning.
    #[serde(default = "yes")]
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

impl Default for SyncAfterOutput {
    fn default() -> Self {
        Self { ok: true, reason: Default::default(), extensions: Default::default() }
    }
}
