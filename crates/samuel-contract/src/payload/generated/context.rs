//! What `wit/v1/context.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{Extensions, Extra, Mode, TaskBrief};

/// `context.snapshot`: what a handler is given.
///
/// Blob. Produces what the agent is told of the project, as TOON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextSnapshotInput {
    /// The project's root directory, absolute.
    #[cfg_attr(feature = "wasm", component(name = "project-root"))]
    pub project_root: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.snapshot`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextSnapshotOutput {
    /// A TOON object. The runtime writes the folded one, once.
    #[cfg_attr(feature = "wasm", component(name = "toon-blob"))]
    pub toon_blob: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.progress`: what a handler is given.
///
/// Blob. Produces what the agent is told of earlier work, as
/// Markdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextProgressInput {
    /// The progress log, absolute.
    #[cfg_attr(feature = "wasm", component(name = "progress-path"))]
    pub progress_path: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.progress`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextProgressOutput {
    /// Markdown. The runtime writes the folded one, once.
    #[cfg_attr(feature = "wasm", component(name = "md-blob"))]
    pub md_blob: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.task`: what a handler is given.
///
/// Blob. Produces what the agent is told of its task, as TOON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextTaskInput {
    /// The task; absent in discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskBrief>,
    /// What the iteration is for.
    pub mode: Mode,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.task`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextTaskOutput {
    /// A TOON object. The runtime writes the folded one, once.
    #[cfg_attr(feature = "wasm", component(name = "toon-blob"))]
    pub toon_blob: String,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.extra`: what a handler is given.
///
/// List. Adds sections of its own to the prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextExtraInput {
    /// The task; absent in discovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskBrief>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}

/// `context.extra`: what a handler answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct ContextExtraOutput {
    /// The sections, in order.
    #[serde(default)]
    pub extras: Vec<Extra>,
    /// Fields of later protocol versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Extensions,
}
