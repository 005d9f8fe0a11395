//! The core from the outside. Each module is one subject.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

#[cfg(target_os = "linux")]
mod agent;
mod chosen_sandbox;
mod engine;
mod history;
mod live_support;
mod merge;
mod plugins;
#[cfg(target_os = "linux")]
#[path = "../../../crates/samuel-process/tests/it/support.rs"]
mod process_support;
mod repository_hooks;
#[cfg(all(target_os = "linux", feature = "sandbox"))]
mod sandbox;
#[cfg(target_os = "linux")]
mod script;
mod session_hooks;
mod state;
#[cfg(not(feature = "sandbox"))]
mod without_sandboxes;
#[cfg(target_os = "linux")]
mod workspace;

/// The supervisor of the commands that tests start. It is no test: it does nothing unless it is started with that role.
#[cfg(target_os = "linux")]
#[test]
fn supervisor_entry() {
    process_support::supervise_if_asked();
}
