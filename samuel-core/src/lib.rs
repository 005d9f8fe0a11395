//! Embeddable autonomous coding loops with typed hooks.
//!
//! Samuel takes a plan, gives a coding agent one task after the other, checks
//! the result itself, records state, and stops when the work is done or a
//! guard says stop. Every step is a named [hook point](hook::HookPoint).
//!
//! The crate never prints, never reads the environment, the home or the
//! current directory, and installs no signal handler: the caller passes in
//! what it needs.
#![cfg_attr(not(test), warn(missing_docs))]

#[cfg(feature = "engine")]
pub mod agent;
#[cfg(feature = "engine")]
pub mod clock;
#[cfg(feature = "engine")]
pub mod config;
#[cfg(feature = "engine")]
pub mod context;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
pub mod fs;
#[cfg(feature = "engine")]
pub mod git;
#[cfg(feature = "engine")]
pub mod hook;
#[cfg(feature = "engine")]
pub mod lifecycle;
#[cfg(feature = "engine")]
pub mod methodology;
#[cfg(feature = "engine")]
pub mod model;
#[cfg(feature = "engine")]
pub mod plugin;
#[cfg(feature = "engine")]
pub mod prd;
#[cfg(feature = "engine")]
pub mod process;
#[cfg(feature = "engine")]
pub mod project;
#[cfg(feature = "engine")]
pub mod state;
#[cfg(feature = "engine")]
pub mod testing;
#[cfg(feature = "engine")]
pub mod text;
pub mod toon;
