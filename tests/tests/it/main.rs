//! Suites that cross the crates of the workspace. Each module is one subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed set-up fails the test; tests print which of them were skipped"
)]

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod containers;
mod documents;
#[cfg(target_os = "linux")]
mod e2e_agents;
mod golden_lifecycle;
mod golden_traces;
mod hook_docs;
mod hooks;
mod newcomer;
mod plugin_examples;
mod plugin_host;
mod plugin_scaffolds;
mod plugin_validation;
mod plugin_versions;
#[cfg(target_os = "linux")]
mod real_agent_contained;
#[cfg(target_os = "linux")]
mod real_agents;
#[cfg(target_os = "linux")]
mod sandbox_oci;
