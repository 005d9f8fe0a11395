//! Suites across crates, and what they share.

pub mod cache;
pub mod example;
pub mod model_server;
pub mod real_agent;
