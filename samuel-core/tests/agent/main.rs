//! Agents as the engine calls them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

#[path = "../../../crates/samuel-process/tests/support/mod.rs"]
mod process_support;
mod programs;
mod scripted;
mod support;

/// Not a test of its own: the supervisor of all others.
#[test]
fn supervisor_entry() {
    process_support::supervise_if_asked();
}
