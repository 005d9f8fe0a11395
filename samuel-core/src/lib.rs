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

pub mod agent;
pub mod clock;
pub mod config;
pub mod context;
pub mod detect;
pub mod engine;
pub mod event;
pub mod fs;
pub mod git;
pub mod hook;
pub mod lifecycle;
pub mod machine;
pub mod methodology;
pub mod model;
pub mod plan;
pub mod plugin;
pub mod prd;
pub mod project;
pub mod snapshot;
pub mod state;
pub mod testing;
pub mod text;

pub use samuel_process as process;
pub use samuel_toon as toon;
pub use samuel_toon::toon;
