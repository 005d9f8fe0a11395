//! Suites across crates, and what they share.

pub mod cache;
#[cfg(target_os = "linux")]
pub mod engine;
pub mod example;
pub mod model_server;
#[cfg(target_os = "linux")]
pub mod processes;
pub mod real_agent;

/// Holds a text against parts that must all be in it.
///
/// # Panics
/// Panics with the first that is not.
#[track_caller]
pub fn says(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} in {text}"));
}
